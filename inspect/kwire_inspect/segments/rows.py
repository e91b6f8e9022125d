"""Gathers record batches until there are enough for an Arrow batch.

Properties shared by all records of a batch are stored once; records are read straight into columns, without an object
for each. Only unusual batches go through ``Batch.records``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

import pyarrow as pa

from kwire.errors import DecodeError
from kwire.logs.segment import log_file
from kwire.logs.window import WINDOW
from kwire.records import Batch
from kwire.records.batch import CHUNK
from kwire_inspect.segments.arrays import COLUMNS, large_reason
from kwire_inspect.segments.bounds import Bounds
from kwire_inspect.segments.record_columns import BELIEVED, Read, Stored, parts

ROWS = 1 << 14
"""Approximate number of rows of an Arrow batch: record batches are added whole until this is reached."""
BYTES = WINDOW
"""Approximate number of bytes kept for one Arrow batch: those of a window, which are then copied into columns only
once. A larger value is not faster, because reused memory is faster than new memory."""
MAX_BYTES = 4 * BYTES
"""The same for compressed records, where the decompressed bytes count as well."""

PER_RECORD = ("offset", "time", "key", "value", "headers")


@dataclass(frozen=True, slots=True)
class Broken:
    """A file, a batch or bytes between batches that cannot be read."""

    source: str
    position: int | None
    reason: str
    unfinished: bool = False


Made: TypeAlias = pa.RecordBatch | Broken


class Rows:
    """Records of one file that have not been yielded yet."""

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
        self._limit = limit
        self._most = most
        self._failfast = failfast
        # Whether records must be read at all, to fill requested columns or to select records.
        self._one_by_one = bounds != Bounds() or any(name in PER_RECORD for name in schema.names)
        self.source = source
        self._stored = Stored(self._file, self._one_by_one, limit, most)
        self._read = Read(self._file, most)

    def take(self, data: bytes, at: int, size: int, position: int) -> bool:
        """Take the batch of ``size`` bytes at ``data[at]``, whose checksum is valid, if it is an ordinary one and
        there is room."""
        stored = self._stored
        full = stored.count >= ROWS or stored.weight >= MAX_BYTES
        if full or self._read.count or (stored.weight >= BYTES and not stored.holds(data)):
            return False
        return stored.add(data, at, size, position)

    def add(self, data: bytes, at: int, size: int, position: int) -> Iterator[Made]:
        """Like :meth:`take`, for any batch; may yield what was added before."""
        yield from self._stored_rows()
        if self._read.count or not self._stored.add(data, at, size, position):
            yield from self._one(data, at, size, position)

    def flushed(self) -> Iterator[Made]:
        """Yield the remaining records."""
        yield from self._stored_rows()
        yield from self._read_rows()

    def _stored_rows(self) -> Iterator[Made]:
        stored = self._stored
        self._stored = Stored(self._file, self._one_by_one, self._limit, self._most)
        if stored.count and stored.usual():
            yield from self._made(stored)
        elif stored.count:
            for kept in stored.kept:
                yield from self._one(*kept)
            yield from self._read_rows()

    def _read_rows(self) -> Iterator[Made]:
        read, self._read = self._read, Read(self._file, self._most)
        if read.count:
            yield from self._made(read)

    def _one(self, data: bytes, at: int, size: int, position: int) -> Iterator[Made]:
        """Read a batch record by record, large ones in parts, up to the first record that cannot be read."""
        batch = Batch(memoryview(data)[at : at + size], position, limit=self._limit)
        try:
            if batch.count > BELIEVED:
                records = iter(batch)
                while part := list(islice(records, CHUNK)):
                    self._read.add(batch, part)
                    yield from self._read_rows()
            else:
                self._read.add(batch, batch.records())
        except DecodeError as problem:
            yield from self._read_rows()
            yield Broken(self.source, position, str(problem))
        if self._read.count >= ROWS or self._read.weight > BYTES:
            yield from self._read_rows()

    def _made(self, gathered: Stored | Read) -> Iterator[Made]:
        for part in parts(gathered):
            arrays = [COLUMNS[name](part, self._hide) for name in self._schema.names]
            made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
            if self._bounds is not None:
                made = made.filter(pa.array(self._bounds.within(part.offsets(), part.times())))
            if self._failfast and part.large:
                number = min(part.large)
                position = int(part.fact("position")[number])
                yield Broken(self.source, position, large_reason(part.large[number]))
            if made.num_rows:
                yield made
