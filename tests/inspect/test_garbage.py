"""What cannot be decoded costs little: it is tried less and less, and takes bounded memory. No time is measured."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import is_native
from kwire.connection import CLIENT, SERVER, ConnectionDecoder
from kwire.frames import frame
from kwire_inspect.capture import Broken, Peer, Piece, read_pieces
from kwire_inspect.capture.packet_files import file_packets
from kwire_inspect.capture.packets import Packet
from kwire_inspect.capture.pcap import APART, MAX_COUNTED, MAX_PACKET, _mark
from kwire_inspect.connections import batches, connection, frame_batches
from kwire_inspect.reasons import UNDECIDED
from kwire_kafka import PROTOCOL
from tests.support.capture_files import Conversation, Segment, merged, packets, recorded, write_pcap
from tests.support.connection_pieces import Cells, cells
from tests.support.effort import examples, peak

NOISE = 4 << 20


def noise(size: int, seed: int = 1, step: int = 1448) -> list[Segment]:
    chance = random.Random(seed)
    return [((CLIENT, SERVER)[n % 2], n / 1e6, chance.randbytes(step)) for n in range(size // step)]


def undecided(path: Any, segments: list[Segment]) -> list[Piece]:
    server = Peer("10.0.0.9", 31999)
    sent = packets(Conversation(segments, server=server), handshake=False, acks=False)
    return [one for one in read_pieces([str(write_pcap(path / "a.pcap", sent))]) if isinstance(one, Piece)]


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes that were decoded to find out which side is the client, each time."""
    sizes: list[int] = []
    score = connection.score

    def counted(pieces: Iterable[Piece], *args: Any, **options: Any) -> int:
        given = list(pieces)
        sizes.append(sum(len(piece.data) for piece in given))
        return score(given, *args, **options)

    monkeypatch.setattr(connection, "score", counted)
    return sizes


def test_noise_without_a_handshake_is_decoded_less_and_less(tmp_path: Any, tried: list[int]) -> None:
    pieces = undecided(tmp_path, noise(NOISE))
    (row,) = cells(pieces, "unread", "problem", table="exchanges")
    assert row == {"unread": sum(len(piece.data) for piece in pieces), "problem": UNDECIDED}
    assert sum(tried) < NOISE, "both ways together, less than once"


@pytest.mark.skipif(is_native(), reason="native code has no subclasses that are interpreted")
def test_one_byte_in_each_packet_is_decoded_in_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []

    class Counting(ConnectionDecoder):
        def feed(self, direction: Any, data: Any, time: float) -> Any:
            fed.append(len(data))
            return super().feed(direction, data, time)

    monkeypatch.setattr(connection, "ConnectionDecoder", Counting)
    run: list[Segment] = [(side, n / 1e6, b"\xfe") for side in (CLIENT, SERVER) for n in range(3000)]
    cells(undecided(tmp_path, run), table="exchanges")
    assert len(fed) < 3000 / 10


@pytest.mark.parametrize("swapped", [True, False])
def test_frames_that_cannot_be_read_exclude_a_side_early(tmp_path: Any, swapped: bool) -> None:
    bad = frame(b"\0\x03\0\x0c\0\0\0\1\0\4test\0" + b"\xff" * 600)
    segments: list[Segment] = [((SERVER, CLIENT)[n % 2], n / 1e6, bad) for n in range(400)]
    given = undecided(tmp_path, segments)
    looked: list[Piece] = []

    def noted() -> Iterable[Piece]:
        for piece in given:
            looked.append(piece)
            yield piece

    assert connection.score(noted(), connection.WINDOW, PROTOCOL, swapped=swapped) == 0
    assert len(looked) < 2 * len(given) / 3


def test_what_follows_noise_is_read(tmp_path: Any) -> None:
    real = next(one for one in recorded("librdkafka-on-4.1.1") if len(one.segments) > 6).segments

    def requests(*parts: list[Segment]) -> list[Cells]:
        segments = [(side, n / 1e3, data) for n, (side, _, data) in enumerate(one for part in parts for one in part)]
        rows = cells(undecided(tmp_path, segments), "api", "version", "problem", table="exchanges")
        return [row for row in rows if row["problem"] is None]

    alone, after = requests(list(real) * 40), requests(noise(1 << 20), list(real) * 120)
    assert alone
    assert {row["api"] for row in alone} <= {row["api"] for row in after}


def test_a_direction_that_is_alone_is_read_as_beside_the_other(tmp_path: Any) -> None:
    one = recorded("librdkafka-on-4.1.1")[0]
    sent = [packet for packet in packets(one, handshake=False, size=50) if packet.source == one.client]
    pieces = list(read_pieces([str(write_pcap(tmp_path / "a.pcap", sent))]))
    data = b"".join(piece.data for piece in pieces if isinstance(piece, Piece) and piece.direction == CLIENT)
    assert data == one.said(CLIENT)


@pytest.mark.long
def test_many_connections_take_bounded_memory(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that are open at once, the ones idle for longest are closed: four times as many take as much."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 100)
    monkeypatch.setattr("kwire_inspect.capture.packets.MAX_ENDS", 100)
    real = recorded("librdkafka-on-4.1.1")[0].segments[:2]

    def memory(count: int) -> int:
        talks = [
            Conversation(
                [(side, n / 100, data) for side, _, data in real], client=Peer(f"10.1.{n >> 8}.{n & 255}", 40000)
            )
            for n in range(count)
        ]
        path = write_pcap(tmp_path / f"{count}.pcap", merged(packets(talk, ending=0, acks=False) for talk in talks))
        given = read_pieces([str(path)], most=100)
        return peak(lambda: sum(batch.num_rows for batch in frame_batches(given, table="exchanges")))

    memory(400)  # what is made once
    assert memory(1600) < 1.5 * memory(400)


TCP = bytes.fromhex("45000028000000004006000001020304050607082384238400000000000000005010000000000000")


@pytest.mark.slow
def test_after_damage_no_block_is_passed_over(tmp_path: Path) -> None:
    """Nor where what is searched at once ends."""
    packet = pack("<IIIIIII", 6, 72, 0, 0, 5, 40, 40) + TCP + pack("<I", 72)
    head = pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28) + pack("<IIHHII", 1, 20, 101, 0, 0, 20)
    head += pack("<II", 6, 13)
    path = tmp_path / "damaged.pcapng"
    for border in range(1 << 17, 1 << 19, 1 << 16):
        for place in range(border - 8192 - 4, border - 8192 + 1):
            path.write_bytes(head.ljust(place, b"\0") + packet * 8000)
            assert sum(isinstance(item, Packet) for item in file_packets(str(path))) == 8000


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_searched_after_damage_is_not_tried_byte_by_byte(order: str) -> None:
    mark = _mark(order, 16, 0, MAX_PACKET)
    zeros = [found.span(1) for found in mark.pattern.finditer(bytes(4096))]
    assert zeros == [(1, 4096)]  # at once
    packets = (pack(f"{order}IIII", 0, 999_999, size, size) + b"\1" * size for size in (24, 255, 65_536, 1 << 24))
    for packet in packets:
        assert mark.before in [found.start() for found in mark.pattern.finditer(packet)]


@pytest.mark.parametrize("order", ["<", ">"])
@examples(1)
@given(parts=st.lists(st.sampled_from(["header", "other time", "short", "long", "word", "byte"]), max_size=40))
def test_packets_are_found_alike_one_by_one_and_all_at_once(order: str, parts: list[str]) -> None:
    first = 0x01010101
    kinds = {
        "header": pack(f"{order}IIII", first, 1, 24, 24) + b"\1" * 24,
        "other time": pack(f"{order}IIII", first + APART + 1, 1, 24, 24) + b"\1" * 24,
        "short": pack(f"{order}IIII", first, 1, 23, 24) + b"\1" * 23,
        "long": pack(f"{order}IIII", first, 10**9 - 1, 25, 24) + b"\1" * 25,
        "word": b"\1" * 4,
        "byte": b"\0",
    }
    buffer = b"".join(kinds[part] for part in parts)
    mark = _mark(order, 16, first, MAX_PACKET)
    assert mark.headers is not None
    for start in (0, len(buffer) // 2):
        for stop in (len(buffer), len(buffer) - 30):
            found = next((at for at in range(start, stop) if mark.plausible(buffer, at)), -1)
            assert mark.headers().first(buffer, start, stop) == found


def test_a_packet_after_thousands_of_false_headers_is_found_wherever_it_is(tmp_path: Path) -> None:
    """Each byte might begin a packet: looked at one by one, a megabyte takes most of a second."""
    first = 0x01010101
    packet = pack("<IIII", first, 0, 40, 40) + TCP
    head = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, MAX_PACKET, 101) + packet + b"\xff" * 16
    path = tmp_path / "false.pcap"
    for size in range(1 << 16, 1 << 20, 1 << 18):
        for more in (-1, 0, 7):  # wherever a piece ends
            path.write_bytes(head + b"\1" * (size + more) + packet * 8)
            assert sum(isinstance(item, Packet) for item in file_packets(str(path))) == 9


def test_no_number_of_packets_is_more_than_tables_can_add_up(tmp_path: Path) -> None:
    section = pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    dropped = pack("<HHQ", 5, 8, 1 << 40) * 100_000
    size = 24 + len(dropped)
    path = tmp_path / "dropped.pcapng"
    path.write_bytes((section + pack("<IIIII", 5, size, 0, 0, 0) + dropped + pack("<I", size)) * 2)
    [told] = file_packets(str(path))
    assert isinstance(told, Broken)
    assert told.packets == MAX_COUNTED
