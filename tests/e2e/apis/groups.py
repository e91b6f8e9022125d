"""Groups of the classic protocol, and their offsets."""

from __future__ import annotations

from typing import Any

from kwire.uuids import Uuid
from kwire_kafka import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kwire_kafka.data.consumer_protocol_assignment import TopicPartition
from kwire_kafka.errors import ErrorCode
from tests.e2e.walk import GROUP, Walk

IN_ZOOKEEPER = {ErrorCode.UNSUPPORTED_VERSION}
"""The answer in version 0 of committing and fetching offsets: that version kept them in ZooKeeper, and Kafka 3.9.1
lists it nevertheless when there is none."""

ASSIGNMENT = b"\0\1" + ConsumerProtocolAssignment(
    assigned_partitions=[TopicPartition(topic="grouped", partitions=[0, 1])]
).encode(1)


def subscription(topic: str) -> bytes:
    """What a consumer tells its group about itself: a version and a message [KAFKA-WIRE 40]."""
    return b"\0\1" + ConsumerProtocolSubscription(topics=[topic]).encode(1)


def classic_groups(walk: Walk) -> None:
    topic = walk.topic("grouped", 2)
    walk.every("FindCoordinator", key="group-0", key_type=GROUP, coordinator_keys=["group-0", "group-1"])
    for turn in walk.turns(
        "JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "OffsetFetch", "DescribeGroups", "LeaveGroup"
    ):
        _life(walk, turn, topic)
    walk.every("ListGroups", states_filter=["Stable", "Empty"], types_filter=["classic"])
    _offsets_without_members(walk, topic)


def _life(walk: Walk, turn: int, topic: Uuid) -> None:
    """A member joins, syncs, lives, commits and leaves; every second one with an instance id of its own."""
    group = {"group_id": f"group-{turn}"}
    version = walk.versions("JoinGroup")[min(turn, len(walk.versions("JoinGroup")) - 1)]
    instance = {"group_instance_id": f"instance-{turn}" if turn % 2 and version >= 5 else None}
    joined = join(walk, turn, "grouped", **group, **instance)
    member = {**group, **instance, "member_id": joined.member_id}
    generation = {"generation_id": joined.generation_id}
    walk.turn(
        "SyncGroup",
        turn,
        **member,
        **generation,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": joined.member_id, "assignment": ASSIGNMENT}],
    )
    walk.turn("Heartbeat", turn, **member, **generation)
    epoch = {"generation_id_or_member_epoch": joined.generation_id}
    walk.turn("OffsetCommit", turn, **member, **epoch, topics=commits(topic), allow=IN_ZOOKEEPER)
    kept_nothing = walk.versions("OffsetFetch")[turn : turn + 1] == [0]
    fetched = walk.turn("OffsetFetch", turn, **reading("grouped", group["group_id"], topic), allow=IN_ZOOKEEPER)
    assert {partition.committed_offset for partition in offsets(fetched)} == ({-1} if kept_nothing else {2, -1})
    described = walk.turn("DescribeGroups", turn, groups=[group["group_id"]], include_authorized_operations=True)
    assert described.groups[0].group_state == "Stable"
    leaving = {"member_id": joined.member_id, "reason": "done", **instance}
    walk.turn("LeaveGroup", turn, **group, member_id=joined.member_id, members=[leaving])


def join(walk: Walk, turn: int, topic: str, **member: Any) -> Any:
    """Join as a member that reads ``topic``: in two steps, where a version demands it of who has no instance id."""
    joining = {
        "session_timeout_ms": 30000,
        "rebalance_timeout_ms": 30000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": name, "metadata": subscription(topic)} for name in ("range", "sticky")],
        "reason": "end to end",
        **member,
    }
    joined = walk.turn("JoinGroup", turn, **joining, allow={ErrorCode.MEMBER_ID_REQUIRED})
    if joined.error_code:
        joined = walk.turn("JoinGroup", turn, **{**joining, "member_id": joined.member_id})
    return joined


def commits(topic: Uuid) -> list[dict[str, Any]]:
    partition = {"partition_index": 0, "committed_offset": 2, "committed_leader_epoch": 0}
    return [{"name": "grouped", "topic_id": topic, "partitions": [{**partition, "committed_metadata": "mäh"}]}]


def reading(name: str, group: str, topic: Uuid, **member: Any) -> dict[str, Any]:
    """Both forms of asking for committed offsets of a topic: of one group, and of several."""
    wanted = {"name": name, "partition_indexes": [0, 1]}
    groups = [{"group_id": group, "topics": [{**wanted, "topic_id": topic}], **member}]
    return {"group_id": group, "topics": [wanted], "groups": groups, "require_stable": True}


def offsets(fetched: Any) -> list[Any]:
    groups = fetched.groups or [fetched]
    return [partition for group in groups for topic in group.topics for partition in topic.partitions]


def _offsets_without_members(walk: Walk, topic: Uuid) -> None:
    alone = {"generation_id_or_member_epoch": -1, "topics": commits(topic)}
    walk.latest("OffsetCommit", **alone, group_id="forgetful")
    for version in (version for version in walk.versions("OffsetFetch") if version >= 2):
        everything = {"group_id": "forgetful", "topics": None, "groups": [{"group_id": "forgetful", "topics": None}]}
        assert offsets(walk.ask("OffsetFetch", version, **everything))
    partitions = [{"partition_index": 0}]
    walk.every("OffsetDelete", group_id="forgetful", topics=[{"name": "grouped", "partitions": partitions}])
    for version in walk.versions("DeleteGroups"):
        walk.latest("OffsetCommit", **alone, group_id=f"doomed-{version}")
        walk.ask("DeleteGroups", version, groups_names=[f"doomed-{version}"])
