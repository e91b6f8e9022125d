"""What was compared, how often, and what was not the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """``counts`` of things that are the same, ``differences`` one line each."""

    counts: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def same(self, what: str, number: int = 1) -> None:
        self.counts[what] += number

    def differ(self, what: str, where: object, how: object) -> None:
        self.differences.append(f"{what}, {where}: {how}")

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.differences += other.differences
