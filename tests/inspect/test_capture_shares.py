"""Several files as one capture, shared among cores: together the shares are the whole, exactly."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from kwire.connection import CLIENT, SERVER
from kwire_inspect.capture import Broken, Peer, Piece, read_pieces
from kwire_inspect.capture.packet_files import capture_blocks, file_packets
from kwire_inspect.capture.packets import Packet
from kwire_inspect.capture.tcp import TcpConnections, largest
from tests.support.capture_files import (
    EPOCH,
    Conversation,
    TcpPacket,
    disturbed,
    merged,
    packets,
    recorded,
    write_pcap,
    write_pcapng,
)

TALKS = [
    Conversation(
        [((CLIENT, SERVER)[turn % 2], turn / 10, f"{number} says {turn}".encode()) for turn in range(20)],
        client=Peer("10.0.0.1", 40000 + number),
    )
    for number in range(24)
]
ALL = merged(packets(talk) for talk in TALKS)


def told(pieces: Iterable[Piece | Broken]) -> list[tuple[object, ...]]:
    return [
        (
            (one.connection, one.kind, one.direction, one.data, one.size, one.time, one.source, one.position)
            if isinstance(one, Piece)
            else (one.source, one.position, one.reason)
        )
        for one in pieces
    ]


def conversations(pieces: Iterable[Piece | Broken]) -> dict[int, list[bytes]]:
    """What was said on each connection, by port of the client; whatever is not data fails."""
    said: dict[int, list[bytes]] = {}
    for piece in pieces:
        assert isinstance(piece, Piece)
        assert piece.kind != "gap"
        if piece.kind == "data":
            said.setdefault(piece.connection.client.port, []).append(piece.data)
    return said


def times_in(files: Iterable[Path]) -> list[float]:
    """The times of all packets, in the order in which they are read."""
    blocks = capture_blocks([str(path) for path in files])
    return [one.time for block in blocks for one in block if isinstance(one, Packet)]


WHOLE = {talk.client.port: [data for _, _, data in talk.segments] for talk in TALKS}


@pytest.mark.parametrize("shares", [2, 3, 7])
def test_shares_together_are_the_whole(tmp_path: Path, shares: int) -> None:
    poor = disturbed(ALL, seed=5, loss=0.03, duplication=0.05, reordering=0.05)
    path = write_pcap(tmp_path / "a.pcap", poor, snaplen=60)
    path.write_bytes(path.read_bytes()[:-3])
    files = [str(path), str(tmp_path / "missing.pcap")]
    parts = [told(read_pieces(files, share=(number, shares))) for number in range(shares)]
    assert sum(map(len, parts)) == len(told(read_pieces(files)))
    assert {row for part in parts for row in part} == set(told(read_pieces(files)))
    for number, part in enumerate(parts):
        others = {row[0] for other in parts[:number] for row in other}
        assert others.isdisjoint(row[0] for row in part)


def test_shares_are_the_same_in_every_process() -> None:
    """Workers agree on them: these are held."""
    chosen = [TcpConnections((0, 3))._is_mine(b"\x0a\0\0\1\x0a\0\0\2" + bytes([0, n, 0, 99])) for n in range(8)]
    assert chosen == [False, False, False, False, False, True, False, True]


def test_rotated_files_go_on_where_others_end(tmp_path: Path) -> None:
    third = len(ALL) // 3
    files = [
        write_pcap(tmp_path / "c", ALL[:third]),
        write_pcapng(tmp_path / "a", ALL[third : 2 * third]),
        write_pcap(tmp_path / "b", ALL[2 * third :], nanoseconds=True),
    ]
    assert conversations(read_pieces([str(path) for path in files])) == WHOLE
    assert conversations(read_pieces([str(path) for path in reversed(files)])) == WHOLE


def test_files_of_the_same_time_are_read_side_by_side(tmp_path: Path) -> None:
    """One for each interface, and every packet seen on two of them."""
    files = [write_pcap(tmp_path / f"{n}", ALL[n::3] if n < 3 else ALL[::2]) for n in range(4)]
    assert conversations(read_pieces([str(path) for path in files])) == WHOLE
    times = times_in(files)
    assert times == sorted(times)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_packets_come_by_time_in_whatever_order_files_are_given(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Two captures of the same time, and one of later."""
    half = len(ALL) // 2
    parts = (ALL[:half:2], ALL[1:half:2], ALL[half:])
    files = [write_pcap(tmp_path / f"{number}", part) for number, part in enumerate(parts)]
    times = times_in([files[number] for number in order])
    assert len(times) == len(ALL)
    assert times == sorted(times)


def test_captures_of_both_ends_whose_clocks_differ(tmp_path: Path) -> None:
    late = [replace(packet, time=packet.time + 0.35) for packet in ALL]
    files = [
        write_pcap(tmp_path / "client", disturbed(ALL, seed=1, loss=0.02)),
        write_pcap(tmp_path / "server", disturbed(late, seed=2, loss=0.02)),
    ]
    pieces = list(read_pieces([str(path) for path in files]))
    data = sum(one.size for one in pieces if isinstance(one, Piece) and one.kind == "data")
    assert data >= sum(len(part) for parts in WHOLE.values() for part in parts) - 60


def test_only_connections_to_the_ports_given(tmp_path: Path) -> None:
    other = packets(replace(TALKS[0], server=Peer("10.0.0.9", 5432)))
    path = write_pcap(tmp_path / "a", merged([ALL, other]))
    assert conversations(read_pieces([str(path)], ports=[9092])) == WHOLE
    assert set(conversations(read_pieces([str(path)], ports=[5432]))) == {40000}
    assert list(read_pieces([str(path)], ports=[1])) == []


def test_connections_to_other_ports_are_known_in_both_directions(tmp_path: Path) -> None:
    """So that no packet of theirs is looked into."""
    path = write_pcap(tmp_path / "a", packets(TALKS[0]))
    found = [packet for packet in file_packets(str(path)) if isinstance(packet, Packet)]
    connections = TcpConnections(ports=[1])
    assert connections.add(found[0]) == []
    assert {packet.key for packet in found} == connections.passed


def test_only_packets_of_a_time(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a", ALL)
    part = conversations(read_pieces([str(path)], start=EPOCH + 0.45, end=EPOCH + 0.95))
    assert part == {port: parts[5:10] for port, parts in WHOLE.items()}
    assert list(read_pieces([str(path)], start=EPOCH + 99)) == []


def test_a_time_includes_its_start_and_not_its_end(tmp_path: Path) -> None:
    path = write_pcap(tmp_path / "a.pcap", ALL)
    times = [one.time for one in file_packets(str(path)) if isinstance(one, Packet)]
    start, end = times[len(times) // 3], times[-10]
    found = [one.time for one in file_packets(str(path), start=start, end=end) if isinstance(one, Packet)]
    assert found == [time for time in times if start <= time < end]
    assert (start in found, end in found) == (True, False)


def test_the_largest_are_dropped_until_half_of_the_limit_is_left() -> None:
    sizes = {"a": 3, "b": 5, "c": 2}
    assert largest(sizes, 10) == []
    assert largest(sizes, 9) == ["b", "a"]
    assert largest({"a": 1, "b": 10, "c": 4}, 14) == ["b"]
    assert largest({}, 0) == []


@pytest.mark.parametrize("name", ["librdkafka-on-4.1.1", "kafka-python-as-of-0.10-on-3.9.1-with-PLAIN"])
def test_recordings_of_real_clients_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    talks = recorded(name)
    path = write_pcapng(tmp_path / "a", merged(packets(talk) for talk in talks))
    pieces = [one for one in read_pieces([str(path)]) if isinstance(one, Piece) and one.kind == "data"]
    for talk in talks:
        for direction in (CLIENT, SERVER):
            mine = [one for one in pieces if one.connection.client == talk.client and one.direction == direction]
            assert b"".join(one.data for one in mine) == talk.said(direction)


def peak(files: Sequence[str]) -> int:
    tracemalloc.start()
    for _ in read_pieces(files):
        pass
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.slow
def test_memory_does_not_grow_with_the_capture(tmp_path: Path) -> None:
    def written(name: str, turns: int) -> str:
        talk = Conversation([((CLIENT, SERVER)[turn % 2], turn / 100, bytes(1200)) for turn in range(turns)])
        made: list[TcpPacket] = disturbed(packets(talk), seed=4, loss=0.01)
        return str(write_pcap(tmp_path / name, made))

    small, large = written("small", 500), written("large", 2500)
    assert peak([large]) < peak([small]) + 500_000
    assert peak([large]) < 2_500_000
