"""The indexes of a log segment: where to start reading for an offset, a position or a time.

``.index`` has pairs of int32: offset, counted from the segment's base offset, and position in the ``.log`` file.
``.timeindex`` has the highest timestamp so far as int64 and the relative offset of its record as int32. Brokers write
an entry every few KiB (``log.index.interval.bytes``) and allocate the files in advance, so that zeros follow the last
entry. Both are hints: compare them with the log before relying on them.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")


def position_of(log: Path, relative: int) -> tuple[int, int]:
    """The last entry of the ``.index`` of ``log`` at or before a relative offset: that offset and its position;
    zeros if there is none."""
    return _last(log.with_suffix(".index"), _OFFSET_ENTRY, relative)


def offset_of(log: Path, timestamp: int) -> tuple[int, int]:
    """The last entry of the ``.timeindex`` of ``log`` at or before a timestamp: the highest timestamp so far, and
    the relative offset of its record; zeros if there is none."""
    return _last(log.with_suffix(".timeindex"), _TIME_ENTRY, timestamp)


def offset_before(log: Path, position: int) -> tuple[int, int]:
    """The last entry of the ``.index`` of ``log`` at or before a position: relative offset and position."""
    return _last(log.with_suffix(".index"), _OFFSET_ENTRY, position, column=1)


def _last(path: Path, entry: Struct, key: int, column: int = 0) -> tuple[int, int]:
    """The last entry whose number in ``column`` is at most ``key``; zeros if there is none."""
    try:
        data = path.read_bytes()
    except OSError:
        return 0, 0

    def number(slot: int) -> int:
        value: int = entry.unpack_from(data, slot * entry.size)[column]
        return value if value or not slot else sys.maxsize  # a zero after the first entry was never written

    count = bisect_right(range(len(data) // entry.size), key, key=number)
    last: tuple[int, int] = entry.unpack_from(data, (count - 1) * entry.size) if count else (0, 0)
    return last if min(last) >= 0 else (0, 0)
