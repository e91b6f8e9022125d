"""Ranges of offsets and times. Readers skip batches and records outside these ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import compute

if TYPE_CHECKING:
    from kwire.records import Batch
    from kwire_inspect.rows import Condition

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """Inclusive ranges of offsets, and of times in microseconds since the epoch."""

    first_offset: int = LOWEST
    last_offset: int = HIGHEST
    first_time: int = LOWEST
    last_time: int = HIGHEST

    @property
    def timed(self) -> bool:
        """Whether records are selected by time. As in SQL, a selection by time excludes records without a time."""
        return self.first_time > LOWEST or self.last_time < HIGHEST

    def narrowed(self, conditions: Iterable[Condition]) -> Bounds:
        """Return these bounds, narrowed by all ``conditions`` on ``offset`` and ``time``."""
        bounds = asdict(self)
        for condition in conditions:
            first, last = f"first_{condition.column}", f"last_{condition.column}"
            if first in bounds and condition.test in _LIMITS and not condition.negated:
                least, most = _LIMITS[condition.test](condition.value)
                bounds[first], bounds[last] = max(bounds[first], least), min(bounds[last], most)
        return Bounds(**bounds)

    def skip(self, batch: Batch) -> bool:
        """Return whether the batch header shows that all records are out of bounds.

        Every format stores the largest offset and timestamp in the header, but not every format stores the smallest.
        """
        if batch.last_offset < self.first_offset or batch.max_timestamp * 1000 < self.first_time:
            return True
        return batch.magic == 2 and batch.base_offset > self.last_offset

    def within(self, offsets: pa.Array, times: pa.Array) -> pa.Array:
        """Return a boolean array that selects the records within the bounds. ``times`` are in milliseconds since the
        epoch, or null."""
        chosen = _between(offsets, self.first_offset, self.last_offset)
        if self.timed:
            # Compare whole milliseconds, because large timestamps overflow int64 microseconds.
            chosen = compute.and_(chosen, _between(times, -(-self.first_time // 1000), self.last_time // 1000))
        return chosen


def _between(values: pa.Array, first: int, last: int) -> pa.Array:
    return compute.and_(compute.greater_equal(values, first), compute.less_equal(values, last))


_LIMITS: dict[str, Callable[[Any], tuple[int, int]]] = {
    "=": lambda value: (value, value),
    ">": lambda value: (value + 1, HIGHEST),
    ">=": lambda value: (value, HIGHEST),
    "<": lambda value: (LOWEST, value - 1),
    "<=": lambda value: (LOWEST, value),
    "in": lambda values: (min(values), max(values)),
}
"""Functions by comparison operator. Each function returns the smallest and largest values that satisfy the
comparison.
"""
