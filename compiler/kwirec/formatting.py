"""Formats definition files, for ``kwirec fmt``.

Attributes, words and comments keep their order. Files with mistakes other than wrong indentation are not changed.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import ARCHIVE_SUFFIXES, MAX_BYTES, TOO_MUCH, decode, read_sources
from kwirec.diagnostics.source import Source, Span
from kwirec.files import locked, replace_files
from kwirec.frontend import parse
from kwirec.frontend.json_format import format_json
from kwirec.frontend.krammar_format import format_krammar
from kwirec.frontend.krammar_indent import reindented
from kwirec.frontend.notation import Notation

BUNDLES = (*ARCHIVE_SUFFIXES, ".jsonl")
"""Suffixes of files that contain many definitions for programs. Such files are not formatted."""

_BOM = BOM_UTF8.decode()

STANDARD_INPUT = "standard input"

_LOST = (codes.TRAILING_TOKENS, codes.REPEATED_ATTRIBUTE)
"""Warnings about ignored JSON text, which formatting would drop."""


@dataclass(frozen=True)
class Rewritten:
    """A file with its old and new text."""

    source: Source
    text: str

    @property
    def is_changed(self) -> bool:
        return self.text != self.source.text

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        before, after = (text.splitlines(keepends=True) for text in (self.source.text, self.text))
        lines = unified_diff(before, after, self.source.name, self.source.name)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def format_paths(paths: Iterable[Path], report: Report, *, notation: Notation | None = None) -> list[Rewritten]:
    """Return the formatted definition files in these files and folders, except bundles and archives.

    Files with mistakes are left out, and the mistakes are added to ``report``.
    """
    sources = read_sources(paths, report)
    return list(_formatted((one for one in sources if not is_bundled(one)), report, notation))


def format_bytes(data: bytes, report: Report, *, notation: Notation | None = None) -> Rewritten | None:
    """Return the formatted content of one file. If the file has mistakes, add them to ``report`` and return
    ``None``.
    """
    if len(data) > MAX_BYTES:
        report.add(
            codes.UNREADABLE, f"cannot read {STANDARD_INPUT}", Span(Source(STANDARD_INPUT, ""), 0, 0), TOO_MUCH
        )
        return None
    return next(_formatted(decode(STANDARD_INPUT, data, report), report, notation), None)


def _has_bom(path: Path) -> bool:
    """Return whether a file begins with the byte order mark that some editors write in UTF-8 files."""
    with path.open("rb") as file:
        return file.read(len(BOM_UTF8)) == BOM_UTF8


def replace_texts(files: Sequence[Rewritten]) -> None:
    """Write the changed files. The files of a folder are replaced together. Raises ``OSError``."""
    folders: dict[Path, dict[str, str]] = {}
    for one in files:
        if one.is_changed:
            path = Path(one.source.name).resolve()
            mark = _BOM if _has_bom(path) else ""
            folders.setdefault(path.parent, {})[path.name] = mark + one.text
    for folder, texts in folders.items():
        with locked(folder):
            replace_files(folder, texts)


def _formatted(sources: Iterable[Source], report: Report, notation: Notation | None) -> Iterator[Rewritten]:
    for source in sources:
        own = Report()
        document = parse(source, own, notation=notation)
        readable: Source | None = source
        if own.has_errors():
            readable = _indented(source) if document.notation == "krammar" else None
        elif document.notation == "json" and _loses_text(own):
            readable = None
        if readable is None:
            for diagnostic in own.diagnostics:
                report.merge(diagnostic)
        else:
            text = format_krammar(readable) if document.notation == "krammar" else format_json(readable)
            yield Rewritten(source, _with_line_ends(text, source.text))


def _indented(source: Source) -> Source | None:
    """Return the source with two spaces per level, or ``None`` if this does not fix all of its mistakes."""
    text, report = reindented(source.text), Report()
    if text is None:
        return None
    indented = Source(source.name, text)
    parse(indented, report, notation="krammar")
    return None if report.has_errors() else indented


def _loses_text(report: Report) -> bool:
    return any(one.code in _LOST for one in report.diagnostics)


def is_bundled(source: Source) -> bool:
    """Return whether a source is a bundle or a member of an archive."""
    members = tuple(f"{suffix}!" for suffix in ARCHIVE_SUFFIXES)
    return any(mark in source.name for mark in members) or source.name.endswith(BUNDLES)


def _with_line_ends(text: str, before: str) -> str:
    """Return ``text`` with the line endings of ``before``, as determined by its first line."""
    return text.replace("\n", "\r\n") if re.match(r"[^\n]*\r\n", before) else text
