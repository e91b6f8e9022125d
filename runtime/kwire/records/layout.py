"""Where things stand in a batch, in all formats: the numbers that readers and builders share [KAFKA-WIRE 43-45]."""

from __future__ import annotations

from struct import Struct

BATCH_HEADER = Struct(">qiibIhiqqqhii")
"""Magic 2: base offset, size from here on, leader epoch, magic, CRC-32C, attributes, last offset delta, base and
largest timestamp, producer id and epoch, base sequence, number of records. The records follow."""

MESSAGE_HEADER = Struct(">qiIbb")
"""Magic 0 and 1: offset, size from here on, CRC-32, magic, attributes."""

OVERHEAD = 12
"""Bytes up to and with the size field, which counts those behind it."""
LEAST = (14, 22, 49)
"""The least size that a batch can declare, by magic."""

MAGIC = 16
"""Where the magic stands in all formats, and where the bytes start that the CRC-32 of magic 0 and 1 covers."""
ATTRIBUTES = 21
"""Where the bytes start that the CRC-32C of magic 2 covers."""

CODEC, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""The bits of the attributes; messages have the first two only."""
