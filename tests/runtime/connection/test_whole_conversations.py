"""All that is told of generated conversations, compared with a plain account of what was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import cycle
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwire.connection import (
    CLIENT,
    SERVER,
    ClientConnection,
    Direction,
    Event,
    RequestEvent,
    ServerConnection,
)
from kwire.frames import frame
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kwire_kafka.api.api_versions import ApiVersion
from tests.runtime.connection.conversations import Segment, answered, asked, decoder
from tests.support.effort import examples

Row = dict[str, Any]

INNER, ANSWER = HeartbeatRequest(group_id="in"), HeartbeatResponse(error_code=27)


class Frame(NamedTuple):
    """A frame and what is told of it, but for its place and, for a response, its request."""

    payload: bytes
    number: int
    row: Row
    waits: bool = False


# What is said with each correlation id: the request, its version, its response and the version of that.
TALKS: dict[int, tuple[Message | None, int, Message | None, int]] = {
    0: (HeartbeatRequest(group_id="g", member_id="m"), 0, HeartbeatResponse(error_code=3), 0),
    1: (MetadataRequest(topics=None), 12, MetadataResponse(cluster_id="c"), 12),
    -1: (HeartbeatRequest(group_id="h"), 4, HeartbeatResponse(throttle_time_ms=9), 4),
    7: (ProduceRequest(), 2, ProduceResponse(throttle_time_ms=1), 2),
    0x10000: (ProduceRequest(transactional_id="tx"), 3, ProduceResponse(throttle_time_ms=2), 3),
    0x7FFFFFFF: (ProduceRequest(transactional_id="ü" * 70), 9, ProduceResponse(throttle_time_ms=3), 9),
    -(1 << 31): (ProduceRequest(), 9, ProduceResponse(), 9),
    8: (None, 99, ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(api_key=18, max_version=4)]), 0),
    9: (None, 1, None, 1),  # an API that nobody knows
    10: (EnvelopeRequest(), 0, EnvelopeResponse(), 0),
}


def a_request(number: int, client_id: str, acks: int, broken: bool) -> Frame:
    """A request; if it is ``broken``, without its last byte."""
    message, version, _, _ = TALKS[number]
    if message is None:
        key, rest = (18, b"\4lib\0041.2\0") if version == 99 else (999, b"xyz")
        header = RequestHeader(api_key=key, api_version=version, correlation_id=number, client_id=client_id)
        start = header.encode(2 if version == 99 else 1)
        name = "ApiVersions" if version == 99 else "api key 999"
        row = row_of("RequestEvent", name=name, header=header, body_offset=len(start), message=None)
        return Frame(start + rest, number, row | {"expects_response": True, "inner": None}, True)
    message, inner = message.replace(), None
    if isinstance(message, ProduceRequest):
        message.acks = acks
    if isinstance(message, EnvelopeRequest):
        message.request_data = PROTOCOL.encode_request(INNER, 4, correlation_id=5, client_id="inner")
        header = RequestHeader(api_key=12, api_version=4, correlation_id=5, client_id="inner")
        inner = row_of("RequestEvent", name="Heartbeat", header=header, body_offset=16, message=INNER)
        inner |= {"expects_response": True, "inner": None, "data": message.request_data}
    flexible = version in message.FLEXIBLE_VERSIONS
    header = RequestHeader(
        api_key=message.API_KEY or 0, api_version=version, correlation_id=number, client_id=client_id
    )
    start = header.encode(1 + flexible)
    payload = start + message.encode(version)
    name = type(message).__name__.removesuffix("Request")
    if broken and inner is None:
        row = row_of("Undecodable", name=name, header=header, request=None, missing=0)
        return Frame(payload[:-1], number, row, True)
    expects = not isinstance(message, ProduceRequest) or acks != 0
    row = row_of("RequestEvent", name=name, header=header, body_offset=len(start), message=message)
    return Frame(payload, number, row | {"expects_response": expects, "inner": inner}, expects)


def a_response(number: int, broken: bool) -> Frame:
    _, _, message, version = TALKS[number]
    header = ResponseHeader(correlation_id=number)
    if message is None:
        row = row_of("ResponseEvent", name="api key 999", header=header, body_offset=4, version=1, message=None)
        return Frame(header.encode(0) + b"says so", number, row | {"inner": None})
    inner = None
    if isinstance(message, EnvelopeResponse):
        data = PROTOCOL.encode_response(ANSWER, 4, correlation_id=5)
        message = message.replace(response_data=data)
        inner = row_of("ResponseEvent", name="Heartbeat", header=ResponseHeader(correlation_id=5), body_offset=5)
        inner |= {"version": 4, "message": ANSWER, "inner": None, "data": data}
    payload = PROTOCOL.encode_response(message, version, correlation_id=number)
    start = len(payload) - len(message.encode(version))
    name = type(message).__name__.removesuffix("Response")
    if broken:
        return Frame(payload[:-1], number, row_of("Undecodable", name=name, header=header, missing=0))
    row = row_of("ResponseEvent", name=name, header=header, body_offset=start, version=version, message=message)
    return Frame(payload, number, row | {"inner": inner})


def row_of(kind: str, **facts: Any) -> Row:
    return {"kind": kind, **facts}


def shown(event: Event) -> Row:
    """All that an event tells; of another event in it, what tells that one from others."""
    row = {field.name: getattr(event, field.name) for field in fields(event) if field.name != "error"}
    if "request" in row and row["request"] is not None:
        row["request"] = row["request"].position
    if row.get("inner"):
        inner = shown(row["inner"])
        row["inner"] = {name: inner[name] for name in inner if name not in PLACE}
    if row.get("reason", "").startswith(("HeartbeatRe", "MetadataRe", "ProduceRe", "ApiVersionsRe", "EnvelopeRe")):
        row["reason"] = None  # that of the error in the body
    return {"kind": type(event).__name__, **row}


PLACE = ("time", "direction", "position", "started", "request")


class Conversation(NamedTuple):
    said: dict[Direction, list[Frame]]
    fed: list[Segment]


@st.composite
def conversations(draw: st.DrawFn, broken: bool = True) -> Conversation:
    """Frames of both directions, in pieces that are cut anywhere and arrive in any order."""
    numbers = st.sampled_from(list(TALKS))
    one, bad = st.sampled_from(["me", "you"]), st.sampled_from([False, False, False, broken])
    known = numbers.filter(lambda number: TALKS[number][0] is not None)
    requests = st.builds(a_request, known, one, st.sampled_from([0, 1, -1]), bad)
    others = st.builds(a_request, numbers, one, st.just(1), st.just(False))
    responses = st.builds(a_response, known, bad) | st.builds(a_response, numbers, st.just(False))
    said: dict[Direction, list[Frame]] = {
        CLIENT: draw(st.lists(requests | others, max_size=8)),
        SERVER: draw(st.lists(responses, max_size=8)),
    }
    left = {side: b"".join(frame(one.payload) for one in frames) for side, frames in said.items()}
    fed: list[Segment] = []
    sides: st.SearchStrategy[Direction] = st.sampled_from([CLIENT, SERVER])
    for side, size in draw(st.lists(st.tuples(sides, st.integers(1, 120)), max_size=30)):
        fed.append((side, left[side][:size]))
        left[side] = left[side][size:]
    first = draw(sides)
    return Conversation(said, [*fed, *sorted(left.items(), key=lambda rest: rest[0] != first)])


def expected(talk: Conversation, limit: int, bodies: bool | set[str]) -> Iterator[Row]:
    """What a decoder tells of a conversation."""
    left = {side: list(frames) for side, frames in talk.said.items()}
    fed, ends, started = {CLIENT: 0, SERVER: 0}, {CLIENT: 0, SERVER: 0}, dict[Direction, int]()
    waiting: list[tuple[int, int]] = []
    time = 0
    for time, (side, data) in enumerate(talk.fed, 1):
        fed[side] += len(data)
        while left[side] and fed[side] > ends[side]:
            started.setdefault(side, time)
            now = left[side][0]
            if fed[side] < ends[side] + 4 + len(now.payload):
                break
            del left[side][0]
            row: Row = {"time": time, "direction": side, "position": ends[side], "started": started.pop(side)}
            ends[side] += 4 + len(now.payload)
            row |= {"data": now.payload}
            yield from told_of(now, row, waiting, limit, bodies)
    for _, position in waiting:
        yield lost(time + 1, position, "the connection ended")


def told_of(
    now: Frame, row: Row, waiting: list[tuple[int, int]], limit: int, bodies: bool | set[str]
) -> Iterator[Row]:
    wanted = bodies if isinstance(bodies, bool) else now.row["name"] in bodies
    said = {**now.row} if wanted else {**now.row, "inner": None, "message": None}
    if now.row["kind"] == "Undecodable":
        said |= {"reason": None}
    time, side, position = row["time"], row["direction"], row["position"]
    if side == CLIENT:
        yield row | said
        if now.waits:
            waiting.append((now.number, position))
        while len(waiting) > limit:
            yield lost(time, waiting.pop(0)[1], "too many requests are in flight")
        return
    if now.number not in [number for number, _ in waiting]:
        reason = f"no request was seen with correlation id {now.number}"
        yield row_of("Undecodable", **row, reason=reason, name="", header=now.row["header"], request=None, missing=0)
        return
    while (one := waiting.pop(0))[0] != now.number:
        yield lost(time, one[1], "a later request was answered")
    yield row | said | {"request": one[1]}


def lost(time: int, position: int, reason: str) -> Row:
    return row_of("Unanswered", time=time, direction=CLIENT, position=position, request=position, reason=reason)


LIMITS = st.sampled_from([1, 2, 1000])


def heard(talks: list[Conversation], **options: Any) -> list[list[Event]]:
    """What a decoder each tells of connections whose pieces arrive in turns."""
    connections = [decoder(**options) for _ in talks]
    events: list[list[Event]] = [[] for _ in talks]
    for step in range(max(len(talk.fed) for talk in talks)):
        for talk, connection, found in zip(talks, connections, events, strict=True):
            if step < len(talk.fed):
                found += connection.feed(*talk.fed[step], step + 1)
    for talk, connection, found in zip(talks, connections, events, strict=True):
        found += connection.close(len(talk.fed) + 1)
        assert (connection.in_flight, connection.held) == (0, 0)
    return events


@pytest.mark.slow
@examples(0.7)
@given(st.lists(conversations(), min_size=2, max_size=2), LIMITS, st.booleans())
def test_everything_that_was_said_on_two_connections_is_told(
    talks: list[Conversation], limit: int, keep: bool
) -> None:
    """In pieces cut anywhere, whatever is unknown, unreadable, not answered, answered twice or before it is asked."""
    for talk, events in zip(talks, heard(talks, max_in_flight=limit, keep_requests=keep), strict=True):
        assert [shown(event) for event in events] == list(expected(talk, limit, bodies=True))
        asked = {event.position: event for event in events if event.direction == CLIENT and hasattr(event, "data")}
        for event in events:
            request = getattr(event, "request", None)
            if keep and request is not None:
                assert request is asked[request.position]
            elif request is not None:
                assert (request.data, getattr(request, "message", None)) == (b"", None)


@examples(0.5)
@given(
    conversations(broken=False),
    st.sampled_from([False, frozenset({"Heartbeat", "Envelope"}), frozenset({"Produce"})]),
)
def test_bodies_that_nobody_wants_are_none_and_all_else_is_told(talk: Conversation, bodies: Any) -> None:
    (events,) = heard([talk], bodies=bodies)
    assert [shown(event) for event in events] == list(expected(talk, 1000, bodies))


ASKED = [number for number in TALKS if TALKS[number][0] is not None]


@examples(0.5)
@given(
    st.lists(st.tuples(st.sampled_from(ASKED), st.sampled_from([0, 1]), st.booleans()), max_size=8),
    st.lists(st.integers(1, 150), min_size=1, max_size=5),
)
def test_both_ends_hear_what_an_observer_sees(talk: list[tuple[int, int, bool]], sizes: list[int]) -> None:
    """Requests, as messages or as bytes, then all their responses, a few at a time: in pieces at the ends, each whole
    for the observer."""
    client, server, observer = ClientConnection(PROTOCOL, client_id="me"), ServerConnection(PROTOCOL), decoder()
    frames = [a_request(number, "me", acks, broken) for number, acks, broken in talk]
    sent = []
    for turn, one in enumerate(frames):
        header, message, time = one.row["header"], one.row.get("message"), time_of(turn)
        key, version, number = header.api_key, header.api_version, one.number
        if message is not None and turn % 2:
            sent.append(client.send(message, version, correlation_id=number, time=time))
        else:
            body = one.payload[8:]
            sent.append(client.send_raw(key, version, body, header_version=0, correlation_id=number, time=time))
    assert sent == [frame(one.payload) for one in frames]
    seen = [event for turn, data in enumerate(sent) for event in observer.feed(CLIENT, data, time_of(turn))]
    asked = in_pieces(server, sent, 0, sizes)
    assert [shown(event) for event in asked] == [shown(event) for event in seen]
    waiting = [(one, event) for one, event in zip(frames, asked, strict=True) if one.waits]
    assert client.in_flight == observer.in_flight == len(waiting)
    answers = []
    for one, event in waiting:
        _, _, message, version = TALKS[one.number]
        assert message is not None
        if isinstance(event, RequestEvent):
            answers.append(server.send(event, message, version))
            assert answers[-1] == frame(PROTOCOL.encode_response(message, version, correlation_id=one.number))
        else:
            answers.append(server.send_raw(event, message.encode(version)[:-1]))
    told = [event for turn, data in enumerate(answers) for event in observer.feed(SERVER, data, 20 + time_of(turn))]
    heard = in_pieces(client, answers, 20, sizes)
    assert [shown(event) for event in heard] == [shown(event) for event in told]
    assert [shown(event.request) for event in heard] == [shown(event) for _, event in waiting]
    assert [getattr(event, "latency", None) for event in heard] == [getattr(event, "latency", None) for event in told]
    assert client.in_flight == observer.in_flight == 0


def time_of(turn: int) -> float:
    """Three frames arrive at the same time."""
    return 1 + 1.5 * (turn // 3)


def in_pieces(
    end: ClientConnection | ServerConnection, frames: list[bytes], start: float, sizes: list[int]
) -> list[Any]:
    events: list[Any] = []
    for turn in range(0, len(frames), 3):
        data = b"".join(frames[turn : turn + 3])
        for size in cycle(sizes):
            events += end.receive(data[:size], start + time_of(turn))
            data = data[size:]
            if not data:
                break
    return events


# A connection of which not everything is seen

SEEN: list[Segment] = [
    asked(HeartbeatRequest(group_id="g"), 4, 1),
    asked(MetadataRequest(topics=None), 12, 2),
    answered(HeartbeatResponse(error_code=27), 4, 1),
    asked(SaslAuthenticateRequest(auth_bytes=b"s3cret" * 4), 2, 3),
    answered(MetadataResponse(), 12, 2),
    asked(HeartbeatRequest(group_id="h"), 0, 4),
    answered(SaslAuthenticateResponse(auth_bytes=b"s3cret"), 2, 3),
    answered(HeartbeatResponse(), 0, 4),
]
"""Each at its own time: 1, 2, 3 and so on."""

Hole = tuple[str, int, int, int]
"""What becomes of bytes of a frame: how, the number of the frame, the first byte, the byte after the last one."""


def lines(holes: list[Hole], start: Literal["unknown", "beginning"] = "beginning", **options: Any) -> list[str]:
    """What is told of the conversation with these holes: in which time, what, and the first time of its bytes."""
    connection = decoder(start, **options)
    found: list[str] = []

    def note(events: Iterable[Any]) -> None:
        for event in events:
            began = f" since {event.started:g}" if getattr(event, "started", event.time) != event.time else ""
            missing = f", {event.missing} missing" if getattr(event, "missing", 0) else ""
            found.append(f"{event.time:g}: {event!r}{began}{missing}")

    for number, (side, data) in enumerate(SEEN):
        rest = 0
        for how, of, first, last in holes:
            if of != number:
                continue
            note(connection.feed(side, data[rest:first], number + 1.0))
            rest = last
            match how:
                case "lost":
                    note(connection.gap(side, last - first, number + 1.25))
                case "lost, nobody knows how much":
                    note(connection.gap(side, 0, number + 1.25))
                case "others instead":
                    note(connection.feed(side, bytes(last - first), number + 1.25))
                case "not kept":
                    note(connection.drop(number + 1.25, "not kept"))
                case "secrets not kept":
                    note(connection.drop_secrets(number + 1.25, "not kept"))
        note(connection.feed(side, data[rest:], number + 1.5 if rest else number + 1.0))
    found.append(f"{connection.in_flight} in flight")
    note(connection.close(9.0))
    return found


@pytest.mark.parametrize(
    "holes",
    [
        [],
        *([(how, number, 2, 3)] for how in ("lost", "left out") for number in (1, 4)),  # in the size
        *([("lost", number, 6, 7), ("lost", number, 11, 13)] for number in (1, 4)),  # in header and body
        [("lost", 1, 15, 18), ("lost", 1, 18, 20)],  # in the client id and after it
        [("lost", 0, 20, 26), ("lost", 1, 0, 5)],  # over the end of a frame
        [("lost", 1, 0, 21), ("lost", 4, 0, 21)],  # whole frames
        *([("lost, nobody knows how much", number, 10, 12)] for number in (3, 4)),
        *([("others instead", number, 0, 4)] for number in (1, 4)),
        *([(how, 3, cut, cut), (how, 6, cut, cut)] for how in ("not kept", "secrets not kept") for cut in (3, 9, 30)),
        [("left out", number, 9, 99) for number in (5, 6, 7)],  # cut off
    ],
    ids=lambda holes: " and ".join(f"{how} {of} {first} to {last}" for how, of, first, last in holes) or "whole",
)
def test_all_that_is_told_when_bytes_are_missing(holes: list[Hole], snapshot: SnapshotAssertion) -> None:
    assert lines(holes) == snapshot
