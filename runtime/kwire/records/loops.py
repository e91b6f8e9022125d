"""A record, and the loops that read and write the records of a batch of magic 2.

This is the hot path: varints of one to three bytes are read in place, and nothing is tracked for the sake of errors.
Anything unusual raises (``IndexError``, ``ValueError``, ``TypeError``), and the caller starts again in
``kwire.records.interpreter``, which returns the records or raises the reason. Runs interpreted or compiled by mypyc.
"""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.native import i64, install_constructors, mypyc_attr, u8
from kwire.secrets import concealed, is_secret_record
from kwire.wire import give_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Final

Headers = tuple[tuple[str, bytes | None], ...]
"""Pairs of key and value. A key that is not UTF-8 keeps its bytes as surrogate escapes and is written unchanged."""

HUGE: Final = (1 << 62) - 1
"""Offsets and timestamps from here on are left to the slow path, which overflows like Java's ``long``."""

LEAST_RECORD: Final = 7
"""The smallest possible size of a record, in bytes."""

MAX_OBJECTS: Final = 500_000
"""The most records and headers that are read at once, which bounds the memory for a compressed batch of tiny ones. A
batch of a broker's default size, a mebibyte, has room for 150,000 records."""


@mypyc_attr(acyclic=True)
class Record:
    """One record, which applications call a message.

    ``timestamp`` is in milliseconds since 1970 UTC, -1 if unset; ``Batch.timestamp_type`` says whether it is the
    producer's or the broker's. A record with offset -1 gets the offset after the record before it when it is encoded.
    """

    SLOTS: ClassVar[tuple[str, ...]] = ("offset", "timestamp", "key", "value", "headers")
    __slots__ = SLOTS

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def __init__(
        self,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers = (),
        timestamp: int = -1,
        offset: int = -1,
    ) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return (
            self.offset == other.offset
            and self.timestamp == other.timestamp
            and self.key == other.key
            and self.value == other.value
            and tuple(self.headers) == tuple(other.headers)
        )

    def __hash__(self) -> int:
        raise TypeError("unhashable type: 'Record'")

    def __repr__(self) -> str:
        headers = f", headers={self.headers!r}" if self.headers else ""
        value = concealed(self.value) if is_secret_record(self.key, self.value) else repr(self.value)
        return (
            f"Record(key={self.key!r}, value={value}{headers}, " f"timestamp={self.timestamp}, offset={self.offset})"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return Record, (self.key, self.value, self.headers, self.timestamp, self.offset)


def new_Record(offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Headers) -> Record:
    return Record(key, value, headers, timestamp, offset)


def read_records(
    data: bytes, pos: i64, count: i64, base_offset: i64, base_timestamp: i64
) -> tuple[list[Record], i64]:
    """``count`` records from ``pos`` of ``data``, and the position where they end, which is within ``data``.

    The bases are below :data:`HUGE`. All varints are zigzag coded: odd numbers are negative, 1 is -1. More than
    :data:`MAX_OBJECTS` records and headers are unusual, too.
    """
    records: list[Record] = []
    none: Headers = ()
    room: i64 = MAX_OBJECTS - count
    if room < 0:
        give_up()
    for _ in range(count):
        size: i64 = data[pos]
        pos += 1
        if size > 127:
            byte: i64 = data[pos]
            pos += 1
            if byte < 128:
                size = size & 127 | byte << 7
            else:
                size, pos = read_long_varint(data, pos - 2, 28)
        start: i64 = pos

        # One byte of attributes, all unused.
        time: i64 = data[pos + 1]
        pos += 2
        if time > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                time = time & 127 | byte << 7
            else:
                third: i64 = data[pos]
                pos += 1
                if third < 128:
                    time = time & 127 | (byte & 127) << 7 | third << 14
                else:
                    time, pos = read_long_varint(data, pos - 3, 49)

        offset: i64 = data[pos]
        pos += 1
        if offset > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                offset = offset & 127 | byte << 7
            else:
                third = data[pos]
                pos += 1
                if third < 128:
                    offset = offset & 127 | (byte & 127) << 7 | third << 14
                else:
                    offset, pos = read_long_varint(data, pos - 3, 28)
                    if offset > 0xFFFFFFFF:
                        give_up()
        if offset & 1:
            give_up()

        key: bytes | None = None
        length: i64 = data[pos]
        pos += 1
        if length != 1:
            if length > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    length = length & 127 | byte << 7
                else:
                    length, pos = read_long_varint(data, pos - 2, 28)
            if length & 1:
                give_up()
            end: i64 = pos + (length >> 1)
            key = data[pos:end]
            pos = end

        value: bytes | None = None
        length = data[pos]
        pos += 1
        if length != 1:
            if length > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    length = length & 127 | byte << 7
                else:
                    length, pos = read_long_varint(data, pos - 2, 28)
            if length & 1:
                give_up()
            end = pos + (length >> 1)
            value = data[pos:end]
            pos = end

        headers = none
        length = data[pos]
        pos += 1
        if length:
            headers, pos = read_headers(data, pos - 1, room)
            room -= len(headers)
        if pos - start << 1 != size:
            give_up()
        if time & 1:
            time = base_timestamp - (time + 1 >> 1)
        else:
            time = base_timestamp + (time >> 1)
        records.append(new_Record(base_offset + (offset >> 1), time, key, value, headers))
    if pos > len(data):
        give_up()
    return records, pos


def read_long_varint(data: bytes, pos: i64, last: i64) -> tuple[i64, i64]:
    """A varint, still zigzag coded, and where it ends. ``last`` is the shift of the last byte allowed."""
    value: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, pos
        shift += 7
        if shift > last:
            give_up()


def read_headers(data: bytes, pos: i64, room: i64) -> tuple[Headers, i64]:
    """The headers of a record, starting with their number. Gives up if there are more than ``room``."""
    count, pos = read_long_varint(data, pos, 28)
    if count & 1 or count >> 1 > room:
        give_up()
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count >> 1):
        length: i64 = data[pos]
        pos += 1
        if length > 127:
            length, pos = read_long_varint(data, pos - 1, 28)
        if length & 1:
            give_up()
        end: i64 = pos + (length >> 1)
        key = data[pos:end].decode("utf-8", "surrogateescape")
        pos = end
        value: bytes | None = None
        length = data[pos]
        pos += 1
        if length != 1:
            if length > 127:
                length, pos = read_long_varint(data, pos - 1, 28)
            if length & 1:
                give_up()
            end = pos + (length >> 1)
            value = data[pos:end]
            pos = end
        headers.append((key, value))
    return tuple(headers), pos


def varint(value: i64) -> bytes:
    """The bytes of a number of up to 62 bits, zigzag coded."""
    if value < -HUGE or value > HUGE:
        give_up()
    coded: i64 = value << 1 if value >= 0 else (-value << 1) - 1
    if coded < 1 << 14:
        return bytes((coded,)) if coded < 128 else bytes((coded & 127 | 128, coded >> 7))
    if coded < 1 << 21:
        return bytes((coded & 127 | 128, coded >> 7 & 127 | 128, coded >> 14))
    out = bytearray()
    while coded > 127:
        out.append(coded & 127 | 128)
        coded >>= 7
    out.append(coded)
    return bytes(out)


def write_records(records: list[Record], base_offset: i64, base_timestamp: i64) -> tuple[bytes, i64, i64]:
    """The encoded records, the offset of the last one and the largest timestamp.

    Without records the latter are ``base_offset`` - 1 and -1. Interpreted, ``kwire.records.joined`` is faster.
    """
    out = BytesWriter()
    offset: i64 = base_offset - 1
    newest: i64 = -1
    for record in records:
        timestamp: i64 = record.timestamp
        if timestamp > newest:
            newest = timestamp
        given: i64 = record.offset
        if given == -1:
            offset += 1
        elif given > offset:
            offset = given
        else:
            give_up()
        write_record(out, timestamp - base_timestamp, offset - base_offset, record.key, record.value, record.headers)
    return out.getvalue(), offset, newest


def write_record(
    out: BytesWriter, time: i64, place: i64, key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    """One record. ``time`` and ``place`` are how far its timestamp and its offset are from those of the batch."""
    if time < -HUGE or time > HUGE or place > 0x7FFFFFFF:
        give_up()
    time = time << 1 if time >= 0 else (-time << 1) - 1
    place <<= 1
    size: i64 = 6
    key_size: i64 = 1
    if key is not None:
        key_size = len(key)
        size += key_size
        key_size <<= 1
    value_size: i64 = 1
    if value is not None:
        value_size = len(value)
        size += value_size
        value_size <<= 1
    if time > 127:
        size += longer(time)
    if place > 127:
        size += longer(place)
    if key_size > 127:
        size += longer(key_size)
    if value_size > 127:
        size += longer(value_size)
    tail: bytes | None = None
    if len(headers) > 0:
        tail = write_headers(headers)
        size += len(tail) - 1

    write_coded(out, size << 1)
    out.append(0)
    write_coded(out, time)
    write_coded(out, place)
    if key is None:
        out.append(1)
    else:
        write_coded(out, key_size)
        out.write(key)
    if value is None:
        out.append(1)
    else:
        write_coded(out, value_size)
        out.write(value)
    if tail is None:
        out.append(0)
    else:
        out.write(tail)


def longer(coded: i64) -> i64:
    """How many bytes more than one a number takes that is zigzag coded already."""
    size: i64 = 0
    while coded > 127:
        coded >>= 7
        size += 1
    return size


def write_coded(out: BytesWriter, coded: i64) -> None:
    """A number that is zigzag coded already."""
    while coded > 127:
        out.append(u8(coded & 127 | 128))
        coded >>= 7
    out.append(u8(coded))


def write_headers(headers: Headers) -> bytes:
    """The encoded headers of a record, including their number."""
    out = BytesWriter()
    write_coded(out, len(headers) << 1)
    for name, value in headers:
        key = name.encode("utf-8", "surrogateescape")
        write_coded(out, len(key) << 1)
        out.write(key)
        if value is None:
            out.append(1)
        else:
            write_coded(out, len(value) << 1)
            out.write(value)
    return out.getvalue()


install_constructors(globals())
