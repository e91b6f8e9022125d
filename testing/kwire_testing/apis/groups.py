"""Handlers for groups of both types and for their offsets."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TypeVar

import kwire_kafka as kafka
from kwire import ZERO_UUID, Uuid
from kwire_kafka.api import consumer_group_heartbeat, offset_fetch
from kwire_kafka.api.consumer_group_describe import Assignment, DescribedGroup, Member, TopicPartitions
from kwire_kafka.api.delete_groups import DeletableGroupResult
from kwire_kafka.api.describe_groups import DescribedGroup as DescribedClassicGroup
from kwire_kafka.api.describe_groups import DescribedGroupMember
from kwire_kafka.api.list_groups import ListedGroup
from kwire_kafka.api.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponsePartition,
)
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers, answers_each, at_least
from kwire_testing.groups import ClassicGroup, Committed, ConsumerGroup, Group, Offsets
from kwire_testing.groups.consumer import HEARTBEAT, Places
from kwire_testing.groups.members import EMPTY, STABLE
from kwire_testing.refusal import Refused

K = TypeVar("K", ClassicGroup, ConsumerGroup)
Reading = kafka.OffsetFetchRequest | offset_fetch.OffsetFetchRequestGroup
MAX_METADATA = 4096
"""Maximum length of the metadata that a client may commit with an offset, in characters."""


@answers
async def join_group(call: Call, request: kafka.JoinGroupRequest, response: kafka.JoinGroupResponse) -> None:
    response.generation_id, response.member_id = -1, request.member_id
    response.protocol_name = None if call.version >= 7 else ""
    group = call.group(request.group_id).of_kind(ClassicGroup)
    await group.join(request, response, call.version, call.client_id or "", call.host)


@answers
async def sync_group(call: Call, request: kafka.SyncGroupRequest, response: kafka.SyncGroupResponse) -> None:
    group = call.group(request.group_id).of_kind(ClassicGroup)
    response.assignment = await group.sync(request)
    response.protocol_type, response.protocol_name = group.protocol_type, group.protocol


@answers
def heartbeat(call: Call, request: kafka.HeartbeatRequest, response: kafka.HeartbeatResponse) -> None:
    group = call.group(request.group_id).of_kind(ClassicGroup)
    group.heartbeat(request.member_id, request.generation_id, request.group_instance_id)


@answers
def leave_group(call: Call, request: kafka.LeaveGroupRequest, response: kafka.LeaveGroupResponse) -> None:
    group = call.group(request.group_id).of_kind(ClassicGroup)
    if call.version < 3:
        group.leave(request.member_id, None)
    call.each(lambda one, _: group.leave(one.member_id, one.group_instance_id), request, response, "members")


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
    group = call.group(request.group_id).of_kind(ConsumerGroup)
    topics = {name: (topic.id, len(topic.partitions)) for name, topic in call.cluster.topics.items()}
    member = group.heartbeat(request, topics, call.client_id or "", call.host)
    response.member_id, response.member_epoch = member.id, member.epoch
    response.heartbeat_interval_ms = int(HEARTBEAT * 1000)
    whole = request.topic_partitions is not None and request.subscribed_topic_names is not None
    if member.epoch > 0 and (whole or member.sent != member.assigned):
        member.sent = {*member.assigned}
        cls = consumer_group_heartbeat.ConsumerGroupHeartbeatResponseTopicPartitions
        parts = [
            cls(topic_id=topic_id, partitions=indexes) for topic_id, indexes in _by_topic(member.assigned).items()
        ]
        response.assignment = consumer_group_heartbeat.Assignment(topic_partitions=parts)


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


@answers_each("groups")
def describe_groups(
    call: Call, request: kafka.DescribeGroupsRequest, name: str, answer: DescribedClassicGroup
) -> None:
    """Describe a classic group."""
    answer.group_state = "Dead"
    group = _described(call, name, ClassicGroup)
    if group is None:
        if call.version >= 6:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        return
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


@answers_each("group_ids", "groups")
def describe_consumers(
    call: Call, request: kafka.ConsumerGroupDescribeRequest, name: str, answer: DescribedGroup
) -> None:
    """Describe a group of the consumer type."""
    group = _described(call, name, ConsumerGroup)
    if group is None:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    answer.group_state, answer.assignor_name = group.state, group.assignor
    answer.group_epoch, answer.assignment_epoch = group.epoch, group.assigned_epoch
    answer.members = [
        Member(
            member_id=one.id,
            instance_id=one.instance,
            rack_id=one.rack,
            member_epoch=one.epoch,
            client_id=one.client_id,
            client_host=f"/{one.host}",
            subscribed_topic_names=one.names,
            subscribed_topic_regex=one.regex or "",
            assignment=_assignment(call, one.assigned),
            target_assignment=_assignment(call, one.target),
            member_type=1 if call.version else -1,
        )
        for one in group.members.values()
    ]


def _assignment(call: Call, places: Places) -> Assignment:
    topics = ((topic_id, call.cluster.ids.get(topic_id), indexes) for topic_id, indexes in _by_topic(places).items())
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=topic.name if topic else "", partitions=indexes)
            for topic_id, topic, indexes in topics
        ]
    )


@answers_each("groups_names", "results")
def delete_groups(call: Call, request: kafka.DeleteGroupsRequest, name: str, answer: DeletableGroupResult) -> None:
    """Delete a group without members."""
    call.coordinate(name)
    group = call.cluster.groups.get(name)
    if group is None or not group.exists:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    if group.members.state != EMPTY:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
    del call.cluster.groups[name]


@answers_each("topics.partitions")
def commit_offsets(
    call: Call,
    request: kafka.OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    part: OffsetCommitRequestPartition,
    answer: OffsetCommitResponsePartition,
) -> None:
    """Commit an offset for a group member, or for a client that is not a member."""
    _check_store(call)
    call.topic(topic.name, topic.topic_id, part.partition_index)
    group, epoch = call.group(request.group_id, named=False), request.generation_id_or_member_epoch
    if group.members.kind == "consumer" and call.version < 9:
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)
    if not group.exists and epoch >= 0:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND if call.version >= 9 else ErrorCode.ILLEGAL_GENERATION)
    group.check(request.member_id, epoch, request.group_instance_id)
    commit(call, group.offsets, topic, part)


def commit(
    call: Call,
    offsets: Offsets,
    topic: OffsetCommitRequestTopic | TxnOffsetCommitRequestTopic,
    part: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
) -> None:
    """Store the committed offset of a partition."""
    if len(part.committed_metadata or "") > MAX_METADATA:
        raise Refused(ErrorCode.OFFSET_METADATA_TOO_LARGE)
    name = call.topic(topic.name, topic.topic_id, part.partition_index).name
    offset = Committed(part.committed_offset, part.committed_leader_epoch, part.committed_metadata)
    offsets[name, part.partition_index] = offset


@answers
def fetch_offsets(call: Call, request: kafka.OffsetFetchRequest, response: kafka.OffsetFetchResponse) -> None:
    """Respond with committed offsets. Since version 8, a request may name several groups."""
    if call.version < 8:
        _fetch(call, request, response, stable=request.require_stable)
    call.each(partial(_fetch, call, stable=request.require_stable), request, response, "groups")


def _fetch(call: Call, asked: Reading, answer: object, *, stable: bool) -> None:
    """Fill in the offsets of one group. ``asked`` and ``answer`` are a request and a response, or their elements."""

    def fill(
        topic: offset_fetch.OffsetFetchRequestTopic | offset_fetch.OffsetFetchRequestTopics,
        index: int,
        part: offset_fetch.OffsetFetchResponsePartition | offset_fetch.OffsetFetchResponsePartitions,
    ) -> None:
        part.committed_offset = -1
        _check_store(call)
        group = _readable(call, asked)
        known = call.cluster.find(topic.name, getattr(topic, "topic_id", ZERO_UUID))
        if known is None and call.version >= 10:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        place = known.name if known else topic.name, index
        if stable and any(place in offsets for offsets in group.pending.values()):
            raise Refused(ErrorCode.UNSTABLE_OFFSET_COMMIT)
        committed = group.offsets.get(place, Committed(-1))
        part.committed_offset, part.committed_leader_epoch, part.metadata = committed

    rows: Reading = asked
    if call.version >= 2:  # older versions have error codes only for partitions
        group = _readable(call, asked)
        if asked.topics is None:
            rows = offset_fetch.OffsetFetchRequestGroup(topics=_all(call, group))
    call.each(fill, rows, answer, "topics.partition_indexes", "topics.partitions")


def _readable(call: Call, asked: Reading) -> Group:
    """Return the group that ``asked`` names, or a new group without offsets if no such group exists."""
    call.coordinate(asked.group_id)
    group = call.cluster.groups.get(asked.group_id) or Group(call.cluster.clock)
    if (
        group.exists
        and isinstance(asked, offset_fetch.OffsetFetchRequestGroup)
        and asked.member_id
        and asked.member_epoch >= 0
    ):
        group.members.check_commit(asked.member_id, asked.member_epoch, None)
    return group


def _all(call: Call, group: Group) -> list[offset_fetch.OffsetFetchRequestTopics]:
    """Return request elements for all offsets of a group."""
    indexes: dict[str, list[int]] = defaultdict(list)
    for name, index in group.offsets:
        indexes[name].append(index)
    ids = {name: topic.id if (topic := call.cluster.find(name)) else ZERO_UUID for name in indexes}
    return [
        offset_fetch.OffsetFetchRequestTopics(name=name, topic_id=ids[name], partition_indexes=indexes[name])
        for name in indexes
    ]


def _check_store(call: Call) -> None:
    """Raise ``Refused`` for version 0, which uses ZooKeeper, if the release cannot store offsets there."""
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
