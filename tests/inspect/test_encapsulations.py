"""Packets in tunnels, fragments and after unusual headers: they count as bare ones do, once; nothing is silent."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire import is_native
from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Broken, Peer, Piece, read_pieces
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import LINKS as KNOWN_LINKS
from kwire_inspect.capture.packets import Packet
from kwire_inspect.capture.pcap import Report
from kwire_inspect.capture.unwrapping import (
    LAYERS,
    MAX_BYTES,
    MAX_DATAGRAMS,
    MAX_PACKET,
    MAX_RANGES,
    PATIENCE,
    Datagram,
    Fragments,
    Part,
    Unwrapper,
)
from kwire_inspect.capture.walk import MAX_TUNNELS, Walk
from kwire_inspect.connections import frame_batches
from kwire_inspect.reasons import CUT_IN_TUNNEL, FRAGMENTS_DIFFER, FRAGMENTS_LOST, NO_TCP, NOT_READ, SHORT
from tests.support.capture_files import (
    Conversation,
    TcpPacket,
    block,
    ip_packet,
    merged,
    option,
    packets,
    recorded,
)
from tests.support.effort import examples
from tests.support.wrapping import (
    LINKS,
    MACS,
    WRAPPINGS,
    erspan2,
    ethernet,
    fragments,
    geneve,
    gre,
    gre_of,
    ipv4,
    ipv6,
    labels,
    nested,
    pppoe,
    udp,
    vxlan,
    write_frames,
)

RECORDING = "librdkafka-on-4.1.1"
TALK = Conversation([(CLIENT, 0.0, b"question " * 300), (SERVER, 0.1, b"answer " * 400), (CLIENT, 0.2, b"bye")])
WHOLE = packets(TALK)
SIX = (Peer("2001:db8::1", 50412), Peer("2001:db8::9", 9092))

Frames = Iterable[tuple[float, bytes]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture.pcap"


@cache
def kafka(six: bool = False) -> list[TcpPacket]:
    """Real traffic, in packets that leave room for tunnels."""
    talks = recorded(RECORDING)
    if six:
        talks = [Conversation(one.segments, Peer("2001:db8::1", one.client.port), SIX[1]) for one in talks]
    return merged(packets(talk, size=1400) for talk in talks)


def wrapped(wrap: Callable[[bytes], bytes], made: Iterable[TcpPacket]) -> Iterator[tuple[float, bytes]]:
    return ((packet.time, wrap(ip_packet(packet))) for packet in made)


def exchanges(*files: Path) -> list[dict[str, Any]]:
    """The rows of EXCHANGES, without their places."""
    batches = frame_batches(read_pieces([str(file) for file in files]), table="exchanges")
    rows = [row for batch in batches for row in batch.to_pylist()]
    for row in rows:
        del row["source"], row["position"]
    return rows


@cache
def bare(folder: Path, six: bool = False) -> list[dict[str, Any]]:
    rows = exchanges(write_frames(folder / f"bare{six}", wrapped(ethernet, kafka(six))))
    assert len([row for row in rows if row["api"] and row["outcome"] == "answered"]) > 50
    return rows


def problems(*files: Path) -> dict[str, tuple[int, int]]:
    """The packets and bytes of every problem."""
    found = [one for one in read_pieces([str(file) for file in files]) if isinstance(one, Broken)]
    assert len({one.reason for one in found}) == len(found)
    return {one.reason: (one.packets, one.unread) for one in found}


def said(*files: Path) -> tuple[bytes, bytes]:
    """What either side said, as far as it was read."""
    pieces = [one for one in read_pieces([str(file) for file in files]) if isinstance(one, Piece)]
    client, server = (
        b"".join(one.data for one in pieces if one.direction == direction) for direction in (CLIENT, SERVER)
    )
    return client, server


SAID = TALK.said(CLIENT), TALK.said(SERVER)


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("kind", WRAPPINGS)
@pytest.mark.long
def test_what_is_wrapped_counts_as_if_it_were_not(path: Path, kind: str, six: bool) -> None:
    write_frames(path, wrapped(WRAPPINGS[kind], kafka(six)))
    assert exchanges(path) == bare(path.parent, six)
    assert problems(path) == {}


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("kind", LINKS)
def test_every_link_with_what_it_carries(path: Path, kind: str, six: bool) -> None:
    link, wrap = LINKS[kind]
    assert link in KNOWN_LINKS
    write_frames(path, wrapped(wrap, kafka(six)), link=link)
    assert exchanges(path) == bare(path.parent, six)
    assert problems(path) == {}


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
def test_a_packet_may_have_no_size(path: Path, six: bool) -> None:
    """Where the network card fills it in, its sender captures 0."""
    at = 4 if six else 2
    made = ((packet.time, ip_packet(packet)) for packet in kafka(six))
    write_frames(path, ((time, ethernet(ip[:at] + b"\0\0" + ip[at + 2 :])) for time, ip in made))
    assert exchanges(path) == bare(path.parent, six)


@pytest.mark.parametrize("kind", ["Ethernet", "VXLAN", "IP in IPv6"])
def test_the_same_packet_inside_and_outside_of_a_tunnel_counts_once(path: Path, kind: str) -> None:
    wraps = WRAPPINGS["GRE"], WRAPPINGS[kind]
    both = ((packet.time, wrap(ip_packet(packet))) for packet in kafka() for wrap in wraps)
    write_frames(path, both)
    assert exchanges(path) == bare(path.parent)


@pytest.mark.parametrize("delay", [0.05, 2.0, 100.0])
def test_two_mirrors_count_once(path: Path, delay: float) -> None:
    late = [(time + delay, frame) for time, frame in wrapped(WRAPPINGS["VXLAN"], kafka())]
    files = path, path.with_name("late.pcap")
    write_frames(files[0], wrapped(ethernet, kafka()))
    write_frames(files[1], late)
    assert exchanges(*files) == bare(path.parent)


def test_interfaces_of_pcapng_have_links_and_clocks_of_their_own(path: Path) -> None:
    kinds = [(link, unit, wrap) for (link, wrap), unit in (
        ((1, ethernet), 6), (LINKS["cooked with VXLAN"], 9), (LINKS["raw with Geneve"], 128 | 20)
    )]  # fmt: skip
    parts = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts += [block(1, struct.pack("<HHI", link, 0, 0) + option(9, bytes([unit]))) for link, unit, _ in kinds]
    for number, packet in enumerate(WHOLE):
        _, unit, wrap = kinds[number % 3]
        data, ticks = wrap(ip_packet(packet)), round(packet.time * ((2 if unit & 128 else 10) ** (unit & 127)))
        head = struct.pack("<IIIII", number % 3, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        parts.append(block(6, head + data))
    path.write_bytes(b"".join(parts))
    assert (said(path), problems(path)) == (SAID, {})
    found = [one.time for one in file_packets(str(path)) if isinstance(one, Packet)]
    assert found == pytest.approx([packet.time for packet in WHOLE], abs=1e-5)


def test_shares_are_those_of_the_packets_inside(path: Path) -> None:
    write_frames(path, wrapped(WRAPPINGS["VXLAN"], kafka()))
    parts = [[*map(repr, read_pieces([str(path)], share=(number, 3)))] for number in range(3)]
    assert all(parts)
    assert sorted(map(repr, read_pieces([str(path)]))) == sorted(text for part in parts for text in part)


@examples(1)
@given(st.lists(st.sampled_from(sorted(WRAPPINGS)), max_size=4), st.booleans())
def test_any_nesting_within_the_limit_is_read(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], six: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "nested.pcap"
    talk = Conversation(TALK.segments, *SIX) if six else TALK
    write_frames(path, wrapped(lambda ip: nested(ip, kinds), packets(talk, size=1000)))
    if problems(path):
        ((reason, (count, _)),) = problems(path).items()
        assert (count, "in 8 other tunnels" in reason) == (len(packets(talk, size=1000)), True)
        assert len(kinds) > 2
    else:
        assert said(path) == SAID


@pytest.mark.parametrize("depth", [MAX_TUNNELS, MAX_TUNNELS + 1])
def test_a_tunnel_too_deep_is_counted_and_named(path: Path, depth: int) -> None:
    def wrap(ip: bytes) -> bytes:
        for _ in range(depth):
            ip = gre_of(ip)
        return ethernet(ip)

    write_frames(path, wrapped(wrap, WHOLE))
    if depth == MAX_TUNNELS:
        assert (said(path), problems(path)) == (SAID, {})
    else:
        size = sum(len(wrap(ip_packet(packet))) for packet in WHOLE)
        assert problems(path) == {f"{NOT_READ}GRE in 8 other tunnels": (len(WHOLE), size)}


UNREAD = {
    "ESP (IP protocol 50)": ethernet(ipv4(50, bytes(60))),
    "an unknown protocol (IP protocol 200)": ethernet(ipv6(200, bytes(60))),
    "an unknown protocol (EtherType 0x1234)": MACS + b"\x12\x34" + bytes(50),
    "MACsec (EtherType 0x88e5)": MACS + b"\x88\xe5" + bytes(50),
    "ESP (UDP port 4500)": ethernet(ipv4(17, udp(4500, bytes(60)))),
    "WireGuard (UDP port 51820)": ethernet(ipv4(17, udp(51820, b"\4\0\0\0" + bytes(28)))),
    "L2TP (IP protocol 115)": ethernet(ipv4(115, bytes(60))),
    "unknown kind of GRE": ethernet(ipv4(47, b"\0\7\x08\0" + bytes(40))),
    "WCCP (EtherType 0x883e)": ethernet(ipv4(47, gre(0x883E, bytes(40)))),
    "VXLAN-GPE with protocol 9": ethernet(ipv4(17, udp(4790, b"\x0c\0\0\x09" + bytes(40)))),
    "unknown version of ERSPAN": ethernet(ipv4(47, gre(0x88BE, bytes(60), sequence=True))),
    "PPP protocol 0x00fd": pppoe(b"\0\xfd" + bytes(40)),
    "MPLS with neither IP nor Ethernet": MACS + b"\x88\x47" + labels(3) + b"\xff" * 40,
    "inconsistent IP headers": MACS + b"\x08\0" + bytes(40),
    "more than 64 headers": MACS + b"\x81\0\0\1" * 70 + b"\x08\0" + bytes(40),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_may_hide_packets_is_counted_and_named(path: Path, name: str) -> None:
    write_frames(path, [*wrapped(ethernet, WHOLE), (1.7e9, UNREAD[name]), (1.7e9, UNREAD[name])])
    assert said(path) == SAID
    assert problems(path) == {f"{NOT_READ}{name}": (2, 2 * len(UNREAD[name]))}


QUIET = {
    "ARP": MACS + b"\x08\x06" + bytes(46),
    "802.2 LLC": MACS + b"\0\x26" + b"\x42\x42\3" + bytes(35),
    "ICMP": ethernet(ipv4(1, bytes(8) + ip_packet(WHOLE[0]))),
    "ICMPv6": ethernet(ipv6(58, bytes(8))),
    "UDP port 53": ethernet(ipv4(17, udp(53, bytes(20)))),
    "empty GRE": ethernet(ipv4(47, gre(0, b""))),
    "PPP protocol 0xc021": pppoe(b"\xc0\x21" + bytes(40)),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_is_not_tcp_is_told_only_if_nothing_is(path: Path, name: str) -> None:
    write_frames(path, [*wrapped(ethernet, WHOLE), (1.7e9, QUIET[name])])
    assert problems(path) == {}
    write_frames(path, [(1.7e9, QUIET[name])] * 3)
    assert problems(path) == {f"{NO_TCP}: 3 {name}": (3, 0)}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (gre(0, b"keep-alive"), f"{NO_TCP}: 1 empty GRE"),
        (gre(0x0800, b""), f"{NO_TCP}: 1 empty GRE"),
        (gre(0x88BE, b"", sequence=True), f"{NO_TCP}: 1 empty GRE"),
        (gre(0x0800, b"\x10"), f"{NOT_READ}inconsistent IP headers"),
        (b"\x40\0\x08\0" + bytes(40), f"{NOT_READ}unknown kind of GRE"),
        (b"\0\2\x08\0" + bytes(40), f"{NOT_READ}unknown kind of GRE"),
        (b"\0\x80\x08\0" + ip_packet(WHOLE[3]), ""),
        (gre(0x22EB, b"\x10" + bytes(60), sequence=True), f"{NOT_READ}unknown version of ERSPAN"),
        (gre(0x88BE, b"\x20" + bytes(60), sequence=True), f"{NOT_READ}unknown version of ERSPAN"),
    ],
)
def test_what_gre_says_of_its_contents(path: Path, data: bytes, told: str) -> None:
    """An acknowledgement belongs to version 1 alone."""
    write_frames(path, [(1.7e9, ethernet(ipv4(47, data)))])
    assert [*problems(path)] == ([told] if told else [])


NUMBERS: dict[str, tuple[Callable[[int], bytes], dict[int, str], dict[int, str]]] = {
    "EtherType 0x{:04x}": (
        lambda number: MACS + number.to_bytes(2, "big") + bytes(50),
        {
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
        },
        {
            0x0600: "an unknown protocol",
            0x22F3: "TRILL",
            0x883E: "WCCP",
            0x88E5: "MACsec",
            0x88E7: "802.1ah",
            0x8903: "FabricPath",
            0x8909: "Cisco MetaData",
            0x8926: "VN-Tag",
            0x894F: "NSH",
        },
    ),
    "IP protocol {}": (
        lambda number: ethernet(ipv4(number, bytes(60))),
        {
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
        },
        {
            0: "an unknown protocol",
            44: "an unknown protocol",
            50: "ESP",
            55: "minimal encapsulation",
            94: "IPIP",
            98: "RFC 1241 encapsulation",
            108: "IPComp",
            115: "L2TP",
        },
    ),
    "UDP port {}": (
        lambda number: ethernet(ipv4(17, udp(number, bytes(60)))),
        {53: "UDP port 53", 49_999: "UDP port 49999", 50_001: "UDP port 50000", 51_820: "UDP port 50000"},
        {
            1701: "L2TP",
            2152: "GTP",
            3544: "Teredo",
            4500: "ESP",
            4754: "GRE",
            5247: "CAPWAP",
            6080: "GUE",
        },
    ),
}
"""How a frame with a number looks; what it is called where no TCP can follow, and where some may be hidden."""


@pytest.mark.parametrize("written", NUMBERS)
def test_protocols_have_the_names_of_their_numbers(path: Path, written: str) -> None:
    frame_of, quiet, hidden = NUMBERS[written]
    for number, name in quiet.items():
        write_frames(path, [(1.7e9, frame_of(number))])
        assert problems(path) == {f"{NO_TCP}: 1 {name}": (1, 0)}
    for number, name in hidden.items():
        write_frames(path, [(1.7e9, frame_of(number))])
        assert problems(path) == {f"{NOT_READ}{name} ({written.format(number)})": (1, len(frame_of(number)))}


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_tunnels_in_udp_are_named_in_both_directions(path: Path, kind: int) -> None:
    for port, name in ((51_820, "WireGuard"), (4500, "ESP")):
        there = udp(port, bytes([kind, 0, 0, 0]) + bytes(28))
        for data in (there, there[2:4] + there[:2] + there[4:]):
            write_frames(path, [(1.7e9, ethernet(ipv4(17, data)))])
            assert problems(path).keys() == {f"{NOT_READ}{name} (UDP port {port})"}


@pytest.mark.parametrize(
    ("link", "frame", "name"),
    [
        (1, pppoe(b"\x40\x01" + bytes(40)), "PPP protocol 0x4001"),
        (1, MACS + b"\x88\x64\x11\x09" + bytes(40), "PPPoE without a session"),
        (1, MACS + b"\x88\x47" + labels(3) + b"\x10" + bytes(40), "MPLS management"),
        (1, MACS + b"\0\x26" + b"\xaa\xaa\3\0\0\x0c" + bytes(35), "vendor-specific SNAP"),
        (104, b"\x8f\0\x80\x35" + bytes(14), "Cisco SLARP"),
        (113, bytes(14) + b"\0\3" + bytes(40), "cooked packets without an EtherType"),
        (276, b"\0\3" + bytes(58), "cooked packets without an EtherType"),
    ],
)
def test_what_belongs_to_the_link_is_named(path: Path, link: int, frame: bytes, name: str) -> None:
    write_frames(path, [(1.7e9, frame)], link=link)
    assert problems(path) == {f"{NO_TCP}: 1 {name}": (1, 0)}


def test_of_many_protocols_the_most_frequent_are_named(path: Path) -> None:
    ports = [port for port in range(1, 7) for _ in range(port)]
    write_frames(path, [(1.7e9, ethernet(ipv4(17, udp(port, bytes(20))))) for port in ports])
    assert problems(path) == {f"{NO_TCP}: 6 UDP port 6, 5 UDP port 5, 4 UDP port 4, 6 others": (21, 0)}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2, ""),
        (105, " (802.11)"),
        (119, " (802.11 with Prism headers)"),
        (127, " (802.11 with radiotap)"),
        (189, " (USB)"),
        (192, " (PPI)"),
        (195, " (802.15.4)"),
        (201, " (Bluetooth)"),
        (220, " (USB)"),
        (227, " (CAN)"),
        (239, " (NFLOG)"),
        (253, " (Netlink)"),
    ],
)
def test_a_link_that_is_not_supported_is_counted_and_named(path: Path, number: int, name: str) -> None:
    write_frames(path, wrapped(ethernet, WHOLE), link=number)
    size = sum(len(ethernet(ip_packet(packet))) for packet in WHOLE)
    assert problems(path) == {f"{NOT_READ}link type {number}{name}": (len(WHOLE), size)}


def test_what_a_mirror_cuts_off_is_missing(path: Path) -> None:
    def cut(ip: bytes) -> bytes:
        return ethernet(ipv4(17, vxlan(ethernet(ip)[:114])))

    write_frames(path, wrapped(cut, WHOLE))
    large = sum(len(packet.data) > 60 for packet in WHOLE)
    assert problems(path) == {CUT_IN_TUNNEL: (large, 0)}
    gaps = [one.size for one in read_pieces([str(path)]) if isinstance(one, Piece) and one.kind == "gap"]
    assert gaps == [len(packet.data) - 60 for packet in WHOLE if len(packet.data) > 60]


def test_what_a_snaplen_cuts_off_in_a_tunnel_is_missing(path: Path) -> None:
    write_frames(path, wrapped(WRAPPINGS["VXLAN"], WHOLE), snaplen=14 + 20 + 8 + 8 + 14 + 40 + 60)
    client, _ = said(path)
    assert client == TALK.said(CLIENT)[:60] + TALK.said(CLIENT)[1448:1508] + b"bye"
    missing = [one.missing for one in file_packets(str(path)) if isinstance(one, Packet)]
    assert missing == [max(len(packet.data) - 60, 0) for packet in WHOLE]
    write_frames(path, wrapped(WRAPPINGS["VXLAN"], WHOLE), snaplen=80)
    assert problems(path)[SHORT] == (len(WHOLE), 0)


def pieces_of(made: Iterable[TcpPacket], size: int, wrap: Callable[[bytes], bytes] = ethernet) -> Frames:
    return [
        (packet.time, wrap(part))
        for number, packet in enumerate(made)
        for part in fragments(ip_packet(packet), size, number=number)
    ]


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("size", [pytest.param(8, marks=pytest.mark.slow), 40, 800])
@pytest.mark.parametrize("wrap", [ethernet, lambda ip: ethernet(erspan2(ethernet(ip)))], ids=["bare", "ERSPAN"])
@pytest.mark.long
def test_fragments_count_as_whole_packets(path: Path, size: int, six: bool, wrap: Callable[[bytes], bytes]) -> None:
    write_frames(path, pieces_of(kafka(six), size, wrap))
    assert exchanges(path) == bare(path.parent, six)
    assert problems(path) == {}
    parts = [list(read_pieces([str(path)], share=(number, 2))) for number in range(2)]
    assert not [one for part in parts for one in part if isinstance(one, Broken)]


def test_a_tunnel_in_fragments(path: Path) -> None:
    whole = [(packet.time, ipv4(17, vxlan(ethernet(ip_packet(packet))), number=n)) for n, packet in enumerate(WHOLE)]
    frames = [(time, ethernet(part)) for n, (time, ip) in enumerate(whole) for part in fragments(ip, 600, number=n)]
    write_frames(path, frames)
    assert (said(path), problems(path)) == (SAID, {})


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
def test_fragments_in_any_order_and_twice(path: Path, six: bool) -> None:
    sent = packets(Conversation(TALK.segments, *SIX) if six else TALK)
    frames = []
    for number, packet in enumerate(sent):
        parts = fragments(ip_packet(packet), 104, number=number)
        doubled = parts[:-1] * 2 + parts[-1:] if len(parts) > 1 else parts
        random.Random(number).shuffle(doubled)
        frames += [(packet.time, ethernet(part)) for part in doubled]
    write_frames(path, frames)
    assert said(path) == SAID
    mirrored = [frame for frame in pieces_of(sent, 104) for _ in range(2)]
    write_frames(path, mirrored)
    assert (said(path), problems(path)) == (SAID, {})


def test_fragments_of_fragments_up_to_a_number() -> None:
    """A whole packet is needed of each of them, so that there are twice as many frames as in the one around it."""

    def frames(ip: bytes, depth: int) -> list[bytes]:
        if not depth:
            return [ethernet(ip)]
        parts = fragments(ip, len(ip) - 20 - (len(ip) - 21) % 8 - 1, number=depth)
        assert len(parts) == 2
        return [one for part in parts for one in frames(ipv4(4, part) if depth > 1 else part, depth - 1)]

    for depth, told in ((MAX_TUNNELS, []), (MAX_TUNNELS + 1, [f"{NOT_READ}fragments of fragments"])):
        report = Report("a.pcap")
        unwrapper = Unwrapper(report)
        found = list[Packet]()
        for frame in frames(ip_packet(WHOLE[3]), depth):
            found += unwrapper.add(frame, 0, len(frame), len(frame), "ethernet", 1.0, 0)
        assert [one.data for one in found] == ([] if told else [WHOLE[3].data])
        list(unwrapper.close())
        assert [one.reason for one in report.take()] == told


def test_of_many_packets_in_fragments_the_joined_ones_are_forgotten() -> None:
    waiting, walk = Fragments(), Walk(b"", 0, 0, 0, 0, b"12345678", 6)
    for number in range(MAX_DATAGRAMS):
        assert waiting.add(walk, Part(number, 0, 8, bytes(8), last=True), number, 1.0).whole
    assert waiting.add(walk, Part(0, 0, 8, bytes(8), last=True), 1, 1.0).repeated
    assert [waiting.add(walk, Part(number, 0, 8, bytes(8), last=False), 2, 1.0).repeated for number in (0, 1)] == [
        *(True, False)
    ]


def test_lost_fragments_are_counted_and_what_came_before_is_read(path: Path) -> None:
    frames = [
        ethernet(part) for n, packet in enumerate(WHOLE) for part in fragments(ip_packet(packet), 600, number=n)
    ]
    first = next(place for place, frame in enumerate(frames) if len(frame) > 600)
    write_frames(path, [(1.7e9 + n / 1000, frame) for n, frame in enumerate(frames) if n != first + 1])
    client, server = said(path)
    assert client == TALK.said(CLIENT)[:580] + TALK.said(CLIENT)[1448:]
    assert server == TALK.said(SERVER)
    assert problems(path) == {FRAGMENTS_LOST: (1, 0)}
    write_frames(path, [(1.7e9 + n * PATIENCE / 2, frame) for n, frame in enumerate(frames) if n != first])
    assert said(path) == (TALK.said(CLIENT)[1448:], TALK.said(SERVER))
    assert problems(path) == {FRAGMENTS_LOST: (1, 0)}


def test_fragments_that_contradict_each_other_are_counted_and_the_first_holds(path: Path) -> None:
    packet = WHOLE[3]
    parts = fragments(ip_packet(packet), 600)
    other = parts[0][:200] + b"?" * (len(parts[0]) - 200)
    parts = [parts[0], other, *parts[1:]]
    write_frames(path, [*wrapped(ethernet, WHOLE[:3]), *((packet.time, ethernet(part)) for part in parts)])
    assert said(path)[0] == packet.data
    assert problems(path) == {FRAGMENTS_DIFFER: (1, 0)}


def test_fragments_take_bounded_memory() -> None:
    report = Report("a.pcap")
    unwrapper = Unwrapper(report)
    large = ethernet(ipv4(6, bytes(1400), fragment=0x2000 | (MAX_PACKET - 1500) // 8))
    for number in range(3000):
        frame = large[:18] + struct.pack(">H", number) + large[20:]
        list(unwrapper.add(frame, 0, len(frame), len(frame), "ethernet", 1.0, 0))
        assert unwrapper.held <= 17 << 20
    holes = [ethernet(ipv4(6, bytes(8), fragment=0x2000 | 2 * at)) for at in range(4 * MAX_RANGES)]
    for hole in holes:
        list(unwrapper.add(hole, 0, len(hole), len(hole), "ethernet", 1.0, 0))
    list(unwrapper.close())
    (lost,) = report.take()
    assert (lost.reason, lost.packets) == (FRAGMENTS_LOST, 3000 + 4)


def joined(script: str) -> list[str]:
    """``7:8+16-3@2!``: the last fragment of packet 7, 16 bytes from 8 on, 3 of them not captured, at second 2. All
    are ``a`` in the first fragment, ``b`` in the next. Tells the packet of each."""
    waiting, told = Fragments(), []
    for place, token in enumerate(script.split()):
        found = re.fullmatch(r"(\d+):(\d+)\+(\d+)(?:-(\d+))?(?:@([\d.]+))?(!?)", token)
        assert found is not None
        number, at, size, cut, time = (float(one or 0) for one in (*found.groups()[:4], found[5] or 1))
        data = bytes([ord("a") + place]) * int(size - cut)
        walk = Walk(b"", 0, 0, 0, 1, b"12345678", 6)
        gone = [
            f"lost {one.key[2]} of {one.position}: {one.walk().buffer.decode()}" for one in waiting.given_up(time)
        ]
        one = waiting.add(walk, Part(int(number), int(at), int(size), data, bool(found[6])), place, time)
        text = f"{one.beginning.decode()} of {one.known_size} from {one.position}"
        flags = [name for name in ("whole", "differs", "repeated") if getattr(one, name)]
        told.append(" ".join([*gone, text, *flags, f"({waiting.held} wait)" if waiting.held else ""]).strip())
        assert (one.tunnels, one.joins, one.walk().tunnels) == (1, 1, 1)
    left = [f"lost {one.key[2]}: {one.walk().buffer.decode()}".strip() for one in waiting.given_up(float("inf"))]
    assert waiting.held == 0
    return [*told, *left]


@pytest.mark.parametrize(
    "script",
    [
        "7:0+8 7:8+8!",
        "7:8+3! 7:0+8",
        "7:0+8 8:0+8 8:8+2! 7:8+1!",
        "7:0+8 7:16+8 7:4+16 7:24+1!",
        "7:0+8 7:8+8-3 7:8+8!",
        "7:0+8@1 8:0+8@1.25 9:0+8@1.5 9:8+8@1.51 9:16+1@1.76!",
        "7:0+8@1 7:8+8@1! 7:0+8@1.5 7:8+8@1.5! 7:0+8@2.1",
        "7:0+8 7:16+8 7:32+8 8:8+8",
        "7:8+8! 7:24+8! 7:0+8",
    ],
)
def test_each_step_of_fragments(script: str, snapshot: SnapshotAssertion) -> None:
    """What is known of the packet of each, and what all of them hold: the first bytes of a place count."""
    assert "\n".join(joined(script)) == snapshot


@pytest.mark.parametrize(("count", "lost"), [(MAX_DATAGRAMS, []), (MAX_DATAGRAMS + 2, [1, 2])])
def test_so_many_packets_wait_for_fragments(count: int, lost: list[int]) -> None:
    waiting = Fragments()
    for number in range(1, count + 1):
        waiting.add(Walk(b"", 0, 0, 0, 0, b"12345678", 6), Part(number, 0, 8, bytes(8), last=False), number, 1.0)
    assert [one.position for one in waiting.given_up(1.0)] == lost
    assert waiting.held == 8 * MAX_DATAGRAMS


@pytest.mark.parametrize(("holes", "lost"), [(MAX_RANGES, []), (MAX_RANGES + 1, [2])])
def test_so_many_parts_of_the_last_packet_wait(holes: int, lost: list[int]) -> None:
    """The packet before it goes on waiting."""
    waiting = Fragments()
    walk = Walk(b"", 0, 0, 0, 0, b"12345678", 6)
    waiting.add(walk, Part(1, 0, 8, bytes(8), last=False), 1, 1.0)
    for number in range(holes):
        waiting.add(walk, Part(2, number * 16, 8, bytes(8), last=False), 2, 1.0)
    assert [one.position for one in waiting.given_up(1.0)] == lost
    assert [one.position for one in waiting.given_up(9.0)] == [1, *([] if lost else [2])]


def test_so_many_bytes_wait_for_fragments() -> None:
    """Of the packet that has waited longest, all are given up."""
    waiting, size = Fragments(), 1 << 15
    walk = Walk(b"", 0, 0, 0, 0, b"12345678", 6)
    for number in range(MAX_BYTES // size):
        waiting.add(walk, Part(number, 0, size, bytes(size), last=False), number, 1.0)
    assert [*waiting.given_up(1.0)] == []
    waiting.add(walk, Part(9999, 0, 1, b"x", last=False), 9999, 1.0)
    assert [one.position for one in waiting.given_up(1.0)] == [0]


class CountedFragments(Fragments):
    """Counts those that complete no packet, of which several may be of the same one."""

    def __init__(self) -> None:
        super().__init__()
        self.incomplete = 0

    def add(self, walk: Walk, part: Part, position: int, time: float) -> Datagram:
        datagram = super().add(walk, part, position, time)
        self.incomplete += not datagram.whole
        return datagram


def test_a_packet_has_no_more_bytes_than_ip_allows() -> None:
    datagram = Datagram((b"", 6, 1), 0, 0.0, 0, 1, repeated=False)
    datagram.add(Part(1, 0, 65_528, bytes(65_528), last=False))
    datagram.add(Part(1, 65_528, 1400, b"x" * 1400, last=True))
    assert datagram.whole
    assert (datagram.size, bytes(datagram.data)) == (MAX_PACKET, bytes(65_528) + b"x" * 7)


def test_a_fragment_that_comes_twice_waits_as_one_packet() -> None:
    report = Report("a.pcap")
    unwrapper = Unwrapper(report)
    part = ethernet(fragments(ip_packet(WHOLE[3]), 600)[1])
    for _ in range(2):
        assert not [*unwrapper.add(part, 0, len(part), len(part), "ethernet", 1.0, 0)]
    list(unwrapper.close())
    (lost,) = report.take()
    assert (lost.reason, lost.packets) == (FRAGMENTS_LOST, 1)


@pytest.mark.slow
@pytest.mark.skipif(is_native(), reason="classes in Python cannot inherit from native ones")
@examples(3)
@given(st.data())
def test_any_bytes_in_headers_are_one_thing_each(data: st.DataObject) -> None:
    """Every packet is found, waits as a fragment or is counted, and nothing raises."""
    kinds = [*WRAPPINGS.values(), *(wrap for _, wrap in LINKS.values())]
    layers = st.sampled_from(sorted({*LAYERS, "link type 9"} - {"protocol", "extension"}))
    report = Report("a.pcap")
    unwrapper = Unwrapper(report)
    unwrapper._fragments = joined = CountedFragments()
    added, found = data.draw(st.integers(1, 4)), 0
    for _ in range(added):
        frame = bytearray(data.draw(st.sampled_from(kinds))(ip_packet(data.draw(st.sampled_from(WHOLE)))))
        for at, new in data.draw(st.lists(st.tuples(st.integers(0, 120), st.binary(max_size=4)), max_size=4)):
            frame[at : at + len(new)] = new
        stop = data.draw(st.one_of(st.just(len(frame)), st.integers(0, len(frame))))
        layer = data.draw(st.one_of(st.just("ethernet"), layers))
        given = [*unwrapper.add(bytes(frame), 0, stop, len(frame), layer, 1.0, 0)]
        assert all(isinstance(one, Packet) for one in given)
        found += len(given)
    others = unwrapper.others.total()
    list(unwrapper.close())
    once = {CUT_IN_TUNNEL, FRAGMENTS_DIFFER, FRAGMENTS_LOST}
    counted = sum(
        one.packets for one in report.take() if one.reason not in once and not one.reason.startswith(NO_TCP)
    )
    assert found + others + counted + joined.incomplete == added


@pytest.mark.slow
@examples(2)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=8), st.sampled_from(sorted(KNOWN_LINKS)))
def test_random_packets_raise_nothing_and_none_is_silent(
    tmp_path_factory: pytest.TempPathFactory, frames: list[bytes], link: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "random.pcap"
    whole = [frame for frame in frames if frame]
    write_frames(path, [(1.7e9, frame) for frame in whole], link=link)
    seen = [*file_packets(str(path))]
    if whole and not any(isinstance(one, Packet) for one in seen):
        assert [one for one in seen if isinstance(one, Broken)]


@pytest.mark.parametrize(
    "data",
    [
        vxlan(MACS + b"\x08\0" + bytes(40), port=14_789),
        vxlan(MACS + b"\x08\0\x46", port=14_789)[:-1],
        vxlan(MACS + b"\x86\xdd\x45" + bytes(40), port=14_789),
        vxlan(MACS + b"\x12\x34\x45" + bytes(40), port=14_789),
        vxlan(ethernet(ip_packet(WHOLE[0])), port=14_789, flags=9),
        vxlan(ethernet(ip_packet(WHOLE[0])), port=14_789, flags=12),
        vxlan(ethernet(ip_packet(WHOLE[0])), port=14_789, reserved=1),
        geneve(0x0800, b"\x44" + bytes(40), port=14_789),
        geneve(0x86DD, b"\x45" + bytes(40), port=14_789),
        geneve(0x8847, labels(16) + ip_packet(WHOLE[0]), port=14_789),
        geneve(0x6558, MACS + b"\x08\0" + bytes(40), port=14_789),
        geneve(0x6558, MACS + b"\x08\0", port=14_789),
    ],
)
def test_what_is_like_a_tunnel_on_another_port_is_none(path: Path, data: bytes) -> None:
    """Unless a frame or packet follows that is as it should be."""
    write_frames(path, [(1.7e9, ethernet(ipv4(17, data)))])
    assert problems(path) == {f"{NO_TCP}: 1 UDP port 14789": (1, 0)}


@pytest.mark.parametrize("kind", [0x8847, 0x8100, 0x6558])
def test_a_frame_of_vxlan_on_another_port_may_have_any_type_that_is_read(path: Path, kind: int) -> None:
    data = vxlan(MACS + kind.to_bytes(2, "big") + b"?", port=14_789)
    write_frames(path, [(1.7e9, ethernet(ipv4(17, data)))])
    assert problems(path) == {f"{NOT_READ}inconsistent IP headers": (1, 65)}


def test_geneve_without_ip_is_told(path: Path) -> None:
    write_frames(path, [(1.7e9, ethernet(ipv4(17, geneve(0x1234, bytes(40)))))])
    assert list(problems(path)) == [f"{NOT_READ}an unknown protocol (EtherType 0x1234)"]


@pytest.mark.parametrize(
    ("later", "repeated"), [(0.0, True), (PATIENCE, True), (PATIENCE + 0.01, False), (3600, False)]
)
def test_the_number_of_a_packet_is_used_again_after_a_while(later: float, repeated: bool) -> None:
    waiting = Fragments()
    walk = Walk(b"", 0, 0, 0, 0, b"12345678", 6)
    assert waiting.add(walk, Part(7, 0, 8, bytes(8), last=True), 1, 100.0).whole
    again = waiting.add(walk, Part(7, 0, 8, bytes(8), last=False), 2, 100.0 + later)
    assert again.repeated == repeated


@pytest.mark.parametrize("size", [0, 10, 19])
@pytest.mark.parametrize("outer", [bytes, gre_of])
def test_a_total_length_that_is_impossible_cuts_nothing(
    path: Path, outer: Callable[[bytes], bytes], size: int
) -> None:
    """Network cards that cut packets for the system write 0."""

    def wrap(ip: bytes) -> bytes:
        return ethernet(outer(ip[:2] + struct.pack(">H", size) + ip[4:]))

    assert said(write_frames(path, wrapped(wrap, WHOLE))) == (TALK.said(CLIENT), TALK.said(SERVER))
