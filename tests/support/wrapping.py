"""Packets in tunnels, after tags and in fragments, as networks make them, for tests.

A wrapping takes what the link would carry, an IP packet, and returns a frame of Ethernet, or several::

    write_frames(path, ((packet.time, frame) for packet in packets(talk) for frame in vxlan(ip_packet(packet))))
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address
from pathlib import Path

MACS = bytes.fromhex("02000000000a02000000000b")
OUTER = ip_address("192.0.2.1").packed + ip_address("192.0.2.2").packed
OUTER6 = ip_address("2001:db8:f::1").packed + ip_address("2001:db8:f::2").packed

Wrap = Callable[[bytes], bytes]


def write_frames(path: Path, frames: Iterable[tuple[float, bytes]], *, link: int = 1, snaplen: int = 1 << 18) -> Path:
    """A pcap file of times and frames."""
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, link)]
    for time, frame in frames:
        seconds, micros = divmod(round(time * 10**6), 10**6)
        kept = frame[:snaplen]
        parts += [struct.pack("<IIII", seconds, micros, len(kept), len(frame)), kept]
    path.write_bytes(b"".join(parts))
    return path


def version(ip: bytes) -> int:
    return ip[0] >> 4


def ether_type(ip: bytes) -> bytes:
    return b"\x86\xdd" if version(ip) == 6 else b"\x08\0"


def ethernet(ip: bytes, tags: bytes = b"") -> bytes:
    return MACS + tags + ether_type(ip) + ip


def ipv4(protocol: int, data: bytes, *, options: bytes = b"", fragment: int = 0x4000, number: int = 0) -> bytes:
    head = struct.pack(
        ">BBHHHBBH",
        *(0x45 + len(options) // 4, 0, 20 + len(options) + len(data), number, fragment, 64, protocol, 0),
    )
    return head + OUTER + options + data


def ipv6(protocol: int, data: bytes) -> bytes:
    return struct.pack(">IHBB", 6 << 28, len(data), protocol, 64) + OUTER6 + data


def udp(port: int, data: bytes) -> bytes:
    return struct.pack(">HHHH", 50_000, port, 8 + len(data), 0) + data


def gre(kind: int, data: bytes, *, checksum: bool = False, key: bool = False, sequence: bool = False) -> bytes:
    flags = checksum << 15 | key << 13 | sequence << 12
    return struct.pack(">HH", flags, kind) + bytes(4 * (checksum + key + sequence)) + data


def gre_of(ip: bytes, **flags: bool) -> bytes:
    return ipv4(47, gre(int.from_bytes(ether_type(ip), "big"), ip, **flags))


def vxlan(frame: bytes, *, port: int = 4789, flags: int = 8, reserved: int = 0) -> bytes:
    return udp(port, struct.pack(">BBHI", flags, 0, reserved, 77 << 8) + frame)


def geneve(kind: int, data: bytes, *, port: int = 6081, options: bytes = b"") -> bytes:
    return udp(port, struct.pack(">BBHI", len(options) // 4, 0, kind, 77 << 8) + options + data)


def labels(*numbers: int) -> bytes:
    """A stack of MPLS."""
    return b"".join(
        struct.pack(">I", number << 12 | (place == len(numbers)) << 8 | 64) for place, number in enumerate(numbers, 1)
    )


def erspan2(frame: bytes) -> bytes:
    return ipv4(47, gre(0x88BE, struct.pack(">HHI", 0x1007, 9, 5) + frame, sequence=True))


def erspan3(frame: bytes, *, kind: int = 0, more: bytes = b"") -> bytes:
    head = struct.pack(">HHIHH", 0x2007, 9, 12345, 0, kind << 10 | bool(more))
    return ipv4(47, gre(0x22EB, head + more + frame, sequence=True))


def ppp(ip: bytes) -> bytes:
    return (b"\0\x57" if version(ip) == 6 else b"\0\x21") + ip


def pppoe(data: bytes) -> bytes:
    return MACS + b"\x88\x64\x11\0" + struct.pack(">HH", 3, len(data)) + data


def fragments(ip: bytes, size: int, *, number: int = 1) -> list[bytes]:
    """An IP packet in fragments of ``size`` bytes, a multiple of 8, and perhaps fewer in the last."""
    if version(ip) == 4:
        data = ip[20:]
    else:
        data = ip[40:]
    if len(data) <= size:
        return [ip]
    made = []
    for at in range(0, len(data), size):
        more, part = at + size < len(data), data[at : at + size]
        if version(ip) == 4:
            head = struct.pack(">BBHHH", ip[0], 0, 20 + len(part), number, more << 13 | at // 8)
            made.append(head + ip[8:20] + part)
        else:
            part = struct.pack(">BBHI", ip[6], 0, at | more, number) + part
            made.append(ip[:4] + struct.pack(">HB", len(part), 44) + ip[7:40] + part)
    return made


TAG = b"\x81\0\0\x07"

WRAPPINGS: dict[str, Wrap] = {
    "Ethernet": ethernet,
    "802.1Q": lambda ip: ethernet(ip, TAG),
    "802.1ad": lambda ip: ethernet(ip, b"\x88\xa8\0\x08" + TAG),
    "0x9100": lambda ip: ethernet(ip, b"\x91\0\0\x08" + TAG),
    "three tags": lambda ip: ethernet(ip, b"\x88\xa8\0\x08\x92\0\0\x09" + TAG),
    "802.3 with SNAP": lambda ip: MACS + struct.pack(">H", 8 + len(ip)) + b"\xaa\xaa\3\0\0\0" + ether_type(ip) + ip,
    "802.3 with SNAP of bridges": lambda ip: (
        MACS + struct.pack(">H", 8 + len(ip)) + b"\xaa\xaa\3\0\0\xf8" + ether_type(ip) + ip
    ),
    "VXLAN": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip)))),
    "VXLAN on another port": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip), port=14_789))),
    "VXLAN with a policy": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip), flags=0x88, reserved=5))),
    "VXLAN with the flags of VXLAN-GPE": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip), flags=12))),
    "VXLAN of Linux with a policy": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip), port=8472, flags=0x88))),
    "VXLAN over IPv6": lambda ip: ethernet(ipv6(17, vxlan(ethernet(ip)))),
    "VXLAN with tags": lambda ip: ethernet(ipv4(17, vxlan(ethernet(ip, TAG), port=8472)), TAG),
    "VXLAN-GPE": lambda ip: ethernet(
        ipv4(17, udp(4790, struct.pack(">BBBBI", 12, 0, 0, 2 if version(ip) == 6 else 1, 77 << 8) + ip))
    ),
    "VXLAN-GPE with Ethernet": lambda ip: ethernet(ipv4(17, udp(4790, b"\x0c\0\0\3\0\0\x4d\0" + ethernet(ip)))),
    "Geneve": lambda ip: ethernet(ipv4(17, geneve(0x6558, ethernet(ip)))),
    "Geneve with options": lambda ip: ethernet(ipv4(17, geneve(0x6558, ethernet(ip), options=bytes(12)))),
    "Geneve on another port": lambda ip: ethernet(ipv4(17, geneve(0x6558, ethernet(ip), port=16_081))),
    "Geneve with IP": lambda ip: ethernet(ipv4(17, geneve(int.from_bytes(ether_type(ip), "big"), ip))),
    "GRE": lambda ip: ethernet(gre_of(ip)),
    "GRE with a key": lambda ip: ethernet(gre_of(ip, key=True)),
    "GRE with everything": lambda ip: ethernet(gre_of(ip, checksum=True, key=True, sequence=True)),
    "GRE over IPv6": lambda ip: ethernet(ipv6(47, gre(int.from_bytes(ether_type(ip), "big"), ip))),
    "GRE with Ethernet": lambda ip: ethernet(ipv4(47, gre(0x6558, ethernet(ip), key=True))),
    "GRE of PPTP": lambda ip: ethernet(
        ipv4(47, struct.pack(">HHHHI", 0x3001, 0x880B, 0, 5, 1) + b"\xff\3" + ppp(ip))
    ),
    "GRE of PPTP with an acknowledgement": lambda ip: ethernet(
        ipv4(47, struct.pack(">HHHHII", 0x3081, 0x880B, 0, 5, 1, 2) + b"\xff\3" + ppp(ip))
    ),
    "ERSPAN I": lambda ip: ethernet(ipv4(47, gre(0x88BE, ethernet(ip)))),
    "ERSPAN II": lambda ip: ethernet(erspan2(ethernet(ip))),
    "ERSPAN III": lambda ip: ethernet(erspan3(ethernet(ip))),
    "ERSPAN III with a subheader": lambda ip: ethernet(erspan3(ethernet(ip), more=bytes(8))),
    "ERSPAN III with IP": lambda ip: ethernet(erspan3(ip, kind=2)),
    "IP in IPv4": lambda ip: ethernet(ipv4(41 if version(ip) == 6 else 4, ip)),
    "IP in IPv6": lambda ip: ethernet(ipv6(41 if version(ip) == 6 else 4, ip)),
    "EtherIP": lambda ip: ethernet(ipv4(97, b"\x30\0" + ethernet(ip))),
    "IPv4 with options": lambda ip: ethernet(ipv4(41 if version(ip) == 6 else 4, ip, options=bytes(8))),
    "IPv6 with extensions": lambda ip: ethernet(
        ipv6(0, b"\x3c\0" + bytes(6) + b"\x2b\1" + bytes(14) + bytes([41 if version(ip) == 6 else 4]) + bytes(7) + ip)
    ),
    "IPv6 with other extensions": lambda ip: ethernet(
        ipv6(
            135, b"\x8b\0" + bytes(6) + b"\x8c\1" + bytes(14) + bytes([41 if version(ip) == 6 else 4]) + bytes(7) + ip
        )
    ),
    "authentication header": lambda ip: ethernet(
        ipv4(51, bytes([41 if version(ip) == 6 else 4, 4]) + bytes(22) + ip)
    ),
    "MPLS": lambda ip: MACS + b"\x88\x47" + labels(16) + ip,
    "MPLS of three labels": lambda ip: MACS + b"\x88\x47" + labels(16, 17, 18) + ip,
    "MPLS with Ethernet": lambda ip: MACS + b"\x88\x47" + labels(16, 17) + ethernet(ip),
    "MPLS with an address like IPv4": lambda ip: (
        MACS + b"\x88\x47" + labels(16) + b"\x45\0\xff\xff\0\1" + ethernet(ip)[6:]
    ),
    "MPLS with an address like IPv6": lambda ip: (
        MACS + b"\x88\x47" + labels(16) + b"\x60\0\0\0\xff\xff" + ethernet(ip)[6:]
    ),
    "MPLS with a control word": lambda ip: MACS + b"\x88\x48" + labels(16, 17) + bytes(4) + ethernet(ip),
    "MPLS in UDP": lambda ip: ethernet(ipv4(17, udp(6635, labels(16) + ip))),
    "MPLS in GRE": lambda ip: ethernet(ipv4(47, gre(0x8847, labels(16) + ip))),
    "PPPoE": lambda ip: pppoe(ppp(ip)),
    "PPPoE with MPLS": lambda ip: pppoe(b"\x02\x81" + labels(16) + ip),
    "PPPoE with a short protocol": lambda ip: pppoe(ppp(ip)[1:]),
    "VXLAN in GRE in IPv6": lambda ip: ethernet(
        ipv6(47, gre(0x0800, ipv4(17, vxlan(ethernet(ip, TAG))), sequence=True)), TAG
    ),
}
"""How a packet of IP stands in a frame of Ethernet."""

LINKS: dict[str, tuple[int, Wrap]] = {
    "PPP": (9, ppp),
    "PPP with HDLC": (50, lambda ip: b"\xff\3" + ppp(ip)),
    "PPPoE": (51, lambda ip: pppoe(ppp(ip))[14:]),
    "Cisco HDLC": (104, lambda ip: b"\x0f\0" + ether_type(ip) + ip),
    "MPLS": (219, lambda ip: labels(16) + ip),
    "cooked with VXLAN": (113, lambda ip: bytes(14) + b"\x08\0" + ipv4(17, vxlan(ethernet(ip)))),
    "cooked with SNAP": (113, lambda ip: bytes(14) + b"\0\4\xaa\xaa\3\0\0\0" + ether_type(ip) + ip),
    "cooked 2 with a tag": (276, lambda ip: b"\x81\0" + bytes(18) + TAG[2:] + ether_type(ip) + ip),
    "cooked 2 with GRE": (276, lambda ip: b"\x08\0" + bytes(18) + gre_of(ip)),
    "loopback with IP in IP": (0, lambda ip: b"\2\0\0\0" + ipv4(41 if version(ip) == 6 else 4, ip)),
    "raw with Geneve": (101, lambda ip: ipv4(17, geneve(0x6558, ethernet(ip)))),
}
"""The same for links other than Ethernet: the number of the link, and the wrapping."""


def nested(ip: bytes, kinds: Sequence[str]) -> bytes:
    """A packet in several wrappings, the first the innermost: each is that of an Ethernet frame."""
    frame = WRAPPINGS[kinds[0]](ip) if kinds else ethernet(ip)
    for kind in kinds[1:]:
        frame = WRAPPINGS[kind](ipv4(47, gre(0x6558, frame)))
    return frame
