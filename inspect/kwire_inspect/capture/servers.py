"""Which end of a connection is the server, as far as packets show it before anything is decoded.

Handshakes decide. Without one there are only hints: another connection's handshake with the same address and port, an
end that many others talk to, ports that are usual for Kafka. The lower port means nothing: brokers listen on mapped
and node ports, above those of their clients.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from kwire.native import close_classes
from kwire_inspect.capture.packets import ACK, SYN, Packet, ports_of

USUAL = frozenset(port for start in (9092, 19092, 29092, 39092) for port in range(start, start + 8))
"""The ports of brokers and controllers in examples, images and most installations."""
MANY = 3
"""How many others talk to a server, and how many times as many as to the other end."""
MAX_ENDS = 1 << 16
"""How many ends are kept, each with 200 bytes."""


class Servers:
    """Learns from the first packet of every pair of ends, in all shares of a capture alike; ``ports`` are given."""

    __slots__ = ("_asked", "_others", "ports")

    def __init__(self, ports: Collection[int] = ()) -> None:
        self.ports = frozenset(ports)
        self._asked: set[bytes] = set()
        self._others: Counter[bytes] = Counter()

    def __reduce__(self) -> tuple[type[Servers], tuple[frozenset[int]]]:
        return Servers, (self.ports,)

    def learn(self, packet: Packet) -> None:
        """Note the first packet between two ends."""
        if len(self._others) >= MAX_ENDS:
            self._others = Counter({end: count for end, count in self._others.items() if count >= MANY})
            self._asked &= self._others.keys()
        source, target = ends = ends_of(packet.key)
        self._others.update(ends)
        if packet.flags & SYN:
            self._asked.add(source if packet.flags & ACK else target)

    def asked(self, key: bytes) -> bool | None:
        """Whether packets with this key come from the client, as the given ports say; ``None`` if they do not."""
        return _only(*(port in self.ports for port in ports_of(key)))

    def hint(self, key: bytes) -> bool | None:
        """The same as far as anything hints at it."""
        source, target = ends_of(key)
        told = _only(source in self._asked, target in self._asked)
        if told is None:
            to_source, to_target = self._others[source], self._others[target]
            told = _only(to_source >= MANY * max(to_target, 1), to_target >= MANY * max(to_source, 1))
        return _only(*(port in USUAL for port in ports_of(key))) if told is None else told


@dataclass(frozen=True, slots=True)
class Guess:
    """That packets with this key come from the client of a connection whose handshake was not seen."""

    servers: Servers
    key: bytes

    def __reduce__(self) -> tuple[object, ...]:
        return Guess, (self.servers, self.key)

    @property
    def likely(self) -> bool | None:
        """Whether that is so, by everything that was learnt up to now; ``None`` if nothing hints at it."""
        return self.servers.hint(self.key)


def ends_of(key: bytes) -> tuple[bytes, bytes]:
    """Address and port of source and target."""
    half = len(key) // 2 - 2
    return key[:half] + key[-4:-2], key[half : 2 * half] + key[-2:]


def _only(source: bool, target: bool) -> bool | None:
    """Whether the target alone is a server; ``None`` if both are, or neither."""
    return target if source != target else None


close_classes()
