"""Files of captures: both formats in all their variants, all link types, compressed or not, whole or broken."""

from __future__ import annotations

import gzip
import io
import random
import shutil
import struct
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kwire import is_native
from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Broken, Peer, Piece, pcapng, read_pieces
from kwire_inspect.capture.packet_files import capture_blocks, file_packets
from kwire_inspect.capture.packets import Link, Packet
from kwire_inspect.capture.pcap import Report, Taker, pcap_records
from kwire_inspect.storage import Window, places
from kwire_spark.packets import packet_batches
from tests.support.capture_files import (
    ACK,
    ALICE,
    BROKER,
    COOKED,
    COOKED2,
    EPOCH,
    ETHERNET,
    IPV4,
    IPV6,
    LOOP,
    NULL,
    RAW,
    Conversation,
    TcpPacket,
    block,
    frame,
    ip_packet,
    option,
    packets,
    tcp_packet,
    write_pcap,
    write_pcapng,
)
from tests.support.effort import examples
from tests.support.wrapping import write_frames

TALK = Conversation([(CLIENT, 0.0, b"question " * 30), (SERVER, 0.123456, b"answer " * 40), (CLIENT, 0.2, b"bye")])
SIX = replace(TALK, client=Peer("2001:db8::1", 50412), server=Peer("2001:db8::9", 9092))
WHOLE = packets(TALK)


def heard(path: Path, direction: Direction) -> bytes:
    pieces = [one for one in read_pieces([str(path)]) if isinstance(one, Piece)]
    return b"".join(one.data for one in pieces if one.direction == direction)


def broken(path: Path) -> list[str]:
    found = [one for one in read_pieces([str(path)]) if isinstance(one, Broken)]
    assert all(one.source == str(path) for one in found)
    return [f"{one.position}: {one.reason}" for one in found]


def assert_whole(path: Path, talk: Conversation = TALK) -> None:
    assert heard(path, CLIENT) == talk.said(CLIENT)
    assert heard(path, SERVER) == talk.said(SERVER)
    assert broken(path) == []


def found(path: Path) -> list[Packet]:
    return [one for one in file_packets(str(path)) if isinstance(one, Packet)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture"


LINKS = [NULL, ETHERNET, 12, 14, RAW, LOOP, COOKED, COOKED2]


@pytest.mark.parametrize("link", [*LINKS, IPV4])
def test_every_link_type_with_ipv4(path: Path, link: int) -> None:
    assert_whole(write_pcap(path, WHOLE, link=link))
    assert_whole(write_pcapng(path, WHOLE, links=[link]))


@pytest.mark.parametrize("link", [*LINKS, IPV6])
def test_every_link_type_with_ipv6(path: Path, link: int) -> None:
    assert_whole(write_pcap(path, packets(SIX), link=link), SIX)
    piece, *_ = (one for one in read_pieces([str(path)]) if isinstance(one, Piece))
    assert piece.connection.id == "[2001:db8::1]:50412-[2001:db8::9]:9092@1700000000.000000"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nanoseconds", [False, True])
def test_pcap_in_both_byte_orders_and_resolutions(path: Path, order: str, nanoseconds: bool) -> None:
    write_pcap(path, WHOLE, order=order, nanoseconds=nanoseconds)
    assert_whole(path)
    assert [round(one.time - EPOCH, 6) for one in found(path)] == [round(one.time - EPOCH, 6) for one in WHOLE]
    assert found(path)[1].position == 24 + 16 + 54


def test_pcap_with_the_larger_headers_of_old_kernels(path: Path) -> None:
    data = write_pcap(path, WHOLE).read_bytes()
    parts, at = [struct.pack("<I", 0xA1B2CD34) + data[4:24]], 24
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        parts += [data[at : at + 16], bytes(8), data[at + 16 : at + 16 + size]]
        at += 16 + size
    path.write_bytes(b"".join(parts))
    assert_whole(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("resolution", [None, 3, 6, 9, 128 | 10, 128 | 20])
def test_pcapng_in_both_byte_orders_and_resolutions(path: Path, order: str, resolution: int | None) -> None:
    write_pcapng(path, WHOLE, order=order, resolution=resolution)
    assert_whole(path)
    unit = 0.001 if resolution in (3, 128 | 10) else 0.000001
    assert [one.time for one in found(path)] == pytest.approx([one.time for one in WHOLE], abs=unit)


@pytest.mark.parametrize(
    ("snaplen", "most"), [(0, 1 << 18), (65_535, 1 << 18), (300_000, 300_000), ((1 << 24) + 1, 1 << 18)]
)
def test_the_largest_packet_of_a_file(path: Path, snaplen: int, most: int) -> None:
    """That of libpcap, or what the file announces; a larger one is damage, and the packets after it are read."""
    small = frame(WHOLE[3], ETHERNET)
    for size in (most, most + 1):
        large = small + bytes(size - len(small))
        write_frames(path, [(EPOCH, one) for one in (small, large, small, small)], snaplen=1 << 30)
        data = bytearray(path.read_bytes())
        data[16:20] = struct.pack("<I", snaplen)
        path.write_bytes(data)
        place = 24 + 16 + len(small)
        told = [f"{place}: invalid packet size {size}: reading continues at the next valid packet"] * (size > most)
        assert broken(path) == told
        assert [one.data for one in found(path)] == [WHOLE[3].data] * (4 - len(told))


def test_pcapng_counts_time_from_its_offset(path: Path) -> None:
    write_pcapng(path, WHOLE, offset=1_600_000_000)
    assert [one.time for one in found(path)] == pytest.approx([one.time for one in WHOLE], abs=1e-6)


@pytest.mark.parametrize(
    ("time", "offset"), [(1e13, 0), (2**33, 0), (-1e8, -1_800_000_000), (-(2**62), -(2**62)), (2**62, 2**62)]
)
def test_impossible_times_are_reported_and_not_believed(path: Path, time: float, offset: int) -> None:
    write_pcapng(path, WHOLE[:4])
    write_pcapng(path, [replace(packet, time=time) for packet in WHOLE[4:]], offset=offset, append=True)
    (reason,) = broken(path)
    assert "impossible packet times" in reason
    assert heard(path, CLIENT) == TALK.said(CLIENT)
    assert {one.time for one in found(path)[4:]} == {found(path)[3].time}
    (batch,) = packet_batches(file_packets(str(path)))
    assert batch.num_rows == len(WHOLE) + 1


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_section_of_no_byte_order_does_not_hide_what_follows(path: Path, order: str) -> None:
    write_pcapng(path, WHOLE[:4], order=order)
    size = path.stat().st_size
    data = bytearray(write_pcapng(path, WHOLE[4:], order=order, append=True).read_bytes())
    data[size + 8 : size + 12] = b"\0\0\0\0"
    path.write_bytes(data)
    assert_reported(path, str(size))


def assert_reported(path: Path, position: str) -> None:
    """All packets are there, and what is wrong is one thing at this position."""
    assert heard(path, CLIENT) == TALK.said(CLIENT)
    (reason,) = broken(path)
    assert reason.split(":")[0] == position


def test_pcapng_of_several_interfaces_and_sections(path: Path) -> None:
    write_pcapng(path, WHOLE[:5], links=[ETHERNET, COOKED, RAW])
    write_pcapng(path, WHOLE[5:], links=[NULL, COOKED2], order=">", resolution=9, append=True)
    assert_whole(path)


def test_pcapng_of_simple_packets_cut_or_whole(path: Path) -> None:
    assert_whole(write_pcapng(path, WHOLE, simple=True))
    write_pcapng(path, WHOLE, simple=True, snaplen=100)
    assert heard(path, CLIENT) == TALK.said(CLIENT)[:46] + b"bye"


def test_pcapng_of_packet_blocks_as_they_were_once(path: Path) -> None:
    write_pcapng(path, [], links=[RAW])
    with path.open("ab") as file:
        for packet in WHOLE:
            data = ip_packet(packet)
            ticks = round(packet.time * 10**6)
            head = struct.pack("<HHIIII", 0, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
            file.write(block(2, head + data))
    assert_whole(path)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("more", [0, 1, 4, 5000])
@pytest.mark.parametrize("kind", [2, 3])
def test_rare_blocks_have_no_more_than_is_in_them(path: Path, kind: int, more: int, order: str) -> None:
    """One that claims more is told, and what follows is read."""
    data, ticks = frame(WHOLE[3], ETHERNET), round(WHOLE[3].time * 10**6)
    size = len(data) + more
    head = struct.pack(order + "HHIIII", 0, 0, ticks >> 32, ticks & 0xFFFFFFFF, size, size)
    bad = block(kind, (head if kind == 2 else struct.pack(order + "I", size)) + data[: len(data) & ~3], order)
    before = write_pcapng(path, WHOLE[:3], order=order).read_bytes()
    after = write_pcapng(path, WHOLE[4:], order=order).read_bytes()
    path.write_bytes(before + bad + after)
    whole = [] if size > len(data) & ~3 else [data[54:]]
    assert [one.data for one in found(path)] == [
        *(packet.data for packet in WHOLE[:3]),
        *whole,
        *(packet.data for packet in WHOLE[4:]),
    ]
    told = f"{len(before)}: a packet block of type {kind} is inconsistent with its section"
    assert [reason for reason in broken(path) if "inconsistent" in reason] == ([] if whole else [told])


def test_pcapng_blocks_that_are_not_known_are_passed_over(path: Path) -> None:
    write_pcapng(path, WHOLE[:4])
    statistics, secrets, own = block(5, bytes(20)), block(10, bytes(100_001)), block(0x80000BAD, b"")
    path.write_bytes(path.read_bytes() + statistics + secrets + own)
    write_pcapng(path, WHOLE[4:], append=True)
    path.write_bytes(path.read_bytes() + own)
    assert_whole(path)


def test_pcapng_options_that_are_not_known_are_passed_over(path: Path) -> None:
    options = option(2, b"eth0\0") + option(9, b"\x09") + option(0, b"")
    start = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1) + option(4, b"someone") + option(0, b""))
    path.write_bytes(start + block(1, struct.pack("<HHI", RAW, 0, 0) + options))
    for packet in WHOLE:
        ticks = round(packet.time * 10**9)
        data = ip_packet(packet)
        head = struct.pack("<IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
        body = head + data + bytes(-len(data) % 4) + option(2, bytes(4)) + option(0, b"")
        path.write_bytes(path.read_bytes() + block(6, body))
    assert_whole(path)
    assert found(path)[0].time == pytest.approx(EPOCH)


def in_ethernet(path: Path, wrap: Callable[[TcpPacket], bytes], made: Sequence[TcpPacket] = WHOLE) -> Path:
    """The conversation in frames of their own making."""
    write_pcap(path, [])
    records = []
    for packet in made:
        data = wrap(packet)
        records.append(struct.pack("<IIII", int(packet.time), 0, len(data), len(data)) + data)
    path.write_bytes(path.read_bytes() + b"".join(records))
    return path


def test_padding_is_no_data(path: Path) -> None:
    assert_whole(in_ethernet(path, lambda packet: frame(packet, ETHERNET) + b"padding"))
    assert_whole(in_ethernet(path, lambda packet: frame(packet, ETHERNET) + b"padding", packets(SIX)), SIX)


def test_options_of_ip_and_tcp(path: Path) -> None:
    def with_options(packet: TcpPacket) -> bytes:
        plain, tcp = ip_packet(packet)[:20], tcp_packet(packet, b"\1\1\x08\x0a" + bytes(8))
        size = struct.pack(">H", 28 + len(tcp))
        return bytes(12) + b"\x08\x00\x47\0" + size + plain[4:] + bytes(8) + tcp

    assert_whole(in_ethernet(path, with_options))


def test_a_length_that_the_network_card_was_to_fill_in(path: Path) -> None:
    def unfilled(packet: TcpPacket) -> bytes:
        whole = frame(packet, ETHERNET)
        return whole[:16] + b"\0\0" + whole[18:]

    assert_whole(in_ethernet(path, unfilled))


def test_extension_headers_of_ipv6(path: Path) -> None:
    write_pcap(path, [])
    for packet in packets(SIX):
        plain = ip_packet(packet)
        extensions = b"\x3c\0" + bytes(6) + b"\x2c\1" + bytes(14) + b"\x33\0" + bytes(6) + b"\x06\1" + bytes(10)
        size = struct.pack(">H", len(plain) - 40 + len(extensions))
        data = bytes(12) + b"\x86\xdd" + plain[:4] + size + b"\0" + plain[7:40] + extensions + plain[40:]
        path.write_bytes(path.read_bytes() + struct.pack("<IIII", int(packet.time), 0, len(data), len(data)) + data)
    assert_whole(path, SIX)


def test_fragments_are_joined(path: Path) -> None:
    def fragments(packet: TcpPacket) -> Iterator[bytes]:
        whole = frame(packet, ETHERNET)
        if len(whole) < 14 + 40 + 24:
            yield whole
            return
        middle = 14 + 20 + 40  # 20 bytes of data are in the first fragment
        yield whole[:16] + struct.pack(">HHH", 60, 1, 0x2000) + whole[22:middle]
        rest = len(whole) - middle + 20
        yield whole[:16] + struct.pack(">HHH", rest, 1, 40 // 8) + whole[22:34] + whole[middle:]

    write_pcap(path, [])
    for packet in WHOLE:
        for data in fragments(packet):
            head = struct.pack("<IIII", int(packet.time), 0, len(data), len(data))
            path.write_bytes(path.read_bytes() + head + data)
    assert_whole(path)


def test_what_is_not_tcp_is_nothing(path: Path) -> None:
    def other(packet: TcpPacket) -> bytes:
        return frame(packet, ETHERNET)[:23] + b"\x11" + frame(packet, ETHERNET)[24:]

    assert found(in_ethernet(path, other)) == []
    assert broken(path) == [f"0: the file contains no TCP packets: {len(WHOLE)} UDP port 9092"]
    assert found(in_ethernet(path, lambda packet: bytes(12) + b"\x08\x06" + bytes(46))) == []
    assert broken(path) == [f"0: the file contains no TCP packets: {len(WHOLE)} ARP"]


def test_what_is_too_small_for_tcp_is_nothing_at_the_end_of_a_file_too(path: Path) -> None:
    for protocol in (1, 17):
        write_pcap(path, [])
        data = bytes(12) + b"\x08\0\x45\0\0\x1c" + bytes(5) + bytes([protocol]) + bytes(18)
        path.write_bytes(path.read_bytes() + struct.pack("<IIII", 1, 0, len(data), len(data)) + data)
        name = "ICMP" if protocol == 1 else "UDP port 0"
        assert (found(path), broken(path)) == ([], [f"0: the file contains no TCP packets: 1 {name}"])


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("first", [3, 10, 24])
def test_what_a_file_is_may_be_told_a_few_bytes_at_a_time(
    path: Path, compress: Callable[[bytes], bytes], first: int
) -> None:
    data = write_pcap(path, WHOLE).read_bytes()
    path.write_bytes(compress(data[:first]) + compress(data[first:]))
    assert_whole(path)


@pytest.mark.parametrize("kind", ["gzip", "gzip of members", "zstd", "zstd of frames", "zstd with another frame"])
@pytest.mark.parametrize("write", [write_pcap, write_pcapng])
def test_compressed_files(path: Path, write: Callable[[Path, list[TcpPacket]], Path], kind: str) -> None:
    data = write(path, WHOLE).read_bytes()
    half = len(data) // 2
    path.write_bytes(
        {
            "gzip": gzip.compress(data),
            "gzip of members": gzip.compress(data[:half]) + gzip.compress(data[half:]) + bytes(512),
            "zstd": zstandard.compress(data),
            "zstd of frames": zstandard.compress(data[:half]) + zstandard.compress(data[half:]),
            "zstd with another frame": b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstandard.compress(data),
        }[kind]
    )
    assert_whole(path)
    assert [one.position for one in found(path)] == [one.position for one in found(write(path, WHOLE))]


LARGE = Conversation([(CLIENT, n / 10, random.Random(n).randbytes(1000)) for n in range(500)])
"""Of more than one window."""


@pytest.mark.parametrize("write", [write_pcap, write_pcapng])
def test_a_file_that_is_cut_off_gives_what_came_before(
    path: Path, write: Callable[[Path, list[TcpPacket]], Path]
) -> None:
    data = write(path, packets(LARGE, acks=False)).read_bytes()
    path.write_bytes(data[:300_000])
    got = heard(path, CLIENT)
    assert len(got) > 270_000
    assert LARGE.said(CLIENT).startswith(got)
    (reason,) = broken(path)
    assert "truncated: the last" in reason
    position = int(reason.split(":")[0])
    assert 298_900 < position < 300_000
    for compressed in (gzip.compress(data), zstandard.compress(data)):
        path.write_bytes(compressed[:300_000])
        assert len(heard(path, CLIENT)) > 230_000  # older zstandard gives whole blocks of 128 KiB only
        assert any("truncated" in one for one in broken(path))


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_compression_that_is_broken_loses_nothing_before(path: Path, compress: Callable[[bytes], bytes]) -> None:
    data = write_pcap(path, packets(LARGE, acks=False)).read_bytes()
    compressed = bytearray(compress(data))
    compressed[-6] ^= 1
    path.write_bytes(compressed)
    assert len(heard(path, CLIENT)) > 350_000
    assert ["invalid" in one for one in broken(path)] == [True]
    path.write_bytes(compress(data) + b"something else")
    assert heard(path, CLIENT) == LARGE.said(CLIENT)


@pytest.mark.parametrize("write", [write_pcap, write_pcapng])
@pytest.mark.parametrize("garbage", [b"\xff", b"\0", b"\x99"])
def test_broken_bytes_in_the_middle_lose_only_what_they_hit(
    path: Path, write: Callable[[Path, list[TcpPacket]], Path], garbage: bytes
) -> None:
    data = bytearray(write(path, packets(LARGE, acks=False)).read_bytes())
    data[200_000:205_000] = garbage * 5000
    path.write_bytes(data)
    lost = 500_000 - len(heard(path, CLIENT))
    assert 5000 <= lost <= 8000
    (reason,) = broken(path)
    assert "reading continues at the next valid" in reason
    gaps = [one for one in read_pieces([str(path)]) if isinstance(one, Piece) and one.kind == "gap"]
    assert [one.size for one in gaps] == [lost]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("late", [False, True])
def test_a_false_header_in_broken_bytes_is_none(path: Path, order: str, late: bool) -> None:
    """A header counts if another follows its packet, or the end of the file, and if its time is near the first."""
    head = struct.pack(order + "IIII", int(EPOCH) + (5_000_000 if late else 0), 0, 100, 100)
    false = (head + b"\xee" * 100) * (3 if late else 1) + b"\xee" * 200
    data = write_pcap(path, WHOLE, order=order).read_bytes()
    at, end = 24, len(data)
    for _ in range(5):
        at += 16 + struct.unpack_from(order + "I", data, at + 8)[0]
    path.write_bytes(data[:at] + b"\xff" * 50 + false + data[at:])
    before = [one.position for one in found(write_pcap(path.with_name("good"), WHOLE, order=order))]
    assert [one.position for one in found(path)] == [
        one if one < at else one + 50 + len(false) for one in before if one < end
    ]
    (reason,) = broken(path)
    assert reason == f"{at}: invalid packet size 4294967295: reading continues at the next valid packet"


def test_packets_that_are_cut_are_reported_once(path: Path) -> None:
    write_pcap(path, WHOLE, snaplen=100)
    (reason,) = broken(path)
    assert "truncated packets: only 100 of 324 bytes were captured here" in reason
    gaps = [one.size for one in read_pieces([str(path)]) if isinstance(one, Piece) and one.kind == "gap"]
    assert gaps == [270 - 46, 280 - 46]
    write_pcap(path, WHOLE, snaplen=40)
    assert len(broken(path)) == 2
    assert "fewer bytes were captured than the packet headers declare" in broken(path)[1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "0: not a capture: the file is empty"),
        (b"PK\3\4 and so on", "0: not a capture: the first bytes are 50 4b 03 04"),
        (b"\xd4\xc3\xb2\xa1\2\0", "0: truncated: the file ends in its header, after 6 bytes"),
        (gzip.compress(b"no capture at all", mtime=0), "0: not a capture: the first bytes are 6e 6f 20 63"),
    ],
)
def test_what_is_not_a_capture_is_reported(path: Path, data: bytes, reason: str) -> None:
    path.write_bytes(data)
    assert broken(path) == [reason]


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    assert broken(tmp_path / "nowhere.pcap") == ["0: cannot be read: No such file or directory"]
    assert broken(tmp_path) == ["0: cannot be read: not a regular file"]


def test_interfaces_without_end_take_no_memory_without_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pcapng, "MAX_INTERFACES", 3)
    write_pcapng(path, WHOLE[:-1], links=[ETHERNET] * 3)
    assert broken(path) == []
    write_pcapng(path, WHOLE, links=[ETHERNET] * 4)
    (reason,) = broken(path)
    assert "a packet refers to interface 3, but the section describes only 3" in reason


def test_an_interface_that_cannot_be_read_does_not_hide_the_others(path: Path) -> None:
    write_pcapng(path, WHOLE, links=[ETHERNET])
    other = write_pcapng(path.with_name("other"), WHOLE[:3], links=[105]).read_bytes()
    path.write_bytes(other + path.read_bytes())
    assert heard(path, SERVER) == TALK.said(SERVER)
    assert broken(path) == ["48: not read: link type 105 (802.11)"]


def test_a_packet_of_an_interface_that_is_not_there_is_reported(path: Path) -> None:
    data = write_pcapng(path, WHOLE).read_bytes()
    first = data.index(struct.pack("<I", 6), 40)
    path.write_bytes(data[: first + 8] + b"\7" + data[first + 9 :])
    assert heard(path, SERVER) == TALK.said(SERVER)
    assert broken(path) == [f"{first}: a packet refers to interface 7, but the section describes only 1"]


@examples(1.5)
@given(
    st.sampled_from(["pcap", "pcapng", "pcap.gz", "pcapng.zst"]),
    st.lists(st.tuples(st.integers(0, 3000), st.binary(max_size=9)), max_size=6),
    st.integers(0, 5000),
)
def test_no_bytes_whatsoever_raise(
    tmp_path_factory: pytest.TempPathFactory, kind: str, changes: list[tuple[int, bytes]], end: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "mutated"
    data = bytearray((write_pcapng if "ng" in kind else write_pcap)(path, WHOLE).read_bytes())
    if kind.endswith("gz"):
        data = bytearray(gzip.compress(data, mtime=0))
    elif kind.endswith("zst"):
        data = bytearray(zstandard.compress(bytes(data)))
    for at, new in changes:
        data[at % len(data) : at % len(data) + len(new)] = new
    path.write_bytes(data[:end])
    assert all(isinstance(one, Piece | Broken) for one in read_pieces([str(path)]))


@examples(1.5)
@given(
    st.sampled_from([b"\xd4\xc3\xb2\xa1", b"\x0a\x0d\x0d\x0a", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"]), st.binary()
)
def test_no_random_bytes_raise(tmp_path_factory: pytest.TempPathFactory, start: bytes, rest: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "random"
    path.write_bytes(start + rest)
    assert all(isinstance(one, Broken) for one in read_pieces([str(path)]))


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="there is no tcpdump here")
@pytest.mark.parametrize("link", [ETHERNET, COOKED, RAW])
def test_tcpdump_sees_the_same(path: Path, link: int) -> None:
    write_pcapng(path, WHOLE, links=[link], resolution=9)
    command = ["tcpdump", "-n", "-S", "-tt", "-r", str(path)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [float(line.split()[0]) for line in lines] == pytest.approx([one.time for one in found(path)], abs=1e-6)
    assert [int(line.rsplit("length ", 1)[1]) for line in lines] == [len(one.data) for one in found(path)]


def test_dropped_packets_count_once_however_often_they_are_told(tmp_path: Path) -> None:
    """Statistics of an interface have the number of all that it dropped up to then."""

    def statistics(interface: int, count: int) -> bytes:
        return block(5, struct.pack("<III", interface, 0, 0) + option(5, struct.pack("<Q", count)) + option(0, b""))

    path = write_pcapng(tmp_path / "a.pcapng", packets(Conversation([(CLIENT, 0.0, b"x")])))
    told = b"".join(statistics(0, count) for count in (5, 5, 8, 7))
    path.write_bytes(path.read_bytes() + told)
    found = [one for one in read_pieces([str(path)]) if isinstance(one, Broken)]
    assert sum(one.packets for one in found) == 8
    section = write_pcapng(tmp_path / "b.pcapng", [], links=[ETHERNET, RAW]).read_bytes()  # other interfaces
    told = b"".join(statistics(number, count) for number, count in ((0, 2), (1, 9), (0, 3)))
    path.write_bytes(path.read_bytes() + section + told)
    found = [one for one in read_pieces([str(path)]) if isinstance(one, Broken)]
    assert sum(one.packets for one in found) == 8 + 3 + 9


@pytest.mark.skipif(is_native(), reason="classes in Python cannot inherit from native ones")
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("zeros", [*range(16, 40), 200_000])
def test_packets_behind_zeros_are_found_if_times_begin_at_zero(tmp_path: Path, order: str, zeros: int) -> None:
    """Those of a capture whose clock was not set: nearly every zero might begin a packet."""
    path, data = tmp_path / "a.pcap", bytes(range(1, 61))
    head = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 1 << 18, 1)
    packet = struct.pack(order + "IIII", 0, 0, len(data), len(data)) + data
    path.write_bytes(head + bytes(zeros) + packet * 2)
    found: list[int] = []

    class Noted(Taker):
        def take(
            self, buffer: bytes, begin: int, stop: int, length: int, place: int, link: Link, time: float
        ) -> None:
            found.append(length)
            assert buffer[begin:stop] == data

    window = Window(str(path))
    assert window.advance(0)
    deque(pcap_records(window, Report("a"), Noted()), maxlen=0)
    assert found == [60, 60]


@pytest.mark.parametrize("block_size", [100, 250, 1 << 17])
@pytest.mark.parametrize(("files", "times"), [("ab", (0, 1, 1, 2, 3, 3, 4)), ("abc", (0, 1, 1, 2))])
def test_packets_of_several_files_come_by_time(
    path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int, files: str, times: Sequence[int]
) -> None:
    """However they are dealt out to the files, and however many there are in a block of a file: each comes once."""
    sent = [TcpPacket(EPOCH + time, ALICE, BROKER, ACK, number, 9, b"data") for number, time in enumerate(times)]
    data: dict[str, bytes] = {}
    monkeypatch.setattr(places, "opened", lambda name, **_: io.BufferedReader(io.BytesIO(data[name])))
    monkeypatch.setattr(places, "CHUNK", block_size)
    for dealt in product(files, repeat=len(sent)):
        mine = {name: [one for one, file in zip(sent, dealt, strict=True) if file == name] for name in files}
        data |= {name: write_pcap(path, made).read_bytes() for name, made in mine.items()}
        blocks = list(capture_blocks(files))
        assert all(blocks)
        found = [one for block in blocks for one in block if isinstance(one, Packet)]
        assert [one.time for one in found] == [one.time for one in sent]
        for name in files:
            assert [one.seq for one in found if one.source == name] == [one.seq for one in mine[name]]


def test_files_are_open_only_while_packets_of_them_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long file and many short ones, two at a time: a system has a limit for all."""
    times = [(0, 100), *((10 * number, 10 * number + 9) for number in range(1, 9))]
    sent = [[TcpPacket(EPOCH + at, ALICE, BROKER, ACK, at, 9, b"data") for at in each] for each in times]
    files = [str(write_pcap(tmp_path / f"{number}.pcap", made)) for number, made in enumerate(sent)]
    opened: list[BinaryIO] = []
    really = places.opened

    def noted(name: str, **options: Any) -> BinaryIO:
        opened.append(file := really(name, **options))
        return file

    monkeypatch.setattr(places, "opened", noted)
    assert [sum(not file.closed for file in opened) for _ in capture_blocks(files)] == [1, *[2] * 8, 1]
