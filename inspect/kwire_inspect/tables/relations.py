"""Tables that answer SQL, in this process or in another engine.

A table in this process belongs to SQLite and is filled from Arrow batches. It needs no Java. Rows that do not fit
into SQLite's cache go to a temporary file. SQLite learns the functions of Spark that it lacks, so each aggregation is
stated once. Queries use the SQL that both engines know: no ``FILTER``, and no ``/`` of whole numbers.

A package can bring its own tables. It has an entry point in the group :data:`ENGINE_GROUP`, and registers the class
of its tables with :func:`backend`. ``kwire_spark`` does this for DataFrames.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import lru_cache, singledispatch
from importlib.metadata import entry_points
from itertools import chain
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from kwire_inspect.row_layout import BATCH_BYTES, by_bytes
from kwire_inspect.schemas import CLIENTS, EPOCH, EXCHANGES, TIME
from kwire_inspect.state.columns import COMMITTED, GROUPS, MEMBERS, TRANSACTIONS

Row = dict[str, Any]
Batches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
ENGINE_GROUP = "kwire.engines"
"""The group of entry points of packages that register tables of their own."""


class Relation(Protocol):
    """A table of any engine."""

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""


R = TypeVar("R", bound=Relation)


class Backend(Protocol):
    """The functions of this module, for the tables of one engine."""

    def query(self, text: str, tables: Mapping[str, Any]) -> Any: ...

    def collect(self, text: str, tables: Mapping[str, Any]) -> list[Row]: ...

    def explode(self, table: Any, column: str, name: str) -> Any: ...

    def map_batches(
        self, table: Any, takes: pa.Schema, function: Batches, gives: pa.Schema, by: str, order: Sequence[str]
    ) -> Any: ...

    def expand_struct(self, table: Any, column: str, schema: pa.Schema) -> Any: ...

    def like(self, table: Any, rows: pa.Table) -> Any: ...

    def kept(self, table: Any) -> AbstractContextManager[Any]: ...


@singledispatch
def backend(table: object) -> Backend:
    """Return the backend of a table. Raises ``TypeError`` for an object that no engine knows."""
    for engine in entry_points(group=ENGINE_GROUP):
        engine.load()
    known = backend.dispatch(type(table))
    if known is backend.dispatch(object):
        raise TypeError(f"expected a table of an engine, got {type(table).__name__}")
    return known(table)


NONE = "[]"
"""A list without elements, which most are, in a table of SQLite."""
CACHE_KB = 64 << 10
"""Memory for the pages of a database: others are in its temporary file."""
_FIELDS = (*EXCHANGES, *CLIENTS, *COMMITTED, *GROUPS, *MEMBERS, *TRANSACTIONS)
TIMES = frozenset(field.name for field in _FIELDS if field.type == TIME)
LISTS = frozenset(field.name for field in _FIELDS if pa.types.is_list(field.type))
"""Columns of these names are times in every query, and lists where they are JSON: SQLite has no such types."""


def query(text: str, **tables: R) -> R:
    """The result of a query, as a table of the same engine. ``text`` has the name of each table in braces."""
    result: R = backend(next(iter(tables.values()))).query(text, tables)
    return result


def collect(text: str, **tables: Relation) -> list[Row]:
    """The result of a query, which must be small; times are in UTC."""
    return backend(next(iter(tables.values()))).collect(text, tables)


class Database:
    """A database of this process. It is gone with the process: its temporary file has no name."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect("", isolation_level=None)
        for name, function in _FUNCTIONS.items():
            self.connection.create_function(name, -1, function, deterministic=True)
        self.connection.create_aggregate("min_by", 2, _MinBy)  # type: ignore[arg-type]
        self.connection.create_aggregate("percentile_approx", 3, _Percentile)  # type: ignore[arg-type]
        for setting in (f"cache_size = -{CACHE_KB}", "journal_mode = OFF", "synchronous = OFF"):
            self.connection.execute(f"PRAGMA {setting}")
        self.connection.execute("BEGIN")  # never committed
        self._tables = 0

    def table(self, columns: Iterable[str]) -> LocalTable:
        """A new table, without rows."""
        listed = ", ".join(f'"{column}"' for column in columns)
        return self._new(f"({listed})")

    def select(self, text: str) -> LocalTable:
        """A new table of the rows of a query."""
        return self._new(f"AS {text}")

    def rows(self, text: str) -> Iterator[Row]:
        """The rows of a query."""
        found = self.connection.execute(text)
        columns = [column for column, *_ in found.description]
        times, lists = TIMES.intersection(columns), LISTS.intersection(columns)
        for values in found:
            row = dict(zip(columns, values, strict=True))
            for name in times:
                if row[name] is not None:
                    row[name] = EPOCH + timedelta(microseconds=row[name])
            for name in lists:
                if isinstance(row[name], str):
                    row[name] = json.loads(row[name])
            yield row

    def _new(self, definition: str) -> LocalTable:
        self._tables += 1
        name = f"table{self._tables}"
        self.connection.execute(f"CREATE TABLE {name} {definition}")
        return LocalTable(self, name)


class LocalTable:
    """A table of a database of this process."""

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        self.name = name
        self.columns = [column for _, column, *_ in database.connection.execute(f"PRAGMA table_info({name})")]

    def add(self, batches: Iterable[pa.RecordBatch]) -> LocalTable:
        """Add the rows of batches with these columns, in this order. Lists and structs become JSON."""
        insert = f"INSERT INTO {self.name} VALUES ({', '.join('?' for _ in self.columns)})"
        for part in chain.from_iterable(map(by_bytes, batches)):
            columns = (_values(column) for column in part.columns)
            self.database.connection.executemany(insert, zip(*columns, strict=True))
        return self

    def rows(self) -> Iterator[Row]:
        """All rows."""
        return self.database.rows(f"SELECT * FROM {self.name}")

    def batches(self, schema: pa.Schema, size: int = 10_000, most: int = BATCH_BYTES) -> Iterator[pa.RecordBatch]:
        """All rows as batches of at most ``size`` rows, and some ``most`` bytes, with the columns of ``schema``."""
        listed = ", ".join(f'"{name}"' for name in schema.names)
        cursor = self.database.connection.execute(f"SELECT {listed} FROM {self.name}")
        for found in _grouped(cursor, size, most):
            columns = zip(schema.types, zip(*found, strict=True), strict=True)
            yield pa.RecordBatch.from_arrays([_array(kind, values) for kind, values in columns], schema=schema)


def _grouped(rows: Iterable[tuple[Any, ...]], size: int, most: int) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in lists that end with the row that makes them ``size`` rows, or ``most`` bytes and characters, long."""
    found: list[tuple[Any, ...]] = []
    held = 0
    for row in rows:
        found.append(row)
        held += sum([len(value) for value in row if isinstance(value, (bytes, str))])
        if len(found) >= size or held >= most:
            yield found
            found, held = [], 0
    if found:
        yield found


def explode(table: R, column: str, name: str) -> R:
    """A row for each element of the list in ``column``, with the element as column ``name``."""
    result: R = backend(table).explode(table, column, name)
    return result


def map_batches(
    table: R, takes: pa.Schema, function: Batches, gives: pa.Schema, *, by: str = "", order: Sequence[str] = ()
) -> R:
    """What ``function`` makes of all rows, in batches with the columns ``takes``.

    ``order`` is of expressions in SQL. Rows with the same value of the column ``by`` are taken by one call, together
    and in this order.
    """
    result: R = backend(table).map_batches(table, takes, function, gives, by, order)
    return result


def expand_struct(table: R, column: str, schema: pa.Schema) -> R:
    """The structs in ``column``, with the fields of ``schema``, as rows."""
    result: R = backend(table).expand_struct(table, column, schema)
    return result


def like(table: R, schema: pa.Schema, rows: Iterable[Row]) -> R:
    """A table of these rows, of the engine of ``table``."""
    result: R = backend(table).like(table, pa.Table.from_pylist(list(rows), schema))
    return result


def kept(table: R) -> AbstractContextManager[R]:
    """The table, which is computed once within a ``with`` block."""
    result: AbstractContextManager[R] = backend(table).kept(table)
    return result


class LocalBackend:
    """The tables of this process."""

    def query(self, text: str, tables: Mapping[str, LocalTable]) -> LocalTable:
        return _database(tables).select(_named(text, tables))

    def collect(self, text: str, tables: Mapping[str, LocalTable]) -> list[Row]:
        return list(_database(tables).rows(_named(text, tables)))

    def explode(self, table: LocalTable, column: str, name: str) -> LocalTable:
        return table.database.select(
            f'SELECT {table.name}.*, json_each.value AS "{name}" FROM {table.name}, json_each({table.name}.{column})'
        )

    def map_batches(
        self, table: LocalTable, takes: pa.Schema, function: Batches, gives: pa.Schema, by: str, order: Sequence[str]
    ) -> LocalTable:
        columns = ", ".join(f"`{name}`" for name in takes.names)
        first = [f"`{by}`"] if by else []
        ordered = f" ORDER BY {', '.join([*first, *order])}" if by or order else ""
        rows = query(f"SELECT {columns} FROM {{table}}{ordered}", table=table).batches(takes)
        return table.database.table(gives.names).add(function(rows))

    def expand_struct(self, table: LocalTable, column: str, schema: pa.Schema) -> LocalTable:
        packed = pa.schema([(column, pa.struct(list(schema)))])
        there = query(f"SELECT {column} FROM {{table}} WHERE {column} IS NOT NULL", table=table)
        rows = (pa.RecordBatch.from_struct_array(batch.column(0)) for batch in there.batches(packed))
        return table.database.table(schema.names).add(rows)

    def like(self, table: LocalTable, rows: pa.Table) -> LocalTable:
        return table.database.table(rows.schema.names).add(rows.to_batches())

    def kept(self, table: LocalTable) -> AbstractContextManager[LocalTable]:
        return nullcontext(table)


@backend.register
def _local(table: LocalTable) -> Backend:
    return LocalBackend()


def _database(tables: Mapping[str, LocalTable]) -> Database:
    """The database of all these tables."""
    databases = {table.database for table in tables.values()}
    assert len(databases) == 1
    return databases.pop()


def _named(text: str, tables: Mapping[str, LocalTable]) -> str:
    return text.format(**{name: table.name for name, table in tables.items()})


def _array(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    if pa.types.is_boolean(kind):
        values = [None if value is None else bool(value) for value in values]
    elif pa.types.is_list(kind) or pa.types.is_struct(kind):
        values = [None if value is None else json.loads(value) for value in values]
    return pa.array(values, kind)


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = _without_times(column).to_pylist()
    if pa.types.is_list(column.type) or pa.types.is_struct(column.type):
        return [_json(value) for value in values]
    return values


def _json(value: list[Any] | Row | None) -> str | None:
    return None if value is None else json.dumps(value) if value else NONE


def _without_times(column: pa.Array) -> pa.Array:
    """The same with microseconds for times, also in structs."""
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64())
    if pa.types.is_struct(column.type):
        fields = [_without_times(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, names=[*column.type.names], mask=column.is_null())
    return column


@lru_cache(maxsize=1)  # every aggregate that needs it asks again, row by row
def _place(*values: int | str | None) -> str:
    """A struct, as a text with the same order: null first, numbers before 10^20 by value."""
    return "\0".join(
        [
            "" if value is None else f"+{value + (1 << 63):020}" if isinstance(value, int) else f"+{value}"
            for value in values
        ]
    )


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "endswith": lambda text, end: None if text is None else text.endswith(end),
    "floor": lambda value: None if value is None else math.floor(value),
    "regexp_extract": lambda text, pattern, group: _extracted(text, pattern, group),
    "size": lambda listed: None if listed is None else 0 if listed == NONE else len(json.loads(listed)),
    "struct": _place,
    "unix_micros": lambda time: time,
}
"""Functions of Spark that SQLite does not have; ``floor`` only in some builds."""


def _extracted(text: str | None, pattern: str, group: int) -> str | None:
    """A group of the first match; empty if there is none, as in Spark."""
    if text is None:
        return None
    found = re.search(pattern, text)
    return (found[group] or "") if found else ""


class _MinBy:
    """``min_by(value, key)``: the value of the least key."""

    def __init__(self) -> None:
        self._least: tuple[Any, Any] | None = None

    def step(self, value: Any, key: Any) -> None:
        if key is not None and (self._least is None or key < self._least[0]):
            self._least = key, value

    def finalize(self) -> Any:
        return self._least and self._least[1]


class _Percentile:
    """``percentile_approx(value, share, accuracy)``, exact: the least value with this share of all up to it."""

    def __init__(self) -> None:
        self._values = array("d")
        self._share = 0.0

    def step(self, value: float | None, share: float, accuracy: int) -> None:
        self._share = share
        if value is not None:
            self._values.append(value)

    def finalize(self) -> float | None:
        if not self._values:
            return None
        return sorted(self._values)[max(math.ceil(self._share * len(self._values)), 1) - 1]
