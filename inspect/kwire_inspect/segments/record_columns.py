"""Batches of one file that become Arrow batches together: two classes with the same attributes, and parts of them.

``Stored`` takes batches of magic 2 as they are in memory, and reads all their records at once. ``Read`` takes any
batch through its ``Record`` objects: slower, but works for every format.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
from librt.strings import BytesWriter

from kwire.columns.records import record_starts
from kwire.errors import DecodeError
from kwire.logs import LogSegment
from kwire.records import Batch, Record
from kwire.records.layout import APPEND_TIME, ATTRIBUTES, BATCH_HEADER, CODEC_MASK, MAGIC
from kwire.records.loops import MIN_RECORD, Headers
from kwire_inspect.rows import BATCH_BYTES
from kwire_inspect.segments.varints import Fields, Flags, Numbers, header_bytes

_FIELDS = (
    *("base_offset", "size", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp"),
    *("max_timestamp", "producer_id", "producer_epoch", "base_sequence", "count"),
)
HEADER = np.dtype([(name, ">" + code) for name, code in zip(_FIELDS, BATCH_HEADER.format[1:], strict=True)])
"""``BATCH_HEADER`` for numpy, whose letters for these types are those of ``struct``."""

COUNT = Struct(">i")
COUNT_AT = BATCH_HEADER.size - COUNT.size
BELIEVED = 1 << 16
"""A batch that claims more records than this is read in parts, even if only the number of records matters."""
MAX_RECORD = 2 << 20
"""Bytes of key, value and headers of a record that are kept, unless the option ``maxRecord`` says."""
MAX_PART = 1 << 30
"""How many bytes of records are read at once; Arrow's offsets have 31 bits."""


Large = dict[int, int]
"""The sizes of the records that are too large, by their numbers: they have no key, no value and no headers."""


class Stored:
    """Batches of magic 2 as they are stored; ``records`` is false if their records need not be read. ``weight`` is
    the memory they take: their buffers and the decompressed records."""

    def __init__(self, file: LogSegment, records: bool, limit: int | None, most: int) -> None:
        self.file = file
        self.large: Large = {}
        self.sizes: Numbers = np.zeros(0, np.int64)
        self.count = self.weight = 0
        self.kept: list[tuple[bytes, int, int, int]] = []
        """For each batch: its buffer, its position in the buffer, its size, and its position in the file."""
        self._records = records
        self._limit = limit
        self._most = most
        self._buffers: list[bytes] = []
        self._base = 0
        self._starts = BytesWriter()
        self._heads: Any  # this and the rest are set by usual()
        self._counts: Numbers
        self._fields: Fields

    def add(self, data: bytes, at: int, size: int, position: int) -> bool:
        """Take the batch of ``size`` bytes at ``data[at]`` if it is an ordinary one; return whether it was taken."""
        if data[at + MAGIC] != 2:  # others may be smaller than this header
            return False
        count: int = COUNT.unpack_from(data, at + COUNT_AT)[0]
        if not 0 <= count <= BELIEVED:
            return False
        if self._records and not self._add_records(data, at, size, position, count):
            return False
        if not self.holds(data):
            self.weight += len(data)
        self.kept.append((data, at, size, position))
        self.count += count
        return True

    def holds(self, data: bytes) -> bool:
        """Whether ``data`` is already kept in memory for the previous batch."""
        return bool(self.kept) and self.kept[-1][0] is data

    def _add_records(self, data: bytes, at: int, size: int, position: int, count: int) -> bool:
        if data[at + ATTRIBUTES + 1] & CODEC_MASK:
            try:
                data = Batch(memoryview(data)[at : at + size], position, limit=self._limit).payload()
            except DecodeError:
                return False
            start, end = 0, len(data)
        else:
            start, end = at + BATCH_HEADER.size, at + size
        if end - start + self._base > MAX_PART:
            return False
        if not self._buffers or self._buffers[-1] is not data:
            self._base += len(self._buffers[-1]) if self._buffers else 0
            self._buffers.append(data)
            if start == 0:
                self.weight += end
        fits = count * MIN_RECORD <= end - start
        return fits and record_starts(data, start, end, count, self._base, self._starts)

    def usual(self) -> bool:
        """Whether the fields of all records can be read; if not, this object must not be used."""
        heads = b"".join([data[at : at + BATCH_HEADER.size] for data, at, _, _ in self.kept])
        self._heads = np.frombuffer(heads, HEADER)
        self._counts = self._of_batches("count")
        if not self._records:
            return True
        data = self._buffers[0] if len(self._buffers) == 1 else b"".join(self._buffers)
        self._buffers.clear()
        self._fields = Fields(data, np.frombuffer(self._starts.getvalue(), "<i8"))
        self.sizes, self.large = _kept(self._fields.sizes(), self._most)
        return not self._fields.bad.any()

    def fact(self, name: str) -> Numbers:
        """A field of the batch headers, by its name in :data:`HEADER`, or ``position``; for each record."""
        if name == "position":
            values = np.array([position for _, _, _, position in self.kept], np.int64)
        else:
            values = self._of_batches(name)
        return np.repeat(values, self._counts)

    def offsets(self) -> Numbers:
        return self.fact("base_offset") + self._fields.offsets  # they wrap as in Java, like those of ``Read``

    def times(self) -> Numbers:
        """Timestamps in milliseconds, -1 for none."""
        append = self.fact("attributes") & APPEND_TIME != 0
        return np.where(append, self.fact("max_timestamp"), self.fact("base_timestamp") + self._fields.times)

    def keys(self, begin: int, end: int) -> pa.Array:
        return self._cut(self._fields.keys, begin, end)

    def values(self, begin: int, end: int) -> pa.Array:
        return self._cut(self._fields.values, begin, end)

    def headers(self) -> list[tuple[int, Headers]]:
        """The headers of the records that have any, with the record numbers."""
        return [found for found in self._fields.headers if found[0] not in self.large]

    def _cut(self, place: tuple[Numbers, Numbers, Flags], begin: int, end: int) -> pa.Array:
        starts, ends, null = place
        if self.large:
            null = null.copy()
            null[[*self.large]] = True
        return _cut(self._fields.data, starts[begin:end], ends[begin:end], null[begin:end])

    def _of_batches(self, name: str) -> Numbers:
        values: Numbers = self._heads[name].astype(np.int64)
        return values


class Read:
    """Batches whose records have been read one by one."""

    def __init__(self, file: LogSegment, most: int) -> None:
        self.file = file
        self.large: Large = {}
        self.sizes: Numbers = np.zeros(0, np.int64)
        self._most = most
        self.count = self.weight = 0
        self._batches: list[Batch] = []
        self._counts: list[int] = []
        self._records: list[Record] = []

    def add(self, batch: Batch, records: list[Record]) -> None:
        """Add some records of a batch."""
        self._batches.append(batch)
        self._counts.append(len(records))
        sizes = [len(each.key or b"") + len(each.value or b"") + header_bytes(each.headers) for each in records]
        kept, large = _kept(np.array(sizes, np.int64), self._most)
        self.sizes = np.concatenate([self.sizes, kept])
        for number in large:
            records[number] = Record(timestamp=records[number].timestamp, offset=records[number].offset)
        self.large |= {self.count + number: size for number, size in large.items()}
        self._records += records
        self.count += len(records)
        self.weight += batch.size + sum([len(record.key or b"") + len(record.value or b"") for record in records])

    def fact(self, name: str) -> Numbers:
        return np.repeat(np.array([_fact(batch, name) for batch in self._batches], np.int64), self._counts)

    def offsets(self) -> Numbers:
        return np.array([record.offset for record in self._records], np.int64)

    def times(self) -> Numbers:
        return np.array([record.timestamp for record in self._records], np.int64)

    def keys(self, begin: int, end: int) -> pa.Array:
        return pa.array([record.key for record in self._records[begin:end]], pa.binary())

    def values(self, begin: int, end: int) -> pa.Array:
        return pa.array([record.value for record in self._records[begin:end]], pa.binary())

    def headers(self) -> list[tuple[int, Headers]]:
        return [(number, record.headers) for number, record in enumerate(self._records) if record.headers]


class Gathered:
    """The input of the columns: some of the records of ``whole``. Every array has one element per record."""

    def __init__(self, whole: Stored | Read, begin: int, end: int) -> None:
        self.file = whole.file
        self.count = end - begin
        self.large = {number - begin: size for number, size in whole.large.items() if begin <= number < end}
        self._whole, self._begin, self._end = whole, begin, end

    def fact(self, name: str) -> Numbers:
        return self._whole.fact(name)[self._begin : self._end]

    def offsets(self) -> Numbers:
        return self._whole.offsets()[self._begin : self._end]

    def times(self) -> Numbers:
        return self._whole.times()[self._begin : self._end]

    def keys(self) -> pa.Array:
        return self._whole.keys(self._begin, self._end)

    def values(self) -> pa.Array:
        return self._whole.values(self._begin, self._end)

    def headers(self) -> list[tuple[int, Headers]]:
        begin, end = self._begin, self._end
        return [(number - begin, headers) for number, headers in self._whole.headers() if begin <= number < end]


def parts(whole: Stored | Read) -> Iterator[Gathered]:
    """All records, some :data:`~kwire_inspect.rows.BATCH_BYTES` at a time."""
    full = np.flatnonzero(np.diff(np.cumsum(whole.sizes) // BATCH_BYTES)) + 1
    ends = [0, *full.tolist(), whole.count]
    for begin, end in pairwise(ends):
        yield Gathered(whole, begin, end)


def _kept(sizes: Numbers, most: int) -> tuple[Numbers, Large]:
    """The sizes of the contents that are kept, and of those that are not."""
    large = {number: int(sizes[number]) for number in np.flatnonzero(sizes > most).tolist()}
    return np.where(sizes > most, 0, sizes), large


def _fact(batch: Batch, name: str) -> int:
    if name == "attributes" and batch.magic < 2:
        return batch.attributes & (CODEC_MASK | APPEND_TIME)
    return int(getattr(batch, name))


def _cut(data: bytes, starts: Numbers, ends: Numbers, null: Any) -> pa.Array:
    """These parts of ``data`` as an array of binary: copied once. Their positions ascend, so in an array of the parts
    and the gaps between them, every second element is a part."""
    places = np.empty(2 * len(starts), np.int32)
    places[0::2], places[1::2] = starts, ends
    every = pa.Array.from_buffers(
        pa.binary(), max(0, len(places) - 1), [None, pa.py_buffer(places), pa.py_buffer(data)]
    )
    return every.take(pa.array(np.arange(0, len(places), 2), mask=null))
