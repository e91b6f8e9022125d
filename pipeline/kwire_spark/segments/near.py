"""Where in a segment to begin, for a position or an offset in it: at its start, or where its index leads.

An index is a hint. It is followed to a batch whose checksum is right and whose offset is what the index says; any
other leads back to the start of the file, from where all batches are found.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from pathlib import Path
from struct import Struct

from kwire.logs import LogSegment
from kwire.logs.indexes import position_of
from kwire.records import Batch
from kwire.records.layout import MAGIC, OVERHEAD
from kwire_spark.segments.window import Window

_ENTRY = Struct(">ii")


def near_position(window: Window, path: str, position: int) -> int:
    """Where a batch begins, at ``position`` or before."""
    return _checked(window, path, *_last_before(Path(path), position)) if position else 0


def near_offset(window: Window, path: str, offset: int) -> int:
    """Where a batch begins that has ``offset``, or is before the one that has."""
    base = LogSegment(path).base_offset
    return 0 if base is None or offset <= base else _checked(window, path, *position_of(Path(path), offset - base))


def _last_before(path: Path, position: int) -> tuple[int, int]:
    """The last entry of the index that is not behind a position: relative offset and position."""
    try:
        data = path.with_suffix(".index").read_bytes()
    except OSError:
        return 0, 0

    def place(slot: int) -> int:
        found: int = _ENTRY.unpack_from(data, slot * _ENTRY.size)[1]
        return found if found or not slot else sys.maxsize  # a zero behind the first entry was never written

    count = bisect_right(range(len(data) // _ENTRY.size), position, key=place)
    found: tuple[int, int] = _ENTRY.unpack_from(data, (count - 1) * _ENTRY.size) if count else (0, 0)
    return found


def _checked(window: Window, path: str, relative: int, position: int) -> int:
    """``position`` if a batch of magic 2 is there that the entry can mean, else 0."""
    base = LogSegment(path).base_offset
    if base is None or not 0 < position <= window.size - OVERHEAD - MAGIC or relative < 0:
        return 0
    size = window.size_at(position)
    if not size or window.read(position, MAGIC + 1)[MAGIC] != 2:
        return 0
    batch = Batch(window.read(position, size), position)
    right = base <= batch.base_offset <= base + relative and window.certain(position, size)
    return position if right else 0
