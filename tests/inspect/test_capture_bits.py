"""Files of captures cut off at every byte, and with every bit changed that belongs to no packet: all that is read and
told."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_inspect.capture import Broken
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import Packet
from kwire_inspect.storage import places
from tests.support.capture_files import (
    ACK,
    ALICE,
    BROKER,
    COOKED,
    EPOCH,
    ETHERNET,
    RAW,
    TcpPacket,
    block,
    frame,
    ip_packet,
    option,
    write_pcap,
    write_pcapng,
)

_NUMBERS = re.compile(
    r"at [-+.\de]+ s|such as [-+.\de]+|only \d+ of \d+|\(\d+ packets|\d+ bytes|size \d+|interface \d+"
    r"|link type \d+( \(.*?\))?|0x[0-9a-f]+|bytes are .*"
)
SENT = [TcpPacket(EPOCH + number / 4, ALICE, BROKER, ACK, 7, 9, b"packet %d" % number) for number in range(4)]


def little(path: Path) -> bytes:
    return write_pcap(path, SENT[:3]).read_bytes()


def big(path: Path) -> bytes:
    return write_pcap(path, SENT[:3], order=">", nanoseconds=True, link=RAW).read_bytes()


def sections(path: Path, order: str, other: str) -> bytes:
    """Two interfaces with options, a packet of each, dropped packets; then a section of the other order with the two
    kinds of packets that are rare."""
    write_pcapng(
        path, SENT[:2], links=[ETHERNET, COOKED], order=order, resolution=9, offset=1_600_000_000, snaplen=90
    )
    drops = struct.pack(order + "III", 1, 0, 0) + option(5, struct.pack(order + "Q", 3), order)
    first = path.read_bytes() + block(5, drops + option(0, b""), order)
    start = write_pcapng(path, SENT[2:3], links=[RAW], order=other, simple=True, snaplen=60).read_bytes()
    ip, ticks = ip_packet(SENT[3]), round(SENT[3].time * 10**6)
    old = struct.pack(other + "HHIIII", 0, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(ip), len(ip)) + ip
    return first + start + block(2, old, other)


FILES: dict[str, Callable[[Path], bytes]] = {
    "pcap": little,
    "pcap of the other order": big,
    "pcapng": lambda path: sections(path, "<", ">"),
    "pcapng of the other order": lambda path: sections(path, ">", "<"),
}


class Told:
    """What becomes of files, which are in memory, and are read some bytes at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data = b""
        self._patch = monkeypatch
        monkeypatch.setattr(places, "opened", lambda *_, **__: io.BufferedReader(io.BytesIO(self.data)))

    def __call__(self, data: bytes, chunk: int = 1 << 17) -> str:
        """The numbers of the packets that are read, what differs of them, and what is told of the file."""
        self.data = data
        self._patch.setattr(places, "CHUNK", chunk)
        return "; ".join(_packet(one) if isinstance(one, Packet) else self._problem(one) for one in file_packets("a"))

    def _problem(self, one: Broken) -> str:
        sizes = f" ({one.packets} packets, {one.unread} bytes)" if one.packets or one.unread else ""
        rest = f" {len(self.data) - one.position} bytes"
        return f"{one.position}: {one.reason.removesuffix(rest)}{sizes}"


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


def _packet(packet: Packet) -> str:
    number = packet.data.decode("latin-1").removeprefix("packet ")
    expected = SENT[int(number)].time if number in set("0123") else None
    text = number if expected is not None else f"a packet of {packet.data!r}"
    text += "" if packet.time == expected else f" at {packet.time - EPOCH:+.10g} s"
    return f"{text} without {packet.missing} bytes" if packet.missing else text


def runs(outcomes: Iterator[tuple[str, str]]) -> Iterator[str]:
    """One line for neighbours whose outcome is the same but for numbers: that of the first."""
    for _, group in groupby(outcomes, key=lambda one: _NUMBERS.sub("", one[1])):
        (first, what), *others = group
        yield f"{first}–{others[-1][0]}: {what}" if others else f"{first}: {what}"


@pytest.mark.parametrize("name", FILES)
def test_files_cut_off_at_every_byte(tmp_path: Path, told: Told, name: str, snapshot: SnapshotAssertion) -> None:
    """The last line is the whole file."""
    data = FILES[name](tmp_path / "a")
    assert "\n".join(runs((str(end), told(data[:end])) for end in range(len(data) + 1))) == snapshot


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES][:3])
def test_files_with_one_wrong_bit(tmp_path: Path, told: Told, name: str, snapshot: SnapshotAssertion) -> None:
    """By byte and bit. It makes no difference how many bytes are read at a time."""
    data = FILES[name](tmp_path / "a")
    links = (ETHERNET, COOKED, RAW)
    inside = {at for packet in SENT for link in links for at in _places(data, frame(packet, link))}

    def changed() -> Iterator[tuple[str, str]]:
        for at in range(len(data)):
            for bit in range(7, -1, -1) if at not in inside else range(0):
                wrong = bytearray(data)
                wrong[at] ^= 1 << bit
                outcome = told(bytes(wrong))
                assert told(bytes(wrong), 41) == outcome
                yield f"{at}.{bit}", outcome

    whole = told(data)
    assert "\n".join(line for line in runs(changed()) if not line.endswith(f": {whole}")) == snapshot


def _places(data: bytes, part: bytes) -> range:
    start = data.find(part)
    return range(start, start + len(part)) if start >= 0 else range(0)
