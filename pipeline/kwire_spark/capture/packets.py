"""Extracts TCP packets from frames in which TCP follows IP: Ethernet with tags, Linux cooked, loopback, raw.

The link types are listed at https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

from kwire.native import mypyc_attr

TCP = 6
FIN, SYN, RST, ACK = 1, 2, 4, 16
TYPES = {b"\x08\x00", b"\x86\xdd"}
TAGS = {b"\x81\x00", b"\x88\xa8", b"\x91\x00"}
FRAGMENTED = 0x3FFF
"""The bits of IPv4 that every fragment has one of: more follow, and where it belongs."""

PLAIN = 0x45
"""The first byte of an IPv4 header without options."""

_PLAIN = struct.Struct(">BxHxxHxBxx12sIIBB").unpack_from
"""The needed fields of IPv4 without options, and of TCP."""
_IPV6 = struct.Struct(">xxxxHB").unpack_from
_TCP = struct.Struct(">IIBB").unpack_from
_ENDS = struct.Struct(">HH").unpack_from


@mypyc_attr(serializable=True)
@dataclass(slots=True, eq=False)
class Packet:
    """A TCP packet, or the part of it that was captured.

    ``key`` is source address, target address, source port, target port, as in the packet; ``data`` is the captured
    part of the payload, ``missing`` the number of other bytes. ``source`` and ``position`` locate it in a file.
    """

    key: bytes
    time: float
    source: str
    position: int
    seq: int
    ack: int
    flags: int
    data: bytes
    missing: int = 0


def reverse(key: bytes) -> bytes:
    """The key of packets in the other direction."""
    half = len(key) // 2 - 2
    return key[half : 2 * half] + key[:half] + key[-2:] + key[-4:-2]


def ports_of(key: bytes) -> tuple[int, int]:
    """The ports of source and target."""
    source, target = _ENDS(key, len(key) - 4)
    return source, target


def packet(
    buffer: bytes, start: int, stop: int, length: int, network: Network, time: float, source: str, position: int
) -> Packet | None:
    """The TCP packet in ``buffer[start:stop]``, the captured part of ``length`` bytes; ``None`` if there is none
    right after IP: then ``unwrapping`` looks for it."""
    try:
        ip = network(buffer, start)
        if ip < 0 or ip >= stop:
            return None
        kind, size, fragment, protocol, key, seq, ack, offset, flags = _PLAIN(buffer, ip)
        at = ip + 20
        if kind != PLAIN or protocol != TCP:
            if kind >> 4 != 6:
                return None
            size, protocol = _IPV6(buffer, ip)
            if protocol != TCP:
                return None
            at, size, fragment, key = ip + 40, size + 40 if size else 0, 0, buffer[ip + 8 : ip + 44]
            seq, ack, offset, flags = _TCP(buffer, at + 4)
    except (IndexError, struct.error):
        return None
    if fragment & FRAGMENTED or at + 14 > stop:
        return None
    begin, end = at + (offset >> 4) * 4, start + length
    if size and ip + size < end:  # else the frame is padded, or the network card fills in the size
        end = ip + size
    data = buffer[begin : end if end < stop else stop]
    missing = end - begin - len(data)
    return Packet(key, time, source, position, seq, ack, flags, data, missing if missing > 0 else 0)


Network = Callable[[bytes, int], int]
"""Finds the IP packet in the frame at an offset of a buffer; -1 if there is none."""


def _typed(buffer: bytes, at: int) -> int:
    """The position after an EtherType at ``at`` and any VLAN tags [IEEE 802.1Q, 802.1ad]."""
    kind, at = buffer[at : at + 2], at + 2
    while kind in TAGS:
        kind, at = buffer[at + 2 : at + 4], at + 4
    return at if kind in TYPES else -1


def _ethernet(buffer: bytes, start: int) -> int:
    return start + 14 if buffer[start + 12 : start + 14] in TYPES else _typed(buffer, start + 12)


def _cooked(buffer: bytes, start: int) -> int:
    return _typed(buffer, start + 14)


def _cooked2(buffer: bytes, start: int) -> int:
    """The protocol comes first; its data, tags included, follows the header of 20 bytes."""
    kind = buffer[start : start + 2]
    if kind in TAGS:
        return _typed(buffer, start + 22)
    return start + 20 if kind in TYPES else -1


def _loopback(buffer: bytes, start: int) -> int:
    """Operating systems number the leading address family differently, so the IP version is read from the IP
    header."""
    return start + 4


def _raw(buffer: bytes, start: int) -> int:
    return start


def _other(buffer: bytes, start: int) -> int:
    """Links whose packets are always unwrapped."""
    return -1


class Link:
    """A link type: its ``layer`` in ``unwrapping``; how to find the IP packet, and where the addresses are if there
    are no tags and no options."""

    __slots__ = ("four", "layer", "network", "six")

    def __init__(self, layer: str, header: int = 0, network: Network = _other) -> None:
        self.layer = layer
        self.network = network
        self.four = header + 12
        self.six = header + 8


_LOOPBACK, _RAW, _PPP = Link("loopback", 4, _loopback), Link("ip", 0, _raw), Link("ppp")
LINKS = {
    0: _LOOPBACK,
    1: Link("ethernet", 14, _ethernet),
    9: _PPP,
    12: _RAW,
    14: _RAW,
    50: _PPP,
    51: Link("pppoe"),
    101: _RAW,
    104: Link("cisco_hdlc"),
    108: _LOOPBACK,
    113: Link("cooked", 16, _cooked),
    219: Link("mpls"),
    228: _RAW,
    229: _RAW,
    276: Link("cooked2", 20, _cooked2),
}
"""The supported link types by their number in files."""
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
"""Of some that are not supported."""


def link_of(number: int) -> Link:
    """The link type with this number; of one that is not supported, the layer has its name alone."""
    return LINKS.get(number) or Link(f"link type {number}" + (f" ({NAMES[number]})" if number in NAMES else ""))
