"""Sources and spans, which are the positions of diagnostics."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath


@dataclass(frozen=True, eq=False)
class Source:
    """A source text and its name in diagnostics."""

    name: str
    text: str

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, both starting at 1. Columns count characters."""
        line = bisect.bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """Return the line with number ``line`` (from 1), without its line break."""
        return _line_text(self.text, self._line_starts[line - 1])

    @property
    def stem(self) -> str:
        """The file name without folders or suffixes."""
        return PurePosixPath(self.name.replace("\\", "/").rpartition("!")[2]).name.split(".")[0]


@lru_cache(1)
def _line_text(text: str, start: int) -> str:
    """Return the line of ``text`` that begins at ``start``. The cache helps with findings in huge lines."""
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """The characters ``start`` to ``end`` (exclusive) of a source."""

    source: Source = field(repr=False)
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """Return the span from the start of this span to the end of ``other``."""
        return Span(self.source, self.start, max(self.end, other.end))

    def within(self, start: int, end: int) -> Span:
        """Return a part of this span. Offsets are relative to the start of this span and are clipped to its end."""
        return Span(self.source, min(self.start + start, self.end), min(self.start + end, self.end))

    @property
    def sort_key(self) -> tuple[str, int, int]:
        return self.source.name, self.start, self.end

    def __str__(self) -> str:
        line, column = self.source.line_and_column(self.start)
        return f"{self.source.name}:{line}:{column}"
