"""Cells as text for people. Texts from the wire, such as client ids, are untrusted, so they are escaped and
shortened.

Python escapes replace all characters that a terminal or browser would not show, or that would change the order or
appearance of the surrounding text. Spreadsheets evaluate CSV cells that begin like a formula, even after spaces or
marks, so such cells get the prefix ``'``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from kwire_inspect.reports.report import Cell, Column
from kwire_rules import printable

LONGEST = 200
"""Maximum number of characters of a text to show. Files contain the whole text."""
WHOLE = 1 << 20
"""Maximum number of characters to show of a text in a ``whole`` column."""
_INVISIBLE = (
    r"\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Space and other characters that fonts do not show [Unicode, Default_Ignorable_Code_Point]."""
_SIGNS = r"=+\-@\u207a-\u207c\u208a-\u208c\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
FORMULA = rf"^(?:[{_INVISIBLE}]*[{_SIGNS}]|[\t\r\n])"
"""Beginning of a text that a spreadsheet may evaluate, as a regular expression for both Python and Java."""
UNPRINTABLE = r"[\p{Cc}\p{Cf}\p{Co}\p{Z}&&[^ ]]"
"""Characters that :func:`~kwire_rules.printable` escapes, as a regular expression for Java. Unassigned characters are
not included, because they depend on the Unicode version.
"""


def shown(cell: Cell, longest: int = LONGEST) -> str:
    """Return a cell as text: times in UTC, floats with four significant digits, and texts escaped and shortened."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, datetime):
        return time(cell)
    if isinstance(cell, float):
        return number(cell)
    if isinstance(cell, tuple):
        return listed([visible(str(value), longest) for value in cell], longest)
    return visible(str(cell), longest)


def shown_in(column: Column, cell: Cell, longest: int = LONGEST) -> str:
    """Return a cell of this column as text for people. Use the brief form if the column defines one, and do not
    shorten texts in a ``whole`` column.
    """
    brief = column.brief(cell) if column.brief and isinstance(cell, str) else cell
    return shown(brief, WHOLE if column.whole else longest)


def visible(text: str, longest: int = LONGEST) -> str:
    """Return ``text`` with escapes for control characters, direction marks, lone surrogates and unusual spaces. If
    ``text`` exceeds ``longest`` characters, return only its beginning, followed by its length.

    >>> visible("a\\x1b[31m b\\u202ec")
    'a\\\\x1b[31m b\\\\u202ec'
    """
    if len(text) > longest:
        text = f"{text[:longest]}… ({len(text):,} characters)"
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def listed(texts: Sequence[str], longest: int = LONGEST) -> str:
    """Return texts separated by commas: all of them, or the first few and the number of remaining texts.

    >>> listed(["Produce", "Fetch"]), listed(["Produce", "Fetch", "Metadata", "Heartbeat"], 20)
    ('Produce, Fetch', 'Produce, Fetch and 2 more')
    """
    first = list(texts)
    while len(first) > 1 and len(", ".join(first)) > longest:
        first.pop()
    more = f" and {len(texts) - len(first):,} more" if len(first) < len(texts) else ""
    return ", ".join(first) + more


def runs(numbers: Iterable[int]) -> list[range]:
    """Return the distinct numbers in ascending order, as ranges of adjacent numbers.

    >>> runs([5, 0, 1, 2, 7])
    [range(0, 3), range(5, 6), range(7, 8)]
    """
    ranges: list[range] = []
    for number in sorted(set(numbers)):
        start = ranges.pop().start if ranges and ranges[-1].stop == number else number
        ranges.append(range(start, number + 1))
    return ranges


def file_name(path: str) -> str:
    """Return the file name in a path, with the position after it, if any.

    >>> file_name("/var/captures/a.pcap:17")
    'a.pcap:17'
    """
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def label(text: str, longest: int = 28) -> str:
    """Return a short label for a chart axis. The label keeps the beginning and end of the text, because names often
    differ there.
    """
    text = visible(text)
    return text if len(text) <= longest else f"{text[: longest - 9]}…{text[-8:]}"


def number(value: float) -> str:
    """Return a number as text with four significant digits, or as an integer if it is at least 1,000. NaN becomes an
    empty text.

    >>> [number(0.0), number(12.3456), number(123456.7), number(1e-7), number(float("nan"))]
    ['0', '12.35', '123457', '1e-07', '']
    """
    if value != value:
        return ""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def in_utc(moment: datetime) -> datetime:
    """Return the time in UTC. Spark returns naive local times to Python, whatever the session's time zone."""
    return moment.astimezone(UTC)


def time(moment: datetime) -> str:
    """Return a time as text, in UTC.

    >>> time(datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC))
    '2026-01-02 03:04:05.678'
    """
    moment = in_utc(moment).replace(tzinfo=None)
    return moment.isoformat(" ", "milliseconds" if moment.microsecond else "seconds")


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular or the plural.

    >>> counted(1, "client"), counted(1200, "client"), counted(2, "reply", "replies")
    ('1 client', '1,200 clients', '2 replies')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def csv_cell(text: str) -> str:
    r"""Return ``text`` with terminal control characters escaped, and with the prefix ``'`` if it may be a formula.

    >>> csv_cell("=1+1"), csv_cell("\n =1+1"), csv_cell("a=1")
    ("'=1+1", "'\\u000a =1+1", 'a=1')
    """
    return printable(f"'{text}" if re.match(FORMULA, text) else text)
