"""Which columns and rows of a table are needed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire_inspect.row_layout import LAYOUTS, Row
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry

_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, values: value in values,
    "starts with": str.startswith,
    "ends with": str.endswith,
    "contains": operator.contains,
    "null": lambda value, _: False,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of the values of ``column``, or its negation. Times are in microseconds.

    ``test`` is ``= < <= > >= in``, or for strings ``starts with``, ``ends with``, ``contains``, with ``value``; or
    ``null`` without. As in SQL, null satisfies only the test ``null``, and no negation.
    """

    column: str
    test: str
    value: Any = None
    negated: bool = False

    def holds(self, value: Any) -> bool:
        if value is None:
            return self.test == "null" and not self.negated
        return _TESTS[self.test](value, self.value) != self.negated


def may_pass(conditions: Iterable[Condition], known: Mapping[str, Any]) -> bool:
    """Whether rows with these values in some of their columns can satisfy the conditions. Tests for null are not
    judged: a row that reports broken input has null in most columns."""
    return all(
        test.test == "null" or test.column not in known or test.holds(known[test.column]) for test in conditions
    )


class Projection:
    """The columns of ``schema`` (by default all) in the rows of a table that satisfy all ``conditions``.

    ``table`` is the name of a layout in ``kwire_inspect.row_layout``. ``columns`` are those that have to be computed:
    of the schema, and of the conditions, which are on scalar columns. ``protocol`` has the messages, to decode them.
    """

    __slots__ = ("columns", "conditions", "layout", "protocol", "schema")

    def __init__(
        self,
        table: str,
        schema: pa.Schema | None = None,
        conditions: Sequence[Condition] = (),
        protocol: MessageRegistry = PROTOCOL,
    ) -> None:
        self.protocol = protocol
        self.layout = LAYOUTS[table]
        self.schema: pa.Schema = self.layout.full if schema is None else schema
        self.conditions = tuple(conditions)
        self.columns = frozenset(self.schema.names) | {condition.column for condition in conditions}

    def rows(self, rows: list[Row]) -> list[Row]:
        """The rows that satisfy the conditions."""
        if not self.conditions:
            return rows
        tests = [(self.layout.getter(condition.column), condition) for condition in self.conditions]
        return [row for row in rows if all(condition.holds(get(row)) for get, condition in tests)]

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        """Rows as an Arrow batch of the columns that are needed."""
        return self.layout.batch(rows, self.schema)
