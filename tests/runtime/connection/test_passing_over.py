"""Frames that are passed over leave a connection as if they had been read."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    RequestEvent,
    ResponseEvent,
    Unanswered,
    known_headers,
)
from kwire.connection.decoder import InFlightRequest
from kwire.connection.events import REQUEST_SIZE, Event
from kwire.frames import frame
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


def passed_over(passing: ConnectionDecoder, direction: Direction, data: bytes, time: float) -> InFlightRequest | None:
    return passing.pass_request(data, time) if direction == CLIENT else passing.pass_response(data, time)


def told(event: Event | InFlightRequest) -> tuple[Any, ...]:
    request = event.request if isinstance(event, (InFlightRequest, ResponseEvent)) else event
    assert isinstance(request, RequestEvent)
    return request.name, request.time, request.position, request.header, request.expects_response


HEARTBEATS: Sent = [
    one for n in range(4) for one in (asked(HeartbeatRequest(), 4, n), answered(HeartbeatResponse(), 4, n))
]


def test_requests_and_responses_like_earlier_ones_are_passed_over() -> None:
    read, passing = decoder(), decoder()
    known_headers.known_headers.cache_clear()
    kinds = []
    for time, (direction, data) in enumerate(HEARTBEATS):
        expected = read.feed(direction, data, float(time))
        passed = passed_over(passing, direction, data, float(time))
        events = [passed] if passed else passing.feed(direction, data, float(time))
        kinds.append(passed is not None)
        assert [told(event) for event in events] == [told(event) for event in expected]
        assert (passing.held, passing.in_flight) == (read.held, read.in_flight)
    assert all(kinds), "the first is like that of the other connection"


def test_the_first_of_a_connection_is_passed_over_like_those_of_others() -> None:
    first, second, other = decoder(), decoder(), decoder(bodies=False)
    first.feed(*HEARTBEATS[0], 0.0)
    assert passed_over(second, *HEARTBEATS[0], 0.0) is not None
    known_headers.known_headers.cache_clear()
    assert passed_over(pickle.loads(pickle.dumps(first)), *HEARTBEATS[2], 0.0) is None, "not stored with a connection"
    first.feed(*asked(ApiVersionsRequest(), 3, 1), 0.0)
    assert passed_over(other, *asked(ApiVersionsRequest(), 3, 1), 0.0) is None


def test_the_body_begins_after_size_and_header() -> None:
    passing = decoder()
    passing.feed(*HEARTBEATS[0], 0.0)
    for direction, data in HEARTBEATS[1:3]:
        passed = passed_over(passing, direction, data, 1.0)
        assert passed is not None
        assert passed.known is not None
        message: Any = HeartbeatResponse
        body = passed.known.answer
        if direction == CLIENT:
            message, body = HeartbeatRequest, 4 + passed.known.offset
        assert message.decode(data[body:], 4) == message()


@pytest.mark.parametrize(
    "data",
    [
        asked(ApiVersionsRequest(), 3, 9)[1],
        asked(ProduceRequest(acks=0), 9, 9)[1],
        HEARTBEATS[2][1] + HEARTBEATS[4][1],
        HEARTBEATS[2][1][:-1],
        b"",
        b"\0\0\0\0",
        asked(HeartbeatRequest(), 3, 9)[1],
    ],
    ids=["wanted", "no response", "two", "part", "nothing", "empty", "unknown"],
)
def test_anything_else_is_left_alone(data: bytes) -> None:
    known_headers.known_headers.cache_clear()
    passing = decoder()
    for direction, first in (HEARTBEATS[0], HEARTBEATS[1], asked(ApiVersionsRequest(), 3, 1)):
        passing.feed(direction, first, 0.0)
    passing.feed(*asked(ProduceRequest(acks=0), 9, 2), 0.0)
    before = passing.held, passing.in_flight
    assert passed_over(passing, CLIENT, data, 1.0) is None
    assert (passing.held, passing.in_flight) == before


def test_a_response_out_of_order_and_one_within_a_frame_are_left_alone() -> None:
    passing = decoder()
    for direction, data in (HEARTBEATS[0], HEARTBEATS[2]):
        passing.feed(direction, data, 0.0)
    assert passed_over(passing, *HEARTBEATS[3], 1.0) is None
    passing.feed(SERVER, HEARTBEATS[1][1][:6], 1.0)
    assert passed_over(passing, *HEARTBEATS[1], 1.0) is None


def test_nothing_is_passed_over_that_leaves_no_room_for_earlier_requests() -> None:
    """Of the request that has to go, an event tells."""
    passing = decoder(max_in_flight=1)
    for direction, data in HEARTBEATS[:2]:
        passing.feed(direction, data, 0.0)
    assert passed_over(passing, *HEARTBEATS[2], 1.0) is not None
    assert passed_over(passing, *HEARTBEATS[4], 2.0) is None
    assert {type(event) for event in passing.feed(*HEARTBEATS[4], 2.0)} == {RequestEvent, Unanswered}


def test_nothing_is_passed_over_that_leaves_no_room_for_the_bytes_of_earlier_requests() -> None:
    passing = decoder(max_in_flight_bytes=2 * REQUEST_SIZE + 20)
    passing.feed(*HEARTBEATS[0], 0.0)
    assert passed_over(passing, *HEARTBEATS[2], 1.0) is None
    assert {type(event) for event in passing.feed(*HEARTBEATS[2], 1.0)} == {RequestEvent, Unanswered}


def test_a_response_in_version_0_to_a_newer_request_is_read() -> None:
    passing = decoder(bodies=False)
    passing.feed(*asked(ApiVersionsRequest(), 3, 1), 0.0)
    answer = answered(ApiVersionsResponse(error_code=35), 0, 1)
    assert passed_over(passing, *answer, 1.0) is None
    (response,) = passing.feed(*answer, 1.0)
    assert isinstance(response, ResponseEvent)
    assert response.version == 0
    passing.feed(*asked(ApiVersionsRequest(), 3, 2), 2.0)
    assert passed_over(passing, *answered(ApiVersionsResponse(), 3, 2), 3.0) is not None


def test_nothing_is_passed_over_where_tokens_are_expected() -> None:
    passing = decoder()
    for direction, data in HEARTBEATS[:2]:
        passing.feed(direction, data, 0.0)
    passing.feed(*asked(SaslHandshakeRequest(mechanism="PLAIN"), 0, 1), 0.0)
    passing.feed(*answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 1), 0.0)
    assert passed_over(passing, *HEARTBEATS[2], 1.0) is None


def test_nothing_is_passed_over_where_requests_are_kept() -> None:
    keeping = decoder(keep_requests=True)
    for direction, data in HEARTBEATS:
        assert passed_over(keeping, direction, data, 0.0) is None
        keeping.feed(direction, data, 0.0)
