"""Where to start reading a segment for a position or an offset: at its start, or at a batch found through its index.

An index entry is a hint. It is used only if a batch with a valid checksum and the indexed offset is there; otherwise
reading starts at the beginning of the file, from where all batches are found.
"""

from __future__ import annotations

from pathlib import Path

from kwire.logs.indexes import offset_before, position_of
from kwire.logs.segment import LogSegment
from kwire.logs.window import Window
from kwire.records import Batch
from kwire.records.layout import MAGIC, OVERHEAD


def near_position(window: Window, path: str, position: int) -> int:
    """The start of a batch at or before ``position``."""
    return _checked(window, path, *offset_before(Path(path), position)) if position else 0


def near_offset(window: Window, path: str, offset: int) -> int:
    """The start of the batch that holds ``offset``, or of one before it."""
    base = LogSegment(path).base_offset
    return 0 if base is None or offset <= base else _checked(window, path, *position_of(Path(path), offset - base))


def _checked(window: Window, path: str, relative: int, position: int) -> int:
    """``position`` if a batch of magic 2 that matches the index entry starts there, else 0."""
    base = LogSegment(path).base_offset
    if base is None or not 0 < position <= window.size - OVERHEAD - MAGIC or relative < 0:
        return 0
    size = window.size_at(position)
    if not size or window.read(position, MAGIC + 1)[MAGIC] != 2:
        return 0
    batch = Batch(window.read(position, size), position)
    right = base <= batch.base_offset <= base + relative and window.certain(position, size)
    return position if right else 0
