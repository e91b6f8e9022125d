"""Groups of KIP-848: the broker assigns, and members take over one after another."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kwire.client import Client
from kwire_kafka import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest,
    OffsetCommitRequest,
)
from kwire_kafka.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequestTopicPartitions
from kwire_kafka.api.create_partitions import CreatePartitionsTopic
from kwire_kafka.api.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.talking import ask, connected, ids, talk


class Member:
    """A consumer that gives up and takes over what it is told."""

    def __init__(self, client: Client, name: str, **fields: Any) -> None:
        self.client, self.name, self.epoch, self.owned = client, name, 0, dict[Any, list[int]]()
        self.fields: dict[str, Any] = {"subscribed_topic_names": ["t"], "rebalance_timeout_ms": 10_000} | fields

    async def beat(self, epoch: int | None = None, **fields: Any) -> Any:
        owned = [
            ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=topic_id, partitions=indexes)
            for topic_id, indexes in self.owned.items()
        ]
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id=self.name,
            member_epoch=self.epoch if epoch is None else epoch,
            topic_partitions=owned,
            **self.fields | fields,
        )
        answer = await ask(self.client, request)
        if answer.error_code == 0 and epoch is None:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    @property
    def reads(self) -> list[int]:
        return sorted(index for indexes in self.owned.values() for index in indexes)


def test_partitions_move_when_they_are_free() -> None:
    async def run() -> Any:
        async with FakeBroker("4.4", {"t": 4}) as broker, connected(broker) as client:
            one, two = Member(client, "one"), Member(client, "two")
            await one.beat()
            steps = [(one.reads, two.reads)]
            for member in (two, one, two, one, two):
                await member.beat()
                steps.append((one.reads, two.reads))
            [described] = (await ask(client, ConsumerGroupDescribeRequest(group_ids=["g"]))).groups
            await two.beat(-1)
            for _ in range(2):
                await one.beat()
            return steps, described.group_state, one.reads

    assert asyncio.run(run()) == (
        [
            ([0, 1, 2, 3], []),
            ([0, 1, 2, 3], []),  # nothing is free yet
            ([0, 1], []),  # revoked, and still held
            ([0, 1], []),
            ([0, 1], []),  # released
            ([0, 1], [2, 3]),
        ],
        "Stable",
        [0, 1, 2, 3],
    )


@pytest.mark.parametrize(("assignor", "shares"), [("uniform", [[0, 1, 2], [3, 4]]), ("range", [[0, 1, 2], [3, 4]])])
def test_members_choose_the_assignor(assignor: str, shares: list[list[int]]) -> None:
    async def run(client: Client) -> Any:
        members = [Member(client, name, server_assignor=assignor) for name in ("a", "b")]
        for _ in range(6):
            for member in members:
                await member.beat()
        return sorted(member.reads for member in members)

    assert talk(FakeBroker("4.4", {"t": 5}), run) == shares


def test_new_partitions_are_assigned() -> None:
    async def run(client: Client) -> Any:
        member = Member(client, "one", subscribed_topic_names=[], subscribed_topic_regex="[st]")
        await member.beat()
        await ask(client, CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="t", count=3)]))
        await member.beat()
        return member.reads

    assert talk(FakeBroker("4.4", {"t": 1}), run) == [0, 1, 2]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"epoch": 7}, ErrorCode.FENCED_MEMBER_EPOCH),
        ({"epoch": 1, "server_assignor": "mine"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"epoch": 1, "subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_a_wrong_heartbeat_is_refused(fields: dict[str, Any], error: int) -> None:
    async def run(client: Client) -> Any:
        member = Member(client, "one")
        await member.beat()
        return (await member.beat(**fields)).error_code

    assert talk(FakeBroker("4.4", {"t": 1}), run) == error


def test_members_end_with_their_session() -> None:
    async def run() -> Any:
        async with FakeBroker("4.4", {"t": 1}) as broker, connected(broker) as client:
            member = Member(client, "one")
            await member.beat()
            broker.advance(46)
            return (await member.beat()).error_code

    assert asyncio.run(run()) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_is_replaced_after_it_left() -> None:
    async def run(client: Client) -> Any:
        old, new = Member(client, "old", instance_id="i"), Member(client, "new", instance_id="i")
        await old.beat()
        refused = (await new.beat()).error_code
        await old.beat(-2)
        await new.beat()
        return refused, new.reads

    assert talk(FakeBroker("4.4", {"t": 2}), run) == (ErrorCode.UNRELEASED_INSTANCE_ID, [0, 1])


def test_only_the_epoch_of_the_member_commits() -> None:
    async def run() -> Any:
        async with FakeBroker("4.4", {"t": 1}) as broker, connected(broker) as client:
            member = Member(client, "one")
            await member.beat()
            part = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
            topics = [OffsetCommitRequestTopic(topic_id=(await ids(client))["t"], partitions=[part])]
            codes = []
            for epoch in (member.epoch + 1, member.epoch):
                request = OffsetCommitRequest(
                    group_id="g", member_id="one", generation_id_or_member_epoch=epoch, topics=topics
                )
                codes.append((await ask(client, request)).topics[0].partitions[0].error_code)
            return codes, broker.offsets("g")

    assert asyncio.run(run()) == ([ErrorCode.STALE_MEMBER_EPOCH, 0], {("t", 0): 5})
