"""What an end-to-end run did: counted by the tests, printed at its end."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

Api = tuple[int, int]
"""Api key and version."""


@dataclass
class Tally:
    exercised: defaultdict[str, set[Api]] = field(default_factory=lambda: defaultdict(set))
    """By listener: what was asked and answered."""

    advertised: dict[str, set[Api]] = field(default_factory=dict)
    """By listener: what its ApiVersions response lists, as far as the broker accepts it."""

    exchanges: int = 0
    produced: int = 0
    read_back: int = 0
    internal: Counter[str] = field(default_factory=Counter)
    """Records decoded, by internal topic."""

    undecodable: int = 0
    notes: list[str] = field(default_factory=list)
    """Further lines for the end of the run."""

    started: float = field(default_factory=time.monotonic)

    def lines(self) -> Iterator[str]:
        for listener, apis in sorted(self.advertised.items()):
            done = self.exercised[listener]
            keys, listed = len({key for key, _ in done}), len(apis & done)
            yield f"{listener}: {keys} APIs, {len(done)} versions of them ({listed} of {len(apis)} advertised)"
        yield f"{self.exchanges} exchanges, {self.undecodable} undecodable frames"
        yield f"{self.produced} records produced, {self.read_back} read back"
        for topic, count in sorted(self.internal.items()):
            yield f"{topic}: {count} records decoded"
        yield from self.notes
        yield f"{time.monotonic() - self.started:.0f} seconds"
