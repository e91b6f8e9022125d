"""Share groups [KIP-932]: members that acknowledge record by record, and the state that brokers keep of it."""

from __future__ import annotations

from typing import Any

from kwire.records import encode_batch
from kwire.uuids import Uuid
from tests.e2e.apis.data import produce, read, some_records
from tests.e2e.apis.new_groups import LEAVE, beat
from tests.e2e.walk import SHARE, Walk

ACCEPT = 1
ACQUIRED_ONCE = {"delivery_state": 0, "delivery_count": 1}


def share_groups(walk: Walk) -> None:
    """A member gets records, accepts some with ShareAcknowledge and the rest with its next ShareFetch."""
    if not walk.has("ShareFetch"):
        return
    topic = walk.topic("shared")
    heartbeat = walk.versions("ShareGroupHeartbeat")[-1]
    for turn in walk.turns("ShareFetch", "ShareAcknowledge"):
        group = f"shares-{turn}"
        answer = beat(walk, "Share", heartbeat, group, {"subscribed_topic_names": ["shared"]})
        member = {"group_id": group, "member_id": answer.member_id}
        _share(walk, turn, topic, member)
        walk.every("ShareGroupDescribe", group_ids=[group], include_authorized_operations=True)
        asked = [{"group_id": group, "topics": [{"topic_name": "shared", "partitions": [0]}]}]
        walk.every("DescribeShareGroupOffsets", groups=asked)
        walk.ask("ShareGroupHeartbeat", heartbeat, **member, member_epoch=LEAVE)
        partitions = [{"partition_index": 0, "start_offset": 1}]
        walk.every(
            "AlterShareGroupOffsets", group_id=group, topics=[{"topic_name": "shared", "partitions": partitions}]
        )
        walk.every("DeleteShareGroupOffsets", group_id=group, topics=[{"topic_name": "shared"}])


def _share(walk: Walk, turn: int, topic: Uuid, member: dict[str, str]) -> None:
    fetching = {**member, "max_wait_ms": 200, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 2, "batch_size": 2}
    epoch = 0

    def acquired() -> Any:
        """A group starts at the end of the log, when it first fetches: what is produced afterwards is for it."""
        nonlocal epoch
        topics = [] if epoch else [{"topic_id": topic, "partitions": [{"partition_index": 0}]}]
        response = walk.turn("ShareFetch", turn, **fetching, share_session_epoch=epoch, topics=topics)
        epoch += 1
        produce(walk, "shared", topic, encode_batch(some_records(2)), 2)
        return [part for response in response.responses for part in response.partitions if part.acquired_records]

    (partition,) = walk.wait("records to share", acquired)
    assert read(walk, partition.records)
    walk.turn("ShareAcknowledge", turn, **member, share_session_epoch=epoch, topics=_accept(topic, partition))
    epoch += 1
    (partition,) = walk.wait("more records to share", acquired)
    walk.turn("ShareFetch", turn, **fetching, share_session_epoch=epoch, topics=_accept(topic, partition))
    walk.turn("ShareFetch", turn, **fetching, share_session_epoch=-1, topics=[])


def _accept(topic: Uuid, partition: Any) -> list[dict[str, Any]]:
    batches = [
        {"first_offset": run.first_offset, "last_offset": run.last_offset, "acknowledge_types": [ACCEPT]}
        for run in partition.acquired_records
    ]
    return [{"topic_id": topic, "partitions": [{"partition_index": 0, "acknowledgement_batches": batches}]}]


def share_state(walk: Walk) -> None:
    """What partition leaders tell the share coordinator, about a group that has no members."""
    if not walk.has("InitializeShareGroupState"):
        return
    topic = walk.topic("share-state")

    def about(**partition: Any) -> dict[str, Any]:
        return {
            "group_id": "stateful",
            "topics": [{"topic_id": topic, "partitions": [{"partition": 0, **partition}]}],
        }

    key = f"stateful:{topic}:0"
    walk.find_coordinator(key, SHARE)
    walk.every("InitializeShareGroupState", **about(state_epoch=1, start_offset=0))
    batch = {"first_offset": 2, "last_offset": 5, **ACQUIRED_ONCE}
    walk.every("WriteShareGroupState", **about(state_epoch=1, leader_epoch=0, start_offset=2, state_batches=[batch]))
    (found,) = walk.every("ReadShareGroupState", **about(leader_epoch=0))
    assert [run.last_offset for run in found.results[0].partitions[0].state_batches] == [5]
    walk.every("ReadShareGroupStateSummary", **about(leader_epoch=0))
    walk.every("DeleteShareGroupState", **about())
