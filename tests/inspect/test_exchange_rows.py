"""Rows of EXCHANGES from connections: every request with what became of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from kwire.connection import CLIENT, SERVER, Direction
from kwire.frames import frame
from kwire_inspect.capture import Broken, Piece, read_pieces
from kwire_inspect.connections import ConnectionProjection, ConnectionRows, frame_batches
from kwire_inspect.connections.batches import ALL, CODES, Table
from kwire_inspect.reasons import HTTP, MISSING, NO_FRAME, PARTIAL, STRAY
from kwire_inspect.rows import Condition
from kwire_inspect.schemas import EXCHANGES
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DefaultPrincipalData,
    EnvelopeRequest,
    EnvelopeResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from tests.inspect.test_late_captures import OTHER_PORTS
from tests.support.capture_files import (
    ACK,
    EPOCH,
    FIN,
    Conversation,
    Segment,
    merged,
    packets,
    recorded,
    recordings,
    write_pcap,
)
from tests.support.connection_pieces import answered, asked, cells, conversation_pieces, gap, pieces, values

FACTS = pa.schema([field for field in EXCHANGES if field.name not in ("request", "response")])
BEAT, BEATEN = HeartbeatRequest(group_id="g"), HeartbeatResponse(throttle_time_ms=5, error_code=27)


def test_a_request_with_its_response() -> None:
    (row,) = cells(pieces([asked(BEAT, 4, 7, 1.0), answered(BEATEN, 4, 7, 1.5)]), table="exchanges")
    expected = {
        "position": 0,
        "number": 0,
        "client_host": "10.0.0.1",
        "api": "Heartbeat",
        "version": 4,
        "correlation_id": 7,
        "client_id": "me",
        "outcome": "answered",
        "error_codes": [27],
        "throttle_ms": 5,
        "latency_ms": 500.0,
        "request_size": len(asked(BEAT, 4, 7)[2]),
        "response_size": len(answered(BEATEN, 4, 7)[2]),
        "response_version": 4,
        "forwarded": False,
        "reason": None,
        "request": asked(BEAT, 4, 7)[2][4:],
        "response": answered(BEATEN, 4, 7)[2][4:],
        "problem": None,
    }
    assert {name: row[name] for name in expected} == expected


def test_times_are_those_of_the_bytes_wherever_packets_end() -> None:
    """A request is complete with its last byte, and so is a response: the time between them is the latency."""
    asks = [asked(BEAT, 4, number)[2] for number in (1, 2)]
    answers = [answered(BEATEN, 4, number)[2] for number in (1, 2)]
    for cut in range(1, len(asks[0]) * 2):
        given: list[Segment] = []
        seen = []  # when the first and the last byte of each frame were
        sides: list[tuple[Direction, list[bytes], int, int, int]]
        sides = [(CLIENT, asks, cut, 1, 2), (SERVER, answers, 1 + cut % (2 * len(answers[0]) - 1), 4, 8)]
        for side, frames, at, early, late in sides:
            whole, size = b"".join(frames), len(frames[0])
            given += [(side, early, whole[:at]), (side, late, whole[at:])]
            seen += [(early if start < at else late, early if start + size <= at else late) for start in (0, size)]
        latencies = [1000.0 * (seen[2 + number][1] - seen[number][1]) for number in (0, 1)]
        rows = values(pieces(given), "started", "time", "latency_ms")
        assert [(first.timestamp() - EPOCH, last.timestamp() - EPOCH) for first, last, _ in rows] == seen
        assert [latency for *_, latency in rows] == [None, None, *latencies]
        found = values(pieces(given), "time", "position", "correlation_id", "latency_ms", table="exchanges")
        assert [(time.timestamp() - EPOCH, *others) for time, *others in found] == [
            (end, end - 1, number, latency)
            for (_, end), number, latency in zip(seen[:2], (1, 2), latencies, strict=True)
        ]


@pytest.mark.parametrize("name", recordings())
def test_of_recorded_connections_every_request_is_answered(name: str) -> None:
    given = conversation_pieces(recorded(name))
    rows = cells(given, table="exchanges")
    assert {row["outcome"] for row in rows} <= {"answered", "none", "unanswered"}
    assert not any(row["problem"] for row in rows)
    requests = cells(given, "kind")
    assert len([row for row in rows if not row["forwarded"]]) == [row["kind"] for row in requests].count("request")


def test_each_row_names_the_file_in_which_its_request_was_seen() -> None:
    given = pieces([step for number in range(4) for step in (asked(BEAT, 4, number), answered(BEATEN, 4, number))])
    for piece, name in zip(given, "aabbbccc", strict=False):
        piece.source = f"{name}.pcap"
    rows = values(given, "source", "position", "correlation_id", table="exchanges")
    assert rows == [("a.pcap", 0, 0), ("b.pcap", 2, 1), ("b.pcap", 4, 2), ("c.pcap", 6, 3)]


def test_requests_without_response_say_why() -> None:
    silent = ProduceRequest(acks=0, timeout_ms=1)
    segments = [asked(silent, 7, 1), asked(BEAT, 4, 2), asked(BEAT, 4, 3), answered(BEATEN, 4, 3), asked(BEAT, 4, 4)]
    rows = values(pieces(segments), "number", "outcome", "reason", table="exchanges")
    assert rows == [
        (0, "none", None),
        (1, "unanswered", "a later request was answered"),
        (2, "answered", None),
        (3, "unanswered", "the connection ended"),
    ]


@pytest.mark.parametrize("handshake", [True, False])
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("closer", [CLIENT, SERVER, None])
def test_whoever_closes_a_connection_leaves_requests_unanswered(
    tmp_path: Path, closer: Direction | None, count: int, handshake: bool
) -> None:
    """A server refuses the oldest: Sarama goes on sending before it notices, and what it sent then, the broker has
    never read. Without the handshake, the ports are those of a client on the broker's side."""
    beats = [asked(BEAT, 4, 1), asked(BEAT, 4, 2), answered(BEATEN, 4, 1), answered(BEATEN, 4, 2)]
    beats += [asked(BEAT, 4, 3 + number) for number in range(count)]
    made = packets(Conversation(beats, *reversed(OTHER_PORTS)), handshake=handshake, ending=0, acks=False)
    if closer:
        ours = [packet for packet in made if (packet.source == OTHER_PORTS[1]) == (closer == CLIENT)]
        last = ours[-1]
        made.append(replace(last, time=made[-1].time, seq=last.seq + len(last.data), flags=FIN | ACK, data=b""))
    rows = cells(read_pieces([str(write_pcap(tmp_path / "a.pcap", made))]), table="exchanges")
    ended = "the connection ended" if closer is None else f"the connection ended: the {closer} closed it"
    later = f"{ended} at an earlier request" if closer == SERVER else ended
    assert [(row["correlation_id"], row["outcome"], row["reason"], row["client_port"]) for row in rows] == [
        *((number, "answered", None, 31092) for number in (1, 2)),
        *((3 + number, "unanswered", later if number else ended, 31092) for number in range(count)),
    ]


def test_what_cannot_be_decoded_says_why() -> None:
    request, response = asked(BEAT, 4, 1), answered(BEATEN, 4, 2)
    segments = [
        (CLIENT, 0.0, frame(request[2][4:-2])),
        answered(BEATEN, 4, 1),
        asked(BEAT, 4, 2),
        (SERVER, 0.0, frame(response[2][4:-2])),
    ]
    first, second = values(pieces(segments), "outcome", "reason", table="exchanges")
    assert (first[0], second[0]) == ("undecodable", "undecodable")
    assert "HeartbeatRequest v4" in first[1]
    assert "HeartbeatResponse v4" in second[1]


def test_a_request_of_which_too_little_was_seen_to_wait_for_its_response() -> None:
    size = len(asked(BEAT, 4, 1)[2])
    segments: list[Segment | Piece] = [
        (CLIENT, 0.0, asked(BEAT, 4, 1)[2][:14]),
        gap(CLIENT, size - 14),
        asked(BEAT, 4, 2),
        answered(BEATEN, 4, 1),
        answered(BEATEN, 4, 2),
    ]
    rows = values(pieces(segments), "correlation_id", "outcome", "problem", "unread", table="exchanges")
    assert rows[:2] == [(1, "undecodable", None, None), (2, "answered", None, None)]
    assert rows[2:] == [(None, None, PARTIAL, size - 14)]


REQUEST, RESPONSE = asked(BEAT, 4, 1)[2], answered(BEATEN, 4, 1)[2]
LATER, LATER_ROW = [asked(BEAT, 4, 2), answered(BEATEN, 4, 2)], (2, "answered", None, None, None)
UNSEEN = "{} of its {} bytes were not seen"


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        (
            [asked(BEAT, 4, 1), (SERVER, 0.0, RESPONSE[:9]), gap(SERVER, 7), *LATER],
            [(1, "undecodable", UNSEEN.format(7, 12), None, None), LATER_ROW, (None, None, None, PARTIAL, 7)],
        ),
        (
            [(CLIENT, 0.0, REQUEST[:18]), gap(CLIENT, 8), answered(BEATEN, 4, 1), *LATER, gap(CLIENT, 50)],
            [
                (1, "undecodable", UNSEEN.format(8, 22), None, None),
                LATER_ROW,
                (None, None, None, PARTIAL, 8),
                (None, None, None, MISSING, 50),
            ],
        ),
        (
            [(CLIENT, 0.0, REQUEST[:7]), gap(CLIENT, 19), *LATER],
            [LATER_ROW, (None, None, None, NO_FRAME, 7), (None, None, None, MISSING, 19)],
        ),
        (
            [asked(BEAT, 4, 1), (SERVER, 0.0, RESPONSE[:9]), gap(SERVER, 7), *LATER, gap(CLIENT, 0)],
            [(1, "undecodable", UNSEEN.format(7, 12), None, None), LATER_ROW, (None, None, None, PARTIAL, 7)],
        ),
        ([*LATER, gap(CLIENT, 0)], [LATER_ROW, (None, None, None, MISSING, 0)]),
        (  # the end of the capture loses nothing
            [asked(BEAT, 4, 1), (SERVER, 0.0, RESPONSE[:9])],
            [(1, "undecodable", UNSEEN.format(7, 12), None, None)],
        ),
        (
            [asked(BEAT, 4, 1), (SERVER, 0.0, RESPONSE[:9]), gap(SERVER, 3)],
            [(1, "undecodable", UNSEEN.format(7, 12), None, None), (None, None, None, PARTIAL, 3)],
        ),
    ],
)
def test_what_is_cut_off_and_what_is_missing_are_told_apart(
    segments: list[Segment | Piece], expected: list[tuple[object, ...]]
) -> None:
    columns = "correlation_id", "outcome", "reason", "problem", "unread"
    assert values(pieces(segments), *columns, table="exchanges") == expected


def test_a_newer_version_of_api_versions_that_falls_back_says_that_it_is_newer() -> None:
    newer = frame(b"\0\x12\0\x63\0\0\0\1\0\2me\0")
    given = pieces([(CLIENT, 0.0, newer), answered(ApiVersionsResponse(error_code=35), 0, 1)])
    (row,) = values(given, "version", "response_version", "outcome", "reason", table="exchanges")
    assert row[:3] == (99, 0, "answered")
    assert row[3].startswith("ApiVersions 99 is newer than")


def test_conditions_choose_exchanges_if_only_codes_are_wanted() -> None:
    """Also among those that are passed over without decoding, as all but the first few are."""
    beats = [step for number in range(9) for step in (asked(BEAT, 4, number), answered(BEATEN, 4, number))]
    chosen = frame_batches(
        pieces(beats),
        FACTS,
        table="exchanges",
        bodies=CODES,
        conditions=[Condition("correlation_id", ">", 6)],
    )
    assert [row["correlation_id"] for batch in chosen for row in batch.to_pylist()] == [7, 8]


def test_the_contents_of_an_envelope_are_rows_if_only_codes_are_wanted() -> None:
    inner = PROTOCOL.encode_request(HeartbeatRequest(), 4, correlation_id=9, client_id="you")
    reply = PROTOCOL.encode_response(BEATEN, 4, correlation_id=9)
    given = [asked(EnvelopeRequest(request_data=inner), 0, 1), answered(EnvelopeResponse(response_data=reply), 0, 1)]
    both = [frame_batches(pieces(given), FACTS, table="exchanges", bodies=bodies) for bodies in (ALL, CODES)]
    all_of_it, codes = ([row for batch in batches for row in batch.to_pylist()] for batches in both)
    assert [(row["api"], row["client_id"]) for row in codes] == [("Envelope", "me"), ("Heartbeat", "you")]
    assert codes == all_of_it


def test_a_problem_of_a_file_has_its_bytes_and_packets() -> None:
    problem = Broken("a.pcap", 24, "cut off", unread=50, packets=3)
    tables: dict[Table, dict[str, int]] = {"exchanges": {"unread": 50, "packets": 3}, "frames": {"size": 50}}
    for table, expected in tables.items():
        (row,) = cells([problem], table=table)
        found = {name: value for name, value in row.items() if value is not None}
        assert found == {"source": "a.pcap", "position": 24, "problem": "cut off"} | expected


def test_a_client_that_goes_on_was_accepted() -> None:
    """Also if what the server said to its name was not captured."""
    login = SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2")
    given = [asked(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1), asked(login, 2, 2), asked(BEAT, 4, 3)]
    assert values(pieces(given), "principal", table="exchanges") == [None, None, "User:alice"]


@pytest.mark.parametrize("times", [1, 4])
def test_responses_of_newer_versions_are_not_looked_into(times: int) -> None:
    given: list[Segment] = []
    for number in range(times):
        given.append((CLIENT, 0.0, frame(b"\0\x0c\0\x63" + number.to_bytes(4, "big") + b"\0\2me\0xyz")))
        given.append((SERVER, 0.0, frame(number.to_bytes(4, "big") + b"\0abc")))
    for bodies in (ALL, CODES):
        (batch,) = frame_batches(pieces(given), FACTS, table="exchanges", bodies=bodies)
        found = {(row["outcome"], row["error_codes"], row["throttle_ms"]) for row in batch.to_pylist()}
        assert (batch.num_rows, found) == (times, {("answered", None, None)})
        assert all("is newer than" in row["reason"] for row in batch.to_pylist())


def test_what_was_told_is_not_told_again() -> None:
    """As a stream tells it while a connection goes on."""
    cut: Segment = SERVER, 0.0, RESPONSE[:9]
    segments: list[Segment | Piece] = [asked(BEAT, 4, 1), cut, gap(SERVER, 7), *LATER, gap(CLIENT, 5)]
    *given, closed = pieces(segments)
    projection = ConnectionProjection("exchanges")
    connection = ConnectionRows(closed.connection, projection)
    for piece in given:
        connection.feed(piece)
    told = projection.batch(connection.unread(closed)).to_pylist()
    assert [(row["problem"], row["unread"], row["position"]) for row in told] == [
        (PARTIAL, 7, closed.position),
        (MISSING, 5, closed.position),
    ]
    assert connection.unread(closed) == connection.feed(closed) == []


def test_the_fallback_of_api_versions_is_of_version_0() -> None:
    request, response = ApiVersionsRequest(client_software_name="x"), ApiVersionsResponse(error_code=35)
    segments = [asked(request, 4, 1), answered(response, 0, 1)]
    (row,) = cells(pieces(segments), table="exchanges")
    assert (row["version"], row["response_version"], row["error_codes"]) == (4, 0, [35])


def test_what_an_envelope_holds_is_a_row_of_its_own() -> None:
    inner = PROTOCOL.encode_request(
        RenewDelegationTokenRequest(hmac=b"hunter2"), 2, correlation_id=9, client_id="you"
    )
    principal = b"\0\0" + DefaultPrincipalData(type="User", name="alice").encode(0)
    envelope = EnvelopeRequest(request_data=inner, request_principal=principal, client_host_address=b"\xc0\0\x02\x07")
    reply = PROTOCOL.encode_response(RenewDelegationTokenResponse(error_code=62), 2, correlation_id=9)
    segments = [asked(envelope, 0, 1), answered(EnvelopeResponse(response_data=reply), 0, 1)]
    outer, row = cells(pieces(segments), table="exchanges")
    expected = {
        "client_host": "192.0.2.7",
        "client_port": None,
        "server_host": "10.0.0.9",
        "api": "RenewDelegationToken",
        "client_id": "you",
        "correlation_id": 9,
        "principal": "User:alice",
        "forwarded": True,
        "outcome": "answered",
        "error_codes": [62],
        "number": outer["number"],
        "request_size": None,
        "response_size": None,
        "latency_ms": 0.0,
        "response": reply,
    }
    assert {name: row[name] for name in expected} == expected
    assert (outer["api"], outer["forwarded"], outer["error_codes"], outer["client_id"]) == (
        "Envelope",
        False,
        [],
        "me",
    )
    assert b"hunter2" not in outer["request"] + row["request"]
    assert PROTOCOL.decode_response(outer["response"], 58, 0).message == EnvelopeResponse(response_data=reply)


NONE_INSIDE = "the response to its Envelope contains no response"
NO_NUMBER = "RequestHeader v2, field correlation_id, byte 4 of 4: int32 needs 4 bytes, 0 left"
NO_TAGS = "ResponseHeader v1, field tagged fields, byte 4 of 4: the number of tagged fields needs 1 byte, 0 left"


@pytest.mark.parametrize(
    ("inner", "answer", "expected"),
    [
        (b"\0\x0c\0\x04", EnvelopeResponse(error_code=41), ("undecodable", NO_NUMBER, None)),
        (asked(BEAT, 4, 9)[2][4:], EnvelopeResponse(error_code=41), ("unanswered", NONE_INSIDE, None)),
        (asked(BEAT, 4, 9)[2][4:], EnvelopeResponse(response_data=b"\0\0\0\x09"), ("undecodable", NO_TAGS, 500.0)),
        (asked(BEAT, 4, 9)[2][4:], None, ("unanswered", "the connection ended", None)),
    ],
)
def test_what_goes_wrong_in_an_envelope(
    inner: bytes, answer: EnvelopeResponse | None, expected: tuple[str, str, float | None]
) -> None:
    segments = [asked(EnvelopeRequest(request_data=inner, request_principal=b"?"), 0, 1)]
    segments += [answered(answer, 0, 1, 0.5)] if answer else []
    outer, row = cells(pieces(segments), table="exchanges")
    assert (row["outcome"], row["reason"], row["latency_ms"]) == expected
    assert (row["forwarded"], row["principal"], row["response_size"], row["error_codes"]) == (True, None, None, None)
    assert outer["outcome"] == ("answered" if answer else "unanswered")
    assert outer["error_codes"] == ([answer.error_code] if answer and answer.error_code else [] if answer else None)


@pytest.mark.parametrize(
    ("address", "host"), [(b"\xc0\0\2\7", "192.0.2.7"), (b"\0" * 15 + b"\1", "::1"), (b"\1\2\3", None), (b"", None)]
)
def test_the_address_in_an_envelope(address: bytes, host: str | None) -> None:
    """Also if only some columns are wanted."""
    principal = b"\0\0" + DefaultPrincipalData(type="User", name="bob").encode(0)
    inner = asked(BEAT, 4, 9)[2][4:]
    envelope = EnvelopeRequest(request_data=inner, request_principal=principal, client_host_address=address)
    given = pieces([asked(envelope, 0, 1)])
    rows = values(given, "client_host", "principal", "api", table="exchanges")
    assert rows[1] == (host, "User:bob", "Heartbeat")
    assert values(given, "api", table="exchanges") == ["Envelope", "Heartbeat"]


def test_a_connection_that_is_not_kafka_is_told_at_once_and_at_the_end_with_its_bytes() -> None:
    segments: list[Segment] = [
        (CLIENT, 0.0, b"GET / HTTP/1.1\r\n\r\n"),
        (SERVER, 0.0, b"HTTP/1.1 400 Bad Request\r\n"),
    ]
    rows = values(pieces(segments), "problem", "unread", "number", table="exchanges")
    assert rows == [("not Kafka: HTTP", 9, 0), ("not Kafka: HTTP", 9 + 26, None)]  # 0: one connection
    given = [asked(BEAT, 4, 1), (SERVER, 0.0, b"HTTP/1.1 400 Bad Request\r\n\r\n")]
    rows = values(pieces(given), "number", "problem", "unread", table="exchanges")
    assert rows == [(None, "not Kafka: HTTP", 9), (0, None, None), (None, "not Kafka: HTTP", 19)], "0: its request"


def test_what_was_missing_is_told_at_the_end() -> None:
    segments: list[Segment | Piece] = [gap(CLIENT, 100), asked(BEAT, 4, 1), gap(SERVER, 20), gap(SERVER, 0)]
    segments.append((SERVER, 0.0, b"\xff" * 9))
    rows = values(pieces(segments, complete=False), "problem", "unread", "position", table="exchanges")
    assert rows[-2:] == [(NO_FRAME, 9, 5), (MISSING, 120, 5)]


def test_responses_to_requests_that_were_not_seen_are_told_at_the_end() -> None:
    segments = [asked(BEAT, 4, 1), answered(BEATEN, 4, 1), answered(BEATEN, 4, 77)]
    answer, rest = values(pieces(segments), "outcome", "problem", "unread", table="exchanges")
    assert answer == ("answered", None, None)
    assert rest == (None, STRAY, len(answered(BEATEN, 4, 77)[2]))


def test_bytes_that_are_missing_in_such_a_response_count_once() -> None:
    """Its request waits no longer, since a thousand others do."""
    side, time, stray = answered(BEATEN, 4, 7)
    others = [asked(BEAT, 4, number) for number in range(100, 1100)]
    given: list[Segment | Piece] = [
        asked(BEAT, 4, 7),
        (side, time, stray[:12]),
        *others,
        gap(side, 3),
        (side, time, stray[15:]),
    ]
    rows = values(pieces(given), "problem", "unread", table="exchanges")
    assert [row for row in rows if row[0]] == [(STRAY, 13), (MISSING, 3)]


def test_the_server_of_what_is_not_kafka_is_known_by_later_connections(tmp_path: Path) -> None:
    client, server = OTHER_PORTS
    late = packets(Conversation([(SERVER, 0.0, b"HTTP/1.1 200 OK\r\n\r\n")], client, server), handshake=False)
    again = packets(Conversation([(CLIENT, 0.5, b"GET / HTTP/1.1\r\n\r\n")], replace(client, port=2001), server))
    given = read_pieces([str(write_pcap(tmp_path / "late.pcap", merged([late, again])))])
    rows = values(given, "problem", "client_port", "server_port", table="exchanges")
    assert {*rows} == {(HTTP, port, server.port) for port in (2000, 2001)}


def test_a_whole_request_without_a_readable_header_waits_for_its_response() -> None:
    """It has one row: the response is none without a request."""
    bad: Segment = CLIENT, 0.0, frame(b"\0\x0c\0\4\0\0\0\7\0\2me\1\0\x7f")
    rows = cells(pieces([asked(BEAT, 4, 6), answered(BEATEN, 4, 6), bad, answered(BEATEN, 4, 7)]), table="exchanges")
    assert [row["outcome"] for row in rows] == ["answered", "undecodable"]
    assert not [row for row in rows if row["problem"]]
