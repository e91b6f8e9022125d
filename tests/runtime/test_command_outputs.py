"""All that ``kwire`` prints of frames with two of everything, in every format; its options; and wrong usage."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import click
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.command import main
from kwire.command.broker import broker
from kwire.command.call import call
from kwire.command.decode import decode
from kwire.command.describe import describe
from kwire.command.encode import encode
from kwire.frames import frame
from kwire.message import Message
from kwire.records import Record, encode_batch
from kwire_kafka import (
    PROTOCOL,
    AlterConfigsRequest,
    ApiVersionsResponse,
    DescribeClusterResponse,
    MetadataRequest,
    OffsetCommitKey,
    OffsetCommitValue,
    ProduceRequest,
    SaslAuthenticateRequest,
)
from kwire_kafka.api.alter_configs import AlterableConfig, AlterConfigsResource
from kwire_kafka.api.describe_cluster import DescribeClusterBroker
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.releases import RELEASES
from tests.runtime.records.test_record_reader import around

Run = Callable[..., Any]


def asked(message: Message, version: int, number: int = 1, client_id: str | None = "me") -> str:
    return frame(PROTOCOL.encode_request(message, version, correlation_id=number, client_id=client_id)).hex()


def answered(message: Message, version: int) -> str:
    return PROTOCOL.encode_response(message, version, correlation_id=1).hex()


METADATA = asked(
    MetadataRequest(
        topics=[MetadataRequestTopic(name="a"), MetadataRequestTopic(name="ü", unknown_tags=((7, b"x"),))],
        unknown_tags=((1, b""), (300, b"two")),
    ),
    12,
)
CONFIGS = asked(
    AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[
                    AlterableConfig(name="retention.ms", value="1"),
                    AlterableConfig(name="ssl.key", value="s3"),
                ],
            )
            for kind, name in ((2, "t"), (4, "1"))
        ]
    ),
    1,
    client_id=None,
)
BATCHES = [
    encode_batch(
        [Record(b"k", None, (("h", b"1"), ("g", None)), 1_700_000_000_000, 5), Record(None, b"v", (), -1, 7)],
        producer_id=3,
        producer_epoch=1,
        base_sequence=8,
        transactional=True,
    )
    + around(bytes.fromhex("1f8b08000000000000ff13620002b692f27c060075f217180a000000"), 1, codec=1),
    encode_batch([Record(b"key", b"value")])[:-1] + b"\1",
]
PRODUCE = asked(
    ProduceRequest(
        transactional_id="tx",
        acks=-1,
        timeout_ms=5,
        topic_data=[
            TopicProduceData(
                name=name, partition_data=[PartitionProduceData(index=1, records=one) for one in BATCHES[:count]]
            )
            for name, count in (("a", 2), ("b", 0))
        ],
    ),
    9,
    2,
)
CLUSTER = answered(
    DescribeClusterResponse(
        cluster_id="c",
        controller_id=2,
        brokers=[
            DescribeClusterBroker(broker_id=1, host="h", port=9092, rack=None),
            DescribeClusterBroker(broker_id=2, host="i", port=9093, rack="r", is_fenced=True),
        ],
    ),
    2,
)
LOGIN = asked(SaslAuthenticateRequest(auth_bytes=b"s3cret"), 2)
UNKNOWN = [frame(bytes.fromhex(start + "00000001 0002 6d65 00 ff")).hex() for start in ("000c00ff", "7fff0000")]
KEY = "0001" + OffsetCommitKey(group="g", topic="t", partition=1).encode(0).hex()
VALUE = "0003" + OffsetCommitValue(offset=7, metadata="m", commit_timestamp=1_700_000_000_000).encode(3).hex()

DECODED = {
    "two requests and where the guide has them": ["--link", METADATA, CONFIGS],
    "two requests as messages": ["--format", "message", METADATA, CONFIGS],
    "frames as JSON": ["--format", "json", "--link", "--guide-url", "https://example.org/g", "00000000", LOGIN],
    "records": [PRODUCE],
    "records left out": ["--no-records", PRODUCE],
    "records as messages": ["--format", "message", PRODUCE],
    "a response": ["--response", "--api-key", "DescribeCluster", "--version", "2", CLUSTER],
    "a response taken for a request": [CLUSTER],
    "secrets": [LOGIN],
    "secrets shown": ["--secrets", "show", LOGIN],
    "unknown and broken among others": ["--frame", *UNKNOWN, METADATA[:-4] + "ff00", LOGIN, LOGIN[:-2]],
    "unknown and broken as messages": ["--format", "message", *UNKNOWN, LOGIN, "00000001 00"],
    "frames of no bytes": ["00000000", "00000000"],
    "cut in its size": ["--frame", "00000000", "0000"],
    "a record": ["--topic", "__consumer_offsets", "--key", KEY, "--value", VALUE],
    "a value alone": ["--topic", "__consumer_offsets", "--value", VALUE],
    "a record with others behind": ["--topic", "__consumer_offsets", "--key", KEY, "--value", VALUE + "00"],
    "the same as Kafka": [
        "--policy",
        "kafka",
        "--topic",
        "__consumer_offsets",
        "--key",
        KEY,
        "--value",
        VALUE + "00",
    ],
    "a message": ["--message", "OffsetCommitValue", "--version", "3", VALUE[4:]],
    "a response in an older version than the request": [
        *("--format", "message", "--response", "--api-key", "18", "--version", "3"),
        bytes(4).hex() + ApiVersionsResponse(error_code=35).encode(0).hex(),
    ],
    "a response to many": ["--payload", bytes(8).hex()],
    "an empty key": ["--topic", "__consumer_offsets", "--key", "", "--value", VALUE],
    "a record of Kafka Connect": [
        *("--topic", "connect-configs", "--key", b"connector-a".hex()),
        *("--value", b'{"properties": {"topics": "t", "password": "s3cret"}, "n": [1, null]}'.hex()),
    ],
    "an unknown record of Kafka Connect that breaks off": [
        *("--topic", "connect-configs", "--key", b"plugin-a".hex(), "--value", b'{"a": "s3cret",'.hex()),
    ],
    "a message in a version that it lacks": ["--message", "OffsetCommitValue", "--version", "9", VALUE[4:]],
}


@pytest.mark.parametrize("arguments", DECODED.values(), ids=DECODED)
def test_all_that_is_printed_of_frames(run: Run, arguments: list[str], snapshot: SnapshotAssertion) -> None:
    result = run("decode", *arguments)
    printed = f"{result.out}--- exit code {result.code}\n{result.err}"
    assert printed.replace(RELEASES.newest.name, "NEWEST") == snapshot


@pytest.mark.parametrize("command", [decode, encode, describe, broker, call], ids=lambda command: str(command.name))
def test_options_have_names_defaults_and_help(command: click.Command, snapshot: SnapshotAssertion) -> None:
    lines = []
    for one in command.params:
        kind = " or ".join(one.type.choices) if isinstance(one.type, click.Choice) else one.metavar or one.type.name
        default = f", default {one.default!r}" if getattr(one, "show_default", None) else ""
        names = "/".join([*one.opts, *one.secondary_opts])
        lines.append(f"{names} ({kind}{default}): {getattr(one, 'help', None)}")
    assert lines == snapshot


WRONG = [
    ["decode", "--key", "00", "00"],
    ["decode", "--key", ""],
    ["decode", "--message", "OffsetCommitValue", "--version", "1", "--api-key", "1", "00"],
    ["decode", "--topic", "__consumer_offsets", "--key", "00", "--version", "1"],
    ["decode", "--topic", "mine", "--key", "00"],
    ["decode", "--message", "metadatarequest", "--version", "1", "00"],
    ["decode", "--protocol", "json", "00"],
    ["decode", "zz"],
    ["decode", "--value", "00"],
    ["decode", "--topic", "t"],
    ["decode", "--topic", "t", "--key", "00", "00"],
    ["decode", "--api-key", "3", "00"],
    ["decode", "--version", "3", "00"],
    ["decode", "--version", "0", "00"],
    ["decode", "ü"],
    ["decode", "--response", "--version", "3", "00"],
    ["decode", "--response", "--api-key", "3", "00"],
    ["decode", "--message", "TopicRecord", "00"],
    ["decode", "--guide-url", "https://example.org", "00"],
    ["decode", "--link", "--guide-url", "javascript:x", "00"],
    ["decode", "--format", "message", "--link", "00"],
    ["decode", "--format", "message", "--topic", "t", "--key", "00"],
    ["decode", "--frame", "000000"],
    ["decode", "--max-input", "0", "00"],
    ["decode", "--max-input", "301", "00"],
    ["decode", "--coding", "hex", "0"],
    ["decode", "--coding", "base64", "?"],
    ["decode", "--coding", "raw", "00"],
    ["decode", "--message", "TopicRecor", "--version", "0", "00"],
    ["decode", "--response", "--api-key", "Metadat", "--version", "0", "00"],
    ["decode", "a1b2c3d400000000"],
    ["decode", "1f8b080000000000"],
    ["encode", "Heartbeat", "--version", "99"],
    ["encode", "Metadat"],
    ["encode", "Metadata", "--version", "12", "--json", '{"topic": 1}'],
    ["encode", "Metadata", "--version", "12", "--json", '{"topics": [{"name": 1}]}'],
    ["encode", "Metadata", "--version", "0", "--json", '{"topics": null}'],
    ["encode", "Metadata", "--json", "["],
    ["encode", "TopicRecord", "--client-id", "c"],
    ["encode", "Metadata", "--client-id", ""],
    ["encode", "Metadata", "--correlation-id", "0"],
    ["encode", "MetadataResponse", "--header", "--client-id", ""],
    ["encode", "Metadata", "--version", "12", "--frame", "--correlation-id", str(1 << 31)],
    ["encode", "TopicRecord", "--frame"],
    ["describe", "HeartbeatRequest", "--version", "99"],
    ["describe", "MetadataReques"],
    ["describe", "MetadataRequest.topic"],
    ["describe", "FetchRequest.partitions"],
    ["describe", "FetchRequest.topics.topic"],
    ["describe", "FetchRequest", "--protocol", "json"],
    ["call", "localhost:1", "Metadat"],
    ["call", "localhost:1", "Heartbeat", "--version", "99"],
    ["call", "localhost:1", "Metadata", "--json", "{"],
    ["call", "localhost:x", "Metadata"],
    ["broker", "localhost:1", "--timeout", "3601"],
    ["broker", "localhost:1", "--timeout", "0"],
    ["broker", "localhost:1", "--max-response", "301"],
    ["broker", "localhost:1", "--user", "me"],
    ["broker", "localhost:1", "--token-file", "absent"],
    ["broker", "localhost:1", "--mechanism", "PLAIN"],
    ["broker", "localhost:1", "--mechanism", "MD5", "--user", "me", "--password-file", "absent"],
    ["broker", "localhost:1", "--protocol", "absent"],
]


def test_wrong_usage_is_told_in_one_line(run: Run, snapshot: SnapshotAssertion) -> None:
    lines = []
    for arguments in WRONG:
        result = run(*arguments)
        assert (result.code, result.out) == (2, ""), arguments
        *_, line = result.err.splitlines()
        lines.append(f"{' '.join(arguments)}: {line.removeprefix('Error: ')}")
    assert lines == snapshot


def test_a_terminal_that_lacks_characters_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="ascii", write_through=True))
    assert main(["decode", METADATA]) == 0
    assert rb'"\xfc"' in printed.getvalue()


def test_an_option_may_be_as_large_as_its_limit(run: Run) -> None:
    assert run("decode", "--max-input", "300", METADATA).code == 0
    for option, most in (("--timeout", "3600"), ("--max-response", "300")):
        result = run("broker", "localhost:1", option, most)
        assert (result.code, result.err[:14]) == (3, "kwire: localho"), option
