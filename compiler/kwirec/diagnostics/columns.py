"""Lays out source lines for a terminal and computes the column of each character.

Tabs and wide characters take more than one column, and combining characters take none. Very long lines, such as
definitions in a ``.jsonl`` bundle, are cropped around the marked characters.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

WIDTH = 120
"""The approximate length, in characters, to which longer source lines are cropped."""

TAB = 4
CROPPED = "…"


@dataclass(frozen=True)
class ShownLine:
    """The printed text of a source line, and the columns of its visible characters, of each ``…`` and of its end."""

    text: str
    _columns: Sequence[tuple[int, int]]

    def column(self, index: int) -> int:
        """Return the column (from 0) of the character at ``index``. A cropped character has the column of the ``…``
        that replaces it.
        """
        return self._columns[bisect_right(self._columns, index, key=itemgetter(0)) - 1][1]


def show(line: str, marks: Sequence[tuple[int, int]]) -> ShownLine:
    """Return ``line`` laid out so that the character ranges ``marks`` are visible."""
    text: list[str] = []
    columns: list[tuple[int, int]] = []
    column = at = 0
    for start, end in (*_windows(len(line), marks), (len(line), len(line))):
        if start > at:
            columns.append((at, column))
            text.append(CROPPED)
            column += 1
        at = end
        for index, character in enumerate(line[start:end], start):
            columns.append((index, column))
            shown = " " * (TAB - column % TAB) if character == "\t" else printable(character)
            text.append(shown)
            column += sum(map(_cells, shown))
    return ShownLine("".join(text), (*columns, (len(line), column)))


def _windows(length: int, marks: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the character ranges to show. A short line is shown whole, and a long line only around each mark."""
    if length <= WIDTH:
        return [(0, length)]
    if not marks:
        return [(0, WIDTH)]
    pieces: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        edge = WIDTH // 8
        pieces += [(start, end)] if end - start <= WIDTH // 2 else [(start, start + edge), (end - edge, end)]
    margin = max(10, (WIDTH - sum(end - start for start, end in pieces)) // (2 * len(pieces)))
    windows: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        low, high = max(0, start - margin), min(length, end + margin)
        if windows and low <= windows[-1][1] + 1:
            windows[-1] = (windows[-1][0], max(high, windows[-1][1]))
        else:
            windows.append((low, high))
    return windows


def printable(text: str) -> str:
    """Return ``text`` on one line. Replace characters that move the cursor or cannot be encoded."""
    return text if text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if unicodedata.category(character) == "Zs":
        return " "
    return chr(0x2400 + code) if code < 0x20 else "\N{REPLACEMENT CHARACTER}"


def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
