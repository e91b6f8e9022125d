"""Data directories of real brokers: every record decodes, to what Kafka's own DumpLogSegments says."""

from __future__ import annotations

import base64
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire.logs import (
    TOPICS,
    Embedded,
    LoggedRecord,
    decode_assignment,
    decode_subscription,
    embedded,
    internal_records,
    read_producer_snapshot,
    scan,
)
from kwire.logs.indexes import near_offset, near_time
from kwire.logs.window import Window
from kwire.schema import present_fields
from kwire.struct import Struct
from kwire_kafka import PROTOCOL

DATA = Path(__file__).parents[2] / "data" / "logs"
CONTROL_NAMES = {
    "LeaderChange": "leader_change",
    "SnapshotHeader": "snapshot_header",
    "SnapshotFooter": "snapshot_footer",
    "KRaftVersion": "kraft_version",
    "KRaftVoters": "voters",
}
FILES = [
    (release, file.path.relative_to(DATA / release).as_posix())
    for release in ("4.1.1", "4.1.1-running", "3.9.1")
    for file in scan(DATA / release)
    if file.topic in TOPICS
]
each_file = pytest.mark.parametrize(("release", "file"), FILES)


@cache
def dumped(release: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in (DATA / f"{release}.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["file"], []).append(row)
    return found


@cache
def rows(release: str, file: str) -> list[LoggedRecord]:
    return list(internal_records(PROTOCOL, DATA / release / file))


def agrees(java: Any, value: Any, kind: str, version: int) -> bool:
    """Whether a value is what Kafka's JSON converter printed; it leaves out tagged fields that have their default."""
    if value is None or java is None:
        return value is None and java is None
    if kind.startswith("[]"):
        return len(java) == len(value) and all(
            agrees(theirs, ours, kind[2:], version) for theirs, ours in zip(java, value, strict=True)
        )
    if isinstance(value, Struct):
        return struct_agrees(java, value, version)
    if isinstance(java, dict):  # a subscription or an assignment
        decode = decode_subscription if "topics" in java else decode_assignment
        return struct_agrees(java, decode(PROTOCOL, value), int.from_bytes(value[:2]))
    if kind in ("uuid", "bytes"):
        encoded = base64.urlsafe_b64encode(value) if kind == "uuid" else base64.b64encode(value)
        return bool(encoded.decode().rstrip("=") == java.rstrip("="))
    return bool(java == value)


def struct_agrees(java: dict[str, Any], value: Struct, version: int) -> bool:
    there = {field.json_name: field for field in present_fields(type(value), version)}
    return java.keys() <= there.keys() and all(
        (
            agrees(java[name], getattr(value, field.name), field.type, version)
            if name in java
            else field.is_tagged and getattr(value, field.name) == field.default
        )
        for name, field in there.items()
    )


@each_file
def test_every_record_is_what_kafka_says_it_is(release: str, file: str) -> None:
    found, expected = rows(release, file), dumped(release)[file]
    assert [(row.offset, row.timestamp) for row in found] == [(row["offset"], row["timestamp"]) for row in expected]
    for row, java in zip(found, expected, strict=True):
        record = row.record
        if "error" in java:
            assert record.reason
            continue
        assert record.reason is None
        assert record.tombstone == java.get("tombstone", False)
        if "name" in java:
            assert record.name == "".join(word.capitalize() for word in java["name"].split("_"))
        if "control" in java:
            assert (record.control, record.name) == (True, CONTROL_NAMES.get(java["control"], java["control"]))
        if "type" in java:
            assert record.type == java["type"]
            assert record.key is not None
            assert agrees(java["key"], record.key, type(record.key).__name__, 0)
        if "value" in java:
            assert record.value is not None
            assert record.version is not None
            assert record.version == java.get("version", record.version)
            assert agrees(java["value"], record.value, type(record.value).__name__, record.version)


@each_file
def test_every_record_is_written_as_it_was_read(release: str, file: str) -> None:
    for row in rows(release, file):
        record = row.record
        if record.value is not None and record.version is not None and record.raw_value is not None:
            assert record.raw_value.endswith(record.value.encode(record.version))
        if record.key is not None and record.raw_key is not None:
            assert record.raw_key[2:] == record.key.encode(type(record.key).VALID_VERSIONS.start)


def test_trap_39_no_row_is_lost_but_those_of_early_access() -> None:
    """Share groups of 3.9 wrote a record of which 4.0 changed the fields but not the version."""
    failed = [(release, row) for release, file in FILES for row in rows(release, file) if row.record.reason]
    assert {(release, row.record.name) for release, row in failed} == {("3.9.1", "ShareGroupMetadata")}
    assert all(row.record.key is not None and row.record.raw_value for _, row in failed)


def test_the_samples_have_nearly_all_types_of_records() -> None:
    seen: dict[str, set[int]] = {}
    for release, file in FILES:
        for row in rows(release, file):
            if not row.record.control and row.record.type is not None:
                seen.setdefault(TOPICS[row.record.topic], set()).add(row.record.type)
    missing = {
        log: set(PROTOCOL.record_types(log)) - seen.get(log, set()) for log in ("group", "transaction", "share")
    }
    assert missing == {"group": {0}, "transaction": set(), "share": set()}
    assert len(seen["metadata"]) >= 20


def test_trap_42_all_kinds_of_control_records() -> None:
    names = Counter(row.record.name for release, file in FILES for row in rows(release, file) if row.record.control)
    assert set(names) == {
        "abort",
        "commit",
        "leader_change",
        "snapshot_header",
        "snapshot_footer",
        "kraft_version",
        "voters",
    }


def test_trap_41_checkpoints_are_framed_by_control_records() -> None:
    for release, file in FILES:
        if file.endswith(".checkpoint"):
            found = rows(release, file)
            assert (found[0].record.name, found[-1].record.name) == ("snapshot_header", "snapshot_footer")


def test_transactions_in_the_group_coordinator() -> None:
    """Offsets that a transaction commits carry its producer, and its marker comes later."""
    found = rows("4.1.1", "__consumer_offsets-0/00000000000000000000.log")
    transactional = [row for row in found if row.transactional]
    assert {row.record.name for row in transactional} == {"OffsetCommit", "commit", "abort"}
    ends: dict[int, LoggedRecord] = {}
    for row in transactional:
        assert row.producer_id not in ends, "nothing follows the marker here"
        if row.record.control:
            ends[row.producer_id] = row
    assert set(ends) == {row.producer_id for row in transactional}
    assert all(row.producer_id == -1 and row.producer_epoch == -1 for row in found if not row.transactional)


def inside(release: str, file: str) -> list[Embedded]:
    values = [row.record.value for row in rows(release, file)]
    return [each for value in values if value is not None for each in embedded(PROTOCOL, value)]


def test_trap_40_what_consumers_wrote_into_their_groups() -> None:
    """Java consumers, one of them a classic member of a KIP-848 group, and kafka-python."""
    found = inside("4.1.1-running", "__consumer_offsets-0/00000000000000000000.log")
    assert [(each.path, each.version, each.reason) for each in found] == [
        ("members[0].subscription", 3, None),
        ("members[0].subscription.user_data", 0, None),
        ("members[0].assignment", 3, None),
        ("members[0].subscription", 0, None),
        ("members[0].assignment", 0, None),
        ("classic_member_metadata.supported_protocols[0].metadata", 3, None),
        ("classic_member_metadata.supported_protocols[1].metadata", 3, None),
        ("classic_member_metadata.supported_protocols[1].metadata.user_data", 0, None),
    ]


def test_trap_40_a_subscription_that_is_cut_short() -> None:
    """The test client forgot the field that version 1 added. Kafka's dump shows such bytes as they are."""
    found = inside("4.1.1", "__consumer_offsets-0/00000000000000000000.log")
    subscriptions = [each for each in found if each.path == "members[0].subscription"]
    assert subscriptions
    for each in subscriptions:
        assert each.message is None
        assert each.reason is not None
        assert "field owned_partitions, byte 14 of 14" in each.reason


def test_the_files_of_a_running_broker_end_with_zeros() -> None:
    for file in scan(DATA / "4.1.1-running"):
        reader = file.batches()
        found = list(reader)
        assert (reader.padding, reader.truncated) == (4096, 0)
        assert found[-1].position + found[-1].size + 4096 == file.size


def test_the_indexes_of_a_running_broker_lead_to_every_batch() -> None:
    """Their unused entries are zeros."""
    (file,) = [file for file in scan(DATA / "4.1.1-running") if file.topic == "orders"]
    whole = list(file.batches())
    assert len(whole) > 50
    with file.path.open("rb") as opened:
        window = Window(opened, file.size)
        assert near_offset(window, file, whole[-1].last_offset) > file.size // 2
        assert near_time(window, file, whole[-1].max_timestamp) > file.size // 2
    for batch in whole:
        for offset in (batch.base_offset, batch.last_offset):
            assert next(file.batches(start_offset=offset)).position == batch.position
        first = next(each for each in whole if each.max_timestamp >= batch.max_timestamp)
        assert next(file.batches(start_time=batch.max_timestamp)).position == first.position
    assert next(file.batches(start_offset=whole[-1].last_offset + 1), None) is None


@pytest.mark.parametrize("release", ["4.1.1", "3.9.1"])
def test_snapshots_of_producers(release: str) -> None:
    folder = DATA / release / "__consumer_offsets-0"
    (path,) = folder.glob("*.snapshot")
    snapshot: Any = read_producer_snapshot(PROTOCOL, path)
    markers = {row.producer_id: row for row in rows(release, f"{folder.name}/{0:020}.log") if row.transactional}
    known = {entry.producer_id: (entry.epoch, entry.timestamp) for entry in snapshot.producer_entries}
    assert known == {number: (row.producer_epoch, row.timestamp) for number, row in markers.items()}
