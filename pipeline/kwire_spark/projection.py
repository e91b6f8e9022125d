"""Which columns and rows of a table are needed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kwire_spark.rows import LAYOUTS, Row

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
    """A test of the values of ``column``: ``= < <= > >= in`` with ``value``, or ``null`` and ``not null`` without.

    As in SQL, null satisfies only the test ``null``. Times are in microseconds.
    """

    column: str
    test: str
    value: Any = None

    def holds(self, value: Any) -> bool:
        if self.test in ("null", "not null"):
            return (value is None) == (self.test == "null")
        return value is not None and _TESTS[self.test](value, self.value)


class Projection:
    """The columns of ``schema`` (by default all) in the rows of a table that satisfy all ``conditions``.

    ``table`` is the name of a layout in ``kwire_spark.rows``. ``columns`` are those that have to be computed: of the
    schema, and of the conditions, which are on scalar columns.
    """

    __slots__ = ("columns", "conditions", "layout", "schema")

    def __init__(self, table: str, schema: pa.Schema | None = None, conditions: Sequence[Condition] = ()) -> None:
        self.layout = LAYOUTS[table]
        self.schema: pa.Schema = self.layout.full if schema is None else schema
        self.conditions = tuple(conditions)
        self.columns = frozenset(self.schema.names) | {condition.column for condition in conditions}

    def may_pass(self, known: Mapping[str, Any]) -> bool:
        """Whether a row with these values in some of its columns can satisfy the conditions."""
        return all(test.column not in known or test.holds(known[test.column]) for test in self.conditions)

    def rows(self, rows: list[Row]) -> list[Row]:
        """The rows that satisfy the conditions."""
        if not self.conditions:
            return rows
        tests = [(self.layout.getter(condition.column), condition) for condition in self.conditions]
        return [row for row in rows if all(condition.holds(get(row)) for get, condition in tests)]

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as an Arrow batch of the columns that are needed."""
        return self.layout.batch(rows, self.schema)
