"""Finds TCP packets after headers that ``packets.packet`` does not read, and counts packets without TCP.

Fragments of IP packets are joined in bounded memory [RFC 791, RFC 8200 section 4.5, RFC 815].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from struct import Struct

from kwire_inspect.capture import layers
from kwire_inspect.capture.layers import BAD, FragmentError
from kwire_inspect.capture.packets import Packet
from kwire_inspect.capture.pcap import Report
from kwire_inspect.capture.walk import MAX_HEADERS, MAX_TUNNELS, ShortError, UnreadError, Walk
from kwire_inspect.reasons import CUT_IN_TUNNEL, FRAGMENTS_DIFFER, FRAGMENTS_LOST, NO_TCP, NOT_READ, SHORT

MAX_BYTES = 16 << 20
MAX_DATAGRAMS = 1024
MAX_RANGES = 64
"""Maximum number of separate ranges in a waiting packet. Fragments usually arrive nearly in order."""
PATIENCE = 0.5
"""Maximum time, in seconds, that fragments wait for the rest of their packet. ``ordering.PATIENCE`` is longer, so
that later packets of the connection wait for the joined packet.
"""
MAX_PACKET = 65_535
"""Maximum size of a joined packet in bytes."""
Key = tuple[bytes, int, int]
"""The two addresses, the protocol and the identification number of a packet."""
Layer = Callable[[Walk], str]
LAYERS: dict[str, Layer] = {
    "ethernet": layers.ethernet,
    "vlan": layers.vlan,
    "llc": layers.llc,
    "cooked": layers.cooked,
    "cooked2": layers.cooked2,
    "loopback": layers.loopback,
    "cisco_hdlc": layers.cisco_hdlc,
    "pppoe": layers.pppoe,
    "ppp": layers.ppp,
    "mpls": layers.mpls,
    "ip": layers.ip,
    "ipv4": layers.ipv4,
    "ipv6": layers.ipv6,
    "extension": layers.extension,
    "protocol": layers.after_ip,
    "udp": layers.udp,
    "gre": layers.gre,
    "erspan": layers.erspan,
    "erspan3": layers.erspan3,
    "etherip": layers.etherip,
}
"""Functions by layer name. Each function reads its layer and returns the name of the next layer."""
MAX_NAMES = 1000
"""Maximum number of protocols without TCP to count separately."""
NAMED = 3
"""Maximum number of protocols to name in a message."""
_TCP = Struct(">IIBB").unpack_from


@dataclass(frozen=True, slots=True)
class Part:
    """A fragment of packet ``number``: ``size`` bytes, starting at offset ``at``.

    ``data`` contains the captured bytes, and ``last`` marks the last fragment.
    """

    number: int
    at: int
    size: int
    data: bytes
    last: bool


@dataclass(slots=True, eq=False)
class Datagram:
    """The fragments of a packet.

    ``tunnels`` is the number of enclosing tunnels. ``joins`` is the number of nested fragmented packets, including
    this packet. ``position`` locates the fragment that arrived first. ``size`` is the packet size in bytes, or 0
    until the last fragment arrives. ``ranges`` contains the ranges of ``data`` that have arrived.

    ``differs`` says whether overlapping fragments differ, in which case the bytes that arrived first are used.
    ``repeated`` says whether a packet with the same key was completed shortly before, as in a capture that contains
    each packet twice.
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
        """Bytes before the first missing byte."""
        return b"" if self.ranges[0][0] else bytes(self.data[: self.ranges[0][1]])

    @property
    def known_size(self) -> int:
        """Size of the packet in bytes, or its minimum size until the last fragment arrives."""
        return max(self.size, len(self.data))

    def walk(self) -> Walk:
        """Return a walk over the bytes before the first missing byte, as an IP payload."""
        ends, protocol, _ = self.key
        data = self.beginning
        return Walk(data, 0, len(data), self.known_size, self.tunnels, ends, protocol, joins=self.joins)

    def add(self, part: Part) -> None:
        """Add a fragment."""
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
    """Fragments that wait for the rest of their packets."""

    __slots__ = ("_joined", "_waiting", "held")

    def __init__(self) -> None:
        self._joined: dict[Key, float] = {}
        self._waiting: dict[Key, Datagram] = {}
        self.held = 0

    def add(self, walk: Walk, part: Part, position: int, time: float) -> Datagram:
        """Add a fragment. Return the packet that contains the fragment. A complete packet is removed from the waiting
        packets.
        """
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
        """Yield the incomplete packets that have waited too long or use too much memory. If ``now`` is infinite,
        yield all incomplete packets.
        """
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


class Unwrapper:
    """Finds the TCP packets of a file that are in tunnels or fragments, or after other unusual headers.

    Each added packet is returned as a TCP packet, kept as a fragment, or counted. Packets that may hide a TCP packet
    are counted in ``report``, and all other packets by name in ``others``. ``has_tcp`` says whether the file contains
    any TCP packets.
    """

    def __init__(self, report: Report) -> None:
        self.has_tcp = False
        self.others: Counter[str] = Counter()
        self.report = report
        self._fragments = Fragments()

    def add(
        self, buffer: bytes, begin: int, stop: int, length: int, layer: str, time: float, position: int
    ) -> Iterator[Packet]:
        """Yield any TCP packet in ``buffer[begin:stop]``, and packets whose fragments have waited too long."""
        walk = Walk(buffer, begin, stop, begin + length)
        if (found := self._found(walk, layer, time, position)) is not None:
            yield found
        yield from self._given_up(time)

    def close(self) -> Iterator[Packet]:
        """Yield the packets whose fragments are still waiting, and then report all counts."""
        yield from self._given_up(float("inf"))
        count = self.others.total()
        if count and not self.has_tcp:
            names = [f"{packets} {name}" for name, packets in self.others.most_common(NAMED)]
            if rest := count - sum(packets for _, packets in self.others.most_common(NAMED)):
                names.append(f"{rest} others")
            self.report.count(0, f"{NO_TCP}: {', '.join(names)}", 0, packets=count)
        self.report.end()

    @property
    def held(self) -> int:
        """Size of the waiting fragments in bytes."""
        return self._fragments.held

    def _found(self, walk: Walk, layer: str, time: float, position: int) -> Packet | None:
        size = walk.end - walk.at
        try:
            return self._packet(walk, layer, time, position)
        except FragmentError as fragment:
            return self._joined(walk, fragment, time, position)
        except (ShortError, IndexError):
            short = walk.stop < walk.end
            self.report.count(position, SHORT if short else f"{NOT_READ}{BAD}", 0 if short else size)
        except UnreadError as what:
            if what.hidden:
                self.report.count(position, f"{NOT_READ}{what}", size)
            else:
                name = str(what)
                self.others[name if name in self.others or len(self.others) < MAX_NAMES else "others"] += 1
        return None

    def _packet(self, walk: Walk, layer: str, time: float, position: int) -> Packet:
        """Return the TCP packet at the end of a walk. Raise the error that ends the walk early."""
        for _ in range(MAX_HEADERS):
            if layer == "tcp":
                break
            if (read := LAYERS.get(layer)) is None:
                raise UnreadError(layer, hidden=True)
            layer = read(walk)
        else:
            raise UnreadError(f"more than {MAX_HEADERS} headers", hidden=True)
        at = walk.take(14)
        buffer = walk.buffer
        seq, ack, offset, flags = _TCP(buffer, at + 4)
        begin = at + (offset >> 4) * 4
        data = buffer[begin : walk.stop]
        if walk.cut:
            self.report.count(position, CUT_IN_TUNNEL, 0)
        missing = max(walk.end - begin - len(data), 0)
        return Packet(
            walk.ends + buffer[at : at + 4], time, self.report.source, position, seq, ack, flags, data, missing
        )

    def _joined(self, walk: Walk, fragment: FragmentError, time: float, position: int) -> Packet | None:
        """Return the TCP packet that a fragment completes, or ``None``."""
        if walk.joins >= MAX_TUNNELS:
            self.report.count(position, f"{NOT_READ}fragments of fragments", walk.end - walk.at)
            return None
        part = Part(fragment.number, fragment.at, walk.end - walk.at, walk.buffer[walk.at : walk.stop], fragment.last)
        datagram = self._fragments.add(walk, part, position, time)
        if not datagram.whole:
            return None
        if datagram.differs:
            self.report.count(position, FRAGMENTS_DIFFER, 0)
        return self._found(datagram.walk(), "protocol", time, position)

    def _given_up(self, now: float) -> Iterator[Packet]:
        """Yield the available parts of packets that stop waiting for fragments."""
        for datagram in self._fragments.given_up(now):
            if not datagram.repeated:
                self.report.count(datagram.position, FRAGMENTS_LOST, 0)
                with suppress(ShortError, IndexError, UnreadError, FragmentError):
                    yield self._packet(datagram.walk(), "protocol", datagram.started, datagram.position)
