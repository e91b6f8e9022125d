"""ConsumerGroupHeartbeat and ConsumerGroupDescribe [KIP-848]."""

from __future__ import annotations

from collections import defaultdict

from kwire import Uuid
from kwire_kafka import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kwire_kafka.api.consumer_group_describe import Assignment as DescribedAssignment
from kwire_kafka.api.consumer_group_describe import DescribedGroup, Member, TopicPartitions
from kwire_kafka.api.consumer_group_heartbeat import Assignment, ConsumerGroupHeartbeatResponseTopicPartitions
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.consumers import HEARTBEAT, ConsumerGroup, Places
from kwire_testing.refusal import Refused


@answers(ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse)
def consumer_group_heartbeat(
    call: Call, request: ConsumerGroupHeartbeatRequest, response: ConsumerGroupHeartbeatResponse
) -> None:
    """Answer with the epoch of a member, and its assignment if that is new."""
    if not request.group_id:
        raise Refused(ErrorCode.INVALID_REQUEST)
    known = call.cluster.group(request.group_id)
    if request.member_epoch and (known is None or not isinstance(known.members, ConsumerGroup)):
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


@answers(ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse)
def consumer_group_describe(
    call: Call, request: ConsumerGroupDescribeRequest, response: ConsumerGroupDescribeResponse
) -> None:
    """Answer with members and assignments."""
    names = {topic.id: topic.name for topic in call.cluster.topics.values()}

    def assignment(places: Places) -> DescribedAssignment:
        return DescribedAssignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, topic_name=names.get(topic_id, ""), partitions=indexes)
                for topic_id, indexes in _by_topic(places).items()
            ]
        )

    def describe(name: str, answer: DescribedGroup) -> None:
        call.coordinate(name)
        found = call.cluster.group(name)
        group = found and found.members
        if not isinstance(group, ConsumerGroup):
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
                assignment=assignment(one.assigned),
                target_assignment=assignment(one.target),
                member_type=1 if call.version else -1,
            )
            for one in group.members.values()
        ]

    response.groups = call.each(request.group_ids, DescribedGroup, describe)


def _by_topic(places: Places) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = defaultdict(list)
    for topic_id, index in sorted(places):
        found[topic_id].append(index)
    return found
