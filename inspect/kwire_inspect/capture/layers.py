"""Reads the headers before TCP: link layers, IP and tunnels.

The link layers are Ethernet with VLAN tags, LLC, Linux cooked, PPP, PPPoE and MPLS. The tunnels are GRE with ERSPAN,
VXLAN, Geneve, EtherIP, and IP in IP. Each layer has a function that reads its header and returns the name of the next
layer.
"""

from __future__ import annotations

from collections.abc import Callable

from kwire_inspect.capture.walk import (
    ETHER_TYPES,
    PPP_PROTOCOLS,
    ShortError,
    UnreadError,
    Walk,
    after_protocol,
    after_type,
)

LLC_SNAP = b"\xaa\xaa\x03"
ETHERNET = 1
"""Link type of Ethernet in pcap files."""
ETHERNET_IN_SNAP = {b"\0\0\0", b"\0\0\xf8"}
"""SNAP organization codes whose protocol numbers are EtherTypes [RFC 1042, IEEE 802.1H]."""
MIN_TYPE = 0x0600
"""Minimum EtherType. A smaller number in the EtherType field is the payload size in bytes [IEEE 802.3]."""
PPP_CONTROL = 0x4000
"""First PPP protocol number after the network-layer protocols [RFC 1661]."""
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, OPTIONS, MOBILITY, HIP, SHIM6 = 0, 43, 44, 51, 60, 135, 139, 140
EXTENSIONS = {HOP_BY_HOP, ROUTING, AUTHENTICATION, OPTIONS, MOBILITY, HIP, SHIM6}
MORE, OFFSET = 0x2000, 0x1FFF
"""Bits of the IPv4 fragment field: more fragments, and the fragment offset."""
BAD = "inconsistent IP headers"
VXLAN_PORTS, VXLAN_GPE_PORT, GENEVE_PORT, MPLS_PORT = {4789, 8472}, 4790, 6081, 6635
TUNNEL_PORTS = VXLAN_PORTS | {VXLAN_GPE_PORT, GENEVE_PORT}
"""UDP ports of tunnels with eight-byte headers."""
INSTANCE, GPE = 0x08, 0x04
"""VXLAN flags: the network identifier is valid, and the fourth byte is the protocol number."""
GPE_PROTOCOLS = {1: "ipv4", 2: "ipv6", 3: "ethernet"}
CARRYING_PORTS = {1701: "L2TP", 2152: "GTP", 3544: "Teredo", 4500: "ESP", 4754: "GRE", 5247: "CAPWAP", 6080: "GUE"}
"""Names of unsupported encapsulations, by the UDP port that IANA has registered for each."""
WIREGUARD = {b"\1\0\0\0", b"\2\0\0\0", b"\3\0\0\0", b"\4\0\0\0"}
WIREGUARD_PORT = 51820
CHECKSUM, ROUTING, KEY, SEQUENCE, ACKNOWLEDGED = 0x8000, 0x4000, 0x2000, 0x1000, 0x0080
"""GRE flags."""
IP_IN_ERSPAN = 2
"""ERSPAN III frame type of mirrored IP packets. Packets of all other types are read as Ethernet frames."""
_IPV4 = {bytes([0x40 | size]) for size in range(5, 16)}


def ethernet(walk: Walk) -> str:
    """Read an Ethernet header [IEEE 802.3]."""
    at = walk.take(14)
    return _typed(walk, at + 12)


def vlan(walk: Walk) -> str:
    """Read a VLAN tag after its EtherType [IEEE 802.1Q]."""
    at = walk.take(4)
    return _typed(walk, at + 2)


def _typed(walk: Walk, at: int) -> str:
    kind = walk.number(at)
    if kind >= MIN_TYPE:
        return after_type(kind)
    walk.end = min(walk.end, walk.at + kind)
    walk.stop = min(walk.stop, walk.end)
    return "llc"


def llc(walk: Walk) -> str:
    """Read an LLC header [IEEE 802.2, RFC 1042]."""
    at = walk.take(3)
    if walk.buffer[at : at + 3] != LLC_SNAP:
        raise UnreadError("802.2 LLC")
    at = walk.take(5)
    if walk.buffer[at : at + 3] not in ETHERNET_IN_SNAP:
        raise UnreadError("vendor-specific SNAP")
    return after_type(walk.number(at + 3))


def cooked(walk: Walk) -> str:
    """Read a Linux cooked capture header [LINKTYPE_LINUX_SLL]."""
    return _cooked(walk, walk.take(16) + 14)


def cooked2(walk: Walk) -> str:
    """Read a Linux cooked capture header, version 2 [LINKTYPE_LINUX_SLL2]."""
    return _cooked(walk, walk.take(20))


def _cooked(walk: Walk, at: int) -> str:
    kind = walk.number(at)
    if kind >= MIN_TYPE:
        return after_type(kind)
    if kind == 0x0004:
        return "llc"
    raise UnreadError("cooked packets without an EtherType")


def loopback(walk: Walk) -> str:
    """Skip the four-byte address family, whose value depends on the operating system."""
    walk.take(4)
    return "ip"


def cisco_hdlc(walk: Walk) -> str:
    """Read a Cisco HDLC header [LINKTYPE_C_HDLC]."""
    kind = walk.number(walk.take(4) + 2)
    if kind == 0x8035:
        raise UnreadError("Cisco SLARP")
    return after_type(kind)


def pppoe(walk: Walk) -> str:
    """Read the header of a PPPoE session [RFC 2516]."""
    walk.enter("PPPoE")
    at = walk.take(6)
    if walk.buffer[at : at + 2] != b"\x11\0":
        raise UnreadError("PPPoE without a session")
    size = walk.number(at + 4)
    walk.end = min(walk.end, walk.at + size)
    walk.stop = min(walk.stop, walk.end)
    return "ppp"


def ppp(walk: Walk) -> str:
    """Read a PPP protocol number of one or two bytes [RFC 1661], after any address and control fields [RFC 1662]."""
    if walk.buffer[walk.at : walk.at + 2] == b"\xff\x03":
        walk.take(2)
    at = walk.take(1)
    kind = walk.buffer[at]
    if not kind & 1:
        kind = kind << 8 | walk.buffer[walk.take(1)]
    if (layer := PPP_PROTOCOLS.get(kind)) is not None:
        return layer
    raise UnreadError(f"PPP protocol 0x{kind:04x}", hidden=kind < PPP_CONTROL)


def mpls(walk: Walk) -> str:
    """Read an MPLS label stack [RFC 3032].

    No field identifies the next layer. The next layer is IP, or Ethernet with or without a control word [RFC 4385].
    """
    walk.enter("MPLS")
    while not walk.buffer[walk.take(4) + 2] & 1:
        pass
    at = walk.take(1)
    walk.at, kind = at, walk.buffer[at] >> 4
    if looks_like_ip(walk, at):
        return "ip"
    if kind == 1:
        raise UnreadError("MPLS management")
    if kind == 0 and walk.number(at + 16) in ETHER_TYPES:
        walk.take(4)
        return "ethernet"
    if walk.number(at + 12) in ETHER_TYPES:
        return "ethernet"
    raise UnreadError("MPLS with neither IP nor Ethernet", hidden=True)


def looks_like_ip(walk: Walk, at: int) -> bool:
    """Return whether ``at`` may be the beginning of an IP packet that fits into the remaining bytes."""
    buffer, room = walk.buffer, walk.end - at
    if buffer[at] >> 4 == 4:
        return buffer[at] & 15 >= 5 and (buffer[at] & 15) * 4 <= walk.number(at + 2) <= room
    return buffer[at] >> 4 == 6 and walk.number(at + 4) + 40 <= room


class FragmentError(Exception):
    """Raised when a ``Walk`` reaches an IP fragment.

    ``number`` identifies the packet, ``at`` is the byte offset of the fragment in the packet, and ``last`` says
    whether it is the last fragment.
    """

    def __init__(self, number: int, at: int, *, last: bool) -> None:
        super().__init__(number, at)
        self.number, self.at, self.last = number, at, last


def ip(walk: Walk) -> str:
    """Return the name of the layer for the IP version in the first byte of a packet."""
    kind = walk.buffer[walk.take(1)] >> 4
    walk.at -= 1
    if kind not in (4, 6):
        raise UnreadError(BAD, hidden=True)
    return "ipv4" if kind == 4 else "ipv6"


def ipv4(walk: Walk) -> str:
    """Read an IPv4 header [RFC 791]."""
    _inside_of_ip(walk, "IPv4")
    at = walk.take(20)
    buffer, header = walk.buffer, (walk.buffer[at] & 15) * 4
    if buffer[at] >> 4 != 4 or header < 20:
        raise UnreadError(BAD, hidden=True)
    walk.take(header - 20)
    if (size := walk.number(at + 2)) >= header:
        walk.ends_at(at + size)
    walk.ends, walk.protocol = buffer[at + 12 : at + 20], buffer[at + 9]
    fragment = walk.number(at + 6)
    if fragment & (MORE | OFFSET):
        raise FragmentError(walk.number(at + 4), (fragment & OFFSET) * 8, last=not fragment & MORE)
    return after_ip(walk)


def ipv6(walk: Walk) -> str:
    """Read an IPv6 header [RFC 8200]."""
    _inside_of_ip(walk, "IPv6")
    at = walk.take(40)
    if walk.buffer[at] >> 4 != 6:
        raise UnreadError(BAD, hidden=True)
    if size := walk.number(at + 4):
        walk.ends_at(at + 40 + size)
    walk.ends, walk.protocol = walk.buffer[at + 8 : at + 40], walk.buffer[at + 6]
    return after_ip(walk)


def _inside_of_ip(walk: Walk, name: str) -> None:
    """Enter a tunnel if an IP header has already been read."""
    if walk.ends:
        walk.enter(name)


def after_ip(walk: Walk) -> str:
    """Return the name of the layer after the IP header or IPv6 extension that was just read."""
    if walk.protocol == AUTHENTICATION or (walk.protocol in EXTENSIONS and len(walk.ends) > 8):
        return "extension"
    if walk.protocol == FRAGMENT and len(walk.ends) > 8:
        at = walk.take(8)
        walk.protocol, fragment = walk.buffer[at], walk.number(at + 2)
        if fragment & 0xFFF9:  # otherwise this fragment is the whole packet
            number = int.from_bytes(walk.buffer[at + 4 : at + 8], "big")
            raise FragmentError(number, fragment & 0xFFF8, last=not fragment & 1)
        return "protocol"
    return after_protocol(walk.protocol)


def extension(walk: Walk) -> str:
    """Read an IPv6 extension header [RFC 8200], or an authentication header of either IP version [RFC 4302]."""
    kind, at = walk.protocol, walk.take(2)
    size = walk.buffer[at + 1]
    walk.protocol = walk.buffer[at]
    walk.take((size + 2) * 4 - 2 if kind == AUTHENTICATION else (size + 1) * 8 - 2)
    return after_ip(walk)


def gre(walk: Walk) -> str:
    """Read a GRE header [RFC 2784, RFC 2890]. PPTP uses GRE version 1 [RFC 2637]."""
    walk.enter("GRE")
    at = walk.take(4)
    flags, kind = walk.number(at), walk.number(at + 2)
    if flags & ROUTING or flags & 7 > 1:
        raise UnreadError("unknown kind of GRE", hidden=True)
    acknowledged = ACKNOWLEDGED if flags & 7 else 0
    walk.take(4 * sum(1 for flag in (CHECKSUM, KEY, SEQUENCE, acknowledged) if flags & flag))
    if kind == 0x88BE and not flags & SEQUENCE:
        return "ethernet"  # ERSPAN I has no header of its own
    if not kind or walk.at >= walk.end:
        raise UnreadError("empty GRE")
    return after_type(kind)


def erspan(walk: Walk) -> str:
    """Read an ERSPAN II header [draft-foschiano-erspan]."""
    at = walk.take(8)
    if walk.buffer[at] >> 4 != 1:
        raise UnreadError("unknown version of ERSPAN", hidden=True)
    return "ethernet"


def erspan3(walk: Walk) -> str:
    """Read an ERSPAN III header [draft-foschiano-erspan]."""
    at = walk.take(12)
    if walk.buffer[at] >> 4 != 2:
        raise UnreadError("unknown version of ERSPAN", hidden=True)
    kind = walk.number(at + 10)
    if kind & 1:
        walk.take(8)
    return "ip" if kind >> 10 & 31 == IP_IN_ERSPAN else "ethernet"


def etherip(walk: Walk) -> str:
    """Read an EtherIP header [RFC 3378]."""
    walk.enter("EtherIP")
    walk.take(2)
    return "ethernet"


def udp(walk: Walk) -> str:
    """Recognize UDP tunnels by their headers. On the port that is registered for a tunnel, fewer header fields must
    match.
    """
    at = walk.take(8)
    source, target = walk.number(at), walk.number(at + 2)
    if target in TUNNEL_PORTS and walk.stop < min(walk.at + 8, walk.end):
        raise ShortError
    for find in (_vxlan, _geneve):
        if layer := find(walk, target):
            return layer
    if target == MPLS_PORT:
        return "mpls"
    if {source, target} & {WIREGUARD_PORT} and walk.buffer[walk.at : walk.at + 4] in WIREGUARD:
        raise UnreadError(f"WireGuard (UDP port {WIREGUARD_PORT})", hidden=True)
    for port in (target, source):
        if (name := CARRYING_PORTS.get(port)) is not None:
            raise UnreadError(f"{name} (UDP port {port})", hidden=True)
    raise UnreadError(f"UDP port {min(source, target)}")


def _vxlan(walk: Walk, port: int) -> str:
    """Read a VXLAN header [RFC 7348, draft-ietf-nvo3-vxlan-gpe]."""
    buffer, at = walk.buffer, walk.at
    if walk.stop < at + 8:
        return ""
    flags = buffer[at]
    if flags == INSTANCE | GPE and port == VXLAN_GPE_PORT:
        layer = GPE_PROTOCOLS.get(buffer[at + 3], "")
        if not layer:
            raise UnreadError(f"VXLAN-GPE with protocol {buffer[at + 3]}", hidden=True)
    else:
        exact = buffer[at : at + 4] == b"\x08\0\0\0" and not buffer[at + 7] and _is_frame(walk, at + 8)
        if not exact and not (port in VXLAN_PORTS and flags & INSTANCE):
            return ""
        layer = "ethernet"
    walk.enter("VXLAN")
    walk.take(8)
    return layer


def _geneve(walk: Walk, port: int) -> str:
    """Read a Geneve header [RFC 8926]."""
    buffer, at = walk.buffer, walk.at
    if walk.stop < at + 8 or buffer[at] >> 6 or buffer[at + 1] & 63 or buffer[at + 7]:
        return ""
    contents, kind = at + 8 + (buffer[at] & 63) * 4, walk.number(at + 2)
    looks = _LOOKS.get(kind)
    if port != GENEVE_PORT and not (looks and looks(walk, contents)):
        return ""
    walk.enter("Geneve")
    walk.take(contents - at)
    return after_type(kind)


def _is_frame(walk: Walk, at: int) -> bool:
    """Return whether an Ethernet frame with a supported payload may begin at ``at``."""
    if walk.stop < at + 15:
        return False
    kind = walk.number(at + 12)
    looks = _LOOKS.get(kind)
    return looks(walk, at + 14) if looks and looks is not _is_frame else kind in ETHER_TYPES


def _is_ipv4(walk: Walk, at: int) -> bool:
    return walk.buffer[at : at + 1] in _IPV4


def _is_ipv6(walk: Walk, at: int) -> bool:
    return walk.stop > at and walk.buffer[at] >> 4 == 6


_LOOKS: dict[int, Callable[[Walk, int], bool]] = {0x0800: _is_ipv4, 0x86DD: _is_ipv6, 0x6558: _is_frame}
