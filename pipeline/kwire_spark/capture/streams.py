"""The bytes of a file, decompressed if necessary, in a window of bounded size."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import BinaryIO

from kwire_spark.folders import regular

CHUNK = 1 << 17
"""How many bytes are read at a time: few enough to stay in a core's cache while they are processed."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
SKIPPABLE = b"\x2a\x4d\x18"
"""A skippable zstd frame begins with these after any byte."""
STEP = 1 << 8
"""How many bytes of zstd are decompressed at a time: they yield at most 8 MB, since a block has at least 4 bytes."""
LARGEST_WINDOW = 1 << 27
"""The memory limit for zstd: the default limit of its command line tool."""


class DamagedStreamError(Exception):
    """The file is truncated or continues with invalid data; the data before that is valid."""


class Window:
    """A part of a stream: ``buffer``, whose first byte is at ``base`` in the uncompressed stream."""

    __slots__ = ("_chunks", "base", "buffer")

    def __init__(self, path: str) -> None:
        self.buffer = b""
        self.base = 0
        self._chunks = _chunks(path)

    def advance(self, at: int) -> bool:
        """Drop the data before ``at`` and append more; false if there is no more.

        Raises ``OSError``, or ``DamagedStreamError`` if decompression fails; nothing is dropped then.
        """
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self.buffer = self.buffer[at:] + chunk
        self.base += at
        return True

    def close(self) -> None:
        self._chunks.close()


def _chunks(path: str) -> Generator[bytes, None, None]:
    with regular(path).open("rb") as file:
        start = file.peek(4)[:4]
        if start.startswith(GZIP):
            yield from _gunzipped(file)
        elif start == ZSTD or start[1:] == SKIPPABLE:
            yield from _unzstd(file)
        else:
            while chunk := file.read(CHUNK):
                yield chunk


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    """All members of a gzip file. Zeros after the last member are padding, as for gzip itself."""
    rest = b""
    while rest := rest.lstrip(b"\0") or file.read(CHUNK).lstrip(b"\0"):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            before = member.copy()
            try:
                chunk = member.decompress(rest, CHUNK)
            except zlib.error as error:
                yield from _until_broken(before, rest)
                raise DamagedStreamError(f"invalid gzip data: {error}") from None
            if chunk:
                yield chunk
            rest = member.unconsumed_tail
            if not rest and not member.eof:
                rest = file.read(CHUNK)
                if not rest and not chunk:
                    raise DamagedStreamError("truncated gzip data")
        rest = member.unused_data


def _until_broken(member: zlib._Decompress, rest: bytes) -> Iterator[bytes]:
    """The data before an error, in small pieces."""
    with suppress(zlib.error):
        while rest and not member.eof:
            yield member.decompress(rest, 64)
            rest = member.unconsumed_tail


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """All frames of a zstd file."""
    import zstandard

    frames = zstandard.ZstdDecompressor(max_window_size=LARGEST_WINDOW)
    frame, begun = frames.decompressobj(), False
    while rest := file.read(STEP):
        while rest:
            try:
                chunk = frame.decompress(rest)
            except zstandard.ZstdError as error:
                raise DamagedStreamError(f"invalid zstd data: {error}") from None
            if chunk:
                yield chunk
            rest, begun = frame.unused_data if frame.eof else b"", not frame.eof
            if frame.eof:
                frame = frames.decompressobj()
    if begun:
        raise DamagedStreamError("truncated zstd data")
