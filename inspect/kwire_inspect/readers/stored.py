"""Reads tables that kwire has written with either engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import compute, dataset
from pyarrow.dataset import ParquetFileFragment
from pyarrow.parquet import ParquetFile

from kwire_inspect.options import BrokenInputError, Options
from kwire_inspect.readers import Reader, read_dealt
from kwire_inspect.schemas import EPOCH, TIME
from kwire_inspect.stored import StoredTable
from kwire_inspect.tables.files import DATE

if TYPE_CHECKING:
    from kwire_inspect.tables.relations import Batches

ROWS = 4096
"""Number of rows to read at a time."""
BY_DATE = dataset.partitioning(pa.schema([(DATE, pa.date32())]), flavor="hive")
SLOWLY = dataset.ParquetFileFormat(pre_buffer=False)
NO_READAHEAD = {"batch_readahead": 0, "fragment_readahead": 0}
COUNTS = frozenset({"requests", "errors", "refused", "connections", "places"})
"""Columns of CLIENTS and PROBLEMS that must be neither null nor negative."""
MICROSECOND = timedelta(microseconds=1)
TIMES = range(*((end.replace(tzinfo=UTC) - EPOCH) // MICROSECOND for end in (datetime.min, datetime.max)))
"""Range of times that Python can represent, in microseconds since the epoch."""


def stored_batches(table: StoredTable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table with the columns of ``schema``. Columns that the table lacks are null.

    Raises :class:`~kwire_inspect.options.BrokenInputError` if a file is not Parquet, or contains values that kwire
    never writes.
    """
    for path in table.files:
        try:
            file = ParquetFile(path, coerce_int96_timestamp_unit="us")  # the type in which Spark writes times
            known = [name for name in schema.names if name in file.schema_arrow.names]
            for batch in file.iter_batches(ROWS, columns=known):
                yield pa.RecordBatch.from_arrays([_column(batch, field) for field in schema], schema=schema)
        except (OSError, pa.ArrowException) as error:
            raise BrokenInputError(str(path), None, f"not a table that kwire wrote: {error}") from None


class TableReader(Reader):
    """Reads a table that this run has written, one row group at a time. Partitioned tables have a column ``date``."""

    def __init__(self, path: str, columns: Sequence[str] | None = None, tasks: int = 1) -> None:
        self._table = dataset.dataset(path, format=SLOWLY, partitioning=BY_DATE)
        super().__init__(Options({}), self._table.schema)
        self._columns, self._tasks = columns, tasks

    def tasks(self) -> Sequence[list[ParquetFileFragment]]:
        """Return the tasks. Each task reads a share of every file's row groups."""
        dealt: list[list[ParquetFileFragment]] = [[] for _ in range(self._tasks)]
        for file in self._table.get_fragments():
            for number, share in enumerate(dealt):
                if groups := [*range(file.num_row_groups)[number :: self._tasks]]:
                    share.append(file.subset(row_group_ids=groups))
        return dealt

    def read(self, task: list[ParquetFileFragment]) -> Iterator[pa.RecordBatch]:
        for group in (group for file in task for group in file.split_by_row_group()):
            yield from group.to_batches(
                schema=self.schema, columns=self._columns, batch_size=ROWS, use_threads=False, **NO_READAHEAD
            )


def read_table(
    path: str, *, columns: Sequence[str], processes: int = 1, transform: Batches = iter
) -> Iterator[pa.RecordBatch]:
    """Yield batches of the rows of a table that this run has written, as ``read_batches`` does for inputs."""
    reader = TableReader(path, columns, processes)
    return read_dealt(reader, reader.tasks(), processes, transform)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    column = batch.column(field.name).cast(field.type)
    if field.name in COUNTS and (column.null_count or any(end < 0 for end in _ends(column))):
        raise pa.ArrowInvalid(f"{field.name} is null or negative")
    if field.type == TIME and not all(end in TIMES for end in _ends(column)):
        raise pa.ArrowInvalid(f"{field.name} contains a time outside the years 1 to 9999")
    return column


def _ends(column: pa.Array) -> list[int]:
    """Return the smallest and the largest number, or an empty list if all values are null."""
    found = compute.min_max(column.cast(pa.int64())).as_py()
    return [end for end in found.values() if end is not None]
