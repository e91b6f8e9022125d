"""What is wanted of connections: which table, which of its columns, which of its rows; and what that takes.

Rows have a value for each column of the table, for conditions to look at, in the order of ``layout``; what is not
wanted and takes time is left ``None``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from kwire_spark.columns import EXCHANGES, FRAMES
from kwire_spark.frames import identity, payload
from kwire_spark.frames.context import Row
from kwire_spark.frames.layout import LAYOUTS, connection_batch

Table = Literal["frames", "exchanges"]

TABLES: dict[str, pa.Schema] = {"frames": FRAMES, "exchanges": EXCHANGES}

_IDENTITY = {"software_name", "software_version", "principal"}
_BODIES = {"kind", "outcome", "reason", "error_codes", "throttle_ms"}
_SHOWN = {"raw", "request", "response"}
_OF_CONNECTIONS = {
    "frames": ("connection", "client_host", "client_port", "server_host", "server_port"),
    "exchanges": ("connection", "server_host", "server_port"),
}
"""Columns with the same value in all rows of a connection: not the client, which an Envelope tells of its own. They
are null in the row that says what of a connection is missing."""

_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What a value of ``column`` has to be: ``test`` is one of ``= < <= > >= in``, and ``null`` and ``not null``,
    which have no ``value``. Null passes none but the last but one, as in SQL. Times are in microseconds."""

    column: str
    test: str
    value: Any = None

    def holds(self, value: Any) -> bool:
        if self.test in ("null", "not null"):
            return (value is None) == (self.test == "null")
        return value is not None and _TESTS[self.test](value, self.value)


class Wanted:
    """Columns and rows of a table. ``conditions`` are on scalar columns, and rows have to pass them all."""

    __slots__ = ("_fixed", "_tests", "bodies", "columns", "errors", "schema", "shown", "table")

    def __init__(
        self, table: Table = "frames", schema: pa.Schema | None = None, conditions: Sequence[Condition] = ()
    ) -> None:
        full = TABLES[table]
        self.table: Table = table
        self.schema: pa.Schema = full if schema is None else schema
        self.columns = frozenset(self.schema.names) | {condition.column for condition in conditions}
        self.errors = bool(self.columns & {"error_codes", "throttle_ms"})
        self.shown = bool(self.columns & (_SHOWN if table == "exchanges" else {"raw"}))
        self.bodies = _bodies(self.columns, table, conditions, self.shown)
        self._fixed = [one for one in conditions if one.column in _OF_CONNECTIONS[table] and one.test != "null"]
        self._tests = tuple(conditions)

    def takes(self, connection: Row) -> bool:
        """Whether a connection may have such rows. It is given as the five columns that tell its peers."""
        names = _OF_CONNECTIONS["frames"]
        return all(one.holds(connection[names.index(one.column)]) for one in self._fixed)

    def rows(self, rows: list[Row]) -> list[Row]:
        """The rows that pass."""
        if not self._tests:
            return rows
        value = LAYOUTS[self.table].value
        return [row for row in rows if all(one.holds(value(row, one.column)) for one in self._tests)]

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as an Arrow batch of the columns that are wanted."""
        return connection_batch(rows, self.schema, self.table)


def _bodies(
    columns: Collection[str], table: Table, conditions: Sequence[Condition], show: bool
) -> frozenset[str] | bool:
    """Which bodies have to be decoded: all, or those of some apis."""
    some: set[str] = set()
    if _IDENTITY.intersection(columns):
        some |= identity.APIS
    if table == "exchanges":
        some.add("Envelope")
    if show:
        some |= payload.APIS
    if not _BODIES.intersection(columns):
        return frozenset(some)
    for one in conditions:
        if one.column == "api" and one.test in ("=", "in"):
            return frozenset(some.union([one.value] if one.test == "=" else one.value))
    return True
