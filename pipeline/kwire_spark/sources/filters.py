"""Filters of Spark as conditions on rows, for readers that skip work where filters allow it.

Spark applies all filters again. A reader with ``pushFilters`` is used only with the option ``pushdown``: Spark 4.3
keeps pushed filters with the DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
)

from kwire_spark.columns import EPOCH
from kwire_spark.projection import Condition

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_TESTS: dict[type[Filter], str] = {
    EqualTo: "=",
    LessThan: "<",
    LessThanOrEqual: "<=",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    In: "in",
    IsNull: "null",
    IsNotNull: "not null",
}


class Reader(DataSourceReader):
    """A reader that can leave out work for rows that filters exclude."""

    def push(self, filters: list[Filter]) -> None:
        raise NotImplementedError

    def pushing(self, asked: bool) -> DataSourceReader:
        """This reader, or if ``asked`` for, one to which Spark pushes the filters of a query."""
        return PushingReader(self) if asked else self


class PushingReader(DataSourceReader):
    """Passes filters on to a reader; Spark applies all of them again."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self.reader.push(filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        return self.reader.partitions()

    def read(self, partition: InputPartition) -> Any:
        return self.reader.read(partition)


def conditions(filters: Iterable[Filter], schema: pa.Schema) -> list[Condition]:
    """The filters that can be judged by the value of a column."""
    made = [condition(one, schema) for one in filters]
    return [one for one in made if one is not None]


def condition(given: Filter, schema: pa.Schema) -> Condition | None:
    """A Spark filter as a condition on a row; ``None`` if only Spark can evaluate it."""
    test = _TESTS.get(type(given))
    path: tuple[str, ...] = getattr(given, "attribute", ())
    if test is None or len(path) != 1 or path[0] not in schema.names:
        return None
    kind = schema.field(path[0]).type
    if test in ("null", "not null"):
        return Condition(path[0], test) if _plain(kind) else None
    values = [_value(value, kind) for value in (given.value if test == "in" else [given.value])]  # type: ignore[attr-defined]
    if any(value is None for value in values):
        return None
    return Condition(path[0], test, tuple(values) if test == "in" else values[0])


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
