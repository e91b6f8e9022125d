"""Captures that begin late, on any ports: real traffic, cut anywhere, is read as what it was or said to be unread."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire.connection import CLIENT, SERVER, Direction
from kwire_inspect.capture import Connection, Peer, Piece, read_pieces
from kwire_inspect.capture.packets import SYN, Guess, Packet, Servers
from kwire_inspect.reasons import HTTP, LIKE_TLS, PARTIAL, UNDECIDED
from kwire_kafka import HeartbeatRequest, HeartbeatResponse
from tests.support.capture_files import (
    EPOCH,
    Conversation,
    Segment,
    disturbed,
    merged,
    packets,
    recorded,
    recordings,
    write_pcap,
)
from tests.support.connection_pieces import answered, asked, cells, conversation_pieces, gap, pieces
from tests.support.effort import one_in

SAMPLE = Path(__file__).parents[1] / "data" / "traffic"
CUTS = 1000
OTHER_PORTS = Peer("10.0.0.1", 2000), Peer("10.0.0.9", 31092)
BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse()
ONE, TWO, THREE = ([asked(BEAT, 4, number) for number in range(1, count + 1)] for count in (1, 2, 3))
OPPOSITE: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}
KEY = ("correlation_id", "api", "version", "client_id")
COLUMNS = (
    *KEY,
    "request_size",
    "response_size",
    "unread",
    "api_key",
    "client_host",
    "client_port",
    "server_host",
    "server_port",
    "problem",
)

Truth = set[tuple[Any, ...]]


@cache
def real() -> list[tuple[Conversation, Truth]]:
    """The connections of all recordings and samples, and the requests of each."""
    found = [one for name in recordings() for one in recorded(name)]
    for path in sorted(SAMPLE.glob("*/traffic.pcap.*")):
        found += conversations(path)
    return [(one, requests(one)) for one in found if one.segments]


def conversations(path: Path) -> list[Conversation]:
    segments = defaultdict(list)
    for piece in read_pieces([str(path)]):
        if isinstance(piece, Piece) and piece.kind == "data":
            segments[piece.connection.id].append((piece.direction, piece.time, piece.data))
    return [Conversation([(side, time - one[0][1], data) for side, time, data in one]) for one in segments.values()]


def requests(conversation: Conversation) -> Truth:
    rows = cells(conversation_pieces([conversation]), *KEY, table="exchanges")
    return {tuple(row[name] for name in KEY) for row in rows}


@pytest.mark.parametrize("cut", one_in(10, range(CUTS)))
def test_a_late_capture_names_no_wrong_client_version_or_side(tmp_path: Path, cut: int) -> None:
    chance = random.Random(cut)
    server = Peer("10.0.0.9", chance.randint(1024, 65535))
    chosen = chance.choices(real(), k=chance.randint(1, 5))
    ports = chance.sample([port for port in range(1024, 65536) if port != server.port], k=len(chosen))
    truth, made, size = {}, [], chance.choice([100, 700, 1448, 20000])
    for (conversation, of_it), port in zip(chosen, ports, strict=True):
        client = Peer(f"10.0.0.{chance.randint(1, 5)}", port)
        truth[client.host, port] = of_it
        sent = packets(Conversation(conversation.segments, client, server), size=size, acks=chance.random() < 0.5)
        whole = chance.random() < 0.1  # with its handshake
        sent = sent[0 if whole else chance.randint(3, len(sent)) :][: chance.choice([10, 100, len(sent)])]
        if chance.random() < 0.1:
            side = chance.choice([client, server])
            sent = [packet for packet in sent if packet.source == side]
        made.append(disturbed(sent, seed=cut, loss=chance.choice([0, 0, 0.02]), reordering=chance.choice([0, 0.02])))
    path = write_pcap(tmp_path / "late.pcap", merged(made))
    seen = list(read_pieces([str(path)]))
    rows = cells(seen, *COLUMNS, table="exchanges")
    size = sum(piece.size for piece in seen if isinstance(piece, Piece) and piece.kind != "closed")
    read = sum((row["request_size"] or 0) + (row["response_size"] or 0) for row in rows)
    read += sum(row["size"] for row in cells(seen, "size", "kind") if row["kind"] == "sasl_token")
    assert read + sum(row["unread"] or 0 for row in rows if row["problem"] != PARTIAL) >= size
    for row in rows:
        if row["problem"] is None:
            assert (row["server_host"], row["server_port"]) == (server.host, server.port), row
            forwarded = row["client_port"] is None
            known = set[Any]().union(*truth.values()) if forwarded else truth[row["client_host"], row["client_port"]]
            assert row["api_key"] is None or tuple(row[name] for name in KEY) in known, row


def late(segments: Sequence[Segment | Piece], *, swapped: bool, server: int = 0) -> list[Piece]:
    """The pieces of a connection between the ports 5000 and 40000, of which 5000 is taken for the client and, if
    ``swapped``, is the broker. ``server`` is the port to which a handshake of another connection was seen."""
    servers, client, broker = Servers(), Peer("10.0.0.1", 5000), Peer("10.0.0.9", 40000)
    key = [b"\x0a\0\0\1", b"\x0a\0\0\x09", (5000).to_bytes(2, "big"), (40000).to_bytes(2, "big")]
    if server:
        ends = [key[0], key[1], b"\0\7", key[3]] if server == 40000 else [key[1], key[0], b"\0\7", key[2]]
        servers.learn(Packet(b"".join(ends), EPOCH, "", 0, 0, 0, SYN, b""))
    connection = Connection(client, broker, EPOCH, False, Guess(servers, b"".join(key)))
    made = pieces([replace(one) if isinstance(one, Piece) else one for one in segments], connection=connection)
    for piece in made[:-1] if swapped else []:
        piece.direction = OPPOSITE[piece.direction]
    return made


@pytest.mark.parametrize("port", [9092, 9099, 19094, 29093, 39092, 9100, 8080])
def test_the_usual_ports_of_brokers_hint_at_them(port: int) -> None:
    ends = bytes([10, 0, 0, 1, 10, 0, 0, 9])
    usual, client = port.to_bytes(2, "big"), (50000).to_bytes(2, "big")
    known = port not in (9100, 8080)
    assert Servers().hint(ends + client + usual) is (True if known else None)
    assert Servers().hint(ends + usual + client) is (False if known else None)
    assert Servers().hint(ends + usual + usual) is None


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("segments", "hinted", "decided"),
    [
        (ONE, None, False),
        (TWO, None, False),
        (THREE, None, True),
        ([*ONE, answered(BEATEN, 4, 1)], None, True),
        (ONE, True, True),
        (ONE, False, False),
        (THREE, False, True),
    ],
)
def test_what_shows_which_side_is_the_client(
    segments: list[Segment], hinted: bool | None, decided: bool, swapped: bool
) -> None:
    """Three requests do, or one with its response; less only if a handshake of another connection hints at the same,
    and more also if it hints at the opposite."""
    server = 0 if hinted is None else 5000 if hinted == swapped else 40000
    given = late(segments, swapped=swapped, server=server)
    given[-1].size = 1  # by a FIN, which is none of the bytes
    found = cells(given, "client_port", "correlation_id", "problem", "unread", "number", table="exchanges")
    size = sum(len(data) for _, _, data in segments)
    if decided:
        numbers = [1, 2, 3] if segments == THREE else [1]
        expected = [(40000 if swapped else 5000, number, None) for number in numbers]
        assert [(row["client_port"], row["correlation_id"], row["problem"]) for row in found] == expected
    else:
        nothing = {"client_port": None, "correlation_id": None}
        assert found == [nothing | {"problem": UNDECIDED, "unread": size, "number": 0}]
        (frames,) = cells(given)
        columns = {"connection": given[0].connection.id, "source": "capture.pcap", "position": len(segments)}
        assert {name: value for name, value in frames.items() if value is not None} == columns | {
            "problem": UNDECIDED,
            "size": size,
        }


@pytest.mark.parametrize(("server", "port"), [(0, 5000), (40000, 5000), (5000, 40000)])
def test_the_client_of_what_is_not_kafka_is_the_likely_one(server: int, port: int) -> None:
    given = late([(CLIENT, 0.0, b"GET / HTTP/1.1\r\n\r\n")], swapped=False, server=server)
    found = cells(given, "client_port", "problem", table="exchanges")
    assert found == [{"client_port": port, "problem": HTTP}] * 2


NOISE: list[Segment | Piece] = [
    *((SERVER, 0.0, b"\xfe" * 3000), gap(SERVER, 3000)),
    *((CLIENT, 0.0, b"\xfe" * 1000), gap(CLIENT, 1000)),
]
"""Bytes that show nothing, and as many that are missing."""


@pytest.mark.parametrize("count", [1, 2, 3, 4, 220, 221, 222, 223, 224, 225, 300, 500, 900])
def test_all_bytes_of_an_undecided_connection_are_told(count: int) -> None:
    """However many there are, and what is missing among them too."""
    given = late((NOISE * count)[:count], swapped=False)
    (row,) = cells(given, "problem", "unread", table="exchanges")
    assert row == {"problem": UNDECIDED, "unread": sum(piece.size for piece in given)}


@pytest.mark.parametrize("swapped", [False, True])
def test_bytes_that_did_not_wait_for_a_decision_are_told_with_their_direction(swapped: bool) -> None:
    talk = [
        step for number in range(4000) for step in (asked(BEAT, 4, number, 1.0), answered(BEATEN, 4, number, 1.0))
    ]
    given = late([*NOISE * 130, *talk], swapped=swapped)
    rows = cells(given, "kind", "direction", "size", "reason", "client_port", "time")
    first, second, *rest = rows
    assert {row["client_port"] for row in rows} == {40000 if swapped else 5000}
    assert {row["direction"]: row["kind"] for row in (first, second)} == {CLIENT: "skipped", SERVER: "skipped"}
    assert {row["reason"] for row in (first, second)} == {"it was not yet known which side is the broker"}
    sizes = {row["direction"]: row["size"] for row in (first, second)}
    assert 2 < sizes[SERVER] / sizes[CLIENT] < 4
    assert [row["kind"] for row in rest].count("response") == 4000
    assert sum(row["size"] or 0 for row in rows) == sum(piece.size for piece in given[:-1])


@pytest.mark.parametrize(("records", "reason"), [(1, UNDECIDED), (2, LIKE_TLS)])
def test_what_looks_like_tls_in_the_middle_is_called_so(records: int, reason: str) -> None:
    record: Segment = SERVER, 0.0, b"\x17\3\3\0\x50" + bytes(80)
    noise: list[Segment] = [(CLIENT, 0.0, b"\xfe" * 400), (SERVER, 0.0, b"\xfe" * 400)]
    found = cells(late([*noise, *[record] * records], swapped=False), "problem", "unread", table="exchanges")
    assert found == [{"problem": reason, "unread": 800 + 85 * records}]
