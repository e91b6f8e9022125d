"""Capture files for tests: conversations become TCP packets, packets become pcap or pcapng.

    conversation = Conversation([("client", 0.0, b"question"), ("server", 0.1, b"answer")])
    write_pcap(path, packets(conversation))
    write_pcap(path, disturbed(packets(conversation, size=100), seed=1, loss=0.05), link=COOKED)
    write_pcap(path, merged(packets(one) for one in recorded("librdkafka-on-4.1.1")))

Checksums are zero: nothing here reads them.
"""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from ipaddress import ip_address
from pathlib import Path

from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Peer
from tests.e2e.capture import load

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
EPOCH = 1_700_000_000.0
"""When conversations begin whose times count from 0."""

FIN, SYN, RST, PUSH, ACK = 1, 2, 4, 8, 16
NULL, ETHERNET, RAW, LOOP, COOKED, IPV4, IPV6, COOKED2 = 0, 1, 101, 108, 113, 228, 229, 276
"""Link types, as files number them."""

ALICE, BROKER = Peer("10.0.0.1", 50412), Peer("10.0.0.9", 9092)

Segment = tuple[Direction, float, bytes]


@dataclass(frozen=True)
class Conversation:
    """Who said what on one connection, and when: seconds since ``EPOCH``, in order."""

    segments: Sequence[Segment]
    client: Peer = ALICE
    server: Peer = BROKER

    def said(self, direction: Direction) -> bytes:
        return b"".join(data for sender, _, data in self.segments if sender == direction)


@dataclass(frozen=True)
class TcpPacket:
    """One packet; ``cut`` bytes at its end are not in the file."""

    time: float
    source: Peer
    target: Peer
    flags: int
    seq: int
    ack: int
    data: bytes = b""
    cut: int = 0


def recorded(name: str) -> list[Conversation]:
    """The connections of a recording in tests/data/captures, each from a port of its own."""
    recordings = load(CAPTURES / f"{name}.json.gz")
    return [
        Conversation(one.segments, client=Peer("10.0.0.1", 40000 + number)) for number, one in enumerate(recordings)
    ]


def recordings() -> list[str]:
    """The names of all recordings."""
    return sorted(path.name.removesuffix(".json.gz") for path in CAPTURES.glob("*.json.gz"))


def packets(
    conversation: Conversation,
    *,
    size: int = 1448,
    handshake: bool = True,
    ending: int = FIN,
    acks: bool = True,
    isns: tuple[int, int] = (1000, 0xFFFFF000),
) -> list[TcpPacket]:
    """The packets of a whole connection, ``size`` bytes of data in each.

    ``ending`` is FIN, RST or 0 for a connection that stays open; ``acks`` has each packet acknowledged by one of its
    own. The server's sequence numbers wrap early unless ``isns`` says otherwise.
    """
    peers = {CLIENT: conversation.client, SERVER: conversation.server}
    other: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}
    sent = dict(zip((CLIENT, SERVER), isns, strict=True))
    made: list[TcpPacket] = []

    def send(direction: Direction, time: float, flags: int, data: bytes = b"") -> None:
        back = other[direction]
        ack = sent[back] & 0xFFFFFFFF if flags & ACK else 0
        made.append(
            TcpPacket(EPOCH + time, peers[direction], peers[back], flags, sent[direction] & 0xFFFFFFFF, ack, data)
        )
        sent[direction] += len(data) + bool(flags & (SYN | FIN))

    times = [time for _, time, _ in conversation.segments] or [0.0]
    if handshake:
        send(CLIENT, times[0], SYN)
        send(SERVER, times[0], SYN | ACK)
        send(CLIENT, times[0], ACK)
    else:
        sent = {CLIENT: isns[0] + 1, SERVER: isns[1] + 1}
    for direction, time, data in conversation.segments:
        for start in range(0, len(data), size):
            send(direction, time, ACK | PUSH, data[start : start + size])
            if acks:
                send(other[direction], time, ACK)
    if ending == RST:
        send(CLIENT, times[-1], RST | ACK)
    elif ending == FIN:
        send(CLIENT, times[-1], FIN | ACK)
        send(SERVER, times[-1], FIN | ACK)
        send(CLIENT, times[-1], ACK)
    return made


def disturbed(
    packets: Iterable[TcpPacket],
    *,
    seed: int,
    loss: float = 0.0,
    duplication: float = 0.0,
    reordering: float = 0.0,
    distance: int = 4,
) -> list[TcpPacket]:
    """What a poor capture has of these packets: some missing, some twice, some up to ``distance`` packets late."""
    chance = random.Random(seed)
    kept: list[tuple[float, TcpPacket]] = []
    for number, packet in enumerate(packets):
        if chance.random() < loss:
            continue
        late = chance.randint(1, distance) + 0.5 if chance.random() < reordering else 0.0
        kept.append((number + late, packet))
        if chance.random() < duplication:
            kept.append((number + chance.randint(0, distance) + 0.25, packet))
    kept.sort(key=lambda one: one[0])
    times = sorted(packet.time for _, packet in kept)
    return [replace(packet, time=time) for (_, packet), time in zip(kept, times, strict=True)]


def merged(connections: Iterable[Iterable[TcpPacket]]) -> list[TcpPacket]:
    """The packets of several connections in order of time."""
    return list(merge(*connections, key=lambda packet: packet.time))


def write_pcap(
    path: Path,
    packets: Iterable[TcpPacket],
    *,
    link: int = ETHERNET,
    order: str = "<",
    nanoseconds: bool = False,
    snaplen: int = 262144,
) -> Path:
    """Packets longer than ``snaplen`` are cut; ``order`` is that of :mod:`struct`."""
    magic, unit = (0xA1B23C4D, 10**9) if nanoseconds else (0xA1B2C3D4, 10**6)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for packet in packets:
        whole = frame(packet, link)
        seconds, fraction = divmod(round(packet.time * 10**6) * (unit // 10**6), unit)
        kept = whole[: min(snaplen, len(whole) - packet.cut)]
        parts += [struct.pack(order + "IIII", seconds, fraction, len(kept), len(whole)), kept]
    path.write_bytes(b"".join(parts))
    return path


def write_pcapng(
    path: Path,
    packets: Iterable[TcpPacket],
    *,
    links: Sequence[int] = (ETHERNET,),
    order: str = "<",
    resolution: int | None = None,
    offset: int = 0,
    snaplen: int = 0,
    simple: bool = False,
    append: bool = False,
) -> Path:
    """One section with an interface for each of ``links``, over which the packets are dealt out in turn.

    ``resolution`` is the byte of if_tsresol: powers of ten, or of two with the high bit.
    """
    base, power = (2, (resolution or 6) & 127) if (resolution or 6) & 128 else (10, resolution or 6)
    parts = [block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)]
    for link in links:
        options = b"" if resolution is None else option(9, bytes([resolution]), order)
        options += option(14, struct.pack(order + "q", offset), order) if offset else b""
        body = struct.pack(order + "HHI", link, 0, snaplen) + options + (option(0, b"", order) if options else b"")
        parts.append(block(1, body, order))
    for number, packet in enumerate(packets):
        interface = number % len(links)
        whole = frame(packet, links[interface])
        kept = whole[: min(snaplen or len(whole), len(whole) - packet.cut)]
        ticks = round((packet.time - offset) * 10**6) * base**power // 10**6
        head = struct.pack(order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(kept), len(whole))
        parts.append(block(3, head[-4:] + kept, order) if simple else block(6, head + kept, order))
    with path.open("ab" if append else "wb") as file:
        file.write(b"".join(parts))
    return path


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    """A block of pcapng."""
    body += bytes(-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


def option(code: int, value: bytes, order: str = "<") -> bytes:
    """An option of a block of pcapng."""
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def frame(packet: TcpPacket, link: int) -> bytes:
    """The packet as it stands on a link."""
    ip = ip_packet(packet)
    six = ip[0] >> 4 == 6
    ether = b"\x86\xdd" if six else b"\x08\x00"
    family = 30 if six else 2
    heads = {
        NULL: struct.pack("<I", family),
        LOOP: struct.pack(">I", family),
        ETHERNET: bytes(12) + ether,
        COOKED: struct.pack(">HHH8s", 0, 1, 6, b"") + ether,
        COOKED2: ether + struct.pack(">HIHBB8s", 0, 1, 1, 0, 6, b""),
    }
    return heads.get(link, b"") + ip


def ip_packet(packet: TcpPacket) -> bytes:
    source, target = ip_address(packet.source.host), ip_address(packet.target.host)
    tcp = tcp_packet(packet)
    if source.version == 6:
        return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + source.packed + target.packed + tcp
    return struct.pack(">BBHHHBBH", 0x45, 0, len(tcp) + 20, 0, 0x4000, 64, 6, 0) + source.packed + target.packed + tcp


def tcp_packet(packet: TcpPacket, options: bytes = b"") -> bytes:
    offset = (20 + len(options)) << 2
    ports = packet.source.port, packet.target.port
    return (
        struct.pack(">HHIIBBHHH", *ports, packet.seq, packet.ack, offset, packet.flags, 65535, 0, 0)
        + options
        + packet.data
    )


def beginning(capture: Path, packets: int) -> bytes:
    """The first packets of a pcap file, little endian."""
    data, end = gzip.decompress(capture.read_bytes()), 24
    for _ in range(packets):
        end += 16 + int.from_bytes(data[end + 8 : end + 12], "little")
    return data[:end]
