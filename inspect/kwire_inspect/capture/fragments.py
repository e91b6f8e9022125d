"""Fragments of IP packets, joined in bounded memory [RFC 791, RFC 8200 section 4.5, RFC 815]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kwire_inspect.capture.walk import Walk

MAX_BYTES = 16 << 20
MAX_DATAGRAMS = 1024
MAX_RANGES = 64
"""How many parts of a packet that do not touch may wait: fragments arrive in order, or nearly."""
PATIENCE = 0.5
"""For how many seconds the fragments of a packet wait for the others: not as long as packets wait for this one."""
MAX_PACKET = 65_535
"""Bytes in the fragments of a packet."""


@dataclass(frozen=True, slots=True)
class Part:
    """A fragment of the packet with this ``number``: ``size`` bytes from ``at`` on, of which ``data`` was captured;
    ``last`` says that no more follow."""

    number: int
    at: int
    size: int
    data: bytes
    last: bool


Key = tuple[bytes, int, int]
"""The two addresses, the protocol, and the number of the packet."""


@dataclass(slots=True, eq=False)
class Datagram:
    """The fragments of one packet, in a number of ``tunnels``; it is the last of ``joins`` such packets, one in the
    other. The first fragment came at ``position``.

    ``size`` is that of the packet, 0 until its last fragment is there; ``ranges`` are the parts of ``data`` that are
    there. ``differs`` says whether fragments contradict each other: where they do, the first holds. ``repeated`` says
    that a packet with the same key was whole shortly before, as when a capture sees each packet twice.
    """

    key: Key
    position: int
    started: float
    tunnels: int
    joins: int
    repeated: bool
    data: bytearray = field(default_factory=bytearray)
    ranges: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0
    differs: bool = False

    @property
    def whole(self) -> bool:
        return self.size > 0 and self.ranges == [(0, self.size)]

    @property
    def beginning(self) -> bytes:
        """The bytes before the first that is missing."""
        return bytes(self.data[: self.ranges[0][1]]) if self.ranges and not self.ranges[0][0] else b""

    @property
    def known_size(self) -> int:
        """Its size, as far as it is known."""
        return max(self.size, len(self.data))

    def walk(self) -> Walk:
        """The bytes before the first that is missing, as what follows IP."""
        ends, protocol, _ = self.key
        data = self.beginning
        return Walk(data, 0, len(data), self.known_size, self.tunnels, ends, protocol, joins=self.joins)

    def add(self, part: Part) -> None:
        """Take a fragment."""
        at, data = part.at, part.data[: max(MAX_PACKET - part.at, 0)]
        if part.last and not self.size:
            self.size = min(at + part.size, MAX_PACKET)
        end = at + len(data)
        if len(self.data) < end:
            self.data.extend(bytes(end - len(self.data)))
        first, last, apart = at, end, []
        for start, stop in self.ranges:
            if stop < at or start > end:
                apart.append((start, stop))
                continue
            both = slice(max(start, at), min(stop, end))
            if both.start < both.stop:
                old = self.data[both]
                self.differs = self.differs or old != data[both.start - at : both.stop - at]
                data = data[: both.start - at] + old + data[both.stop - at :]
            first, last = min(first, start), max(last, stop)
        self.data[at:end] = data
        self.ranges = sorted([*apart, (first, last)])


class Fragments:
    """The fragments that wait."""

    __slots__ = ("_joined", "_waiting", "held")

    def __init__(self) -> None:
        self._joined: dict[Key, float] = {}
        self._waiting: dict[Key, Datagram] = {}
        self.held = 0

    def add(self, walk: Walk, part: Part, position: int, time: float) -> Datagram:
        """Take a fragment; return its packet, which waits no longer if it is whole."""
        key = walk.ends, walk.protocol, part.number
        datagram = self._waiting.get(key)
        if datagram is None:
            repeated = time <= self._joined.get(key, -PATIENCE) + PATIENCE
            datagram = Datagram(key, position, time, walk.tunnels, walk.joins + 1, repeated)
            self._waiting[key] = datagram
        self.held -= len(datagram.data)
        datagram.add(part)
        self.held += len(datagram.data)
        if datagram.whole:
            self._take(datagram)
            if len(self._joined) >= MAX_DATAGRAMS:
                self._joined.clear()
            self._joined[key] = time
        return datagram

    def given_up(self, now: float) -> Iterator[Datagram]:
        """The packets that wait no longer, although parts are missing; with all of them, ``now`` is infinite."""
        while self._waiting:
            oldest = next(iter(self._waiting.values()))
            crowded = len(self._waiting) > MAX_DATAGRAMS or self.held > MAX_BYTES
            if not crowded and now <= oldest.started + PATIENCE:
                newest = next(reversed(self._waiting.values()))
                if len(newest.ranges) <= MAX_RANGES:
                    return
                oldest = newest
            self._take(oldest)
            yield oldest

    def _take(self, datagram: Datagram) -> None:
        del self._waiting[datagram.key]
        self.held -= len(datagram.data)
