"""What the readers of both formats give: where in a window the packets are; and what they report."""

from __future__ import annotations

from kwire_spark.capture.packets import Link
from kwire_spark.capture.pieces import Broken

Record = tuple[float, int, int, int, int, Link]
"""A packet: its time, where in the buffer its bytes begin and stop, how many it had on the wire, where its record
begins in the buffer, its link."""

LARGEST = 1 << 18
"""Bytes that a packet may have, unless the file itself says that it has larger ones: libpcap's own limit."""
BELIEVED = 1 << 24
"""The largest packets that a file can announce."""

LATEST = 1 << 33
"""Seconds since the epoch, in 2242: packets are not believed to be later, nor to be older than the epoch. Spark and
pandas have no such times, and a stream takes the latest for the present."""


def limit_of(snaplen: int) -> int:
    """How large the packets of a file may be that says ``snaplen``; 0 means without limit."""
    return max(LARGEST, snaplen if snaplen <= BELIEVED else 0)


class Report:
    """What is wrong with a file: each kind of thing once, where it is first met."""

    __slots__ = ("_known", "_source", "new")

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: set[str] = set()
        self.new: list[Broken] = []

    def add(self, position: int, reason: str, kind: str = "") -> None:
        """``kind`` tells what is the same although it is told in other words."""
        if (kind or reason) not in self._known:
            self._known.add(kind or reason)
            self.new.append(Broken(self._source, position, reason))

    def take(self) -> list[Broken]:
        taken, self.new = self.new, []
        return taken
