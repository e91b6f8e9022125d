"""The headers between a wire and IP: Ethernet with VLAN tags, LLC, Linux cooked, PPP, PPPoE, MPLS.

A layer is a function that reads its header and returns the name of the layer that follows.
"""

from __future__ import annotations

from kwire_inspect.capture.walk import ETHER_TYPES, PPP_PROTOCOLS, UnreadError, Walk, after_type

LLC_SNAP = b"\xaa\xaa\x03"
ETHERNET = 1
"""As pcap files number it."""
ETHERNET_IN_SNAP = {b"\0\0\0", b"\0\0\xf8"}
"""Organizations in SNAP whose protocols are EtherTypes [RFC 1042, IEEE 802.1H]."""
MIN_TYPE = 0x0600
"""A smaller number in the place of an EtherType is the size of what follows [IEEE 802.3]."""
PPP_CONTROL = 0x4000
"""PPP protocols from here on control the link."""


def ethernet(walk: Walk) -> str:
    """[IEEE 802.3]"""
    at = walk.take(14)
    return _typed(walk, at + 12)


def vlan(walk: Walk) -> str:
    """A tag, after its EtherType [IEEE 802.1Q]."""
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
    """[IEEE 802.2, RFC 1042]"""
    at = walk.take(3)
    if walk.buffer[at : at + 3] != LLC_SNAP:
        raise UnreadError("802.2 LLC")
    at = walk.take(5)
    if walk.buffer[at : at + 3] not in ETHERNET_IN_SNAP:
        raise UnreadError("SNAP of a vendor")
    return after_type(walk.number(at + 3))


def cooked(walk: Walk) -> str:
    """[LINKTYPE_LINUX_SLL]"""
    return _cooked(walk, walk.take(16) + 14)


def cooked2(walk: Walk) -> str:
    """[LINKTYPE_LINUX_SLL2]"""
    return _cooked(walk, walk.take(20))


def _cooked(walk: Walk, at: int) -> str:
    kind = walk.number(at)
    if kind >= MIN_TYPE:
        return after_type(kind)
    if kind == 0x0004:
        return "llc"
    raise UnreadError("cooked packets without an EtherType")


def loopback(walk: Walk) -> str:
    """Four bytes with an address family, which operating systems number differently."""
    walk.take(4)
    return "ip"


def cisco_hdlc(walk: Walk) -> str:
    """[LINKTYPE_C_HDLC]"""
    kind = walk.number(walk.take(4) + 2)
    if kind == 0x8035:
        raise UnreadError("Cisco SLARP")
    return after_type(kind)


def pppoe(walk: Walk) -> str:
    """A session [RFC 2516]."""
    walk.enter("PPPoE")
    at = walk.take(6)
    if walk.buffer[at : at + 2] != b"\x11\0":
        raise UnreadError("PPPoE without a session")
    size = walk.number(at + 4)
    walk.end = min(walk.end, walk.at + size)
    walk.stop = min(walk.stop, walk.end)
    return "ppp"


def ppp(walk: Walk) -> str:
    """The protocol, perhaps in one byte [RFC 1661], perhaps after address and control [RFC 1662]."""
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
    """A stack of labels [RFC 3032], and what follows, which nothing says: IP, or Ethernet with or without a control
    word [RFC 4385]."""
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
    """Whether bytes are the beginning of an IP packet of a size that fits."""
    buffer, room = walk.buffer, walk.end - at
    if buffer[at] >> 4 == 4:
        return buffer[at] & 15 >= 5 and (buffer[at] & 15) * 4 <= walk.number(at + 2) <= room
    return buffer[at] >> 4 == 6 and walk.number(at + 4) + 40 <= room
