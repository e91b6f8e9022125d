"""Filters of Spark as conditions on rows, for readers that skip work where filters allow it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
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

from kwire_spark.columns import EPOCH
from kwire_spark.projection import Condition

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
    """The filters that can be judged by the value of a column."""
    made = [condition(one, schema) for one in filters]
    return [one for one in made if one is not None]


def condition(given: Filter, schema: pa.Schema) -> Condition | None:
    """A Spark filter as a condition on a row; ``None`` if only Spark can evaluate it."""
    if isinstance(given, Not):
        negation = condition(given.child, schema)
        if negation is None or isinstance(given.child, EqualNullSafe):  # null satisfies its negation
            return None
        return replace(negation, negated=not negation.negated)
    test = _TESTS.get(type(given))
    path: tuple[str, ...] = getattr(given, "attribute", ())
    if test is None or len(path) != 1 or path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    if test == "null":
        return Condition(path[0], test, negated=isinstance(given, IsNotNull)) if _plain(kind) else None
    value: Any = getattr(given, "value", None)
    values = tuple(_value(one, kind) for one in (value if test == "in" else (value,)) if one is not None)
    if not values or None in values:
        return None
    return Condition(path[0], test, values if test == "in" else values[0])


def _plain(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_timestamp(kind))


def _value(value: Any, kind: pa.DataType) -> Any:
    """A value to compare with those of a column; ``None`` if that is better left to Spark."""
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else None
    if pa.types.is_integer(kind):
        return value if type(value) is int else None
    if pa.types.is_timestamp(kind) and isinstance(value, datetime) and value.tzinfo is not None:
        return (value - EPOCH) // timedelta(microseconds=1)
    return None
