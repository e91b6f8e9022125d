"""Captures in parts of time, of connections and of files: all packets and problems, in order."""

from __future__ import annotations

import gzip
import io
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kwire_inspect.capture import Broken, Peer, pcapng, read_pieces
from kwire_inspect.capture.name_blocks import address_names
from kwire_inspect.capture.packet_files import (
    ALWAYS,
    LONGEST,
    NEVER,
    capture_blocks,
    file_packets,
    first_time,
)
from kwire_inspect.capture.packets import Packet, reverse
from kwire_inspect.capture.pcap import APART, BELIEVED, MAX_COUNTED, MAX_PACKET, MAX_REASONS, Report, limit_of
from kwire_inspect.reasons import DROPPED, FRAGMENTS_LOST, NO_TCP, OTHER_REASONS
from kwire_inspect.storage import places
from tests.support.capture_files import (
    ACK,
    ALICE,
    BROKER,
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
from tests.support.wrapping import ethernet, fragments, write_frames

IPV4_KEY = b"\x0a\0\0\x01\x0a\0\0\x09\xc4\xec\x23\x84"
SIX_KEY = bytes.fromhex("20010db8000000000000000000000001" "20010db8000000000000000000000009" "c4ec2384")
SIX = Peer("2001:db8::1", 50412), Peer("2001:db8::9", 9092)
ARP = bytes(12) + b"\x08\x06" + bytes(28)


def sent(number: int, data: bytes = b"data", six: bool = False) -> TcpPacket:
    source, target = SIX if six else (ALICE, BROKER)
    return TcpPacket(EPOCH + number, source, target, ACK, number, 9, data)


def lines(found: Iterable[Packet | Broken]) -> list[str]:
    """Packets as their number, time, data and missing bytes, and problems, in order."""
    return [
        (
            f"{one.seq} at {one.time - EPOCH:g} s: {_brief(one.data)}{f' and {one.missing}' if one.missing else ''}"
            if isinstance(one, Packet)
            else f"{one.position}: {one.reason} ({one.packets}, {one.unread})"
        )
        for one in found
    ]


def _brief(data: bytes) -> str:
    return data.decode() if len(data) < 20 else f"{len(data)} bytes"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capture"


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (ALWAYS, NEVER, ["1 at 1 s: data", "2 at 2 s: data"]),
        (1.0, 2.0, ["1 at 1 s: data"]),
        (1.5, 2.5, ["2 at 2 s: data"]),
        (0.0, 1.0, [f"0: {NO_TCP}: 1 ARP (1, 0)"]),
        (2.5, 3.0, [f"0: {NO_TCP}: 2 ARP (2, 0)"]),
        (3.0, 9.0, []),
    ],
)
def test_packets_of_a_time(path: Path, start: float, end: float, expected: list[str]) -> None:
    """The first time is in it, the last is not: also of what is told."""
    arps = [(EPOCH + time, ARP) for time in (0.5, 2.5, 2.75)]
    write_frames(path, sorted([*((one.time, frame(one, ETHERNET)) for one in map(sent, (1, 2))), *arps]))
    assert lines(file_packets(str(path), start=EPOCH + start, end=EPOCH + end)) == expected


def test_packets_of_connections_that_are_passed_over(path: Path) -> None:
    """Their file has TCP all the same, so that nothing is told of its other packets. A fragment is never taken for
    one of them, by the address and ports in it."""
    four, six = sent(1, bytes(40)), sent(2, six=True)
    first, last = fragments(ip_packet(four), 32)
    frames = [(EPOCH + number, one) for number, one in enumerate([frame(four, 1), frame(six, 1), ARP])]
    write_frames(path, frames)
    assert lines(file_packets(str(path), {IPV4_KEY})) == ["2 at 2 s: data".replace("at 2", "at 1")]
    assert lines(file_packets(str(path), {SIX_KEY})) == ["1 at 0 s: 40 bytes"]
    assert lines(file_packets(str(path), {IPV4_KEY, SIX_KEY})) == []
    assert lines(file_packets(str(path), {reverse(IPV4_KEY)})) == ["1 at 0 s: 40 bytes", "2 at 1 s: data"]
    for key, one in ((IPV4_KEY, four), (SIX_KEY, six)):
        write_frames(path, [(EPOCH, ARP), (EPOCH, frame(one, 1))])
        assert lines(file_packets(str(path), {key})) == []
    write_frames(path, [(EPOCH, ethernet(first)), (EPOCH + 0.25, ethernet(last))])
    assert lines(file_packets(str(path), {IPV4_KEY})) == ["1 at 0.25 s: 40 bytes"]
    passed: set[bytes] = set()
    write_frames(path, [(EPOCH, frame(sent(number), 1)) for number in range(5000)])
    blocks = file_packets(str(path), passed)
    assert next(blocks).position == 24
    passed.add(IPV4_KEY)
    assert 1000 < len([*blocks]) < 4000, "of the first block"


def test_problems_come_before_the_packets_after_them_and_counts_at_the_end(path: Path) -> None:
    """Each once, and at its first place. What fragments still wait for is told when the file ends."""
    first, _ = fragments(ip_packet(sent(3, b"abcdefghijklmnop")), 24)
    cut = [replace(sent(number), cut=number + 1) for number in (1, 2)]
    whole = [sent(0), *cut]
    write_pcap(path, whole)
    size = len(frame(sent(0), 1))
    at = [24 + number * (16 + size) - (2 if number > 1 else 0) for number in range(4)]
    told = f"{at[1]}: truncated packets: only {size - 2} of {size} bytes were captured here (0, 0)"
    packets = ["0 at 0 s: data", told, "1 at 1 s: da and 2", "2 at 2 s: d and 3"]
    assert lines(file_packets(str(path))) == packets
    more = write_frames(path.with_name("more"), [(EPOCH + 3, ethernet(first)), (EPOCH + 3.25, ARP[:20])])
    path.write_bytes(path.read_bytes() + more.read_bytes()[24:])
    end = path.stat().st_size - 36 - 16 - len(ethernet(first))
    assert lines(file_packets(str(path))) == [*packets, "3 at 3 s: abcd", f"{end}: {FRAGMENTS_LOST} (1, 0)"]


@pytest.mark.parametrize(("more", "told"), [(0, False), (1, True)])
def test_the_longest_packet_that_is_read_whole(path: Path, more: int, told: bool) -> None:
    one = frame(sent(1), ETHERNET)
    write_frames(path, [(EPOCH + 1, one + bytes(LONGEST + more - len(one)))], snaplen=LONGEST * 2)
    head = 54
    missing = f" and {more}" if told else ""
    reason = f"24: truncated packets: only {LONGEST} of {LONGEST + 1} bytes were captured here (0, 0)"
    data = bytearray(path.read_bytes())
    data[24 + 16 + 16 : 24 + 16 + 18] = b"\0\0"  # a size that the network card fills in
    path.write_bytes(data)
    assert lines(file_packets(str(path))) == [reason] * told + [f"1 at 1 s: {LONGEST - head} bytes{missing}"]


def test_a_file_that_breaks_off_gives_what_was_read_and_where_it_ended(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of the system is told of the whole file, and bytes that cannot be decompressed at the last before."""

    class Failing(io.RawIOBase):
        def __init__(self, *reason: int | str) -> None:
            self.file, self.reason = io.BytesIO(data), reason

        def readable(self) -> bool:
            return True

        def readinto(self, into: Any) -> int:
            if self.file.tell() >= 2 << 17:
                raise OSError(*self.reason)
            return self.file.readinto(into)

    write_pcap(path, [sent(number, bytes(930)) for number in range(300)])
    data = path.read_bytes()
    path.write_bytes(gzip.compress(data)[:-8])
    whole = [f"{number} at {number} s: 930 bytes" for number in range(300)]
    assert lines(file_packets(str(path))) == [
        *whole,
        f"{len(data)}: truncated gzip data (0, 0)",
    ]
    for reason in ((5, "Input/output error"), ("it is gone",)):
        monkeypatch.setattr(places, "opened", lambda *_, given=reason, **__: io.BufferedReader(Failing(*given)))
        told = reason[-1]
        assert lines(file_packets(str(path))) == [*whole[:262], f"0: cannot be read: {told} (0, 0)"]


def files_of(folder: Path, times: dict[str, Sequence[float]]) -> list[str]:
    """Files with packets at these times, whose number is ten times the time."""
    made = []
    for name, mine in times.items():
        packets = [replace(sent(0), time=EPOCH + time, seq=round(time * 10)) for time in mine]
        made.append(str(write_pcap(folder / name, packets)))
    return made


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"b": (1, 3, 5), "a": (2, 4, 6)}, "b1 a2 b3 a4 b5 a6"),
        ({"a": (2, 3), "b": (1, 2), "c": (3,)}, "b1 b2 a2 a3 c3"),
        ({"a": (1, 1, 2), "b": (1, 2, 2)}, "a1 a1 b1 b2 b2 a2"),
        ({"a": (5, 1, 6), "b": (2, 7), "c": ()}, "b2 a5 a1 a6 b7"),
        ({"a": (1, 9), "b": (2, 3), "c": (4, 5), "d": (4.5,)}, "a1 b2 b3 c4 d4.5 c5 a9"),
        ({"a": (), "b": ()}, ""),
    ],
)
def test_packets_of_files_in_the_order_of_their_times(
    tmp_path: Path, times: dict[str, Sequence[float]], expected: str
) -> None:
    """Within a file as they are; of equal times by file. Blocks are never empty, and of one file each."""
    files = files_of(tmp_path, times)
    blocks = list(capture_blocks(files))
    assert all(len({Path(one.source).name for one in made}) == 1 for made in blocks)
    packets = [one for made in blocks for one in made if isinstance(one, Packet)]
    assert " ".join(f"{Path(one.source).name}{one.seq / 10:g}" for one in packets) == expected
    assert all(Path(file).name in times for file in files)
    assert [round(first_time(file) - EPOCH if times[Path(file).name] else 0) for file in files] == [
        round(mine[0]) if mine else 0 for mine in times.values()
    ]
    assert (first_time(str(tmp_path / "gone")), first_time(str(tmp_path))) == (0.0, 0.0)
    last = list(capture_blocks(files, {IPV4_KEY}, EPOCH, EPOCH + 3))
    assert last == []


def test_the_first_time_of_a_file_may_be_far_from_its_beginning(path: Path) -> None:
    """Behind blocks without packets. It is that of the first packet, not the earliest."""
    write_pcapng(path, [])
    more = write_pcapng(path.with_name("more"), [sent(7), sent(3)]).read_bytes()
    path.write_bytes(path.read_bytes() + block(4, bytes(1 << 18)) + more)
    assert first_time(str(path)) == EPOCH + 7


def test_problems_of_files_come_where_their_packets_do(tmp_path: Path) -> None:
    """Of one that is no capture first of all, as it has no time."""
    a, b = files_of(tmp_path, {"a": (1, 3), "b": (2, 4)})
    (tmp_path / "c").write_bytes(b"nothing")
    Path(a).write_bytes(Path(a).read_bytes() + b"half")
    blocks = capture_blocks([a, b, str(tmp_path / "c"), str(tmp_path / "d")])
    assert [
        (Path(one.source).name, line) for made in blocks for one, line in zip(made, lines(made), strict=True)
    ] == [
        ("c", "0: not a capture: the first bytes are 6e 6f 74 68 (0, 0)"),
        ("d", "0: cannot be read: No such file or directory (0, 0)"),
        ("a", "10 at 1 s: data"),
        ("b", "20 at 2 s: data"),
        ("a", "30 at 3 s: data"),
        ("a", "172: truncated: the last packet is only 4 bytes long (0, 0)"),
        ("b", "40 at 4 s: data"),
    ]
    shares = [list(read_pieces([a, str(tmp_path / "c")], share=(number, 2))) for number in range(2)]
    problems = [lines(one for one in share if isinstance(one, Broken)) for share in shares]
    assert [len(found) for found in problems] == [2, 0], "once in all shares"


@pytest.mark.parametrize(
    ("snaplen", "limit"),
    [
        (0, MAX_PACKET),
        (MAX_PACKET - 1, MAX_PACKET),
        (MAX_PACKET + 1, MAX_PACKET + 1),
        (BELIEVED, BELIEVED),
        (BELIEVED + 1, MAX_PACKET),
        (0xFFFFFFFF, MAX_PACKET),
    ],
)
def test_the_largest_packet_to_accept(snaplen: int, limit: int) -> None:
    assert limit_of(snaplen) == limit


def test_what_a_report_keeps_of_problems() -> None:
    """Each kind once at its first place. Counts are summed until the end, and begin again after it."""
    report = Report("a.pcap")
    report.add(1, "a packet of 5 bytes", "size")
    report.add(2, "a packet of 6 bytes", "size")
    report.add(3, "other")
    report.add(4, "other")
    report.count(5, "hidden", 10)
    report.count(6, "hidden", 20, 2)
    report.count(7, "short", 0)
    first = [Broken("a.pcap", 1, "a packet of 5 bytes"), Broken("a.pcap", 3, "other")]
    assert [report.take(), report.take()] == [first, []]
    report.add(8, "a packet of 7 bytes", "size")
    report.end()
    counted = [Broken("a.pcap", 5, "hidden", 30, 3), Broken("a.pcap", 7, "short", 0, 1)]
    assert report.take() == counted
    report.count(9, "hidden", 4)
    report.end()
    report.end()
    assert report.take() == [Broken("a.pcap", 9, "hidden", 4, 1)]


def test_what_a_report_counts_is_limited() -> None:
    """In reasons, after which the others are one, and in packets and bytes."""
    report = Report("a.pcap")
    for number in range(MAX_REASONS + 2):
        report.count(number, f"reason {number}", 1)
    report.count(999, "reason 0", MAX_COUNTED, MAX_COUNTED)
    report.end()
    first, *others, last = report.take()
    assert first == Broken("a.pcap", 0, "reason 0", MAX_COUNTED, MAX_COUNTED)
    assert others == [Broken("a.pcap", number, f"reason {number}", 1, 1) for number in range(1, MAX_REASONS)]
    assert last == Broken("a.pcap", MAX_REASONS, OTHER_REASONS, 2, 2)


FIRST = int(EPOCH)
INVALID = b"\xff" * 40
FALSE: list[tuple[dict[str, int], bool]] = [
    ({}, True),
    ({"seconds": FIRST + APART}, True),
    ({"seconds": FIRST - APART}, True),
    ({"seconds": FIRST + APART + 1}, False),
    ({"seconds": FIRST - APART - 1}, False),
    ({"fraction": 10**9 - 1}, True),
    ({"fraction": 10**9}, False),
    ({"more": 5}, True),
    ({"more": -1}, False),
]
"""What a header among invalid bytes has that differs from others, and whether it counts."""


@pytest.mark.parametrize("before", [0, 150, 250, 6000], ids=lambda count: f"{count} before")
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B2CD34], ids=["usual", "modified"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_the_next_packet_behind_invalid_bytes(path: Path, order: str, magic: int, before: int) -> None:
    """Its header is as others are, and another header or the end of the file follows. There may be many bytes before
    it that look like headers, and several places with invalid bytes, which are told once."""

    def packet(number: int, seconds: int = FIRST, fraction: int = 0, more: int = 0) -> bytes:
        whole = frame(sent(number), ETHERNET)
        head = struct.pack(order + "IIII", seconds, fraction, len(whole), len(whole) + more)
        return head + bytes(8 if magic == 0xA1B2CD34 else 0) + whole

    def read(*parts: bytes) -> list[str]:
        path.write_bytes(start + b"".join(parts))
        found = [*file_packets(str(path))]
        return [str(one.seq) if isinstance(one, Packet) else f"{one.position}: {one.reason}" for one in found]

    start = struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 1 << 18, ETHERNET) + packet(1)
    lead = struct.pack(order + "IIII", FIRST, 0, 60, 59) * before
    place = len(start)
    told = f"{place}: invalid packet size {0xFFFFFFFF}: reading continues at the next valid packet"
    for changed, counts in FALSE:
        behind = place + len(INVALID) + len(lead)
        cut = [f"{behind}: truncated packets: only 58 of 63 bytes were captured here"]
        found = [*cut * ("more" in changed), "9"] if counts else []
        assert read(INVALID, lead, packet(9, **changed), packet(3), packet(4)) == ["1", told, *found, "3", "4"]
    assert read(INVALID, lead, packet(3)) == ["1", told, "3"]
    lost = len(INVALID) + len(lead) + len(packet(3)) + 1
    assert read(INVALID, lead, packet(3), b"x") == [
        "1",
        f"{place}: truncated: the last packet is only {lost} bytes long",
    ]
    other = b"\xfe" * 40 + lead
    assert read(INVALID, packet(3), packet(4), other, packet(5), packet(6)) == ["1", told, "3", "4", "5", "6"]
    zero = struct.pack(order + "IIII", FIRST, 0, 0, 0) + b"12345"
    assert read(zero, packet(3), packet(4)) == ["1", told.replace(str(0xFFFFFFFF), "0"), "3", "4"]


class Blocks:
    """Makes the blocks of a pcapng file in a byte order, whose packets are raw IP."""

    def __init__(self, order: str) -> None:
        self.order = order

    def section(self) -> bytes:
        return block(0x0A0D0D0A, struct.pack(self.order + "IHHq", 0x1A2B3C4D, 1, 0, -1), self.order)

    def interface(self, link: int = RAW, snaplen: int = 0, **options: bytes) -> bytes:
        codes = {"resolution": 9, "offset": 14}
        more = b"".join(option(codes[name], value, self.order) for name, value in options.items())
        return block(1, struct.pack(self.order + "HHI", link, 0, snaplen) + more, self.order)

    def packet(self, number: int, ticks: int, interface: int = 0) -> bytes:
        ip = ip_packet(sent(number))
        head = interface, ticks >> 32, ticks & 0xFFFFFFFF, len(ip), len(ip)
        return block(6, struct.pack(self.order + "IIIII", *head) + ip, self.order)

    def old(self, number: int, ticks: int, interface: int = 0) -> bytes:
        ip = ip_packet(sent(number))
        head = interface, 0, ticks >> 32, ticks & 0xFFFFFFFF, len(ip), len(ip)
        return block(2, struct.pack(self.order + "HHIIII", *head) + ip, self.order)

    def simple(self, number: int) -> bytes:
        ip = ip_packet(sent(number))
        return block(3, struct.pack(self.order + "I", len(ip)) + ip, self.order)

    def dropped(self, interface: int, **counts: int) -> bytes:
        codes = {"here": 5, "system": 7}
        values = [
            option(codes[name], struct.pack(self.order + "Q", count), self.order) for name, count in counts.items()
        ]
        return block(5, struct.pack(self.order + "III", interface, 0, 0) + b"".join(values), self.order)

    def secrets(self, text: bytes, size: int | None = None, kind: int = 0x544C534B) -> bytes:
        head = struct.pack(self.order + "II", kind, len(text) if size is None else size)
        return block(10, head + text, self.order)


def read_blocks(path: Path, *parts: bytes) -> list[str]:
    """Packets with their times since the epoch, key logs and problems, as they come."""
    path.write_bytes(b"".join(parts))
    told: list[str] = []
    for one in file_packets(str(path), secrets=lambda text: told.append(text.decode())):
        told.append(f"{one.seq} at {one.time:.12g}" if isinstance(one, Packet) else lines([one])[0])
    return told


both_orders = pytest.mark.parametrize(("order", "other"), [("<", ">"), (">", "<")])


@both_orders
def test_times_of_interfaces_and_sections(path: Path, order: str, other: str) -> None:
    """Each has its own resolution and offset. A simple packet has the time of the last one, as has one whose time is
    impossible, which is told once."""
    a, b = Blocks(order), Blocks(other)
    negative = struct.pack(order + "q", -100)
    head = [
        a.section(),
        a.interface(),
        a.interface(resolution=b"\x03", offset=struct.pack(order + "q", 1000)),
        a.interface(resolution=b"\x81", offset=negative),
    ]
    late = (1 << 33) * 10**6
    body = [a.packet(1, 5_000_000), a.packet(2, 2500, 1), a.simple(3), a.packet(4, 300, 2), a.old(5, 4500, 1)]
    wrong = [
        a.packet(6, 199, 2),
        a.old(7, late),
        a.packet(8, 200, 2),
        a.packet(9, late - 1_000_000),
        a.packet(10, late),
    ]
    place = len(b"".join([*head, *body]))
    reason = "impossible packet times, such as -0.5 seconds since 1970: the previous time is used (0, 0)"
    assert read_blocks(path, *head, *body, *wrong, b.section(), b.interface(), b.packet(11, 7), b.simple(12)) == [
        *("1 at 5", "2 at 1002.5", "3 at 1002.5", "4 at 50", "5 at 1004.5"),
        f"{place}: {reason}",
        *(
            "6 at 1004.5",
            "7 at 1004.5",
            "8 at 0",
            "9 at 8589934591",
            "10 at 8589934591",
            "11 at 7e-06",
            "12 at 7e-06",
        ),
    ]


@both_orders
def test_packets_that_were_dropped_add_up(path: Path, order: str, other: str) -> None:
    """Counts are those since the beginning, of each interface and section: here, and by the system. Larger ones than
    possible mean nothing. Everything is told at the first place."""
    a, b = Blocks(order), Blocks(other)
    head = a.section() + a.interface() * 2
    parts = [
        *(a.dropped(0, here=5), a.dropped(1, here=2), a.dropped(0, here=6, system=2), a.dropped(1, here=2)),
        *(a.dropped(0, here=7), a.dropped(1, here=(1 << 40) + 1, system=3), a.dropped(1), a.packet(1, 0)),
    ]
    assert read_blocks(path, head, *parts) == ["1 at 0", f"{len(head)}: {DROPPED} (11, 0)"]
    again = [b.section(), b.interface(), b.dropped(0, here=4), b.dropped(0, here=4)]
    assert read_blocks(path, head, *parts, *again) == ["1 at 0", f"{len(head)}: {DROPPED} (15, 0)"]
    assert read_blocks(path, head, a.dropped(0, here=1 << 40)) == [f"{len(head)}: {DROPPED} ({1 << 40}, 0)"]


@pytest.mark.parametrize("order", ["<", ">"])
def test_key_logs_come_between_packets(path: Path, order: str) -> None:
    """Each as long as it says, and no longer than its block. Secrets of other kinds are none."""
    a = Blocks(order)
    head = [a.section(), a.secrets(b"first"), a.interface(), a.packet(1, 1), a.packet(2, 2)]
    body = [a.secrets(b"second and more", 6), a.packet(3, 3), a.secrets(b"other", kind=1), a.secrets(b"last", 999)]
    expected = ["first", "1 at 1e-06", "2 at 2e-06", "second", "3 at 3e-06", "last", "4 at 4e-06"]
    assert read_blocks(path, *head, *body, a.packet(4, 4)) == expected


@pytest.mark.parametrize("order", ["<", ">"])
def test_blocks_that_are_large_or_contradict_others(path: Path, order: str) -> None:
    """A block may be as large as is believed. Each kind of contradiction is told at its first place."""
    a = Blocks(order)
    head = a.section() + a.interface()
    large = block(99, bytes(MAX_PACKET + 5000), order)
    assert read_blocks(path, head, large, a.packet(1, 1), large, a.packet(2, 2)) == ["1 at 1e-06", "2 at 2e-06"]
    wrong = struct.pack(order + "II", 99, BELIEVED + 4) + bytes(40)
    reason = f"{len(head)}: invalid block size {BELIEVED + 4}: reading continues at the next valid block (0, 0)"
    assert read_blocks(path, head, wrong, a.packet(1, 1)) == [reason, "1 at 1e-06"]
    parts = [a.packet(1, 1, 1), a.packet(2, 2, 7), a.old(3, 3, 1), a.old(4, 4, 2), a.packet(5, 5)]
    place = [len(head), len(head) + len(parts[0]) + len(parts[1])]
    assert read_blocks(path, head, *parts) == [
        f"{place[0]}: a packet refers to interface 1, but the section describes only 1 (0, 0)",
        f"{place[1]}: a packet block of type 2 is inconsistent with its section (0, 0)",
        "5 at 5e-06",
    ]
    assert read_blocks(path, a.section(), a.simple(1), a.old(2, 2)) == [
        "28: a packet block of type 3 is inconsistent with its section (0, 0)",
        f"{28 + len(a.simple(1))}: a packet block of type 2 is inconsistent with its section (0, 0)",
    ]
    four = a.packet(3, 3)
    claims = four[:20] + struct.pack(order + "I", 46) + four[24:]
    (reason,) = read_blocks(path, head, claims)
    assert reason == f"{len(head)}: a packet of 46 bytes in a block that can hold 44 (0, 0)"


@pytest.mark.parametrize("before", [0, 250])
@pytest.mark.parametrize("order", ["<", ">"])
def test_the_next_block_behind_invalid_bytes(path: Path, order: str, before: int) -> None:
    """Its size, a multiple of four that a packet can have, stands at both of its ends."""
    a = Blocks(order)
    head, packets = a.section() + a.interface() + a.packet(1, 1), a.packet(8, 8) + a.packet(9, 9)
    invalid = INVALID + struct.pack(order + "I", 6) * before
    told = f"{len(head)}: invalid block size {0xFFFFFFFF}: reading continues at the next valid block (0, 0)"

    def false(size: int, last: int) -> bytes:
        return struct.pack(order + "II", 6, size) + bytes(max(size, 32) - 12) + struct.pack(order + "I", last)

    expected = ["1 at 1e-06", told, "8 at 8e-06", "9 at 9e-06"]
    assert read_blocks(path, head, invalid, packets) == expected
    for size, last in ((28, 28), (31, 31), (34, 34), (36, 40), (MAX_PACKET + 4100, MAX_PACKET + 4100)):
        assert read_blocks(path, head, invalid, false(size, last), packets) == expected, size
    empty = f"{len(head) + len(invalid)}: not read: inconsistent IP headers (1, 0)"
    for size in (32, MAX_PACKET + 4096):
        assert read_blocks(path, head, invalid, false(size, size), INVALID, packets) == [*expected, empty]
    assert read_blocks(path, head, invalid)[1:] == [
        f"{len(head)}: truncated: the last block is only {len(invalid)} bytes long (0, 0)"
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_interfaces_are_limited_and_their_options_have_sizes(
    path: Path, order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the limit there are neither interfaces nor what they dropped."""
    a = Blocks(order)
    odd = a.interface(resolution=b"", offset=bytes(7)), a.interface(resolution=b"\x03\x09", offset=bytes(9))
    assert read_blocks(path, a.section(), *odd, a.packet(1, 7), a.packet(2, 7, 1)) == ["1 at 7e-06", "2 at 0.007"]
    wrong = option(5, b"\1" * 4, order) + option(7, b"\1" * 9, order) + option(6, b"\1" + bytes(7), order)
    nothing = block(5, struct.pack(order + "III", 0, 0, 0) + wrong, order)
    first = a.section() + a.interface()
    assert read_blocks(path, first, a.dropped(0), nothing, a.dropped(0, here=0), a.packet(1, 0)) == ["1 at 0"]
    monkeypatch.setattr(pcapng, "MAX_INTERFACES", 2)
    parts = [a.interface(), a.interface(resolution=b"\x03"), a.packet(1, 1, 1), a.packet(2, 1, 2), a.packet(3, 1, 7)]
    drops = [a.dropped(number, here=10**number) for number in (3, 1, 2, 3)]
    place = len(first) + sum(map(len, parts[:3]))
    assert read_blocks(path, first, *parts, *drops) == [
        "1 at 1e-06",
        f"{place}: a packet refers to interface 2, but the section describes only 2 (0, 0)",
        f"{len(first) + sum(map(len, parts))}: {DROPPED} (1010, 0)",
    ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_packets_without_bytes_and_on_interfaces_without_a_link(path: Path, order: str) -> None:
    a = Blocks(order)
    short = block(1, struct.pack(order + "HHI", RAW, 0, 0)[:4], order)
    empty = block(6, struct.pack(order + "IIIII", 0, 0, 5, 0, 60), order)
    old = block(2, struct.pack(order + "HHIIII", 0, 0, 0, 6, 0, 60), order)
    head = a.section() + a.interface()
    cut = f"{len(head)}: truncated packets: only 0 of 60 bytes were captured here (0, 0)"
    for one in (empty, old):
        assert read_blocks(path, head, one, a.packet(1, 1))[:2] == [cut, "1 at 1e-06"]
    told = f"{len(a.section())}: an interface description of only 16 bytes (0, 0)"
    place = len(a.section() + short + a.packet(1, 1))
    for one, kind in ((a.simple(2), 3), (a.old(2, 2), 2)):
        found = read_blocks(path, a.section(), short, a.packet(1, 1), one, a.interface(), a.packet(3, 3, 1))
        assert found == [
            told,
            f"{place}: a packet block of type {kind} is inconsistent with its section (0, 0)",
            "3 at 3e-06",
        ]


@pytest.mark.parametrize("order", ["<", ">"])
def test_names_of_addresses_at_both_ends(path: Path, order: str) -> None:
    """The first name of each address counts, and others of a name do not."""
    a = Blocks(order)

    def names(*records: tuple[bytes, bytes]) -> bytes:
        made = [option(1 if len(address) == 4 else 2, address + name, order) for address, name in records]
        return block(4, b"".join(made) + bytes(4), order)

    one, two, six = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), bytes(15) + b"\1"
    first = names((one, b"a\0also\0"), (six, b"six\0"), (one, b"later\0"))
    packets = a.interface() + a.packet(1, 1)
    last = names((one, b"other\0"), (two, b"b" * 300 + b"\0"), (two, b"c\0"))
    expected = {"10.0.0.1": "a", "::1": "six", "10.0.0.2": "b" * 255}
    for kinds in ([packets], [a.interface(), a.simple(1)], [a.interface(), a.old(1, 1)]):
        path.write_bytes(a.section() + first + b"".join(kinds) + names((two, b"hidden\0")) + packets + last)
        assert address_names([str(path)]) == expected
    path.write_bytes(a.section() + a.interface() + a.secrets(b"x") + first + last)
    assert address_names([str(path), str(path)]) == expected
    path.write_bytes(a.section() + packets + last + a.dropped(0, here=1) + first)
    assert address_names([str(path)])["10.0.0.1"] == "a", "from the end of the file"
