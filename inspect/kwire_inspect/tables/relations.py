"""Tables that support SQL queries, in this process or in another engine.

Tables in this process are defined in ``tables.database``. Queries are written in the SQL that DuckDB and Spark share,
so each aggregation is defined once. Queries avoid ``FILTER`` and integer division with ``/``, and quote names that
are SQL keywords with backticks.

To provide its own tables, a package defines an entry point in the group :data:`ENGINE_GROUP`, and registers its table
class with :func:`backend`. In this way, ``kwire_spark`` provides DataFrames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import singledispatch
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from kwire_inspect.schemas import EPOCH, TIME

Row = dict[str, Any]
Batches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
ENGINE_GROUP = "kwire.engines"
"""Entry point group of packages that register their own tables."""


class Relation(Protocol):
    """A table of any engine."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""


R = TypeVar("R", bound=Relation)


class Backend(Protocol):
    """Implementation of this module's functions for the tables of one engine."""

    def query(self, text: str, tables: Mapping[str, Any]) -> Any: ...

    def collect(self, text: str, tables: Mapping[str, Any]) -> list[Row]: ...

    def query_groups(self, text: str, by: Sequence[str], tables: Mapping[str, Any]) -> Any: ...

    def map_batches(
        self,
        table: Any,
        takes: pa.Schema,
        function: Batches,
        gives: pa.Schema,
        where: str,
        by: str,
        order: Sequence[str],
    ) -> Any: ...

    def to_arrow(self, table: Any, schema: pa.Schema) -> pa.Table: ...

    def like(self, table: Any, rows: pa.Table) -> Any: ...

    def kept(self, table: Any) -> AbstractContextManager[Any]: ...


@singledispatch
def backend(table: object) -> Backend:
    """Return the backend of a table. Raises ``TypeError`` if no engine supports the object."""
    for engine in entry_points(group=ENGINE_GROUP):
        engine.load()
    known = backend.dispatch(type(table))
    if known is backend.dispatch(object):
        raise TypeError(f"expected a table from an engine, got {type(table).__name__}")
    return known(table)


def query(text: str, **tables: R) -> R:
    """Return the result of a query as a table of the same engine. In ``text``, table names are in braces."""
    result: R = backend(next(iter(tables.values()))).query(text, tables)
    return result


def collect(text: str, **tables: Relation) -> list[Row]:
    """Return the rows of a query result, which must fit into memory. Times are in UTC."""
    return backend(next(iter(tables.values()))).collect(text, tables)


def query_groups(text: str, by: Sequence[str], **tables: R) -> R:
    """Return the result of a query that groups by the columns in ``by``.

    The ``WHERE`` clause contains ``part`` in braces. An engine that cannot hold all groups at once replaces ``part``
    with a condition on the columns.
    """
    result: R = backend(next(iter(tables.values()))).query_groups(text, by, tables)
    return result


def map_batches(
    table: R,
    takes: pa.Schema,
    function: Batches,
    gives: pa.Schema,
    *,
    where: str = "",
    by: str = "",
    order: Sequence[str] = (),
) -> R:
    """Return a table of the batches that ``function`` returns for all rows. The batches passed to ``function`` have
    the columns ``takes``. ``where`` is an SQL condition. An engine may also pass rows that do not meet the condition,
    so ``function`` must skip such rows. ``order`` is a list of SQL expressions. All rows with the same value in the
    column ``by`` are passed to one call, sorted by these expressions.
    """
    result: R = backend(table).map_batches(table, takes, function, gives, where, by, order)
    return result


def to_arrow(table: Relation, schema: pa.Schema) -> pa.Table:
    """Return a table as an Arrow table with the columns of ``schema``. The table must fit into memory."""
    return backend(table).to_arrow(table, schema)


def to_rows(batch: pa.RecordBatch | pa.Table) -> list[Row]:
    """Return rows as dicts. Times are in UTC."""
    columns = [_times(column) if column.type == TIME else column.to_pylist() for column in batch.columns]
    names = batch.schema.names
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def _times(column: pa.Array | pa.ChunkedArray) -> list[datetime | None]:
    """Return the times of a column. Arrow would need several microseconds for each of them."""
    return [
        None if micros is None else EPOCH + timedelta(microseconds=micros)
        for micros in column.cast(pa.int64()).to_pylist()
    ]


def like(table: R, schema: pa.Schema, rows: Iterable[Row]) -> R:
    """Return a table with these rows, in the engine of ``table``."""
    result: R = backend(table).like(table, pa.Table.from_pylist(list(rows), schema))
    return result


def kept(table: R) -> AbstractContextManager[R]:
    """Provide a table for a ``with`` block, and compute it only once."""
    result: AbstractContextManager[R] = backend(table).kept(table)
    return result
