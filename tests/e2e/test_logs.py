"""The brokers' own files, read while the brokers run: after all other tests, which have filled them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kwire.logs import TOPICS, Checkpoint, LoggedRecord, embedded, internal_records, scan
from kwire_kafka import PROTOCOL, ConsumerGroupMemberMetadataValue
from tests.e2e.brokers import ALL, each_of
from tests.e2e.tally import Tally
from tests.e2e.walk import Walk
from tests.real_kafka.broker import Broker
from tests.real_kafka.releases import BEFORE, NEWEST, STRICT

broker = each_of(*ALL)

GROUP = {"OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata", "ConsumerGroupMemberMetadata"}
TRANSACTION = {"TransactionLog"}
METADATA = {"TopicRecord", "PartitionRecord", "ConfigRecord", "FeatureLevelRecord", "RegisterBrokerRecord"}
OLDER = {
    "__consumer_offsets": GROUP | {"commit", "abort"},
    "__transaction_state": TRANSACTION,
    "__cluster_metadata": METADATA | {"leader_change"},
}
EXPECTED = {
    BEFORE: OLDER,
    STRICT: OLDER,
    NEWEST: {
        **OLDER,
        "__consumer_offsets": GROUP | {"ShareGroupMetadata", "ConsumerGroupRegularExpression", "commit", "abort"},
        "__share_group_state": {"ShareSnapshot", "ShareUpdate"},
    },
}
"""Some of the record types that must be among those of each topic."""


def partitions(broker: Broker) -> list[tuple[str, Path]]:
    """The folders of internal topics in all log directories."""
    folders = [(folder.name.rpartition("-")[0], folder) for root in broker.log_dirs for folder in root.iterdir()]
    return sorted((topic, folder) for topic, folder in folders if topic in TOPICS)


def check(row: LoggedRecord) -> None:
    """All of a record was understood, with what consumers put into it."""
    record = row.record
    assert record.reason is None
    assert record.value is not None or record.tombstone
    for part in embedded(PROTOCOL, record.value) if record.value else ():
        assert part.message is not None


def test_every_record_of_every_internal_topic_is_decoded(broker: Broker, tally: Tally) -> None:
    names: dict[str, Counter[str]] = {topic: Counter() for topic in EXPECTED[broker.release]}
    for topic, folder in partitions(broker):
        for row in internal_records(PROTOCOL, folder):
            check(row)
            names[topic][row.record.name or ""] += 1
            tally.internal[f"{broker.name} {topic}"] += 1
    for topic, expected in EXPECTED[broker.release].items():
        assert expected <= names[topic].keys()


def test_trap_25_members_of_the_classic_protocol_are_a_nullable_struct_in_a_tag(broker: Broker) -> None:
    (folder,) = [folder for topic, folder in partitions(broker) if topic == "__consumer_offsets"]
    members = [row.record.value for row in internal_records(PROTOCOL, folder)]
    kept = [
        member.classic_member_metadata for member in members if isinstance(member, ConsumerGroupMemberMetadataValue)
    ]
    assert any(found is None for found in kept)
    assert any(found is not None and found.supported_protocols for found in kept)


def test_snapshots_of_the_metadata_are_decoded(broker: Broker, tally: Tally) -> None:
    checkpoints = [file for file in scan(broker.log_dir) if isinstance(file, Checkpoint) and file.end_offset]
    assert checkpoints
    for checkpoint in checkpoints:
        rows = list(internal_records(PROTOCOL, checkpoint.path))
        for row in rows:
            check(row)
        assert (rows[0].record.name, rows[-1].record.name) == ("snapshot_header", "snapshot_footer")
        tally.internal[f"{broker.name} metadata snapshots"] += len(rows)


def test_bootstrap_checkpoints_are_decoded(broker: Broker) -> None:
    """In a file of their own, and in newer releases as the first snapshot of the metadata."""
    first = broker.log_dir / "__cluster_metadata-0" / f"{0:020}-{0:010}.checkpoint"
    found = [path for path in (broker.log_dir / "bootstrap.checkpoint", first) if path.exists()]
    assert found
    for path in found:
        rows = list(internal_records(PROTOCOL, path, topic="__cluster_metadata"))
        assert rows
        for row in rows:
            check(row)


def test_segments_have_what_clients_produced(walk: Walk, broker: Broker) -> None:
    """The last offset of every topic in the files is that which the broker tells."""
    ends: dict[tuple[str, int], int] = {}
    for root in broker.log_dirs:
        for segment in scan(root):
            if isinstance(segment, Checkpoint) or segment.state or segment.topic is None:
                continue
            for batch in segment.batches():
                assert len(batch.records()) == batch.count
                ends[segment.topic, segment.partition or 0] = batch.last_offset + 1
    names = {topic for topic, _ in ends if topic not in TOPICS}
    assert {"produced", "looked-up", "in-session", "transacted"} <= names
    for topic in sorted(names):
        asked = [{"partition_index": 0, "timestamp": -1}]
        told = walk.latest(
            "ListOffsets", replica_id=-1, topics=[{"name": topic, "partitions": asked}], timeout_ms=1000
        )
        assert told.topics[0].partitions[0].offset == ends.get((topic, 0), 0)


@pytest.fixture(autouse=True)
def others_were_there(tally: Tally) -> None:
    if not tally.produced:
        pytest.skip("reads what the other tests have written: run them all")
