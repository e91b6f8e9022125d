"""Reading the records of batches of magic 2 into growing columns of numbers and positions.

The loop follows the rules of ``kwire.records.loops``, but also reads varints of three bytes in place. If the loop
finds anything unusual, it gives up, and ``Batch.records`` reads the batch.
"""

from __future__ import annotations

from librt.strings import BytesWriter, write_i64_le

from kwire.native import i64
from kwire.records.loops import MAX_OBJECTS, MIN_RECORD, Record, read_long_varint
from kwire.wire import give_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

OFFSETS: Final = 1
TIMES: Final = 2
KEYS: Final = 4
VALUES: Final = 8
HEADERS: Final = 16
"""Flags that select the columns to fill."""


class RecordColumns:
    """Columns of records. Numbers are little-endian, which is the byte order of the machine.

    ``offsets`` and ``times`` are int64. ``keys`` and ``values`` are positions in the buffer, as int32 pairs of start
    and end. ``no_keys`` and ``no_values`` are the rows (int64) with a null key or value. ``header_rows`` holds the
    row of each header. ``header_keys`` and ``header_values`` are positions, like ``keys`` and ``values``.
    ``no_header_values`` holds the indexes of headers with a null value.
    """

    def __init__(self, wanted: int, largest: int) -> None:
        self.wanted: i64 = wanted
        self.largest: i64 = largest
        """Maximum total size of a record's key, value and headers in bytes. The contents of larger records are left
        out."""
        self.left_out: list[tuple[int, int]] = []
        """The row and size in bytes of each record that was left out."""
        self.count: i64 = 0
        self.headers: i64 = 0
        """The number of headers."""
        self.offsets = BytesWriter()
        self.times = BytesWriter()
        self.keys = BytesWriter()
        self.no_keys = BytesWriter()
        self.values = BytesWriter()
        self.no_values = BytesWriter()
        self.header_rows = BytesWriter()
        self.header_keys = BytesWriter()
        self.header_values = BytesWriter()
        self.no_header_values = BytesWriter()

    def read(
        self,
        data: bytes,
        pos: i64,
        end: i64,
        count: i64,
        shift: i64,
        base_offset: i64,
        base_time: i64,
        append: bool,
        whole: bool,
    ) -> i64:
        """Append ``count`` records from ``data[pos:end]``, and return the position after them.

        If a record is unusual, append nothing and return -1.

        Unless ``whole`` is set, the records may end before ``end``. ``shift`` is added to all positions in the
        columns. Offsets and times are relative to ``base_offset`` and ``base_time``, which are below
        ``kwire.records.loops.HUGE``. With ``append``, the time of every record is ``base_time``.
        """
        rows, headers, left_out = self.count, self.headers, len(self.left_out)
        no_keys, no_values, no_header_values = len(self.no_keys), len(self.no_values), len(self.no_header_values)
        try:
            pos = self._read(data, pos, end, count, shift, base_offset, base_time, append)
            if pos > end or (whole and pos != end):
                give_up()
        except (IndexError, OverflowError, ValueError):
            self.no_keys.truncate(no_keys)
            self.no_values.truncate(no_values)
            self.no_header_values.truncate(no_header_values)
            self._truncate(rows, headers)
            del self.left_out[left_out:]
            return -1
        self.count += count
        return pos

    def _truncate(self, rows: i64, headers: i64) -> None:
        wanted = self.wanted
        if wanted & OFFSETS:
            self.offsets.truncate(8 * rows)
        if wanted & TIMES:
            self.times.truncate(8 * rows)
        if wanted & KEYS:
            self.keys.truncate(8 * rows)
        if wanted & VALUES:
            self.values.truncate(8 * rows)
        self._truncate_headers(headers)

    def _truncate_headers(self, headers: i64) -> None:
        self.headers = headers
        self.header_rows.truncate(8 * headers)
        self.header_keys.truncate(8 * headers)
        self.header_values.truncate(8 * headers)

    def _read(
        self, data: bytes, pos: i64, end: i64, count: i64, shift: i64, base_offset: i64, base_time: i64, append: bool
    ) -> i64:
        wanted = self.wanted
        largest = self.largest
        offsets, times, keys, values = self.offsets, self.times, self.keys, self.values
        room: i64 = MAX_OBJECTS - count
        if room < 0 or count < 0 or count * MIN_RECORD > end - pos:
            give_up()
        for row in range(self.count, self.count + count):
            size: i64 = data[pos]
            pos += 1
            if size > 127:
                byte: i64 = data[pos]
                pos += 1
                if byte < 128:
                    size = size & 127 | byte << 7
                else:
                    size, pos = read_long_varint(data, pos - 2, 28)
            stop: i64 = pos + (size >> 1)

            # Skip the byte of attributes, which records do not use.
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
            if (offset | size) & 1 or offset > 0xFFFFFFFF:
                give_up()

            key: i64 = data[pos]
            pos += 1
            if key > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    key = key & 127 | byte << 7
                else:
                    key, pos = read_long_varint(data, pos - 2, 28)
            if key & 1:
                if key != 1:
                    give_up()
                if wanted & KEYS:
                    write_i64_le(self.no_keys, row)
            if wanted & KEYS:
                write_i64_le(keys, pos + shift | pos + shift + (key >> 1) << 32)
            pos += key >> 1

            value: i64 = data[pos]
            pos += 1
            if value > 127:
                byte = data[pos]
                pos += 1
                if byte < 128:
                    value = value & 127 | byte << 7
                else:
                    value, pos = read_long_varint(data, pos - 2, 28)
            if value & 1:
                if value != 1:
                    give_up()
                if wanted & VALUES:
                    write_i64_le(self.no_values, row)
            if wanted & VALUES:
                write_i64_le(values, pos + shift | pos + shift + (value >> 1) << 32)
            pos += value >> 1

            contents: i64 = (key >> 1) + (value >> 1)
            if data[pos]:
                pos, room, contents = self._read_headers(data, pos, shift, row, room, contents)
            else:
                pos += 1
            if pos != stop:
                give_up()
            if contents > largest:
                self._leave_out(row, contents)
            if wanted & TIMES:
                if append:
                    write_i64_le(times, base_time)
                elif time & 1:
                    write_i64_le(times, base_time - (time + 1 >> 1))
                else:
                    write_i64_le(times, base_time + (time >> 1))
            if wanted & OFFSETS:
                write_i64_le(offsets, base_offset + (offset >> 1))
        return pos

    def _leave_out(self, row: i64, contents: i64) -> None:
        """Make the key and value of a record null, and note the size of its contents in bytes."""
        self.left_out.append((row, contents))
        write_i64_le(self.no_keys, row)
        write_i64_le(self.no_values, row)

    def _read_headers(
        self, data: bytes, pos: i64, shift: i64, row: i64, room: i64, contents: i64
    ) -> tuple[i64, i64, i64]:
        """Append the headers of a record unless the record is too large. ``contents`` is the size of the key and
        value in bytes.

        Return the position after the headers, the number of further headers allowed in the batch, and the size of the
        record's contents.
        """
        no_values = len(self.no_header_values)
        wanted = self.wanted & HEADERS
        count, pos = read_long_varint(data, pos, 28)
        if count & 1 or count >> 1 > room:
            give_up()
        count >>= 1
        for index in range(self.headers, self.headers + count):
            length: i64 = data[pos]
            pos += 1
            if length > 127:
                length, pos = read_long_varint(data, pos - 1, 28)
            if length & 1:
                give_up()
            if wanted:
                write_i64_le(self.header_rows, row)
                write_i64_le(self.header_keys, pos + shift | pos + shift + (length >> 1) << 32)
            pos += length >> 1
            contents += length >> 1
            length = data[pos]
            pos += 1
            if length > 127:
                length, pos = read_long_varint(data, pos - 1, 28)
            if length & 1:
                if length != 1:
                    give_up()
                if wanted:
                    write_i64_le(self.no_header_values, index)
            if wanted:
                write_i64_le(self.header_values, pos + shift | pos + shift + (length >> 1) << 32)
            pos += length >> 1
            contents += length >> 1
        if contents > self.largest:
            self.no_header_values.truncate(no_values)
            self._truncate_headers(self.headers)
        elif wanted:
            self.headers += count
        return pos, room - count, contents

    def add(self, record: Record, out: BytesWriter, shift: i64) -> None:
        """Append one record. The bytes of the record are written to ``out``, whose first byte has the position
        ``shift``."""
        wanted = self.wanted
        row = self.count
        contents = bytes_of(record)
        fits = contents <= self.largest
        if not fits:
            self.left_out.append((row, contents))
        if wanted & OFFSETS:
            write_i64_le(self.offsets, record.offset)
        if wanted & TIMES:
            write_i64_le(self.times, record.timestamp)
        if wanted & KEYS:
            put(record.key if fits else None, self.keys, self.no_keys, row, out, shift)
        if wanted & VALUES:
            put(record.value if fits else None, self.values, self.no_values, row, out, shift)
        if wanted & HEADERS and fits:
            for name, value in record.headers:
                write_i64_le(self.header_rows, row)
                key = name.encode("utf-8", "surrogateescape")
                put(key, self.header_keys, self.no_header_values, self.headers, out, shift)
                put(value, self.header_values, self.no_header_values, self.headers, out, shift)
                self.headers += 1
        self.count += 1


def bytes_of(record: Record) -> int:
    """Return the total size of the key, value and headers of a record in bytes."""
    size = len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += len(name.encode("utf-8", "surrogateescape")) + len(value or b"")
    return size


def put(value: bytes | None, places: BytesWriter, nulls: BytesWriter, row: i64, out: BytesWriter, shift: i64) -> None:
    """Append a value to ``out``, and its start and end to ``places``. Append the row of a null value to ``nulls``."""
    start: i64 = shift + len(out)
    if value is None:
        write_i64_le(nulls, row)
        write_i64_le(places, start | start << 32)
    else:
        out.write(value)
        write_i64_le(places, start | start + len(value) << 32)
