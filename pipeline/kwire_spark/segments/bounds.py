"""The parts of a query's filters that let a reader skip files, batches and records.

Takes Spark's filters; returns ``Bounds`` of offsets and times, and whether a topic or partition can match. Nothing
here replaces a filter: Spark applies all of them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kwire_spark.columns import EPOCH

if TYPE_CHECKING:
    from kwire.records import Batch

LEAST, MOST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Ranges of offsets and times (microseconds since the epoch), both ends inclusive."""

    first_offset: int = LEAST
    last_offset: int = MOST
    first_time: int = LEAST
    last_time: int = MOST

    @property
    def timed(self) -> bool:
        """Whether records are selected by time; if so, records without a time are left out, as in SQL."""
        return self.first_time > LEAST or self.last_time < MOST

    def narrowed(self, filters: Iterable[Any]) -> Bounds:
        """These bounds, narrowed by Spark's ``filters``, all of which must be satisfied."""
        bounds = self
        for condition in filters:
            column: tuple[str, ...] = getattr(condition, "attribute", ())
            if column == ("offset",):
                first, last = _limits(condition, int)
                last_offset = min(bounds.last_offset, last)
                bounds = replace(bounds, first_offset=max(bounds.first_offset, first), last_offset=last_offset)
            elif column == ("time",):
                first, last = _limits(condition, microseconds)
                last_time = min(bounds.last_time, last)
                bounds = replace(bounds, first_time=max(bounds.first_time, first), last_time=last_time)
        return bounds

    def skip(self, batch: Batch) -> bool:
        """Whether its header shows that no record of a batch is within the bounds. All formats store the largest
        offset and time in the header, but not all store the smallest."""
        if batch.last_offset < self.first_offset or batch.max_timestamp * 1000 < self.first_time:
            return True
        return batch.magic == 2 and batch.base_offset > self.last_offset

    def within(self, offsets: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which records are within the bounds, given their offsets and timestamps (milliseconds, -1 for none)."""
        chosen = (offsets >= self.first_offset) & (offsets <= self.last_offset)
        if self.timed:
            # Compares whole milliseconds, so that times too large for int64 microseconds work too.
            chosen &= (times >= -(-self.first_time // 1000)) & (times <= self.last_time // 1000) & (times != -1)
        return chosen


def allows(filters: Iterable[Any], facts: Mapping[str, object]) -> bool:
    """Whether rows with these values can pass the filters: ``facts`` are columns with the same value in a whole
    file."""
    return all(_passes(condition, facts) for condition in filters)


def microseconds(time: datetime) -> int:
    """Microseconds since the epoch; a time without a zone is in UTC, the time zone of the session."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _limits(condition: Any, number: Callable[[Any], int]) -> tuple[int, int]:
    kind = type(condition).__name__
    value = getattr(condition, "value", None)
    if value is None:
        return LEAST, MOST
    if kind == "In":
        values = [number(each) for each in value if each is not None]
        return (min(values), max(values)) if values else (LEAST, MOST)
    limit = _LIMITS.get(kind)
    return limit(number(value)) if limit else (LEAST, MOST)


_LIMITS: dict[str, Callable[[int], tuple[int, int]]] = {
    "EqualTo": lambda value: (value, value),
    "EqualNullSafe": lambda value: (value, value),
    "GreaterThan": lambda value: (value + 1, MOST),
    "GreaterThanOrEqual": lambda value: (value, MOST),
    "LessThan": lambda value: (LEAST, value - 1),
    "LessThanOrEqual": lambda value: (LEAST, value),
}


def _passes(condition: Any, facts: Mapping[str, object]) -> bool:
    kind = type(condition).__name__
    if kind == "Not":
        # If a filter cannot be evaluated, both it and its negation let the row pass; null passes neither.
        return _judged(condition.child, facts) is not True
    return _judged(condition, facts) is not False


def _judged(condition: Any, facts: Mapping[str, object]) -> bool | None:
    """Whether a filter is satisfied; ``None`` if that is unknown or the value is null."""
    column: tuple[str, ...] = getattr(condition, "attribute", ())
    test = _TESTS.get(type(condition).__name__)
    if test is None or len(column) != 1 or facts.get(column[0]) is None:
        return None
    return test(facts[column[0]], getattr(condition, "value", None))


_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "EqualTo": lambda fact, value: bool(fact == value),
    "EqualNullSafe": lambda fact, value: bool(fact == value),
    "GreaterThan": lambda fact, value: bool(fact > value),
    "GreaterThanOrEqual": lambda fact, value: bool(fact >= value),
    "LessThan": lambda fact, value: bool(fact < value),
    "LessThanOrEqual": lambda fact, value: bool(fact <= value),
    "In": lambda fact, value: fact in value,
    "IsNull": lambda fact, value: False,
    "StringStartsWith": lambda fact, value: str(fact).startswith(value),
    "StringEndsWith": lambda fact, value: str(fact).endswith(value),
    "StringContains": lambda fact, value: value in str(fact),
}
