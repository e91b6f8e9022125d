"""Extracts TCP packets from frames in which TCP follows IP: Ethernet with tags, Linux cooked, loopback, raw.

The link types are listed at https://www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from librt.strings import read_i64_be

from kwire.native import close_classes, i64, mypyc_attr

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
"""EtherTypes."""
TAGS: Final = (0x8100, 0x88A8, 0x9100)
"""EtherTypes of VLAN tags [IEEE 802.1Q, 802.1ad]."""
PLAIN: Final = 0x45
"""The first byte of an IPv4 header without options."""
FRAGMENTED: Final = 0x3F
"""The bits of the byte with IPv4's flags that only fragments have; the next byte is 0 in others, too."""
U32: Final = 0xFFFFFFFF

_ENDS = struct.Struct(">HH").unpack_from


@mypyc_attr(acyclic=True)
@dataclass(slots=True, eq=False, init=False)
class Packet:
    """A TCP packet, or the part of it that was captured.

    ``key`` is source address, target address, source port, target port, as in the packet; ``data`` is the captured
    part of the payload, ``missing`` the number of other bytes. ``source`` and ``position`` locate it in a file.
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
    """The key of packets in the other direction."""
    half = len(key) // 2 - 2
    return key[half : 2 * half] + key[:half] + key[-2:] + key[-4:-2]


def ports_of(key: bytes) -> tuple[int, int]:
    """The ports of source and target."""
    source, target = _ENDS(key, len(key) - 4)
    return source, target


def packet(
    buffer: bytes, start: i64, stop: i64, length: i64, link: Link, time: float, source: str, position: i64
) -> Packet | None:
    """The TCP packet in ``buffer[start:stop]``, the captured part of ``length`` bytes; ``None`` if there is none
    right after IP: then ``unwrapping`` looks for it."""
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
    if at <= ip + size < end:  # else nothing follows the packet, or the network card fills in the size
        end = ip + size
    data = buffer[begin : end if end < stop else stop]
    missing = end - begin - len(data)
    if missing < 0:
        missing = 0
    return Packet(key, time, source, position, numbers >> 32 & U32, numbers & U32, buffer[at + 13], data, missing)


@mypyc_attr(acyclic=True)
class Link:
    """A link type: its ``layer`` in ``unwrapping``; how many bytes its header has, and where in these its EtherType
    is, -1 if it has none. Packets of links whose ``header`` is -1 are always unwrapped.

    Operating systems number address families in loopback headers differently, so the IP version is read from the IP
    header.
    """

    __slots__ = ("header", "layer", "typed")

    def __init__(self, layer: str, header: i64 = -1, typed: i64 = -1) -> None:
        self.layer = layer
        self.header = header
        self.typed = typed

    def network(self, buffer: bytes, start: i64, stop: i64) -> i64:
        """Where the IP packet begins in the frame ``buffer[start:stop]``, after VLAN tags; -1 if there is none."""
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


close_classes()
