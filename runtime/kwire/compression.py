"""Compressed records: the five codecs of Kafka, each in the framing that Kafka gives it. [KAFKA-WIRE 45]

Takes a codec number and bytes, gives bytes. What comes out is bounded by ``limit``, not by what a stream says of
itself. Reading accepts what Kafka's own classes accept, down to what they ignore behind the end of a stream; writing
is deterministic, with the block sizes and the default levels of the Java producer.
"""

from __future__ import annotations

import zlib

from kwire.errors import DecodeError, EncodeError
from kwire.frames import MAX_FRAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs by their number, which is bits 0 to 2 of the attributes of a batch."""

DEFAULT_LIMIT = MAX_FRAME
"""100 MiB: records that are larger could not have been sent to a broker without compression either."""

_LEVELS = {GZIP: range(1, 10), LZ4: range(1, 18), ZSTD: range(-131072, 23)}
_ZSTD_LEVEL = 3
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no time, and an unknown operating system, as Java says
_PIECE = 1 << 14
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK = 1 << 15
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks of 64 KiB, no checksums, no content size
_LZ4_BLOCK = 1 << 16
_LZ4_FAST = 9  # Kafka's default, with which it takes the fast compressor and not the one of that level
_LZ4_STORED = 1 << 31
_FIRST_BUFFER = 1 << 16


class CompressionError(DecodeError):
    """An unknown codec, or a stream that its codec cannot read; ``message`` is the name of the codec.

    For the records of a batch it is as a ``RecordsError`` is: ``position`` says where the batch starts in the input,
    ``offset`` where in the input the problem is, and ``data`` are the bytes of the batch.
    """

    position: int | None = None

    def __str__(self) -> str:
        if self.position is None:
            return super().__str__()
        where = f"{self.message} v{self.version} at byte {self.position}, field {self.path}"
        return f"{where}, byte {self.offset}: {self.reason}"

    def __reduce__(self) -> tuple[object, ...]:
        return (*super().__reduce__(), {"position": self.position})


class DecompressionLimitError(CompressionError):
    """A stream that holds more than the limit."""


def compress(codec: int, data: bytes, *, magic: int = 2, level: int | None = None) -> bytes:
    """``data`` as ``codec`` writes it into records of that ``magic``.

    ``level`` is the codec's own: 1 to 9 for gzip, 1 to 17 for lz4, up to 22 for zstd; without one, what Kafka does by
    default. An unknown codec or level is an :class:`EncodeError`.
    """
    if codec not in range(len(NAMES)):
        raise EncodeError(f"there is no compression codec {codec}")
    if level is not None and level not in _LEVELS.get(codec, ()):
        raise EncodeError(f"{NAMES[codec]} has no compression level {level}")
    if codec == GZIP:
        return _write_gzip(data, zlib.Z_DEFAULT_COMPRESSION if level is None else level)
    if codec == SNAPPY:
        return _write_xerial(data)
    if codec == LZ4:
        return _write_lz4(data, magic, _LZ4_FAST if level is None else level)
    if codec == ZSTD:
        import cramjam

        return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL if level is None else level))
    return bytes(data)


def decompress(codec: int, data: bytes | memoryview, *, magic: int = 2, limit: int = DEFAULT_LIMIT) -> bytes:
    """What ``codec`` made ``data`` from, in records of that ``magic``; at most ``limit`` bytes.

    Memory stays below a few times what really comes out or the limit, whichever is less. Everything that is wrong
    with ``data`` is a :class:`CompressionError`.
    """
    if codec not in range(len(NAMES)):
        raise CompressionError(f"there is no compression codec {codec}", data=bytes(data))
    try:
        if codec == GZIP:
            return _read_gzip(data, limit)
        if codec == SNAPPY:
            return _read_snappy(data, limit)
        if codec == LZ4:
            return _read_lz4(data, limit, magic)
        if codec == ZSTD:
            return _read_zstd(data, limit)
        _check_limit(len(data), limit)
        return bytes(data)
    except CompressionError as error:
        error.message, error.data = NAMES[codec], bytes(data)
        raise


def _check_limit(size: int, limit: int, offset: int = 0) -> None:
    if size > limit:
        raise DecompressionLimitError(f"it decompresses to more than the limit of {limit} bytes", offset=offset)


def _write_gzip(data: bytes, level: int) -> bytes:
    deflate = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return _GZIP_HEADER + deflate.compress(data) + deflate.flush() + trailer


def _read_gzip(data: bytes | memoryview, limit: int) -> bytes:
    """All members; what follows them and is none is ignored, as in Java."""
    out = bytearray()
    at = 0
    while True:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            # In pieces, because every member copies what is left of its input: many tiny ones would be quadratic.
            piece = data[at : at + _PIECE]
            if not piece:
                raise CompressionError("the stream ends too early", offset=at)
            try:
                out += member.decompress(piece, limit + 1 - len(out))
            except zlib.error as error:
                raise CompressionError(f"{error}", offset=at) from error
            _check_limit(len(out), limit, at)
            at += len(piece) - len(member.unused_data)
        if data[at : at + 2] != _GZIP_HEADER[:2]:
            return bytes(out)


def _write_xerial(data: bytes) -> bytes:
    import cramjam

    out = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += len(block).to_bytes(4, "big"), block
    return b"".join(out)


def _read_snappy(data: bytes | memoryview, limit: int) -> bytes:
    """The framing of snappy-java, or a bare block, which is what some other clients send.

    Of the header only the magic counts: writers differ in the order of bytes of its two version numbers. It may come
    again in front of any block, and less than a block size at the end is ignored; both as in Java.
    """
    if data[:8] != _XERIAL_MAGIC:
        return _read_snappy_block(data, 0, limit)
    out = bytearray()
    at = 0
    while len(data) - at >= 4:
        if data[at : at + 8] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            if at > len(data):
                raise CompressionError("the stream ends in its header", offset=len(data))
            continue
        size = int.from_bytes(data[at : at + 4], "big")
        at += 4
        if size > len(data) - at:
            raise CompressionError(f"a block of {size} bytes, {len(data) - at} are left", offset=at)
        out += _read_snappy_block(data[at : at + size], at, limit, len(out))
        at += size
    return bytes(out)


def _read_snappy_block(block: bytes | memoryview, at: int, limit: int, done: int = 0) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        _check_limit(done + size, limit, at)
        if not block or size * 3 > len(block) * 64:  # the best that snappy can do is 64 bytes for 3
            raise CompressionError(f"{len(block)} bytes that say they hold {size}", offset=at)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CompressionError(f"{error}", offset=at) from error


def _write_lz4(data: bytes, magic: int, level: int) -> bytes:
    import cramjam

    if level != _LZ4_FAST:
        compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
        compressor.compress(data)
        frame = bytes(compressor.finish())
        return frame[:6] + _lz4_header_checksum(frame[4:6], magic) + frame[7:]
    out = [_LZ4_MAGIC, _LZ4_DESCRIPTOR, _lz4_header_checksum(_LZ4_DESCRIPTOR, magic)]
    for start in range(0, len(data), _LZ4_BLOCK):
        plain = data[start : start + _LZ4_BLOCK]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            out += len(block).to_bytes(4, "little"), block
        else:
            out += (len(plain) | _LZ4_STORED).to_bytes(4, "little"), plain
    out.append(bytes(4))
    return b"".join(out)


def _read_lz4(data: bytes | memoryview, limit: int, magic: int) -> bytes:
    """One frame of independent blocks: Kafka reads no others.

    The checksums of blocks and content are skipped, as Kafka skips the latter; the batch has one of its own.
    """
    import cramjam

    at, block_limit, block_checksum = _read_lz4_header(data, magic)
    buffer = memoryview(bytearray(min(block_limit, 255 * len(data))))  # the best that lz4 can do is 255 for one
    out = bytearray()
    while True:
        if len(data) - at < 4:
            raise CompressionError("the stream ends too early", offset=at)
        word = int.from_bytes(data[at : at + 4], "little")
        size = word & ~_LZ4_STORED
        at += 4
        if not size:
            break
        if size > min(block_limit, len(data) - at):
            raise CompressionError(
                f"a block of {size} bytes, {len(data) - at} are left, and the limit is {block_limit}", offset=at
            )
        block = data[at : at + size]
        if not word & _LZ4_STORED:
            try:
                block = buffer[: cramjam.lz4.decompress_block_into(block, buffer, output_len=len(buffer))]
            except cramjam.DecompressionError as error:
                raise CompressionError(f"{error}", offset=at) from error
        _check_limit(len(out) + len(block), limit, at)
        out += block
        at += size + block_checksum
    if data[4] & 0x04 and len(data) - at < 4:
        raise CompressionError("the checksum of the content is missing", offset=at)
    return bytes(out)


def _read_lz4_header(data: bytes | memoryview, magic: int) -> tuple[int, int, int]:
    """Where the blocks begin, how large one may be, and how many bytes of checksum follow each."""
    if data[:4] != _LZ4_MAGIC:
        raise CompressionError("it does not begin with the magic number")
    if len(data) < 7:
        raise CompressionError("the stream ends in its header", offset=len(data))
    flags, sizes = data[4], data[5]
    if flags & 0xC3 != 0x40 or sizes & 0x8F or sizes < 0x40:
        raise CompressionError(f"Kafka knows no frame of the kind {flags:02x}{sizes:02x}", offset=4)
    if not flags & 0x20:
        raise CompressionError("the blocks depend on each other, which Kafka does not read", offset=4)
    end = 14 if flags & 0x08 else 6
    if magic and data[end : end + 1] != _lz4_header_checksum(bytes(data[4:end]), magic):
        raise CompressionError("the checksum of the header is wrong", offset=end)
    return end + 1, 1 << (8 + 2 * (sizes >> 4)), 4 if flags & 0x10 else 0


def _lz4_header_checksum(descriptor: bytes, magic: int) -> bytes:
    """One byte. With records of magic 0, Kafka counts the magic number of the frame in, by mistake (KAFKA-3160);
    its readers of magic 0 check nothing."""
    return bytes([_xxh32(descriptor if magic else _LZ4_MAGIC + descriptor) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """XXH32 with seed zero, of less than 16 bytes."""
    value = 0x165667B1 + len(data)
    words = len(data) & ~3
    for at in range(0, words, 4):
        value = _rotated(value + int.from_bytes(data[at : at + 4], "little") * 0xC2B2AE3D, 17) * 0x27D4EB2F
    for byte in data[words:]:
        value = _rotated(value + byte * 0x165667B1, 11) * 0x9E3779B1
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * 0x85EBCA77 & 0xFFFFFFFF
    value = (value ^ value >> 13) * 0xC2B2AE3D & 0xFFFFFFFF
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return value << bits & 0xFFFFFFFF | value >> (32 - bits)


def _read_zstd(data: bytes | memoryview, limit: int) -> bytes:
    """All frames, into a buffer that grows until they fit: the size that a frame states is only what it states."""
    import cramjam

    if not data:
        return b""  # no frame at all is nothing, as in Java
    into: Callable[[bytes | memoryview, bytearray], int] = cramjam.zstd.decompress_into
    size = min(limit, max(_FIRST_BUFFER, 8 * len(data)))
    while True:
        buffer = bytearray(size)
        try:
            return bytes(memoryview(buffer)[: into(data, buffer)])
        except cramjam.DecompressionError as error:
            if str(error) != "failed to write whole buffer":
                raise CompressionError(f"{error}") from error
        _check_limit(size + 1, limit)
        size = min(limit, 2 * size)
