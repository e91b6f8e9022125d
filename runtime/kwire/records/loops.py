"""A record, and the loops that read the records of a batch of magic 2 in compiled runs.

This is the hot path. Varints of one or two bytes are read in place, and no context for error messages is tracked.
Anything unusual raises ``IndexError``, ``ValueError`` or ``TypeError``. The caller then starts again in
``kwire.records.interpreter``, which returns the records or raises an error with the reason. Interpreted runs use
``kwire.records.interpreted`` instead, which reads a whole record at once.
"""

from __future__ import annotations

from kwire.native import close_classes, i64, mypyc_attr
from kwire.secrets import concealed, is_secret_record
from kwire.wire import give_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

Headers = tuple[tuple[str, bytes | None], ...]
"""Pairs of key and value. Invalid UTF-8 in a key is kept as surrogate escapes and written back unchanged."""

HUGE: Final = (1 << 62) - 1
"""Limit of the absolute value of offsets and timestamps on the fast path. The slow path overflows like Java's
``long``."""

MIN_RECORD: Final = 7
"""Minimum size of a record in bytes."""

MAX_OBJECTS: Final = 500_000
"""Maximum number of records and headers read at once. This maximum limits the memory for a compressed batch of tiny
records. An uncompressed batch of a mebibyte, the broker's default limit, can hold 150,000 records."""


@mypyc_attr(acyclic=True, free_list_len=1)
class Record:
    """A record, which applications call a message.

    ``timestamp`` is in milliseconds since 1970 UTC, or -1 if unset. ``Batch.timestamp_type`` says whether the
    timestamp comes from the producer or the broker. A record with offset -1 gets the next offset when it is encoded.

    In native builds, the ``key``, ``value`` and ``headers`` of a record that was read are copied on first access.
    Until then, the record keeps the bytes that it was read from.
    """

    __slots__ = ("_data", "_fields", "_headers", "_key", "_value", "offset", "timestamp")

    offset: int
    timestamp: int
    _key: bytes | None
    _value: bytes | None
    _headers: Headers
    _data: bytes
    _fields: i64

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
        self._key = key
        self._value = value
        self._headers = headers
        self._data = b""
        self._fields = -1  # position of the key in the data, or -1 once the fields have been read

    @property
    def key(self) -> bytes | None:
        """The key."""
        if self._fields >= 0:
            self._read()
        return self._key

    @key.setter
    def key(self, key: bytes | None) -> None:
        if self._fields >= 0:
            self._read()
        self._key = key

    @property
    def value(self) -> bytes | None:
        """The value. ``None`` is a tombstone in a compacted log."""
        if self._fields >= 0:
            self._read()
        return self._value

    @value.setter
    def value(self, value: bytes | None) -> None:
        if self._fields >= 0:
            self._read()
        self._value = value

    @property
    def headers(self) -> Headers:
        """The headers as pairs of key and value."""
        if self._fields >= 0:
            self._read()
        return self._headers

    @headers.setter
    def headers(self, headers: Headers) -> None:
        if self._fields >= 0:
            self._read()
        self._headers = headers

    def _read(self) -> None:
        """Copy the fields, whose lengths ``read_record`` has checked, and release the batch."""
        data = self._data
        size, pos = read_length(data, self._fields)
        if size >= 0:
            self._key = data[pos : pos + size]
            pos += size
        size, pos = read_length(data, pos)
        if size >= 0:
            self._value = data[pos : pos + size]
            pos += size
        if data[pos]:
            self._headers = read_headers(data, pos, MAX_OBJECTS)[0]
        self._data = b""
        self._fields = -1

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


if __file__.endswith(".py"):  # interpreted runs read all fields at once, and plain slots are faster than properties
    for field in ("key", "value", "headers"):
        setattr(Record, field, vars(Record)[f"_{field}"])


def read_records(
    data: bytes, pos: i64, end: i64, count: i64, base_offset: i64, base_timestamp: i64
) -> tuple[list[Record], i64]:
    """Return ``count`` records from ``pos`` of ``data``, and the position after them, which is at most ``end``.

    ``base_offset`` and ``base_timestamp`` are below ``HUGE``. Give up if there are more than ``MAX_OBJECTS`` records
    and headers.
    """
    records: list[Record] = []
    room: i64 = MAX_OBJECTS - count
    if room < 0:
        give_up()
    for _ in range(count):
        record, pos, headers = read_record(data, pos, end, room, base_offset, base_timestamp)
        room -= headers
        records.append(record)
    return records, pos


def read_record(
    data: bytes, pos: i64, end: i64, room: i64, base_offset: i64, base_timestamp: i64
) -> tuple[Record, i64, i64]:
    """Return the record at ``pos``, the position after it, and its number of headers, which is at most ``room``.

    All lengths are checked. The record copies its key, value and headers on first access. All varints are zigzag
    encoded, so odd numbers are negative.
    """
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

    # Skip the byte of attributes, which records do not use.
    time: i64 = data[pos + 1]
    pos += 2
    if time > 127:
        byte = data[pos]
        pos += 1
        if byte < 128:
            time = time & 127 | byte << 7
        else:
            time, pos = read_long_varint(data, pos - 2, 49)
    offset: i64 = data[pos]
    pos += 1
    if offset > 127:
        byte = data[pos]
        pos += 1
        if byte < 128:
            offset = offset & 127 | byte << 7
        else:
            offset, pos = read_long_varint(data, pos - 2, 28)
            if offset > 0xFFFFFFFF:
                give_up()
    if offset & 1:
        give_up()

    fields: i64 = pos
    length: i64 = data[pos]
    pos += 1
    if length & 129:
        pos = after(data, pos - 1)
    else:
        pos += length >> 1
    length = data[pos]
    pos += 1
    if length > 127:
        byte = data[pos]
        pos += 1
        if byte < 128 and not length & 1:
            pos += (length & 127 | byte << 7) >> 1
        else:
            pos = after(data, pos - 2)
    elif length & 1:
        pos = after(data, pos - 1)
    else:
        pos += length >> 1
    count: i64 = data[pos]
    pos += 1
    if count > 0:
        count, pos = after_headers(data, pos - 1, end, room)
    if pos - start << 1 != size or pos > end:
        give_up()
    if time & 1:
        time = base_timestamp - (time + 1 >> 1)
    else:
        time = base_timestamp + (time >> 1)
    record = Record(None, None, (), time, base_offset + (offset >> 1))
    record._data = data
    record._fields = fields
    return record, pos, count


def read_length(data: bytes, pos: i64) -> tuple[i64, i64]:
    """Return the length of a key or value, and the position of its first byte. Null has length -1, which is encoded
    as 1."""
    coded: i64 = data[pos]
    pos += 1
    if coded > 127:
        byte: i64 = data[pos]
        pos += 1
        if byte < 128:
            coded = coded & 127 | byte << 7
        else:
            coded, pos = read_long_varint(data, pos - 2, 28)
    if coded & 1:
        if coded != 1:
            give_up()
        return -1, pos
    return coded >> 1, pos


def after(data: bytes, pos: i64) -> i64:
    """Return the position after the key or value at ``pos``."""
    size, pos = read_length(data, pos)
    return pos if size < 0 else pos + size


def after_headers(data: bytes, pos: i64, end: i64, room: i64) -> tuple[i64, i64]:
    """Return the number of headers of a record, and the position after them.

    Give up if there are more than ``room`` headers, or more headers than bytes before ``end``.
    """
    coded, pos = read_long_varint(data, pos, 28)
    if coded & 1 or coded >> 1 > room or coded >> 1 > end - pos:
        give_up()
    for _ in range(coded >> 1):
        size, pos = read_length(data, pos)
        if size < 0:  # keys are never null
            give_up()
        pos = after(data, pos + size)
    return coded >> 1, pos


def read_long_varint(data: bytes, pos: i64, last: i64) -> tuple[i64, i64]:
    """Return a varint, still zigzag encoded, and the position after it. ``last`` is the bit shift of the last byte
    allowed."""
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
    """Return the headers of a record, and the position after them. Give up if there are more than ``room``
    headers."""
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
        if length > 127:
            length, pos = read_long_varint(data, pos - 1, 28)
        if length & 1:
            if length != 1:
                give_up()
        else:
            end = pos + (length >> 1)
            value = data[pos:end]
            pos = end
        headers.append((key, value))
    return tuple(headers), pos


close_classes()
