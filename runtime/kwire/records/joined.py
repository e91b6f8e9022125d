"""Writing the records of a batch of magic 2 in interpreted runs: parts from a table, and one join. Never compiled.

It replaces ``write_records`` of ``kwire.records.loops``, which writes byte by byte: interpreted, each byte would be a
call.
"""

from __future__ import annotations

from kwire.records.loops import Record, varint, write_headers
from kwire.wire import give_up

VARINTS: list[bytes] = []
"""Numbers of up to two bytes, encoded: common lengths and deltas. Filled by the first batch."""


def write_records(records: list[Record], base_offset: int, base_timestamp: int) -> tuple[bytes, int, int]:
    """The encoded records, the offset of the last one and the largest timestamp.

    Without records the latter are ``base_offset`` - 1 and -1.
    """
    if not VARINTS:
        VARINTS.extend(map(varint, range(8192)))
    varints = VARINTS
    known = len(varints)
    parts: list[bytes] = []
    offset = base_offset - 1
    newest = -1
    for record in records:
        timestamp = record.timestamp
        if timestamp > newest:
            newest = timestamp
        delta = timestamp - base_timestamp
        time = varints[delta] if 0 <= delta < known else varint(delta)

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
        place = varints[delta] if delta < known else varint(delta)

        key, value, headers = record.key, record.value, record.headers
        key_size = value_size = b"\x01"
        if key is None:
            key = b""
        else:
            size = len(key)
            key_size = varints[size] if size < known else varint(size)
        if value is None:
            value = b""
        else:
            size = len(value)
            value_size = varints[size] if size < known else varint(size)
        tail = write_headers(headers) if headers else b"\x00"
        size = 1 + len(time) + len(place) + len(key_size) + len(key) + len(value_size) + len(value) + len(tail)
        total = varints[size] if size < known else varint(size)
        parts += (total, b"\x00", time, place, key_size, key, value_size, value, tail)
    return b"".join(parts), offset, newest
