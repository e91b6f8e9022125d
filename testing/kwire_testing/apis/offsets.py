"""OffsetCommit and OffsetFetch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwire import Uuid
from kwire_kafka import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kwire_kafka.api.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kwire_kafka.api.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import Topic
from kwire_testing.groups import Committed, Group, Offsets
from kwire_testing.refusal import Refused


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
    if call.version >= 8:
        return OffsetFetchResponse(groups=[_fetched(call, group, request.require_stable) for group in request.groups])
    topics = request.topics
    wanted = None
    if topics is not None:
        wanted = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in topics
        ]
    asked = OffsetFetchRequestGroup(group_id=request.group_id, topics=wanted)
    found = _fetched(call, asked, request.require_stable)
    return OffsetFetchResponse(
        error_code=found.error_code,
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=part.partition_index,
                        committed_offset=part.committed_offset,
                        committed_leader_epoch=part.committed_leader_epoch,
                        metadata=part.metadata,
                        error_code=part.error_code or (found.error_code if call.version < 2 else 0),
                    )
                    for part in topic.partitions
                ],
            )
            for topic in found.topics
        ],
    )


def _fetched(call: Call, asked: OffsetFetchRequestGroup, stable: bool) -> OffsetFetchResponseGroup:
    try:
        group, error = call.group(asked.group_id, create=False), ErrorCode.NONE
        if group.members and asked.member_id and asked.member_epoch >= 0:
            group.members.check_commit(asked.member_id, asked.member_epoch, None)
    except Refused as refusal:
        group, error = Group(asked.group_id, call.cluster.clock), refusal.error
        if call.version >= 2:
            return OffsetFetchResponseGroup(group_id=asked.group_id, error_code=error)
    unstable = {place for offsets in group.pending.values() for place in offsets} if stable else set()
    return OffsetFetchResponseGroup(
        group_id=asked.group_id,
        error_code=error,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    _offset(group, found.name if found else topic.name, index, unstable)
                    for index in topic.partition_indexes
                ],
            )
            for topic, found in _named(call, group, asked.topics)
        ],
    )


def _named(
    call: Call, group: Group, asked: Iterable[OffsetFetchRequestTopics] | None
) -> Iterator[tuple[OffsetFetchRequestTopics, Topic | None]]:
    """The topics of a request, by default those with offsets."""
    if asked is None:
        for name in dict.fromkeys(name for name, _ in group.offsets):
            found = call.cluster.find(name)
            indexes = [index for other, index in group.offsets if other == name]
            topic_id = found.id if found else Uuid(bytes(16))
            yield OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=indexes), found
    else:
        for topic in asked:
            yield topic, call.cluster.find(topic.name, topic.topic_id)


def _offset(group: Group, name: str, index: int, unstable: set[tuple[str, int]]) -> OffsetFetchResponsePartitions:
    if (name, index) in unstable:
        return OffsetFetchResponsePartitions(
            partition_index=index, committed_offset=-1, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT, metadata=""
        )
    found = group.offsets.get((name, index), Committed(-1))
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=found.offset,
        committed_leader_epoch=found.leader_epoch,
        metadata=found.metadata,
    )
