"""OffsetCommit and OffsetFetch."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kwire import ZERO_UUID, Uuid
from kwire_kafka import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from kwire_kafka.api.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kwire_kafka.api.offset_fetch import (
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.versions import at_least
from kwire_testing.call import Call, answers
from kwire_testing.groups import Committed, Group, Offsets
from kwire_testing.refusal import Refused


@answers(OffsetCommitRequest, OffsetCommitResponse)
def offset_commit(call: Call, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
    """Keep the offsets of a member, or of a client that is in no group."""

    def keep(
        topic: OffsetCommitRequestTopic, part: OffsetCommitRequestPartition, answer: OffsetCommitResponsePartition
    ) -> None:
        _check_store(call)
        call.topic(topic.name, topic.topic_id, part.partition_index)
        group = call.group(request.group_id, named=False)
        if group.kind == "consumer" and call.version < 9:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        if not group.exists and request.generation_id_or_member_epoch >= 0:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND if call.version >= 9 else ErrorCode.ILLEGAL_GENERATION)
        group.check(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
        commit(call, group.offsets, topic, part)

    response.topics = call.each_partition(request.topics, OffsetCommitResponseTopic, keep)


def _check_store(call: Call) -> None:
    """Raise ``Refused`` for offsets in ZooKeeper if the cluster has none."""
    if call.version == 0 and at_least(call.cluster.release, 3, 3):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)


def commit(
    call: Call,
    offsets: Offsets,
    topic: OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic,
    part: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
) -> None:
    """Keep the offset of a partition."""
    name = call.topic(topic.name, topic.topic_id, part.partition_index).name
    offsets[name, part.partition_index] = Committed(
        part.committed_offset, part.committed_leader_epoch, part.committed_metadata
    )


@answers(OffsetFetchRequest, OffsetFetchResponse)
def offset_fetch(call: Call, request: OffsetFetchRequest, response: OffsetFetchResponse) -> None:
    """Answer with committed offsets, of many groups since version 8."""
    if call.version < 8:
        _fetch(call, request, response, stable=request.require_stable)

    def fetch(asked: Any, answer: OffsetFetchResponseGroup) -> None:
        _fetch(call, asked, answer, stable=request.require_stable)

    response.groups = call.each(request.groups, OffsetFetchResponseGroup, fetch)


def _fetch(call: Call, asked: Any, answer: Any, *, stable: bool) -> None:
    """Answer for one group; ``asked`` and ``answer`` are messages, or elements of theirs."""

    def find() -> Group:
        call.coordinate(asked.group_id)
        group = call.cluster.group(asked.group_id) or Group(asked.group_id, call.cluster.clock)
        if group.members and getattr(asked, "member_id", None) and asked.member_epoch >= 0:
            group.members.check_commit(asked.member_id, asked.member_epoch, None)
        return group

    def read(topic: Any, index: int, part: OffsetFetchResponsePartitions) -> None:
        part.committed_offset = -1
        _check_store(call)
        group, known = find(), call.cluster.find(topic.name, getattr(topic, "topic_id", ZERO_UUID))
        if known is None and call.version >= 10:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        place = known.name if known else topic.name, index
        if stable and any(place in offsets for offsets in group.pending.values()):
            raise Refused(ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = group.offsets.get(place, Committed(-1))
        part.committed_offset, part.committed_leader_epoch, part.metadata = found

    topics = asked.topics
    if call.version >= 2:  # older versions have an error code in partitions only
        group = find()
        if topics is None:
            topics = _all(call, group)
    answer.topics = call.each_partition(
        topics, OffsetFetchResponseTopic if call.version < 8 else OffsetFetchResponseTopics, read
    )


def _all(call: Call, group: Group) -> list[OffsetFetchRequestTopics]:
    """Return a request for all offsets of a group."""
    wanted: dict[tuple[str, Uuid], list[int]] = defaultdict(list)
    for name, index in group.offsets:
        topic = call.cluster.find(name)
        wanted[name, topic.id if topic else ZERO_UUID].append(index)
    return [
        OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=indexes)
        for (name, topic_id), indexes in wanted.items()
    ]
