"""The layout of batches in all formats, for readers and builders [KAFKA-WIRE 43-45]."""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BATCH_HEADER = Struct(">qiibIhiqqqhii")
"""Magic 2: base offset, size of the rest, leader epoch, magic, CRC-32C, attributes, last offset delta, base and
largest timestamp, producer id and epoch, base sequence, number of records. The records follow."""

MESSAGE_HEADER = Struct(">qiIbb")
"""Magic 0 and 1: offset, size of the rest, CRC-32, magic, attributes."""

HEADER_SIZE: Final = 61
"""Size of ``BATCH_HEADER`` in bytes."""

OVERHEAD: Final = 12
"""Bytes up to and including the size field, which counts the bytes after it."""
MIN_SIZE = (14, 22, 49)
"""The smallest valid value of the size field, by magic."""

MAGIC: Final = 16
"""Offset of the magic in all formats. The CRC-32 of magic 0 and 1 covers the bytes from here on."""
ATTRIBUTES: Final = 21
"""Offset of the attributes of magic 2, and of the bytes that its CRC-32C covers."""

CODEC_MASK: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""The bits of the attributes; magic 0 and 1 have the first two only."""

ZSTD: Final = 4
"""The first codec that magic 0 and 1 do not have: ``kwire.compression.Codec.ZSTD``, without importing enums."""
