"""Whole conversations of groups of the classic kind: members join, sync, commit, leave, come back and time out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_kafka import JoinGroupRequest, JoinGroupResponse
from kwire_kafka.api.join_group import JoinGroupRequestProtocol
from kwire_kafka.errors import ErrorCode
from kwire_testing import Clock, FakeBroker
from kwire_testing.groups import ClassicGroup
from kwire_testing.refusal import Refused
from tests.testing.transcripts import Speaker, transcript


def joining(member: str = "", *protocols: str, instance: str | None = None, **fields: Any) -> dict[str, Any]:
    """A request to join the group ``g`` with a session of 10 seconds, and 30 for a rebalance."""
    rows = [{"name": name, "metadata": f"of {name}".encode()} for name in protocols or ("range",)]
    times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 30_000}
    named = {"group_id": "g", "member_id": member, "group_instance_id": instance, "protocol_type": "consumer"}
    return named | times | {"protocols": rows} | fields


def member(joined: Any) -> dict[str, Any]:
    return {"group_id": "g", "member_id": joined.member_id, "generation_id": joined.generation_id}


def given(*members: Any) -> dict[str, Any]:
    """The assignments that a leader makes: each member gets a letter."""
    rows = [{"member_id": one.member_id, "assignment": bytes([65 + at])} for at, one in enumerate(members)]
    return {"assignments": rows}


async def enter(a: Speaker) -> Any:
    """Join alone as a new member of version 3, and sync."""
    joined = await a("JoinGroup", 3, **joining())
    await a("SyncGroup", 3, **member(joined), **given(joined))
    return joined


async def both(a: Speaker, b: Speaker, **fields: Any) -> tuple[Any, Any]:
    """Two members, ``a`` leads, in generation 2."""
    one = await enter(a)
    waiting = await b.begin("JoinGroup", 3, **joining(**fields))
    joined = await a("JoinGroup", 3, **joining(one.member_id))
    two = await waiting.answer()
    follower = await b.begin("SyncGroup", 3, **member(two))
    await follower.waits()
    await a("SyncGroup", 3, **member(joined), **given(joined, two))
    await follower.answer()
    return joined, two


def test_members_join_and_share(snapshot: SnapshotAssertion) -> None:
    """A newcomer waits until the others have joined again, and followers wait for the assignments of the leader."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        one, two = await both(a, b)
        for speaker, joined in ((a, one), (b, two)):
            await speaker("Heartbeat", 4, **member(joined))
        await c("DescribeGroups", 5, groups=["g", "none"])
        asked = await c("JoinGroup", 4, **joining())
        await c("Heartbeat", 4, group_id="g", member_id=asked.member_id, generation_id=-1)
        third = await c.begin("JoinGroup", 4, **joining(asked.member_id))
        await third.waits()
        for speaker, joined in ((a, one), (b, two)):
            await speaker("Heartbeat", 0, **member(joined))
        await a("SyncGroup", 3, **member(one))
        await b("DescribeGroups", 0, groups=["g"])
        first = await a.begin("JoinGroup", 3, **joining(one.member_id))
        await first.waits()
        await third.waits()
        await b("LeaveGroup", 0, group_id="g", member_id=two.member_id)
        one, three = await first.answer(), await third.answer()
        await b("Heartbeat", 4, **member(two))
        await b("DescribeGroups", 5, groups=["g"])
        await a("SyncGroup", 5, **member(one), **given(one), protocol_type="consumer", protocol_name="range")
        await c("SyncGroup", 5, **member(three), protocol_type="consumer", protocol_name="sticky")
        await c("SyncGroup", 5, **member(three), protocol_type="connect", protocol_name="range")
        await c("SyncGroup", 5, **member(three), protocol_type="consumer", protocol_name="range")
        await c("SyncGroup", 5, **member(three) | {"generation_id": 2})
        await c("SyncGroup", 5, **member(three) | {"member_id": "stranger"})
        await a("LeaveGroup", 2, group_id="g", member_id=one.member_id)
        await c("Heartbeat", 4, **member(three))
        last = await c("JoinGroup", 9, **joining(three.member_id))
        await c("SyncGroup", 5, **member(last), **given(last))
        await c("LeaveGroup", 1, group_id="g", member_id="stranger")
        await c("LeaveGroup", 1, group_id="g", member_id=last.member_id)
        await c("DescribeGroups", 5, groups=["g"])
        await enter(c)

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def test_members_join_again(snapshot: SnapshotAssertion) -> None:
    """Only the leader, and who brings other protocols, makes the others join."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        one, two = await both(a, b)
        await b("JoinGroup", 3, **joining(two.member_id))
        await a("Heartbeat", 3, **member(one))
        waiting = await a.begin("JoinGroup", 3, **joining(one.member_id))
        await waiting.waits()
        await b("Heartbeat", 3, **member(two))
        two = await b("JoinGroup", 3, **joining(two.member_id))
        one = await waiting.answer()
        await a("JoinGroup", 3, **joining(one.member_id))  # the generation is not complete
        await b("JoinGroup", 3, **joining(two.member_id))
        follower = await b.begin("SyncGroup", 3, **member(two))
        again = await c.begin("JoinGroup", 3, **joining(two.member_id, "range", "sticky"))
        await follower.answer()
        twice = await b.begin("JoinGroup", 3, **joining(two.member_id, "range", "sticky"))
        await again.answer()
        await twice.waits()
        one = await a("JoinGroup", 3, **joining(one.member_id, "sticky", "range"))
        two = await twice.answer()
        await a("SyncGroup", 3, **member(one), **given(one, two))
        await b("SyncGroup", 3, **member(two))
        await b("SyncGroup", 3, **member(two), **given(two, one))
        await a("SyncGroup", 3, **member(one), **given(two, one))
        waiting = await a.begin("JoinGroup", 3, **joining(one.member_id, "sticky", "range"))
        two = await b("JoinGroup", 3, **joining(two.member_id, "range", "sticky"))
        one = await waiting.answer()
        follower = await b.begin("SyncGroup", 3, **member(two))
        await a("SyncGroup", 3, **member(one), **given(one))  # nothing for the other
        await follower.answer()

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def test_protocols(snapshot: SnapshotAssertion) -> None:
    """That one is chosen that all members have and most prefer."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        await a("JoinGroup", 3, **joining() | {"protocols": []})
        one = await a("JoinGroup", 3, **joining("", "x", "y", "z"))
        await b("JoinGroup", 3, **joining("", "w"))
        await b("JoinGroup", 3, **joining("", "x", protocol_type="connect"))
        second = await b.begin("JoinGroup", 3, **joining("", "w", "z", "y"))
        third = await c.begin("JoinGroup", 3, **joining("", "z", "y"))
        await a("JoinGroup", 3, **joining(one.member_id, "x", "y", "z"))
        await second.answer()
        joined = await third.answer()
        await c("DescribeGroups", 5, groups=["g"])
        await c("LeaveGroup", 2, group_id="g", member_id=joined.member_id)
        await b("JoinGroup", 3, **joining("", "x"))
        await b("JoinGroup", 5, **joining("stranger", "y"))

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


@pytest.mark.parametrize("version", [5, 9])
def test_static_members(version: int, snapshot: SnapshotAssertion) -> None:
    """Who comes back with an instance id takes the place of the older, which is fenced."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        one = await a("JoinGroup", version, **joining(instance="i"))
        waiting = await b.begin("JoinGroup", version, **joining(instance="j"))
        one = await a("JoinGroup", version, **joining(one.member_id, instance="i"))
        two = await waiting.answer()
        await a("SyncGroup", 3, **member(one), **given(one, two))
        await b("SyncGroup", 3, **member(two), group_instance_id="j")
        new = await c("JoinGroup", version, **joining(instance="j"))
        await c("SyncGroup", 3, **member(new), group_instance_id="j")
        for api in ("Heartbeat", "SyncGroup"):
            await b(api, 3, **member(two), group_instance_id="j")
            await b(api, 3, **member(two))
        await b("JoinGroup", version, **joining(two.member_id, instance="j"))
        leads = await c("JoinGroup", version, **joining(instance="i"))
        await a("Heartbeat", 3, **member(one), group_instance_id="i")
        await c("SyncGroup", 3, **member(leads))
        await c("DescribeGroups", 5, groups=["g"])
        await a(
            "LeaveGroup",
            3,
            group_id="g",
            members=[
                {"member_id": two.member_id, "group_instance_id": "j"},
                {"member_id": "", "group_instance_id": "j"},
                {"member_id": "", "group_instance_id": "k"},
                {"member_id": "", "group_instance_id": None},
            ],
        )
        waiting = await b.begin("JoinGroup", version, **joining(instance="j"))
        other = await c.begin("JoinGroup", version, **joining(instance="j"))
        await waiting.answer()
        await a("JoinGroup", version, **joining(leads.member_id, instance="i"))
        two = await other.answer()
        changed = await c.begin("JoinGroup", version, **joining("", "range", "sticky", instance="j"))
        await changed.waits()
        await a("JoinGroup", version, **joining(leads.member_id, instance="i"))
        await changed.answer()

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def test_sessions_end(snapshot: SnapshotAssertion) -> None:
    """Each member has its own time, which every request begins again; who waits in a join is kept."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        advance = a.page.broker.advance
        one, two = await both(a, b, session_timeout_ms=20_000)
        for seconds in (9, 9):
            advance(seconds)
            await a("Heartbeat", 3, **member(one))
        await b("Heartbeat", 3, **member(two))
        advance(10.1)
        await a("Heartbeat", 3, **member(one))
        two = await b("JoinGroup", 3, **joining(two.member_id, session_timeout_ms=20_000))
        await b("SyncGroup", 3, **member(two), **given(two))
        third = await c.begin("JoinGroup", 3, **joining())
        for _ in range(2):
            advance(14)
            await b("Heartbeat", 3, **member(two))
            await third.waits()
        advance(2.1)
        await third.answer()
        await b("Heartbeat", 3, **member(two))
        await c("DescribeGroups", 5, groups=["g"])
        advance(10.1)
        await c("DescribeGroups", 5, groups=["g"])
        one = await enter(a)
        newcomer = await b.begin("JoinGroup", 3, **joining())
        advance(7)
        await a("JoinGroup", 3, **joining(one.member_id))
        two = await newcomer.answer()
        advance(7)  # since the generation began, not since it asked
        await b("Heartbeat", 3, **member(two))

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def test_who_does_not_join_again_is_waited_for_as_long_as_the_longest_member_wants(
    snapshot: SnapshotAssertion,
) -> None:
    """In version 0 that is the time of the session."""

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        broker = a.page.broker
        one = await a("JoinGroup", 0, **joining(session_timeout_ms=20_000))
        newcomer = await b.begin("JoinGroup", 1, **joining(session_timeout_ms=60_000, rebalance_timeout_ms=5_000))
        broker.advance(18)
        await newcomer.waits()
        await a("Heartbeat", 3, **member(one))
        broker.advance(2.1)
        two = await newcomer.answer()
        await a("Heartbeat", 3, **member(one))
        third = await c.begin("JoinGroup", 1, **joining(session_timeout_ms=60_000, rebalance_timeout_ms=7_000))
        two = await b("JoinGroup", 1, **joining(two.member_id, session_timeout_ms=60_000, rebalance_timeout_ms=5_000))
        three = await third.answer()
        broker.advance(8)  # that rebalance is over
        follower = await c.begin("SyncGroup", 1, **member(three))
        await follower.waits()
        await b("SyncGroup", 1, **member(two), **given(two, three))
        await follower.answer()

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def test_a_member_that_waits_is_told_that_it_is_removed(snapshot: SnapshotAssertion) -> None:
    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        one = await enter(a)
        asked = await b("JoinGroup", 4, **joining())
        waiting = await b.begin("JoinGroup", 4, **joining(asked.member_id))
        await c("LeaveGroup", 4, group_id="g", members=[{"member_id": asked.member_id}])
        await waiting.answer()
        one = await a("JoinGroup", 3, **joining(one.member_id))
        await a("LeaveGroup", 0, group_id="g", member_id=one.member_id)
        one, two = await both(a, b)
        again = await a.begin("JoinGroup", 3, **joining(one.member_id))
        two = await b("JoinGroup", 3, **joining(two.member_id))
        await again.answer()
        waiting = await b.begin("SyncGroup", 3, **member(two))
        await c("LeaveGroup", 4, group_id="g", members=[{"member_id": two.member_id}])
        await waiting.answer()
        pending = await c("JoinGroup", 4, **joining())
        await c("LeaveGroup", 4, group_id="g", members=[{"member_id": pending.member_id}] * 2)
        await c("JoinGroup", 4, **joining(pending.member_id))

    assert transcript(FakeBroker("3.9"), run, 1, 1, 1) == snapshot


def committing(offset: int = 5, **fields: Any) -> dict[str, Any]:
    part = {"partition_index": 0, "committed_offset": offset}
    return {"group_id": "g", "topics": [{"name": "t", "partitions": [part]}]} | fields


def test_who_may_commit(snapshot: SnapshotAssertion) -> None:
    """Anybody if the group has no members, and members of the generation, but not before their assignments came."""

    async def run(a: Speaker, b: Speaker) -> None:
        def by(joined: Any, **fields: Any) -> dict[str, Any]:
            named = {"member_id": joined.member_id, "generation_id_or_member_epoch": joined.generation_id}
            return committing(**named | fields)

        await a("OffsetCommit", 8, **committing(1))
        await a("OffsetCommit", 8, **committing(2, generation_id_or_member_epoch=0))
        joined = await a("JoinGroup", 3, **joining())
        await a("OffsetCommit", 8, **by(joined, offset=3))
        await a("SyncGroup", 3, **member(joined), **given(joined))
        await a("OffsetCommit", 8, **by(joined, offset=4))
        await a("OffsetCommit", 8, **by(joined, offset=5, generation_id_or_member_epoch=2))
        await a("OffsetCommit", 8, **by(joined, offset=6, member_id="stranger"))
        await a("OffsetCommit", 8, **by(joined, offset=7, group_instance_id="i"))
        await a("OffsetCommit", 8, **committing(8))
        waiting = await b.begin("JoinGroup", 3, **joining())
        await a("OffsetCommit", 8, **by(joined, offset=9))
        a.page.note(a.page.broker.offsets("g"))
        await a("LeaveGroup", 2, group_id="g", member_id=joined.member_id)
        two = await waiting.answer()
        await b("LeaveGroup", 2, group_id="g", member_id=two.member_id)
        await a("OffsetCommit", 8, **by(two, offset=10))
        await a("OffsetCommit", 8, **committing(11))
        await a("OffsetCommit", 8, **committing(12, group_id=""))
        await a("OffsetCommit", 0, **committing(13, group_id=""))
        a.page.note(a.page.broker.offsets("g"), a.page.broker.offsets(""), a.page.broker.offsets("none"))
        third = await b("JoinGroup", 3, **joining())
        await b("SyncGroup", 3, **member(third), **given(third))
        for _ in range(2):  # commits keep the session
            a.page.broker.advance(7)
            await b("OffsetCommit", 8, **by(third, offset=14))

    assert transcript(FakeBroker("3.9", {"t": 1}), run, 1, 1) == snapshot


OFFSETS = [
    {"partition_index": 1, "committed_offset": 5, "committed_leader_epoch": 2, "committed_metadata": "m"},
    {"partition_index": 0, "committed_offset": 6, "committed_metadata": None},
    {"partition_index": 2, "committed_offset": 7},
]


@pytest.mark.parametrize("version", [1, 2, 5, 7, 8, 10])
def test_offsets(version: int, snapshot: SnapshotAssertion) -> None:
    """Committed and fetched in each version, with what is unknown among them."""

    async def run(a: Speaker, b: Speaker) -> None:
        broker = a.page.broker
        broker.move_coordinator("g", 1)
        broker.move_coordinator("h", 1)
        broker.move_coordinator("far", 2)
        made = await a("Metadata", 12, topics=None)
        known = {topic.name: topic.topic_id for topic in made.topics}
        topics = [("t", OFFSETS), ("u", OFFSETS[1:2]), ("none", OFFSETS[1:2])]
        named = [
            {"name": name, "topic_id": known.get(name, b"x" * 16), "partitions": parts} for name, parts in topics
        ]
        if version < 10:
            named = [{name: value for name, value in row.items() if name != "topic_id"} for row in named]
        for group in ("g", "far", ""):
            await a("OffsetCommit", max(version, 2), group_id=group, topics=named)
        await a("OffsetCommit", max(version, 2), group_id="h", topics=named[1:2])
        a.page.note(broker.offsets("g"))
        a.page.lines = a.page.lines[1:]
        wanted = [
            {"name": name, "partition_indexes": indexes} for name, indexes in (("t", [0, 1, 2, 7]), ("none", [0]))
        ]
        if version >= 10:
            wanted = [row | {"topic_id": known.get(row["name"], b"x" * 16)} for row in wanted]
        for asked in (wanted, []) + ((None,) if version >= 2 else ()):
            if version >= 8:
                groups = [{"group_id": group, "topics": asked} for group in ("g", "far", "h", "none")]
                await a("OffsetFetch", version, groups=groups)
            else:
                for group in ("g", "far", "none"):
                    await a("OffsetFetch", max(version, 1), group_id=group, topics=asked)
        await b("DeleteTopics", 5, topic_names=["t"])
        if version >= 8:
            await a("OffsetFetch", version, groups=[{"group_id": "g", "topics": None}])
        a.page.note(broker.offsets("g"))

    assert transcript(FakeBroker("4.4" if version >= 10 else "3.9", {"t": 2, "u": 1}, nodes=2), run, 1, 1) == snapshot


def test_commits_that_a_group_refuses() -> None:
    """Of a generation that an unknown group cannot have, and in versions that have no epochs of members."""

    async def run(a: Speaker) -> None:
        topics = [{"name": "t", "partitions": [{"committed_offset": 1}]}]
        for version in (8, 9):
            fields = {"group_id": "none", "member_id": "m", "generation_id_or_member_epoch": 1}
            await a("OffsetCommit", version, topics=topics, **fields)
        beat = {"rebalance_timeout_ms": 9999, "topic_partitions": [], "subscribed_topic_names": ["t"]}
        await a("ConsumerGroupHeartbeat", 0, group_id="g", member_id="m", **beat)
        for version in (8, 9):
            fields = {"group_id": "g", "member_id": "m", "generation_id_or_member_epoch": 1}
            await a("OffsetCommit", version, topics=topics, **fields)

    answers = transcript(FakeBroker("4.0", {"t": 1}), run)
    assert [line for line in answers if "OffsetCommit" in line] == [
        f"a OffsetCommit {version}: topics=[{{name='t' partitions=[{{{error}}}]}}]"
        for version, error in (
            (8, "error_code=ILLEGAL_GENERATION"),
            (9, "error_code=GROUP_ID_NOT_FOUND"),
            (8, "error_code=UNSUPPORTED_VERSION"),
            (9, ""),
        )
    ]


def test_groups_are_listed_and_removed(snapshot: SnapshotAssertion) -> None:
    """By the node that coordinates them, of the states and kinds that are asked for."""

    async def run(a: Speaker, b: Speaker) -> None:
        for name, node in (("g", 1), ("far", 2), ("idle", 1), ("new", 1), ("connect", 1)):
            a.page.broker.move_coordinator(name, node)
        joined = await enter(a)
        await b("JoinGroup", 3, **joining(joined.member_id))
        for api in ("SyncGroup", "Heartbeat"):
            await b(api, 3, **member(joined))
        await b("LeaveGroup", 0, group_id="g", member_id=joined.member_id)
        await b("JoinGroup", 3, **joining(group_id="far"))
        await a("OffsetCommit", 8, **committing(group_id="idle"))
        await a(
            "ConsumerGroupHeartbeat",
            0,
            group_id="new",
            member_id="m",
            member_epoch=0,
            subscribed_topic_names=["t"],
            topic_partitions=[],
            rebalance_timeout_ms=1,
        )
        await a("JoinGroup", 3, **joining("", "p", protocol_type="connect", group_id="connect"))
        await a("ListGroups", 0)
        await b("ListGroups", 5)
        for states, types in (
            (["stable"], []),
            (["Empty", "CompletingRebalance"], []),
            ([], ["Consumer"]),
            ([], ["classic"]),
            (["STABLE"], ["classic"]),
            (["Dead"], []),
        ):
            await a("ListGroups", 5, states_filter=states, types_filter=types)
        names = ["g", "far", "idle", "new", "none", "connect"]
        await a("DescribeGroups", 6, groups=names)
        await a("DescribeGroups", 5, groups=names)
        await a("ConsumerGroupDescribe", 0, group_ids=names)
        await a("DeleteGroups", 2, groups_names=[*names, "idle"])
        await a("ListGroups", 3)
        await a("OffsetFetch", 7, group_id="idle", topics=None)
        await a("ListGroups", 3)  # asking makes no group
        with a.page.broker.fail("ListGroups", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
            await a("ListGroups", 3)
        with a.page.broker.fail("DeleteGroups", ErrorCode.GROUP_AUTHORIZATION_FAILED, key="g"):
            await a("DeleteGroups", 2, groups_names=["g", "none"])

    assert transcript(FakeBroker("4.0", {"t": 1}, nodes=2), run, 1, 2) == snapshot


def test_a_group_exists_once_a_member_has_an_id() -> None:
    async def run(a: Speaker) -> None:
        found = []
        for _ in range(2):
            found.append([group.group_id for group in (await a("ListGroups", 4)).groups])
            await a("JoinGroup", 4, **joining(group_id="new"))
        assert found == [[], ["new"]]

    transcript(FakeBroker("3.9"), run)


def test_a_group_has_members_of_one_kind(snapshot: SnapshotAssertion) -> None:
    async def run(a: Speaker, b: Speaker) -> None:
        async def beat(epoch: int) -> None:
            fields = {"subscribed_topic_names": ["t"], "topic_partitions": [], "rebalance_timeout_ms": 1}
            await b("ConsumerGroupHeartbeat", 0, group_id="g", member_id="m", member_epoch=epoch, **fields)

        joined = await enter(a)
        await beat(0)
        await a("LeaveGroup", 2, group_id="g", member_id=joined.member_id)
        await beat(0)
        for api, fields in (("JoinGroup", joining()), ("SyncGroup", member(joined)), ("Heartbeat", member(joined))):
            await a(api, 3, **fields)
        await a("LeaveGroup", 2, group_id="g", member_id=joined.member_id)
        await a("LeaveGroup", 3, group_id="g", members=[{"member_id": joined.member_id}])
        await beat(-1)
        await enter(a)

    assert transcript(FakeBroker("4.0", {"t": 1}), run, 1, 1) == snapshot


def test_a_member_that_leaves_before_its_join_is_answered_is_unknown() -> None:
    """The generation begins and all members leave in one step of the loop, before the request that waited goes on."""

    async def main() -> ErrorCode:
        clock = Clock()
        group = ClassicGroup(clock)

        async def join(member: str) -> str:
            fields = {**joining(member), "protocols": [JoinGroupRequestProtocol(name="range")]}
            await group.join(JoinGroupRequest(**fields), response := JoinGroupResponse(), 3, "c", "h")
            return response.member_id

        first = await join("")
        second = asyncio.ensure_future(join(""))
        await asyncio.sleep(0)
        await join(first)
        for one in [*group.members]:
            group.leave(one, None)
        try:
            await second
        except Refused as refused:
            return refused.error
        finally:
            clock.stop()
        return ErrorCode.NONE

    assert asyncio.run(main()) == ErrorCode.UNKNOWN_MEMBER_ID
