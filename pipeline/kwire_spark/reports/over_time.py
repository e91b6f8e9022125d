"""Counting over time: how long a step has to be for a chart of some span, and what was counted in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from kwire_spark.reports import charts
from kwire_spark.reports.report import Chart

if TYPE_CHECKING:
    from pyspark.sql import Column

MAX_ROWS = 60
"""Steps in a chart, at most."""
USUAL = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 604800, 2592000)
)
OTHERS = "others"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Steps:
    """Time cut into equal steps, which are numbered from 1970 on."""

    length: timedelta

    @classmethod
    def of(cls, first: datetime, last: datetime) -> Steps:
        """The shortest usual steps of which at most ``MAX_ROWS`` are needed from ``first`` to ``last``."""
        span = last - first
        longest = timedelta(days=span.days // (MAX_ROWS - 1) + 1)
        return cls(next((length for length in USUAL if span < length * (MAX_ROWS - 1)), longest))

    def number(self, time: str) -> Column:
        """The number of the step in which a time falls, from the name of its column."""
        from pyspark.sql import functions as F

        return F.floor(F.unix_micros(time) / (self.length.total_seconds() * 1_000_000)).cast("long")

    def start(self, number: int) -> datetime:
        return EPOCH + number * self.length

    def __str__(self) -> str:
        seconds = int(self.length.total_seconds())
        sizes = (("d", 86400), ("h", 3600), ("min", 60))
        return next((f"{seconds // size} {unit}" for unit, size in sizes if seconds % size == 0), f"{seconds} s")


Count = tuple[int | None, str, str, int]
"""Number of the step, what was counted, which kind of input saw it, how often."""


def counted_over_time(
    name: str, title: str, counts: Iterable[Count], steps: Steps, *, unit: str, note: str = ""
) -> Chart | None:
    """A chart of ``counts``; ``None`` if there are none. The rare share a colour.

    What several kinds of input saw counts once, as often as the one that saw most of it.
    """
    most: dict[tuple[int, str], int] = {}
    for at, what, _, count in counts:
        if at is not None:
            most[at, what] = max(count, most.get((at, what), 0))
    if not most:
        return None
    totals: Counter[str] = Counter()
    for (_, what), count in most.items():
        totals[what] += count
    ranked = sorted(totals, key=lambda what: (-totals[what], what))
    named = ranked if len(ranked) <= charts.PALETTE else [*ranked[: charts.PALETTE - 1], OTHERS]
    first, last = min(at for at, _ in most), max(at for at, _ in most)
    series = {what: [0] * (last - first + 1) for what in named}
    for (at, what), count in most.items():
        series[what if what in series else OTHERS][at - first] += count
    starts = [steps.start(number) for number in range(first, last + 1)]
    return charts.over_time(name, title, starts, steps.length, series, unit=f"{unit} in {steps}", note=note)
