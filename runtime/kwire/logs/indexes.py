"""The indexes beside a log segment: where to begin reading for an offset or a time.

``.index`` has pairs of int32: offset, counted from the segment's base offset, and position in the ``.log`` file.
``.timeindex`` has the highest timestamp so far as int64 and the relative offset of its record as int32. Brokers write
an entry every few KiB (``log.index.interval.bytes``) and allocate the files in advance, so that zeros follow the last
entry. Both are hints: whoever uses them compares what they promise with the log.
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
    """The last entry of the ``.index`` beside ``log`` that is not behind a relative offset: that offset and its
    position; zeros if there is none."""
    return _last(log.with_suffix(".index"), _OFFSET_ENTRY, relative)


def offset_of(log: Path, timestamp: int) -> tuple[int, int]:
    """The last entry of the ``.timeindex`` beside ``log`` that is not behind a timestamp: its own timestamp, which no
    record before has reached, and the relative offset of the record that did; zeros if there is none."""
    return _last(log.with_suffix(".timeindex"), _TIME_ENTRY, timestamp)


def _last(path: Path, entry: Struct, key: int) -> tuple[int, int]:
    """The last entry whose first number is at most ``key``."""
    try:
        data = path.read_bytes()
    except OSError:
        return 0, 0

    def first(slot: int) -> int:
        number: int = entry.unpack_from(data, slot * entry.size)[0]
        return number if number or not slot else sys.maxsize  # a zero behind the first entry was never written

    count = bisect_right(range(len(data) // entry.size), key, key=first)
    found: tuple[int, int] = entry.unpack_from(data, (count - 1) * entry.size) if count else (0, 0)
    return found if min(found) >= 0 else (0, 0)
