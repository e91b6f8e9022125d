"""Collects record batches until they fill an Arrow batch.

Records are decoded directly into columns, without creating an object per record. Only unusual batches use
``Batch.records``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import pyarrow as pa

from kwire.arrow.records import BELIEVED, RecordBuilder
from kwire.columns.records import bytes_of
from kwire.errors import DecodeError
from kwire.logs.segment import log_file
from kwire.logs.window import WINDOW
from kwire.records import Batch, Record
from kwire_inspect.segments.arrays import columns, decoded_schema, large_reason, milliseconds
from kwire_inspect.segments.bounds import Bounds

ROWS = 1 << 14
"""Approximate number of rows per Arrow batch. Whole record batches are added until this number is reached."""
BYTES = WINDOW
"""Approximate size of an Arrow batch in bytes. Because a window has the same size, each window is copied to columns
only once.

A larger size is not faster, because memory would be reused less often.
"""
MAX_RECORD = 2 << 20
"""Default of the option ``maxRecord``: the maximum total size, in bytes, of a record's key, value and headers."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A file, a batch, or bytes between batches that cannot be read."""

    source: str
    position: int | None
    reason: str
    unfinished: bool = False


Made: TypeAlias = pa.RecordBatch | Broken


class Rows:
    """Records of a file that have not been yielded yet."""

    def __init__(
        self,
        source: str,
        schema: pa.Schema,
        bounds: Bounds,
        hide: bool,
        limit: int | None,
        most: int,
        failfast: bool,
    ) -> None:
        self._file = log_file(source)
        self._schema = schema
        self._bounds = None if bounds == Bounds() else bounds
        self._hide = hide
        self.limit = limit
        self._failfast = failfast
        self.source = source
        self._builder = RecordBuilder(decoded_schema(schema, self._bounds is not None, hide), ROWS, BYTES, most)

    @property
    def ready(self) -> bool:
        """Whether there are enough records for an Arrow batch."""
        return self._builder.ready

    def take(self, batch: Batch, data: bytes, at: int) -> bool:
        """Add the batch at ``data[at]``, whose checksum must be valid, unless the batch is unusual. Return whether
        the batch was added.
        """
        try:
            return (batch.magic < 2 or batch.count <= BELIEVED) and self._builder.take(batch, data, at)
        except DecodeError:
            return False

    def add(self, batch: Batch) -> Iterator[Made]:
        """Add a batch that ``take`` did not add."""
        try:
            if batch.magic == 2 and batch.count > BELIEVED:  # even if only the number of records is requested
                yield from self._in_parts(batch)
            else:
                yield from self._one_by_one(batch, iter(batch.records()))
        except DecodeError as problem:
            yield from self.flushed()
            yield Broken(self.source, batch.position, str(problem))

    def flushed(self) -> Iterator[Made]:
        """Yield all remaining records."""
        self._builder.flush()
        yield from self.finished()

    def _in_parts(self, batch: Batch) -> Iterator[Made]:
        """Add the records of a large batch in parts, up to the first record that cannot be read."""
        yield from self.flushed()
        payload = batch.payload()
        done = end = 0
        while done < batch.count:
            count = min(ROWS, batch.count - done)
            after = self._builder.take_some(batch, payload, end, count)
            if after < 0:
                break
            done, end = done + count, after
            yield from self.flushed()
        if done < batch.count or end < len(payload):
            yield from self._one_by_one(batch, islice(batch, done, None))

    def _one_by_one(self, batch: Batch, records: Iterator[Record]) -> Iterator[Made]:
        """Add unusual records, a few megabytes at a time."""
        part: list[Record] = []
        size = 0
        try:
            for record in records:
                part.append(record)
                size += bytes_of(record)
                if size > BYTES or len(part) == ROWS:
                    self._builder.add_records(batch, part)
                    yield from self.finished()
                    part, size = [], 0
        finally:  # add the records before a record that cannot be read
            self._builder.add_records(batch, part)

    def finished(self) -> Iterator[Made]:
        """Yield the Arrow batches that are ready."""
        while (records := self._builder.pop()) is not None:
            rows = columns(records, self._schema, self._file, self._hide)
            if self._bounds is not None:
                rows = rows.filter(self._bounds.within(records.column("offset"), milliseconds(records)))
            if self._failfast:
                yield from self._too_large(records)
            if rows.num_rows:
                yield rows

    def _too_large(self, records: pa.RecordBatch) -> Iterator[Broken]:
        found = records.filter(records.column("left_out").is_valid()).slice(0, 1)
        for row in found.select(["position", "left_out"]).to_pylist():
            yield Broken(self.source, row["position"], large_reason(row["left_out"]))
