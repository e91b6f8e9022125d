"""Times many calls in turn, and formats tables."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K")

SLICE = 0.01
"""Seconds for which a call is repeated in each round."""


def interleaved(calls: Mapping[K, Callable[[], object]], rounds: int) -> dict[K, float]:
    """Return the minimum processor seconds per call. The calls take turns in each round, so that slow moments affect
    all calls alike.

    Every other round has the reverse order, because a call is slower after one that creates much garbage.
    """
    repeats = {key: _repeats(call) for key, call in calls.items()}
    best = dict.fromkeys(calls, float("inf"))
    gc.collect()
    gc.freeze()
    for number in range(rounds):
        order = list(calls.items())
        for key, call in reversed(order) if number % 2 else order:
            gc.collect(1)
            best[key] = min(best[key], _time(call, repeats[key]))
    gc.unfreeze()
    return best


def _repeats(call: Callable[[], object]) -> int:
    """Warm up the call, and return how often the call fits into :data:`SLICE`."""
    _time(call, 3)
    return max(1, int(SLICE / min(_time(call, 1) for _ in range(5))))


def _time(call: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose columns are as wide as their longest entries. The first column is left-aligned, and all
    other columns are right-aligned.
    """
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        cells = (
            text.ljust(width) if column == 0 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(header), "  ".join("-" * width for width in widths), *map(line, rows)])


def duration(seconds: float) -> str:
    """Return a number of seconds as text with a suitable unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
