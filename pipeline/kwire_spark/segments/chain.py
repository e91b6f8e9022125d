"""A segment as a chain: from one batch to the next by the sizes in their headers, and past whatever is broken.

Takes the bytes of a file, gives ``Stretch``es: batches as far as their headers tell, and damage in between. Where
these begin follows from the file alone, so that readers of different splits agree about it. A header that makes no
sense ends the chain; it goes on at the next batch whose checksum is right.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO

from kwire.frames import MAX_FRAME
from kwire.records import Batch, ChecksumError
from kwire.records.layout import LEAST, MAGIC, OVERHEAD

BLOCK = 1 << 12
"""Bytes read at a time where only headers are looked at."""
WINDOW = 1 << 20
"""Bytes read at a time where batches are."""
BUDGET = 1 << 30
"""Bytes of a file whose checksums are computed in search of batches: a file full of false headers costs no more."""
LOOK_BACK = 64
"""How many batches in a row may be wrong, each leading to the next, before those that they cover are lost."""

_HEAD = Struct(">8xi4xB")
"""The size and the magic, which stand in the same places in all formats."""


Stretch = tuple[int, int, str | None]
"""Position and size of bytes of a file: a batch, by its header, or else the reason why they are none."""


class Window:
    """A file of ``size`` bytes, of which some are in memory: ``least`` of them, or a batch that is larger."""

    __slots__ = ("_data", "_file", "_start", "budget", "least", "size")

    def __init__(self, file: BinaryIO, size: int, least: int = BLOCK) -> None:
        self._file = file
        self._start = 0
        self._data = memoryview(b"")
        self.size = size
        self.least = least
        self.budget = BUDGET

    def read(self, position: int, count: int) -> memoryview:
        """``count`` bytes, or as many as there are up to the end. ``OSError`` if the file is shorter by now."""
        count = min(count, self.size - position)
        at = position - self._start
        if at < 0 or at + count > len(self._data):
            self._file.seek(position)
            self._data = memoryview(self._file.read(min(max(count, self.least), self.size - position)))
            self._start, at = position, 0
            if len(self._data) < count:
                raise OSError(f"the file ends at byte {position + len(self._data)}, before it had {self.size}")
        return self._data[at : at + count]

    def block(self, position: int, count: int) -> memoryview:
        """All bytes from ``position`` on that are in memory, ``count`` of them or more, or up to the end."""
        self.read(position, count)
        return self._data[position - self._start :]

    def size_at(self, position: int) -> int:
        """How many bytes the batch has that begins here, by its header."""
        return OVERHEAD + int.from_bytes(self.read(position, OVERHEAD)[8:], "big", signed=True)

    def intact(self, position: int, size: int) -> bool:
        """Whether the checksum of a batch is right."""
        self.budget -= size
        try:
            Batch(self.read(position, size), position).verify()
        except ChecksumError:
            return False
        return True


def stretches(window: Window, position: int = 0, start: int = 0) -> Iterator[Stretch]:
    """All of a file from ``position`` on, which is where a batch begins, less what begins before ``start``; but not
    zeros at its end, which a broker with ``log.preallocate`` has there.

    Positions ascend, but that behind batches with wrong checksums some may follow that begin before those.
    """
    while position < window.size:
        recent: deque[tuple[int, int]] = deque(maxlen=LOOK_BACK)
        for batch in _batches(window, position):
            recent.append(batch)
            position = batch[0] + batch[1]
            if batch[0] >= start:
                yield *batch, None
        if position == window.size or _zeros(window, position):
            return
        # If a batch whose size is wrong led here, those that it covers are found again.
        found = _search(window, 1 + _astray(window, recent, position))
        if found > position >= start:
            yield position, found - position, _reason(window, position)
        position = found


def _astray(window: Window, recent: deque[tuple[int, int]], position: int) -> int:
    """Where the damage begins that led to ``position``: behind the last batch whose checksum is right."""
    for at, size in reversed(recent):
        if window.intact(at, size):
            break
        position = at
    return position


def _batches(window: Window, position: int) -> Iterator[tuple[int, int]]:
    """Position and size of one batch after another, as long as headers make sense."""
    unpack, least, last = _HEAD.unpack_from, LEAST, window.size
    while window.size - position >= _HEAD.size:
        data = window.block(position, _HEAD.size)
        offset, end = position, position + len(data) - _HEAD.size
        while position <= end:
            declared, magic = unpack(data, position - offset)
            size = OVERHEAD + declared
            if magic > 2 or declared < least[magic] or size > MAX_FRAME or position + size > last:
                return
            yield position, size
            position += size


def _reason(window: Window, position: int) -> str:
    """Why no batch begins here."""
    left = window.size - position
    if left < _HEAD.size:
        return f"cut off: the file ends {left} bytes after a batch began"
    declared, magic = _HEAD.unpack_from(window.read(position, _HEAD.size))
    if not LEAST[0] <= declared <= MAX_FRAME - OVERHEAD:
        return f"a batch of size {declared}: the least is {LEAST[0]}, the most {MAX_FRAME - OVERHEAD}"
    if magic >= len(LEAST):
        return f"there is no magic {magic}"
    if declared < LEAST[magic]:
        return f"a batch of size {declared}: the least is {LEAST[magic]}"
    return f"cut off: the batch has {OVERHEAD + declared} bytes, {left} of them are in the file"


def _zeros(window: Window, position: int) -> bool:
    """Whether only zeros follow."""
    while position < window.size:
        chunk = bytes(window.read(position, WINDOW))
        if chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


def _search(window: Window, position: int) -> int:
    """Where the next batch begins whose checksum is right; the end of the file if there is none.

    Only a file that begins with a message set is searched for others of magic 0 and 1 [KAFKA-WIRE 44].
    """
    first = window.read(0, _HEAD.size)
    pattern = re.compile(b"[\x00-\x02]" if len(first) == _HEAD.size and first[MAGIC] < 2 else b"\x02")
    while window.size - position >= _HEAD.size and window.budget > 0:
        chunk = bytes(window.read(position, WINDOW))
        for match in pattern.finditer(chunk, MAGIC):
            at = match.start() - MAGIC
            size = OVERHEAD + int.from_bytes(chunk[at + 8 : at + OVERHEAD], "big")
            if size <= MAX_FRAME and size >= OVERHEAD + LEAST[chunk[at + MAGIC]]:
                fits = position + at + size <= window.size
                if fits and window.budget > 0 and window.intact(position + at, size):
                    return position + at
        position += max(1, len(chunk) - MAGIC)
    return window.size
