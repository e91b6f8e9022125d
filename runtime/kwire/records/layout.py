"""The layout of batches in all formats, for readers and builders [KAFKA-WIRE 43-45]."""

from __future__ import annotations

from struct import Struct

BATCH_HEADER = Struct(">qiibIhiqqqhii")
"""Magic 2: base offset, size of the rest, leader epoch, magic, CRC-32C, attributes, last offset delta, base and
largest timestamp, producer id and epoch, base sequence, number of records. The records follow."""

MESSAGE_HEADER = Struct(">qiIbb")
"""Magic 0 and 1: offset, size of the rest, CRC-32, magic, attributes."""

OVERHEAD = 12
"""Bytes up to and including the size field, which counts the bytes after it."""
MIN_SIZE = (14, 22, 49)
"""The smallest valid value of the size field, by magic."""

MAGIC = 16
"""Offset of the magic in all formats. The CRC-32 of magic 0 and 1 covers the bytes from here on."""
ATTRIBUTES = 21
"""Offset of the attributes of magic 2, and of the bytes that its CRC-32C covers."""

CODEC_MASK, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""The bits of the attributes; magic 0 and 1 have the first two only."""

ZSTD = 4
"""The first codec that magic 0 and 1 do not have: ``kwire.compression.Codec.ZSTD``, without importing enums."""
