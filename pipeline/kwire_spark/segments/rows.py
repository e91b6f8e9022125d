"""Record batches gathered until they are worth an Arrow batch.

What a record batch says of all its records is kept once; what differs from record to record is read straight into
columns, without an object for each record. Only what is unusual goes through ``Batch.records``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kwire.logs import Checkpoint, LogSegment
from kwire.records import Batch, Record
from kwire.records.layout import APPEND_TIME
from kwire.records.loops import HUGE
from kwire_spark.segments.arrays import COLUMNS, Gathered
from kwire_spark.segments.bounds import Bounds
from kwire_spark.segments.files import SNAPSHOT
from kwire_spark.segments.loop import read_columns
from kwire_spark.segments.secret_records import METADATA_TOPIC

ROWS = 1 << 13
"""Rows of an Arrow batch, about: whole record batches up to the one that reaches it."""

PER_RECORD = ("offset", "time", "key", "value", "headers")


class Rows:
    """Records of one file that are not yet given out: ``count`` of them, about ``weight`` bytes.

    ``one_by_one`` says whether records have to be read at all, for columns that are wanted or to choose records.
    """

    __slots__ = ("_bounds", "_file", "_gathered", "_hide", "_schema", "count", "one_by_one", "source", "weight")

    def __init__(self, source: str, schema: pa.Schema, bounds: Bounds, hide: bool) -> None:
        self._file = (Checkpoint if source.endswith(SNAPSHOT) else LogSegment)(source)
        self._schema = schema
        self._bounds = None if bounds == Bounds() else bounds
        self._hide = hide and self._file.topic == METADATA_TOPIC
        self.source = source
        self.one_by_one = bounds != Bounds() or any(name in PER_RECORD for name in schema.names)
        self._clear()

    def add_number(self, batch: Batch) -> None:
        """As many records as a batch has by its header: for columns that have the same value in all of them."""
        self._note(batch, batch.count, batch.size)

    def add_batch(self, batch: Batch) -> None:
        """All records of a batch. ``DecodeError`` if one cannot be read; then none is added."""
        columns, before = self._gathered.columns, len(self._gathered.columns.offsets)
        if batch.magic == 2 and -HUGE < batch.base_offset < HUGE and -HUGE < batch.base_timestamp < HUGE:
            data = batch.payload()
            try:
                read_columns(data, batch.count, columns)
            except (IndexError, ValueError):
                columns.cut(before)
            else:
                base_time = batch.base_timestamp
                if batch.attributes & APPEND_TIME:
                    base_time, columns.times[before:] = batch.max_timestamp, [0] * batch.count
                self._note(batch, batch.count, max(batch.size, len(data)), batch.base_offset, base_time)
                return
        self.add_records(batch, batch.records())

    def add_records(self, batch: Batch, records: list[Record]) -> None:
        """Some records of a batch."""
        columns = self._gathered.columns
        first = len(columns.offsets)
        columns.offsets += [record.offset for record in records]
        columns.times += [record.timestamp for record in records]
        columns.keys += [record.key for record in records]
        columns.values += [record.value for record in records]
        columns.headers += [(first + at, record.headers) for at, record in enumerate(records) if record.headers]
        weight = sum([len(record.key or b"") + len(record.value or b"") for record in records])
        self._note(batch, len(records), max(batch.size, weight))

    def flushed(self) -> Iterator[pa.RecordBatch]:
        """What has been added, if there is anything."""
        if self.count:
            gathered = self._gathered
            gathered.count = self.count
            arrays = [COLUMNS[name](gathered) for name in self._schema.names]
            made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            if self._bounds is not None:
                made = made.filter(pa.array(self._bounds.within(gathered.offsets(), gathered.times())))
            if made.num_rows:
                yield made
        self._clear()

    def corrupt(self, position: int | None, reason: str) -> pa.RecordBatch:
        """The row that says what is broken."""
        row = {"source": self.source, "position": position, "_corrupt": reason}
        return pa.RecordBatch.from_arrays(
            [pa.array([row.get(field.name)], field.type) for field in self._schema], schema=self._schema
        )

    def _note(self, batch: Batch, count: int, weight: int, base_offset: int = 0, base_time: int = 0) -> None:
        gathered = self._gathered
        gathered.batches.append(batch)
        gathered.counts.append(count)
        gathered.base_offsets.append(base_offset)
        gathered.base_times.append(base_time)
        self.count += count
        self.weight += weight

    def _clear(self) -> None:
        self._gathered = Gathered(self._file, self._hide)
        self.count = self.weight = 0
