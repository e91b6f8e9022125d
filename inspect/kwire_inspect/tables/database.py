"""Tables of this process, stored in DuckDB and filled from Arrow batches. Java is not required. Rows that do not fit
into DuckDB's limited memory are written to a folder. Only this user can read the folder, which is removed with the
database. DuckDB returns 2,048 rows at a time, however large they are. Long values are therefore kept in a separate
file, and tables contain the positions of these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from itertools import chain
from struct import Struct
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import compute

from kwire_inspect.rows import BATCH_BYTES, BINARY, by_bytes
from kwire_inspect.tables.relations import Backend, Batches, Row, backend, to_rows

MEMORY = "96MiB"
"""Memory limit of a database. Data that does not fit is written to the database's folder."""
PER_OPERATOR = "SET operator_memory_limit = '32MiB'"
"""Setting that limits the memory of a sort. Rows that do not fit are written to the database's folder."""
ROWS = 2048
"""Number of rows that DuckDB returns at a time."""
MAX_PARTS = 4096
"""Maximum number of parts in which to compute groups that do not fit into memory. Some text of the groups always
stays in memory."""
LONG = 2048
"""Maximum size in bytes of a value that is stored in a table instead of the separate file."""
MAX_VALUE = 1 << 30
"""Size in bytes that no value reaches."""
SETTINGS = {
    "async_threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "default_null_order": "nulls_first_on_asc_last_on_desc",
    "memory_limit": MEMORY,
    "threads": "1",
}
PREPARED = """
    SET GLOBAL TimeZone = 'UTC';
    SET GLOBAL enable_external_access = false;
    CREATE MACRO endswith(text, ending) AS ends_with(text, ending);
    CREATE MACRO explode(list) AS unnest(list);
    CREATE MACRO min_by(value, key) AS arg_min_null(value, key);
    CREATE MACRO percentile_approx(value, share, accuracy) AS quantile_disc(value, share);
    CREATE MACRO size(list) AS len(list);
    CREATE MACRO struct(a, b) AS row(a IS NOT NULL, a, b IS NOT NULL, b),
        (a, b, c, d) AS row(a IS NOT NULL, a, b IS NOT NULL, b, c IS NOT NULL, c, d IS NOT NULL, d);
    CREATE MACRO unix_micros(time) AS epoch_us(time);
"""
"""SQL that defines the Spark functions that DuckDB lacks or names differently. In a struct, null is the lowest value,
as in Spark."""

Read = Callable[..., Iterable[pa.RecordBatch]]

_PLACE = Struct("<cqq")
"""Mark, followed by the offset and length in bytes of a long value in the file."""
_SHORT, _LONG = b"\0", b"\1"
"""Marks at the beginning of stored binary values."""


class Database:
    """A DuckDB database of this process."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="kwire-")
        self._values = _LongValues()
        self.connection = duckdb.connect(config={**SETTINGS, "temp_directory": self._folder.name})
        self.connection.execute(PREPARED + PER_OPERATOR)
        self._tables = 0

    def table(self, schema: pa.Schema) -> LocalTable:
        """Create and return an empty table."""
        name = self._new()
        self._run(f"CREATE TABLE {name} AS SELECT * FROM added", pa.RecordBatchReader.from_batches(schema, []))
        return LocalTable(self, name)

    def select(self, text: str) -> LocalTable:
        """Create and return a table with the rows of a query."""
        name = self._new()
        self.connection.execute(f"CREATE TABLE {name} AS {text}")
        return LocalTable(self, name)

    def view(self, text: str, tables: Iterable[LocalTable | LocalRows]) -> LocalTable:
        """Return a view of a query on these tables. The query runs each time the view is read, because storing the
        result would use memory."""
        name = self._new()
        self.connection.execute(f"CREATE VIEW {name} AS {text}")
        return LocalTable(self, name, tables)

    def insert(self, name: str, batch: pa.RecordBatch) -> None:
        """Add rows to a table."""
        columns = [self._values.put(one) if one.type == BINARY else one for one in batch.columns]
        stored = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        self._run(
            f"INSERT INTO {name} SELECT * FROM added", pa.RecordBatchReader.from_batches(stored.schema, [stored])
        )

    def batches(self, text: str, most: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query in batches of at most ``most`` bytes. Only a batch of a single row may be
        larger."""
        with self.connection.cursor() as cursor:
            cursor.execute(PER_OPERATOR)
            for batch in cursor.sql(text).to_arrow_reader(ROWS):
                yield from self._values.filled(batch, most)

    def rows(self, text: str) -> Iterator[Row]:
        """Yield the rows of a query as dicts."""
        for batch in self.batches(text):
            # DuckDB returns sums of integers as decimals
            kinds = [pa.int64() if pa.types.is_decimal(kind) else kind for kind in batch.schema.types]
            yield from to_rows(_cast(batch, pa.schema(zip(batch.schema.names, kinds, strict=True))))

    def _new(self) -> str:
        self._tables += 1
        return f"table{self._tables}"

    def _run(self, text: str, added: pa.RecordBatchReader) -> None:
        self.connection.register("added", added)
        try:
            self.connection.execute(text)
        finally:
            self.connection.unregister("added")


class LocalTable:
    """A table or view in a database of this process. The table or view is dropped when this object is deleted."""

    def __init__(self, database: Database, name: str, viewed: Iterable[LocalTable | LocalRows] = ()) -> None:
        self.database = database
        self.name = name
        self.viewed = (*viewed,)
        """Tables that this view reads, or an empty tuple for a table."""
        self.columns: list[str] = database.connection.table(name).columns

    def __del__(self) -> None:
        with suppress(duckdb.Error):  # the database may be closed
            self.database.connection.execute(f"DROP {'VIEW' if self.viewed else 'TABLE'} IF EXISTS {self.name}")

    def add(self, batches: Iterable[pa.RecordBatch]) -> LocalTable:
        """Add the rows of batches, whose columns must be in the order of the table's columns. Return the table."""
        for part in chain.from_iterable(map(by_bytes, batches)):
            self.database.insert(self.name, part)
        return self

    def rows(self) -> Iterator[Row]:
        """Yield all rows."""
        yield from self.database.rows(f"FROM {self.name}")

    def batches(self, schema: pa.Schema, most: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
        """Yield all rows with the columns of ``schema``, in batches of at most ``most`` bytes. Only a batch of a
        single row may be larger."""
        listed = ", ".join(f'"{name}"' for name in schema.names)
        for batch in self.database.batches(f"SELECT {listed} FROM {self.name}", most):
            yield _cast(batch, schema)

    def mapped(self, schema: pa.Schema, function: Batches, **how: Any) -> Iterable[pa.RecordBatch]:
        """Pass all rows, with the columns of ``schema``, to a function. Return the batches from the function."""
        return function(self.batches(schema))


class LocalRows:
    """Rows of files. Each use reads the rows from the files. Only queries load the rows into a database.

    ``read`` is a function such as ``readers.read_batches``.
    """

    viewed = ()

    def __init__(self, database: Database, schema: pa.Schema, read: Read) -> None:
        self.database, self.schema, self._read = database, schema, read
        self.columns: list[str] = schema.names

    @cached_property
    def loaded(self) -> LocalTable:
        """Table in the database that contains the rows."""
        return self.database.table(self.schema).add(self.mapped(self.schema, iter))

    @property
    def name(self) -> str:
        """Name of the table in the database."""
        return self.loaded.name

    def mapped(self, schema: pa.Schema, function: Batches, **how: Any) -> Iterable[pa.RecordBatch]:
        """Pass all rows, with the columns of ``schema``, to a function. Return the batches from the function."""
        return self._read(columns=schema.names, transform=function, **how)

    def count(self) -> int:
        """Return the number of rows."""
        return sum(batch.num_rows for batch in self.mapped(pa.schema([]), iter))


class LocalBackend:
    """Implements the functions of ``relations`` for the tables of this process."""

    def query(self, text: str, tables: Mapping[str, LocalTable | LocalRows]) -> LocalTable:
        return _database(tables).view(_named(text, tables), tables.values())

    def collect(self, text: str, tables: Mapping[str, LocalTable | LocalRows]) -> list[Row]:
        return list(_database(tables).rows(_named(text, tables)))

    def query_groups(self, text: str, by: Sequence[str], tables: Mapping[str, LocalTable | LocalRows]) -> LocalTable:
        database, number = _database(tables), 1
        while True:
            parts = [f"hash({', '.join(by)}) % {number} = {part}" for part in range(number)]
            try:
                first, *others = [database.select(_named(text, tables, part=part)) for part in parts]
                break
            except duckdb.OutOfMemoryException:
                if number >= MAX_PARTS:
                    raise
                number *= 8
        for table in others:
            database.connection.execute(f"INSERT INTO {first.name} FROM {table.name}")
        return first

    def map_batches(
        self,
        table: LocalTable | LocalRows,
        takes: pa.Schema,
        function: Batches,
        gives: pa.Schema,
        where: str,
        by: str,
        order: Sequence[str],
    ) -> LocalTable:
        if not by:
            return table.database.table(gives).add(table.mapped(takes, function))
        # DuckDB needs little memory to sort by numbers, but must keep texts in memory to sort by them
        *first, last = (f"`{by}`", *order)
        key = f"row({', '.join(first)})"
        groups = f"SELECT DISTINCT {key} AS _group FROM {table.name}"
        places = table.database.select(f"SELECT *, row_number() OVER (ORDER BY _group) AS _place FROM ({groups})")
        listed = ", ".join(f"{table.name}.`{name}`" for name in takes.names)
        text = f"SELECT {listed} FROM {table.name} JOIN {places.name} ON {key} IS NOT DISTINCT FROM _group"
        rows = table.database.batches(f"{text} ORDER BY _place, {last}")
        return table.database.table(gives).add(function(_cast(batch, takes) for batch in rows))

    def to_arrow(self, table: LocalTable | LocalRows, schema: pa.Schema) -> pa.Table:
        return pa.Table.from_batches(table.mapped(schema, iter), schema)

    def like(self, table: LocalTable | LocalRows, rows: pa.Table) -> LocalTable:
        return table.database.table(rows.schema).add(rows.to_batches())

    def kept(self, table: LocalTable | LocalRows) -> AbstractContextManager[LocalTable | LocalRows]:
        return nullcontext(table.database.select(f"FROM {table.name}") if table.viewed else table)


@backend.register(LocalTable)
@backend.register(LocalRows)
def _local(table: LocalTable | LocalRows) -> Backend:
    return LocalBackend()


def _database(tables: Mapping[str, LocalTable | LocalRows]) -> Database:
    """Return the database that contains all these tables."""
    databases = {table.database for table in tables.values()}
    assert len(databases) == 1
    return databases.pop()


def _named(text: str, tables: Mapping[str, LocalTable | LocalRows], **more: str) -> str:
    return text.format(**{name: table.name for name, table in tables.items()}, **more)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class _LongValues:
    """Long binary values, stored in an unnamed file. A table contains each short value, or the position of each long
    value, preceded by a mark."""

    def __init__(self) -> None:
        self._file = TemporaryFile(buffering=0)  # noqa: SIM115
        self._size = 0

    def put(self, values: pa.Array) -> pa.Array:
        """Return the values in the form in which a table stores them."""
        if not compute.any(compute.greater(compute.binary_length(values), LONG)).as_py():
            return compute.binary_join_element_wise(pa.scalar(_SHORT), values, pa.scalar(b""))
        return pa.array([None if value is None else self._put(value) for value in values.to_pylist()], BINARY)

    def filled(self, batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
        """Yield stored rows with their actual values, in batches of at most ``most`` bytes. Only a batch of a single
        row may be larger."""
        for part in by_bytes(batch, most, _size):
            filled = [self._get(column) if column.type == BINARY else column for column in part.columns]
            yield pa.RecordBatch.from_arrays(filled, schema=part.schema)

    def _put(self, value: bytes) -> bytes:
        if len(value) <= LONG:
            return _SHORT + value
        place = _PLACE.pack(_LONG, self._size, len(value))
        self._file.seek(self._size)
        self._size += self._file.write(value)
        return place

    def _get(self, stored: pa.Array) -> pa.Array:
        if not len(_long_of(stored)):
            return compute.binary_slice(stored, 1, MAX_VALUE)
        found: list[Any] = stored.to_pylist()
        for number, value in enumerate(found):
            if value is not None:
                found[number] = self._long(value) if value[:1] == _LONG else value[1:]
        return pa.array(found, BINARY)

    def _long(self, place: bytes) -> bytes:
        _, at, size = _PLACE.unpack(place)
        self._file.seek(at)
        return self._file.read(size)


def _size(batch: pa.RecordBatch) -> int:
    """Return the size of stored rows in bytes, including their long values."""
    size: int = batch.nbytes
    for column in batch.columns:
        if column.type == BINARY:
            size += sum(_PLACE.unpack(place)[2] for place in _long_of(column).to_pylist())
    return size


def _long_of(stored: pa.Array) -> pa.Array:
    """Return the positions of the long values among stored values."""
    return stored.filter(compute.starts_with(stored, _LONG))
