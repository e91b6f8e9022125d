"""Packets cut off at every byte, and with every bit of their headers changed: all that is read and told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.capture import Peer
from kwire_inspect.capture.packet_files import ALWAYS, NEVER, Sieve
from kwire_inspect.capture.packets import Packet, link_of, peers
from kwire_inspect.capture.pcap import Broken, Report
from kwire_inspect.reasons import NO_TCP, NOT_READ, SHORT
from tests.support.capture_files import ACK, ALICE, BROKER, PUSH, TcpPacket, ip_packet
from tests.support.wrapping import LINKS, WRAPPINGS, Wrap, ether_type

ASKED = TcpPacket(0.0, ALICE, BROKER, ACK | PUSH, 0x01020304, 0x05060708, b"question")
SIX = replace(ASKED, source=Peer("2001:db8::1", 50412), target=Peer("2001:db8::9", 9092))
SENT = {"IPv4": ASKED, "IPv6": SIX}
PLACE = 24
_ANY_NUMBER = re.compile(r"(?<=0x)[0-9a-f]{4}|(?<=IP protocol )\d+")
EVERY: dict[str, tuple[int, Wrap]] = {
    **{kind: (1, wrap) for kind, wrap in WRAPPINGS.items()},
    **{f"a link of {kind}": wrap for kind, wrap in LINKS.items()},
    "a loopback link": (0, lambda ip: b"\2\0\0\0" + ip),
    "a raw link": (101, lambda ip: ip),
    "a cooked link": (113, lambda ip: bytes(14) + ether_type(ip) + ip),
    "a cooked link 2": (276, lambda ip: ether_type(ip) + bytes(18) + ip),
}


def outcome(frame: bytes, kept: int, link: int, sent: TcpPacket) -> str:
    """What the reader makes of the first bytes of a frame, briefly if that is the packet that was sent, as far as it
    is there. Other bytes are before and after them."""
    report = Report("a.pcap")
    sieve = Sieve(report, frozenset(), ALWAYS, NEVER)
    before = b"\x45\0\6\x08\0\x86\xdd"
    sieve.take(before + frame + b"more", len(before), len(before) + kept, len(frame), PLACE, link_of(link), 1.5)
    found = [*sieve.taken(), *sieve.close()]
    cut = f"truncated packets: only {kept} of {len(frame)} bytes were captured here"
    told = []
    for one in found:
        if isinstance(one, Packet):
            assert (one.time, one.source, one.position) == (1.5, "a.pcap", PLACE)
            told.append(_differences(one, sent, len(frame) - kept))
        elif one.reason != cut:
            assert (one.source, one.position) == ("a.pcap", 0 if one.reason.startswith(NO_TCP) else PLACE)
            told.append(f"{_ANY_NUMBER.sub('…', one.reason)}{_sizes(one, len(frame))}")
    assert (cut in [one.reason for one in found if not isinstance(one, Packet)]) == (kept < len(frame))
    return "; ".join(told)


def _differences(packet: Packet, sent: TcpPacket, cut: int) -> str:
    rest = max(len(sent.data) - cut, 0)
    source, target = peers(packet.key)
    parts = [
        f"{name} {found!r}" if name in ("data", "missing") else name
        for name, found, expected in (
            ("source", source, sent.source),
            ("target", target, sent.target),
            ("seq", packet.seq, sent.seq),
            ("ack", packet.ack, sent.ack),
            ("flags", packet.flags, sent.flags),
            ("data", packet.data, sent.data[:rest]),
            ("missing", packet.missing, len(sent.data) - rest),
        )
        if found != expected
    ]
    return f"read with another {', '.join(parts)}" if parts else "read"


def runs(outcomes: list[tuple[str, str]]) -> Iterator[str]:
    """One line for neighbours with the same outcome."""
    for what, group in groupby(outcomes, key=lambda one: one[1]):
        places = [place for place, _ in group]
        yield f"{places[0]}–{places[-1]}: {what}" if len(places) > 1 else f"{places[0]}: {what}"


def _sizes(one: Broken, whole: int) -> str:
    """How much is told to be unread, unless it is one packet with all of its bytes if its contents are unknown."""
    expected = 1, whole if one.reason.startswith(NOT_READ) else 0
    return "" if (one.packets, one.unread) == expected else f" ({one.packets} packets, {one.unread} bytes)"


def changed(kind: str, name: str) -> Iterator[tuple[str, str]]:
    """The outcome of each packet of which one bit before the data is wrong, by byte and bit."""
    link, wrap = EVERY[kind]
    ip = ip_packet(SENT[name])
    frame = wrap(ip)
    inner = len(ip) - len(ASKED.data) if kind in WITH_IP else 0
    for at in range(len(frame) - len(ip) + inner):
        for bit in range(7, -1, -1):
            wrong = bytearray(frame)
            wrong[at] ^= 1 << bit
            yield f"{at}.{bit}", outcome(bytes(wrong), len(frame), link, SENT[name])


@pytest.mark.parametrize("name", [*SENT])
@pytest.mark.parametrize("kind", [*EVERY])
def test_packets_cut_off_at_every_byte(kind: str, name: str) -> None:
    """Data is read as far as it is there, from where the flags of TCP are; a packet without them is told to be cut.
    On ports that are not their own, tunnels are only recognized by a whole header and what follows it."""
    link, wrap = EVERY[kind]
    frame = wrap(ip_packet(SENT[name]))
    flags = len(frame) - len(ASKED.data) - 6
    for kept in range(1, len(frame) + 1):
        expected = SHORT if kept < flags else "read"
        if kind.endswith("another port") and 42 <= kept < 65:
            expected = f"{NO_TCP}: 1 UDP port {14789 if 'VXLAN' in kind else 16081}"
        assert outcome(frame, kept, link, SENT[name]) == expected, kept


WITH_IP = "Ethernet", "ERSPAN II", "IP in IPv6"
ALL_LAYERS = [
    *("Ethernet", "three tags", "802.3 with SNAP of bridges", "VXLAN with tags", "VXLAN on another port"),
    *("VXLAN-GPE", "Geneve with options", "Geneve on another port", "GRE with everything"),
    *("GRE of PPTP with an acknowledgement", "ERSPAN II", "ERSPAN III with a subheader", "EtherIP"),
    *("IPv4 with options", "IPv6 with extensions", "authentication header", "MPLS of three labels"),
    *("MPLS with a control word", "PPPoE", "a link of PPP with HDLC", "a link of Cisco HDLC"),
    *(
        "a raw link",
        "a cooked link 2",
        "a link of cooked with SNAP",
        "a link of cooked 2 with a tag",
        "a link of loopback with IP in IP",
    ),
]


@pytest.mark.parametrize(
    ("kind", "name"), [*((kind, "IPv4") for kind in ALL_LAYERS), ("Ethernet", "IPv6"), ("IP in IPv6", "IPv6")]
)
def test_packets_with_one_wrong_bit(kind: str, name: str, snapshot: SnapshotAssertion) -> None:
    """By byte and bit of the frame."""
    told = [line for line in runs([*changed(kind, name)]) if not line.endswith(": read")]
    assert "\n".join(told) == snapshot


@pytest.mark.parametrize("name", [*SENT])
@pytest.mark.parametrize("kind", ["Ethernet", "GRE"])
def test_packets_of_any_size_in_the_header_of_ip(kind: str, name: str, snapshot: SnapshotAssertion) -> None:
    """By size. Beyond the frame it says nothing, unless a tunnel may have cut the packet off."""
    link, wrap = EVERY[kind]
    at, ip = 2 if name == "IPv4" else 4, ip_packet(SENT[name])
    whole = int.from_bytes(ip[at : at + 2], "big")

    def sized(size: int) -> str:
        frame = wrap(ip[:at] + size.to_bytes(2, "big") + ip[at + 2 :])
        return outcome(frame, len(frame), link, SENT[name])

    assert "\n".join(runs([(str(size), sized(size)) for size in (*range(whole + 2), 65_535)])) == snapshot
