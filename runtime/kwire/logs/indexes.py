"""Finding where to start reading a segment to reach a given position, offset or time.

Reading starts at the beginning of the segment or at a batch in an index. An entry of ``.index`` consists of an offset
relative to the segment's base offset and a position in the ``.log`` file, both int32. An entry of ``.timeindex``
consists of the highest timestamp so far (int64) and the relative offset of the record with that timestamp (int32).
Brokers write an entry every few KiB (``log.index.interval.bytes``) and allocate the files in advance, so that zeros
follow the last entry.

An index entry is only a hint, which is used if it points to a batch with a valid checksum and the indexed offset or
time. Otherwise reading starts at the beginning of the file, so that no batch is missed.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from struct import Struct

from kwire.logs.extents import extents
from kwire.logs.window import Window
from kwire.records import Batch
from kwire.records.layout import MAGIC, OVERHEAD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.logs.segment import LogSegment

    Read = Callable[[str], bytes]

_ENTRIES = {".index": Struct(">ii"), ".timeindex": Struct(">qi")}


def near_position(window: Window, segment: LogSegment, position: int, read: Read | None = None) -> int:
    """Return the start of a batch at or before ``position``.

    ``read`` returns the bytes of the index file with a given suffix.
    """
    return _checked(window, segment, *_last(segment, ".index", position, read, column=1)) if position else 0


def near_offset(window: Window, segment: LogSegment, offset: int, read: Read | None = None) -> int:
    """Return the start of the batch that contains ``offset``, or of an earlier batch."""
    base = segment.base_offset
    if base is None or offset <= base:
        return 0
    return _checked(window, segment, *_last(segment, ".index", offset - base, read))


def near_time(window: Window, segment: LogSegment, time: int) -> int:
    """Return the start of a batch at or before the first batch with a timestamp of at least ``time``, in
    milliseconds."""
    if segment.base_offset is None:
        return 0
    timestamp, relative = _last(segment, ".timeindex", time)
    offset = segment.base_offset + relative
    for position, size, reason, _ in extents(window, near_offset(window, segment, offset)):
        if reason is not None or window.read(position, size)[MAGIC] != 2:
            return 0
        batch = Batch(window.read(position, size), position)
        if batch.last_offset >= offset:
            return position if batch.base_offset <= offset and batch.max_timestamp == timestamp else 0
    return 0


def _checked(window: Window, segment: LogSegment, relative: int, position: int) -> int:
    """Return ``position`` if a batch of magic 2 starts there and matches the index entry. Otherwise return 0."""
    base = segment.base_offset
    if base is None or not 0 < position <= window.size - OVERHEAD - MAGIC or relative < 0:
        return 0
    size = window.size_at(position)
    if not size or window.read(position, MAGIC + 1)[MAGIC] != 2:
        return 0
    batch = Batch(window.read(position, size), position)
    matches = base <= batch.base_offset <= base + relative and window.certain(position, size)
    return position if matches else 0


def _last(segment: LogSegment, suffix: str, key: int, read: Read | None = None, column: int = 0) -> tuple[int, int]:
    """Return the last index entry whose number in ``column`` is at most ``key``, or ``(0, 0)`` if there is no such
    entry."""
    entry = _ENTRIES[suffix]
    try:
        data = read(suffix) if read is not None else segment.path.with_suffix(suffix).read_bytes()
    except OSError:
        return 0, 0

    def number(slot: int) -> int:
        value: int = entry.unpack_from(data, slot * entry.size)[column]
        return value if value or not slot else sys.maxsize  # a zero after the first entry is preallocated space

    count = bisect_right(range(len(data) // entry.size), key, key=number)
    last: tuple[int, int] = entry.unpack_from(data, (count - 1) * entry.size) if count else (0, 0)
    return last if min(last) >= 0 else (0, 0)
