"""Requests and their responses, and what is told of those that have none."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Unanswered,
    Undecodable,
)
from kwire.connection.detect import MIN_TLS_SIZE
from kwire.connection.event_reader import MAX_KNOWN
from kwire.connection.events import REQUEST_SIZE, without_bytes
from kwire.frames import frame
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    ListOffsetsRequest,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.runtime.connection.conversations import Segment, answered, asked, decoder, play, raw, real, told

BEAT = HeartbeatRequest(group_id="g")


def test_frames_that_are_cut_off_by_the_end() -> None:
    (_, request), (_, response) = asked(BEAT, 4, 2), answered(HeartbeatResponse(), 4, 1)
    segments: list[Segment] = [asked(BEAT, 4, 1), (CLIENT, request[:-2]), (SERVER, response[:-1])]
    _, cut_request, cut_response = play(segments)
    assert isinstance(cut_request, Undecodable)
    assert (cut_request.data, cut_request.missing, cut_request.correlation_id) == (request[4:-2], 2, 2)
    assert isinstance(cut_response, Undecodable)
    assert cut_response.reason == "1 of its 12 bytes were not seen"
    assert isinstance(cut_response.request, RequestEvent)


@pytest.mark.parametrize(
    ("earlier", "seen", "expected"),
    [
        (["a-client"], 4, "a-client"),
        (["a-client"], 0, "a-client"),
        ([], 4, None),
        (["another"], 4, None),
        (["a-client", "another"], 4, None),
        (["a-client-of-another"], 4, None),
        (["a-client", "c" * 300], 4, "a-client"),  # of long headers none is remembered
    ],
)
def test_a_client_id_that_is_cut_off_is_that_of_the_connection(
    earlier: list[str], seen: int, expected: str | None
) -> None:
    """As where several requests are in a packet that was captured in part."""
    connection = decoder()
    for number, client_id in enumerate(earlier):
        payload = PROTOCOL.encode_request(BEAT, 4, correlation_id=number, client_id=client_id)
        connection.feed(CLIENT, frame(payload), 1.0)
    cut = frame(PROTOCOL.encode_request(BEAT, 4, correlation_id=9, client_id="a-client"))
    assert connection.feed(CLIENT, cut[: 14 + seen], 2.0) == []
    (event,) = connection.gap(CLIENT, len(cut) - 14 - seen, 2.0)[-1:]
    assert isinstance(event, Undecodable)
    assert isinstance(event.header, RequestHeader)
    assert (event.name, event.header.correlation_id, event.header.client_id) == ("Heartbeat", 9, expected)


def test_requests_that_are_dropped_are_unanswered() -> None:
    connection = decoder()
    (request,) = connection.feed(*asked(BEAT, 4, 1), 1.0)
    (unanswered,) = connection.drop(2.0, "not kept")
    assert isinstance(unanswered, Unanswered)
    assert (unanswered.request, unanswered.reason) == (request, "the request was not kept")
    assert (connection.in_flight, connection.held) == (0, 0)


def test_tags_in_headers_are_kept_whether_the_header_was_seen_before_or_not() -> None:
    connection = decoder()
    for number in range(3):
        header = RequestHeader(
            api_key=12, api_version=4, correlation_id=number, client_id="me", unknown_tags=((7, b"x"),)
        )
        (request,) = connection.feed(CLIENT, frame(header.encode(2) + BEAT.encode(4)), 1.0)
        assert isinstance(request, RequestEvent)
        assert request.header == header


def test_tags_in_headers_of_responses_are_kept() -> None:
    header = ResponseHeader(correlation_id=1, unknown_tags=((7, b"x"),))
    answer = HeartbeatResponse(error_code=27)
    segments = [asked(BEAT, 4, 1), (SERVER, frame(header.encode(1) + answer.encode(4)))]
    for bodies in (True, False):
        _, response = play(segments * 2, decoder(bodies=bodies))[2:]
        assert isinstance(response, ResponseEvent)
        assert (response.header, response.body, response.message) == (
            header,
            answer.encode(4),
            answer if bodies else None,
        )


@pytest.mark.parametrize(
    ("bodies", "decoded"),
    [
        (True, (True, True)),
        ({"Heartbeat"}, (True, True)),
        ({"HeartbeatRequest"}, (True, False)),
        (["HeartbeatResponse", "Fetch"], (False, True)),
        ({"Fetch", "FetchRequest"}, (False, False)),
        (False, (False, False)),
    ],
)
def test_the_bodies_that_are_wanted_are_decoded(bodies: Any, decoded: tuple[bool, bool]) -> None:
    connection = decoder(bodies=bodies)
    for number in range(2):
        segments = asked(BEAT, 4, number), answered(HeartbeatResponse(), 4, number)
        found = [event for segment in segments for event in connection.feed(*segment, 1.0)]
        assert tuple(getattr(event, "message", None) is not None for event in found) == decoded


def test_the_error_of_a_frame_keeps_nothing_of_the_decoder() -> None:
    """Its traceback would keep all that functions knew."""
    broken = play([asked(BEAT, 4, 1), (SERVER, frame(b"\0\0\0\1")), (CLIENT, frame(asked(BEAT, 4, 1)[1][4:-1]))])
    errors = [event.error for event in broken if isinstance(event, Undecodable)]
    assert len(errors) == 2
    for error in errors:
        assert error is not None
        assert (error.__traceback__, error.__context__, error.__cause__) == (None, None, None)


def test_a_client_that_went_on_after_the_handshake_sends_no_tokens() -> None:
    """Though the server agrees to the mechanism later."""
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    agreed = answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 1)
    newer: Segment = CLIENT, frame(raw("000c 00ff 00000003 0002") + b"me?")
    *_, event, unanswered, _ = play([asked(handshake, 0, 1), asked(BEAT, 4, 2), agreed, newer])
    assert isinstance(event, RequestEvent)
    assert (event.name, event.version) == ("Heartbeat", 255)
    assert isinstance(unanswered, Unanswered)
    *_, token = play([asked(handshake, 0, 1), agreed, newer])
    assert isinstance(token, SaslToken)


def test_of_the_kinds_of_headers_on_a_connection_few_are_remembered() -> None:
    connection = decoder(keep_requests=False, max_in_flight=1)
    for version in range(2 * MAX_KNOWN):
        for cls in (HeartbeatRequest, MetadataRequest, ProduceRequest, FetchRequest, ListOffsetsRequest):
            known = cls.VALID_VERSIONS[version % len(cls.VALID_VERSIONS)]
            connection.feed(*asked(cls(), known, version, f"client {version}"), 1.0)
            connection.feed(*asked(ApiVersionsRequest(), version % 4, version), 1.0)
    assert 0 < len(connection._reader._known) <= MAX_KNOWN


def test_a_request_in_flight_counts_without_its_bytes_and_with_the_request_in_it() -> None:
    for message, least in ((BEAT, REQUEST_SIZE), (envelope(asked(BEAT, 4, 1)[1][4:]), 2 * REQUEST_SIZE)):
        connection = decoder(keep_requests=False)
        connection.feed(*asked(message, message.VALID_VERSIONS[-1], 1), 1.0)
        assert least < connection.held < least + 100
    connection = decoder(keep_requests=False)
    (broken,) = connection.feed(CLIENT, frame(asked(BEAT, 4, 1)[1][4:-1]), 1.0)
    assert isinstance(broken, Undecodable)
    assert connection.held == REQUEST_SIZE + len(broken.reason)


@pytest.mark.parametrize("unfinished", [asked(BEAT, 4, 2), answered(HeartbeatResponse(), 4, 1)], ids=[CLIENT, SERVER])
def test_an_unfinished_frame_of_either_side_counts_as_held(unfinished: Segment) -> None:
    connection = decoder()
    connection.feed(*asked(BEAT, 4, 1), 1.0)
    before = connection.held
    side, data = unfinished
    assert connection.feed(side, memoryview(data[:-1]), 2.0) == []
    assert connection.held == before + len(data) - 1


def test_large_requests_are_kept_within_bounds_too() -> None:
    connection = decoder(max_in_flight_bytes=10_000)
    large = HeartbeatRequest(group_id="g" * 4000)
    for number in range(10):
        connection.feed(*asked(large, 4, number), 1.0)
        assert connection.in_flight == min(number + 1, 2)
    connection.feed(*asked(HeartbeatRequest(group_id="g" * 20_000), 4, 11), 1.0)
    assert connection.in_flight == 1


def test_as_many_bytes_as_are_allowed_wait() -> None:
    _, data = asked(BEAT, 4, 1)
    for allowed, kept in ((2 * (len(data) - 4), 2), (2 * (len(data) - 4) - 1, 1)):
        connection = decoder(max_in_flight_bytes=allowed)
        connection.feed(CLIENT, data + data, 1.0)
        assert connection.in_flight == kept


@pytest.mark.parametrize("start", ["unknown", "beginning"])
def test_responses_to_requests_before_the_capture(start: str) -> None:
    segments = [answered(HeartbeatResponse(), 4, 1), answered(MetadataResponse(), 12, 2), asked(BEAT, 4, 3)]
    events = play([*segments, answered(HeartbeatResponse(), 4, 3)], decoder(start))  # type: ignore[arg-type]
    strays = [event for event in events if isinstance(event, Undecodable)]
    assert [(event.reason, event.data) for event in strays] == [
        (f"no request was seen with correlation id {number}", data[4:])
        for number, (_, data) in enumerate(segments[:2], start=1)
    ]
    assert isinstance(events[-1], ResponseEvent)


def test_undecodable_requests_and_responses_do_not_stop_the_stream() -> None:
    request = raw("000c 0000 00000001 0002 6d65 | 0001 67 00000000")
    segments: list[Segment] = [
        (CLIENT, frame(request)),
        (SERVER, frame(raw("00000001 | 00"))),
        asked(BEAT, 0, 2),
        answered(HeartbeatResponse(), 0, 2),
    ]
    bad_request, bad_response, *rest = play(segments)
    assert isinstance(bad_request, Undecodable)
    assert bad_request.error is not None
    assert (bad_request.error.message_name, bad_request.error.path, bad_request.error.offset) == (
        "HeartbeatRequest",
        "member_id",
        19,
    )
    assert (bad_request.data, bad_request.name, bad_request.correlation_id) == (request, "Heartbeat", 1)
    assert isinstance(bad_response, Undecodable)
    assert bad_response.request is bad_request
    assert bad_response.error is not None
    assert bad_response.error.message_name == "HeartbeatResponse"
    assert [type(event) for event in rest] == [RequestEvent, ResponseEvent]
    _, bad_response, *_ = play(segments, decoder(keep_requests=False))
    assert isinstance(bad_response, Undecodable)
    assert isinstance(bad_response.request, Undecodable)
    assert (bad_response.request.data, bad_response.request.size) == (b"", 4 + len(request))


@pytest.mark.parametrize(
    "start",
    [
        "000c 0000 00000002 0fff",
        "000c 0000 00000002 fffe",
        "000c ffff 00000002 0002",
        "ffff 0000 00000002 0000",
        "01f4 0100 00000002 0002",
    ],
)
def test_a_frame_that_cannot_be_a_request_means_out_of_step(start: str) -> None:
    noise = frame(raw(start) + b"me" * 5)
    first, skipped, second = play([asked(BEAT, 0, 1), (CLIENT, noise), asked(BEAT, 0, 3)])[:3]
    assert isinstance(first, RequestEvent)
    assert isinstance(skipped, Skipped)
    assert (skipped.data, skipped.reason) == (noise, "no frame begins there")
    assert isinstance(second, RequestEvent)


@pytest.mark.parametrize(("start", "name"), [("01f4 00ff", "api key 500"), ("000c 00ff", "Heartbeat")])
def test_a_frame_that_may_be_a_request_of_another_release_is_one(start: str, name: str) -> None:
    unknown = frame(raw(f"{start} 00000002 0002") + b"me?")
    first, second, third = play([asked(BEAT, 0, 1), (CLIENT, unknown), asked(BEAT, 0, 3)])[:3]
    assert isinstance(second, RequestEvent)
    assert (second.name, second.version, second.client_id, second.message) == (name, 255, "me", None)
    assert [event.correlation_id for event in (first, third) if isinstance(event, RequestEvent)] == [1, 3]


# Envelopes


def envelope(data: bytes) -> EnvelopeRequest:
    return EnvelopeRequest(request_data=data, request_principal=b"", client_host_address=b"\x7f\0\0\1")


def test_envelopes_are_opened() -> None:
    inner = PROTOCOL.encode_request(BEAT, 4, correlation_id=77, client_id="inner")
    reply = PROTOCOL.encode_response(HeartbeatResponse(error_code=27), 4, correlation_id=77)
    request, response = play([asked(envelope(inner), 0, 1), answered(EnvelopeResponse(response_data=reply), 0, 1)])
    assert isinstance(request, RequestEvent)
    assert isinstance(request.inner, RequestEvent)
    assert (request.name, request.inner.name, request.inner.message) == ("Envelope", "Heartbeat", BEAT)
    assert (request.inner.client_id, request.inner.correlation_id, request.inner.data) == ("inner", 77, inner)
    assert isinstance(response, ResponseEvent)
    assert isinstance(response.inner, ResponseEvent)
    assert response.inner.request is request.inner
    assert response.inner.message == HeartbeatResponse(error_code=27)
    assert "inner='Heartbeat'" in repr(request)


def test_envelopes_with_nothing_readable_in_them() -> None:
    segments = [
        asked(envelope(b"\0\x0c\0"), 0, 1),
        answered(EnvelopeResponse(response_data=None, error_code=31), 0, 1),
        asked(envelope(PROTOCOL.encode_request(BEAT, 4, correlation_id=1)), 0, 2),
        answered(EnvelopeResponse(response_data=b"\0"), 0, 2),
    ]
    for part in play([asked(envelope(b""), 0, 3), answered(EnvelopeResponse(response_data=b""), 0, 3)]):
        assert isinstance(part, RequestEvent | ResponseEvent)
        assert isinstance(part.inner, Undecodable if isinstance(part, RequestEvent) else type(None))
    beat = PROTOCOL.encode_request(BEAT, 4, correlation_id=1)
    _, empty = play([asked(envelope(beat), 0, 3), answered(EnvelopeResponse(response_data=b""), 0, 3)])
    assert isinstance(empty, ResponseEvent)
    assert isinstance(empty.inner, Undecodable)
    first, second, third, fourth = play(segments)
    assert isinstance(first, RequestEvent)
    assert isinstance(first.inner, Undecodable)
    assert first.inner.data == b"\0\x0c\0"
    assert isinstance(second, ResponseEvent)
    assert second.inner is None
    assert isinstance(third, RequestEvent)
    assert isinstance(fourth, ResponseEvent)
    assert isinstance(fourth.inner, Undecodable)
    assert fourth.inner.request is third.inner


SECRET = SaslAuthenticateRequest(auth_bytes=b"s3cret" * 9)


@pytest.mark.parametrize(
    ("message", "version", "kept"),
    [(SECRET, 1, 16), (SECRET, 2, 17), (HeartbeatRequest(group_id="g" * 54), 4, None)],
    ids=["header 1", "header 2", "no secret"],
)
def test_an_unfinished_frame_that_may_have_secrets_keeps_its_header_only(
    message: Message, version: int, kept: int | None
) -> None:
    side, data = asked(message, version, 7)
    connection = decoder()
    assert connection.feed(side, data[:-1], 1.0) == []
    assert connection.drop_secrets(2.0, "not kept") == []
    assert connection.held == (kept or len(data) - 1)
    (event,) = connection.feed(side, data[-1:], 3.0)
    assert isinstance(event, Undecodable if kept else RequestEvent)
    assert (event.correlation_id, event.data) == (7, data[4:kept] + data[-1:] if kept else data[4:])


@pytest.mark.parametrize("version", [1, 2])
def test_as_much_of_an_unfinished_secret_is_kept_as_surely_is_none(version: int) -> None:
    """All of it, until the length of the client id has come and the body begins."""
    side, data = asked(SECRET, version, 7)
    header = 4 + 10 + 2 + (version > 1)
    for size in range(1, len(data)):
        connection = decoder()
        assert connection.feed(side, data[:size], 1.0) == []
        assert connection.drop_secrets(2.0, "not kept") == []
        assert connection.held == (size if size <= header else header)
        (event,) = connection.feed(side, data[size:], 3.0)
        assert isinstance(event, RequestEvent if size <= header else Undecodable)
        assert (event.name, event.correlation_id) == ("SaslAuthenticate", 7)


@pytest.mark.parametrize(
    ("before", "noise"), [([], raw("00000020 000c")), ([asked(BEAT, 0, 1)], raw("ffffffff") + b"s3cret" * 4)]
)
def test_bytes_of_no_known_frame_may_all_be_secret(before: list[Segment], noise: bytes) -> None:
    """At the start of a capture, and where no frame begins."""
    connection = decoder("beginning" if before else "unknown")
    for side, data in before:
        connection.feed(side, data, 1.0)
    held = connection.held
    assert connection.feed(CLIENT, noise, 2.0) == []
    (skipped,) = connection.drop_secrets(3.0, "not kept")
    assert isinstance(skipped, Skipped)
    assert (skipped.data, skipped.reason, connection.held) == (noise, "they were not kept", held)


@pytest.mark.parametrize("version", [3, 4])
def test_what_is_known_of_a_frame_ends_at_its_first_hole(version: int) -> None:
    """Also after another one: here in the client id, and later bytes are dropped."""
    side, data = asked(HeartbeatRequest(group_id="g" * 600), version, 1, "c" * 40)
    connection = decoder()
    connection.feed(side, data[:24], 1.0)
    connection.gap(side, 10, 2.0)
    assert connection.feed(side, data[34:400], 3.0) == []
    assert connection.drop(4.0, "not kept") == []
    (event,) = connection.feed(side, data[400:], 5.0)
    assert isinstance(event, Undecodable)
    kept = data[:24] + data[34:]
    assert event.data == kept[4 : 4 + 256] + data[400:]
    assert event.reason == f"{len(data) - 4 - len(event.data)} of its {len(data) - 4} bytes were not kept"
    assert event.header == RequestHeader(api_key=12, api_version=version, correlation_id=1, client_id=None)


@pytest.mark.parametrize(("size", "fate"), [(256, "not seen"), (257, "not kept")])
def test_what_is_dropped_is_what_is_after_the_first_bytes(size: int, fate: str) -> None:
    connection = decoder()
    side, data = asked(HeartbeatRequest(group_id="g" * 600), 4, 1)
    connection.feed(side, data[: 4 + size], 1.0)
    assert connection.drop(2.0, "not kept") == []
    (event,) = connection.close(3.0)
    assert isinstance(event, Undecodable)
    assert event.data == data[4 : 4 + 256]
    assert event.reason == f"{len(data) - 260} of its {len(data) - 4} bytes were {fate}"


@pytest.mark.parametrize("secret", [True, False])
def test_an_unfinished_response_that_may_have_secrets_keeps_its_header_only(secret: bool) -> None:
    if secret:
        segments = asked(CreateDelegationTokenRequest(), 1, 7), answered(CreateDelegationTokenResponse(), 1, 7)
    else:
        segments = asked(MetadataRequest(), 1, 7), answered(MetadataResponse(), 1, 7)
    connection = decoder()
    (request,) = connection.feed(*segments[0], 1.0)
    side, data = segments[1]
    assert connection.feed(side, data[:-1], 2.0) == []
    assert connection.drop_secrets(3.0, "not kept") == []
    (event,) = connection.feed(side, data[-1:], 4.0)
    assert isinstance(event, Undecodable if secret else ResponseEvent)
    assert (event.request, event.data) == (request, data[4:8] + data[-1:] if secret else data[4:])


# Use


def test_events_of_frames_that_cannot_be_read_show_no_bytes() -> None:
    side, data = asked(SaslAuthenticateRequest(auth_bytes=b"s3cret"), 2, 7)
    broken = frame(data[4:-1])
    shown = told(play([(side, broken), (side, data[:-1])]))
    assert [line.split()[0] for line in shown] == ["<Undecodable", "<Undecodable", "<Unanswered"]
    assert not [line for line in shown if "s3cret" in line]


def test_decoders_and_events_can_be_pickled() -> None:
    """A stream processor keeps the state of a connection between batches."""
    connection = decoder()
    events = []
    for side, data in real()[:20]:
        events += connection.feed(side, data[:9], 1.0)
        connection = pickle.loads(pickle.dumps(connection))
        events += connection.feed(side, data[9:], 1.0)
    assert [type(event) for event in events] == [RequestEvent, ResponseEvent] * 10
    assert pickle.loads(pickle.dumps(events)) == events


def test_nothing_may_be_fed_after_the_end() -> None:
    connection = decoder()
    connection.close(1.0)
    with pytest.raises(ValueError, match="closed"):
        connection.feed(CLIENT, b"", 1.0)
    with pytest.raises(ValueError, match="closed"):
        connection.gap(CLIENT, 1, 1.0)
    with pytest.raises(ValueError, match="closed"):
        connection.close(1.0)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="start must be"):
        ConnectionDecoder(PROTOCOL, start="middle")  # type: ignore[arg-type]
    for most in (0, -1, MIN_TLS_SIZE, 1 << 30):
        with pytest.raises(ValueError, match="max_frame must be below"):
            ConnectionDecoder(PROTOCOL, max_frame=most)
    for most in (1, MIN_TLS_SIZE - 1):
        ConnectionDecoder(PROTOCOL, max_frame=most)
    with pytest.raises(ValueError, match="the direction must be 'client' or 'server', not 'both'"):
        decoder().feed("both", b"", 1.0)  # type: ignore[arg-type]


def test_every_kind_of_event_says_what_it_is() -> None:
    inside = PROTOCOL.encode_request(BEAT, 4, correlation_id=77, client_id="inner")
    reply = PROTOCOL.encode_response(HeartbeatResponse(), 4, correlation_id=77)
    handshake = SaslHandshakeRequest(mechanism="PLAIN")
    connection = decoder()
    events = connection.feed(*asked(envelope(inside), 0, 1, None), 1.0)
    events += connection.feed(*answered(EnvelopeResponse(response_data=reply), 0, 1), 1.5)
    events += connection.feed(*asked(handshake, 0, 2), 2.0)
    events += connection.feed(*answered(SaslHandshakeResponse(mechanisms=["PLAIN"]), 0, 2), 3.0)
    events += connection.feed(CLIENT, frame(b"\0user\0s3cret"), 4.0)
    events += connection.gap(SERVER, 0, 5.0) + connection.gap(CLIENT, 9, 5.0)
    events += connection.feed(SERVER, b"\0\0", 6.0) + connection.close(7.0, "bored")
    assert told(events) == [
        "<RequestEvent Envelope v0 #1 from None, 48 bytes, inner='Heartbeat' at 0 of client>",
        "<ResponseEvent Envelope v0 #1, 25 bytes after 0.500000, inner='Heartbeat' at 0 of server>",
        "<RequestEvent SaslHandshake v0 #2 from 'me', 23 bytes at 48 of client>",
        "<ResponseEvent SaslHandshake v0 #2, 21 bytes after 1.000000 at 25 of server>",
        "<SaslToken 12 bytes at 71 of client>",
        "<Gap unknown bytes at 46 of server>",
        "<Gap 9 bytes at 87 of client>",
        "<Skipped 2 bytes: the stream ends after them at 46 of server>",
    ]
    cut = decoder()
    cut.feed(CLIENT, asked(BEAT, 4, 1)[1][:20], 1.0)
    assert told(cut.close(2.0)) == [
        "<Undecodable Heartbeat, 26 bytes: 6 of its 22 bytes were not seen at 0 of client>"
    ]
    tls = decoder().feed(CLIENT, raw("15 0303 0002 0228"), 1.0)
    assert told(tls) == ["<NotKafka TLS, 5 bytes at 0 of client>"]


def test_what_is_kept_of_a_request_in_flight() -> None:
    """All but bytes and messages, also of the request in an Envelope, and what that takes."""
    inside = RequestHeader(api_key=12, api_version=4, client_id="inner", unknown_tags=((1, b"x" * 99),))
    connection = decoder()
    (event,) = connection.feed(*asked(envelope(inside.encode(2) + BEAT.encode(4)), 0, 1), 1.0)
    assert isinstance(event, RequestEvent)
    assert isinstance(event.inner, RequestEvent)
    kept, size = without_bytes(event)
    assert isinstance(kept, RequestEvent)
    assert isinstance(kept.inner, RequestEvent)
    assert (kept.data, kept.message, kept.inner.data, kept.inner.message) == (b"", None, b"", None)
    for name in ("time", "direction", "position", "started", "name", "body_offset", "expects_response"):
        assert getattr(kept, name) == getattr(event, name), name
        assert getattr(kept.inner, name) == getattr(event.inner, name), name
    assert kept.header == event.header
    assert kept.inner.header == event.inner.header.replace(unknown_tags=())
    assert event.inner.header == inside
    assert size == 2 * REQUEST_SIZE + event.body_offset + event.inner.body_offset
    (broken,) = connection.feed(CLIENT, frame(asked(BEAT, 4, 1)[1][4:-1]), 1.0)
    assert isinstance(broken, Undecodable)
    kept, size = without_bytes(broken)
    assert isinstance(kept, Undecodable)
    assert (kept.data, kept.missing, kept.size, kept.error) == (b"", len(broken.data), broken.size, None)
    assert (kept.reason, kept.name, kept.header) == (broken.reason, broken.name, broken.header)
    assert size == REQUEST_SIZE + len(broken.reason)
