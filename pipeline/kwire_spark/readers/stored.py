"""Tables that an earlier run wrote, by either engine, as batches."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from kwire_spark.options import BrokenInputError
from kwire_spark.stored import StoredTable

ROWS = 4096


def stored_batches(table: StoredTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a table, with the columns of ``schema``: those that the table lacks are null.

    :class:`~kwire_spark.options.BrokenInputError` if a file is no Parquet, or a column is of another type.
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
    return batch.column(field.name).cast(field.type)
