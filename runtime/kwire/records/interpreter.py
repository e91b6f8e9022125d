"""The slow path for records of magic 2. This path has the same limits as Kafka's Java code and tracks the current
field and offset.

``kwire.records.loops`` gives up on anything unusual. This module then reads the same bytes again, accepts long
varints and numbers that overflow Java's ``long``, and raises ``CorruptRecordError`` with the reason for anything
else.
"""

from __future__ import annotations

from kwire.records.errors import RecordsLimitError, error_in
from kwire.records.layout import BATCH_HEADER, CODEC_MASK
from kwire.records.loops import MAX_OBJECTS, MIN_RECORD, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kwire.records.batch import Batch


def read_records(batch: Batch, data: bytes, pos: int, first: int, count: int) -> tuple[list[Record], int]:
    """Return ``count`` records from ``pos`` of ``data``, the payload of ``batch``, and the position after them.

    ``first`` is the index of the first record in the batch.
    """
    reader = _Reader(batch, data, pos)
    reader.spend(min(count, (len(data) - pos) // MIN_RECORD), f"the header declares {batch.count} records")
    records = []
    for number in range(first, first + count):
        reader.path, reader.field = f"records[{number}]", ""
        if reader.pos >= len(data):
            reader.refuse(f"the header declares {batch.count} records, but there are only {number}")
        records.append(reader.record())
    return records, reader.pos


def refuse_rest(batch: Batch, data: bytes, pos: int) -> NoReturn:
    """Raise the error for a negative number of records, or for bytes after the last record."""
    reader = _Reader(batch, data, pos)
    if batch.count < 0:
        reader.refuse(f"the header declares {batch.count} records")
    reader.refuse(f"{len(data) - pos} trailing bytes after the {batch.count} records that the header declares")


def int64(value: int) -> int:
    """Return ``value`` wrapped to 64 bits like Java's ``long``."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


class _Reader:
    def __init__(self, batch: Batch, data: bytes, pos: int) -> None:
        self.batch = batch
        self.data = data
        self.pos = pos
        self.path = "records"
        self.field = ""
        self.room = MAX_OBJECTS

    def spend(self, count: int, what: str) -> None:
        self.room -= count
        if self.room < 0:
            reason = f"{what}, but the limit is {MAX_OBJECTS} records and headers"
            raise error_in(self.batch, BATCH_HEADER.size, self.path, reason, RecordsLimitError)

    def record(self) -> Record:
        batch = self.batch
        size = self.length("length", nullable=False)
        end = self.pos + size
        self.field = "attributes"
        self.take(1)
        timestamp = int64(batch.base_timestamp + self.varint("timestamp", 64))
        offset = int64(batch.base_offset + self.varint("offset", 32))
        key = self.nullable("key")
        value = self.nullable("value")
        headers = self.headers()
        if self.pos != end:
            self.field = ""
            self.refuse(f"the record has length {size}, but its fields have {self.pos - end + size} bytes")
        return Record(key, value, headers, timestamp, offset)

    def headers(self) -> tuple[tuple[str, bytes | None], ...]:
        start = self.pos
        count = self.varint("headers", 32)
        left = len(self.data) - self.pos
        if not 0 <= count <= left:
            self.refuse(f"{count} headers, but {left} bytes are left", start)
        self.spend(count, f"{count} headers")
        headers = []
        for number in range(count):
            length = self.length(f"headers[{number}].key", nullable=False)
            key = self.take(length).decode("utf-8", "surrogateescape")
            headers.append((key, self.nullable(f"headers[{number}].value")))
        return tuple(headers)

    def nullable(self, field: str) -> bytes | None:
        length = self.length(field, nullable=True)
        return None if length < 0 else self.take(length)

    def length(self, field: str, *, nullable: bool) -> int:
        """Return a length that does not exceed the number of bytes left. If ``nullable``, any negative length means
        null, as in Kafka."""
        start = self.pos
        length = self.varint(field, 32)
        left = len(self.data) - self.pos
        if length > left:
            self.refuse(f"length {length}, but {left} bytes are left", start)
        if length < 0 and not nullable:
            self.refuse(f"invalid length {length}", start)
        return length

    def varint(self, field: str, bits: int) -> int:
        """Read a zigzag-encoded varint of at most five bytes (for 32 ``bits``) or ten bytes (for 64), and return its
        value. As in Java, excess high bits are dropped."""
        self.field = field
        start, value, shift = self.pos, 0, 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                value &= (1 << bits) - 1
                return (value >> 1) ^ -(value & 1)
            shift += 7
            if shift >= bits:
                self.refuse(f"this varint has more than {shift // 7} bytes", start)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.pos:
            self.refuse(f"expected {size} more bytes, but only {len(self.data) - self.pos} are left")
        self.pos += size
        return self.data[self.pos - size : self.pos]

    def refuse(self, reason: str, pos: int | None = None) -> NoReturn:
        batch, pos = self.batch, self.pos if pos is None else pos
        if batch.attributes & CODEC_MASK:
            reason = f"{reason} (byte {pos} of {len(self.data)} decompressed bytes)"
            pos = 0
        path = f"{self.path}.{self.field}" if self.field else self.path
        raise error_in(batch, BATCH_HEADER.size + pos, path, reason)
