"""Ranges of offsets and times that let a reader skip batches and records."""

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
    """Ranges of offsets and times (microseconds since the epoch), both ends inclusive."""

    first_offset: int = LOWEST
    last_offset: int = HIGHEST
    first_time: int = LOWEST
    last_time: int = HIGHEST

    @property
    def timed(self) -> bool:
        """Whether records are selected by time. If so, records without a time are left out, as in SQL."""
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
        """Return whether the header of a batch shows that all its records are out of bounds.

        All formats store the largest offset and time in the header. Some formats do not store the smallest.
        """
        if batch.last_offset < self.first_offset or batch.max_timestamp * 1000 < self.first_time:
            return True
        return batch.magic == 2 and batch.base_offset > self.last_offset

    def within(self, offsets: pa.Array, times: pa.Array) -> pa.Array:
        """Return which records are within the bounds, by their offsets and timestamps (milliseconds, null for
        none)."""
        chosen = _between(offsets, self.first_offset, self.last_offset)
        if self.timed:
            # Compares whole milliseconds, so that times too large for int64 microseconds work too.
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
"""Smallest and largest value that satisfies each test."""
