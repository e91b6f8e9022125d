"""Tables that an earlier run wrote, by either engine, as batches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyarrow import compute
from pyarrow.parquet import ParquetFile

from kwire_inspect.options import BrokenInputError
from kwire_inspect.schemas import EPOCH, TIME
from kwire_inspect.stored import StoredTable

ROWS = 4096
COUNTS = frozenset({"requests", "errors", "refused", "connections", "places"})
"""Columns of CLIENTS and PROBLEMS that every row has."""
MICROSECOND = timedelta(microseconds=1)
TIMES = range(*((end.replace(tzinfo=UTC) - EPOCH) // MICROSECOND for end in (datetime.min, datetime.max)))
"""Microseconds that Python has times for."""


def stored_batches(table: StoredTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a table, with the columns of ``schema``: those that the table lacks are null.

    :class:`~kwire_inspect.options.BrokenInputError` if a file is no Parquet, or has values that no table of
    kwire has.
    """
    for path in table.files:
        try:
            file = ParquetFile(path, coerce_int96_timestamp_unit="us")  # Spark's times are of that type
            known = [name for name in schema.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(ROWS, columns=known):
                yield pa.RecordBatch.from_arrays([_column(batch, field) for field in schema], schema=schema)
        except (OSError, pa.ArrowException) as error:
            raise BrokenInputError(str(path), None, f"not a table of kwire: {error}") from None


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name).cast(field.type)
    if field.name in COUNTS and (column.null_count or any(end < 0 for end in _ends(column))):
        raise pa.ArrowInvalid(f"{field.name} is null or negative")
    if field.type == TIME and not all(end in TIMES for end in _ends(column)):
        raise pa.ArrowInvalid(f"{field.name} is no time of the years 1 to 9999")
    return column


def _ends(column: pa.Array) -> list[int]:
    """The least and the largest number, if there is any."""
    found = compute.min_max(column.cast(pa.int64())).as_py()
    return [end for end in found.values() if end is not None]
