"""Writing the records of a batch of magic 2 in interpreted runs: parts from a table, and one join. Never compiled.

It replaces ``write_records`` of ``kwire.records.loops``, which writes byte by byte: interpreted, each byte would be a
call.
"""

from __future__ import annotations

from kwire.records.loops import Record, varint, write_headers
from kwire.wire import give_up

SHORT = 1 << 13
"""Numbers below this take up to two bytes, and those below ``LONG`` three."""
LONG = 1 << 20

VARINTS: list[bytes] = []
"""The numbers below ``SHORT``, encoded: common lengths and deltas. Filled by the first batch, like the next two."""
STARTS: list[bytes] = []
"""The first two bytes of a number of three, by its lower 13 bits."""
ENDS: list[bytes] = []
"""The third byte, by the rest."""


def fill_tables() -> None:
    VARINTS.extend(bytes((number << 1,)) for number in range(64))
    VARINTS.extend(bytes((number << 1 & 127 | 128, number >> 6)) for number in range(64, SHORT))
    STARTS.extend(bytes((number << 1 & 127 | 128, number >> 6 | 128)) for number in range(SHORT))
    ENDS.extend(bytes((number,)) for number in range(LONG // SHORT))


def write_records(records: list[Record], base_offset: int, base_timestamp: int) -> tuple[bytes, int, int]:
    """The encoded records, the offset of the last one and the largest timestamp.

    Without records the latter are ``base_offset`` - 1 and -1.
    """
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
