"""Kafka's JSON form read without models gives what they give, and refuses what they refuse."""

from __future__ import annotations

import gzip
import json
import math
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kwire.errors import EncodeError, UnknownVersionError
from kwire.json_form import JsonFormError
from kwire.message import Message
from kwire.models import WITH_RECORDS
from kwire.request_log import parse_line
from kwire_kafka import (
    PROTOCOL,
    AlterClientQuotasRequest,
    CreateTopicsRequest,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from tests.conformance import vectors
from tests.models.support import changed, model_of, mutated
from tests.models.test_kafka_json import nested
from tests.support.each import each_release
from tests.support.wrong_types import built

LOGS = Path(__file__).parents[1] / "data" / "request_logs"
RELEASES = ("2.8.2", "3.3.2", "3.9.1", "4.1.1")


def by_model(cls: type[Message], version: int, value: Any) -> Any:
    """The message as plain values, where types count; ``None`` if it is refused."""
    try:
        return nested(model_of(cls, version).model_validate(value).to_codec())
    except ValueError:
        return None


def directly(cls: type[Message], version: int, value: Any) -> Any:
    try:
        return nested(cls.from_json(value, version))
    except JsonFormError:
        return None


@pytest.mark.slow
@each_release(*vectors.RELEASES)
@pytest.mark.long
def test_what_kafka_prints_is_read_as_models_read_it(release: str) -> None:
    """And so is what differs from it in one place: by chance, but the same each time."""
    chosen = Random(release)
    accepted = refused = 0
    for vector in vectors.messages(release):
        cls = PROTOCOL[vector.message]
        other = mutated(vector.json, chosen)
        for value in (vector.json, other):
            found = directly(cls, vector.version, value)
            assert found == by_model(cls, vector.version, value), (vector.message, vector.version, value)
            accepted += found is not None
            refused += found is None
        if "SizeInBytes" not in str(vector.json):
            assert directly(cls, vector.version, vector.json) == nested(cls.decode(vector.data, vector.version))
    assert accepted > 2000
    assert refused > 1000


@pytest.mark.parametrize(
    ("cls", "version"), [(CreateTopicsRequest, 7), (FetchResponse, 12), (MetadataResponse, 12), (ProduceRequest, 9)]
)
def test_every_single_change_is_judged_as_by_models(cls: type[Message], version: int) -> None:
    """Null, numbers out of range, other types, fields too few and too many, everywhere in a message."""
    samples = [v for v in vectors.messages(vectors.RELEASES[-1]) if (v.message, v.version) == (cls.__name__, version)]
    smallest = min(samples, key=lambda vector: abs(len(str(vector.json)) - 700))
    judged = 0
    for value in changed(smallest.json):
        assert directly(cls, version, value) == by_model(cls, version, value), value
        judged += 1
    assert judged > 200


def bodies(release: str) -> Iterator[tuple[type[Message], int, Any]]:
    with gzip.open(LOGS / f"{release}.log.gz", "rt", encoding="utf-8") as log:
        for line in filter(None, map(parse_line, log)):
            key = line.header.api_key
            for cls, body in ((PROTOCOL.request(key), line.request), (PROTOCOL.response(key), line.response)):
                if body is not None:
                    yield cls, line.body_version, body


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_bodies_of_request_logs(release: str) -> None:
    """Former names among them. Records that were left out are an error, or empty."""
    found = left_out = 0
    for cls, version, body in bodies(release):
        expected = by_model(cls, version, body)
        assert directly(cls, version, body) == expected
        if expected is None:
            with pytest.raises(JsonFormError, match=r"[rR]ecord.*SizeInBytes: the log contains only the size"):
                cls.from_json(body, version)
            message = cls.from_json(body, version, empty_records=True)
            assert cls.decode(message.encode(version), version) == message
            left_out += 1
        found += 1
    assert found > 400
    assert left_out > 10


WITHOUT_PYDANTIC = """
import gzip, sys
from kwire.request_log import parse_line
from kwire_kafka import PROTOCOL

with gzip.open(sys.argv[1], "rt", encoding="utf-8") as log:
    line = next(line for line in map(parse_line, log) if line and line.header.api_name == "METADATA")
print(type(line.request_message(PROTOCOL)).__name__, type(line.response_message(PROTOCOL)).__name__)
print("pydantic" in sys.modules)
"""


def test_lines_give_messages_without_pydantic() -> None:
    command = [sys.executable, "-c", WITHOUT_PYDANTIC, str(LOGS / "4.1.1.log.gz")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["MetadataRequest MetadataResponse", "False"]


def test_errors_say_where() -> None:
    topic = {"name": "t", "numPartitions": 1, "replicationFactor": 1, "assignments": [], "configs": []}
    body = {"topics": [topic], "timeoutMs": 1, "validateOnly": False}
    with pytest.raises(JsonFormError) as caught:
        CreateTopicsRequest.from_json({**body, "topics": [topic, {**topic, "numPartitions": 2**31}]}, 4)
    text = (
        "CreateTopicsRequest v4, field topics[1].numPartitions: "
        "2147483648 is out of range for int32 (-2147483648 to 2147483647)"
    )
    restored = pickle.loads(pickle.dumps(caught.value))
    assert str(caught.value) == str(restored) == text
    assert type(restored) is JsonFormError
    for value, reason in (
        ([], "expected an object"),
        ({}, "topics is missing"),
        ({**body, "validateOnlyToo": 1}, "unknown field 'validateOnlyToo', did you mean validateOnly\\?"),
        ({**body, "topics": {}}, "field topics: expected an array"),
    ):
        with pytest.raises(JsonFormError, match=reason):
            CreateTopicsRequest.from_json(value, 4)


def test_a_size_of_records_is_not_negative() -> None:
    partition = {"index": 0, "recordsSizeInBytes": -1}
    body = {
        "transactionalId": None,
        "acks": 1,
        "timeoutMs": 1,
        "topicData": [{"name": "t", "partitionData": [partition]}],
    }
    with pytest.raises(JsonFormError, match="invalid size -1"):
        PROTOCOL["ProduceRequest"].from_json(body, 9, empty_records=True)


def test_a_size_of_records_has_the_names_of_the_records() -> None:
    partition = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 0, "recordSetSizeInBytes": 0}
    body = {"responses": [{"topic": "t", "partitions": [partition]}]}
    read = FetchResponse.from_json(body, 0)
    assert [one.records for topic in read.responses for one in topic.partitions] == [b""]


def test_a_field_by_two_of_its_names() -> None:
    body = next(
        v.json for v in vectors.messages(vectors.RELEASES[-1]) if (v.message, v.version) == ("FetchRequest", 4)
    )
    assert FetchRequest.from_json({("maxWait" if name == "maxWaitMs" else name): body[name] for name in body}, 4)
    with pytest.raises(JsonFormError, match="maxWaitMs appears 2 times"):
        FetchRequest.from_json({**body, "maxWait": 1}, 4)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", b""),
        ("+/8=", b"\xfb\xff"),
        ("AA==", b"\0"),
        ("AB==", None),  # bits that are no byte's
        ("AA=", None),
        ("AA", None),
        ("AA==AA==", None),
        ("AA\n==", None),
        (" AA==", None),
        ("-_8=", None),
        ("ÄA==", None),
    ],
)
def test_bytes_are_base64_as_kafka_writes_it(text: str, value: bytes | None) -> None:
    body = {"authBytes": text}
    assert (by_model(SaslAuthenticateRequest, 0, body) is None) == (value is None)
    if value is None:
        with pytest.raises(JsonFormError, match=r"field authBytes: .*base64"):
            SaslAuthenticateRequest.from_json(body, 0)
    else:
        assert SaslAuthenticateRequest.from_json(body, 0) == SaslAuthenticateRequest(auth_bytes=value)


def test_strings_are_measured_in_utf_8() -> None:
    body: dict[str, Any] = {"mechanism": "ü" * 16_383}
    assert SaslHandshakeRequest.from_json(body, 1).mechanism == body["mechanism"]
    for text, reason in (("ü" * 16_384, "this string has 32768 bytes"), ("\ud800", "lone surrogates")):
        body["mechanism"] = text
        assert by_model(SaslHandshakeRequest, 1, body) is None
        with pytest.raises(JsonFormError, match=f"field mechanism: .*{reason}"):
            SaslHandshakeRequest.from_json(body, 1)


@pytest.mark.parametrize(
    ("number", "value"),
    [
        (7, 7.0),
        (2**53, 2.0**53),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("NaN", math.nan),
        (10**400, None),
        ("7", None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_numbers_for_float64(number: Any, value: float | None) -> None:
    op = {"key": "k", "value": number, "remove": False}
    body = {"entries": [{"entity": [], "ops": [op]}], "validateOnly": True}
    assert (by_model(AlterClientQuotasRequest, 0, body) is None) == (value is None)
    if value is None:
        with pytest.raises(JsonFormError, match=r"field entries\[0\]\.ops\[0\]\.value: .*number"):
            AlterClientQuotasRequest.from_json(body, 0)
    else:
        message = AlterClientQuotasRequest.from_json(body, 0)
        assert repr(message.entries[0].ops[0].value) == repr(value)
        assert message.to_json(0) == body


def test_versions_that_there_are_not() -> None:
    with pytest.raises(UnknownVersionError, match=r"unknown version 8 of .*, valid versions are 0 to 7"):
        CreateTopicsRequest.from_json({}, 8)


def test_json_of_models_is_read() -> None:
    """As it is printed, with defaults of tagged fields left out."""
    vector = next(
        v for v in vectors.messages(vectors.RELEASES[-1]) if (v.message, v.version) == ("FetchResponse", 12)
    )
    model = model_of(FetchResponse, 12).from_codec(FetchResponse.decode(vector.data, 12))
    printed = json.loads(model.model_dump_json(context=WITH_RECORDS))
    assert nested(FetchResponse.from_json(printed, 12)) == nested(model.to_codec())


@pytest.mark.slow
@pytest.mark.parametrize("with_records", [False, True])
@each_release(*vectors.RELEASES)
def test_messages_are_written_as_models_write_them(release: str, with_records: bool) -> None:
    """Which is how Kafka writes them: the vectors hold models to that."""
    context = WITH_RECORDS if with_records else None
    for vector in vectors.messages(release):
        cls = PROTOCOL[vector.message]
        message = cls.decode(vector.data, vector.version)
        printed = json.dumps(message.to_json(vector.version, with_records=with_records))
        model = model_of(cls, vector.version).from_codec(message)
        assert json.loads(printed) == json.loads(model.model_dump_json(context=context)), (cls, vector.version)
        if with_records:
            assert nested(cls.from_json(json.loads(printed), vector.version)) == nested(model.to_codec())


def produced(records: Any) -> ProduceRequest:
    partition = PartitionProduceData(records=records)
    return ProduceRequest(topic_data=[TopicProduceData(partition_data=[partition])])


@pytest.mark.parametrize(
    ("message", "version", "error"),
    [
        (MetadataRequest(topics=None), 0, "MetadataRequest v0, field topics: expected an array"),
        (
            built(lambda: MetadataRequest(topics=[MetadataRequestTopic(name=7)])),  # type: ignore[arg-type]
            1,
            "MetadataRequest v1, field topics[0].name: expected a string, got 7",
        ),
        (
            MetadataRequest(allow_auto_topic_creation=False),
            1,
            "MetadataRequest v1, field allowAutoTopicCreation: "
            "version 1 does not have this field, but it is set to False",
        ),
        (
            CreateTopicsRequest(timeout_ms=2**31),
            1,
            "CreateTopicsRequest v1, field timeoutMs: "
            "2147483648 is out of range for int32 (-2147483648 to 2147483647)",
        ),
        (
            FetchResponse(responses=["t"]),  # type: ignore[list-item]
            4,
            "FetchResponse v4, field responses[0]: expected FetchableTopicResponse, got [hidden]",
        ),
        (
            built(lambda: produced(7)),
            3,
            "ProduceRequest v3, field topicData[0].partitionData[0].records: expected bytes, got 7",
        ),
        (
            built(lambda: SaslAuthenticateRequest(auth_bytes="secret")),  # type: ignore[arg-type]
            0,
            "SaslAuthenticateRequest v0, field authBytes: expected bytes, got [hidden]",
        ),
    ],
)
def test_what_a_version_cannot_represent_is_not_written(message: Message | None, version: int, error: str) -> None:
    if message is None:
        return
    with pytest.raises(JsonFormError) as caught:
        message.to_json(version)
    assert str(caught.value) == error


def test_a_version_that_does_not_exist_is_not_written() -> None:
    with pytest.raises(UnknownVersionError, match=r"unknown version 8 of .*, valid versions are 0 to 7"):
        CreateTopicsRequest().to_json(8)


def test_arrays_may_be_tuples() -> None:
    topics: Any = (MetadataRequestTopic(name="t"),)
    request = built(lambda: MetadataRequest(topics=topics))
    if request is not None:  # native classes refuse it already
        assert request.to_json(1) == {"topics": [{"name": "t"}]}


@pytest.mark.parametrize(
    ("wrong", "says"),
    [("xY5PMuojQfSATjfaOKg5cg", r".*, use Uuid\.parse"), (b"abc", r"b'abc'$")],
    ids=["text", "bytes"],
)
def test_a_uuid_of_another_size_or_as_text_is_an_error(wrong: Any, says: str) -> None:
    topic = built(lambda: MetadataRequestTopic(topic_id=wrong))
    if topic is None:  # native classes refuse it already
        return
    request = MetadataRequest(topics=[topic])
    with pytest.raises(JsonFormError, match=f"expected a uuid of 16 bytes, got {says}"):
        request.to_json(12)
    with pytest.raises(EncodeError, match=f"expected a uuid of 16 bytes, got {says}"):
        request.encode(12)
