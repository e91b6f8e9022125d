"""What a test may cost: how many examples Hypothesis tries, and how much memory something takes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")


def examples(share: float) -> settings:
    """Decorates a property whose examples cost more than usual, or less: ``share`` of the profile's examples.

    The profile is the one that ``conftest.py`` loaded.
    """
    assert settings.default is not None
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


def one_in(number: int, cases: Sequence[T], first: int = 0) -> Sequence[T]:
    """Every so many of the cases, from that one on; in ``make test-deep`` all of them."""
    return cases if settings.get_current_profile_name() == "deep" else cases[first % number :: number]


def peak(work: Callable[[], object]) -> int:
    """The most memory that Python allocated at a time during ``work``, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
