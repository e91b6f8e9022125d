"""Converts Spark's filters to conditions on rows, so that readers can skip work."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from kwire_inspect.rows import Condition
from kwire_inspect.schemas import EPOCH

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_TESTS: dict[type[Filter], str] = {
    EqualTo: "=",
    EqualNullSafe: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
    StringStartsWith: "starts with",
    StringEndsWith: "ends with",
    StringContains: "contains",
    IsNull: "null",
    IsNotNull: "null",
}


def conditions(filters: Iterable[Filter], schema: pa.Schema) -> list[Condition]:
    """Return conditions for the filters that depend only on the value of one column."""
    return [judged for pushed in filters if (judged := condition(pushed, schema)) is not None]


def condition(pushed: Filter, schema: pa.Schema) -> Condition | None:
    """Return a Spark filter as a condition on rows, or ``None`` if only Spark can evaluate it."""
    if isinstance(pushed, Not):
        positive = condition(pushed.child, schema)
        if positive is None or isinstance(pushed.child, EqualNullSafe):  # null would satisfy the negated condition
            return None
        return positive._replace(negated=not positive.negated)
    test = _TESTS.get(type(pushed))
    path: tuple[str, ...] = getattr(pushed, "attribute", ())
    if test is None or len(path) != 1 or path[0] not in schema.names:
        return None
    column = path[0]
    kind = schema.field(column).type
    if test == "null":
        return Condition(column, test, negated=isinstance(pushed, IsNotNull)) if _plain(kind) else None
    value: Any = getattr(pushed, "value", None)
    values = tuple(_value(item, kind) for item in (value if test == "in" else (value,)) if item is not None)
    if not values or None in values:
        return None
    return Condition(column, test, values if test == "in" else values[0])


def _plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_timestamp(kind))


def _value(value: Any, kind: pa.DataType) -> Any:
    """Return the value to compare a column with, or ``None`` if Spark must compare them."""
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_integer(kind):
        return value if type(value) is int else None
    if pa.types.is_timestamp(kind) and isinstance(value, datetime) and value.tzinfo is not None:
        return (value - EPOCH) // timedelta(microseconds=1)
    return None
