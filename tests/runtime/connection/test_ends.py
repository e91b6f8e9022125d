"""Both ends of a connection: a client and a server that talk to each other, and what else the client may hear."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from kwire import LIKE_KAFKA, STRICT, DecodeError, EncodeError, MessageRegistry, Policy, UnexpectedMessageError
from kwire.connection import (
    CLIENT,
    SERVER,
    ClientConnection,
    ConnectionDecoder,
    NoCommonVersionError,
    ProtocolViolationError,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    ServerConnection,
    Undecodable,
)
from kwire.frames import MAX_FRAME, frame
from kwire_kafka import (
    MODULES,
    PROTOCOL,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kwire_kafka.api.api_versions import ApiVersion
from tests.runtime.connection.conversations import raw

BEAT = HeartbeatRequest(group_id="g")


def pair() -> tuple[ClientConnection, ServerConnection]:
    return ClientConnection(PROTOCOL, client_id="test"), ServerConnection(PROTOCOL)


def heard(server: ServerConnection, data: bytes) -> RequestEvent:
    (event,) = server.receive(data)
    assert isinstance(event, RequestEvent)
    return event


def test_client_and_server_understand_each_other() -> None:
    client, server = pair()
    message = MetadataRequest(topics=None)
    request = heard(server, client.send(message, 12, time=1.0))
    assert (request.message, request.version, request.client_id) == (message, 12, "test")
    assert client.in_flight == 1
    (response,) = client.receive(server.send(request, MetadataResponse(cluster_id="c")), time=3.5)
    assert isinstance(response, ResponseEvent)
    assert (response.message, response.latency) == (MetadataResponse(cluster_id="c"), 2.5)
    assert isinstance(response.request, RequestEvent)
    assert response.request.message is message  # not read again
    assert response.request.data == request.data
    assert client.in_flight == 0


def test_versions_are_negotiated() -> None:
    client, server = pair()
    with pytest.raises(NoCommonVersionError, match="versions have not been negotiated: call negotiate"):
        client.send(BEAT)
    offered = [
        ApiVersion(api_key=12, min_version=0, max_version=2),
        ApiVersion(api_key=3, min_version=0, max_version=99),
    ]
    offered += [ApiVersion(api_key=1, min_version=90, max_version=99)]
    request = heard(server, client.send(ApiVersionsRequest(), 4))
    (response,) = client.receive(server.send(request, ApiVersionsResponse(api_keys=offered)))
    assert isinstance(response, ResponseEvent)
    assert response.message is not None
    client.negotiate(response.message)
    assert client.version(HeartbeatRequest) == 2
    assert client.version(MetadataRequest) == MetadataRequest.VALID_VERSIONS[-1]
    assert heard(server, client.send(BEAT)).version == 2
    with pytest.raises(NoCommonVersionError, match=r"the server supports versions 90 to 99, the client 0 to 18$"):
        client.send(FetchRequest())
    with pytest.raises(NoCommonVersionError, match="ProduceRequest: the server does not support this API"):
        client.send(ProduceRequest())


def test_trap_06_a_server_that_does_not_know_the_version() -> None:
    client, server = pair()
    asked = client.send_raw(18, 99, raw("04 6c6962 04 312e32 ff ff"), header_version=2)
    request = heard(server, asked)
    assert request.message is None
    assert request.software == ("lib", "1.2")
    ranges = [ApiVersion(api_key=18, min_version=0, max_version=4)]
    (response,) = client.receive(server.send(request, ApiVersionsResponse(error_code=35, api_keys=ranges)))
    assert isinstance(response, ResponseEvent)
    assert response.version == 0
    assert response.message is not None
    client.negotiate(response.message)
    assert client.version(ApiVersionsRequest) == 4


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("my lib", "1"),
        ("lib", "1 2"),
        ("", "1"),
        ("lib", ""),
        ("-lib", "1"),
        ("lib\n", "1"),
        ("lib", "1\x1b[2J"),
        ("ä", "1"),
    ],
)
def test_names_of_software_that_brokers_refuse_are_left_out(name: str, version: str) -> None:
    """In a version that is not known these bytes may be anything [KIP-511]."""
    client, server = pair()
    body = b"".join(bytes([len(text.encode()) + 1]) + text.encode() for text in (name, version))
    assert heard(server, client.send_raw(18, 99, body, header_version=2)).software == ("", "")


@pytest.mark.parametrize("body", ["", "04 6c69", "04 6c6962", "04 6c6962 04 31", "ffffffffff01", "02 ff 04 312e32"])
def test_software_that_is_cut_off_or_no_text_is_left_out(body: str) -> None:
    client, server = pair()
    assert heard(server, client.send_raw(18, 99, raw(body), header_version=2)).software == ("", "")


@pytest.mark.parametrize(("key", "version"), [(18, 2), (12, 4)])
def test_only_newer_versions_of_api_versions_begin_with_software(key: int, version: int) -> None:
    data = pair()[0].send_raw(key, version, raw("04 6c6962 04 312e32"), header_version=1 + (version > 3))
    (event,) = ConnectionDecoder(PROTOCOL, start="beginning", bodies=False).feed(CLIENT, data, 1.0)
    assert isinstance(event, RequestEvent)
    assert event.software == ("", "")


@pytest.mark.parametrize("version", ApiVersionsRequest.VALID_VERSIONS)
def test_the_software_of_a_client_is_known_with_and_without_its_message(version: int) -> None:
    client, _ = pair()
    request = ApiVersionsRequest(client_software_name="lib", client_software_version="1.2")
    data = client.send(request, version)
    for bodies in (True, False):
        (event,) = ConnectionDecoder(PROTOCOL, start="beginning", bodies=bodies).feed(CLIENT, data, 1.0)
        assert isinstance(event, RequestEvent)
        assert (event.message is not None, event.software) == (bodies, ("lib", "1.2") if version >= 3 else ("", ""))


def test_trap_08_nothing_comes_back_for_acks_0() -> None:
    client, server = pair()
    request = heard(server, client.send(ProduceRequest(acks=0), 9))
    assert client.in_flight == 0
    assert server.send(request, MetadataResponse()) == b""
    for version, name, acks in product((2, 3, 8, 9), (None, "", "tx"), (0, 1)):
        message = ProduceRequest(transactional_id=name if version > 2 else None, acks=acks)
        for bodies in (True, False):
            (seen,) = ConnectionDecoder(PROTOCOL, bodies=bodies).feed(
                CLIENT, ClientConnection(PROTOCOL).send(message, version), 1.0
            )
            assert isinstance(seen, RequestEvent)
            assert seen.expects_response is bool(acks), (version, name)


def test_trap_09_bare_tokens() -> None:
    client, server = pair()
    request = heard(server, client.send(SaslHandshakeRequest(mechanism="PLAIN"), 0))
    client.receive(server.send(request, SaslHandshakeResponse()))
    server.expects_tokens = True
    assert server.receive(client.send_token(b"\0a\0b")) == [SaslToken(0.0, CLIENT, 25, 0.0, b"\0a\0b")]
    assert client.in_flight == 1
    server.expects_tokens = False
    assert client.receive(server.send_token(b"")) == [SaslToken(0.0, SERVER, 14, 0.0, b"")]
    request = heard(server, client.send(BEAT, 0))
    (response,) = client.receive(server.send(request, HeartbeatResponse()))
    assert isinstance(response, ResponseEvent)
    assert response.request.position == request.position


def test_trap_05_apis_nobody_knows() -> None:
    client, server = pair()
    request = heard(server, client.send_raw(500, 1, b"vendor", correlation_id=9))
    assert (request.api_key, request.message, request.body) == (500, None, b"vendor")
    (response,) = client.receive(server.send_raw(request, b"says so"))
    assert isinstance(response, ResponseEvent)
    assert (response.message, response.body, response.correlation_id) == (None, b"says so", 9)
    assert heard(server, client.send(BEAT, 4)).correlation_id == 10


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("00000006 00000001 0000", "expected the response to 0, got one to 1"),
        ("00000002 0000", "a response of 2 bytes has no correlation id"),
        ("7fffffff", "a frame of 2147483647 bytes, but the limit is 104857600"),
    ],
)
def test_what_nobody_asked_for(data: str, reason: str) -> None:
    client, _ = pair()
    client.send(BEAT, 0)
    client.send(BEAT, 0)
    with pytest.raises(ProtocolViolationError) as caught:
        client.receive(raw(data))
    assert caught.value.events == []
    assert caught.value.reason == reason
    assert caught.value.message_name == ("frame" if "limit" in reason else "ResponseHeader")


def test_the_payload_of_a_wrong_response_is_no_start_of_another_protocol() -> None:
    client, _ = pair()
    with pytest.raises(ProtocolViolationError) as caught:
        client.receive(frame(b"HTTP/1.1 200"))
    assert (caught.value.reason, caught.value.data) == ("unexpected response", b"HTTP/1.1 200")


def test_answers_before_the_wrong_one_are_kept() -> None:
    client, _ = pair()
    client.send(BEAT, 0)
    with pytest.raises(ProtocolViolationError, match="unexpected response") as caught:
        client.receive(raw("00000006 00000000 0000") * 2)
    assert [event.message for event in caught.value.events] == [HeartbeatResponse()]


def test_a_response_that_cannot_be_read_is_not_the_end() -> None:
    client, server = pair()
    first, second = (heard(server, client.send(BEAT, 0)) for _ in range(2))
    bad, good = client.receive(server.send_raw(first, b"\0") + server.send(second, HeartbeatResponse()))
    assert isinstance(bad, Undecodable)
    assert isinstance(bad.error, DecodeError)
    assert bad.error.message_name == "HeartbeatResponse"
    assert isinstance(good, ResponseEvent)


def test_nothing_is_expected_for_what_was_never_sent() -> None:
    client, _ = pair()
    with pytest.raises(EncodeError):
        client.send(BEAT, 99)
    with pytest.raises(EncodeError):
        client.send(HeartbeatResponse(), 0)
    assert client.in_flight == 0


def test_correlation_ids_start_again_at_0() -> None:
    client, server = pair()
    assert heard(server, client.send(BEAT, 0, correlation_id=0x7FFFFFFF)).correlation_id == 0x7FFFFFFF
    assert heard(server, client.send(BEAT, 0)).correlation_id == 0


def test_requests_before_a_frame_beyond_the_limit_are_kept() -> None:
    client, server = pair()
    with pytest.raises(ProtocolViolationError, match="the limit is") as caught:
        server.receive(client.send(BEAT, 4) + raw("7fffffff"))
    assert [event.message for event in caught.value.events] == [BEAT]
    assert caught.value.path == "size"
    again = pickle.loads(pickle.dumps(caught.value))
    assert (again.events, str(again)) == (caught.value.events, str(caught.value))


def test_a_response_answers_its_request() -> None:
    client, server = pair()
    request = heard(server, client.send(BEAT, 4))
    with pytest.raises(EncodeError, match="MetadataResponse: not a response to Heartbeat"):
        server.send(request, MetadataResponse())
    with pytest.raises(EncodeError, match="HeartbeatRequest"):
        server.send(request, BEAT)


def test_only_api_versions_is_answered_in_another_version_than_asked() -> None:
    client, server = pair()
    for key, answer in ((18, ApiVersionsResponse(error_code=35)), (12, HeartbeatResponse())):
        request = heard(server, client.send_raw(key, 99, b"\0", header_version=1))
        if key == 18:
            assert server.send(request, answer) == frame(bytes(4) + answer.encode(0))
        else:
            with pytest.raises(EncodeError, match="unknown version 99"):
                server.send(request, answer)
        assert server.send(request, answer, 0)[8:] == answer.encode(0)


def test_requests_without_a_correlation_id_cannot_be_answered() -> None:
    _, server = pair()
    (short,) = server.receive(frame(raw("000c 0000 000000")))
    assert isinstance(short, Undecodable)
    with pytest.raises(EncodeError, match="a request of 7 bytes has no correlation id"):
        server.send_raw(short, b"")


@pytest.mark.parametrize("key", [12, 500])
@pytest.mark.parametrize("version", [0, 4, 99])
def test_what_a_proxy_passes_on_as_it_came(key: int, version: int) -> None:
    """Known or not, and whatever headers they have."""
    sent = frame(raw(f"{key:04x} {version:04x} 00000001 0002 6d65 00 0001 67 00000001 0001 6d 00"))
    (request,) = ServerConnection(PROTOCOL).receive(sent)
    onward = ClientConnection(PROTOCOL, client_id="proxy")
    passed = onward.send_raw(key, version, request.data[8:], header_version=0, correlation_id=1)
    assert passed == sent
    answer = frame(raw("00000001 00 00000000 0000 00"))
    (response,) = onward.receive(answer)
    assert not isinstance(response, SaslToken)
    assert ServerConnection(PROTOCOL).send_raw(request, response.data[4:]) == answer  # type: ignore[arg-type]


def test_a_server_hears_what_it_cannot_read() -> None:
    _, server = pair()
    bad = server.receive(frame(raw("000c 0000 00000001 ffff 00")))
    assert isinstance(bad[0], Undecodable)
    assert server.send_raw(bad[0], b"x") == frame(raw("00000001") + b"x")
    with pytest.raises(DecodeError, match="the limit is"):
        server.receive(raw("7fffffff"))


def test_the_expected_message_or_a_reason() -> None:
    client, server = pair()
    request = heard(server, client.send(BEAT, 4))
    assert request.expect(HeartbeatRequest) == BEAT
    (response,) = client.receive(server.send(request, HeartbeatResponse(error_code=27)))
    assert response.expect(HeartbeatResponse).error_code == 27
    with pytest.raises(UnexpectedMessageError, match="expected MetadataResponse, got HeartbeatResponse"):
        response.expect(MetadataResponse)
    request = heard(server, client.send(BEAT, 4))
    (broken,) = client.receive(server.send_raw(request, b"\0", header_version=1))
    with pytest.raises(
        UnexpectedMessageError, match=r"expected HeartbeatResponse, got HeartbeatResponse v4, .* byte 5 of 6"
    ):
        broken.expect(HeartbeatResponse)
    client.send_token(b"t")
    (token,) = client.receive(frame(b"secret"))
    with pytest.raises(UnexpectedMessageError, match="it is <SaslToken 6 bytes"):
        token.expect(HeartbeatResponse)


@pytest.mark.parametrize(
    ("data", "other"), [(b"\x15\x03\x03\x00\x02\x02\x50", "TLS"), (b"HTTP/1.1 400 Bad Request\r\n", "HTTP")]
)
def test_ends_say_what_the_port_speaks(data: bytes, other: str) -> None:
    for end in pair():
        with pytest.raises(ProtocolViolationError, match=f"it looks like {other}"):
            end.receive(data)


@pytest.mark.parametrize("key", [0, 17, 58])
def test_in_other_protocols_keys_mean_something_else(key: int) -> None:
    """Read as a Produce request, the empty group id of this would be acks=0."""
    protocol = MessageRegistry("kwire_kafka", MODULES, {}, {key: "HeartbeatRequest"}, {key: "HeartbeatResponse"}, {})
    data = frame(key.to_bytes(2, "big") + bytes(6) + b"\0\0" + HeartbeatRequest().encode(0))
    request = heard(ServerConnection(protocol), data)
    assert request.expects_response
    watching = ConnectionDecoder(protocol, start="beginning")
    watching.feed(CLIENT, data, 1.0)
    (answer,) = watching.feed(SERVER, frame(bytes(4) + HeartbeatResponse(error_code=3).encode(0)), 2.0)
    assert answer.expect(HeartbeatResponse).error_code == 3


ODD_ENDS = [b"\0", b"\0?", b"\1\5\1x", b"\2\6\1x\5\1y", b"\2\5\1x\5\1y"]
"""Tagged fields at the end of a message: none, none and a byte, one, two in the wrong order, the same one twice."""
POLICIES = [STRICT, LIKE_KAFKA, Policy(tags="kafka"), Policy(tags="preserve"), Policy(utf8="replace")]


@pytest.mark.parametrize("policy", [None, *POLICIES])
def test_each_end_reads_what_its_policy_allows(policy: Policy | None) -> None:
    """By default a server reads what Kafka reads, and a client nothing unusual."""
    options: dict[str, Any] = {} if policy is None else {"policy": policy}
    request = PROTOCOL.encode_request(HeartbeatRequest(group_id="ok"), 4, correlation_id=0)
    response = PROTOCOL.encode_response(MetadataResponse(cluster_id="ok"), 12, correlation_id=0)
    for group, odd in product((b"ok", b"o\xff"), ODD_ENDS):
        asked, answered = (data.replace(b"ok", group)[:-1] + odd for data in (request, response))
        (event,) = ServerConnection(PROTOCOL, **options).receive(frame(asked))
        assert found(event) == read(PROTOCOL.decode_request, asked, policy or LIKE_KAFKA)
        client = ClientConnection(PROTOCOL, **options)
        client.send(MetadataRequest(), 12)
        (answer,) = client.receive(frame(answered))
        assert found(answer) == read(PROTOCOL.decode_response, answered, 3, 12, policy or STRICT)


def found(event: Any) -> object:
    """The message, or why there is none."""
    return event.message if hasattr(event, "message") else str(event.error)


def read(decode: Callable[..., Any], *arguments: object) -> object:
    try:
        return decode(*arguments).message
    except DecodeError as error:
        return str(error)


@pytest.mark.parametrize("limit", [None, 100])
@pytest.mark.parametrize("end", [ClientConnection, ServerConnection])
def test_a_frame_as_large_as_the_limit_is_the_largest(
    end: type[ClientConnection | ServerConnection], limit: int | None
) -> None:
    """One that is larger is refused before its bytes arrive."""
    most = limit or MAX_FRAME
    connection = end(PROTOCOL) if limit is None else end(PROTOCOL, max_frame=limit)
    assert connection.receive(most.to_bytes(4, "big")) == []
    connection = end(PROTOCOL) if limit is None else end(PROTOCOL, max_frame=limit)
    with pytest.raises(ProtocolViolationError, match=f"a frame of {most + 1} bytes, but the limit is {most}"):
        connection.receive((most + 1).to_bytes(4, "big"))
