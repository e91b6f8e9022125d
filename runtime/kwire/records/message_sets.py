"""Message sets, the formats of magic 0 and 1 that record batches replaced [KAFKA-WIRE 44].

A message consists of an offset, a size, a CRC-32, the magic, attributes, a timestamp (only in magic 1), a key and a
value. A compressed message wraps a message set as its value. The wrapper has the offset of its last inner message.
Inner offsets are absolute in magic 0 and relative in magic 1.
"""

from __future__ import annotations

import zlib

from kwire.records.errors import ChecksumError, CorruptRecordError, RecordsLimitError, UnknownMagicError, error_in
from kwire.records.interpreter import int64
from kwire.records.layout import APPEND_TIME, CODEC_MASK, MAGIC, MESSAGE_HEADER, MIN_SIZE, OVERHEAD, ZSTD
from kwire.records.loops import MAX_OBJECTS, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kwire.records.batch import Batch
    from kwire.records.errors import RecordsError

KEY = (18, 26)
"""Offset of the key length, by magic."""
MIN_BYTES = OVERHEAD + MIN_SIZE[0]


def read(batch: Batch, verify: bool, *, stored: bool = False) -> tuple[list[Record], int, int]:
    """Return the records of a message, the base of inner offsets, and the attributes of the first inner message.

    Inner offsets are relative to the base. With ``stored``, inner messages keep their own timestamps even if the
    wrapper has an append time.
    """
    outer = _Message(batch, batch.data, 0, batch.size)
    if not batch.attributes & CODEC_MASK:
        return [Record(outer.key, outer.value, (), outer.timestamp, outer.offset)], outer.offset, 0
    inner = _inner(batch, _decompressed(batch, outer), verify)
    base = _base(batch, inner[-1].offset)
    append_time = batch.attributes & APPEND_TIME and not stored
    records = []
    for message in inner:
        timestamp = batch.max_timestamp if append_time and message.magic else message.timestamp
        records.append(Record(message.key, message.value, (), timestamp, int64(base + message.offset)))
    return records, base, inner[0].attributes


def payload(batch: Batch) -> bytes:
    """Return the value of a message, or the decompressed message set in it."""
    outer = _Message(batch, batch.data, 0, batch.size)
    return _decompressed(batch, outer) if batch.attributes & CODEC_MASK else outer.value or b""


def _decompressed(batch: Batch, outer: _Message) -> bytes:
    codec = batch.attributes & CODEC_MASK
    if codec >= ZSTD:
        outer.refuse("attributes", 17, f"codec {codec} is not supported by magic {batch.magic}")
    if outer.value is None:
        outer.refuse("value", 18, "a compressed message has no value")
    return batch.decompressed(outer.value, batch.size - len(outer.value))


def _inner(batch: Batch, data: bytes, verify: bool) -> list[_Message]:
    """Return the messages of a decompressed message set."""
    if not data:
        raise error_in(batch, KEY[batch.magic] + 8, "records", "the compressed message contains no messages")
    inner: list[_Message] = []
    pos = 0
    while pos < len(data):
        if len(inner) == MAX_OBJECTS:
            reason = f"more than {MAX_OBJECTS} messages in a compressed message"
            raise error_in(batch, KEY[batch.magic] + 8, "records", reason, RecordsLimitError)
        size = OVERHEAD + int.from_bytes(data[pos + 8 : pos + 12], "big", signed=True)
        if batch.lenient and inner and (len(data) - pos < 12 or MIN_BYTES <= size > len(data) - pos):
            break
        message = _Message(batch, data, pos, size, len(inner))
        if message.attributes & CODEC_MASK:
            message.refuse("attributes", 17, "a compressed message inside a compressed message")
        if verify and zlib.crc32(memoryview(data)[pos + 16 : pos + size]) != message.crc:
            message.refuse("", 0, "wrong checksum", ChecksumError)
        inner.append(message)
        pos += size
    return inner


def _base(batch: Batch, last: int) -> int:
    """Return the number to add to inner offsets. ``last`` is the last inner offset."""
    if batch.magic == 0 or batch.last_offset == 0:
        return 0  # some versions of librdkafka produced wrappers with offset 0
    if batch.last_offset < last:
        reason = f"the offset {batch.last_offset} is less than {last}, the offset of the last inner message"
        raise error_in(batch, 0, "offset", reason)
    return batch.last_offset - last


class _Message:
    """A parsed message. ``number`` is its index in a compressed message set."""

    __slots__ = ("at", "attributes", "batch", "crc", "data", "key", "magic", "number", "offset", "timestamp", "value")

    offset: int
    crc: int
    magic: int
    attributes: int

    def __init__(self, batch: Batch, data: bytes, at: int, size: int, number: int | None = None) -> None:
        self.batch, self.data, self.at, self.number = batch, data, at, number
        if not MIN_BYTES <= size <= len(data) - at:
            self.refuse("", 0, f"a message of {size} bytes, but {len(data) - at} are left")
        if data[at + MAGIC] > 1:
            self.refuse("", 0, f"magic {data[at + MAGIC]} in a message set", UnknownMagicError)
        self.offset, _, self.crc, self.magic, self.attributes = MESSAGE_HEADER.unpack_from(data, at)
        if size < OVERHEAD + MIN_SIZE[self.magic]:
            self.refuse("", 0, f"a message of {size} bytes is too short for magic {self.magic}")
        pos = at + KEY[self.magic]
        self.timestamp = int.from_bytes(data[at + 18 : pos], "big", signed=True) if self.magic else -1
        self.key, pos = self._read("key", pos, at + size)
        self.value, pos = self._read("value", pos, at + size)
        if pos != at + size and not batch.lenient:
            self.refuse("", pos - at, f"{at + size - pos} trailing bytes after the value")

    def _read(self, field: str, pos: int, end: int) -> tuple[bytes | None, int]:
        if pos + 4 > end:
            self.refuse(field, pos - self.at, "beyond the end of the message")
        length = int.from_bytes(self.data[pos : pos + 4], "big", signed=True)
        if length > end - pos - 4:
            self.refuse(field, pos - self.at, f"length {length}, but {end - pos - 4} bytes are left")
        if length < 0:  # any negative length is null, as in Kafka
            return None, pos + 4
        return self.data[pos + 4 : pos + 4 + length], pos + 4 + length

    def refuse(self, field: str, pos: int, reason: str, kind: type[RecordsError] = CorruptRecordError) -> NoReturn:
        if self.number is None:
            raise error_in(self.batch, pos, field, reason, kind)
        path = f"records[{self.number}].{field}" if field else f"records[{self.number}]"
        reason = f"{reason} (byte {self.at + pos} of {len(self.data)} decompressed bytes)"
        raise error_in(self.batch, KEY[self.batch.magic] + 8, path, reason, kind)
