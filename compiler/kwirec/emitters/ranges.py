"""Sets of versions → the conditions and runs that emitted code tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

K = TypeVar("K")

ALWAYS, NEVER = "always", "never"


def condition(live: Iterable[int], among: Sequence[int]) -> str:
    """The test of ``version`` that tells ``live`` from the rest of ``among``, or :data:`ALWAYS` or :data:`NEVER`.

    ``among`` is a run of versions; so is what of ``live`` lies in it.
    """
    found = [version for version in among if version in set(live)]
    if not found:
        return NEVER
    low, high = found[0], found[-1]
    if (low, high) == (among[0], among[-1]):
        return ALWAYS
    if low == among[0]:
        return f"version <= {high}"
    if high == among[-1]:
        return f"version >= {low}"
    return f"version == {low}" if low == high else f"{low} <= version <= {high}"


def runs(versions: Sequence[int], key: Callable[[int], K]) -> Iterator[tuple[K, list[int]]]:
    """``versions`` cut into runs of neighbours with the same ``key``."""
    current: list[int] = []
    for version in versions:
        if current and (key(version) != key(current[-1]) or version != current[-1] + 1):
            yield key(current[0]), current
            current = []
        current.append(version)
    if current:
        yield key(current[0]), current
