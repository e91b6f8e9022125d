"""Handlers for groups of both types and for their offsets."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeVar

import kwire_kafka as kafka
from kwire import ZERO_UUID, Uuid
from kwire_kafka.api import consumer_group_describe, offset_commit, offset_fetch
from kwire_kafka.api.consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatResponseTopicPartitions
from kwire_kafka.api.delete_groups import DeletableGroupResult
from kwire_kafka.api.describe_groups import DescribedGroup, DescribedGroupMember
from kwire_kafka.api.leave_group import MemberResponse
from kwire_kafka.api.list_groups import ListedGroup
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.groups import EMPTY, HEARTBEAT, STABLE, ClassicGroup, Committed, ConsumerGroup, Group, Places
from kwire_testing.refusal import Refused
from kwire_testing.versions import at_least

K = TypeVar("K", ClassicGroup, ConsumerGroup)
MAX_METADATA = 4096
"""Maximum length of the metadata that a client may commit with an offset, in characters."""


@answers
async def join_group(call: Call, request: kafka.JoinGroupRequest, response: kafka.JoinGroupResponse) -> None:
    response.generation_id, response.member_id = -1, request.member_id
    response.protocol_name = None if call.version >= 7 else ""
    group = call.group(request.group_id).classic()
    await group.join(request, response, call.version, call.client_id or "", call.host)


@answers
async def sync_group(call: Call, request: kafka.SyncGroupRequest, response: kafka.SyncGroupResponse) -> None:
    group = call.group(request.group_id).classic()
    response.assignment = await group.sync(request)
    response.protocol_type, response.protocol_name = group.protocol_type, group.protocol


@answers
def heartbeat(call: Call, request: kafka.HeartbeatRequest, response: kafka.HeartbeatResponse) -> None:
    group = call.group(request.group_id).classic()
    group.heartbeat(request.member_id, request.generation_id, request.group_instance_id)


@answers
def leave_group(call: Call, request: kafka.LeaveGroupRequest, response: kafka.LeaveGroupResponse) -> None:
    group = call.group(request.group_id).classic()
    if call.version < 3:
        group.leave(request.member_id, None)
    for member, answer in call.each(request.members, MemberResponse, response.members):
        with call.refusing(answer):
            group.leave(member.member_id, member.group_instance_id)


@answers
def heartbeat_of_a_consumer(
    call: Call, request: kafka.ConsumerGroupHeartbeatRequest, response: kafka.ConsumerGroupHeartbeatResponse
) -> None:
    """Process a heartbeat. Respond with the member's epoch, and with its assignment if it has changed."""
    if not request.group_id:
        raise Refused(ErrorCode.INVALID_REQUEST)
    known = call.cluster.groups.get(request.group_id)
    if request.member_epoch and not (known and known.exists and isinstance(known.members, ConsumerGroup)):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    group = call.group(request.group_id).consumer()
    topics = {name: (topic.id, len(topic.partitions)) for name, topic in call.cluster.topics.items()}
    member = group.heartbeat(request, topics, call.client_id or "", call.host)
    response.member_id, response.member_epoch = member.id, member.epoch
    response.heartbeat_interval_ms = int(HEARTBEAT * 1000)
    whole = request.topic_partitions is not None and request.subscribed_topic_names is not None
    if member.epoch > 0 and (whole or member.told != member.assigned):
        member.told = {*member.assigned}
        response.assignment = Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=indexes)
                for topic_id, indexes in _by_topic(member.assigned).items()
            ]
        )


@answers
def list_groups(call: Call, request: kafka.ListGroupsRequest, response: kafka.ListGroupsResponse) -> None:
    """List the groups that this node coordinates."""
    call.check()
    states, types = ([name.lower() for name in names] for names in (request.states_filter, request.types_filter))
    for name, group in call.cluster.groups.items():
        members, here = group.members, group.exists and call.cluster.coordinator(name).id == call.node
        if here and (not states or members.state.lower() in states) and (not types or members.kind in types):
            listed = ListedGroup(group_id=name, protocol_type=members.protocol_type)
            listed.group_state, listed.group_type = members.state, members.kind
            response.groups.append(listed)


@answers
def describe_groups(call: Call, request: kafka.DescribeGroupsRequest, response: kafka.DescribeGroupsResponse) -> None:
    for name, answer in call.each(request.groups, DescribedGroup, response.groups):
        answer.group_state = "Dead"
        with call.refusing(answer):
            group = _described(call, name, ClassicGroup)
            if group is None and call.version >= 6:
                raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
            if group is not None:
                answer.group_state, answer.protocol_type = group.state, group.protocol_type
                protocol = answer.protocol_data = (group.protocol or "") if group.state == STABLE else ""
                answer.members = [
                    DescribedGroupMember(
                        member_id=member.id,
                        group_instance_id=member.instance,
                        client_id=member.client_id,
                        client_host=f"/{member.host}",
                        member_metadata=member.protocols.get(protocol, b""),
                        member_assignment=member.assignment,
                    )
                    for member in group.members.values()
                ]


@answers
def describe_consumers(
    call: Call, request: kafka.ConsumerGroupDescribeRequest, response: kafka.ConsumerGroupDescribeResponse
) -> None:
    names = {topic.id: topic.name for topic in call.cluster.topics.values()}

    def assignment(places: Places) -> consumer_group_describe.Assignment:
        return consumer_group_describe.Assignment(
            topic_partitions=[
                consumer_group_describe.TopicPartitions(
                    topic_id=topic_id, topic_name=names.get(topic_id, ""), partitions=indexes
                )
                for topic_id, indexes in _by_topic(places).items()
            ]
        )

    for name, answer in call.each(request.group_ids, consumer_group_describe.DescribedGroup, response.groups):
        with call.refusing(answer):
            group = _described(call, name, ConsumerGroup)
            if group is None:
                raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
            answer.group_state, answer.assignor_name = group.state, group.assignor
            answer.group_epoch, answer.assignment_epoch = group.epoch, group.assigned_epoch
            answer.members = [
                consumer_group_describe.Member(
                    member_id=one.id,
                    instance_id=one.instance,
                    rack_id=one.rack,
                    member_epoch=one.epoch,
                    client_id=one.client_id,
                    client_host=f"/{one.host}",
                    subscribed_topic_names=one.names,
                    subscribed_topic_regex=one.regex or "",
                    assignment=assignment(one.assigned),
                    target_assignment=assignment(one.target),
                    member_type=1 if call.version else -1,
                )
                for one in group.members.values()
            ]


@answers
def delete_groups(call: Call, request: kafka.DeleteGroupsRequest, response: kafka.DeleteGroupsResponse) -> None:
    for name, answer in call.each(request.groups_names, DeletableGroupResult, response.results):
        with call.refusing(answer):
            call.coordinate(name)
            group = call.cluster.groups.get(name)
            if group is None or not group.exists:
                raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
            if group.members.state != EMPTY:
                raise Refused(ErrorCode.NON_EMPTY_GROUP)
            del call.cluster.groups[name]


@answers
def commit_offsets(call: Call, request: kafka.OffsetCommitRequest, response: kafka.OffsetCommitResponse) -> None:
    """Commit offsets of a member, or of a client that is not in a group."""
    member, epoch = request.member_id, request.generation_id_or_member_epoch
    for topic, found in call.each(request.topics, offset_commit.OffsetCommitResponseTopic, response.topics):
        for part, answer in call.each(
            topic.partitions, offset_commit.OffsetCommitResponsePartition, found.partitions
        ):
            with call.refusing(answer):
                _check_store(call)
                call.topic(topic.name, topic.topic_id, part.partition_index)
                group = call.group(request.group_id, named=False)
                if group.members.kind == "consumer" and call.version < 9:
                    raise Refused(ErrorCode.UNSUPPORTED_VERSION)
                if not group.exists and epoch >= 0:
                    newer = call.version >= 9
                    raise Refused(ErrorCode.GROUP_ID_NOT_FOUND if newer else ErrorCode.ILLEGAL_GENERATION)
                group.check(member, epoch, request.group_instance_id)
                commit(call, group.offsets, topic, part)


def commit(
    call: Call,
    offsets: dict[tuple[str, int], Committed],
    topic: offset_commit.OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic,
    part: offset_commit.OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
) -> None:
    """Store the committed offset of a partition."""
    if len(part.committed_metadata or "") > MAX_METADATA:
        raise Refused(ErrorCode.OFFSET_METADATA_TOO_LARGE)
    name = call.topic(topic.name, topic.topic_id, part.partition_index).name
    offsets[name, part.partition_index] = Committed(
        part.committed_offset, part.committed_leader_epoch, part.committed_metadata
    )


@answers
def fetch_offsets(call: Call, request: kafka.OffsetFetchRequest, response: kafka.OffsetFetchResponse) -> None:
    """Respond with committed offsets. Since version 8, a request may ask for several groups."""
    if call.version < 8:
        _fetch(call, request, response, stable=request.require_stable)
    for asked, answer in call.each(request.groups, offset_fetch.OffsetFetchResponseGroup, response.groups):
        with call.refusing(answer):
            _fetch(call, asked, answer, stable=request.require_stable)


def _fetch(call: Call, asked: Any, answer: Any, *, stable: bool) -> None:
    """Fill in the offsets of one group. ``asked`` and ``answer`` are messages, or elements of them."""
    topics = asked.topics
    if call.version >= 2:  # older versions have error codes only for partitions
        group = _readable(call, asked)
        if topics is None:
            topics = _all(call, group)
    cls: Any = offset_fetch.OffsetFetchResponseTopics
    parts: Any = offset_fetch.OffsetFetchResponsePartitions
    if call.version < 8:
        cls, parts = offset_fetch.OffsetFetchResponseTopic, offset_fetch.OffsetFetchResponsePartition
    for topic, found in call.each(topics, cls, answer.topics):
        for index, part in call.each(topic.partition_indexes, parts, found.partitions):
            part.committed_offset = -1
            with call.refusing(part):
                _check_store(call)
                group = _readable(call, asked)
                known = call.cluster.find(topic.name, getattr(topic, "topic_id", ZERO_UUID))
                if known is None and call.version >= 10:
                    raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
                place = known.name if known else topic.name, index
                if stable and any(place in offsets for offsets in group.pending.values()):
                    raise Refused(ErrorCode.UNSTABLE_OFFSET_COMMIT)
                kept = group.offsets.get(place, Committed(-1))
                part.committed_offset, part.committed_leader_epoch, part.metadata = kept


def _readable(call: Call, asked: Any) -> Group:
    """Return the group that a request reads, or a new group without offsets if it does not exist."""
    call.coordinate(asked.group_id)
    group = call.cluster.groups.get(asked.group_id) or Group(call.cluster.clock)
    if group.exists and getattr(asked, "member_id", None) and asked.member_epoch >= 0:
        group.members.check_commit(asked.member_id, asked.member_epoch, None)
    return group


def _all(call: Call, group: Group) -> list[offset_fetch.OffsetFetchRequestTopics]:
    """Return request elements for all offsets of a group."""
    wanted: dict[tuple[str, Uuid], list[int]] = defaultdict(list)
    for name, index in group.offsets:
        topic = call.cluster.find(name)
        wanted[name, topic.id if topic else ZERO_UUID].append(index)
    return [
        offset_fetch.OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=indexes)
        for (name, topic_id), indexes in wanted.items()
    ]


def _check_store(call: Call) -> None:
    """Raise ``Refused`` for a request to read from ZooKeeper if the release cannot store offsets there."""
    if call.version == 0 and at_least(call.cluster.release, 3, 3):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)


def _described(call: Call, name: str, kind: type[K]) -> K | None:
    """Return the members of a group, or ``None`` if the group does not exist or has another type."""
    call.coordinate(name)
    group = call.cluster.groups.get(name)
    return group.members if group and group.exists and isinstance(group.members, kind) else None


def _by_topic(places: Places) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = defaultdict(list)
    for topic_id, index in sorted(places):
        found[topic_id].append(index)
    return found
