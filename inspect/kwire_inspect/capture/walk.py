"""Walks over the headers of a packet, and names the protocols that follow them.

The numbers come from the IANA registries "IEEE 802 Numbers", "Protocol Numbers" and "PPP Numbers".
"""

from __future__ import annotations

from kwire.native import close_classes, i64, mypyc_attr

MAX_TUNNELS = 8
"""Maximum number of nested tunnels to follow."""
MAX_HEADERS = 64
"""Maximum number of headers to read in a packet. VLAN tags and IPv6 extension headers count as headers."""

ETHER_TYPES = {
    0x0800: "ipv4",
    0x86DD: "ipv6",
    0x8100: "vlan",
    0x88A8: "vlan",
    0x9100: "vlan",
    0x9200: "vlan",
    0x6558: "ethernet",
    0x8847: "mpls",
    0x8848: "mpls",
    0x8864: "pppoe",
    0x880B: "ppp",
    0x88BE: "erspan",
    0x22EB: "erspan3",
}
"""Names of layers by EtherType. Some EtherTypes, such as 0x6558, occur only in GRE and Geneve."""

PROTOCOLS = {4: "ipv4", 6: "tcp", 17: "udp", 41: "ipv6", 47: "gre", 97: "etherip", 137: "mpls", 143: "ethernet"}
"""Names of layers by IP protocol number."""

PPP_PROTOCOLS = {0x0021: "ipv4", 0x0057: "ipv6", 0x0281: "mpls"}

NOT_CARRYING = {
    0x0806: "ARP",
    0x0842: "Wake-on-LAN",
    0x2001: "NHRP",
    0x22F4: "IS-IS",
    0x8035: "RARP",
    0x809B: "AppleTalk",
    0x80F3: "AppleTalk ARP",
    0x8137: "IPX",
    0x8808: "Ethernet flow control",
    0x8809: "LACP",
    0x8863: "PPPoE discovery",
    0x8892: "PROFINET",
    0x8899: "Realtek loop detection",
    0x888E: "802.1X",
    0x88A2: "ATA over Ethernet",
    0x88A4: "EtherCAT",
    0x88CC: "LLDP",
    0x88E1: "HomePlug",
    0x88F7: "PTP",
    0x8902: "Ethernet CFM",
    0x8906: "FCoE",
    0x8912: "HomePlug",
    0x8914: "FCoE initialization",
    0x8915: "RoCE",
    0x893A: "IEEE 1905",
    0x9000: "Ethernet loopback",
}
"""EtherTypes that never contain a TCP packet."""
CARRYING = {
    0x883E: "WCCP",
    0x88E5: "MACsec",
    0x88E7: "802.1ah",
    0x8903: "FabricPath",
    0x8909: "Cisco MetaData",
    0x8926: "VN-Tag",
    0x894F: "NSH",
    0x22F3: "TRILL",
}
"""EtherTypes that may contain a TCP packet, but are not read."""

NOT_CARRYING_PROTOCOLS = {
    1: "ICMP",
    2: "IGMP",
    33: "DCCP",
    46: "RSVP",
    58: "ICMPv6",
    59: "IPv6 without contents",
    88: "EIGRP",
    89: "OSPF",
    103: "PIM",
    112: "VRRP or CARP",
    113: "PGM",
    124: "IS-IS",
    132: "SCTP",
    136: "UDP-Lite",
    139: "HIP",
    240: "pfsync",
}
CARRYING_PROTOCOLS = {
    50: "ESP",
    55: "minimal encapsulation",
    94: "IPIP",
    98: "RFC 1241 encapsulation",
    108: "IPComp",
    115: "L2TP",
}


class UnreadError(Exception):
    """Raised for a packet in which no TCP packet can be read. The message describes the packet.

    ``hidden`` says whether the packet may still contain a TCP packet in an unsupported encapsulation.
    """

    def __init__(self, name: str, *, hidden: bool = False) -> None:
        super().__init__(name)
        self.hidden = hidden


class ShortError(Exception):
    """Raised if the headers of a packet were not fully captured."""


@mypyc_attr(acyclic=True)
class Walk:
    """A position in the headers of a packet.

    ``buffer[at:stop]`` is the captured part of the packet that has not been read, and ``end`` is the end of the
    packet on the wire. ``ends`` contains the two addresses of the last IP header. ``ends`` is empty before an IP
    header and at the beginning of a tunnel. ``protocol`` is the protocol of the IP payload. ``tunnels`` is the number
    of enclosing tunnels. ``joins`` is the number of nested packets that were fragmented. ``cut`` says whether a
    tunnel contains only a part of the packet.
    """

    __slots__ = ("at", "buffer", "cut", "end", "ends", "joins", "protocol", "stop", "tunnels")

    def __init__(
        self,
        buffer: bytes,
        at: i64,
        stop: i64,
        end: i64,
        tunnels: i64 = 0,
        ends: bytes = b"",
        protocol: i64 = 0,
        joins: i64 = 0,
    ) -> None:
        self.buffer = buffer
        self.at = at
        self.stop = stop
        self.end = end
        self.tunnels = tunnels
        self.ends = ends
        self.protocol = protocol
        self.cut = False
        self.joins = joins

    def take(self, size: i64) -> i64:
        """Return the position of the next ``size`` bytes, and advance past them."""
        at = self.at
        if at + size > self.stop:
            raise ShortError
        self.at = at + size
        return at

    def number(self, at: i64) -> i64:
        """Return the 16-bit number at a position."""
        return int.from_bytes(self.buffer[at : at + 2], "big")

    def ends_at(self, end: i64) -> None:
        """Limit the rest of the packet to the bytes before ``end``.

        If a tunnel ends before ``end``, it contains only a part of the packet. Outside tunnels, an ``end`` beyond the
        frame is ignored, because the network card may fill in the size later.
        """
        if end < self.end or self.tunnels:
            self.cut = self.cut or end > self.end
            self.end = end
            self.stop = min(self.stop, end)

    def enter(self, name: str) -> None:
        """Record the beginning of a tunnel. Raise ``UnreadError`` if there are too many tunnels."""
        self.tunnels += 1
        self.ends = b""
        if self.tunnels > MAX_TUNNELS:
            raise UnreadError(f"{name} in {MAX_TUNNELS} other tunnels", hidden=True)


def after_type(kind: int) -> str:
    """Return the name of the layer that an EtherType identifies. Raise ``UnreadError`` if the layer is
    not supported.
    """
    if (layer := ETHER_TYPES.get(kind)) is not None:
        return layer
    if (name := NOT_CARRYING.get(kind)) is not None:
        raise UnreadError(name)
    raise UnreadError(f"{CARRYING.get(kind, 'an unknown protocol')} (EtherType 0x{kind:04x})", hidden=True)


def after_protocol(number: int) -> str:
    """Return the name of the layer that an IP protocol number identifies. Raise ``UnreadError`` if the layer is not
    supported.
    """
    if (layer := PROTOCOLS.get(number)) is not None:
        return layer
    if (name := NOT_CARRYING_PROTOCOLS.get(number)) is not None:
        raise UnreadError(name)
    name = CARRYING_PROTOCOLS.get(number, "an unknown protocol")
    raise UnreadError(f"{name} (IP protocol {number})", hidden=True)


close_classes()
