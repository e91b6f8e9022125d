"""Rows that share what they have in common, and the Arrow batches made of them."""

from __future__ import annotations

import ctypes
import gc

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import is_native
from kwire.headers import RequestHeader, ResponseHeader
from kwire_inspect import readers
from kwire_inspect.capture import Broken, Connection, Peer, Piece
from kwire_inspect.connections import ConnectionProjection, ConnectionRows, batches
from kwire_inspect.connections.batches import Table
from kwire_inspect.connections.request_context import MAX_CONTEXTS, Client, ContextCache
from kwire_inspect.rows import LAYOUTS, Layout, Row, exchange_row, micros
from kwire_inspect.schemas import EXCHANGES, FRAMES
from kwire_kafka import PROTOCOL, ApiVersionsRequest, HeartbeatRequest, HeartbeatResponse, SaslAuthenticateRequest
from tests.support.capture_files import EPOCH
from tests.support.connection_pieces import answered, asked, cells, pieces

TALK = [asked(HeartbeatRequest(), 4, 1), answered(HeartbeatResponse(), 4, 1)]


@given(st.lists(st.none() | st.binary(max_size=20), max_size=30))
def test_bytes_are_columns_as_arrow_makes_them(values: list[bytes | None]) -> None:
    schema = pa.schema([FRAMES.field("raw")])
    batch = Layout("raw", schema).batch([(value,) for value in values]) if values else None
    assert batch is None or batch.column(0).equals(pa.array(values, pa.binary()))
    assert batch is None or batch.validate(full=True) is None


@pytest.mark.parametrize(
    ("nanos", "expected"), [(0, 0), (123_456_000, 123_456), (123_456_200, 123_456), (123_456_700, 123_457)]
)
def test_times_are_rounded_to_microseconds(nanos: int, expected: int) -> None:
    assert micros(1_700_000_000 + nanos / 1e9) == 1_700_000_000_000_000 + expected


@pytest.mark.parametrize(("table", "full"), [("frames", FRAMES), ("exchanges", EXCHANGES)])
def test_all_columns_have_one_place(table: str, full: pa.Schema) -> None:
    layout = LAYOUTS[table]
    assert sorted([*layout.own, *layout.shared]) == sorted(full.names)
    row = layout.corrupt("a.pcap", 7, "cut off")
    told = {name: layout.value(row, name) for name in full.names}
    assert {name: value for name, value in told.items() if value is not None} == {
        "source": "a.pcap",
        "position": 7,
        "problem": "cut off",
    }


def test_the_row_of_a_request_has_its_values_in_their_columns() -> None:
    names = ("position", "number", "time", "correlation_id", "error_codes", "throttle_ms", "latency_ms")
    given = (1, 2, 3, 4, (5,), 6, 7.5, 8, 9, b"10", b"11")
    sent = ("request_size", "response_size", "request", "response")
    values = dict(zip((*names, *sent), given, strict=True))
    assert exchange_row(("shared",), *given) == LAYOUTS["exchanges"].row(("shared",), **values)


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_rows_of_a_kind_share_what_they_have_in_common(table: Table) -> None:
    many = pieces(TALK * 50)
    rows = ConnectionRows(many[0].connection, ConnectionProjection(table))
    made = [row for piece in many for row in rows.feed(piece)]
    assert len({id(row[0]) for row in made}) == (2 if table == "frames" else 1)


def test_what_is_shared_is_that_of_the_file_and_of_who_the_client_is_by_then() -> None:
    named = ApiVersionsRequest(client_software_name="app", client_software_version="1")
    talk = [*TALK, asked(named, 3, 2), asked(HeartbeatRequest(), 4, 3), answered(HeartbeatResponse(), 4, 3)]
    given_pieces = pieces(talk)
    given_pieces[-2].source = "next.pcap"
    rows = cells(given_pieces)
    assert [(row["api"], row["kind"], row["source"], row["software_name"]) for row in rows] == [
        ("Heartbeat", "request", "capture.pcap", None),
        ("Heartbeat", "response", "capture.pcap", None),
        ("ApiVersions", "request", "capture.pcap", "app"),
        ("Heartbeat", "request", "capture.pcap", "app"),
        ("ApiVersions", "unanswered", "next.pcap", "app"),
        ("Heartbeat", "response", "next.pcap", "app"),
    ]
    first, second, third = cells(given_pieces, table="exchanges")
    assert [first["software_name"], second["software_name"], third["software_name"]] == [None, "app", "app"]
    assert {row["source"] for row in (first, second, third)} == {"capture.pcap"}


def test_of_a_client_that_claims_to_be_many_not_all_is_kept() -> None:
    contexts, client = ContextCache(PROTOCOL), Client("app")
    for number in range(3 * MAX_CONTEXTS):
        header = RequestHeader(api_key=12, api_version=4, correlation_id=number, client_id=f"client-{number}")
        assert contexts.of(header, client).columns == {
            "software_name": "app",
            "software_version": None,
            "principal": None,
            "api_key": 12,
            "api": "Heartbeat",
            "version": 4,
            "client_id": f"client-{number}",
        }
        assert contexts.of(header, client) is contexts.of(header, client)
    assert len(contexts._known) <= MAX_CONTEXTS
    assert contexts.of(ResponseHeader(), client).columns == client._asdict()


def test_rows_come_in_the_order_of_the_pieces_whatever_is_broken_between() -> None:
    first = pieces(TALK * (batches.TURN - 5))
    other = pieces(TALK * 3, connection=Connection(Peer("10.0.0.2", 1), Peer("10.0.0.9", 9092), EPOCH, True))
    mixed: list[Piece | Broken] = [*first[:-1], *other[:3], Broken("a.pcap", 9, "cut off"), *other[3:], first[-1]]
    rows = cells(mixed)
    places = [(row["client_host"], row["number"]) for row in rows]
    expected = [("10.0.0.1", number) for number in range(2 * (batches.TURN - 5))]
    assert places == [
        *expected,
        *[("10.0.0.2", n) for n in range(3)],
        (None, None),
        *[("10.0.0.2", n) for n in (3, 4, 5)],
    ]


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_what_was_decoded_is_bounded_by_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    made = batches.Connections.rows

    def counting(self: batches.Connections) -> list[Row]:
        held.append(sum(len(piece.data) for _, _, piece in self.decoded))
        return made(self)

    monkeypatch.setattr(batches.Connections, "rows", counting)
    large = [asked(SaslAuthenticateRequest(auth_bytes=b"x" * 50_000), 2, number) for number in range(40)]
    cells(pieces(large), "size")
    assert max(held) < batches.TURN_BYTES + 60_000
    assert len(held) > 5


def test_a_worker_settles_once(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())  # a system without mallopt
    readers.tune_worker.cache_clear()
    readers.tune_worker()
    readers.tune_worker()
    assert frozen == [1]
    readers.tune_worker.cache_clear()


def test_a_row_is_built_by_name_wherever_its_columns_are() -> None:
    names = list(EXCHANGES.names)
    moved = pa.schema([EXCHANGES.field(name) for name in [*names[:7], *reversed(names[7:])]])
    for schema in (EXCHANGES, moved, moved.append(pa.field("more", pa.string()))):
        layout = Layout("test", schema)
        row = layout.row(source="a.log", position=3, api="Fetch", reason="why")
        told = {name: value for name, value in zip(schema.names, row, strict=True) if value is not None}
        assert told == {"source": "a.log", "position": 3, "api": "Fetch", "reason": "why"}
        assert layout.batch([row]).select(["api", "reason"]).to_pylist() == [{"api": "Fetch", "reason": "why"}]
    with pytest.raises(TypeError, match="apii"):
        layout.row(apii="Fetch")
