"""Version ranges, which are used for all computations with versions.

A range in a definition file is written as ``3``, ``0-4``, ``2+`` or ``none``. Versions are non-negative int16
numbers. An open range ends at :data:`MAX_VERSION`. Ranges are immutable, so all operations return new ranges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

MAX_VERSION = 0x7FFF
"""The largest version number, because versions are int16 on the wire."""

_N = "[0-9]{1,99}"  # int() rejects thousands of digits, and \d would accept digits of other scripts
_FORM = re.compile(rf"(?P<low>{_N})(-(?P<high>{_N})|(?P<open>\+))?")

RELEASE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
"""Matches a Kafka release number such as ``3.9.1``."""


@dataclass(frozen=True)
class VersionRange:
    """The versions from ``low`` to ``high`` inclusive. The range is empty if ``low > high``.

    An inverted range such as ``5-3`` keeps its bounds, so that diagnostics can show them. Otherwise, it behaves like
    an empty range, as in Kafka.
    """

    low: int
    high: int

    @staticmethod
    @lru_cache(maxsize=1024)
    def parse(text: str) -> VersionRange:
        """Return the range for a text in one of the four notations, or raise ``ValueError`` with the reason."""
        text = text.strip()
        if text == "none":
            return NONE
        form = _FORM.fullmatch(text)
        if form is None:
            raise ValueError("expected `N`, `N-M`, `N+` or `none`")
        low = int(form["low"])
        high = MAX_VERSION if form["open"] else int(form["high"] or low)
        if max(low, high) > MAX_VERSION:
            raise ValueError(f"versions are int16, so the largest is {MAX_VERSION}")
        return VersionRange(low, high)

    @staticmethod
    def covering(versions: Iterable[int], *, open_at: int | None = None) -> VersionRange:
        """Return the range that contains exactly ``versions``. Raises ``ValueError`` if the versions have gaps.

        A range that ends at the version ``open_at`` becomes open-ended (``N+``).
        """
        match VersionRange.runs(versions):
            case []:
                return NONE
            case [run]:
                return VersionRange(run.low, MAX_VERSION if run.high == open_at else run.high)
            case runs:
                raise ValueError(f"versions {', '.join(map(str, runs))} have gaps")

    @staticmethod
    def runs(versions: Iterable[int]) -> list[VersionRange]:
        """Return the shortest list of ranges that covers exactly ``versions``: ``0-1, 3`` for ``{0, 1, 3}``."""
        return [VersionRange(run[0], run[-1]) for run in runs_by(sorted(set(versions)), lambda version: None)]

    @property
    def is_open(self) -> bool:
        """Whether the range is open-ended, such as ``N+``."""
        return self.high == MAX_VERSION and bool(self)

    @property
    def is_inverted(self) -> bool:
        """Whether the bounds were written in the wrong order, as in ``5-3``."""
        return not self and self != NONE

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.low, self.high + 1))

    def __len__(self) -> int:
        return max(0, self.high - self.low + 1)

    def __bool__(self) -> bool:
        return self.low <= self.high

    def covers(self, other: VersionRange) -> bool:
        """Return whether this range contains all versions of ``other``. Every range covers an empty range."""
        return not other or (self.low <= other.low and other.high <= self.high)

    def intersect(self, other: VersionRange) -> VersionRange:
        low, high = max(self.low, other.low), min(self.high, other.high)
        return VersionRange(low, high) if low <= high else NONE

    def subtract(self, other: VersionRange) -> tuple[VersionRange, ...]:
        """Return the versions of this range that are not in ``other``, as up to two ranges."""
        shared = self.intersect(other)
        if not shared:
            return (self,) if self else ()
        rest = (VersionRange(self.low, shared.low - 1), VersionRange(shared.high + 1, self.high))
        return tuple(part for part in rest if part)

    def text_within(self, valid: VersionRange) -> str:
        """Return the range as text, open-ended if it ends with the last ``valid`` version."""
        return f"{self.low}+" if self.high == valid.high else str(self)

    def __str__(self) -> str:
        if self == NONE:
            return "none"
        if self.high == MAX_VERSION:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


NONE = VersionRange(0, -1)
"""The empty range, written ``none``."""

ALL = VersionRange(0, MAX_VERSION)
"""The range of all versions, written ``0+``."""


_NEARLY = re.compile(rf"v?(?P<low>{_N})(?:\+|[ ]*-[ ]*v?(?P<high>{_N}))")


def nearly_range(text: str) -> VersionRange | None:
    """Return the range that a text means, allowing spaces and the form of the other notation, or ``None``."""
    if (match := _NEARLY.fullmatch(text.strip())) is None:
        return None
    low = int(match["low"])
    high = MAX_VERSION if match["high"] is None else int(match["high"])
    return VersionRange(low, high) if low <= high <= MAX_VERSION else None


def runs_text(versions: Iterable[int]) -> str:
    """Return versions as ranges, such as ``0-3, 5``, or ``""`` if there are none."""
    return ", ".join(map(str, VersionRange.runs(versions)))


def in_words(versions: Iterable[int]) -> str:
    """Return versions in words: ``version 3``, ``versions 1+``, ``versions 0-3 and 5``, ``no versions``."""
    runs = [versions] if isinstance(versions, VersionRange) else VersionRange.runs(versions)
    if runs in ([], [NONE]):
        return "no versions"
    *first, last = map(str, runs)
    is_one = len(runs) == 1 and len(runs[0]) == 1
    return f"version{'' if is_one else 's'} {', '.join(first)}{' and ' if first else ''}{last}"


def runs_by(versions: Sequence[int], key: Callable[[int], object]) -> Iterator[tuple[int, ...]]:
    """Yield runs of consecutive ``versions`` with the same ``key``."""
    # Consecutive versions have the same distance from their index.
    for _, run in groupby(enumerate(versions), lambda item: (item[1] - item[0], key(item[1]))):
        yield tuple(version for _, version in run)
