"""Decompresses gzip, zstd, bzip2, xz and LZ4 in bounded memory. The first bytes of a file determine its format."""

from __future__ import annotations

import bz2
import io
import lzma
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from itertools import islice
from typing import BinaryIO, cast

CHUNK = 1 << 17
"""Number of bytes to read at a time. A chunk of this size stays in the cache of a CPU core while it is processed."""
GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
BZIP2 = re.compile(rb"BZh[1-9][1\x17]")
XZ = b"\xfd7zXZ\0"
LZ4 = b"\x04\x22\x4d\x18"
SKIPPABLE = b"\x2a\x4d\x18"
"""Second to fourth byte of a skippable zstd frame. The first byte varies."""
HEAD = 6
"""Number of bytes needed to identify the format."""
STEP = 1 << 8
"""Number of zstd bytes to decompress at a time. These bytes contain at most 64 blocks, which expand to at most 8
MB."""
SMALL_STEP = 1 << 12
"""Number of bytes to read from Arrow at a time. If reading fails, at most this many bytes are lost."""
MAX_FREE = 1 << 26
"""Decompressed size in bytes that is always allowed, however small the file."""
MAX_RATIO = 200
"""Maximum compression ratio of files that decompress to more than ``MAX_FREE`` bytes. ``zstd -19`` compresses a
request log of heartbeats by a factor of 54, and a capture of heartbeats by a factor of 7."""
MAX_WINDOW = 1 << 27
"""Maximum window size for zstd and maximum memory for xz, in bytes. The zstd command has the same default."""


class DamagedStreamError(Exception):
    """The file is truncated, or valid data is followed by invalid data. All data read so far is valid."""


def decompressed(file: BinaryIO, *, believe: bool = True) -> Generator[bytes, None, None]:
    """Yield the bytes of a file in chunks of about 128 KB, and of at most 8 MB. Decompress the file if its first
    bytes match a known format. Unless ``believe`` is true, the compression ratio of large files is limited to
    ``MAX_RATIO``. Raises ``DamagedStreamError`` after the last bytes that could be decompressed.
    """
    start = file.peek(HEAD)[:HEAD]  # type: ignore[attr-defined]
    reads = next((reads for reads, known in _FORMATS if known(start)), None)
    yield from (reads or _plain)(file) if reads is None or believe else _bounded(file, reads)


class _Counted(io.RawIOBase):
    """A file that counts the bytes read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found = self._file.read(size)
        self.count += len(found)
        return found


def _bounded(file: BinaryIO, reads: Callable[[BinaryIO], Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the decompressed bytes. Raise ``DamagedStreamError`` if the number of decompressed bytes exceeds both
    ``MAX_FREE`` and ``MAX_RATIO`` times the number of compressed bytes."""
    counted, size = _Counted(file), 0
    for chunk in reads(cast(BinaryIO, counted)):
        size += len(chunk)
        if size > max(MAX_FREE, counted.count * MAX_RATIO):
            raise DamagedStreamError(
                f"decompressed to more than {MAX_RATIO} times its size: decompress the file yourself"
            )
        yield chunk


def is_compressed_head(start: bytes) -> bool:
    """Return whether a file that starts with these bytes would be decompressed."""
    return any(known(start) for _, known in _FORMATS)


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _gunzipped(file: BinaryIO) -> Iterator[bytes]:
    """Yield the data of all members of a gzip file. Zeros after the last member are ignored as padding, as in gzip
    itself."""
    rest = b""
    while rest := _after_padding(file, rest):
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


def _after_padding(file: BinaryIO, rest: bytes) -> bytes:
    """Return ``rest`` without leading zeros. If nothing else is left of ``rest``, return the next bytes of the file
    without leading zeros, or no bytes at its end."""
    while not (rest := rest.lstrip(b"\0")) and (rest := file.read(CHUNK)):
        pass
    return rest


def _until_broken(member: zlib._Decompress, rest: bytes) -> Iterator[bytes]:
    """Yield the data in small pieces until an error occurs."""
    with suppress(zlib.error):
        while rest and not member.eof:
            yield member.decompress(rest, 64)
            rest = member.unconsumed_tail


def _unzstd(file: BinaryIO) -> Iterator[bytes]:
    """Yield the data of all frames of a zstd file."""
    import zstandard

    frames = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW)
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


def _bunzipped(file: BinaryIO) -> Iterator[bytes]:
    """Yield the data of all streams of a bzip2 file."""
    yield from _streams(file, "bzip2", bz2.BZ2Decompressor)


def _unxz(file: BinaryIO) -> Iterator[bytes]:
    """Yield the data of all streams of an xz file. Zeros after a stream are ignored as padding."""
    yield from _streams(file, "xz", lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_WINDOW))


def _streams(
    file: BinaryIO, name: str, new: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]
) -> Iterator[bytes]:
    rest = b""
    while rest := _after_padding(file, rest):
        stream = new()
        while not stream.eof:
            try:
                chunk = stream.decompress(rest, CHUNK)
            except (OSError, ValueError, lzma.LZMAError) as error:
                raise DamagedStreamError(f"invalid {name} data: {error}") from None
            if chunk:
                yield chunk
            rest = b""
            if stream.needs_input and not stream.eof and not (rest := file.read(CHUNK)):
                raise DamagedStreamError(f"truncated {name} data")
        rest = stream.unused_data


def _unlz4(file: BinaryIO) -> Iterator[bytes]:
    """Yield the data of all frames of an LZ4 file."""
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "lz4")
    ended: list[str] = []

    def pieces() -> Iterator[bytes]:
        try:
            while piece := stream.read(SMALL_STEP):
                yield piece
        except OSError as error:
            ended.append("truncated LZ4 data" if "runcated" in str(error) else f"invalid LZ4 data: {error}")

    steps = pieces()
    while chunk := b"".join(islice(steps, CHUNK // SMALL_STEP)):
        yield chunk
    if ended:
        raise DamagedStreamError(ended[0])


_FORMATS: tuple[tuple[Callable[[BinaryIO], Iterator[bytes]], Callable[[bytes], bool]], ...] = (
    (_gunzipped, lambda start: start.startswith(GZIP)),
    (_unzstd, lambda start: start.startswith(ZSTD) or start[1:4] == SKIPPABLE),
    (_bunzipped, lambda start: BZIP2.match(start) is not None),
    (_unxz, lambda start: start.startswith(XZ)),
    (_unlz4, lambda start: start.startswith(LZ4)),
)
"""Decompressor of each format, and a function that tests whether a file's first bytes match the format."""
