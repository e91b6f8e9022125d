"""Findings as single lines that have all of them: tables of what is said about many texts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kwirec.diagnostics.diagnostic import Diagnostic, Label


def told(found: Iterable[Diagnostic], *, file: bool = False) -> str:
    """A line for each finding: place, code, message, labels with what they point at, notes and helps."""
    return "\n".join(_line(one, file) for one in found)


def _line(one: Diagnostic, file: bool) -> str:
    severity = "" if one.severity.value == "error" else f"{one.severity.value} "
    line = f"{_place(one.primary, file)} {severity}{one.code} {one.message}"
    if one.primary.text:
        line += f": {one.primary.text}"
    line += "".join(f" + {_place(label, file)} {label.text}" for label in one.others)
    line += "".join(f" (note: {text})" for text in one.notes) + "".join(f" ({text})" for text in one.helps)
    return re.sub("(known attributes: .{20}).*?\\)", r"\1…)", line).replace("\n", "⏎")


def _place(label: Label, file: bool) -> str:
    span = label.span
    line, column = span.source.line_and_column(span.start)
    text = span.text.replace("\n", "⏎")
    text = text if len(text) <= 24 else f"{text[:16]}…{text[-7:]}"
    return f"{f'{span.source.name}:' if file else ''}{line}:{column} ‹{text}›"
