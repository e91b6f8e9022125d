"""TCP packets, and the evidence in them about which end of a connection is the server.

This module reads only frames in which TCP follows IP directly: Ethernet (with or without VLAN tags), Linux cooked
captures, loopback and raw IP. The link types are listed at https://www.tcpdump.org/linktypes.html.

Handshakes show which end is the server. Without a handshake there are only hints: the handshake of another connection
with the same address and port, an end with many peers, and Kafka's usual ports. A lower port number is not a hint,
because the mapped ports and node ports of brokers can be higher than their clients' ports.
"""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from librt.strings import read_i64_be

from kwire.native import close_classes, i64, mypyc_attr
from kwire_rules import address_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

TCP: Final = 6
FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16
IPV4: Final = 0x0800
IPV6: Final = 0x86DD
"""EtherTypes of IP."""
TAGS: Final = (0x8100, 0x88A8, 0x9100)
"""EtherTypes of VLAN tags [IEEE 802.1Q, 802.1ad]."""
PLAIN: Final = 0x45
"""First byte of an IPv4 header without options."""
FRAGMENTED: Final = 0x3F
"""Bits of the IPv4 flags byte that are set only in fragments. The next byte holds the rest of the fragment offset."""
U32: Final = 0xFFFFFFFF
_ENDS = struct.Struct(">HH").unpack_from
NAMES = {
    105: "802.11",
    119: "802.11 with Prism headers",
    127: "802.11 with radiotap",
    192: "PPI",
    195: "802.15.4",
    201: "Bluetooth",
    189: "USB",
    220: "USB",
    227: "CAN",
    239: "NFLOG",
    253: "Netlink",
}
"""Names of unsupported link types."""
USUAL = frozenset(port for start in (9092, 19092, 29092, 39092) for port in range(start, start + 8))
"""Ports of brokers and controllers in examples, container images and most installations."""
MANY = 3
"""Minimum number of peers of a server, and minimum ratio of the server's peers to the client's peers."""
MAX_ENDS = 1 << 16
"""Maximum number of connection ends to keep. Each end needs about 200 bytes of memory."""


@mypyc_attr(acyclic=True)
@dataclass(slots=True, eq=False, init=False)
class Packet:
    """A TCP packet, or the captured part of it.

    ``key`` contains the source and destination addresses and then the ports, as encoded in the packet. ``data`` is
    the captured part of the payload, and ``missing`` is the number of payload bytes that were not captured.
    ``source`` and ``position`` locate the packet in a file.
    """

    key: bytes
    time: float
    source: str
    position: i64
    seq: i64
    ack: i64
    flags: i64
    data: bytes
    missing: i64

    def __init__(
        self,
        key: bytes,
        time: float,
        source: str,
        position: i64,
        seq: i64,
        ack: i64,
        flags: i64,
        data: bytes,
        missing: i64 = 0,
    ) -> None:
        self.key = key
        self.time = time
        self.source = source
        self.position = position
        self.seq = seq
        self.ack = ack
        self.flags = flags
        self.data = data
        self.missing = missing

    def __reduce__(self) -> tuple[object, ...]:
        place = self.key, self.time, self.source, self.position
        return Packet, (*place, self.seq, self.ack, self.flags, self.data, self.missing)


def reverse(key: bytes) -> bytes:
    """Return the key of packets in the opposite direction."""
    half = len(key) // 2 - 2
    return key[half : 2 * half] + key[:half] + key[-2:] + key[-4:-2]


def ports_of(key: bytes) -> tuple[int, int]:
    """Return the source and destination ports in a key."""
    source, target = _ENDS(key, len(key) - 4)
    return source, target


def packet(
    buffer: bytes, start: i64, stop: i64, length: i64, link: Link, time: float, source: str, position: i64
) -> Packet | None:
    """Return the TCP packet in ``buffer[start:stop]``, the captured part of a frame of ``length`` bytes.

    Return ``None`` if TCP does not follow IP directly, so that ``unwrapping`` must read the frame.
    """
    ip = link.network(buffer, start, stop)
    if ip < 0 or ip + 34 > stop:
        return None
    kind: i64 = buffer[ip]
    size: i64
    if kind == PLAIN:
        if buffer[ip + 9] != TCP or buffer[ip + 6] & FRAGMENTED or buffer[ip + 7]:
            return None
        size, at = buffer[ip + 2] << 8 | buffer[ip + 3], ip + 20
        key = buffer[ip + 12 : ip + 24]
    elif kind >> 4 == 6 and ip + 54 <= stop and buffer[ip + 6] == TCP:
        size, at = buffer[ip + 4] << 8 | buffer[ip + 5], ip + 40
        size += 40 if size else 0
        key = buffer[ip + 8 : ip + 44]
    else:
        return None
    numbers = read_i64_be(buffer, at + 4)
    begin, end = at + (buffer[at + 12] >> 4) * 4, start + length
    if at <= ip + size < end:  # otherwise the packet fills the frame, or the network card fills in the size
        end = ip + size
    data = buffer[begin : end if end < stop else stop]
    missing = end - begin - len(data)
    if missing < 0:
        missing = 0
    return Packet(key, time, source, position, numbers >> 32 & U32, numbers & U32, buffer[at + 13], data, missing)


@mypyc_attr(acyclic=True)
class Link:
    """A link type.

    ``layer`` is the key of the link type in ``unwrapping.LAYERS``. ``header`` is the header size in bytes, or -1 if
    only ``unwrapping`` can read the frames. ``typed`` is the byte offset of the EtherType in the header, or -1 if
    there is no EtherType.

    The address families in loopback headers depend on the operating system, so the IP version is read from the IP
    header.
    """

    __slots__ = ("header", "layer", "typed")

    def __init__(self, layer: str, header: i64 = -1, typed: i64 = -1) -> None:
        self.layer = layer
        self.header = header
        self.typed = typed

    def network(self, buffer: bytes, start: i64, stop: i64) -> i64:
        """Return the position of the IP packet in the frame ``buffer[start:stop]``, after any VLAN tags, or -1."""
        at = start + self.header
        if self.header < 0 or self.typed < 0:
            return -1 if self.header < 0 else at
        if at > stop:
            return -1
        place = start + self.typed
        kind: i64 = buffer[place] << 8 | buffer[place + 1]
        while kind != IPV4 and kind != IPV6:
            if kind not in TAGS or at + 4 > stop:
                return -1
            kind = buffer[at + 2] << 8 | buffer[at + 3]
            at += 4
        return at


_LOOPBACK, _RAW, _PPP = Link("loopback", 4), Link("ip", 0), Link("ppp")
LINKS = {
    0: _LOOPBACK,
    1: Link("ethernet", 14, 12),
    9: _PPP,
    12: _RAW,
    14: _RAW,
    50: _PPP,
    51: Link("pppoe"),
    101: _RAW,
    104: Link("cisco_hdlc"),
    108: _LOOPBACK,
    113: Link("cooked", 16, 14),
    219: Link("mpls"),
    228: _RAW,
    229: _RAW,
    276: Link("cooked2", 20, 0),
}
"""Supported link types, by their number in capture files."""


def link_of(number: int) -> Link:
    """Return the link type with this number. For an unsupported link type, ``layer`` is only a description."""
    return LINKS.get(number) or Link(f"link type {number}" + (f" ({NAMES[number]})" if number in NAMES else ""))


class Servers:
    """Learns which ends are servers from the first packet between each pair of ends.

    Tasks that read different shares of a capture reach the same conclusions. ``ports`` contains the server ports that
    the user specified.
    """

    __slots__ = ("_asked", "_others", "ports")

    def __init__(self, ports: Collection[int] = ()) -> None:
        self.ports = frozenset(ports)
        self._asked: set[bytes] = set()
        self._others: Counter[bytes] = Counter()

    def __reduce__(self) -> tuple[type[Servers], tuple[frozenset[int]]]:
        return Servers, (self.ports,)

    def learn(self, packet: Packet) -> None:
        """Learn from the first packet between two ends."""
        if len(self._others) >= MAX_ENDS:
            self._others = Counter({end: count for end, count in self._others.items() if count >= MANY})
            self._asked &= self._others.keys()
        source, target = ends = ends_of(packet.key)
        self._others.update(ends)
        if packet.flags & SYN:
            self._asked.add(source if packet.flags & ACK else target)

    def asked(self, key: bytes) -> bool | None:
        """Return whether packets with this key come from the client, according to ``ports``.

        Return ``None`` if ``ports`` contains both or neither of the ports in the key.
        """
        return _only(*(port in self.ports for port in ports_of(key)))

    def hint(self, key: bytes) -> bool | None:
        """Return whether packets with this key probably come from the client, or ``None`` if there are no hints."""
        source, target = ends_of(key)
        is_asked = _only(source in self._asked, target in self._asked)
        if is_asked is None:
            to_source, to_target = self._others[source], self._others[target]
            is_asked = _only(to_source >= MANY * max(to_target, 1), to_target >= MANY * max(to_source, 1))
        return _only(*(port in USUAL for port in ports_of(key))) if is_asked is None else is_asked


@dataclass(frozen=True, slots=True)
class Guess:
    """The guess that packets with ``key`` come from the client, for a connection whose handshake was not captured."""

    servers: Servers
    key: bytes

    def __reduce__(self) -> tuple[object, ...]:
        return Guess, (self.servers, self.key)

    @property
    def likely(self) -> bool | None:
        """Whether the hints found so far support the guess, or ``None`` if there are no hints."""
        return self.servers.hint(self.key)


def ends_of(key: bytes) -> tuple[bytes, bytes]:
    """Return the source and destination in a key, each as an encoded address and port."""
    half = len(key) // 2 - 2
    return key[:half] + key[-4:-2], key[half : 2 * half] + key[-2:]


def _only(source: bool, target: bool) -> bool | None:
    """Return whether only the destination is a server, or ``None`` if both or neither are servers."""
    return target if source != target else None


@dataclass(frozen=True, slots=True)
class Peer:
    """One end of a connection."""

    host: str
    port: int

    def __reduce__(self) -> tuple[object, ...]:
        return Peer, (self.host, self.port)

    def __str__(self) -> str:
        return address_text(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Connection:
    """A TCP connection.

    ``started`` is the time when the connection was first seen, in seconds since the epoch. ``complete`` is true if
    the handshake was captured, so that nothing is missing at the beginning. ``guess`` is set if neither a handshake
    nor ``Servers.ports`` shows which side is the client. ``encryption`` is the reason why a TLS connection was not
    decrypted although TLS secrets were provided.
    """

    client: Peer
    server: Peer
    started: float
    complete: bool
    guess: Guess | None = field(default=None, compare=False)
    encryption: str = field(default="", compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return Connection, (self.client, self.server, self.started, self.complete, self.guess, self.encryption)

    @property
    def id(self) -> str:
        """Client, server and start time, such as ``10.0.0.1:50412-10.0.0.9:9092@1700000000.123456``."""
        return f"{self.client}-{self.server}@{self.started:.6f}"


def peers(key: bytes) -> tuple[Peer, Peer]:
    """Return the source and destination of packets with this key."""
    half = len(key) // 2 - 2
    family = socket.AF_INET if half == 4 else socket.AF_INET6
    source, target = ports_of(key)
    return (
        Peer(socket.inet_ntop(family, key[:half]), source),
        Peer(socket.inet_ntop(family, key[half : 2 * half]), target),
    )


close_classes()
