"""Finding the intact batches of a segment and the damage between them.

The bytes of a file are divided into ``Extent``s: batches with correct checksums, and damage. The boundaries of
extents depend only on the file, so readers of different splits find the same extents. The next batch is expected at
the end of an intact batch. If no batch begins there, everything up to the next intact batch is damage. The size in a
damaged header is not used, because it may be wrong. (If the values in a damaged batch are record batches themselves,
these batches are also found and reported after the damage.)
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from kwire.frames import MAX_FRAME
from kwire.logs.window import BLOCK, CRC, HEAD, WINDOW, Window, checksums
from kwire.records.layout import ATTRIBUTES, BATCH_HEADER, MAGIC, MIN_SIZE, OVERHEAD

LOOK_BACK = 64
"""Maximum number of batches before a split that are searched for an intact batch. If none of them is intact, all
batches are verified."""

_OFFSETS = Struct(">q15xi")
"""The base offset and the last offset delta in magic 2."""
_CANDIDATE = re.compile(b"(?s)(?<=[\x00-\x06].{7})\x02(?=.{4}\x00[\x00-\x7f][\x00-\x7f])")
"""Matches magic 2 in a possible batch header, with a valid size, no unassigned attribute bits and a last offset delta
that is not negative."""
_OLD_CANDIDATE = re.compile(b"(?s)(?<=[\x00-\x06].{7})(?<!\x00{4}.{4})[\x00-\x02]")
"""Matches any magic in a header with a valid size. The size must not be zero, because damage is often a run of
zeros."""


class Extent(NamedTuple):
    """A range of bytes in a file, which is an intact batch if ``reason`` is ``None``, and damaged otherwise.
    ``unfinished`` is true if the file ends within it, so it may be a batch that is still being written.
    """

    position: int
    size: int
    reason: str | None = None
    unfinished: bool = False


Skip = Callable[[memoryview, int], bool]
"""A function that returns whether to skip a batch of magic 2, given its header and position."""


def extents(window: Window, position: int = 0, start: int = 0, skip: Skip | None = None) -> Iterator[Extent]:
    """Yield all extents that begin at ``start`` or later, in order.

    ``position`` is 0 or the position of an intact batch, from which reading starts. Zeros at the end of a file due to
    ``log.preallocate`` are omitted.

    Batches to ``skip`` are not verified if the next batch has the expected offset.
    """
    position = _entry(window, position, start)
    while position < window.size:
        for at, size, wanted in _chosen(window, position, skip) if skip else _run(window, position):
            position = at + size
            if wanted and at >= start:
                yield Extent(at, size)
        if position == window.size or _zeros(window, position):
            return
        end = _search(window, position + 1)
        for damage in _damage(window, position, end):
            if damage.position >= start:
                yield damage
        position = end


def _entry(window: Window, position: int, start: int) -> int:
    """Return the position of an intact batch at or before ``start``, from which all readers find the same extents.

    Only headers are read. The headers are trusted if one of the last ``LOOK_BACK`` batches before ``start`` is
    intact.
    """
    window.least = BLOCK
    while True:
        recent: deque[tuple[int, int]] = deque(maxlen=LOOK_BACK)
        passed = False
        for batch in _headers(window, position):
            if passed := batch[0] > start:
                break
            recent.append(batch)
        entry, size = next((batch for batch in reversed(recent) if window.certain(*batch)), (position, 0))
        if passed or start == 0 or (not size and len(recent) == LOOK_BACK):
            return entry
        following = _search(window, entry + size if size else entry + 1)
        if following > start or following == window.size:
            return entry
        position = following


def _headers(window: Window, position: int) -> Iterator[tuple[int, int]]:
    """Yield the position and size of consecutive batches, up to an invalid header."""
    unpack, least, last = HEAD.unpack_from, MIN_SIZE, window.size
    while window.size - position >= HEAD.size:
        data = window.block(position, HEAD.size)
        offset, end = position, position + len(data) - HEAD.size
        while position <= end:
            declared, magic = unpack(data, position - offset)
            size = OVERHEAD + declared
            if magic > 2 or declared < least[magic] or size > MAX_FRAME or position + size > last:
                return
            yield position, size
            position += size


def _run(window: Window, position: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the position and size of consecutive intact batches, each with ``True`` because no batch is skipped.

    The checks are inlined, because this loop is hot.
    """
    unpack, unpack_crc, last = HEAD.unpack_from, CRC.unpack_from, window.size
    window.least = WINDOW
    size = HEAD.size
    while last - position >= HEAD.size:
        view = window.block(position, size)
        at, end = 0, len(view)
        while at + HEAD.size <= end:
            declared, magic = unpack(view, at)
            size = OVERHEAD + declared
            if magic > 2 or declared < MIN_SIZE[magic] or size > MAX_FRAME or position + size > last:
                return
            if at + size > end:
                break
            if magic == 2 and window.verify:
                if crc32c(view[at + ATTRIBUTES : at + size]) != unpack_crc(view, at + 17)[0]:
                    return
            elif not window.intact(position, size):
                return
            yield position, size, True
            at += size
            position += size
        else:
            size = HEAD.size


def _chosen(window: Window, position: int, skip: Skip) -> Iterator[tuple[int, int, bool]]:
    """Yield the position and size of consecutive batches, each with ``False`` if it is to be skipped. Only a few
    bytes of skipped batches are read."""
    window.least = BLOCK
    while size := window.size_at(position):
        wanted = not (_is_modern(window, position) and skip(window.read(position, BATCH_HEADER.size), position))
        window.least = WINDOW if wanted else BLOCK
        if (wanted or not _continues(window, position, size)) and not window.intact(position, size):
            return
        yield position, size, wanted
        position += size


def _is_modern(window: Window, position: int) -> bool:
    header = window.read(position, BATCH_HEADER.size)
    return len(header) == BATCH_HEADER.size and header[MAGIC] == 2


def _continues(window: Window, position: int, size: int) -> bool:
    """Return whether a header can be trusted without its checksum, because the next batch has the expected offset."""
    base, delta = _OFFSETS.unpack_from(window.read(position, BATCH_HEADER.size))
    following = int.from_bytes(window.read(position + size, 8), "big", signed=True)
    return _is_modern(window, position + size) and following == base + delta + 1


def _damage(window: Window, position: int, end: int) -> Iterator[Extent]:
    """Yield the damage up to ``end``. Batches with wrong checksums are separate extents as long as their sizes are
    valid."""
    while position < end:
        size = window.size_at(position)
        if size and position + size <= end:
            yield Extent(position, size, _mismatch(window, position, size))
            position += size
        else:
            yield Extent(position, end - position, *_reason(window, position, end))
            return


def _reason(window: Window, position: int, end: int) -> tuple[str, bool]:
    """Return the reason why the batch at ``position`` is invalid, and whether it may be unfinished."""
    left = window.size - position
    if left < HEAD.size:
        return f"incomplete: the file ends {left} bytes after a batch began", True
    declared, magic = HEAD.unpack_from(window.read(position, HEAD.size))
    if not MIN_SIZE[0] <= declared <= MAX_FRAME - OVERHEAD:
        reason = f"the batch size is {declared}: expected {MIN_SIZE[0]} to {MAX_FRAME - OVERHEAD}"
    elif magic >= len(MIN_SIZE):
        reason = f"unknown magic {magic}"
    elif declared < MIN_SIZE[magic]:
        reason = f"the batch size is {declared}: expected at least {MIN_SIZE[magic]}"
    elif OVERHEAD + declared > left:
        reason = f"incomplete: the file contains only {left} of the batch's {OVERHEAD + declared} bytes"
        return reason, end == window.size
    else:
        reason = f"{_mismatch(window, position, OVERHEAD + declared)}, and another batch begins in it"
    return reason, False


def _mismatch(window: Window, position: int, size: int) -> str:
    stored, computed = checksums(window.read(position, size))
    return f"the stored checksum is {stored:08x}, but the computed checksum is {computed:08x}"


def _zeros(window: Window, position: int) -> bool:
    """Return whether all bytes from ``position`` to the end of the file are zero."""
    while position < window.size:
        chunk = bytes(window.read(position, WINDOW))
        if chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True


def _search(window: Window, position: int) -> int:
    """Return the position of the first batch at or after ``position`` that ``Window.certain`` accepts, or the end of
    the file."""
    pattern = _OLD_CANDIDATE if window.old else _CANDIDATE
    while window.size - position >= HEAD.size and window.budget > 0:
        chunk = bytes(window.read(position, WINDOW))
        for match in pattern.finditer(chunk, MAGIC):
            at = position + match.start() - MAGIC
            size = window.size_at(at)
            if size and window.certain(at, size):
                return at
        if position + len(chunk) >= window.size:
            break
        position += len(chunk) - BATCH_HEADER.size
    return window.size
