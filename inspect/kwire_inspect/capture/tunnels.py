"""The headers of tunnels: GRE with ERSPAN, VXLAN, Geneve, EtherIP. Those of IP in IP are IP's own."""

from __future__ import annotations

from collections.abc import Callable

from kwire_inspect.capture.walk import ETHER_TYPES, UnreadError, Walk, after_type

VXLAN_PORTS, VXLAN_GPE_PORT, GENEVE_PORT, MPLS_PORT = {4789, 8472}, 4790, 6081, 6635
INSTANCE, GPE = 0x08, 0x04
"""Flags of VXLAN: the network's number is valid; the last reserved byte says which protocol follows."""
GPE_PROTOCOLS = {1: "ipv4", 2: "ipv6", 3: "ethernet"}
CARRYING_PORTS = {1701: "L2TP", 2152: "GTP", 3544: "Teredo", 4500: "ESP", 4754: "GRE", 5247: "CAPWAP", 6080: "GUE"}
"""Ports of UDP, by IANA's registry, whose packets may contain others and are not read."""
WIREGUARD = {b"\1\0\0\0", b"\2\0\0\0", b"\3\0\0\0", b"\4\0\0\0"}
WIREGUARD_PORT = 51820

CHECKSUM, ROUTING, KEY, SEQUENCE, ACKNOWLEDGED = 0x8000, 0x4000, 0x2000, 0x1000, 0x0080
"""Flags of GRE."""
IP_IN_ERSPAN = 2
"""What is mirrored, in ERSPAN III, if it is not Ethernet."""


def gre(walk: Walk) -> str:
    """[RFC 2784, RFC 2890]; version 1 is that of PPTP [RFC 2637]."""
    walk.enter("GRE")
    at = walk.take(4)
    flags, kind = walk.number(at), walk.number(at + 2)
    if flags & ROUTING or flags & 7 > 1:
        raise UnreadError("GRE of an unknown kind", hidden=True)
    acknowledged = ACKNOWLEDGED if flags & 7 else 0
    walk.take(4 * sum(1 for flag in (CHECKSUM, KEY, SEQUENCE, acknowledged) if flags & flag))
    if kind == 0x88BE and not flags & SEQUENCE:
        return "ethernet"  # ERSPAN I has no header of its own
    if not kind or walk.at >= walk.end:
        raise UnreadError("GRE without contents")
    return after_type(kind)


def erspan(walk: Walk) -> str:
    """ERSPAN II [draft-foschiano-erspan]."""
    at = walk.take(8)
    if walk.buffer[at] >> 4 != 1:
        raise UnreadError("ERSPAN of an unknown version", hidden=True)
    return "ethernet"


def erspan3(walk: Walk) -> str:
    """ERSPAN III [draft-foschiano-erspan]."""
    at = walk.take(12)
    if walk.buffer[at] >> 4 != 2:
        raise UnreadError("ERSPAN of an unknown version", hidden=True)
    kind = walk.number(at + 10)
    if kind & 1:
        walk.take(8)
    return "ip" if kind >> 10 & 31 == IP_IN_ERSPAN else "ethernet"


def etherip(walk: Walk) -> str:
    """[RFC 3378]"""
    walk.enter("EtherIP")
    walk.take(2)
    return "ethernet"


def udp(walk: Walk) -> str:
    """Tunnels in UDP are recognized by their headers on any port, and on their own ports by less of these."""
    at = walk.take(8)
    source, target = walk.number(at), walk.number(at + 2)
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
    """[RFC 7348, draft-ietf-nvo3-vxlan-gpe]"""
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
    """[RFC 8926]"""
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
    """Whether bytes look like a frame of Ethernet with something that is read."""
    if walk.stop < at + 15:
        return False
    kind = walk.number(at + 12)
    looks = _LOOKS.get(kind)
    return looks(walk, at + 14) if looks and looks is not _is_frame else kind in ETHER_TYPES


def _is_ipv4(walk: Walk, at: int) -> bool:
    return walk.buffer[at : at + 1] in _IPV4


def _is_ipv6(walk: Walk, at: int) -> bool:
    return walk.stop > at and walk.buffer[at] >> 4 == 6


_IPV4 = {bytes([0x40 | size]) for size in range(5, 16)}
_LOOKS: dict[int, Callable[[Walk, int], bool]] = {0x0800: _is_ipv4, 0x86DD: _is_ipv6, 0x6558: _is_frame}
