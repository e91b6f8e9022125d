"""Batches gathered until they are worth an Arrow batch.

What a record batch says of all its records is kept once; records are read straight into columns, without an object
for each. Only what is unusual goes through ``Batch.records``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from kwire.errors import DecodeError
from kwire.logs.segment import log_file
from kwire.logs.window import WINDOW
from kwire.records import Batch
from kwire_spark.rows import corrupt_batch
from kwire_spark.segments.arrays import COLUMNS
from kwire_spark.segments.bounds import Bounds
from kwire_spark.segments.record_columns import BELIEVED, Gathered, Read, Stored
from kwire_spark.segments.secret_records import METADATA_TOPIC

ROWS = 1 << 14
"""Rows of an Arrow batch, about: whole record batches up to the one that reaches it."""
BYTES = WINDOW
"""Bytes that are kept for one Arrow batch, about: those of a window, which are then copied but once, into columns.
More is no faster, as memory that is used again is faster than new memory."""
MOST_BYTES = 4 * BYTES
"""The same where records are compressed, so that what is decompressed counts as well."""

PER_RECORD = ("offset", "time", "key", "value", "headers")

Made = Any
"""Arrow record batches; or what cannot be read: its position and why, a tuple."""


class Rows:
    """Records of one file that are not yet given out."""

    __slots__ = ("_bounds", "_file", "_hide", "_limit", "_one_by_one", "_read", "_schema", "_stored", "source")

    def __init__(self, source: str, schema: pa.Schema, bounds: Bounds, hide: bool, limit: int | None) -> None:
        self._file = log_file(source)
        self._schema = schema
        self._bounds = None if bounds == Bounds() else bounds
        self._hide = hide and self._file.topic == METADATA_TOPIC
        self._limit = limit
        # Whether records have to be read at all, for columns that are wanted or to choose records.
        self._one_by_one = bounds != Bounds() or any(name in PER_RECORD for name in schema.names)
        self.source = source
        self._stored = Stored(self._file, self._one_by_one, limit)
        self._read = Read(self._file)

    def take(self, data: bytes, at: int, size: int, position: int) -> bool:
        """The batch of ``size`` bytes at ``at`` of ``data``, whose checksum is right: it is taken if it is as usual,
        and there is room."""
        stored = self._stored
        full = stored.count >= ROWS or stored.weight >= MOST_BYTES
        if full or self._read.count or (stored.weight >= BYTES and not stored.holds(data)):
            return False
        return stored.add(data, at, size, position)

    def add(self, data: bytes, at: int, size: int, position: int) -> Iterator[Made]:
        """As :meth:`take`, any batch; what has been added before may be given out."""
        yield from self._stored_rows()
        if self._read.count or not self._stored.add(data, at, size, position):
            yield from self._one(data, at, size, position)

    def flushed(self) -> Iterator[Made]:
        """What has been added, if there is anything."""
        yield from self._stored_rows()
        yield from self._read_rows()

    def corrupt(self, position: int | None, reason: str) -> pa.RecordBatch:
        """The row that says what is broken."""
        return corrupt_batch(self._schema, self.source, position, reason)

    def _stored_rows(self) -> Iterator[Made]:
        stored = self._stored
        self._stored = Stored(self._file, self._one_by_one, self._limit)
        if stored.count and stored.usual():
            yield from self._made(stored)
        elif stored.count:
            for kept in stored.kept:
                yield from self._one(*kept)
            yield from self._read_rows()

    def _read_rows(self) -> Iterator[Made]:
        read, self._read = self._read, Read(self._file)
        if read.count:
            yield from self._made(read)

    def _one(self, data: bytes, at: int, size: int, position: int) -> Iterator[Made]:
        """A batch by its records: those of large ones in parts, up to one that cannot be read."""
        batch = Batch(memoryview(data)[at : at + size], position, limit=self._limit)
        try:
            if batch.count > BELIEVED:
                records = iter(batch)
                while part := list(islice(records, ROWS)):
                    self._read.add(batch, part)
                    yield from self._read_rows()
            else:
                self._read.add(batch, batch.records())
        except DecodeError as problem:
            yield from self._read_rows()
            yield position, str(problem)
        if self._read.count >= ROWS or self._read.weight > BYTES:
            yield from self._read_rows()

    def _made(self, gathered: Gathered) -> Iterator[Made]:
        arrays = [COLUMNS[name](gathered, self._hide) for name in self._schema.names]
        made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        if self._bounds is not None:
            made = made.filter(pa.array(self._bounds.within(gathered.offsets(), gathered.times())))
        if made.num_rows:
            yield made
