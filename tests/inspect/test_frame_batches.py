"""Batches of rows: only what is wanted, however it comes, and whatever is missing."""

from __future__ import annotations

import pickle
import random
from copy import copy
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import is_native
from kwire.connection import CLIENT, SERVER
from kwire.connection.event_reader import EventReader
from kwire.frames import frame
from kwire.message import decode_within
from kwire_inspect.capture import Broken, Piece
from kwire_inspect.connections import (
    Condition,
    ConnectionProjection,
    ConnectionRows,
    exchange_rows,
    frame_batches,
    frame_rows,
)
from kwire_inspect.connections.batches import BATCH_ROWS, TABLES, Connections, Table
from kwire_inspect.options import BrokenInputError
from kwire_inspect.reasons import MISSING
from kwire_inspect.rows import Layout
from kwire_inspect.schemas import EXCHANGES, FRAMES
from kwire_kafka import HeartbeatRequest, HeartbeatResponse, ProduceRequest
from tests.real_kafka.broker import USERS
from tests.support.capture_files import Segment, recorded, recordings
from tests.support.connection_pieces import answered, asked, cells, conversation_pieces, gap, pieces, values
from tests.support.effort import examples

TALK = [asked(HeartbeatRequest(), 4, 1), answered(HeartbeatResponse(error_code=27), 4, 1)]
SASL = ["kafka-python-as-of-0.10-on-3.9.1-with-PLAIN", "librdkafka-on-4.1.1-with-SCRAM-SHA-256"]


def test_conditions_can_be_sent_to_workers() -> None:
    condition = Condition("api", "in", ("Produce", "Fetch"), negated=True)
    assert pickle.loads(pickle.dumps(condition)) == condition


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("name", ["librdkafka-on-4.1.1-with-SCRAM-SHA-256", "the-broker-on-4.1.1"])
def test_columns_are_the_same_alone_as_among_all(name: str, table: Table) -> None:
    conversation = conversation_pieces(recorded(name))
    rows = cells(conversation, table=table)
    for column in TABLES[table].names:
        assert values(conversation, column, table=table) == [row[column] for row in rows], column


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_what_is_not_wanted_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"bodies": 0, "errors": 0, "shown": 0}

    def counting(name: str, function: Any) -> Any:
        def count(*arguments: Any, **more: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **more)

        return count

    for module in (frame_rows, exchange_rows):
        monkeypatch.setattr(module, "error_codes", counting("errors", module.error_codes))
        monkeypatch.setattr(module, "shown", counting("shown", module.shown))
    monkeypatch.setattr("kwire.connection.event_reader.decode_within", counting("bodies", decode_within))
    for table in TABLES:
        cells(pieces(TALK), "api", "version", "client_id", "size" if table == "frames" else "number", table=table)  # type: ignore[arg-type]
        cells(pieces(TALK), "software_name", "principal", table=table)  # type: ignore[arg-type]
    assert counts == {"bodies": 0, "errors": 0, "shown": 0}
    cells(pieces(TALK), "kind")
    assert counts == {"bodies": 2, "errors": 0, "shown": 0}
    cells(pieces(TALK), "error_codes")
    cells(pieces(TALK), "raw")
    assert counts == {"bodies": 4, "errors": 1, "shown": 2}


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_of_other_apis_no_bodies_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded = []
    read = EventReader._message

    def noting(self: EventReader, cls: Any, name: str, *rest: Any) -> Any:
        message = read(self, cls, name, *rest)
        decoded.extend([name] if message is not None else [])
        return message

    monkeypatch.setattr(EventReader, "_message", noting)
    segments = [*TALK, asked(ProduceRequest(acks=1, timeout_ms=1), 7, 2)]
    rows = cells(pieces(segments), "api", "kind", conditions=[Condition("api", "in", ("Produce", "Fetch"))])
    assert [row["kind"] for row in rows] == ["request", "unanswered"]
    assert decoded == ["Produce"]


def test_the_rows_that_a_condition_leaves_are_decoded() -> None:
    """Also where it is negated: then all APIs but the named ones are wanted."""
    for condition in (
        Condition("api", "=", "Produce", negated=True),
        Condition("api", "in", ("Produce", "Fetch"), negated=True),
        Condition("api", "=", "Heartbeat"),
    ):
        rows = cells(pieces(TALK), "error_codes", conditions=[condition])
        assert [row["error_codes"] for row in rows] == [None, [27]], condition


def test_columns_may_be_in_any_order_and_none_may_be_wanted() -> None:
    assert [list(row) for row in cells(pieces(TALK), "kind", "source")] == [["kind", "source"]] * 2
    (batch,) = frame_batches(pieces(TALK), pa.schema([]))
    assert (batch.num_rows, batch.num_columns) == (2, 0)


@pytest.mark.parametrize(
    ("conditions", "kinds"),
    [
        ([Condition("kind", "=", "request")], ["request"]),
        ([Condition("kind", "in", ("response", "gap"))], ["response"]),
        ([Condition("latency_ms", "null", negated=True)], ["response"]),
        ([Condition("latency_ms", "null")], ["request"]),
        ([Condition("position", ">", 0), Condition("position", "<=", 1)], ["response"]),
        ([Condition("size", ">=", 0), Condition("number", "<", 1)], ["request"]),
        ([Condition("client_host", "=", "10.0.0.1")], ["request", "response"]),
        ([Condition("client_host", "=", "10.0.0.2")], []),
        ([Condition("server_port", "=", 9092), Condition("api_key", "=", 13)], []),
        ([Condition("principal", "=", "User:x")], []),
    ],
)
def test_rows_have_to_pass_conditions(conditions: list[Condition], kinds: list[str]) -> None:
    rows = cells(pieces(TALK), "kind", conditions=conditions)
    assert [row["kind"] for row in rows] == kinds


def test_connections_without_rows_that_are_wanted_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConnectionRows, "decode", lambda *_: pytest.fail("decoded"))
    assert cells(pieces(TALK), conditions=[Condition("server_port", "=", 1)]) == []


def test_the_client_of_an_exchange_may_be_in_an_envelope() -> None:
    peers = {"connection": "id", "client_host": "10.0.0.1", "server_host": "10.0.0.9", "server_port": 9092}
    wanted = ConnectionProjection("exchanges", conditions=[Condition("client_host", "=", "192.0.2.7")])
    assert wanted.takes(peers)
    frames = ConnectionProjection("frames", conditions=[Condition("client_host", "=", "192.0.2.7")])
    assert not frames.takes(peers)


def test_what_is_missing_of_a_connection_has_its_columns() -> None:
    lossy: list[Segment | Piece] = [*TALK, gap(CLIENT, 10)]
    rows = cells(pieces(lossy), table="exchanges", conditions=[Condition("unread", ">", 0)])
    assert [(row["problem"], row["unread"], row["client_host"]) for row in rows] == [(MISSING, 10, "10.0.0.1")]


def test_batches_are_of_a_bounded_size() -> None:
    many = pieces(TALK * 5000)
    sizes = [batch.num_rows for batch in frame_batches(many, pa.schema([FRAMES.field("kind")]))]
    assert sum(sizes) == 10_000
    assert max(sizes) < BATCH_ROWS + 10
    large = [*pieces([asked(ProduceRequest(transactional_id="x" * 30_000), 7, number) for number in range(500)])]
    for column in ("raw", "client_id"):  # ids may be as long
        sizes = [batch.num_rows for batch in frame_batches(large, pa.schema([FRAMES.field(column)]))]
        assert max(sizes[:-1]) < 300  # of 30 kB each


def test_a_piece_that_completes_a_large_frame_counts_with_the_whole_frame() -> None:
    """Its message takes far more memory than the piece: rows are made of it before the next is decoded."""
    client, time, sent = asked(ProduceRequest(transactional_id="x" * 30_000), 7, 1)
    first, last = sent[:-100], sent[-100:]
    connections = Connections(ConnectionProjection("frames"))
    segments = [(client, time, first), (client, time, last)]
    sizes = [connections.feed(piece) for piece in pieces(segments) if piece.kind == "data"]
    assert len(first) <= sizes[0] < 2 * len(first)
    assert sizes[1] >= len(sent)


def test_broken_files_end_the_job_if_asked_to() -> None:
    with pytest.raises(BrokenInputError, match=r"a\.pcap, byte 9: cut off"):
        list(frame_batches([Broken("a.pcap", 9, "cut off")], failfast=True))


def test_a_number_that_does_not_fit_is_null() -> None:
    schema = pa.schema([FRAMES.field("time"), FRAMES.field("client_port")])
    batch = Layout("test", schema).batch([(1 << 70, 5), (7, 1 << 40), (8, 6)])
    assert batch.column(0).cast(pa.int64()).to_pylist() == [None, 7, 8]
    assert batch.column(1).to_pylist() == [5, None, 6]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("name", recordings())
def test_secrets_never_appear(name: str, table: Table) -> None:
    text = repr(cells(conversation_pieces(recorded(name)), table=table))
    assert not [password for password in USERS.values() if password in text]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("name", SASL)
@pytest.mark.parametrize("seed", range(6))
def test_secrets_never_appear_if_pieces_are_missing(name: str, table: Table, seed: int) -> None:
    chance = random.Random(seed)
    damaged = [part for piece in conversation_pieces(recorded(name)) for part in _damaged(piece, chance)]
    text = repr(cells(damaged, table=table))
    assert not [password for password in USERS.values() if password in text]


def _damaged(piece: Piece, chance: random.Random) -> list[Piece]:
    """Sometimes a gap, or a gap and the end of what was sent."""
    if piece.kind != "data" or chance.random() > 0.2:
        return [piece]
    lost, kept = copy(piece), copy(piece)
    lost.size = chance.choice([piece.size, chance.randint(1, piece.size)])
    lost.kind, lost.data, kept.data = "gap", b"", piece.data[lost.size :]
    kept.size = len(kept.data)
    return [lost, kept] if kept.data else [lost]


CONVERSATIONS = [one for name in recordings() for one in recorded(name)[:6]]


@examples(0.4)
@given(st.data())
def test_it_does_not_matter_whether_a_connection_is_pickled_in_between(data: st.DataObject) -> None:
    table: Table = data.draw(st.sampled_from(["frames", "exchanges"]))
    given_pieces = conversation_pieces([data.draw(st.sampled_from(CONVERSATIONS))])
    expected = cells(given_pieces, table=table)
    kept = ConnectionRows(given_pieces[0].connection, ConnectionProjection(table))
    rows = []
    for piece in given_pieces:
        if data.draw(st.booleans()):
            kept = pickle.loads(pickle.dumps(kept))
        rows += kept.feed(piece)
    assert ConnectionProjection(table).batch(rows).to_pylist() == expected


@examples(0.6)
@given(st.lists(st.tuples(st.sampled_from([CLIENT, SERVER]), st.binary(max_size=200)), max_size=8), st.booleans())
def test_any_bytes_give_rows(said: list[tuple[Any, bytes]], complete: bool) -> None:
    segments = [(direction, 0.0, data) for direction, data in said]
    rows = cells(pieces(segments, complete=complete), "size", "kind")
    assert sum(row["size"] or 0 for row in rows) == sum(len(data) for _, data in said)
    cells(pieces(segments, complete=complete), table="exchanges")


def test_all_columns_are_filled_in_order() -> None:
    rows = ConnectionRows(pieces([])[0].connection, ConnectionProjection("exchanges"))
    made = [row for piece in pieces(TALK, connection=rows.connection) for row in rows.feed(piece)]
    assert [len(row[0]) + len(row[1:]) for row in made] == [len(EXCHANGES.names)]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize("complete", [True, False])
def test_a_password_without_its_handshake_is_no_client_id(table: Table, complete: bool) -> None:
    """After a gap nobody knows that a token comes. That of PLAIN begins like a request of a version there never was:
    ``\\0A`` is an api that exists, and the first letters of the password may stand for the size of a client id."""
    token = b"\0Alice12\0" + b"pass" * 40
    segments = [*TALK, (CLIENT, 1.0, frame(token)), asked(HeartbeatRequest(), 4, 2)]
    rows = cells(pieces(segments, complete=complete), table=table)
    assert "passpass" not in repr(rows)
    assert sum(row["api"] == "Heartbeat" and row.get("kind", "request") == "request" for row in rows) == 2


@pytest.mark.slow
def test_what_is_kept_of_a_connection_is_bounded_however_many_clients_its_requests_name() -> None:
    first, *_ = pieces([])
    rows = ConnectionRows(first.connection, ConnectionProjection("exchanges"))
    sizes = []
    for number in range(1200):
        exchanged = [asked(HeartbeatRequest(), 4, number, client_id=f"client {number}")]
        exchanged.append(answered(HeartbeatResponse(), 4, number))
        for piece in pieces(exchanged, connection=first.connection)[:-1]:
            rows.feed(piece)
        sizes.append(len(pickle.dumps(rows)))
    assert max(sizes[400:]) < 1.2 * max(sizes[:400])
