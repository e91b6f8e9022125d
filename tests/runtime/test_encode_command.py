"""``kwire encode`` and ``kwire decode --format message``: bytes and Kafka's JSON form, both ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kwire.command import main
from kwire_kafka import PROTOCOL, FetchRequest, MetadataRequest, MetadataResponse, ProduceRequest
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from tests.properties.values import FIXED, make

METADATA = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
JSON = '{"topics": [{"name": "orders"}]}'


def test_a_request_from_json(run: Any) -> None:
    result = run("encode", "Metadata", "--version", 12, "--json", JSON)
    assert (result.code, result.out, result.err) == (0, METADATA.encode(12).hex() + "\n", "")
    assert run("encode", "MetadataRequest", "--version", 12, "--json", JSON) == result
    assert run("encode", "3", "--version", 12, "--json", JSON) == result
    fetch = FetchRequest.VALID_VERSIONS[-1]
    for given in ("{}", '{"replicaState": {}}', '{"replicaState": {"replicaId": -1}}'):
        assert run("encode", "Fetch", "--json", given).out == FetchRequest().encode(fetch).hex() + "\n"
    newest = MetadataRequest.VALID_VERSIONS[-1]
    assert run("encode", "Metadata", "--json", JSON).out == METADATA.encode(newest).hex() + "\n"


def test_fields_may_have_names_of_earlier_releases(run: Any) -> None:
    former = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 3, "records": None}]}]}
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(index=3, records=None)])
    given = run("encode", "Produce", "--version", 9, "--json", json.dumps(former))
    assert (given.out, given.err) == (ProduceRequest(topic_data=[topic]).encode(9).hex() + "\n", "")


def test_a_file_may_be_as_large_as_a_message(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "request.json"
    file.write_text(JSON.ljust(5 << 20))
    assert run("encode", "Metadata", "--version", 12, "--json", f"@{file}").out == METADATA.encode(12).hex() + "\n"


def test_header_and_size(run: Any) -> None:
    options = ("encode", "Metadata", "--version", 12, "--json", JSON, "--client-id", "c", "--correlation-id", 7)
    payload = PROTOCOL.encode_request(METADATA, 12, correlation_id=7, client_id="c")
    assert run(*options, "--header").out == payload.hex() + "\n"
    assert run(*options, "--frame").out == len(payload).to_bytes(4, "big").hex() + payload.hex() + "\n"
    assert run(*options, "--frame", "--header") == run(*options, "--frame")
    unnamed = PROTOCOL.encode_request(METADATA, 12, correlation_id=0, client_id=None)
    assert run("encode", "Metadata", "--version", 12, "--json", JSON, "--header").out == unnamed.hex() + "\n"
    response = PROTOCOL.encode_response(MetadataResponse(), 12, correlation_id=0)
    assert run("encode", "MetadataResponse", "--version", 12, "--header").out == response.hex() + "\n"


def test_frames_as_messages(run: Any) -> None:
    one = run("encode", "Metadata", "--version", 12, "--json", JSON, "--frame").out.strip()
    assert json.loads(run("decode", "--format", "message", one).out) == METADATA.to_json(12)
    two = json.loads(run("decode", "--format", "message", one, one).out)
    assert [*two.values()] == [METADATA.to_json(12)] * 2
    cut = run("decode", "--format", "message", "--payload", one[8:-2])
    assert (cut.code, cut.out) == (1, "{}\n")
    assert "MetadataRequest v12" in cut.err
    assert run("decode", "--format", "message", "--topic", "__consumer_offsets", "--key", "0001").code == 2


def test_a_response_as_a_message(run: Any) -> None:
    data = PROTOCOL.encode_response(MetadataResponse(cluster_id="c"), 12, correlation_id=0).hex()
    result = run("decode", "--format", "message", "--response", "--api-key", "Metadata", "--version", 12, data)
    assert json.loads(result.out)["clusterId"] == "c"


def test_secrets_are_hidden_in_messages(run: Any) -> None:
    data = run("encode", "SaslAuthenticate", "--json", '{"authBytes": "c2VjcmV0"}', "--frame").out.strip()
    assert json.loads(run("decode", "--format", "message", data).out) == {"authBytes": ""}
    assert json.loads(run("decode", "--format", "message", "--secrets", "show", data).out) == {
        "authBytes": "c2VjcmV0"
    }


def test_records_are_in_base64(run: Any) -> None:
    topic = TopicProduceData(name="t", partition_data=[PartitionProduceData(records=b"\0" * 61)])
    value = ProduceRequest(topic_data=[topic]).to_json(9, with_records=True)
    data = run("encode", "Produce", "--version", 9, "--json", json.dumps(value), "--frame").out.strip()
    assert json.loads(run("decode", "--format", "message", data).out) == value


@pytest.fixture
def both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Bytes of a message → JSON → bytes."""

    def call(name: str, version: int, data: bytes) -> bytes:
        file = tmp_path / "message"
        file.write_bytes(data)
        options = ["--message", name, "--version", str(version), "--secrets", "show", "--coding", "raw", str(file)]
        assert main(["decode", "--format", "message", *options]) == 0
        file.write_text(capsys.readouterr().out)
        assert main(["encode", name, "--version", str(version), "--json", f"@{file}"]) == 0
        return bytes.fromhex(capsys.readouterr().out)

    return call


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_every_message_survives_both_ways(both_ways: Any, step: int) -> None:
    for name in sorted(PROTOCOL)[::step]:
        cls = PROTOCOL[name]
        version = cls.VALID_VERSIONS[-1]
        data = make(cls, version, FIXED["max"]).encode(version)
        assert both_ways(name, version, data) == data, name
