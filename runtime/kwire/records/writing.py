"""Writing the records of a batch of magic 2 in compiled runs, all at once or one by one with a ``BatchBuilder``.

Anything unusual raises ``ValueError``, ``TypeError`` or ``OverflowError``, and ``kwire.records.build`` starts again
on a slow path that finds the reason.
"""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.native import i64, u8
from kwire.records.loops import HUGE, Record
from kwire.wire import give_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.records.loops import Headers


def varint(value: i64) -> bytes:
    """Return a number of up to 62 bits as a zigzag-encoded varint."""
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


def write_records(out: BytesWriter, records: list[Record], base_offset: i64, base_timestamp: i64) -> tuple[i64, i64]:
    """Write the records, and return the last offset and the largest timestamp.

    If there are no records, return ``base_offset`` - 1 and -1. In interpreted runs, ``kwire.records.interpreted`` is
    faster.
    """
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
        if record._fields >= 0:
            record._read()
        time: i64 = timestamp - base_timestamp
        write_record(out, time, offset - base_offset, record._key, record._value, record._headers)
    return offset, newest


def write_record(
    out: BytesWriter, time: i64, place: i64, key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    """Write one record. ``time`` and ``place`` are the timestamp and offset of the record relative to the base
    timestamp and base offset of the batch.
    """
    if time < -HUGE or time > HUGE or place < 0 or place > 0x7FFFFFFF:  # the difference of two offsets may overflow
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


def new_buffer() -> BytesWriter:
    """Return an empty buffer for records."""
    return BytesWriter()


def view(out: BytesWriter) -> memoryview:
    """Return a view of the written bytes. In native runs, the view is not a copy, so use it before ``out`` is changed
    or freed."""
    return memoryview(out.getvalue())


def longer(coded: i64) -> i64:
    """Return the size in bytes, minus one, of the varint for a zigzag-encoded number."""
    size: i64 = 0
    while coded > 127:
        coded >>= 7
        size += 1
    return size


def write_coded(out: BytesWriter, coded: i64) -> None:
    """Write a zigzag-encoded number as a varint."""
    while coded > 127:
        out.append(u8(coded & 127 | 128))
        coded >>= 7
    out.append(u8(coded))


def write_headers(headers: Headers) -> bytes:
    """Return the encoded headers of a record, preceded by their number."""
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
