"""The headers of IP, and what follows them: TCP, tunnels, or other fragments of the same packet."""

from __future__ import annotations

from kwire_inspect.capture.walk import UnreadError, Walk, after_protocol

HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, OPTIONS, MOBILITY, HIP, SHIM6 = 0, 43, 44, 51, 60, 135, 139, 140
EXTENSIONS = {HOP_BY_HOP, ROUTING, AUTHENTICATION, OPTIONS, MOBILITY, HIP, SHIM6}
MORE, DONT, OFFSET = 0x2000, 0x4000, 0x1FFF
"""Bits of the fragment field of IPv4."""
BAD = "IP headers that contradict themselves"


class FragmentError(Exception):
    """Not the end of a walk, but a fragment: of which packet, at which byte of it, and whether it is the last."""

    def __init__(self, number: int, at: int, *, last: bool) -> None:
        super().__init__(number, at)
        self.number, self.at, self.last = number, at, last


def ip(walk: Walk) -> str:
    """Whichever version the first byte says."""
    kind = walk.buffer[walk.take(1)] >> 4
    walk.at -= 1
    if kind not in (4, 6):
        raise UnreadError(BAD, hidden=True)
    return "ipv4" if kind == 4 else "ipv6"


def ipv4(walk: Walk) -> str:
    """[RFC 791]"""
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
    """[RFC 8200]"""
    _inside_of_ip(walk, "IPv6")
    at = walk.take(40)
    if walk.buffer[at] >> 4 != 6:
        raise UnreadError(BAD, hidden=True)
    if size := walk.number(at + 4):
        walk.ends_at(at + 40 + size)
    walk.ends, walk.protocol = walk.buffer[at + 8 : at + 40], walk.buffer[at + 6]
    return after_ip(walk)


def _inside_of_ip(walk: Walk, name: str) -> None:
    """Note a tunnel where IP follows another header of IP."""
    if walk.ends:
        walk.enter(name)


def after_ip(walk: Walk) -> str:
    """The layer that follows IP, its extensions included."""
    if walk.protocol == AUTHENTICATION or (walk.protocol in EXTENSIONS and len(walk.ends) > 8):
        return "extension"
    if walk.protocol == FRAGMENT and len(walk.ends) > 8:
        at = walk.take(8)
        walk.protocol, fragment = walk.buffer[at], walk.number(at + 2)
        if fragment & 0xFFF9:  # else it is alone
            number = int.from_bytes(walk.buffer[at + 4 : at + 8], "big")
            raise FragmentError(number, fragment & 0xFFF8, last=not fragment & 1)
        return "protocol"
    return after_protocol(walk.protocol)


def extension(walk: Walk) -> str:
    """An extension of IPv6 [RFC 8200], or the authentication header of either version [RFC 4302]."""
    kind, at = walk.protocol, walk.take(2)
    size = walk.buffer[at + 1]
    walk.protocol = walk.buffer[at]
    walk.take((size + 2) * 4 - 2 if kind == AUTHENTICATION else (size + 1) * 8 - 2)
    return after_ip(walk)
