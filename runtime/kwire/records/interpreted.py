"""The loops over the records of a batch of magic 2 for interpreted runs. This module is never compiled.

These loops replace the loops in ``kwire.records.loops``, because an interpreted function call takes as long as
reading a field. One function reads all fields and copies keys and values at once. Writers look up encoded numbers in
tables and join the parts.
"""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.records.loops import MAX_OBJECTS, Headers, Record, read_headers, read_long_varint
from kwire.records.writing import varint, write_headers
from kwire.wire import give_up

SHORT = 1 << 13
"""Exclusive upper bound of the numbers that fit in a two-byte varint. ``LONG`` is the bound for three bytes."""
LONG = 1 << 20

VARINTS: list[bytes] = []
"""The encoded numbers below ``SHORT``, which include most lengths and deltas. This table and the next two are filled
when the first batch is encoded."""
STARTS: list[bytes] = []
"""The first two bytes of each three-byte varint, indexed by the lower 13 bits of the number."""
ENDS: list[bytes] = []
"""The third byte of each three-byte varint, indexed by the higher bits of the number."""


def fill_tables() -> None:
    VARINTS.extend(bytes((number << 1,)) for number in range(64))
    VARINTS.extend(bytes((number << 1 & 127 | 128, number >> 6)) for number in range(64, SHORT))
    STARTS.extend(bytes((number << 1 & 127 | 128, number >> 6 | 128)) for number in range(SHORT))
    ENDS.extend(bytes((number,)) for number in range(LONG // SHORT))


def read_records(
    data: bytes, pos: int, end: int, count: int, base_offset: int, base_timestamp: int
) -> tuple[list[Record], int]:
    """Return ``count`` records from ``pos`` of ``data``, and the position after them, which is at most ``end``.

    ``base_offset`` and ``base_timestamp`` are below ``HUGE``. All varints are zigzag encoded, so odd numbers are
    negative and 1 means -1. Give up if there are more than ``MAX_OBJECTS`` records and headers.
    """
    records: list[Record] = []
    append, allocate = records.append, Record.__new__
    none: Headers = ()
    room = MAX_OBJECTS - count
    if room < 0:
        give_up()
    for _ in range(count):
        size = data[pos]
        pos += 1
        if size > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                size = size & 127 | byte << 7
            else:
                size, pos = read_long_varint(data, pos - 2, 28)
        start = pos

        # Skip the byte of attributes, which records do not use.
        time = data[pos + 1]
        pos += 2
        if time > 127:
            byte = data[pos]
            pos += 1
            if byte < 128:
                time = time & 127 | byte << 7
            else:
                third = data[pos]
                pos += 1
                if third < 128:
                    time = time & 127 | (byte & 127) << 7 | third << 14
                else:
                    time, pos = read_long_varint(data, pos - 3, 49)

        offset = data[pos]
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
            stop = pos + (length >> 1)
            key = data[pos:stop]
            pos = stop

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
            stop = pos + (length >> 1)
            value = data[pos:stop]
            pos = stop

        headers = none
        length = data[pos]
        pos += 1
        if length:
            headers, pos = read_headers(data, pos - 1, room)
            room -= len(headers)
        if pos - start << 1 != size or pos > end:
            give_up()
        if time & 1:
            time = base_timestamp - (time + 1 >> 1)
        else:
            time = base_timestamp + (time >> 1)
        record = allocate(Record)
        record.offset = base_offset + (offset >> 1)
        record.timestamp = time
        record._key = key
        record._value = value
        record._headers = headers
        append(record)
    return records, pos


class Buffer(bytearray):
    """A buffer that replaces the ``BytesWriter`` of compiled runs and can be viewed without a copy."""

    write = bytearray.extend

    def truncate(self, size: int) -> None:
        del self[size:]

    def getvalue(self) -> bytes:
        return bytes(self)


def new_buffer() -> BytesWriter:
    """Return an empty buffer for records."""
    return Buffer()  # type: ignore[return-value]


def view(out: BytesWriter) -> memoryview:
    """Return a view of the written bytes. The view is not a copy, so use it before changing ``out``."""
    return memoryview(out)  # type: ignore[arg-type]


def write_records(out: BytesWriter, records: list[Record], base_offset: int, base_timestamp: int) -> tuple[int, int]:
    """Write the records as ``kwire.records.writing.write_records`` does."""
    if not VARINTS:
        fill_tables()
    varints, starts, ends = VARINTS, STARTS, ENDS
    known, far = SHORT, LONG
    parts: list[bytes] = []
    offset = base_offset - 1
    newest = -1
    for record in records:
        timestamp = record.timestamp
        if timestamp > newest:
            newest = timestamp
        delta = timestamp - base_timestamp
        if 0 <= delta < known:
            time = varints[delta]
        else:
            time = starts[delta & 8191] + ends[delta >> 13] if 0 < delta < far else varint(delta)

        given = record.offset
        if given == -1:
            offset += 1
        elif given > offset:
            offset = given
        else:
            give_up()
        delta = offset - base_offset
        if delta > 0x7FFFFFFF:
            give_up()
        if delta < known:
            place = varints[delta]
        else:
            place = starts[delta & 8191] + ends[delta >> 13] if delta < far else varint(delta)

        key, value, headers = record.key, record.value, record.headers
        key_size = value_size = b"\x01"
        if key is None:
            key = b""
        else:
            if type(key) is not bytes:  # items of other buffers may have several bytes
                give_up()
            size = len(key)
            key_size = varints[size] if size < known else varint(size)
        if value is None:
            value = b""
        else:
            if type(value) is not bytes:
                give_up()
            size = len(value)
            value_size = varints[size] if size < known else varint(size)
        tail = write_headers(headers) if headers else b"\x00"
        size = 1 + len(time) + len(place) + len(key_size) + len(key) + len(value_size) + len(value) + len(tail)
        total = varints[size] if size < known else varint(size)
        parts += (total, b"\x00", time, place, key_size, key, value_size, value, tail)
    out.write(b"".join(parts))
    return offset, newest


def write_record(
    out: BytesWriter, time: int, place: int, key: bytes | None, value: bytes | None, headers: Headers
) -> None:
    """Write one record as ``kwire.records.writing.write_record`` does."""
    if not VARINTS:
        fill_tables()
    known, far = SHORT, LONG
    if 0 <= time < known:
        when = VARINTS[time]
    else:
        when = STARTS[time & 8191] + ENDS[time >> 13] if 0 < time < far else varint(time)
    if place > 0x7FFFFFFF:
        give_up()
    where = VARINTS[place] if place < known else varint(place)
    key_size = value_size = b"\x01"
    if key is None:
        key = b""
    else:
        if type(key) is not bytes:  # items of other buffers may have several bytes
            give_up()
        size = len(key)
        key_size = VARINTS[size] if size < known else varint(size)
    if value is None:
        value = b""
    else:
        if type(value) is not bytes:
            give_up()
        size = len(value)
        value_size = VARINTS[size] if size < known else varint(size)
    tail = write_headers(headers) if headers else b"\x00"
    body = b"".join((b"\x00", when, where, key_size, key, value_size, value, tail))
    size = len(body)
    out.write(VARINTS[size] if size < known else varint(size))
    out.write(body)
