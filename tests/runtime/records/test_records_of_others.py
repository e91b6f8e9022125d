"""Batches that others wrote: Kafka's own classes, kafka-python, and brokers of Kafka 3.9.1 and 4.1.1."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kwire.compression import Codec
from kwire.records import (
    ChecksumError,
    Record,
    decode_control,
    encode_batch,
    encode_control,
    encode_message_set,
    read_batches,
)
from kwire.struct import Struct
from kwire_kafka import PROTOCOL

DATA = Path(__file__).parents[2] / "data"
UNALIGNED = ("unaligned_records",)
"""Pieces of snapshots, cut anywhere."""


def _lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / "records" / name).read_text("utf-8").splitlines()]


JAVA = _lines("java_4.1.1.jsonl")
KAFKA_PYTHON = _lines("kafka_python.jsonl")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def _records(vector: dict[str, Any]) -> list[Record]:
    return [
        Record(
            _bytes(one["key"]),
            _bytes(one["value"]),
            tuple((key, _bytes(value)) for key, value in one["headers"]),
            one["timestamp"],
            one["offset"],
        )
        for one in vector["records"]
    ]


@pytest.mark.parametrize(
    "vector",
    KAFKA_PYTHON,
    ids=[f"magic{one['magic']}-codec{one['codec']}-{len(one['settings'])}" for one in KAFKA_PYTHON],
)
def test_trap_45_what_kafka_python_wrote(vector: dict[str, Any]) -> None:
    magic, codec, data = vector["magic"], vector["codec"], bytes.fromhex(vector["data"])
    records = _records(vector)
    reader = read_batches(data)
    batches = list(reader)
    assert [record for batch in batches for record in batch] == records
    assert reader.truncated == 0
    assert {(batch.magic, batch.codec) for batch in batches} == {(magic, codec)}
    for name, value in vector["settings"].items():
        assert getattr(batches[0], name) == value
    built = b"".join(batch.encode() for batch in batches)
    assert [record for batch in read_batches(built) for record in batch] == records
    if codec in (0, Codec.SNAPPY):  # others compress the same in more than one way
        assert built == data
    if codec == 0 and magic == 2:
        assert encode_batch(records, leader_epoch=0, **vector["settings"]) == data
    if codec == 0 and magic < 2:
        assert encode_message_set(records, magic=magic) == data


@pytest.mark.parametrize("vector", JAVA, ids=[one["name"] for one in JAVA])
def test_trap_43_44_45_what_java_wrote_and_read(vector: dict[str, Any]) -> None:
    """Read to the same values; written again to the same bytes, as far as compression goes: the records that lie
    below it are the same."""
    data = bytes.fromhex(vector["data"])
    reader = read_batches(data)
    batches = list(reader)
    assert reader.truncated == 0
    assert len(batches) == len(vector["batches"])
    for batch, expected in zip(batches, vector["batches"], strict=True):
        assert batch.records() == list(batch) == _records(expected)
        for name in expected.keys() - {"records"}:
            assert getattr(batch, name) == expected[name], name
        (again,) = read_batches(batch.encode())
        assert again.payload() == batch.payload()
        assert again.records() == batch.records()
        if batch.codec == 0:
            assert again.data == batch.data


def test_trap_42_control_records_of_a_controller() -> None:
    vectors = _lines("controller_4.1.1.jsonl")
    found = []
    for vector in vectors:
        data = bytes.fromhex(vector["data"])
        (batch,) = read_batches(data)
        assert batch.control
        assert batch.encode() == data
        for record in batch:
            control = decode_control(PROTOCOL, record)
            assert control.message is not None
            found.append(control.name)
            assert encode_control(control.name, control.message) == Record(record.key, record.value)
    assert found == [
        *("leader_change", "kraft_version", "voters"),
        *("snapshot_header", "kraft_version", "voters", "snapshot_footer"),
    ]


def _fields(message: Struct, path: str) -> Iterator[tuple[str, bytes]]:
    """The records fields in a message that are not empty."""
    for field in message.FIELDS:
        value = getattr(message, field.name)
        if field.type == "records" and value and field.name not in UNALIGNED:
            yield f"{path}.{field.name}", value
        for place, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, Struct):
                yield from _fields(one, f"{path}.{field.name}[{place}]")


def _exchanges() -> Iterator[tuple[str, bytes]]:
    """All records fields of the recorded frames, with what they come from."""
    for line in (DATA / "real_frames" / "frames.jsonl").read_text().splitlines():
        frame = json.loads(line)
        key, version = frame["api_key"], frame["version"]
        messages = [PROTOCOL.decode_request(bytes.fromhex(frame["request"])).message]
        if frame["response"]:
            messages.append(PROTOCOL.decode_response(bytes.fromhex(frame["response"]), key, version).message)
        for message in messages:
            if message is not None:
                yield from _fields(message, f"{frame['broker']} {type(message).__name__} v{version}")


def test_every_records_field_that_brokers_received_and_sent() -> None:
    seen: Counter[str] = Counter()
    for path, data in _exchanges():
        reader = read_batches(data, skip=True)
        for batch, records in reader.with_records():
            seen["batches"] += 1
            seen["records"] += len(records)
            seen[f"magic {batch.magic}, codec {batch.codec}"] += 1
            seen["transactional"] += batch.transactional
            rebuilt = batch.encode()
            if batch.codec == 0:
                assert rebuilt == batch.data, path
            (again,) = read_batches(rebuilt)
            assert again.records() == records, path
            assert records == list(batch)
        seen["damaged"] += len(reader.errors)
        assert all(isinstance(error, ChecksumError) for error in reader.errors)
        seen["truncated"] += reader.truncated > 0
    formats = {
        f"magic {magic}, codec {codec}" for magic in (0, 1, 2) for codec in range(5) if magic == 2 or codec < 4
    }
    assert formats <= set(seen)
    assert seen["damaged"] == 1, "sent on purpose, to be answered with CORRUPT_MESSAGE"
    assert seen["transactional"]
    assert seen["truncated"]
    assert seen["records"] > 500
