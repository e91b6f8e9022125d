"""Headers like earlier ones are not read again; the events are as if they had been."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kwire import is_native
from kwire.connection import CLIENT, SERVER, ConnectionDecoder, Direction, RequestEvent, ResponseEvent, Unanswered
from kwire.connection.event_reader import known_headers
from kwire.connection.events import REQUEST_SIZE, Event
from kwire.frames import frame
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    ProduceRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

Sent = list[tuple[Direction, bytes]]


def decoder(**options: Any) -> ConnectionDecoder:
    given: dict[str, Any] = {"bodies": {"ApiVersionsRequest"}, "start": "beginning", "keep_requests": False}
    return ConnectionDecoder(PROTOCOL, **(given | options))


def asked(message: Any, version: int, number: int) -> tuple[Direction, bytes]:
    return CLIENT, frame(PROTOCOL.encode_request(message, version, correlation_id=number, client_id="me"))


def answered(message: Any, version: int, number: int) -> tuple[Direction, bytes]:
    return SERVER, frame(PROTOCOL.encode_response(message, version, correlation_id=number))


def events(connection: ConnectionDecoder, sent: Sent) -> list[Event]:
    return [event for time, (side, data) in enumerate(sent) for event in connection.feed(side, data, float(time))]


HEARTBEATS: Sent = [
    sent for n in range(4) for sent in (asked(HeartbeatRequest(), 4, n), answered(HeartbeatResponse(), 4, n))
]
VERSIONS: Sent = [asked(ApiVersionsRequest(), 3, 8), answered(ApiVersionsResponse(), 3, 8)]
OLD_VERSIONS: Sent = [asked(ApiVersionsRequest(), 3, 9), answered(ApiVersionsResponse(error_code=35), 0, 9)]
NO_RESPONSE: Sent = [asked(ProduceRequest(acks=0), 9, 10)]
TAGGED: Sent = [
    asked(HeartbeatRequest(), 4, 12),
    (SERVER, frame(b"\0\0\0\x0c" + b"\1\x63\2ab" + HeartbeatResponse().encode(4))),
]
"""The header of the response has a tagged field."""
LOGIN: Sent = [
    asked(SaslHandshakeRequest(mechanism="PLAIN"), 0, 11),
    answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 11),
    (CLIENT, frame(b"\0user\0password")),
]


@pytest.mark.parametrize("bodies", [True, False, {"ApiVersionsRequest"}], ids=["all", "none", "some"])
@pytest.mark.parametrize("keep_requests", [True, False])
@pytest.mark.parametrize("sent", [HEARTBEATS, VERSIONS, OLD_VERSIONS, NO_RESPONSE, TAGGED, LOGIN])
def test_the_second_connection_gives_the_events_of_the_first(sent: Sent, keep_requests: bool, bodies: Any) -> None:
    first, second = (decoder(keep_requests=keep_requests, bodies=bodies) for _ in range(2))
    known_headers.cache_clear()
    assert events(first, sent) == events(second, sent)
    assert (first.held, first.in_flight) == (second.held, second.in_flight) == (0, 0)


@pytest.mark.skipif(is_native(), reason="native code calls functions directly: none can be replaced")
def test_a_header_is_known_from_another_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, stored = decoder(), decoder(), decoder()
    known_headers.cache_clear()
    events(first, HEARTBEATS[:1])
    monkeypatch.setattr(PROTOCOL, "request_header", lambda *_: pytest.fail("read again"))
    assert len(events(second, HEARTBEATS)) == len(events(pickle.loads(pickle.dumps(stored)), HEARTBEATS)) == 8


def test_a_header_that_is_changed_is_that_of_its_event_alone() -> None:
    """Neither the connection nor another one sees the change."""
    first, second = decoder(), decoder()
    known_headers.cache_clear()
    seen = events(first, HEARTBEATS[:1])
    assert isinstance(seen[0], RequestEvent)
    seen[0].header.api_version, seen[0].header.client_id = 99, "other"
    seen += [*events(first, HEARTBEATS[1:3]), *events(second, HEARTBEATS[:1])]
    asked = [(event.version, event.client_id) for event in seen if isinstance(event, RequestEvent)]
    assert asked == [(99, "other"), (4, "me"), (4, "me")]


def test_the_body_begins_after_the_header() -> None:
    found = events(decoder(), HEARTBEATS)
    messages: list[type[Message]] = [HeartbeatRequest, HeartbeatResponse] * 4
    for event, message in zip(found, messages, strict=True):
        assert isinstance(event, RequestEvent | ResponseEvent)
        assert (event.message, message.decode(event.body, 4)) == (None, message())


def test_another_client_id_is_read() -> None:
    data = frame(PROTOCOL.encode_request(HeartbeatRequest(), 4, correlation_id=5, client_id="you"))
    other: Sent = [(CLIENT, data)]
    clients = [
        event.client_id for event in events(decoder(), [*HEARTBEATS, *other]) if isinstance(event, RequestEvent)
    ]
    assert clients == ["me"] * 4 + ["you"]


@pytest.mark.parametrize("limit", [{"max_in_flight": 1}, {"max_in_flight_bytes": 2 * REQUEST_SIZE + 20}])
def test_requests_beyond_the_limits_are_unanswered(limit: Any) -> None:
    requests = [HEARTBEATS[n] for n in (0, 2, 4)]
    found = [type(event) for event in events(decoder(**limit), requests)]
    assert found == [RequestEvent, RequestEvent, Unanswered, RequestEvent, Unanswered]


def test_requests_in_flight_keep_no_bytes() -> None:
    *_, response = events(decoder(), HEARTBEATS[:4])
    assert isinstance(response, ResponseEvent)
    assert isinstance(response.request, RequestEvent)
    assert (response.request.data, response.request.correlation_id) == (b"", 1)
