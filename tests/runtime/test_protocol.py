"""From api keys and names to classes, and whole frames; with bytes that another implementation wrote."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from clockwork_wire import PROTOCOL as CLOCKWORK
from kwire import LIKE_KAFKA, STRICT, DecodeError, EncodeError, Policy
from kwire.errors import (
    UnexpectedMessageError,
    UnknownApiError,
    UnknownLogError,
    UnknownMessageError,
    UnknownRecordTypeError,
)
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import Message
from kwire.protocol import MessageRegistry, registry
from kwire_kafka import (
    ALIASES,
    MODULES,
    PROTOCOL,
    ApiKey,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    OffsetCommitKey,
    TopicRecord,
    TransactionLogKey,
    TransactionLogValue,
)
from kwire_kafka.api.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.releases import RELEASES
from tests.properties.values import FIXED, as_decoded, make, message_class, pairs

KIO_API_VERSIONS = bytes.fromhex((Path(__file__).parent / "api_versions_v3.hex").read_text())
"""An ApiVersionsResponse of version 3 that kio 0.6.5 wrote."""


def test_real_bytes() -> None:
    expected = ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=0, max_version=key % 14) for key in range(60)],
        supported_features=[
            SupportedFeatureKey(name="metadata.version", min_version=1, max_version=25),
            SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1),
        ],
        finalized_features_epoch=77,
        finalized_features=[FinalizedFeatureKey(name="metadata.version", max_version_level=25, min_version_level=25)],
    )
    assert len(KIO_API_VERSIONS) == 507
    assert ApiVersionsResponse.decode(KIO_API_VERSIONS, 3) == expected
    assert ApiVersionsResponse._read(KIO_API_VERSIONS, 0, 3) == (expected, 507)
    assert expected.encode(3) == KIO_API_VERSIONS


UNKNOWN = max(RELEASES.newest.apis) + 1
"""The first API key that no release has."""


def test_classes_by_key() -> None:
    assert PROTOCOL.request(1) is FetchRequest
    assert PROTOCOL.response(1) is FetchResponse
    assert PROTOCOL.api_keys == tuple(range(UNKNOWN))
    for key in PROTOCOL.api_keys:
        request, response = PROTOCOL.request(key), PROTOCOL.response(key)
        assert request.API_KEY == response.API_KEY == key
        assert request.__name__.removesuffix("Request") == response.__name__.removesuffix("Response")


def test_classes_by_name() -> None:
    for name in MODULES:
        assert PROTOCOL[name].__name__ == name
    assert PROTOCOL["FetchRequest"] is FetchRequest


def test_former_names() -> None:
    assert ALIASES["ListClientMetricsResourcesRequest"] == "ListConfigResourcesRequest"
    for old, new in ALIASES.items():
        assert old not in MODULES
        assert PROTOCOL[old] is PROTOCOL[new]


@pytest.mark.parametrize("key", [-1, UNKNOWN, 500, 32767])
def test_unknown_keys(key: int) -> None:
    with pytest.raises(UnknownApiError, match=f"unknown API {key}"):
        PROTOCOL.request(key)
    with pytest.raises(UnknownApiError, match=f"unknown API {key}"):
        PROTOCOL.response(key)


def test_unknown_names() -> None:
    with pytest.raises(UnknownMessageError, match="unknown message 'Nothing'"):
        PROTOCOL["Nothing"]


def test_every_request_and_response_as_a_frame() -> None:
    for key in PROTOCOL.api_keys:
        for cls, version in pairs([PROTOCOL.request(key).__name__]):
            message = make(cls, version, FIXED["min"])
            payload = PROTOCOL.encode_request(message, version, correlation_id=-5, client_id="me")
            request = PROTOCOL.decode_request(payload)
            assert request.message == as_decoded(message, version)
            assert request.body == message.encode(version)
            client_id = "me" if cls.header_version(version) else ""
            header = RequestHeader(api_key=key, api_version=version, correlation_id=-5, client_id=client_id)
            assert request.header == header
        for cls, version in pairs([PROTOCOL.response(key).__name__]):
            message = make(cls, version, FIXED["zero"])
            payload = PROTOCOL.encode_response(message, version, correlation_id=9)
            response = PROTOCOL.decode_response(payload, key, version)
            assert (response.message, response.version) == (message, version)
            assert response.header == ResponseHeader(correlation_id=9)
            assert response.body == message.encode(version)


@pytest.mark.parametrize("version", [-1, ApiVersionsRequest.VALID_VERSIONS.stop, 99, 32767])
def test_unknown_versions_of_a_request(version: int) -> None:
    """The header is read as that of the nearest version, the body is kept."""
    number = ApiVersionsRequest.header_version(0 if version < 0 else 4)
    header = RequestHeader(api_key=18, api_version=version, correlation_id=4, client_id="c")
    request = PROTOCOL.decode_request(header.encode(number) + b"body")
    assert (request.header, request.message, request.body) == (header, None, b"body")


@pytest.mark.parametrize(("size", "client_id", "body"), [(12, "me", ""), (11, "", "00026d"), (9, "", "00")])
def test_headers_of_unknown_apis_that_do_not_fit(size: int, client_id: str, body: str) -> None:
    """What is only a guess is never an error: the body then starts behind the correlation id."""
    payload = RequestHeader(api_key=500, correlation_id=4, client_id="me").encode(1)[:size]
    request = PROTOCOL.decode_request(payload)
    assert request.header == RequestHeader(api_key=500, correlation_id=4, client_id=client_id)
    assert (request.message, request.body) == (None, bytes.fromhex(body))


def test_headers_of_unknown_versions_that_do_not_fit() -> None:
    """Version 99 of ApiVersions may have any header: tagged fields first, then none, then no client id."""
    start = RequestHeader(api_key=18, api_version=99, correlation_id=4, client_id="me").encode(1)
    for rest, body in (("00 01", "01"), ("ff ff ff", "ff ff ff"), ("", "")):
        request = PROTOCOL.decode_request(start + bytes.fromhex(rest))
        assert (request.header.client_id, request.body) == ("me", bytes.fromhex(body))
    request = PROTOCOL.decode_request(start[:-1])
    assert (request.header.client_id, request.body) == ("", b"\0\x02m")


@pytest.mark.parametrize("policy", [STRICT, LIKE_KAFKA])
@pytest.mark.parametrize("data", ["ffff", "00120063000000", "01f4000000"])
def test_less_than_any_header(data: str, policy: Policy) -> None:
    payload = bytes.fromhex(data)
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(payload, policy)
    error = caught.value
    assert (error.message_name, error.data, error.offset <= len(payload)) == ("RequestHeader", payload, True)


def test_the_header_is_there_when_the_body_is_broken() -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=1, client_id="c")[:-1]
    expected = RequestHeader(api_key=12, api_version=4, correlation_id=1, client_id="c")
    assert PROTOCOL.request_header(payload) == (expected, 12, HeartbeatRequest)
    answer = PROTOCOL.encode_response(HeartbeatResponse(), 4, correlation_id=1)[:-1]
    assert PROTOCOL.response_header(answer, 12, 4) == (ResponseHeader(correlation_id=1), 5, HeartbeatResponse, 4)
    assert PROTOCOL.response_header(answer, 12, 99)[1:] == (5, None, 99)
    assert PROTOCOL.response_header(b"\0\0\0\1\0\x23", 18, 99)[1:] == (4, ApiVersionsResponse, 0)


def test_errors_of_responses_count_from_the_start_of_the_payload() -> None:
    payload = PROTOCOL.encode_response(HeartbeatResponse(error_code=27), 4, correlation_id=1)
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_response(payload[:-2], 12, 4)
    error = caught.value
    assert (error.message_name, error.path, error.offset) == ("HeartbeatResponse", "error_code", 9)
    assert error.data == payload[:-2]
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_response(payload[:4], 12, 4)
    assert (caught.value.message_name, caught.value.path, caught.value.offset) == (
        "ResponseHeader",
        "tagged fields",
        4,
    )


def test_policies_reach_the_headers() -> None:
    body = HeartbeatRequest(group_id="g").encode(4)
    header = bytes.fromhex("000c 0004 00000001 0002 63ff  02 05 01 aa 03 00")
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(header + body)
    assert str(caught.value) == (
        "RequestHeader v2, field client_id, byte 11 of 27: invalid UTF-8: invalid start byte"
    )
    with pytest.raises(DecodeError, match="field tagged fields, byte 16 of 27: tag 3 after tag 5: tags must ascend"):
        PROTOCOL.decode_request(header + body, Policy(utf8="replace"))
    request = PROTOCOL.decode_request(header + body, LIKE_KAFKA)
    assert request.header.client_id == "c\ufffd"
    assert request.header.unknown_tags == ((5, b"\xaa"), (3, b""))
    answer = bytes.fromhex("00000001  02 05 00 05 00") + HeartbeatResponse().encode(4)
    with pytest.raises(DecodeError, match="tag 5 after tag 5"):
        PROTOCOL.decode_response(answer, 12, 4)
    assert PROTOCOL.decode_response(answer, 12, 4, LIKE_KAFKA).header.correlation_id == 1


def test_the_header_of_an_unknown_api_is_read_as_the_policy_allows() -> None:
    start = bytes.fromhex("01f4 0000 00000001")
    for policy, client_id, body in ((STRICT, "", b"\0\2c\xffbody"), (LIKE_KAFKA, "c\ufffd", b"body")):
        request = PROTOCOL.decode_request(start + b"\0\2c\xffbody", policy)
        assert (request.header.client_id, request.body) == (client_id, body)


@pytest.mark.parametrize("more", [0, 1])
def test_a_header_has_a_limit_and_a_body_has_none(more: int) -> None:
    """Whatever is after it, what is beyond 64 KiB of a header is not read."""
    for header, number, body in (
        (RequestHeader(api_key=12, api_version=4, client_id="c"), 2, HeartbeatRequest(group_id="g" * 30_000)),
        (ResponseHeader(), 1, HeartbeatResponse(unknown_tags=((7, bytes(90_000)),))),
    ):
        size = (1 << 16) - len(header.replace(unknown_tags=((1, bytes(1 << 15)),)).encode(number)) + (1 << 15)
        long = header.replace(unknown_tags=((1, bytes(size + more)),)).encode(number)
        assert len(long) == (1 << 16) + more
        payload = long + body.encode(4)
        decode = PROTOCOL.decode_request if number == 2 else lambda data: PROTOCOL.decode_response(data, 12, 4)
        if more:
            with pytest.raises(DecodeError, match=f"^{type(header).__name__}"):
                decode(payload)
        else:
            assert decode(payload).message == body


def test_unknown_versions_of_a_response() -> None:
    response = PROTOCOL.decode_response(b"\0\0\0\4body", 12, 99)
    assert (response.header.correlation_id, response.message, response.body) == (4, None, b"body")
    assert response.version == 99


@pytest.mark.parametrize(("version", "body"), [(-1, "00cafe"), (5, "cafe"), (99, "cafe")])
def test_headers_of_unknown_versions_of_a_response(version: int, body: str) -> None:
    """They are read like that of the nearest version, which has tagged fields from 4 on."""
    response = PROTOCOL.decode_response(bytes.fromhex("00000004 00 cafe"), 12, version)
    assert (response.header, response.body) == (ResponseHeader(correlation_id=4), bytes.fromhex(body))
    never = PROTOCOL.decode_response(bytes.fromhex("00000004 00 cafe"), 18, 99)  # has none [KAFKA-WIRE 2]
    assert never.body == bytes.fromhex("00cafe")


def test_a_protocol_is_pickled_by_name() -> None:
    data = pickle.dumps(PROTOCOL)
    assert pickle.loads(data) is PROTOCOL
    assert len(data) < 100
    other = MessageRegistry("kwire_kafka", MODULES, ALIASES, {12: "HeartbeatRequest"}, {12: "HeartbeatResponse"}, {})
    again = pickle.loads(pickle.dumps(other))
    assert (again.api_keys, again.request(12)) == ((12,), HeartbeatRequest)
    absent = pickle.loads(pickle.dumps(MessageRegistry("acme_wire", {}, {}, {3: "ARequest"}, {}, {"log": {}})))
    assert (absent.package, absent.api_names, absent.logs) == ("acme_wire", {3: "A"}, ("log",))
    modules = MessageRegistry("json", {}, {}, {}, {}, {})  # a package without messages
    assert pickle.loads(pickle.dumps(modules)).package == "json"


def test_error_35_means_nothing_for_other_apis() -> None:
    payload = b"\0\0\0\1" + b"\0\x23"
    response = PROTOCOL.decode_response(payload, 12, 0)
    assert response.message == HeartbeatResponse(error_code=35)
    odd: tuple[Message, ...] = (HeartbeatResponse(throttle_time_ms=35 << 16), ApiVersionsResponse(error_code=35))
    for key, message in zip((18, 5), odd, strict=True):  # other protocols may number their APIs so
        names = {key: type(message).__name__}
        other = MessageRegistry("kwire_kafka", MODULES, {}, names, names, {})
        assert other.decode_response(bytes(4) + message.encode(1), key, 1).message == message


def test_broken_bodies_are_errors() -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=1, client_id="c")
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(payload[:-1])
    error = caught.value
    assert (error.message_name, error.version, error.path) == ("HeartbeatRequest", 4, "tagged fields")
    assert (error.offset, error.data) == (len(payload) - 1, payload[:-1])
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(payload + b"xyz")
    assert (caught.value.offset, caught.value.reason) == (len(payload), "3 trailing bytes")
    with pytest.raises(DecodeError):
        PROTOCOL.decode_request(payload + b"x")
    assert PROTOCOL.decode_request(payload + b"x", LIKE_KAFKA).message == HeartbeatRequest(group_id="g")


@pytest.mark.parametrize("size", range(8))
def test_payloads_that_are_too_short(size: int) -> None:
    with pytest.raises(DecodeError):
        PROTOCOL.decode_request(bytes(size))
    if size < 4:
        with pytest.raises(DecodeError):
            PROTOCOL.decode_response(bytes(size), 18, 0)


def test_only_requests_have_headers() -> None:
    with pytest.raises(LookupError, match="TopicRecord has no header"):
        TopicRecord.header_version(0)


@pytest.mark.parametrize("message", [TopicRecord(), HeartbeatResponse(), OffsetCommitKey(), RequestHeader()])
def test_only_requests_of_the_protocol_are_written_as_requests(message: Message) -> None:
    with pytest.raises(EncodeError) as caught:
        PROTOCOL.encode_request(message, 0, correlation_id=1)
    assert str(caught.value) == f"{type(message).__name__} v0: not a request of kwire_kafka"


@pytest.mark.parametrize("message", [TopicRecord(), HeartbeatRequest(), OffsetCommitKey(), RequestHeader()])
def test_only_responses_of_the_protocol_are_written_as_responses(message: Message) -> None:
    with pytest.raises(EncodeError) as caught:
        PROTOCOL.encode_response(message, 0, correlation_id=1)
    assert str(caught.value) == f"{type(message).__name__} v0: not a response of kwire_kafka"


def test_a_message_of_another_protocol_with_a_known_api_key() -> None:
    class FetchRequest(Message):
        API_KEY = 1

    with pytest.raises(EncodeError, match="not a request of kwire_kafka"):
        PROTOCOL.encode_request(FetchRequest(), 4, correlation_id=1)


def test_the_expected_message_or_what_came_instead() -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=1)
    assert PROTOCOL.decode_request(payload).expect(HeartbeatRequest) == HeartbeatRequest(group_id="g")
    answer = PROTOCOL.encode_response(HeartbeatResponse(), 4, correlation_id=1)
    with pytest.raises(UnexpectedMessageError, match=r"^expected FetchResponse, got HeartbeatResponse$"):
        PROTOCOL.decode_response(answer, 12, 4).expect(FetchResponse)
    with pytest.raises(UnexpectedMessageError, match=r"^expected HeartbeatResponse, got an unknown API or version$"):
        PROTOCOL.decode_response(answer, 12, 99).expect(HeartbeatResponse)


def test_requests_and_responses_print() -> None:
    payload = PROTOCOL.encode_request(ApiVersionsRequest(), 0, correlation_id=1)
    assert repr(PROTOCOL.decode_request(payload)).startswith("Request(header=RequestHeader(api_key=18, ")
    answer = PROTOCOL.encode_response(ApiVersionsResponse(), 0, correlation_id=1)
    assert repr(PROTOCOL.decode_response(answer, 18, 0)).startswith(
        "Response(header=ResponseHeader(correlation_id=1)"
    )


def test_header_versions_of_versions_that_no_longer_exist() -> None:
    assert message_class("ProduceRequest").header_version(0) == 1


def test_records_of_a_log_are_found_by_their_type() -> None:
    assert PROTOCOL.record("transaction", 0) == (TransactionLogKey, TransactionLogValue)
    key, value = PROTOCOL.record("metadata", 2)
    assert key is None
    assert value is TopicRecord
    assert PROTOCOL.record_types("share") == (0, 1)
    with pytest.raises(UnknownRecordTypeError, match="unknown record type 18 of log 'group'"):
        PROTOCOL.record("group", 18)
    with pytest.raises(UnknownLogError, match="did you mean group"):
        PROTOCOL.record_types("groups")


def test_messages_by_name() -> None:
    assert set(PROTOCOL) == set(MODULES)
    with pytest.raises(UnknownMessageError, match="'Metadata', did you mean MetadataRequest or MetadataResponse"):
        PROTOCOL["Metadata"]
    with pytest.raises(UnknownMessageError, match="did you mean FetchRequest"):
        PROTOCOL["FetchRequst"]
    with pytest.raises(UnknownMessageError, match=r"unknown message 'Xyz'$"):
        PROTOCOL["Xyz"]


def test_decoding_from_the_middle_of_bytes() -> None:
    data = b"front" + HeartbeatResponse(error_code=7).encode(0)
    assert HeartbeatResponse.decode(data, 0, start=5) == HeartbeatResponse(error_code=7)
    for start, offset in ((4, 6), (6, 6), (8, 8), (-1, -1)):
        with pytest.raises(DecodeError) as caught:
            HeartbeatResponse.decode(data, 0, start=start)
        assert (caught.value.offset, caught.value.data) == (offset, data)


def test_api_keys_have_names() -> None:
    assert {key.value: key.name.replace("_", "").lower() for key in ApiKey} == {
        key: PROTOCOL.api_name(key).lower() for key in PROTOCOL.api_keys
    }


def test_why_a_version_is_unknown() -> None:
    newest = f"Kafka {RELEASES.newest.name}, the newest known release"
    last = FetchRequest.VALID_VERSIONS[-1]
    assert PROTOCOL.unknown(1, last) == ""
    assert PROTOCOL.unknown(1, last + 1) == f"Fetch {last + 1} is newer than {newest}"
    assert PROTOCOL.unknown(1, -1) == "Fetch has no version -1"
    assert PROTOCOL.unknown(999, 0) == f"API key 999 is not in {newest}"


def test_no_known_version_is_unknown() -> None:
    for key in PROTOCOL.api_keys:
        valid = PROTOCOL.request(key).VALID_VERSIONS
        known = [version for version in range(valid.start - 2, valid.stop + 2) if not PROTOCOL.unknown(key, version)]
        assert known == list(valid)


def test_a_package_without_releases_names_its_newest_version() -> None:
    name = CLOCKWORK.api_name(CLOCKWORK.api_keys[0])
    last = CLOCKWORK.request(CLOCKWORK.api_keys[0]).VALID_VERSIONS[-1]
    reason = f"{name} {last + 1} is newer than {last}, the newest known version"
    assert CLOCKWORK.unknown(CLOCKWORK.api_keys[0], last + 1) == reason
    assert CLOCKWORK.unknown(999, 0) == "API key 999 is not in this protocol"


@pytest.mark.parametrize("name", ["", ".kwire_kafka", "kwire_kafka.", "a b", "../kwire_kafka", "os;x", "kwire-kafka"])
def test_what_is_not_the_name_of_a_package_is_not_imported(name: str) -> None:
    with pytest.raises(ValueError, match="is not a package name"):
        registry(name)


def test_a_registry_by_the_name_of_its_package() -> None:
    assert registry("kwire_kafka") is PROTOCOL
    with pytest.raises(ValueError, match="json is not a generated package"):
        registry("json")
    with pytest.raises(ModuleNotFoundError, match=r"no package acme_wire: .* PYTHONPATH"):
        registry("acme_wire")


def test_what_a_package_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_lacking.py").write_text("import acme_needed")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'acme_needed'$"):
        registry("acme_lacking")
