"""Compresses and decompresses records with Kafka's codecs, each in Kafka's own framing [KAFKA-WIRE 45].

``limit`` applies to the actual output, not to the size that a stream declares. Reading accepts the same streams as
Kafka's own classes, and ignores the same bytes after the end of a stream. Writing is deterministic, with the block
sizes and default levels of the Java producer.
"""

from __future__ import annotations

import zlib
from enum import IntEnum
from io import BytesIO

from kwire.errors import DecodeError, EncodeError
from kwire.frames import MAX_FRAME

__all__ = ["DEFAULT_LIMIT", "Codec", "CompressionError", "DecompressionLimitError", "compress", "decompress"]


class Codec(IntEnum):
    """The compression codec of records, in bits 0 to 2 of a batch's attributes.

    Numbers without a codec are the members ``UNKNOWN_5`` to ``UNKNOWN_7``, which iteration skips.
    """

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def label(self) -> str:
        """The codec's name in Kafka's ``compression.type``, such as ``gzip``."""
        return self.name.lower()

    @classmethod
    def _missing_(cls, value: object) -> Codec | None:
        if type(value) is not int or not 0 <= value <= 7:
            return None
        member = int.__new__(cls, value)
        member._name_ = f"UNKNOWN_{value}"
        member._value_ = value
        return member


NONE, GZIP, SNAPPY, LZ4, ZSTD = Codec

DEFAULT_LIMIT = MAX_FRAME
"""Default limit in bytes (100 MiB). Brokers would reject larger records if they were sent uncompressed."""

_LEVELS: dict[int, range] = {GZIP: range(1, 10), LZ4: range(1, 18), ZSTD: range(-131072, 23)}
_ZSTD_LEVEL = 3
_GZIP_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"  # no timestamp and an unknown operating system, as in Java
_PIECE = 1 << 14
_XERIAL_MAGIC = b"\x82SNAPPY\0"
_XERIAL_HEADER = _XERIAL_MAGIC + b"\0\0\0\1\0\0\0\1"
_XERIAL_BLOCK = 1 << 15
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_LZ4_DESCRIPTOR = b"\x60\x40"  # version 1, independent blocks of 64 KiB, no checksums, no content size
_LZ4_BLOCK = 1 << 16
_LZ4_FAST = 9  # Kafka's default level, for which it uses the fast compressor
_LZ4_STORED = 1 << 31
_FIRST_BUFFER = 1 << 16


class CompressionError(DecodeError):
    """Raised for an unknown codec or an invalid compressed stream. ``message_name`` is the name of the codec.

    For records in a batch, the attributes have the same meaning as in a ``RecordsError``. ``position`` is the offset
    of the batch in the input, ``offset`` is the offset of the problem in the input, and ``data`` contains the bytes
    of the batch.
    """


class DecompressionLimitError(CompressionError):
    """Raised when a stream decompresses to more bytes than the limit."""


def compress(codec: int, data: bytes, *, magic: int = 2, level: int | None = None) -> bytes:
    """Return ``data`` compressed with ``codec``, in the framing for batches with this ``magic``.

    ``level`` can be 1 to 9 for gzip, 1 to 17 for lz4, and up to 22 for zstd. The default is Kafka's default level.
    Raise ``EncodeError`` for an unknown codec or an invalid level.
    """
    if codec not in range(len(Codec)):
        raise EncodeError(f"unknown compression codec {codec}")
    if level is not None and level not in _LEVELS.get(codec, ()):
        raise EncodeError(f"{Codec(codec).label} has no compression level {level}")
    if codec == GZIP:
        stream = zlib.compress(data, zlib.Z_DEFAULT_COMPRESSION if level is None else level, 16 + zlib.MAX_WBITS)
        return _GZIP_HEADER + stream[len(_GZIP_HEADER) :]
    if codec == SNAPPY:
        return _write_xerial(data)
    if codec == LZ4:
        return _write_lz4(data, magic, _LZ4_FAST if level is None else level)
    if codec == ZSTD:
        import cramjam

        return bytes(cramjam.zstd.compress(data, level=_ZSTD_LEVEL if level is None else level))
    return bytes(data)


def decompress(codec: int, data: bytes | memoryview, *, magic: int = 2, limit: int = DEFAULT_LIMIT) -> bytes:
    """Return ``data`` decompressed with ``codec``, in the framing for batches with this ``magic``.

    The result is at most ``limit`` bytes long. Memory use is at most a few times the size of the output or of the
    limit, whichever is less. Raise ``CompressionError`` for invalid ``data``.
    """
    if codec not in range(len(Codec)):
        raise CompressionError(f"unknown compression codec {codec}", data=bytes(data))
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
        error.message_name, error.data = Codec(codec).label, bytes(data)
        raise


def _check_limit(size: int, limit: int, offset: int = 0) -> None:
    if size > limit:
        raise DecompressionLimitError(f"decompresses to more than the limit of {limit} bytes", offset=offset)


def _read_gzip(data: bytes | memoryview, limit: int) -> bytes:
    """Decompress all members, and ignore any bytes after them, as Java does."""
    out = BytesIO()  # getvalue() does not copy the bytes
    at = 0
    while True:
        member = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not member.eof:
            # The input is split into pieces, because each member copies the rest of its input. Many tiny members
            # would otherwise take quadratic time.
            piece = data[at : at + _PIECE]
            if not piece:
                raise CompressionError("the stream is truncated", offset=at)
            try:
                out.write(member.decompress(piece, limit + 1 - out.tell()))
            except zlib.error as error:
                raise CompressionError(f"{error}", offset=at) from error
            _check_limit(out.tell(), limit, at)
            at += len(piece) - len(member.unused_data)
        if data[at : at + 2] != _GZIP_HEADER[:2]:
            return out.getvalue()


def _write_xerial(data: bytes) -> bytes:
    import cramjam

    out = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK]))
        out += len(block).to_bytes(4, "big"), block
    return b"".join(out)


def _read_snappy(data: bytes | memoryview, limit: int) -> bytes:
    """Decompress blocks in the framing of snappy-java, or a bare block, which some other clients send.

    Only the magic of the header is checked, because writers disagree about the byte order of its two version numbers.
    As in Java, the header may be repeated before any block, and up to three bytes at the end are ignored.
    """
    if data[:8] != _XERIAL_MAGIC:
        return _read_snappy_block(data, 0, limit)
    out = BytesIO()
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
            raise CompressionError(f"a block of {size} bytes, but only {len(data) - at} are left", offset=at)
        out.write(_read_snappy_block(data[at : at + size], at, limit, out.tell()))
        at += size
    return out.getvalue()


def _read_snappy_block(block: bytes | memoryview, at: int, limit: int, done: int = 0) -> bytes:
    import cramjam

    try:
        size = cramjam.snappy.decompress_raw_len(block)
        _check_limit(done + size, limit, at)
        if not block or size * 3 > len(block) * 64:  # snappy expands 3 bytes to at most 64 bytes
            raise CompressionError(f"a block of {len(block)} bytes claims to decompress to {size}", offset=at)
        out = BytesIO(bytes(size))
        with out.getbuffer() as into:
            size = cramjam.snappy.decompress_raw_into(block, into)
        out.truncate(size)
        return out.getvalue()
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
    """Decompress one frame of independent blocks, which is the only kind that Kafka reads.

    Checksums of blocks and content are not verified, because the batch has its own checksum. Kafka does not verify
    checksums of the content either.
    """
    import cramjam

    at, block_limit, block_checksum = _read_lz4_header(data, magic)
    buffer = memoryview(bytearray(min(block_limit, 255 * len(data))))  # lz4 expands 1 byte to at most 255 bytes
    out = BytesIO()
    while True:
        if len(data) - at < 4:
            raise CompressionError("the stream is truncated", offset=min(at, len(data)))
        word = int.from_bytes(data[at : at + 4], "little")
        size = word & ~_LZ4_STORED
        at += 4
        if not size:
            break
        if size > min(block_limit, len(data) - at):
            raise CompressionError(
                f"a block of {size} bytes, but {len(data) - at} are left and the limit is {block_limit}", offset=at
            )
        block = data[at : at + size]
        if not word & _LZ4_STORED:
            try:
                block = buffer[: cramjam.lz4.decompress_block_into(block, buffer, output_len=len(buffer))]
            except cramjam.DecompressionError as error:
                raise CompressionError(f"{error}", offset=at) from error
        _check_limit(out.tell() + len(block), limit, at)
        out.write(block)
        at += size + block_checksum
    if data[4] & 0x04 and len(data) - at < 4:
        raise CompressionError("the content checksum is missing", offset=at)
    return out.getvalue()


def _read_lz4_header(data: bytes | memoryview, magic: int) -> tuple[int, int, int]:
    """Return the offset of the first block, the maximum size of a block, and the size of each block's checksum."""
    if data[:4] != _LZ4_MAGIC:
        raise CompressionError("the magic number is missing")
    if len(data) < 7:
        raise CompressionError("the stream ends in its header", offset=len(data))
    flags, sizes = data[4], data[5]
    if flags & 0xC3 != 0x40 or sizes & 0x8F or sizes < 0x40:
        raise CompressionError(f"Kafka does not support LZ4 frames with descriptor {flags:02x}{sizes:02x}", offset=4)
    if not flags & 0x20:
        raise CompressionError("Kafka does not support LZ4 frames with dependent blocks", offset=4)
    end = 14 if flags & 0x08 else 6
    if end >= len(data):
        raise CompressionError("the stream ends in its header", offset=len(data))
    if magic and data[end : end + 1] != _lz4_header_checksum(bytes(data[4:end]), magic):
        raise CompressionError("the header checksum is wrong", offset=end)
    return end + 1, 1 << (8 + 2 * (sizes >> 4)), 4 if flags & 0x10 else 0


def _lz4_header_checksum(descriptor: bytes, magic: int) -> bytes:
    """Return the one-byte checksum of a frame header.

    For batches with magic 0, Kafka mistakenly includes the frame's magic number (KAFKA-3160). Kafka's readers do not
    verify the checksum of such batches.
    """
    return bytes([_xxh32(descriptor if magic else _LZ4_MAGIC + descriptor) >> 8 & 0xFF])


def _xxh32(data: bytes) -> int:
    """Return the XXH32 hash, with seed zero, of ``data``, which must be shorter than 16 bytes."""
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
    """Decompress all frames into a buffer that grows until they fit. Sizes in frame headers are not trusted."""
    import cramjam

    if not data:
        return b""  # input without frames decompresses to no bytes, as in Java
    size = min(limit, max(_FIRST_BUFFER, 8 * len(data)))
    while True:
        out = BytesIO(bytes(size))
        try:
            with out.getbuffer() as into:
                written = cramjam.zstd.decompress_into(data, into)
            out.truncate(written)
            return out.getvalue()
        except cramjam.DecompressionError as error:
            if str(error) != "failed to write whole buffer":
                raise CompressionError(f"{error}") from error
        _check_limit(size + 1, limit)
        size = min(limit, 2 * size)
