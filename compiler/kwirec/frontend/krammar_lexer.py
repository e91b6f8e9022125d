"""Splits text in the indentation notation into lines with their levels.

Each level is indented by two spaces. Tabs and odd numbers of spaces are reported, and are read as the most likely
level. Comments are lines too, so that no text is lost.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.edits import replaced
from kwirec.diagnostics.source import Source, Span

INDENT = "  "
COMMENT = "//"
REMARK = "//#"
"""The start of a comment that is not part of a description."""


class LineKind(enum.Enum):
    BLANK = "blank"
    COMMENT = "comment"
    TEXT = "text"


@dataclass(slots=True)
class Line:
    """A line, without indentation or trailing white space. ``start`` is the offset of ``text`` in the source.

    ``is_reported`` is true if the indentation is wrong and the level is therefore a guess.
    """

    kind: LineKind
    level: int
    text: str
    start: int
    is_reported: bool = False

    def span(self, source: Source, start: int = 0, end: int | None = None) -> Span:
        """Return the span of the line or of a part of it."""
        return Span(source, self.start + start, self.start + (len(self.text) if end is None else end))


def read_lines(source: Source, report: Report) -> Iterator[Line]:
    """Yield all lines of a source. Report wrong indentation for each line, but only once for consecutive lines with
    tabs.
    """
    offset, tabbed = 0, False
    for written in report.until_full(source.text.split("\n")):
        body = written.rstrip(" \t\r")
        text = body.lstrip(" \t")
        indent = body[: len(body) - len(text)]
        start = offset + len(indent)
        kind = LineKind.TEXT
        if text.startswith(COMMENT):
            kind = LineKind.COMMENT
        elif not text:
            kind = LineKind.BLANK
        level = len(indent) // 2
        if "\t" in indent:
            level = indent.count("\t") + indent.count(" ") // 2
            if not tabbed:
                _bad_indentation(report, Span(source, offset, start), "a tab in the indentation")
            tabbed = True
        elif kind is not LineKind.BLANK:
            tabbed = False
            if len(indent) % 2:
                level += 1
                if kind is LineKind.TEXT:
                    _bad_indentation(report, Span(source, offset, start), f"{len(indent)} spaces of indentation")
        if len(body) < len(written) and kind is not LineKind.COMMENT and written[len(body) :] != "\r":
            end = Span(source, offset + len(body), offset + len(written))
            what = "white space at the end of a line"
            fix = replaced(end, "\r" if written.endswith("\r") else "")
            report.add(codes.SPACING, what, end, helps=["remove it"], fix=fix)
        yield Line(kind, level, text, start, tabbed or len(indent) % 2 == 1)
        offset += len(written) + 1


def _bad_indentation(report: Report, span: Span, what: str) -> None:
    report.add(codes.BAD_INDENTATION, what, span, helps=["indent by two spaces for each level"])
