"""Parses a source in JSON (``.json``, ``.jsonl``) or in the indentation notation (``.krm``).

In files with other names, such as the files of franz-go, the first words determine the notation.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.json_messages import parse_json
from kwirec.frontend.krammar_messages import parse_krammar
from kwirec.frontend.syntax import Document

Notation = Literal["json", "krammar"]
Dialect = Literal["kwire", "franz-go"]

SUFFIXES: dict[str, Notation] = {".json": "json", ".jsonl": "json", ".krm": "krammar"}
_SKIPPED = re.compile(r"(?:\s++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_JSON = re.compile(r"[{\[]")
_KRAMMAR = re.compile(r"[A-Za-z_][A-Za-z0-9_]* +(?:=>|[a-z0-9]+(?: +camelcase)? *\()")


def parse(
    source: Source, report: Report, *, notation: Notation | None = None, dialect: Dialect | None = None
) -> Document:
    """Return the syntax tree of a source.

    ``notation`` applies to files whose suffix does not determine the notation. Files without a suffix are in the
    dialect of franz-go, unless ``dialect`` says otherwise.
    """
    suffix = PurePosixPath(source.name).suffix
    notation = SUFFIXES.get(suffix) or notation or _by_content(source, report)
    if notation == "krammar":
        return parse_krammar(source, report, franz_go=dialect == "franz-go" if dialect else not suffix)
    return parse_json(source, report) if notation == "json" else Document(source=source)


def _by_content(source: Source, report: Report) -> Notation | None:
    """Return the notation that the first words indicate. If the words fit neither notation, report the file and
    return ``None``.
    """
    start = match.end() if (match := _SKIPPED.match(source.text)) is not None else 0
    if start == len(source.text) or _JSON.match(source.text, start):
        return "json"
    if _KRAMMAR.match(source.text, start):
        return "krammar"
    end = source.text.find("\n", start)
    report.add(
        codes.UNKNOWN_NOTATION,
        "the file is in neither notation",
        Span(source, start, min(len(source.text) if end < 0 else end, start + 80)),
        "expected `{` or `Name =>`",
        helps=["give the file the suffix `.json` or `.krm`, or pass a notation such as `--notation json`"],
    )
    return None
