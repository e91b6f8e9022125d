"""Charts over time. Chooses the step length for a time span, and charts the counts in each step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from kwire_inspect.reports import charts
from kwire_inspect.reports.report import Chart
from kwire_inspect.schemas import EPOCH

MAX_ROWS = 60
"""Maximum number of steps in a chart."""
USUAL = tuple(
    timedelta(seconds=seconds)
    for seconds in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 604800, 2592000)
)
OTHERS = "others"


@dataclass(frozen=True, slots=True)
class Steps:
    """Time intervals of equal length, numbered from 1970."""

    length: timedelta

    @classmethod
    def of(cls, first: datetime, last: datetime) -> Steps:
        """Return steps of the shortest usual length for which at most ``MAX_ROWS`` steps cover ``first`` to
        ``last``."""
        span = last - first
        longest = timedelta(days=span.days // (MAX_ROWS - 1) + 1)
        return cls(next((length for length in USUAL if span < length * (MAX_ROWS - 1)), longest))

    def number(self, time: str) -> str:
        """Return an SQL expression for the number of the step that contains the time in the column ``time``."""
        return f"CAST(floor(unix_micros({time}) / {self.length.total_seconds()}e6) AS BIGINT)"

    def start(self, number: int) -> datetime:
        return EPOCH + number * self.length

    def __str__(self) -> str:
        seconds = int(self.length.total_seconds())
        sizes = (("d", 86400), ("h", 3600), ("min", 60))
        return next((f"{seconds // size} {unit}" for unit, size in sizes if seconds % size == 0), f"{seconds} s")


Count = tuple[int | None, str, str, int]
"""Step number, name, input type, and count."""


def counted_over_time(name: str, title: str, counts: Iterable[Count], steps: Steps, *, unit: str) -> Chart | None:
    """Return a chart of ``counts``, or ``None`` if there are no counts. Rare names share the series ``others``.
    Several types of input may contain the same requests, so only the highest count for each step and name is used.
    """
    most: dict[tuple[int, str], int] = {}
    for step, what, _, count in counts:
        if step is not None:
            most[step, what] = max(count, most.get((step, what), 0))
    if not most:
        return None
    totals: Counter[str] = Counter()
    for (_, what), count in most.items():
        totals[what] += count
    ranked = sorted(totals, key=lambda what: (-totals[what], what))
    named = ranked if len(ranked) <= charts.PALETTE else [*ranked[: charts.PALETTE - 1], OTHERS]
    first, last = min(step for step, _ in most), max(step for step, _ in most)
    series = {what: [0] * (last - first + 1) for what in named}
    for (step, what), count in most.items():
        series[what if what in series else OTHERS][step - first] += count
    starts = [steps.start(number) for number in range(first, last + 1)]
    return Chart(name, title, charts.over_time(starts, steps.length, series, unit=f"{unit} in {steps}"))
