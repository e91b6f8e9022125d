"""Views of records: their places in the bytes of a batch, from which keys and values are copied on request.

The loop is another hot path, written like the one of ``kwire.records.loops``: a record that is unusual is left to
``kwire.records.interpreter``. Runs interpreted or compiled by mypyc.
"""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.native import i64, install_constructors, mypyc_attr
from kwire.records.loops import MAX_OBJECTS, Record, read_headers, read_long_varint, write_coded, write_headers
from kwire.wire import give_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar

    from kwire.records.loops import Headers


@mypyc_attr(acyclic=True, free_list_len=1)
class RecordView:
    """The place of a record in the bytes of its batch. ``key``, ``value`` and ``headers`` are copied when they are
    asked for, each time anew; see :class:`Record` for what they are.

    While a view exists, the decompressed bytes of its batch are kept: keep its :meth:`record` instead.
    """

    SLOTS: ClassVar[tuple[str, ...]] = ("offset", "timestamp", "_data", "_start")
    __slots__ = SLOTS

    offset: int
    timestamp: int
    _data: bytes
    _start: i64

    def __init__(self, offset: int = -1, timestamp: int = -1, _data: bytes = b"\1\1\0", _start: i64 = 0) -> None:
        self.offset = offset
        self.timestamp = timestamp
        self._data = _data
        self._start = _start

    @property
    def key(self) -> bytes | None:
        """The key, copied."""
        data = self._data
        size, pos = read_length(data, self._start)
        return None if size < 0 else data[pos : pos + size]

    @property
    def value(self) -> bytes | None:
        """The value, copied."""
        data = self._data
        size, pos = read_length(data, after(data, self._start))
        return None if size < 0 else data[pos : pos + size]

    @property
    def headers(self) -> Headers:
        """The headers, decoded anew."""
        data = self._data
        return read_headers(data, after(data, after(data, self._start)), MAX_OBJECTS)[0]

    def record(self) -> Record:
        """A record with all fields, which does not refer to the batch."""
        return Record(self.key, self.value, self.headers, self.timestamp, self.offset)

    def __repr__(self) -> str:
        return f"<view of {self.record()!r}>"


def new_RecordView(offset: int, timestamp: int, _data: bytes, _start: i64) -> RecordView:
    return RecordView(offset, timestamp, _data, _start)


class RecordViews:
    """An iterator over views of the ``count`` records in ``data``, the payload of a batch.

    ``bases`` are the batch's offset and timestamp; without them all records are read slowly, because numbers may
    overflow. ``append_time`` replaces all timestamps. ``slowly`` takes the index of a record and where it starts, and
    returns the record and where it ends, or raises the reason. ``finish`` takes where the last record ends.
    """

    __slots__ = (
        *("_data", "_pos", "_done", "_count", "_base_offset", "_base_timestamp", "_append_time", "_small"),
        *("_slowly", "_finish"),
    )

    def __init__(
        self,
        data: bytes,
        count: int,
        bases: tuple[int, int] | None,
        append_time: int | None,
        slowly: Callable[[int, int], tuple[Record, int]],
        finish: Callable[[int], object],
    ) -> None:
        self._data = data
        self._pos: i64 = 0
        self._done: i64 = 0
        self._count: i64 = count
        self._small = bases is not None
        self._base_offset: i64 = 0 if bases is None else bases[0]
        self._base_timestamp: i64 = 0 if bases is None else bases[1]
        self._append_time = append_time
        self._slowly = slowly
        self._finish = finish

    def __iter__(self) -> RecordViews:
        return self

    def __next__(self) -> RecordView:
        if self._done >= self._count:
            self._finish(self._pos)
            raise StopIteration
        view: RecordView | None = None
        if self._small:
            try:
                view = self._read()
            except (IndexError, ValueError):
                view = None
        if view is None:
            record, end = self._slowly(self._done, self._pos)
            self._pos = end
            view = view_of(record)
        self._done += 1
        append_time = self._append_time
        if append_time is not None:
            view.timestamp = append_time
        return view

    def _read(self) -> RecordView:
        data = self._data
        pos: i64 = self._pos
        size: i64 = data[pos]
        pos += 1
        if size > 127:
            size, pos = read_long_varint(data, pos - 1, 28)
        start: i64 = pos
        time: i64 = data[pos + 1]
        pos += 2
        if time > 127:
            time, pos = read_long_varint(data, pos - 1, 49)
        offset: i64 = data[pos]
        pos += 1
        if offset > 127:
            offset, pos = read_long_varint(data, pos - 1, 28)
        if offset & 1 or offset > 0xFFFFFFFF:
            give_up()
        fields: i64 = pos
        pos = after(data, after(data, pos))
        count: i64 = data[pos]
        pos += 1
        if count > 0:
            pos = after_headers(data, pos - 1)
        if pos - start << 1 != size or pos > len(data):
            give_up()
        self._pos = pos
        if time & 1:
            time = self._base_timestamp - (time + 1 >> 1)
        else:
            time = self._base_timestamp + (time >> 1)
        return new_RecordView(self._base_offset + (offset >> 1), time, data, fields)


def view_of(record: Record) -> RecordView:
    """A view of a record that was read in another way."""
    out = BytesWriter()
    for field in (record.key, record.value):
        if field is None:
            out.append(1)
        else:
            write_coded(out, len(field) << 1)
            out.write(field)
    out.write(write_headers(record.headers))
    return RecordView(record.offset, record.timestamp, out.getvalue(), 0)


def read_length(data: bytes, pos: i64) -> tuple[i64, i64]:
    """The length of a key or value, and where its bytes start; null is -1, which is coded as 1."""
    coded: i64 = data[pos]
    pos += 1
    if coded > 127:
        coded, pos = read_long_varint(data, pos - 1, 28)
    if coded & 1:
        if coded != 1:
            give_up()
        return -1, pos
    return coded >> 1, pos


def after(data: bytes, pos: i64) -> i64:
    """Where the key or value at ``pos`` ends."""
    size, pos = read_length(data, pos)
    return pos if size < 0 else pos + size


def after_headers(data: bytes, pos: i64) -> i64:
    """Where the headers of a record end, starting with their number."""
    count, pos = read_long_varint(data, pos, 28)
    if count & 1 or count >> 1 > len(data) - pos:
        give_up()
    for _ in range(count >> 1):
        if data[pos] == 1:
            give_up()
        pos = after(data, after(data, pos))
    return pos


install_constructors(globals())
