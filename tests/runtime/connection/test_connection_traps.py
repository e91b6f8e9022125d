"""The traps of headers and framing, as they are met on a connection [KAFKA-WIRE 1 to 10]."""

from __future__ import annotations

import pytest

from kwire import STRICT, Policy
from kwire.connection import (
    CLIENT,
    SERVER,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Undecodable,
)
from kwire.connection.framing import ApiCatalog
from kwire.frames import frame
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    ProduceResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.runtime.connection.conversations import Segment, answered, asked, decoder, play, raw, told

PLAIN = b"\0alice\0a secret"
GSSAPI = bytes.fromhex("60 16 06 09 2a864886f712010202 0100") + b"a ticket!"
HELLO = asked(HeartbeatRequest(group_id="g"), 0, 7), answered(HeartbeatResponse(), 0, 7)


def test_trap_01_header_versions_follow_api_key_and_version() -> None:
    for version in MetadataRequest.VALID_VERSIONS:
        request, response = play([asked(MetadataRequest(), version, 1), answered(MetadataResponse(), version, 1)])
        assert isinstance(request, RequestEvent)
        assert isinstance(response, ResponseEvent)
        flexible = version in MetadataRequest.FLEXIBLE_VERSIONS
        assert (request.body_offset, response.body_offset) == (12 + flexible, 4 + flexible)
        assert (request.message, response.message) == (MetadataRequest(), MetadataResponse())


def test_trap_02_responses_to_api_versions_have_no_tags_in_their_header() -> None:
    _, response = play([asked(ApiVersionsRequest(), 4, 1), answered(ApiVersionsResponse(), 4, 1)])
    assert isinstance(response, ResponseEvent)
    assert (response.body_offset, response.message) == (4, ApiVersionsResponse())


@pytest.mark.parametrize(("start", "broker_id"), [("unknown", -1), ("beginning", -1), ("beginning", 0x7FFFFFFF)])
def test_trap_03_requests_without_a_client_id(start: str, broker_id: int) -> None:
    """The id of the broker is where others have the length of the client id."""
    segments = [
        asked(ControlledShutdownRequest(broker_id=broker_id), 0, 1),
        answered(ControlledShutdownResponse(), 0, 1),
        *HELLO,
    ]
    events = play(segments, decoder(start))  # type: ignore[arg-type]
    assert [type(event) for event in events] == [RequestEvent, ResponseEvent] * 2
    assert isinstance(events[0], RequestEvent)
    assert events[0].message == ControlledShutdownRequest(broker_id=broker_id)


def test_trap_04_client_ids_are_read_in_all_versions() -> None:
    for version in HeartbeatRequest.VALID_VERSIONS:
        for name in ("", "a client", "ü", None):
            event, _ = play([asked(HeartbeatRequest(), version, 1, name)])
            assert isinstance(event, RequestEvent)
            assert event.client_id == name


@pytest.mark.parametrize("start", ["unknown", "beginning"])
def test_trap_05_unknown_apis_and_versions_do_not_stop_the_stream(start: str) -> None:
    vendor = raw("01f4 0002 00000005 0003 696e6b | deadbeef")
    newer = raw("000c 00f0 00000006 0002 6d65 00 | deadbeef")
    segments: list[Segment] = [
        (CLIENT, frame(vendor)),
        (CLIENT, frame(newer)),
        (SERVER, frame(raw("00000005 | cafe"))),
        (SERVER, frame(raw("00000006 | cafe"))),
        *HELLO,
    ]
    first, second, third, fourth, *rest = play(segments, decoder(start))  # type: ignore[arg-type]
    assert isinstance(first, RequestEvent)
    assert (first.name, first.api_key, first.version, first.client_id) == ("api key 500", 500, 2, "ink")
    assert (first.message, first.body) == (None, raw("deadbeef"))
    assert isinstance(second, RequestEvent)
    assert (second.name, second.version, second.message, second.body) == ("Heartbeat", 240, None, raw("deadbeef"))
    for request, response in ((first, third), (second, fourth)):
        assert isinstance(response, ResponseEvent)
        assert (response.request, response.message, response.body) == (request, None, raw("cafe"))
    assert [type(event) for event in rest] == [RequestEvent, ResponseEvent]


@pytest.mark.parametrize("keys", ["00000000", "00000001 0012 0000 0004"])
def test_trap_06_api_versions_falls_back_to_version_0(keys: str) -> None:
    segments: list[Segment] = [
        (CLIENT, frame(raw("0012 0063 00000001 0002 6d65 00 | 02 78 02 79 00"))),
        (SERVER, frame(raw("00000001 | 0023" + keys))),
        asked(ApiVersionsRequest(), 4, 2),
        (SERVER, frame(raw("00000002 | 0023" + keys))),
    ]
    events = play(segments)
    responses = [event for event in events if isinstance(event, ResponseEvent)]
    assert [event.request.version for event in responses if isinstance(event.request, RequestEvent)] == [99, 4]
    for response in responses:
        assert response.version == 0
        assert isinstance(response.message, ApiVersionsResponse)
        assert response.message.error_code == 35
        assert ApiCatalog(PROTOCOL).reads_body(response)


def test_trap_07_the_body_of_such_a_request_is_not_read() -> None:
    request, _ = play([(CLIENT, frame(raw("0012 0063 00000001 0002 6d65 00 | ffff")))])
    assert isinstance(request, RequestEvent)
    assert (request.message, request.body) == (None, raw("ffff"))


@pytest.mark.parametrize("bodies", [True, False])
@pytest.mark.parametrize("transactional_id", [None, "", "t", "a name of more than one hundred and twenty-seven " * 3])
def test_trap_08_nobody_waits_for_the_response_to_acks_0(bodies: bool, transactional_id: str | None) -> None:
    for version in ProduceRequest.VALID_VERSIONS:
        kept = transactional_id if version >= 3 else None
        quiet, loud = (
            ProduceRequest(acks=acks, transactional_id=kept, timeout_ms=timeout)
            for acks, timeout in ((0, 0x7FFFFFFF), (-1, 0))
        )
        segments = [
            asked(quiet, version, 1),
            asked(loud, version, 2),
            asked(quiet, version, 3),
            answered(ProduceResponse(), version, 2),
            asked(quiet, version, 4),
        ]
        events = play(segments, decoder(bodies=bodies))
        assert [type(event) for event in events] == [RequestEvent] * 3 + [ResponseEvent, RequestEvent]
        requests = [event for event in events if isinstance(event, RequestEvent)]
        assert [event.expects_response for event in requests] == [False, True, False, False]


@pytest.mark.parametrize("body", ["", "ff", "ffffffffffff", "ffffffffff01"])
def test_trap_08_a_request_whose_acks_cannot_be_read_is_answered(body: str) -> None:
    for bodies in (True, False):
        request = frame(raw(f"0000 0009 00000001 0002 6d65 00 {body}"))
        events = play([(CLIENT, request), answered(ProduceResponse(), 9, 1)], decoder(bodies=bodies))
        assert isinstance(events[1], ResponseEvent)
        assert events[1].request is events[0]


# 9: SASL


def handshake(version: int, number: int, error_code: int = 0) -> list[Segment]:
    return [
        asked(SaslHandshakeRequest(mechanism="PLAIN"), version, number),
        answered(SaslHandshakeResponse(error_code=error_code), version, number),
    ]


def token(side: str, data: bytes) -> Segment:
    return (CLIENT if side == CLIENT else SERVER), frame(data)


@pytest.mark.parametrize(
    "exchange",
    [
        [(CLIENT, PLAIN), (SERVER, b"")],
        [(CLIENT, b"\0A\0\0\0"), (SERVER, b"")],
        [(CLIENT, b"n,,n=a,r=x"), (SERVER, b"r=xy,s=QQ==,i=4096"), (CLIENT, b"c=biws,r=xy,p=Q"), (SERVER, b"v=Q")],
        [
            (CLIENT, GSSAPI),
            (SERVER, GSSAPI),
            (CLIENT, b""),
            (SERVER, b"\1\0\0\0"),
            (CLIENT, b"\1\0\0\0a"),
            (SERVER, b""),
        ],
    ],
    ids=["PLAIN", "PLAIN with capitals", "SCRAM", "GSSAPI"],
)
def test_trap_09_bare_tokens_follow_the_handshake_in_version_0(exchange: list[tuple[str, bytes]]) -> None:
    tokens = [token(side, data) for side, data in exchange]
    events = play([*handshake(0, 1), *tokens, *HELLO, *handshake(0, 8), *tokens, *HELLO])
    assert [type(event) for event in events] == (
        [RequestEvent, ResponseEvent] + [SaslToken] * len(tokens) + [RequestEvent, ResponseEvent]
    ) * 2
    found = [(event.direction, event.data) for event in events if isinstance(event, SaslToken)]
    assert found == [*exchange, *exchange]


def test_trap_09_the_first_request_ends_the_tokens_of_both_sides() -> None:
    stray = answered(HeartbeatResponse(), 0, 99)
    *_, token_event, _, _, last = play([*handshake(0, 1), token(CLIENT, PLAIN), token(SERVER, b""), *HELLO, stray])
    assert isinstance(token_event, SaslToken)
    assert isinstance(last, Undecodable)
    assert last.reason == "no request was seen with correlation id 99"


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_trap_09_a_token_has_at_most_half_a_mebibyte(side: str) -> None:
    """The default of Kafka's ``sasl.server.max.receive.size``."""
    for size in (524_288, 524_289):
        stream = [*handshake(0, 1), token(CLIENT, b"\0a\0b"), token(side, b"\xfe" * size)]
        assert any(isinstance(event, SaslToken) and len(event.data) == size for event in play(stream)) is (
            size == 524_288
        )


def test_trap_09_tokens_are_not_printed() -> None:
    events = play([*handshake(0, 1), token(CLIENT, PLAIN), token(SERVER, b""), *HELLO])
    assert "secret" not in "".join(told(events))
    assert "<SaslToken 15 bytes at 23 of client>" in told(events)


def test_trap_09_nor_are_those_of_version_1() -> None:
    request = SaslAuthenticateRequest(auth_bytes=PLAIN)
    segments = [*handshake(1, 1), asked(request, 2, 2), answered(SaslAuthenticateResponse(), 2, 2), *HELLO]
    events = play(segments * 2)  # with re-authentication [KIP-368]
    assert [type(event) for event in events] == [RequestEvent, ResponseEvent] * 6
    assert isinstance(events[2], RequestEvent)
    assert events[2].message == request
    assert "secret" not in "".join(told(events))


def test_trap_09_no_tokens_follow_the_handshake_in_version_1() -> None:
    vendor = frame(raw("01f4 0002 00000005 0003 696e6b | deadbeef"))
    events = play([*handshake(1, 1), (CLIENT, vendor)])
    assert isinstance(events[2], RequestEvent)
    assert events[2].api_key == 500


def test_trap_09_a_refused_mechanism_is_followed_by_no_tokens() -> None:
    events = play([*handshake(0, 1, error_code=33), *handshake(1, 2), *HELLO])
    assert [type(event) for event in events] == [RequestEvent, ResponseEvent] * 3
    unasked = play([*handshake(0, 1, error_code=33), token(CLIENT, PLAIN), *HELLO])
    assert not [event for event in unasked if isinstance(event, SaslToken)]
    assert [type(event) for event in unasked[-2:]] == [RequestEvent, ResponseEvent]


@pytest.mark.parametrize("start", ["unknown", "beginning"])
def test_trap_09_tokens_without_any_handshake(start: str) -> None:
    """GSSAPI before Kafka 4.0."""
    tokens = [token(CLIENT, GSSAPI), token(SERVER, b"\1\0\0\0"), token(CLIENT, b"\1\0\0\0a"), token(SERVER, b"")]
    events = play([*tokens, *HELLO], decoder(start))  # type: ignore[arg-type]
    assert [type(event) for event in events] == [SaslToken] * 4 + [RequestEvent, ResponseEvent]


@pytest.mark.parametrize(
    "start", ["6080", "6084 01020304", "60ff", "6014 07", "6010 06", "608a 000000000000000000 0a"]
)
def test_trap_09_what_only_begins_like_a_token(start: str) -> None:
    noise = frame(raw(start).ljust(22, b"\xff"))
    events = play([(CLIENT, noise[:14]), (CLIENT, noise[14:]), *HELLO])
    assert not [event for event in events if isinstance(event, SaslToken)]


@pytest.mark.parametrize("policy", [None, STRICT, Policy(trailing="ignore")])
def test_trap_10_trailing_bytes_are_kept_or_refused(policy: Policy | None) -> None:
    (_, data), answer = HELLO
    connection = decoder() if policy is None else decoder(policy=policy)
    request, response = play([(CLIENT, frame(data[4:] + b"more")), answer], connection)
    assert isinstance(response, ResponseEvent)
    assert response.request is request
    if policy is STRICT:
        assert isinstance(request, Undecodable)
        assert request.error is not None
        assert request.error.offset == len(data) - 4
        assert request.reason == str(request.error)
        assert "4 trailing bytes" in request.reason
    else:
        assert isinstance(request, RequestEvent)
        assert request.message == HeartbeatRequest(group_id="g")
        assert request.data.endswith(b"more")
