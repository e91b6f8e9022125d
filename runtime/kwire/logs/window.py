"""Keeping a part of a segment in memory, and checking the batch headers and checksums in it."""

from __future__ import annotations

import zlib
from struct import Struct
from typing import BinaryIO

from crc32c import crc32c

from kwire.frames import MAX_FRAME
from kwire.records.layout import ATTRIBUTES, BATCH_HEADER, CODEC_MASK, MAGIC, MIN_SIZE, OVERHEAD

BLOCK = 1 << 12
"""Number of bytes read at a time if only headers are needed."""
WINDOW = 1 << 22
"""Number of bytes read at a time if whole batches are needed."""
BUDGET = 1 << 30
"""Maximum number of bytes checksummed per file in the search for batches. This maximum limits the cost of files full
of false headers.
"""

HEAD = Struct(">8xi4xB")
"""The size and magic fields, which are at the same positions in all formats."""
CRC = Struct(">I")


class ShrunkFileError(OSError):
    """A file has become shorter since it was opened. ``size`` is its current size in bytes."""

    def __init__(self, size: int, expected: int) -> None:
        super().__init__(f"the file now ends at byte {size}, but had {expected} bytes")
        self.size = size


class Window:
    """A file of ``size`` bytes that is partly in memory. Each access to the file reads at least ``least`` bytes.

    ``verify`` says whether a batch must have a correct checksum to be intact.
    """

    __slots__ = ("_file", "_old", "_view", "budget", "data", "least", "size", "start", "verify")

    def __init__(self, file: BinaryIO, size: int, least: int = BLOCK, *, verify: bool = True) -> None:
        self._file = file
        self.data = b""
        self.start = 0
        self._view = memoryview(b"")
        self._old: bool | None = None
        self.size = size
        self.least = least
        self.verify = verify
        self.budget = BUDGET

    def read(self, position: int, count: int) -> memoryview:
        """Return ``count`` bytes from ``position``, or fewer at the end of the file. Raise ``ShrunkFileError`` if the
        file has shrunk."""
        count = min(count, self.size - position)
        at = position - self.start
        if at < 0 or at + count > len(self.data):
            self._file.seek(position)
            self.data = self._file.read(min(max(count, self.least), self.size - position))
            self._view = memoryview(self.data)
            self.start, at = position, 0
            if len(self.data) < count:
                raise ShrunkFileError(position + len(self.data), self.size)
        return self._view[at : at + count]

    def block(self, position: int, count: int) -> memoryview:
        """Return all bytes in memory starting at ``position``, which are at least ``count`` bytes unless the file
        ends."""
        self.read(position, count)
        return self._view[position - self.start :]

    def size_at(self, position: int) -> int:
        """Return the size in bytes of the batch at ``position``, or 0 if its header is invalid."""
        if self.size - position < HEAD.size:
            return 0
        declared, magic = HEAD.unpack_from(self.read(position, HEAD.size))
        size = OVERHEAD + int(declared)
        fits = magic < len(MIN_SIZE) and declared >= MIN_SIZE[magic] and size <= min(MAX_FRAME, self.size - position)
        return size if fits else 0

    def intact(self, position: int, size: int) -> bool:
        """Return whether the checksum of a batch is correct. Unless ``verify`` is set, every batch is intact."""
        return not self.verify or self._correct(position, size)

    def _correct(self, position: int, size: int) -> bool:
        stored, computed = checksums(self.read(position, size))
        return stored == computed

    def certain(self, position: int, size: int) -> bool:
        """Return whether a batch with a plausible header and a correct checksum starts at ``position``.

        Batches of magic 0 and 1 are only accepted in a file that begins with a message set [KAFKA-WIRE 44]. Random
        bytes are rarely plausible headers. Without the check for plausibility, each false header could require a slow
        checksum of up to 100 MB.
        """
        header = self.read(position, min(size, BATCH_HEADER.size))
        if not (header[MAGIC] == 2 or self.old) or not _plausible(header) or self.budget <= 0:
            return False
        self.budget -= size
        return self._correct(position, size)

    @property
    def old(self) -> bool:
        """Whether the file begins with a message set of magic 0 or 1."""
        if self._old is None:
            first = self.read(0, HEAD.size)
            self._old = len(first) == HEAD.size and first[MAGIC] < 2
        return self._old


def checksums(batch: memoryview) -> tuple[int, int]:
    """Return the checksum stored in a batch, and the checksum computed from its bytes."""
    if batch[MAGIC] == 2:
        return CRC.unpack_from(batch, 17)[0], crc32c(batch[ATTRIBUTES:])
    return CRC.unpack_from(batch, OVERHEAD)[0], zlib.crc32(batch[MAGIC:])


def _plausible(header: memoryview) -> bool:
    """Return whether the header fields covered by the checksum are valid."""
    if header[MAGIC] < 2:
        return header[MAGIC + 1] < 16  # the attributes
    _, _, _, _, _, attributes, delta, _, _, producer, epoch, sequence, count = BATCH_HEADER.unpack(header)
    described: bool = 0 <= attributes < 128 and attributes & CODEC_MASK <= 4 and min(producer, epoch, sequence) >= -1
    return described and delta >= 0 and bool(0 <= count <= delta + 1)
