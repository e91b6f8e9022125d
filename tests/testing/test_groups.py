"""Groups of a fake broker: members join, share partitions, commit, leave and are forgotten."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kwire.client import Client
from kwire_kafka import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from kwire_kafka.api.join_group import JoinGroupRequestProtocol
from kwire_kafka.api.leave_group import MemberIdentity
from kwire_kafka.api.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kwire_kafka.api.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics
from kwire_kafka.api.sync_group import SyncGroupRequestAssignment
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.talking import ask, connected, ids, talk


class Member:
    """A consumer that joins, and as leader gives each member its own name."""

    def __init__(self, client: Client, instance: str | None = None, protocols: tuple[str, ...] = ("range",)) -> None:
        self.client, self.instance, self.id, self.generation = client, instance, "", -1
        self.protocols = [JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in protocols]

    async def join(self) -> Any:
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=self.id,
            group_instance_id=self.instance,
            protocol_type="consumer",
            protocols=self.protocols,
        )
        answer = await ask(self.client, request)
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = answer.member_id
            answer = await ask(self.client, request)
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    async def sync(self, members: Any = ()) -> Any:
        given = [SyncGroupRequestAssignment(member_id=one.member_id, assignment=b"its own") for one in members]
        request = SyncGroupRequest(group_id="g", generation_id=self.generation, member_id=self.id, assignments=given)
        return await ask(self.client, request)

    async def enter(self) -> tuple[int, bytes]:
        joined = await self.join()
        return joined.generation_id, (await self.sync(joined.members)).assignment

    async def heartbeat(self) -> int:
        request = HeartbeatRequest(group_id="g", generation_id=self.generation, member_id=self.id)
        code: int = (await ask(self.client, request)).error_code
        return code


def test_two_members_rebalance() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9") as broker, connected(broker) as one, connected(broker) as other:
            first, second = Member(one), Member(other)
            alone = await first.enter()
            joining = asyncio.ensure_future(second.join())
            while await first.heartbeat() == 0:
                pass
            asked = await first.heartbeat()
            leader, follower = await asyncio.gather(first.join(), joining)
            synced = await asyncio.gather(first.sync(leader.members), second.sync())
            await ask(other, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=second.id)]))
            after = await first.heartbeat()
            return alone, asked, len(leader.members), follower.members, synced, after, await first.enter()

    alone, asked, members, none, synced, after, again = asyncio.run(run())
    assert alone == (1, b"its own")
    assert (asked, after) == (ErrorCode.REBALANCE_IN_PROGRESS,) * 2
    assert (members, none) == (2, [])
    assert [one.assignment for one in synced] == [b"its own"] * 2
    assert again == (3, b"its own")


def test_a_silent_member_is_forgotten_when_its_session_ends() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9") as broker, connected(broker) as client:
            member = Member(client)
            await member.enter()
            broker.advance(9)
            alive = await member.heartbeat()
            broker.advance(11)
            return alive, await member.heartbeat()

    assert asyncio.run(run()) == (0, ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_member_that_does_not_join_again_delays_the_others_only_so_long() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9") as broker, connected(broker) as one, connected(broker) as other:
            first, second = Member(one), Member(other)
            await first.enter()
            joining = asyncio.ensure_future(second.join())
            for _ in range(6):  # its session lasts: it still sends heartbeats
                await first.heartbeat()
                broker.advance(7)
            joined = await joining
            return joined.leader == second.id, len(joined.members), await first.heartbeat()

    assert asyncio.run(run()) == (True, 1, ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    async def run(client: Client) -> Any:
        old, new = Member(client, "i"), Member(client, "i")
        await old.enter()
        joined = await new.join()
        synced = await new.sync()
        request = HeartbeatRequest(group_id="g", generation_id=1, member_id=old.id, group_instance_id="i")
        return joined.generation_id, synced.assignment, (await ask(client, request)).error_code

    assert talk(FakeBroker("3.9"), run) == (1, b"its own", ErrorCode.FENCED_INSTANCE_ID)


def test_members_agree_on_a_protocol() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9") as broker, connected(broker) as one, connected(broker) as other:
            first, second = Member(one, protocols=("sticky", "range")), Member(other, protocols=("range",))
            stranger = await Member(other, protocols=()).join()
            await first.enter()
            joining = asyncio.ensure_future(second.join())
            while await first.heartbeat() == 0:
                pass
            await first.join()
            return stranger.error_code, (await joining).protocol_name

    assert asyncio.run(run()) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "range")


def committing(topic_id: bytes, **fields: Any) -> OffsetCommitRequest:
    parts = [OffsetCommitRequestPartition(partition_index=index, committed_offset=7 + index) for index in (0, 1)]
    topic: Any = OffsetCommitRequestTopic(name="t", partitions=parts)
    topic.topic_id = topic_id
    return OffsetCommitRequest(group_id="g", topics=[topic], **fields)


@pytest.mark.parametrize("release", ["0.10.0", "2.0", "2.8", "3.9", "4.4"])
def test_offsets_are_kept_in_every_version(release: str) -> None:
    """OffsetFetch asks for many groups since version 8, and both name topics by id since 10."""
    found: set[tuple[int, int]] = set()

    async def run() -> dict[tuple[str, int], int]:
        async with FakeBroker(release, {"t": 1}) as broker, connected(broker) as client:
            topic_id: Any = (await ids(client))["t"]
            for version in client.versions[8]:
                await ask(client, committing(topic_id), version)
            for version in client.versions[9]:
                old = OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])
                new = OffsetFetchRequestTopics(name="t", topic_id=topic_id, partition_indexes=[0, 1])
                request = (
                    OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[new])])
                    if version >= 8
                    else OffsetFetchRequest(group_id="g", topics=[old])
                )
                answer = await ask(client, request, version)
                [topic] = answer.groups[0].topics if version >= 8 else answer.topics
                found.update((part.partition_index, part.committed_offset) for part in topic.partitions)
            return broker.offsets("g")

    assert asyncio.run(run()) == {("t", 0): 7}
    assert found == {(0, 7), (1, -1)}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "m"}, 0),
        ({"member_id": "m", "generation_id_or_member_epoch": 9}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "stranger", "generation_id_or_member_epoch": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_only_members_of_the_generation_commit(fields: dict[str, Any], error: int) -> None:
    async def run(client: Client) -> Any:
        member = Member(client)
        await member.enter()
        settings = {"generation_id_or_member_epoch": 1} | fields
        if settings.get("member_id") == "m":
            settings["member_id"] = member.id
        answer = await ask(client, committing(bytes(16), **settings), 8)
        return answer.topics[0].partitions[0].error_code

    assert talk(FakeBroker("3.9", {"t": 1}), run) == error


def test_groups_are_listed_described_and_removed() -> None:
    async def run(client: Client) -> Any:
        member = Member(client)
        await member.enter()
        listed = [(one.group_id, one.group_state) for one in (await ask(client, ListGroupsRequest())).groups]
        [described] = (await ask(client, DescribeGroupsRequest(groups=["g"]))).groups
        refused = await ask(client, DeleteGroupsRequest(groups_names=["g", "other"]))
        await ask(client, LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=member.id)]))
        deleted = await ask(client, DeleteGroupsRequest(groups_names=["g"]))
        codes = [one.error_code for answer in (refused, deleted) for one in answer.results]
        return listed, [one.member_assignment for one in described.members], codes

    assert talk(FakeBroker("3.9"), run) == (
        [("g", "Stable")],
        [b"its own"],
        [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND, 0],
    )


def test_one_node_coordinates_a_group() -> None:
    async def run() -> Any:
        async with FakeBroker("3.9", nodes=2) as broker, connected(broker, 1) as one, connected(broker, 2) as two:
            broker.move_coordinator("g", 2)
            found = await ask(one, FindCoordinatorRequest(coordinator_keys=["g"]))
            codes = [(await Member(client).join()).error_code for client in (one, two)]
            return found.coordinators[0].node_id, codes

    assert asyncio.run(run()) == (2, [ErrorCode.NOT_COORDINATOR, 0])
