"""The files of a capture to pieces of its connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterator, Sequence

from kwire_spark.capture.connections import Connections
from kwire_spark.capture.files import ALWAYS, NEVER, file_packets, first_time
from kwire_spark.capture.packets import Packet
from kwire_spark.capture.pieces import Broken, Piece


def read_pieces(
    files: Sequence[str],
    *,
    share: tuple[int, int] = (0, 1),
    ports: Collection[int] = (),
    start: float | None = None,
    end: float | None = None,
    most: int = 100_000,
) -> Iterator[Piece | Broken]:
    """All files together are one capture: they are read in the order of their first packets, side by side where they
    overlap in time.

    ``share`` (i, n) gives the connections whose hash is i of n; the n shares together are the whole, and what is
    wrong with files is in the first. ``ports`` are those of servers: only connections to them are given. Without,
    whoever sent the SYN is the client; if none was seen, the server is whose port is usual for Kafka, or lower.
    ``start`` and ``end``, in seconds since the epoch, leave out the packets before and from then on. At most ``most``
    connections are kept in memory. Nothing that is in a file raises, nor does a file that cannot be read.
    """
    connections = Connections(share, ports, most)
    first = ALWAYS if start is None else start
    last = NEVER if end is None else end
    for one in capture_packets(files, connections.passed, first, last):
        if isinstance(one, Packet):
            yield from connections.add(one)
        elif share[0] == 0:
            yield one
    yield from connections.close()


def capture_packets(
    files: Sequence[str], passed: Container[bytes] = (), start: float = ALWAYS, end: float = NEVER
) -> Iterator[Packet | Broken]:
    """The TCP packets of all files by time, as ``file_packets`` gives them for one."""
    waiting = deque(sorted((first_time(path), path) for path in files))
    readers: list[_Reader] = []
    while readers or waiting:
        while waiting and (not readers or waiting[0][0] <= min(one.time for one in readers)):
            readers.append(_Reader(file_packets(waiting.popleft()[1], passed, start, end)))
        reader = min(readers, key=lambda one: one.time)
        others = [one.time for one in readers if one is not reader]
        yield from reader.until(min([*others, waiting[0][0] if waiting else NEVER]))
        readers = [one for one in readers if not one.ended]


class _Reader:
    """The packets of a file, of which the next is known."""

    def __init__(self, packets: Iterator[Packet | Broken]) -> None:
        self._packets = packets
        self._next: Packet | Broken | None = next(packets, None)
        self.time = self._next.time if isinstance(self._next, Packet) else ALWAYS

    @property
    def ended(self) -> bool:
        return self._next is None

    def until(self, time: float) -> Iterator[Packet | Broken]:
        """At least one, and all before ``time``."""
        if self._next is not None:
            yield self._next
        if time == NEVER:
            yield from self._packets
        for one in self._packets:
            if isinstance(one, Packet) and one.time > time:
                self._next, self.time = one, one.time
                return
            yield one
        self._next = None
