"""OffsetCommit and OffsetFetch."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeVar

from kwire import ZERO_UUID, Uuid
from kwire_kafka import OffsetCommitRequest, OffsetCommitResponse, OffsetFetchRequest, OffsetFetchResponse
from kwire_kafka.api.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kwire_kafka.api.offset_fetch import (
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.groups import Committed, Group, Offsets
from kwire_testing.refusal import Refused

P = TypeVar("P", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)


@answers(OffsetCommitRequest)
def offset_commit(call: Call, request: OffsetCommitRequest) -> OffsetCommitResponse:
    """Keep the offsets of a member, or of a client that is in no group."""
    error, group = ErrorCode.NONE, None
    try:
        group = call.group(request.group_id)
        group.check(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    except Refused as refusal:
        error = refusal.error

    def commit(name: str, topic_id: Uuid, part: OffsetCommitRequestPartition) -> OffsetCommitResponsePartition:
        code = error
        if group is not None and not error:
            code = committed(call, group.offsets, name, topic_id, part)
        return OffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)

    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[commit(topic.name, topic.topic_id, part) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def committed(
    call: Call,
    offsets: Offsets,
    name: str,
    topic_id: bytes,
    part: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
) -> ErrorCode:
    """Keep the offset of a partition, and return the error."""
    try:
        topic = call.topic(name, topic_id, part.partition_index)
    except Refused as refusal:
        return refusal.error
    offsets[topic.name, part.partition_index] = Committed(
        part.committed_offset, part.committed_leader_epoch, part.committed_metadata
    )
    return ErrorCode.NONE


@answers(OffsetFetchRequest)
def offset_fetch(call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
    """Answer with committed offsets, of many groups since version 8."""
    answer = OffsetFetchResponse()
    if call.version >= 8:
        for asked in request.groups:
            found = OffsetFetchResponseGroup(group_id=asked.group_id)
            _fetch(call, asked, found, stable=request.require_stable)
            answer.groups.append(found)
    else:
        _fetch(call, request, answer, stable=request.require_stable)
    return answer


def _fetch(call: Call, asked: Any, answer: Any, *, stable: bool) -> None:
    """Answer for one group; ``asked`` and ``answer`` are messages, or elements of theirs."""
    group = Group(asked.group_id, call.cluster.clock)
    try:
        group = call.group(asked.group_id, create=False)
        if group.members and getattr(asked, "member_id", None) and asked.member_epoch >= 0:
            group.members.check_commit(asked.member_id, asked.member_epoch, None)
    except Refused as refusal:
        answer.error_code = refusal.error
        if call.version >= 2:
            return
    unstable = {place for offsets in group.pending.values() for place in offsets} if stable else set()
    wanted: dict[tuple[str, Uuid], list[int]] = defaultdict(list)
    if asked.topics is None:
        for name, index in group.offsets:
            topic = call.cluster.find(name)
            wanted[name, topic.id if topic else ZERO_UUID].append(index)
    else:
        wanted |= {(one.name, getattr(one, "topic_id", ZERO_UUID)): one.partition_indexes for one in asked.topics}
    for (name, topic_id), indexes in wanted.items():
        topic = call.cluster.find(name, topic_id)
        answer.topics.append(_topic(call, group, topic.name if topic else name, topic_id, indexes, unstable))
        if call.version < 2:
            for part in answer.topics[-1].partitions:
                part.error_code = answer.error_code


def _topic(
    call: Call, group: Group, name: str, topic_id: Uuid, indexes: list[int], unstable: set[tuple[str, int]]
) -> OffsetFetchResponseTopics | OffsetFetchResponseTopic:
    def offset(cls: type[P], index: int) -> P:
        if (name, index) in unstable:
            return cls(partition_index=index, committed_offset=-1, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        found = group.offsets.get((name, index), Committed(-1))
        return cls(
            partition_index=index,
            committed_offset=found.offset,
            committed_leader_epoch=found.leader_epoch,
            metadata=found.metadata,
        )

    if call.version < 8:
        parts = [offset(OffsetFetchResponsePartition, index) for index in indexes]
        return OffsetFetchResponseTopic(name=name, partitions=parts)
    new = [offset(OffsetFetchResponsePartitions, index) for index in indexes]
    return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=new)
