"""Captures that begin late, on any ports: real traffic, cut anywhere, is read as what it was or said to be unread."""

from __future__ import annotations

import random
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire_spark.capture import Peer, Piece, read_pieces
from kwire_spark.unread import PARTIAL
from tests.effort import one_in
from tests.pipeline.capture_files import Conversation, disturbed, merged, packets, recorded, recordings, write_pcap
from tests.pipeline.connection_pieces import cells, conversation_pieces

SAMPLE = Path(__file__).parents[1] / "data" / "traffic"
CUTS = 1000
OTHER_PORTS = Peer("10.0.0.1", 2000), Peer("10.0.0.9", 31092)
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
    "_corrupt",
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
    for (conversation, asked), port in zip(chosen, ports, strict=True):
        client = Peer(f"10.0.0.{chance.randint(1, 5)}", port)
        truth[client.host, port] = asked
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
    assert read + sum(row["unread"] or 0 for row in rows if row["_corrupt"] != PARTIAL) >= size
    for row in rows:
        if row["_corrupt"] is None:
            assert (row["server_host"], row["server_port"]) == (server.host, server.port), row
            forwarded = row["client_port"] is None
            asked = set[Any]().union(*truth.values()) if forwarded else truth[row["client_host"], row["client_port"]]
            assert row["api_key"] is None or tuple(row[name] for name in KEY) in asked, row
