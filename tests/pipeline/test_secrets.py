"""Secrets are taken out of messages, and none is forgotten."""

from __future__ import annotations

import re
import struct
from typing import Any

import pytest

from kwire.message import Struct
from kwire.protocol import Request
from kwire.schema import BLOBS, struct_class, walk
from kwire_kafka import (
    PROTOCOL,
    AlterConfigsRequest,
    DescribeConfigsResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    FetchResponse,
    HeartbeatRequest,
    RenewDelegationTokenRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kwire_kafka.api.alter_configs import AlterableConfig, AlterConfigsResource
from kwire_kafka.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_spark.secrets import HIDDEN, METADATA_TOPIC_ID, SECRETS, is_sensitive, may_have_secrets, redacted
from tests.properties.values import each_message

SUSPICIOUS = re.compile(
    "password|salt|hmac|secret|token|auth|credential|jaas|nonce|stored_key|server_key|value$|_data$"
)

HARMLESS = {
    r"(^|\.)token_(id|requester_principal_(type|name))$": "names a token, or who asked for it: no one can log in",
    r"client_tags\.value$": "racks and zones of clients",
    r"topic_configs\.value$": "configurations of topics, of which none is secret",
    r"^user_data$": "of the assignor of a consumer",
    r"^groups\.protocol_data$": "the name of an assignor",
}
"""Suspicious names that hold no secrets, by their paths, and why."""


@each_message
def test_every_suspicious_field_is_redacted_or_known_to_be_harmless(name: str) -> None:
    cls = PROTOCOL[name]
    for path, _, field in walk(cls):
        if not SUSPICIOUS.search(path.rpartition(".")[2]) or field.type not in BLOBS:
            continue
        if any(re.search(pattern, path) for pattern in HARMLESS):
            continue
        value: Any = b"hunter2" if field.type != "string" else "hunter2"
        assert "hunter2" not in repr(redacted(_with(cls, path.split("."), value))), f"{name}.{path}"


def test_every_path_is_one_of_its_message() -> None:
    for name, paths in SECRETS.items():
        assert set(paths) <= {path for path, _, _ in walk(PROTOCOL[name])}, name


def test_what_has_no_secret_is_the_same_object() -> None:
    heartbeat, empty = HeartbeatRequest(group_id="g"), SaslAuthenticateRequest(auth_bytes=b"")
    assert redacted(heartbeat) is heartbeat
    assert redacted(empty) is empty


def test_the_original_is_left_as_it_is() -> None:
    response = SaslAuthenticateResponse(auth_bytes=b"v=signature", session_lifetime_ms=5)
    assert redacted(response) == SaslAuthenticateResponse(auth_bytes=b"", session_lifetime_ms=5)
    assert response.auth_bytes == b"v=signature"


def test_only_secret_configurations_are_hidden() -> None:
    def request(password: str) -> AlterConfigsRequest:
        configs = [
            AlterableConfig(name="listener.name.x.ssl.key.password", value=password),
            AlterableConfig(name="log.retention.ms", value="5"),
            AlterableConfig(name="sasl.jaas.config", value=None),
        ]
        return AlterConfigsRequest(resources=[AlterConfigsResource(resource_name="1", configs=configs)])

    assert redacted(request("hunter2")) == request(HIDDEN)


def test_a_configuration_that_the_broker_calls_sensitive_is_hidden_with_its_synonyms() -> None:
    def response(value: str, sensitive: bool) -> DescribeConfigsResponse:
        synonyms = [DescribeConfigsSynonym(name="plain", value=value)]
        config = DescribeConfigsResourceResult(name="plain", value=value, is_sensitive=sensitive, synonyms=synonyms)
        return DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config])])

    assert redacted(response("hunter2", True)) == response(HIDDEN, True)
    assert redacted(response("hunter2", False)) == response("hunter2", False)


@pytest.mark.parametrize(
    ("name", "sensitive"),
    [
        ("ssl.keystore.password", True),
        ("listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", True),
        ("ssl.keystore.key", True),
        ("ssl.keystore.certificate.chain", True),
        ("ssl.truststore.certificates", True),
        ("listener.name.internal.ssl.truststore.certificates", True),
        ("sasl.login.token", True),
        ("delegation.token.secret.key", True),
        ("password.encoder.secret", True),
        ("AWS_ACCESS_KEY", True),
        ("password.encoder.iterations", False),
        ("delegation.token.max.lifetime.ms", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("ssl.truststore.location", False),
        ("cleanup.policy", False),
        ("key.deserializer", False),
    ],
)
def test_which_names_are_sensitive(name: str, sensitive: bool) -> None:
    assert is_sensitive(name) is sensitive


def test_the_cluster_metadata_in_a_fetch_is_hidden_and_other_topics_are_not() -> None:
    def response(records: bytes, **topic: Any) -> FetchResponse:
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)], **topic)])

    assert redacted(response(b"x", topic="__cluster_metadata")) == response(b"", topic="__cluster_metadata")
    by_id = response(b"x", topic_id=METADATA_TOPIC_ID)
    assert redacted(by_id).responses[0].partitions[0].records == b""
    other = response(b"x", topic="t")
    assert redacted(other) is other


def test_what_is_in_an_envelope_is_redacted() -> None:
    asked = PROTOCOL.encode_request(RenewDelegationTokenRequest(hmac=b"hunter2"), 2, correlation_id=3, client_id="c")
    clean = redacted(EnvelopeRequest(request_data=asked))
    within = PROTOCOL.decode_request(clean.request_data)
    assert within.header.client_id == "c"
    assert within.message == RenewDelegationTokenRequest(hmac=b"")


def test_what_cannot_be_read_in_an_envelope_is_taken_out() -> None:
    assert redacted(EnvelopeRequest(request_data=b"\0\x27\0\x02hunter2")).request_data == b""


@pytest.mark.parametrize(("api_key", "version"), [(36, 99), (999, 0)], ids=["version", "api"])
def test_what_is_of_an_unknown_api_or_version_in_an_envelope_is_taken_out(api_key: int, version: int) -> None:
    """Its header can be read, its body cannot, and nobody knows what that holds."""
    known = PROTOCOL.encode_request(
        SaslAuthenticateRequest(auth_bytes=b"hunter2"), 2, correlation_id=3, client_id="c"
    )
    asked = PROTOCOL.decode_request(struct.pack(">hh", api_key, version) + known[4:])
    assert asked.message is None
    assert redacted(EnvelopeRequest(request_data=asked.payload)).request_data == b""
    answer = PROTOCOL.encode_response(SaslAuthenticateResponse(auth_bytes=b"hunter2"), 2, correlation_id=3)
    assert redacted(EnvelopeResponse(response_data=answer), asked).response_data == b""


def test_a_request_without_secrets_is_left_in_its_envelope() -> None:
    asked = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=3, client_id="c")
    assert redacted(EnvelopeRequest(request_data=asked)).request_data == asked


def test_the_response_in_an_envelope_takes_its_request_to_be_read() -> None:
    payload = PROTOCOL.encode_request(SaslAuthenticateRequest(auth_bytes=b"x"), 2, correlation_id=3)
    asked: Request = PROTOCOL.decode_request(payload)
    answer = SaslAuthenticateResponse(auth_bytes=b"hunter2", session_lifetime_ms=7)
    envelope = EnvelopeResponse(response_data=PROTOCOL.encode_response(answer, 2, correlation_id=3))
    assert redacted(envelope).response_data == b""
    clean = redacted(envelope, asked).response_data
    assert clean is not None
    within = PROTOCOL.decode_response(clean, 36, 2)
    assert within.message == SaslAuthenticateResponse(auth_bytes=b"", session_lifetime_ms=7)


def test_names_tell_what_may_have_secrets() -> None:
    assert may_have_secrets("SaslAuthenticateRequest")
    assert may_have_secrets("EnvelopeResponse")
    assert not may_have_secrets("ProduceRequest")


def _with(cls: type[Struct], path: list[str], value: Any) -> Any:
    """A message with ``value`` at ``path``; names of configurations beside it are those of passwords."""
    fields = {field.name: field for field in cls.FIELDS}
    values: dict[str, Any] = {name: "ssl.key.password" for name in ("name", "key") if name in fields}
    if len(path) > 1:
        struct = struct_class(cls, fields[path[0]])
        assert struct is not None
        inner = _with(struct, path[1:], value)
        value = [inner] if fields[path[0]].is_array else inner
    values[path[0]] = value
    return cls(**values)
