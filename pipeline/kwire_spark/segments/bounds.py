"""What is asked for of a log, as far as it lets a reader pass over files, batches and records.

Takes Spark's filters, gives ``Bounds`` of offsets and times, and a judgement on topics and partitions. Nothing here
replaces a filter: Spark applies all of them again.
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
    """Offsets and times (microseconds since the epoch) from first to last, both included."""

    first_offset: int = LEAST
    last_offset: int = MOST
    first_time: int = LEAST
    last_time: int = MOST

    @property
    def timed(self) -> bool:
        """Whether records are chosen by time: those without one are then left out, as in SQL."""
        return self.first_time > LEAST or self.last_time < MOST

    def narrowed(self, filters: Iterable[Any]) -> Bounds:
        """The bounds within these that ``filters`` allow, which are Spark's and all of which have to hold."""
        bounds = self
        for one in filters:
            column: tuple[str, ...] = getattr(one, "attribute", ())
            if column == ("offset",):
                first, last = _limits(one, int)
                last_offset = min(bounds.last_offset, last)
                bounds = replace(bounds, first_offset=max(bounds.first_offset, first), last_offset=last_offset)
            elif column == ("time",):
                first, last = _limits(one, microseconds)
                last_time = min(bounds.last_time, last)
                bounds = replace(bounds, first_time=max(bounds.first_time, first), last_time=last_time)
        return bounds

    def skip(self, batch: Batch) -> bool:
        """Whether no record of a batch can be within, by its header. The least offset and time are not in headers of
        all formats, the largest are."""
        if batch.last_offset < self.first_offset or batch.max_timestamp * 1000 < self.first_time:
            return True
        return batch.magic == 2 and batch.base_offset > self.last_offset

    def within(self, offsets: npt.NDArray[np.int64], times: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which records are within, by their offsets and timestamps (milliseconds, -1 for none)."""
        chosen = (offsets >= self.first_offset) & (offsets <= self.last_offset)
        if self.timed:
            # In whole milliseconds: what has no place in int64 as microseconds is compared all the same.
            chosen &= (times >= -(-self.first_time // 1000)) & (times <= self.last_time // 1000) & (times != -1)
        return chosen


def allows(filters: Iterable[Any], facts: Mapping[str, object]) -> bool:
    """Whether rows with these values can pass: ``facts`` are columns that have one value in all of a file."""
    return all(_passes(one, facts) for one in filters)


def microseconds(time: datetime) -> int:
    """Since the epoch; a time without a zone is one of UTC, the session's zone."""
    return ((time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH) // timedelta(microseconds=1)


def _limits(one: Any, number: Callable[[Any], int]) -> tuple[int, int]:
    kind = type(one).__name__
    value = getattr(one, "value", None)
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


def _passes(one: Any, facts: Mapping[str, object]) -> bool:
    kind = type(one).__name__
    if kind == "Not":
        # What cannot be judged passes, and so does its contrary; null passes neither.
        return _judged(one.child, facts) is not True
    return _judged(one, facts) is not False


def _judged(one: Any, facts: Mapping[str, object]) -> bool | None:
    """Whether a filter holds; ``None`` if that is not known, or if the value is null."""
    column: tuple[str, ...] = getattr(one, "attribute", ())
    test = _TESTS.get(type(one).__name__)
    if test is None or len(column) != 1 or facts.get(column[0]) is None:
        return None
    return test(facts[column[0]], getattr(one, "value", None))


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
