"""The layout of batches in all formats, for readers and builders [KAFKA-WIRE 43-45]."""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

BATCH_HEADER = Struct(">qiibIhiqqqhii")
"""The batch header of magic 2: base offset, size of the rest, leader epoch, magic, CRC-32C, attributes, last offset
delta, base timestamp, largest timestamp, producer id, producer epoch, base sequence and number of records."""

MESSAGE_HEADER = Struct(">qiIbb")
"""The message header of magic 0 and 1: offset, size of the rest, CRC-32, magic and attributes."""

HEADER_SIZE: Final = 61
"""Size of ``BATCH_HEADER`` in bytes."""

OVERHEAD: Final = 12
"""Number of bytes that the size field does not count, which are the offset and the size field itself."""
MIN_SIZE = (14, 22, 49)
"""Minimum valid value of the size field, by magic."""

MAGIC: Final = 16
"""Offset of the magic in all formats. The CRC-32 of magic 0 and 1 covers all bytes starting at this offset."""
ATTRIBUTES: Final = 21
"""Offset of the attributes in magic 2. The CRC-32C covers all bytes starting at this offset."""

CODEC_MASK: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
"""Masks of the attribute bits. Magic 0 and 1 use only the first two masks."""

ZSTD: Final = 4
"""The first codec that magic 0 and 1 do not support, equal to ``kwire.compression.Codec.ZSTD``. A separate constant
avoids importing enums."""
