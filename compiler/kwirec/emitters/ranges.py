"""Sets of versions → the conditions that emitted code tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ALWAYS, NEVER = "always", "never"


def condition(live: Iterable[int], among: Sequence[int]) -> str:
    """The test of ``version`` that selects ``live`` from ``among``, or :data:`ALWAYS` or :data:`NEVER`.

    ``among`` is a run of versions, and so are those of ``live`` that lie in it.
    """
    selected = set(live)
    found = [version for version in among if version in selected]
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
