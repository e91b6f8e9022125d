"""Extracts TCP packets from link-layer frames: Ethernet with tags, Linux cooked, loopback, raw; IPv4 and IPv6.

The link types are listed at https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

TCP = 6
FIN, SYN, RST, ACK = 1, 2, 4, 16
TYPES = {b"\x08\x00", b"\x86\xdd"}
TAGS = {b"\x81\x00", b"\x88\xa8", b"\x91\x00"}
HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, OPTIONS, MOBILITY = 0, 43, 44, 51, 60, 135
EXTENSIONS = {HOP_BY_HOP, ROUTING, FRAGMENT, AUTHENTICATION, OPTIONS, MOBILITY}

PLAIN = 0x45
"""The first byte of an IPv4 header without options."""

_PLAIN = struct.Struct(">BxHxxHxBxx12sIIBB").unpack_from
"""The needed fields of IPv4 without options, and of TCP."""
_IPV6 = struct.Struct(">xxxxHB").unpack_from
_TCP = struct.Struct(">IIBB").unpack_from
_ENDS = struct.Struct(">HH").unpack_from


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


class IncompletePacketError(Exception):
    """A packet that may be a TCP packet but has incomplete headers."""


def packet(
    buffer: bytes, start: int, stop: int, length: int, network: Network, time: float, source: str, position: int
) -> Packet | None:
    """The TCP packet in ``buffer[start:stop]``, the captured part of ``length`` bytes; ``None`` for other protocols.

    Raises ``IncompletePacketError`` for a fragment other than the first, and if the headers were not fully captured.
    """
    try:
        ip = network(buffer, start)
        if ip < 0 or ip >= stop:
            return None
        kind, size, fragment, protocol, key, seq, ack, offset, flags = _PLAIN(buffer, ip)
        at = ip + 20
        if kind != PLAIN or protocol != TCP:
            if kind >> 4 == 4:
                at, fragment, key = _ipv4(buffer, ip)
            elif kind >> 4 == 6:
                at, size, fragment, key = _ipv6(buffer, ip, stop)
            else:
                return None
            if at < 0:
                return None
            seq, ack, offset, flags = _TCP(buffer, at + 4)
    except (IndexError, struct.error):
        if buffer[ip] >> 4 == 4 and ip + 9 < stop and buffer[ip + 9] != TCP:
            return None  # too small for a TCP header
        raise IncompletePacketError(_short(start, stop, length)) from None
    if fragment & 0x1FFF:
        raise IncompletePacketError("IP fragments are not reassembled: the contents of all but the first are missing")
    if at + 14 > stop:
        raise IncompletePacketError(_short(start, stop, length))
    begin, end = at + (offset >> 4) * 4, start + length
    if size and ip + size < end:  # else the frame is padded, or the network card fills in the size
        end = ip + size
    data = buffer[begin : end if end < stop else stop]
    missing = end - begin - len(data)
    return Packet(key, time, source, position, seq, ack, flags, data, missing if missing > 0 else 0)


def _short(start: int, stop: int, length: int) -> str:
    return f"only {stop - start} bytes of a packet of {length} were captured, fewer than its headers have"


def _ipv4(buffer: bytes, ip: int) -> tuple[int, int, bytes]:
    """The position of the TCP header after the options, -1 if there is none; the fragment offset; the key."""
    at = ip + (buffer[ip] & 15) * 4
    fragment = int.from_bytes(buffer[ip + 6 : ip + 8], "big")
    return (at if buffer[ip + 9] == TCP else -1), fragment, buffer[ip + 12 : ip + 20] + buffer[at : at + 4]


def _ipv6(buffer: bytes, ip: int, stop: int) -> tuple[int, int, int, bytes]:
    """The position of the TCP header after the extension headers, or -1; packet size; fragment offset; key [RFC
    8200]."""
    size, kind = _IPV6(buffer, ip)
    at, fragment = ip + 40, 0
    while kind in EXTENSIONS and at < stop and not fragment:
        following = buffer[at]
        if kind == FRAGMENT:
            fragment, length = int.from_bytes(buffer[at + 2 : at + 4], "big") >> 3, 8
        elif kind == AUTHENTICATION:
            length = (buffer[at + 1] + 2) * 4
        else:
            length = (buffer[at + 1] + 1) * 8
        kind, at = following, at + length
    key = buffer[ip + 8 : ip + 40] + buffer[at : at + 4]
    return (at if kind == TCP else -1), size + 40 if size else 0, fragment, key


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


class Link:
    """A link type: how to find the IP packet, and where the addresses are if there are no tags and no options."""

    __slots__ = ("four", "network", "six")

    def __init__(self, header: int, network: Network) -> None:
        self.network = network
        self.four = header + 12
        self.six = header + 8


LINKS = {
    0: Link(4, _loopback),
    1: Link(14, _ethernet),
    12: Link(0, _raw),
    14: Link(0, _raw),
    101: Link(0, _raw),
    108: Link(4, _loopback),
    113: Link(16, _cooked),
    228: Link(0, _raw),
    229: Link(0, _raw),
    276: Link(20, _cooked2),
}
"""The supported link types by their number in files."""
