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


@answers(ConsumerGroupHeartbeatRequest)
def consumer_group_heartbeat(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    """Answer with the epoch of a member, and its assignment if that is new."""
    try:
        group = call.group(request.group_id).consumer()
        topics = {name: (topic.id, len(topic.partitions)) for name, topic in call.cluster.topics.items()}
        member = group.heartbeat(request, topics, call.client_id or "", call.host)
    except Refused as refusal:
        return ConsumerGroupHeartbeatResponse(error_code=refusal.error, error_message=str(refusal))
    answer = ConsumerGroupHeartbeatResponse(
        member_id=member.id, member_epoch=member.epoch, heartbeat_interval_ms=int(HEARTBEAT * 1000)
    )
    whole = request.topic_partitions is not None and request.subscribed_topic_names is not None
    if member.epoch > 0 and (whole or member.told != member.assigned):
        member.told = {*member.assigned}
        answer.assignment = Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=indexes)
                for topic_id, indexes in _by_topic(member.assigned).items()
            ]
        )
    return answer


@answers(ConsumerGroupDescribeRequest)
def consumer_group_describe(call: Call, request: ConsumerGroupDescribeRequest) -> ConsumerGroupDescribeResponse:
    """Answer with members and assignments."""
    return ConsumerGroupDescribeResponse(groups=[_described(call, name) for name in request.group_ids])


def _described(call: Call, name: str) -> DescribedGroup:
    try:
        call.coordinate(name)
        found = call.cluster.groups.get(name)
        if found is None or not isinstance(found.members, ConsumerGroup):
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
    except Refused as refusal:
        return DescribedGroup(group_id=name, error_code=refusal.error)
    group = found.members

    def assignment(places: Places) -> DescribedAssignment:
        names = {topic.id: topic.name for topic in call.cluster.topics.values()}
        return DescribedAssignment(
            topic_partitions=[
                TopicPartitions(topic_id=topic_id, topic_name=names.get(topic_id, ""), partitions=indexes)
                for topic_id, indexes in _by_topic(places).items()
            ]
        )

    return DescribedGroup(
        group_id=name,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.epoch,
        assignor_name=group.assignor,
        members=[
            Member(
                member_id=one.id,
                instance_id=one.instance,
                rack_id=one.rack,
                member_epoch=one.epoch,
                client_id=one.client_id,
                client_host=f"/{one.host}",
                subscribed_topic_names=one.names,
                subscribed_topic_regex=one.regex,
                assignment=assignment(one.assigned),
                target_assignment=assignment(one.target),
                member_type=1 if call.version else -1,
            )
            for one in group.members.values()
        ],
    )


def _by_topic(places: Places) -> dict[Uuid, list[int]]:
    found: dict[Uuid, list[int]] = defaultdict(list)
    for topic_id, index in sorted(places):
        found[topic_id].append(index)
    return found
