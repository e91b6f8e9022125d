"""Tables that answer SQL, in this process or in another engine.

Tables in this process are tables of ``tables.database``. Queries use the SQL that DuckDB and Spark share, so each
aggregation is stated once. They avoid ``FILTER`` and ``/`` of whole numbers, and put names that are words of SQL in
backticks.

A package can provide its own tables. It has an entry point in the group :data:`ENGINE_GROUP`, and registers the class
of its tables with :func:`backend`. ``kwire_spark`` does this for DataFrames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import singledispatch
from importlib.metadata import entry_points
from typing import Any, Protocol, TypeVar

import pyarrow as pa

Row = dict[str, Any]
Batches = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
ENGINE_GROUP = "kwire.engines"
"""Group of entry points of packages that register tables of their own."""


class Relation(Protocol):
    """Table of any engine."""

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""


R = TypeVar("R", bound=Relation)


class Backend(Protocol):
    """Functions of this module, for the tables of one engine."""

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
    """Return the backend of a table. Raises ``TypeError`` for an object that no engine knows."""
    for engine in entry_points(group=ENGINE_GROUP):
        engine.load()
    known = backend.dispatch(type(table))
    if known is backend.dispatch(object):
        raise TypeError(f"expected a table of an engine, got {type(table).__name__}")
    return known(table)


def query(text: str, **tables: R) -> R:
    """Return the result of a query, as a table of the same engine. ``text`` has the name of each table in braces."""
    result: R = backend(next(iter(tables.values()))).query(text, tables)
    return result


def collect(text: str, **tables: Relation) -> list[Row]:
    """Return the result of a query, which must be small. Times are in UTC."""
    return backend(next(iter(tables.values()))).collect(text, tables)


def query_groups(text: str, by: Sequence[str], **tables: R) -> R:
    """Return the result of a query that groups by these columns.

    Its ``WHERE`` has ``part`` in braces: a condition on the columns, for an engine that cannot hold all groups at
    once.
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
    """Return the batches that ``function`` makes of all rows. Its input is batches with the columns ``takes``.

    ``where`` is a condition in SQL. An engine may leave out other rows, which ``function`` must pass over.

    ``order`` is a list of expressions in SQL. One call gets all rows with the same value of the column ``by``, in
    this order.
    """
    result: R = backend(table).map_batches(table, takes, function, gives, where, by, order)
    return result


def to_arrow(table: Relation, schema: pa.Schema) -> pa.Table:
    """Return the columns of ``schema``, which must fit into memory."""
    return backend(table).to_arrow(table, schema)


def like(table: R, schema: pa.Schema, rows: Iterable[Row]) -> R:
    """Return a table of these rows, of the engine of ``table``."""
    result: R = backend(table).like(table, pa.Table.from_pylist(list(rows), schema))
    return result


def kept(table: R) -> AbstractContextManager[R]:
    """Compute a table once for a ``with`` block."""
    result: AbstractContextManager[R] = backend(table).kept(table)
    return result
