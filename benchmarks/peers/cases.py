"""The cases: messages, and records in one batch or in batches of 130 records, as in a producer's 16 KiB batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from benchmarks import records
from benchmarks.samples import API_VERSIONS, FETCH, METADATA, METADATA_SMALL, PRODUCE, RECORDS, Sample

Facts = list[int]
"""Sums over the values of a message. They are equal in all languages."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A message, or records if ``sample`` is ``None``."""

    name: str
    title: str
    sample: Sample | None = None
    per_batch: int = 0
    facts: Callable[[Any], Facts] | None = None


def total(data: bytes | None) -> int:
    return -1 if data is None else sum(data)


def _all(parents: Iterable[Any], name: str) -> list[Any]:
    return [one for parent in parents for one in getattr(parent, name)]


def _join_group(m: ModuleType) -> Any:
    members = [
        m.JoinGroupResponseMember(member_id=f"consumer-{number:04d}-{'ab' * 16}", metadata=bytes(range(200)))
        for number in range(50)
    ]
    leader = members[0].member_id
    return m.JoinGroupResponse(
        generation_id=7,
        protocol_type="consumer",
        protocol_name="range",
        leader=leader,
        member_id=leader,
        members=members,
    )


def _offset_commit(m: ModuleType) -> Any:
    topics = [
        m.OffsetCommitRequestTopic(
            name=f"topic-{topic:04d}",
            partitions=[
                m.OffsetCommitRequestPartition(
                    partition_index=number,
                    committed_offset=1000 * topic + number,
                    committed_leader_epoch=3,
                    committed_metadata="",
                )
                for number in range(10)
            ],
        )
        for topic in range(20)
    ]
    return m.OffsetCommitRequest(
        group_id="group-a", generation_id_or_member_epoch=7, member_id="consumer-1", topics=topics
    )


def _share_fetch(m: ModuleType) -> Any:
    partitions = [
        m.PartitionData(
            partition_index=number,
            current_leader=m.LeaderIdAndEpoch(leader_id=1, leader_epoch=5),
            records=RECORDS,
            acquired_records=[
                m.AcquiredRecords(first_offset=100 * step, last_offset=100 * step + 99, delivery_count=1 + step)
                for step in range(3)
            ],
        )
        for number in range(50)
    ]
    topic = m.ShareFetchableTopicResponse(topic_id=m.Uuid((0x1234567890).to_bytes(16, "big")), partitions=partitions)
    return m.ShareFetchResponse(acquisition_lock_timeout_ms=30_000, responses=[topic])


def _leader_change(m: ModuleType) -> Any:
    voters = [m.Voter(voter_id=number) for number in range(1, 6)]
    return m.LeaderChangeMessage(version=0, leader_id=3, voters=voters, granting_voters=voters[:3])


def _api_versions_facts(message: Any) -> Facts:
    return [
        len(message.api_keys),
        sum(one.api_key for one in message.api_keys),
        sum(one.max_version for one in message.api_keys),
        len(message.supported_features),
        message.finalized_features_epoch,
        sum(one.max_version_level for one in message.finalized_features),
    ]


def _metadata_facts(message: Any) -> Facts:
    partitions = _all(message.topics, "partitions")
    return [
        sum(one.port for one in message.brokers),
        len(message.topics),
        sum(len(one.name) for one in message.topics),
        sum(sum(one.topic_id) for one in message.topics),
        len(partitions),
        sum(one.leader_id for one in partitions),
        sum(one.leader_epoch for one in partitions),
        sum(_all(partitions, "replica_nodes")),
        sum(_all(partitions, "isr_nodes")),
    ]


def _produce_facts(message: Any) -> Facts:
    partitions = _all(message.topic_data, "partition_data")
    return [
        message.acks,
        message.timeout_ms,
        sum(one.index for one in partitions),
        sum(total(one.records) for one in partitions),
    ]


def _fetch_facts(message: Any) -> Facts:
    partitions = _all(message.responses, "partitions")
    return [
        message.session_id,
        sum(sum(one.topic_id) for one in message.responses),
        sum(one.partition_index for one in partitions),
        sum(one.high_watermark for one in partitions),
        sum(total(one.records) for one in partitions),
    ]


def _join_group_facts(message: Any) -> Facts:
    members = message.members
    return [
        message.generation_id,
        len(members),
        sum(len(one.member_id) for one in members),
        sum(total(one.metadata) for one in members),
    ]


def _offset_commit_facts(message: Any) -> Facts:
    partitions = _all(message.topics, "partitions")
    return [
        message.generation_id_or_member_epoch,
        sum(len(one.name) for one in message.topics),
        sum(one.partition_index for one in partitions),
        sum(one.committed_offset for one in partitions),
        sum(one.committed_leader_epoch for one in partitions),
        sum(len(one.committed_metadata) for one in partitions),
    ]


def _share_fetch_facts(message: Any) -> Facts:
    partitions = _all(message.responses, "partitions")
    acquired = _all(partitions, "acquired_records")
    return [
        sum(sum(one.topic_id) for one in message.responses),
        sum(one.partition_index for one in partitions),
        sum(total(one.records) for one in partitions),
        sum(one.first_offset + one.last_offset for one in acquired),
        sum(one.delivery_count for one in acquired),
    ]


def _leader_change_facts(message: Any) -> Facts:
    return [
        message.leader_id,
        sum(one.voter_id for one in message.voters),
        sum(one.voter_id for one in message.granting_voters),
    ]


def records_facts(rows: Iterable[records.Row]) -> Facts:
    found = list(rows)
    return [
        len(found),
        sum(row[0] for row in found),
        sum(row[1] for row in found),
        sum(total(row[2]) for row in found),
        sum(total(row[3]) for row in found),
    ]


def _sample(title: str, module: str, name: str, version: int, make: Callable[[ModuleType], Any]) -> Sample:
    return Sample(title=title, module=module, name=name, version=version, make=make)


MESSAGES = tuple(
    Case(name=name, title=sample.title, sample=sample, facts=facts)
    for name, sample, facts in (
        ("api_versions", API_VERSIONS, _api_versions_facts),
        ("metadata_small", METADATA_SMALL, _metadata_facts),
        ("metadata_big", METADATA, _metadata_facts),
        ("produce", PRODUCE, _produce_facts),
        ("fetch", FETCH, _fetch_facts),
        (
            "join_group",
            _sample("JoinGroup response v9, 50 members", "api.join_group", "JoinGroupResponse", 9, _join_group),
            _join_group_facts,
        ),
        (
            "offset_commit",
            _sample(
                "OffsetCommit request v9, 20 topics x 10",
                "api.offset_commit",
                "OffsetCommitRequest",
                9,
                _offset_commit,
            ),
            _offset_commit_facts,
        ),
        (
            "share_fetch",
            _sample(
                "ShareFetch response v1, 50 partitions x 1 KB",
                "api.share_fetch",
                "ShareFetchResponse",
                1,
                _share_fetch,
            ),
            _share_fetch_facts,
        ),
        (
            "leader_change",
            _sample(
                "LeaderChange record v0, 5 voters",
                "data.leader_change_message",
                "LeaderChangeMessage",
                0,
                _leader_change,
            ),
            _leader_change_facts,
        ),
    )
)
CASES = (
    *MESSAGES,
    Case(name="records_one", title=f"{records.COUNT:,} records, one batch", per_batch=records.COUNT),
    Case(name="records_130", title=f"{records.COUNT:,} records, batches of 130", per_batch=130),
)
