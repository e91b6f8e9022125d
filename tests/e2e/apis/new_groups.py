"""Groups that are led by heartbeats: of consumers [KIP-848] and of Kafka Streams [KIP-1071]."""

from __future__ import annotations

from typing import Any

from kwire.uuids import Uuid
from kwire_kafka.errors import ErrorCode
from tests.e2e.apis.groups import join, offsets, reading
from tests.e2e.walk import Fields, Walk

JOIN, LEAVE = 0, -1
LATEST = 99
"""A turn in which every API is asked in its highest version."""


def member_id(name: str) -> str:
    """An id such as clients make up."""
    return str(Uuid(name.encode().ljust(16, b".")[:16]))


def beat(walk: Walk, kind: str, version: int, group: str, wishes: Fields) -> Any:
    """Join a group and send heartbeats until one brings work; that answer, with member id and epoch."""
    api = f"{kind}GroupHeartbeat"
    first = {"group_id": group, "member_id": member_id(group), "member_epoch": JOIN, **wishes}
    walk.find_coordinator(group)
    answer = walk.ask(api, version, **first)

    def next_beat() -> Any:
        nonlocal answer
        if not has_work(answer):
            fields = {"group_id": group, "member_id": answer.member_id, "member_epoch": answer.member_epoch}
            answer = walk.ask(api, version, **fields)
        return has_work(answer)

    walk.wait("an assignment", next_beat)
    return answer


def has_work(answer: Any) -> bool:
    if hasattr(answer, "active_tasks"):
        return bool(answer.active_tasks)
    return answer.assignment is not None and bool(answer.assignment.topic_partitions)


def consumer_groups(walk: Walk) -> None:
    topic = walk.topic("consumed", 2)
    for version in walk.versions("ConsumerGroupHeartbeat"):
        group = f"consumers-{version}"
        wishes = {"rebalance_timeout_ms": 30000, "subscribed_topic_names": ["consumed"], "topic_partitions": []}
        answer = beat(walk, "Consumer", version, group, wishes)
        member = {"member_id": answer.member_id, "member_epoch": answer.member_epoch}
        _offsets(walk, topic, group, member)
        for described in walk.every("ConsumerGroupDescribe", group_ids=[group], include_authorized_operations=True):
            assert described.groups[0].members[0].member_id == answer.member_id
        walk.ask("ConsumerGroupHeartbeat", version, group_id=group, member_id=answer.member_id, member_epoch=LEAVE)
    if 1 in walk.versions("ConsumerGroupHeartbeat"):
        _by_pattern(walk)


def _offsets(walk: Walk, topic: Uuid, group: str, member: dict[str, Any]) -> None:
    """From version 9 on members of these groups may commit and fetch; version 10 names topics by id."""
    partitions = [{"partition_index": 0, "committed_offset": 3, "committed_metadata": "x"}]
    commit = {
        "group_id": group,
        "member_id": member["member_id"],
        "generation_id_or_member_epoch": member["member_epoch"],
        "topics": [{"name": "consumed", "topic_id": topic, "partitions": partitions}],
    }
    for version in (version for version in walk.versions("OffsetCommit") if version >= 9):
        walk.ask("OffsetCommit", version, **commit)
    asked = reading("consumed", group, topic, **member)
    for version in (version for version in walk.versions("OffsetFetch") if version >= 9):
        fetched = offsets(walk.ask("OffsetFetch", version, **asked))
        assert [partition.committed_offset for partition in fetched] == [3, -1]


def _by_pattern(walk: Walk) -> None:
    wishes = {"rebalance_timeout_ms": 30000, "subscribed_topic_regex": "consume[d]", "topic_partitions": []}
    answer = beat(walk, "Consumer", 1, "pattern", wishes)
    walk.ask("ConsumerGroupHeartbeat", 1, group_id="pattern", member_id=answer.member_id, member_epoch=LEAVE)


def mixed_groups(walk: Walk) -> None:
    """A member of the classic protocol joins a group of the new one, which keeps what the classic one needs."""
    walk.topic("mixed")
    version = walk.versions("ConsumerGroupHeartbeat")[-1]
    wishes = {"rebalance_timeout_ms": 30000, "subscribed_topic_names": ["mixed"], "topic_partitions": []}
    modern = beat(walk, "Consumer", version, "mixed", wishes)
    classic = join(walk, LATEST, "mixed", group_id="mixed")
    generation = {"member_id": classic.member_id, "generation_id": classic.generation_id}
    protocol = {"protocol_type": classic.protocol_type, "protocol_name": classic.protocol_name}
    walk.latest("SyncGroup", group_id="mixed", **generation, **protocol)
    (group,) = walk.latest("ConsumerGroupDescribe", group_ids=["mixed"]).groups
    assert {found.member_id for found in group.members} == {modern.member_id, classic.member_id}
    walk.latest("LeaveGroup", group_id="mixed", members=[{"member_id": classic.member_id}])
    walk.ask("ConsumerGroupHeartbeat", version, group_id="mixed", member_id=modern.member_id, member_epoch=LEAVE)


def streams_groups(walk: Walk) -> None:
    if not walk.has("StreamsGroupHeartbeat"):
        return
    walk.topic("streamed")
    changelog = {
        "name": "app-store-changelog",
        "partitions": 0,
        "replication_factor": 1,
        "topic_configs": [{"key": "cleanup.policy", "value": "compact"}],
    }
    part = {"subtopology_id": "0", "source_topics": ["streamed"], "state_changelog_topics": [changelog]}
    wishes = {
        "rebalance_timeout_ms": 30000,
        "topology": {"epoch": 0, "subtopologies": [part]},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "process-1",
        "user_endpoint": {"host": "host-1", "port": 60000},
        "client_tags": [{"key": "zone", "value": "a"}],
    }
    walk.topic("app-store-changelog")
    for version in walk.versions("StreamsGroupHeartbeat"):
        group = f"streams-{version}"
        answer = beat(walk, "Streams", version, group, wishes)
        _described_topology(walk, {"group_id": group, "member_id": answer.member_id})
        walk.every("StreamsGroupDescribe", group_ids=[group], include_authorized_operations=True)
        walk.ask("StreamsGroupHeartbeat", version, group_id=group, member_id=answer.member_id, member_epoch=LEAVE)


def _described_topology(walk: Walk, member: Fields) -> None:
    """A broker keeps descriptions only with a plugin that stores them; without one it says so."""
    node = {"name": "KSTREAM-SOURCE-0000000000", "node_type": 1, "source_topics": ["streamed"]}
    parts = [{"subtopology_id": "0", "nodes": [node]}]
    walk.every(
        "StreamsGroupTopologyDescriptionUpdate",
        **member,
        topology_epoch=0,
        topology_description={"subtopologies": parts, "global_stores": []},
        allow={ErrorCode.UNSUPPORTED_VERSION},
    )
