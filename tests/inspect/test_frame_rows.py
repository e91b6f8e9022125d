"""Rows of FRAMES: one for every frame, and for whatever is not one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kwire import is_native
from kwire.connection import CLIENT, SERVER
from kwire.frames import frame
from kwire.message import Message
from kwire.protocol import MessageRegistry
from kwire.secrets import METADATA_TOPIC_ID
from kwire.uuids import Uuid
from kwire_inspect.capture import Broken, Piece
from kwire_inspect.connections.batches import Table
from kwire_inspect.connections.error_codes import error_codes
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsResponse,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    ProduceRequest,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    UserScramCredentialRecord,
)
from kwire_kafka.api.describe_delegation_token import DescribedDelegationToken
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from tests.support.capture_files import Segment, recorded, recordings
from tests.support.connection_pieces import answered, asked, cells, conversation_pieces, gap, pieces, values

BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse(throttle_time_ms=5, error_code=27)


def test_a_request_and_its_response() -> None:
    request, response = cells(pieces([asked(BEAT, 4, 7, 1.0), answered(BEATEN, 4, 7, 1.25)]))
    assert request == {
        "source": "capture.pcap",
        "position": 0,
        "connection": "10.0.0.1:50412-10.0.0.9:9092@1700000000.000000",
        "client_host": "10.0.0.1",
        "client_port": 50412,
        "server_host": "10.0.0.9",
        "server_port": 9092,
        "number": 0,
        "direction": "client",
        "kind": "request",
        "started": datetime(2023, 11, 14, 22, 13, 21, tzinfo=UTC),
        "time": datetime(2023, 11, 14, 22, 13, 21, tzinfo=UTC),
        "size": len(asked(BEAT, 4, 7)[2]),
        "api_key": 12,
        "api": "Heartbeat",
        "version": 4,
        "correlation_id": 7,
        "client_id": "me",
        "software_name": None,
        "software_version": None,
        "principal": None,
        "request": None,
        "latency_ms": None,
        "error_codes": None,
        "throttle_ms": None,
        "reason": None,
        "raw": asked(BEAT, 4, 7)[2][4:],
        "problem": None,
    }
    expected = {"position": 1, "number": 1, "direction": "server", "kind": "response", "request": 0}
    expected |= {"api": "Heartbeat", "client_id": "me", "correlation_id": 7, "version": 4}
    expected |= {"latency_ms": 250.0, "error_codes": [27], "throttle_ms": 5, "raw": answered(BEATEN, 4, 7)[2][4:]}
    assert {name: response[name] for name in expected} == expected


def test_the_place_is_the_packet_that_completes_the_frame() -> None:
    direction, _, data = asked(BEAT, 4, 1)
    segments = [(direction, 1.0, data[:3]), (direction, 2.0, data[3:9]), (direction, 3.0, data[9:])]
    request, unanswered = values(pieces(segments), "kind", "position", "started", "time")
    assert request[:2] == ("request", 2)
    assert (request[3] - request[2]).total_seconds() == 2.0
    assert unanswered[0] == "unanswered"
    side, _, answer = answered(BEATEN, 4, 1)
    segments += [(side, 3.5, answer[:9]), (side, 5.0, answer[9:])]
    _, response = cells(pieces(segments))
    assert (response["position"], response["latency_ms"]) == (4, 2000.0)
    assert (response["time"] - response["started"]).total_seconds() == 1.5
    (row,) = cells(pieces(segments), table="exchanges")
    assert (row["position"], row["latency_ms"], row["time"]) == (2, 2000.0, request[3])


def test_a_whole_request_without_a_readable_header_has_its_response() -> None:
    bad: Segment = CLIENT, 0.0, frame(b"\0\x0c\0\4\0\0\0\7\0\2me\1\0\x7f")
    given = pieces([asked(BEAT, 4, 6), answered(BEATEN, 4, 6), bad, answered(BEATEN, 4, 7)])
    assert values(given, "kind", "request") == [
        ("request", None),
        ("response", 0),
        ("undecodable", None),
        ("response", 2),
    ]


def test_the_fallback_of_api_versions_is_known_although_its_request_is_newer() -> None:
    newer: Segment = CLIENT, 0.0, frame(b"\0\x12\0\x63\0\0\0\1\0\2me\0")
    given = pieces([newer, answered(ApiVersionsResponse(error_code=35), 0, 1)])
    request, response = values(given, "kind", "version", "error_codes", "reason")
    assert request[:3] == ("request", 99, None)
    assert "is newer than" in request[3]
    assert response == ("response", 99, [35], None)


@pytest.mark.parametrize("unknown", [b"GET / HTTP/1.1\r\n\r\n", b"\xfe" * 40])
def test_what_is_no_kafka_has_the_size_that_was_seen(unknown: bytes) -> None:
    first, *rest = values(pieces([(CLIENT, 0.0, unknown)]), "kind", "size", "reason")
    assert first[0] == "not_kafka"
    assert first[1] + sum(row[1] or 0 for row in rest) == len(unknown)


@pytest.mark.parametrize("name", recordings())
def test_of_recorded_connections_every_frame_is_there_and_every_request_answered(name: str) -> None:
    conversations = recorded(name)
    rows = cells(conversation_pieces(conversations))
    assert {row["kind"] for row in rows} <= {"request", "response", "sasl_token", "unanswered"}
    said = sum(len(data) for one in conversations for _, _, data in one.segments)
    assert sum(row["size"] or 0 for row in rows) == said
    assert {row["reason"] for row in rows if row["kind"] == "unanswered"} <= {"the connection ended"}
    open_requests = {(row["connection"], row["number"]): row["api"] for row in rows if row["kind"] == "request"}
    for row in rows:
        if row["kind"] in ("response", "unanswered"):
            assert row["api"] == open_requests.pop((row["connection"], row["request"]))
    assert set(open_requests.values()) <= {"Produce"}  # those with acks=0


def test_a_request_without_its_response_is_told() -> None:
    rows = values(pieces([asked(BEAT, 4, 1), asked(BEAT, 4, 2), answered(BEATEN, 4, 2)]), "kind", "request", "reason")
    assert rows == [
        ("request", None, None),
        ("request", None, None),
        ("unanswered", 0, "a later request was answered"),
        ("response", 1, None),
    ]


def test_nobody_waits_for_the_response_to_acks_0() -> None:
    silent = ProduceRequest(acks=0, timeout_ms=1)
    assert values(pieces([asked(silent, 7, 1), asked(BEAT, 4, 2), answered(BEATEN, 4, 2)]), "kind", "request") == [
        ("request", None),
        ("request", None),
        ("response", 1),
    ]


def test_a_body_that_cannot_be_decoded_is_a_row_with_its_reason_and_bytes() -> None:
    payload = asked(BEAT, 4, 1)[2][4:-2]
    rows = cells(pieces([(CLIENT, 0.0, frame(payload)), answered(BEATEN, 4, 1)]))
    assert [row["kind"] for row in rows] == ["undecodable", "response"]
    assert "HeartbeatRequest v4" in rows[0]["reason"]
    assert (rows[0]["api"], rows[0]["version"], rows[0]["client_id"]) == ("Heartbeat", 4, "me")
    assert rows[0]["raw"] == payload
    assert rows[1]["request"] == 0


def test_a_version_that_nobody_knows_is_shown_as_what_it_is() -> None:
    version, data = b"\0\x0c\0\x63", asked(BEAT, 4, 1)[2][4:]
    rows = cells(pieces([asked(BEAT, 4, 0), answered(BEATEN, 4, 0), (CLIENT, 1.0, frame(version + data[4:]))]))
    assert [(row["kind"], row["api"], row["version"]) for row in rows][2] == ("request", "Heartbeat", 99)


def test_bytes_that_were_not_seen() -> None:
    first, second = asked(BEAT, 4, 1), asked(BEAT, 4, 2)
    segments: list[Segment | Piece] = [
        (CLIENT, 0.0, first[2][:20]),
        gap(CLIENT, len(first[2]) - 20),
        second,
        answered(BEATEN, 4, 1),
        answered(BEATEN, 4, 2),
    ]
    rows = values(pieces(segments), "kind", "size", "request", "correlation_id")
    size, response = len(first[2]), len(answered(BEATEN, 4, 1)[2])
    assert rows == [
        ("gap", size - 20, None, None),
        ("undecodable", size, None, 1),
        ("request", size, None, 2),
        ("response", response, 1, 1),
        ("response", response, 2, 2),
    ]


def test_what_is_no_frame_has_its_times_too() -> None:
    stray = answered(BEATEN, 4, 77, 2.0)
    segments: list[Segment | Piece] = [
        *(asked(BEAT, 4, 1), answered(BEATEN, 4, 1)),
        *((SERVER, 1.0, stray[2][:5]), (SERVER, 2.0, stray[2][5:])),
        *(asked(BEAT, 4, 2, 3.0), gap(CLIENT, 5, 3.0)),
    ]
    rows = cells(pieces(segments), "kind", "started", "time", "correlation_id", "request")[2:]
    found = [
        (*(row[name] for name in ("kind", "correlation_id", "request")), row["time"] - row["started"]) for row in rows
    ]
    none, second = timedelta(0), timedelta(seconds=1)
    assert found == [
        ("undecodable", 77, None, second),
        ("request", 2, None, none),
        ("gap", None, None, none),
        ("unanswered", 2, 3, none),
    ]


def test_a_gap_of_unknown_size_has_none() -> None:
    rows = values(pieces([asked(BEAT, 4, 1), gap(SERVER, 0)]), "kind", "size", "direction")
    assert ("gap", None, "server") in rows


def test_a_connection_joined_in_the_middle() -> None:
    segments: list[Segment] = [(CLIENT, 0.0, asked(BEAT, 4, 1)[2][7:]), asked(BEAT, 4, 2), answered(BEATEN, 4, 2)]
    rows = cells(pieces(segments, complete=False))
    assert [row["kind"] for row in rows] == ["skipped", "request", "response"]
    assert rows[0]["size"] == len(asked(BEAT, 4, 1)[2]) - 7
    assert rows[0]["raw"] is None  # nobody knows what it was


def test_a_connection_that_is_not_kafka() -> None:
    hello = b"\x16\x03\x01\x00\x10" + bytes(16)
    more: Segment = (CLIENT, 1.0, bytes(1000))
    segments: list[Segment] = [(CLIENT, 0.0, hello), *[more] * 50]
    rows = cells(pieces(segments))
    assert [(row["kind"], row["reason"]) for row in rows] == [
        ("not_kafka", "TLS"),
        ("skipped", "this connection is not Kafka"),
    ]
    assert sum(row["size"] for row in rows) == 21 + 50_000


def test_a_broken_file_is_a_row_that_says_where() -> None:
    (row,) = cells([Broken("a.pcap", 24, "cut off")])
    assert {name: value for name, value in row.items() if value is not None} == {
        "source": "a.pcap",
        "position": 24,
        "problem": "cut off",
    }


def test_secrets_are_not_in_the_bytes() -> None:
    login = SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2")
    rows = cells(pieces([asked(login, 2, 1), asked(MetadataRequest(), 12, 2)]))
    assert asked(SaslAuthenticateRequest(auth_bytes=b""), 2, 1)[2][4:] == rows[0]["raw"]
    assert rows[1]["raw"] == asked(MetadataRequest(), 12, 2)[2][4:]


TOKEN = DescribedDelegationToken(hmac=b"hunter2")
CREDENTIAL = UserScramCredentialRecord(name="alice", stored_key=b"hunter2").encode(0)
METADATA = FetchableTopicResponse(topic_id=Uuid(METADATA_TOPIC_ID), partitions=[PartitionData(records=CREDENTIAL)])
LOGIN = SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2")
LOGGED_IN = SaslAuthenticateResponse(auth_bytes=b"hunter2")
INNER = [
    PROTOCOL.encode_request(LOGIN, 2, correlation_id=9),
    PROTOCOL.encode_response(LOGGED_IN, 2, correlation_id=9),
]
FORWARDED = EnvelopeRequest(request_data=INNER[0], client_host_address=bytes(4))


@pytest.mark.parametrize("table", ["frames", "exchanges"])
@pytest.mark.parametrize(
    ("request_", "response"),
    [
        (LOGIN, LOGGED_IN),
        (CreateDelegationTokenRequest(), CreateDelegationTokenResponse(hmac=b"hunter2")),
        (RenewDelegationTokenRequest(hmac=b"hunter2"), RenewDelegationTokenResponse()),
        (ExpireDelegationTokenRequest(hmac=b"hunter2"), ExpireDelegationTokenResponse()),
        (DescribeDelegationTokenRequest(), DescribeDelegationTokenResponse(tokens=[TOKEN])),
        (FetchRequest(), FetchResponse(responses=[METADATA])),
        (FORWARDED, EnvelopeResponse(response_data=INNER[1])),
    ],
    ids=lambda message: type(message).__name__,
)
def test_rows_of_logins_tokens_and_envelopes_have_their_bytes_but_no_secrets(
    request_: Message, response: Message, table: Table
) -> None:
    version = request_.VALID_VERSIONS[-1]
    exchange = [asked(request_, version, 1), answered(response, version, 1)]
    assert any(b"hunter2" in data for _, _, data in exchange)
    rows = cells(pieces(exchange), table=table)
    assert "hunter2" not in repr(rows)
    whole = [row[name] for row in rows[:2] for name in ("raw", "request", "response") if type(row.get(name)) is bytes]
    assert len(whole) >= 2


@pytest.mark.skipif(is_native(), reason="native code calls methods directly: none can be replaced")
@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_what_an_envelope_contains_is_decoded_once(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large message would be in memory twice."""
    clean = [
        PROTOCOL.encode_request(SaslAuthenticateRequest(), 2, correlation_id=9),
        PROTOCOL.encode_response(SaslAuthenticateResponse(), 2, correlation_id=9),
    ]
    for name in ("decode_request", "decode_response"):  # as redaction does
        monkeypatch.setattr(MessageRegistry, name, lambda *_, **__: pytest.fail("decoded again"))
    rows = cells(
        pieces([asked(FORWARDED, 0, 1), answered(EnvelopeResponse(response_data=INNER[1]), 0, 1)]), table=table
    )
    shown = [row[name] for row in rows for name in ("raw", "request", "response") if type(row.get(name)) is bytes]
    assert [part in whole for part, whole in zip(clean, shown, strict=False)] == [True, True]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_of_frames_with_bytes_missing_none_are_shown(table: Table) -> None:
    """What is there may be anything."""
    request, response = asked(BEAT, 4, 1)[2], answered(BEATEN, 4, 1)[2]
    halves: list[Segment | Piece] = [(CLIENT, 0.0, request[:20]), gap(CLIENT, len(request) - 20), asked(BEAT, 4, 2)]
    halves += [answered(BEATEN, 4, 2), asked(BEAT, 4, 1), (SERVER, 0.0, response[:9]), gap(SERVER, len(response) - 9)]
    column = ("raw",) if table == "frames" else ("request", "response")
    rows = cells(pieces(halves), table=table)
    shown = [row[name] for row in rows for name in column if row[name] is not None]
    assert shown == [asked(BEAT, 4, 2)[2][4:], answered(BEATEN, 4, 2)[2][4:], asked(BEAT, 4, 1)[2][4:]]


@pytest.mark.parametrize("table", ["frames", "exchanges"])
def test_rows_name_the_file_in_which_their_packet_was_seen(table: Table) -> None:
    given = pieces([step for number in range(3) for step in (asked(BEAT, 4, number), answered(BEATEN, 4, number))])
    for piece, name in zip(given, "abbccc", strict=False):
        piece.source = f"{name}.pcap"
    expected = "abbccc" if table == "frames" else "abc"  # an exchange is where its request was
    assert values(given, "source", table=table) == [f"{name}.pcap" for name in expected]


def test_secrets_that_cannot_be_decoded_are_not_shown() -> None:
    login = asked(SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2"), 2, 1)[2][4:]
    row, _ = cells(pieces([(CLIENT, 0.0, frame(login[:-3]))]))
    assert row["kind"] == "undecodable"
    assert row["raw"] is None


def test_what_follows_a_login_is_not_shown() -> None:
    login = asked(SaslAuthenticateRequest(), 2, 1)[2][4:]
    row, _ = cells(pieces([(CLIENT, 0.0, frame(login + b"hunter2"))]))
    assert (row["kind"], row["raw"]) == ("request", login)


def test_error_codes_are_found_wherever_they_are() -> None:
    topics = [
        FetchableTopicResponse(partitions=[PartitionData(error_code=code) for code in codes])
        for codes in ([0, 3, 6], [3, 0], [])
    ]
    assert error_codes(FetchResponse(error_code=70, responses=topics)) == (3, 6, 70)
    assert error_codes(FetchResponse(responses=topics)) == (3, 6)
    assert error_codes(FetchResponse()) == ()
    assert error_codes(HeartbeatResponse(error_code=-1)) == (-1,)
