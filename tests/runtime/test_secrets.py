"""Secrets are taken out of messages, and none is forgotten."""

from __future__ import annotations

import json
import pickle
import re
import struct
from typing import Any, cast

import pytest

from kwire import secrets
from kwire.connection import NotKafka, SaslToken
from kwire.connection.events import CLIENT
from kwire.errors import DecodeError
from kwire.frames import MAX_DECODED, frame
from kwire.guide import Guide
from kwire.headers import RequestHeader, ResponseHeader
from kwire.interpreter import large
from kwire.json_form import JsonFormError
from kwire.logs import decode_record
from kwire.logs.json_text import redacted_json
from kwire.message import Message
from kwire.policy import LIKE_KAFKA
from kwire.protocol import Request
from kwire.records import Record, RecordsError, encode_batch, read_batches
from kwire.redaction import redacted, redacted_bytes
from kwire.schema import BLOBS, struct_class, walk
from kwire.secrets import (
    CONNECT_SECRETS,
    HIDDEN,
    METADATA_TOPIC,
    METADATA_TOPIC_ID,
    SECRETS,
    is_sensitive,
    may_contain,
)
from kwire.struct import Struct
from kwire.trace import (
    Trace,
    annotate,
    as_json,
    expand_records,
    show,
    trace_frame,
    trace_message,
    trace_record,
    trace_request,
    trace_response,
)
from kwire.trace.page import trace_page
from kwire.uuids import Uuid
from kwire_kafka import (
    PROTOCOL,
    AlterConfigsRequest,
    AlterUserScramCredentialsRequest,
    CreateTopicsResponse,
    DescribeConfigsResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    RenewDelegationTokenRequest,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    UserScramCredentialRecord,
)
from kwire_kafka.api.alter_configs import AlterableConfig, AlterConfigsResource
from kwire_kafka.api.create_topics import CreatableTopicResult
from kwire_kafka.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kwire_kafka.api.fetch import FetchableTopicResponse, PartitionData
from kwire_kafka.models import MODELS
from kwire_kafka.models.api.alter_user_scram_credentials import ScramCredentialUpsertionModel
from tests.properties.values import each_message
from tests.support.wrong_types import REFUSED

SUSPICIOUS = re.compile(
    "password|salt|hmac|secret|token|auth|credential|jaas|nonce|stored_key|server_key|value$|_data$"
)

HARMLESS = {
    r"(^|\.)token_(id|requester_principal_(type|name))$": "names a token, or who asked for it: no one can log in",
    r"client_tags\.value$": "racks and zones of clients",
    r"topic_configs\.value$": "configurations of topics, of which none is secret",
    r"^last_assignment_configs\.value$": "settings of a group, such as its number of standby tasks",
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
        message = _with(cls, path.split("."), value)
        assert "hunter2" in str(fields_of(message))
        assert "hunter2" not in str(fields_of(redacted(PROTOCOL, message))), f"{name}.{path}"
        assert "hunter2" not in repr(message), f"{name}.{path}"


def test_every_path_is_one_of_its_message() -> None:
    for name in SECRETS:
        known = {path for path, _, _ in walk(PROTOCOL[name])}
        for _, cls, field in walk(PROTOCOL[name]):
            if inner := struct_class(cls, field):
                known |= {f"{inner.__name__}.{path}" for path, _, _ in walk(inner)}
        assert set(SECRETS[name]) <= known, name


def test_what_has_no_secret_is_the_same_object() -> None:
    heartbeat, empty = HeartbeatRequest(group_id="g"), SaslAuthenticateRequest(auth_bytes=b"")
    assert redacted(PROTOCOL, heartbeat) is heartbeat
    assert redacted(PROTOCOL, empty) is empty


@pytest.mark.parametrize("configs", [None, []])
def test_what_lacks_the_structs_that_may_have_secrets_is_the_same_object(configs: list[Any] | None) -> None:
    response = CreateTopicsResponse(topics=[CreatableTopicResult(name="t", configs=configs)])
    assert redacted(PROTOCOL, response) is response
    assert [
        span.path for span in trace_message(CreateTopicsResponse, response.encode(7), 7).spans if span.secret
    ] == []


def test_the_original_is_left_as_it_is() -> None:
    response = SaslAuthenticateResponse(auth_bytes=b"v=signature", session_lifetime_ms=5)
    assert redacted(PROTOCOL, response) == SaslAuthenticateResponse(auth_bytes=b"", session_lifetime_ms=5)
    assert response.auth_bytes == b"v=signature"


def test_names_of_configurations_that_others_choose_take_bounded_memory() -> None:
    for number in range(2 * secrets.MAX_KNOWN):
        assert is_sensitive(f"my.{number}.password")
        assert len(secrets._KNOWN) <= secrets.MAX_KNOWN


def test_only_secret_configurations_are_hidden() -> None:
    def request(password: str) -> AlterConfigsRequest:
        configs = [
            AlterableConfig(name="listener.name.x.ssl.key.password", value=password),
            AlterableConfig(name="log.retention.ms", value="5"),
            AlterableConfig(name="sasl.jaas.config", value=None),
        ]
        return AlterConfigsRequest(resources=[AlterConfigsResource(resource_name="1", configs=configs)])

    assert redacted(PROTOCOL, request("hunter2")) == request(HIDDEN)


def test_a_configuration_that_the_broker_calls_sensitive_is_hidden_with_its_synonyms() -> None:
    def response(value: str, sensitive: bool) -> DescribeConfigsResponse:
        synonyms = [DescribeConfigsSynonym(name="log.dirs", value=value)]
        config = DescribeConfigsResourceResult(name="log.dir", value=value, is_sensitive=sensitive, synonyms=synonyms)
        return DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config])])

    assert redacted(PROTOCOL, response("hunter2", True)) == response(HIDDEN, True)
    assert redacted(PROTOCOL, response("hunter2", False)) == response("hunter2", False)


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
        ("basic.auth.user.info", True),
        ("connection.url", True),
        ("confluent.license", True),
        ("a.name.that.no.one.has.heard.of", True),
        ("", True),
        ("ssl.client.auth", False),
        ("listener.name.internal.max.connections", False),
        ("message.timestamp.type", False),
        ("min.insync.replicas", False),
        ("preallocate", False),
        ("password.encoder.iterations", False),
        ("delegation.token.max.lifetime.ms", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("ssl.truststore.location", False),
        ("cleanup.policy", False),
        ("key.deserializer", False),
        ("value.converter", False),
        ("topics", False),
        ("topics.regex", False),
        ("transforms", False),
        ("transforms.mask.replacement", True),
        ("x" * 300 + ".ms", True),
        ("x" * 252 + ".ms", False),
        *[
            (f"{word}.{harmless}", True)
            for harmless in ("id", "path", "enabled")
            for word in (
                "ssl.password",
                "db.PASSWD",
                "wallet.passphrase",
                "client.secret",
                "s3.credentials",
                "sasl.jaas",
                "ssl.private",
                "api.key",
                "x.api-keys",
                "aws.access.key",
                "aws_access_keys",
                "accesskey",
            )
        ],
    ],
)
def test_which_names_are_sensitive(name: str, sensitive: bool) -> None:
    assert is_sensitive(name) is sensitive


def test_the_cluster_metadata_in_a_fetch_is_hidden_and_other_topics_are_not() -> None:
    def response(records: bytes, **topic: Any) -> FetchResponse:
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(records=records)], **topic)])

    assert redacted(PROTOCOL, response(b"x", topic="__cluster_metadata")) == response(b"", topic="__cluster_metadata")
    by_id = response(b"x", topic_id=METADATA_TOPIC_ID)
    assert redacted(PROTOCOL, by_id).responses[0].partitions[0].records == b""
    other = response(b"x", topic="t")
    assert redacted(PROTOCOL, other) is other


@pytest.mark.parametrize("message", [SaslAuthenticateRequest(), AlterConfigsRequest(), UserScramCredentialRecord()])
@pytest.mark.parametrize("start", [0, 3])
def test_what_follows_a_message_that_may_have_secrets_is_taken_out(message: Message, start: int) -> None:
    version = message.VALID_VERSIONS[-1]
    data = bytes(start) + message.encode(version)
    assert redacted_bytes(PROTOCOL, data + b"hunter2", start, message, version) == data
    assert redacted_bytes(PROTOCOL, data, start, message, version) == data


def test_what_only_a_tolerant_policy_reads_is_kept_where_it_has_no_secret() -> None:
    data = AlterConfigsRequest(resources=[AlterConfigsResource(resource_name="broker")]).encode(2)
    data = data.replace(b"broker", b"brok\xff\xff")
    message = AlterConfigsRequest.decode(data, 2, LIKE_KAFKA)
    assert redacted_bytes(PROTOCOL, data + b"hunter2", 0, message, 2) == data


def test_large_messages_of_many_values_in_envelopes_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=3)
    asked: Request = PROTOCOL.decode_request(payload)
    answer = PROTOCOL.encode_response(HeartbeatResponse(), 4, correlation_id=3)
    for most, kept in ((MAX_DECODED, True), (5, False)):
        monkeypatch.setattr("kwire.redaction.MAX_DECODED", most)
        monkeypatch.setattr(large._Counting, "left", 2)
        assert redacted(PROTOCOL, EnvelopeRequest(request_data=payload)).request_data == (payload if kept else b"")
        response = redacted(PROTOCOL, EnvelopeResponse(response_data=answer), asked).response_data
        assert response == (answer if kept else b"")


def test_what_is_in_an_envelope_is_redacted() -> None:
    asked = PROTOCOL.encode_request(RenewDelegationTokenRequest(hmac=b"hunter2"), 2, correlation_id=3, client_id="c")
    clean = redacted(PROTOCOL, EnvelopeRequest(request_data=asked))
    within = PROTOCOL.decode_request(clean.request_data)
    assert within.header.client_id == "c"
    assert within.message == RenewDelegationTokenRequest(hmac=b"")
    header_only = PROTOCOL.decode_request(asked)
    header_only.message = None
    assert redacted(PROTOCOL, EnvelopeRequest(request_data=asked), inner=header_only) == clean
    assert redacted(PROTOCOL, EnvelopeResponse(response_data=None)).response_data is None


def test_what_cannot_be_read_in_an_envelope_is_taken_out() -> None:
    assert redacted(PROTOCOL, EnvelopeRequest(request_data=b"\0\x27\0\x02hunter2")).request_data == b""


@pytest.mark.parametrize(("api_key", "version"), [(36, 99), (999, 0)], ids=["version", "api"])
def test_what_is_of_an_unknown_api_or_version_in_an_envelope_is_taken_out(api_key: int, version: int) -> None:
    """Its header can be read, its body cannot, and nobody knows what that holds."""
    known = PROTOCOL.encode_request(
        SaslAuthenticateRequest(auth_bytes=b"hunter2"), 2, correlation_id=3, client_id="c"
    )
    asked = PROTOCOL.decode_request(struct.pack(">hh", api_key, version) + known[4:])
    assert asked.message is None
    assert redacted(PROTOCOL, EnvelopeRequest(request_data=asked.payload)).request_data == b""
    answer = PROTOCOL.encode_response(SaslAuthenticateResponse(auth_bytes=b"hunter2"), 2, correlation_id=3)
    assert redacted(PROTOCOL, EnvelopeResponse(response_data=answer), asked).response_data == b""


@pytest.mark.parametrize("rest", [b"", b"more"], ids=["whole", "with bytes that Kafka ignores"])
def test_what_has_no_secrets_is_left_in_its_envelope(rest: bytes) -> None:
    payload = PROTOCOL.encode_request(HeartbeatRequest(group_id="g"), 4, correlation_id=3, client_id="c")
    assert redacted(PROTOCOL, EnvelopeRequest(request_data=payload + rest)).request_data == payload + rest
    asked, answer = PROTOCOL.decode_request(payload), PROTOCOL.encode_response(
        HeartbeatResponse(), 4, correlation_id=3
    )
    assert redacted(PROTOCOL, EnvelopeResponse(response_data=answer + rest), asked).response_data == answer + rest


@pytest.mark.parametrize("value", ["", None])
def test_a_setting_without_a_value_stays_without(value: str | None) -> None:
    resource = AlterConfigsResource(configs=[AlterableConfig(name="sasl.jaas.config", value=value)])
    message = AlterConfigsRequest(resources=[resource])
    assert redacted(PROTOCOL, message) is message


@pytest.mark.parametrize(
    ("message", "seen", "secret"),
    [
        ("FetchResponse", b"...__cluster_metadata...", True),
        ("FetchResponse", b"..." + METADATA_TOPIC_ID + b"...", True),
        ("FetchResponse", b"..." + bytes(16), False),
        ("SaslAuthenticateRequest", b"", True),
        ("HeartbeatRequest", b"__cluster_metadata", False),
    ],
)
def test_what_the_first_bytes_of_a_message_may_have(message: str, seen: bytes, secret: bool) -> None:
    assert may_contain(message, seen) is secret


def test_of_a_session_key_all_but_the_key_is_shown() -> None:
    data = b'{"algorithm": "HmacSHA256", "creation-timestamp": 5, "key": "hunter2"}'
    assert redacted_json(data, CONNECT_SECRETS["SessionKey"]) == data.replace(b"hunter2", HIDDEN.encode())


def test_the_response_in_an_envelope_takes_its_request_to_be_read() -> None:
    payload = PROTOCOL.encode_request(SaslAuthenticateRequest(auth_bytes=b"x"), 2, correlation_id=3)
    asked: Request = PROTOCOL.decode_request(payload)
    answer = SaslAuthenticateResponse(auth_bytes=b"hunter2", session_lifetime_ms=7)
    envelope = EnvelopeResponse(response_data=PROTOCOL.encode_response(answer, 2, correlation_id=3))
    assert redacted(PROTOCOL, envelope).response_data == b""
    clean = redacted(PROTOCOL, envelope, asked).response_data
    assert clean is not None
    within = PROTOCOL.decode_response(clean, 36, 2)
    assert within.message == SaslAuthenticateResponse(auth_bytes=b"", session_lifetime_ms=7)
    clean_bytes = EnvelopeResponse(response_data=clean).encode(0)
    assert redacted_bytes(PROTOCOL, b"head" + envelope.encode(0), 4, envelope, 0, asked) == b"head" + clean_bytes


def newer(cls: Any) -> Any:
    """A struct of the metadata in which every struct has a field of a newer version, one element in every array."""
    values: dict[str, Any] = {"topic_id": METADATA_TOPIC_ID} if cls.__name__ == "FetchableTopicResponse" else {}
    for field in cls.FIELDS:
        if (inner := struct_class(cls, field)) is not None:
            values[field.name] = [newer(inner)] if field.is_array else newer(inner)
        elif field.type == "records":
            values[field.name] = b"x"
    return cls(**values, unknown_tags=((1000, b"hunter2"),))


@pytest.mark.parametrize("name", [name for name in SECRETS if SECRETS[name]])
def test_unknown_tagged_fields_are_hidden_where_secrets_are(name: str) -> None:
    cls = PROTOCOL[name]
    message, version = newer(cls), cls.VALID_VERSIONS[-1]
    assert "unknown_tags=[hidden]" in repr(message)
    assert "hunter2" not in repr(message)
    if version not in cls.FLEXIBLE_VERSIONS:
        return
    data = message.encode(version)
    assert data.count(b"hunter2") >= len({owner for _, owner, _ in walk(cls, version)})
    traced = trace_message(cls, data, version)
    left = [span.path for span in traced.spans if span.kind == "unknown tag" and not span.secret]
    clean = redacted(PROTOCOL, message)
    assert clean.encode(version).count(b"hunter2") == len(left)
    topic = "responses[0].tagged fields", "responses[0].partitions[0].tagged fields"
    assert not [path for path in left if name != "FetchResponse" or path in topic]
    assert "hunter2" not in repr(MODELS[name].for_version(version).from_codec(message))


def test_unknown_tagged_fields_of_other_messages_are_shown_in_traces_and_kept() -> None:
    request = HeartbeatRequest(unknown_tags=((1000, b"hunter2"),))
    assert redacted(PROTOCOL, request) is request
    trace = trace_message(HeartbeatRequest, request.encode(4), 4)
    assert [span.secret for span in trace.spans if span.kind == "unknown tag"] == [False]
    other = FetchableTopicResponse(topic="orders", unknown_tags=((1000, b"hunter2"),))
    response = FetchResponse(responses=[other])
    assert redacted(PROTOCOL, response) is response
    headers = [cls(unknown_tags=request.unknown_tags) for cls in (RequestHeader, ResponseHeader)]
    for shown in (request, MODELS["HeartbeatRequest"].for_version(4).from_codec(request), *headers):
        assert "unknown_tags=((1000, b'hunter2'),)" in repr(shown)


SECRET = b"hunter2"
LOGIN = SaslAuthenticateRequest(auth_bytes=b"\0alice\0hunter2")


def config(name: str) -> AlterConfigsRequest:
    configs = [AlterableConfig(name=name, value="hunter2")]
    return AlterConfigsRequest(resources=[AlterConfigsResource(configs=configs)])


def test_what_is_printed_has_the_size_of_a_secret_and_not_the_secret() -> None:
    assert repr(LOGIN) == "SaslAuthenticateRequest(auth_bytes=<14 bytes, hidden>)"
    assert "name='x.token', value=[hidden]" in repr(config("x.token"))
    assert "name='log.dirs', value='hunter2'" in repr(config("log.dirs"))
    assert repr(SaslAuthenticateRequest()) == "SaslAuthenticateRequest(auth_bytes=b'')"
    synonyms = [DescribeConfigsSynonym(name="retention.ms", value="hunter2")]
    described = repr(DescribeConfigsResourceResult(name="x.ms", is_sensitive=True, synonyms=synonyms))
    assert "DescribeConfigsSynonym(name='retention.ms', value='[hidden]'" in described
    request = PROTOCOL.decode_request(PROTOCOL.encode_request(LOGIN, 2, correlation_id=1))
    credential = b"\1\x0b\0" + UserScramCredentialRecord(name="alice", stored_key=SECRET).encode(0)
    read = decode_record(PROTOCOL, METADATA_TOPIC, None, credential)
    for value in (request, read, Record(None, credential)):
        assert "hidden" in repr(value)
        assert "hunter2" not in repr(value)
    for event in (NotKafka(0.0, CLIENT, 0, "HTTP", SECRET), SaslToken(0.0, CLIENT, 0, 0.0, SECRET)):
        assert "7 bytes" in repr(event)
        assert "hunter2" not in repr(event)


def test_secrets_of_the_metadata_are_hidden_in_what_was_fetched() -> None:
    def response(topic: str) -> str:
        return repr(
            FetchResponse(responses=[FetchableTopicResponse(topic=topic, partitions=[PartitionData(records=SECRET)])])
        )

    assert "hunter2" in response("orders")
    assert "hunter2" not in response(METADATA_TOPIC)


def test_models_hide_secrets_where_they_are_printed_and_in_errors() -> None:
    model = MODELS["SaslAuthenticateRequest"].for_version(2)
    assert "hunter2" not in repr(model.from_codec(LOGIN)) + str(model.from_codec(LOGIN))
    settings = MODELS["AlterConfigsRequest"].for_version(2)
    assert "hunter2" not in repr(settings.from_codec(config("x.token")))
    assert "hunter2" in repr(settings.from_codec(config("log.dirs")))
    within = ScramCredentialUpsertionModel.for_version(0)
    for wrong, name in ((model, "authBytes"), (within, "salt")):
        with pytest.raises(ValueError, match=name) as caught:
            wrong.model_validate({name: ["hunter2"]})
        assert "hunter2" not in str(caught.value)


def test_errors_do_not_quote_values_of_messages_with_secrets() -> None:
    with pytest.raises(REFUSED) as encoding:
        SaslAuthenticateRequest(auth_bytes="hunter2").encode(2)  # type: ignore[arg-type]
    with pytest.raises(JsonFormError) as reading:
        AlterUserScramCredentialsRequest.from_json({"deletions": [], "upsertions": "hunter2"}, 0)
    with pytest.raises(JsonFormError) as within:
        SaslAuthenticateRequest.from_json({"authBytes": "hunter2"}, 2)
    for error in (encoding.value, reading.value, within.value):
        assert "hunter2" not in repr(error) + str(error)


def all_traces() -> dict[str, Trace]:
    """Secrets, whole and cut, in all that can be traced."""
    login = PROTOCOL.encode_request(LOGIN, 2, correlation_id=1)
    answer = PROTOCOL.encode_response(SaslAuthenticateResponse(auth_bytes=SECRET), 2, correlation_id=1)
    token = PROTOCOL.encode_request(RenewDelegationTokenRequest(hmac=SECRET), 2, correlation_id=1)
    password = config("ssl.key.password").encode(2)
    credential = b"\1\x0b\0" + UserScramCredentialRecord(name="alice", stored_key=SECRET).encode(0)
    topic = FetchableTopicResponse(
        topic=METADATA_TOPIC, partitions=[PartitionData(records=encode_batch([Record(None, SECRET)]))]
    )
    fetched = FetchResponse(responses=[topic]).encode(12)
    found = {
        "token": trace_request(PROTOCOL, token),
        "answer": trace_response(PROTOCOL, answer, 36, 2),
        "unknown version": trace_request(PROTOCOL, login[:3] + b"\x63" + login[4:]),
        "unknown API": trace_request(PROTOCOL, b"\x7f" + login[1:]),
        "envelope": trace_request(
            PROTOCOL, PROTOCOL.encode_request(EnvelopeRequest(request_data=login), 0, correlation_id=1)
        ),
        "password": trace_message(AlterConfigsRequest, password, 2),
        "fetched": trace_message(FetchResponse, fetched, 12, expand=expand_records),
        "record": trace_record(PROTOCOL, METADATA_TOPIC, None, credential)[1] or Trace(b"", []),
        "unknown record": trace_record(PROTOCOL, METADATA_TOPIC, None, b"\1\x0b\x63" + SECRET)[1] or Trace(b"", []),
    }
    found |= {f"login cut by {cut}": trace_request(PROTOCOL, login[:-cut]) for cut in (1, 3)}
    batch = encode_batch([Record(None, credential)])
    return found | {"batch": Trace(batch, list(expand_records(batch, 0, len(batch), "", 0)), secret=False)}


@pytest.mark.parametrize("name", sorted(all_traces()))
def test_traces_hide_secrets_until_they_are_revealed(name: str) -> None:
    def texts() -> str:
        return show(found) + json.dumps(as_json(found)) + repr(found)

    found = all_traces()[name]
    assert not [form for form in ("hunter", SECRET.hex(), SECRET[:-1].hex()) if form in texts()]
    found.reveal()
    assert SECRET[:3].hex() in texts()


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_an_error_takes_no_secrets_to_another_process_and_shows_none(cut: int) -> None:
    login = PROTOCOL.encode_request(LOGIN, 2, correlation_id=1)[:-cut]
    with pytest.raises(DecodeError) as caught:
        PROTOCOL.decode_request(login)
    error = caught.value
    assert not [part for part in (b"hunter", b"alice") if part in pickle.dumps(error)]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), len(again.data), again.path) == (str(error), len(login), error.path)
    assert again.origin is None  # with which the zeros would be read
    for shown in (annotate(error), annotate(again)):
        assert not [part for part in ("hunt", b"hunt".hex(), "alice", b"alice".hex()) if part in shown]


def test_an_error_without_a_message_takes_no_data_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(DecodeError("no", data=SECRET)))
    assert (str(again), again.data) == ("byte 0 of 7: no", bytes(7))


def test_an_error_in_a_batch_of_the_metadata_takes_no_secrets_along() -> None:
    credential = b"\1\x0b\0" + UserScramCredentialRecord(name="alice", stored_key=SECRET).encode(0)
    for value, kept in ((credential, False), (b"an order", True)):
        data = bytearray(encode_batch([Record(b"k", value)], base_offset=0x10400))  # no secret, though it begins so
        data[20] ^= 1
        with pytest.raises(RecordsError) as caught:
            list(read_batches(bytes(data)))
        assert (value in pickle.dumps(caught.value)) is kept


PLAINEST = "retention.ms"
"""The name of a setting that is shown, unless something else of it says that it is a secret."""


def with_secrets(name: str) -> Message:
    """A message with the word in each place that the table of secrets has for it, and none anywhere else."""
    if name == "FetchResponse":
        partition = PartitionData(records=SECRET)
        return FetchResponse(
            responses=[
                FetchableTopicResponse(topic=METADATA_TOPIC, topic_id=Uuid(METADATA_TOPIC_ID), partitions=[partition])
            ]
        )

    def filled(cls: Any) -> Any:
        values: dict[str, Any] = {}
        for field in cls.FIELDS:
            if (inner := struct_class(cls, field)) is not None:
                values[field.name] = [filled(inner)] if field.is_array else filled(inner)
            elif (cls.__name__, field.name) in secret or (field.name in own and cls.__name__ == name):
                values[field.name] = "hunter2" if field.type == "string" else SECRET
            elif field.name == "name" and field.type == "string":
                values["name"] = PLAINEST if flagged else "ssl.key.password"
            elif field.name == "is_sensitive":
                values["is_sensitive"] = True
        return cls(**values)

    flagged = name in ("DescribeConfigsResponse", "CreateTopicsResponse")
    secret = {(owner, path) for owner, _, path in (path.rpartition(".") for path in SECRETS[name])}
    own = {path for path in SECRETS[name] if "." not in path}
    return cast("Message", filled(PROTOCOL[name]))


def assert_hidden(found: Trace) -> None:
    for form in (show(found), json.dumps(as_json(found)), trace_page({"": found}, Guide("", PROTOCOL))):
        for part in (SECRET[:3], SECRET[-3:]):
            assert part.decode() not in form
            assert part.hex() not in form.replace(" ", "")


@pytest.mark.parametrize("name", [name for name in SECRETS if SECRETS[name]])
def test_no_cut_and_no_line_left_out_shows_a_secret(name: str) -> None:
    """Whether something is a secret may depend on other fields, which may be missing."""
    cls, message = PROTOCOL[name], with_secrets(name)
    version = cls.VALID_VERSIONS[-1]
    data = message.encode(version)
    assert SECRET in data
    for size in range(len(data) + 1):
        assert_hidden(trace_message(cls, data[:size], version))
    for most in range(1, len(trace_message(cls, data, version).spans) + 1):
        assert_hidden(trace_message(cls, data, version, most=most))
    request = name.endswith("Request")
    if request or name.endswith("Response"):
        framed = (PROTOCOL.encode_request if request else PROTOCOL.encode_response)(
            message, version, correlation_id=1
        )
        for size in range(len(framed) - len(data), len(framed)):
            cut = framed[:size]
            if request:
                assert_hidden(trace_request(PROTOCOL, cut))
                assert_hidden(trace_frame(frame(cut), trace_request(PROTOCOL, cut)))
                envelope = EnvelopeRequest(request_data=cut)
                assert_hidden(trace_request(PROTOCOL, PROTOCOL.encode_request(envelope, 0, correlation_id=1)))
            else:
                assert cls.API_KEY is not None
                assert_hidden(trace_response(PROTOCOL, cut, cls.API_KEY, version))


def test_a_secret_that_is_empty_is_shown() -> None:
    found = trace_message(SaslAuthenticateRequest, SaslAuthenticateRequest().encode(2), 2)
    assert not [span.path for span in found.spans if span.secret]


def test_values_of_a_connector_that_were_left_out_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"connection.password": "hunter2", **{f"x{number}.ms": number for number in range(9)}}
    value = json.dumps({"properties": settings}).encode()
    for most in range(1, 12):
        monkeypatch.setattr("kwire.trace.json_spans.MAX_SPANS", most)
        found = trace_record(PROTOCOL, "connect-configs", b"connector-orders", value)[1]
        assert found
        assert_hidden(found)


def test_a_setting_called_properties_is_one_below_the_first_level() -> None:
    value = json.dumps({"properties": {"properties": "hunter2"}}).encode()
    found = trace_record(PROTOCOL, "connect-configs", b"connector-orders", value)[1]
    assert found
    assert_hidden(found)


def test_after_a_fetch_without_secrets_everything_is_kept() -> None:
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t")])
    data = response.encode(12) + b"what follows"
    assert redacted_bytes(PROTOCOL, data, 0, response, 12) is data


@pytest.mark.parametrize("api", ["SaslAuthenticate", "RenewDelegationToken", "ExpireDelegationToken", "AlterConfigs"])
def test_requests_in_envelopes_are_redacted(api: str) -> None:
    """Brokers forward them to the controller [KIP-590]."""
    cls = PROTOCOL[f"{api}Request"]
    for path in SECRETS[cls.__name__]:
        name, (owner, _, field) = "", (path.rpartition("."))
        for place, found, _ in walk(cls):
            if (owner or cls.__name__, field) == (found.__name__, place.rpartition(".")[2]):
                name = place
        value: Any = "hunter2" if field == "value" else SECRET
        version = cls.VALID_VERSIONS[-1]
        inner = PROTOCOL.encode_request(_with(cls, name.split("."), value), version, correlation_id=1)
        assert SECRET in inner
        envelope = EnvelopeRequest(request_data=inner)
        clean = redacted(PROTOCOL, envelope).encode(0)
        assert SECRET not in clean
        assert redacted(PROTOCOL, envelope, inner=PROTOCOL.decode_request(inner)).encode(0) == clean


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


def fields_of(value: Any) -> Any:
    """A message as lists, since ``repr`` hides secrets."""
    if isinstance(value, Struct):
        return [fields_of(getattr(value, field.name)) for field in value.FIELDS]
    return [fields_of(element) for element in value] if isinstance(value, list) else value
