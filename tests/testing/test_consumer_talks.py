"""Whole conversations of groups of KIP-848, and what holds whatever their members do."""

from __future__ import annotations

from itertools import chain
from random import Random
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire_testing import FakeBroker
from tests.testing.transcripts import Speaker, transcript

API = "ConsumerGroupHeartbeat"


class Consumer:
    """A member that says what it owns, and takes over what it is told."""

    def __init__(self, speaker: Speaker, name: str, *topics: str, version: int = 1, **fields: Any) -> None:
        self.speaker, self.name, self.epoch, self.version = speaker, name, 0, version
        self.owned: dict[Any, list[int]] = {}
        self.first: dict[str, Any] = {"subscribed_topic_names": [*topics], "rebalance_timeout_ms": 10_000} | fields

    async def beat(self, epoch: int | None = None, *, owned: bool = True, **fields: Any) -> Any:
        """Send a heartbeat: the first is whole, later ones have what the test says, and what is owned."""
        rows = [{"topic_id": topic_id, "partitions": parts} for topic_id, parts in self.owned.items()]
        settings = {"group_id": "g", "member_id": self.name, "member_epoch": self.epoch if epoch is None else epoch}
        if owned:
            settings["topic_partitions"] = rows
        if settings["member_epoch"] == 0:
            settings |= self.first | {"topic_partitions": []}
        answer = await self.speaker(API, self.version, **settings | fields)
        if answer.error_code == 0:
            self.name = answer.member_id
            self.epoch = max(answer.member_epoch, 0)
            if answer.assignment is not None:
                self.owned = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def forget(self) -> None:
        self.epoch, self.owned = 0, {}


async def describe(a: Speaker, version: int = 1) -> Any:
    return (await a("ConsumerGroupDescribe", version, group_ids=["g"])).groups[0]


def test_partitions_pass_from_member_to_member(snapshot: SnapshotAssertion) -> None:
    """Who is to give up partitions is told first; who is to get them when they are free."""

    async def run(a: Speaker, b: Speaker) -> None:
        one, two = Consumer(a, "one", "t", "u", rack_id="r"), Consumer(b, "two", "t", "u", "none")
        await describe(a)
        await one.beat()
        await one.beat()
        await one.beat(owned=False)
        await two.beat()
        await describe(a)
        await one.beat()
        await one.beat(owned=False)
        await two.beat()
        await one.beat()
        await describe(a, 0)
        await two.beat()
        await two.beat()
        await describe(a)
        await one.beat(subscribed_topic_names=["u"])
        await one.beat()
        await two.beat()
        await a("CreatePartitions", 3, topics=[{"name": "t", "count": 4, "assignments": None}])
        await two.beat(owned=False)
        await a("CreateTopics", 7, topics=[{"name": "none", "num_partitions": 1, "replication_factor": 1}])
        await two.beat()
        await b("DeleteTopics", 5, topic_names=["t"])
        await describe(a)
        await two.beat()
        await two.beat()
        await describe(a)
        await two.beat(-1)
        await one.beat(-1)
        await describe(a)
        one.forget()
        await one.beat()

    assert transcript(FakeBroker("4.0", {"t": 3, "u": 2}), run, 1, 1) == snapshot


def test_epochs_of_members(snapshot: SnapshotAssertion) -> None:
    """The last one is taken too, as an answer may be lost. Who joins again begins with nothing."""

    async def run(a: Speaker) -> None:
        one, two = Consumer(a, "one", "t"), Consumer(a, "two", "t")
        await one.beat()
        await two.beat()
        await one.beat()
        await one.beat()
        await one.beat(0)
        await one.beat(1)
        await one.beat(2)
        await one.beat(3)
        await one.beat(4)
        await two.beat(1)
        await two.beat(-1)
        await one.beat()
        await one.beat(subscribed_topic_names=["t"])  # whole: the answer is whole too
        await one.beat(subscribed_topic_names=["t"], owned=False)
        await one.beat(2)  # the answer with epoch 3 was lost
        await one.beat(1)
        await two.beat(0)
        await Consumer(a, "three", "t").beat(1)
        await Consumer(a, "three", "t").beat(-1)
        made = Consumer(a, "", "t", version=0)
        await made.beat()
        await made.beat()
        await describe(a)

    assert transcript(FakeBroker("4.0", {"t": 2}), run) == snapshot


def test_who_does_not_release_partitions_in_time_is_removed() -> None:
    """After the time that it named when it joined, from the first heartbeat that told it."""
    lines, seconds = list[str](), 100

    async def run(a: Speaker) -> None:
        one, two, three = (Consumer(a, name, "t", rebalance_timeout_ms=100_000) for name in ("one", "two", "three"))

        async def hold(time: float, *others: Consumer) -> None:
            """Pass time, in which all send heartbeats, and ``one`` releases nothing."""
            kept = dict(one.owned)
            while time > 0:
                a.page.broker.advance(min(time, 30))
                time -= 30
                for member in (one, *others):
                    answer = await member.beat()
                one.owned = dict(kept)
            answer = await one.beat()
            one.owned = dict(kept)
            lines.append(f"{answer.error_code} {sorted(chain(*two.owned.values()))}")

        await one.beat()
        whole = dict(one.owned)
        await two.beat()
        await one.beat()
        told, one.owned = dict(one.owned), whole
        await hold(seconds - 2, two)
        one.owned = told
        await one.beat()
        await hold(seconds + 60, two)  # it has released them: nothing ends
        await three.beat()
        await one.beat()
        one.owned = told
        await hold(seconds - 2, two, three)
        a.page.broker.advance(3)
        await hold(0, two, three)

    transcript(FakeBroker("4.0", {"t": 6}), run)
    assert lines == ["0 []", "0 [3, 4, 5]", "0 [3, 4]", "25 [3, 4]"]


def test_sessions_last_45_seconds(snapshot: SnapshotAssertion) -> None:
    """From the last heartbeat of each member."""

    async def run(a: Speaker) -> None:
        one, two = (Consumer(a, name, "t", rebalance_timeout_ms=100_000) for name in ("one", "two"))
        await one.beat()
        a.page.broker.advance(10)
        await two.beat()
        for seconds in (33, 9, 5, 1):
            a.page.broker.advance(seconds)
            await describe(a)
            await one.beat()

    assert transcript(FakeBroker("4.0", {"t": 2}), run) == snapshot


def test_static_members(snapshot: SnapshotAssertion) -> None:
    """A new member takes the partitions of one with the same instance id that has left for now."""

    async def run(a: Speaker) -> None:
        old, other = Consumer(a, "old", "t", instance_id="i"), Consumer(a, "other", "t", instance_id="j")
        new = Consumer(a, "new", "t", instance_id="i")
        await old.beat()
        await other.beat()
        await old.beat()
        await old.beat()
        await other.beat()
        await new.beat()
        await old.beat(-2)
        await other.beat()
        await describe(a)
        await new.beat()
        await old.beat()
        await other.beat()
        await describe(a)
        await new.beat(-2)
        new.forget()
        await new.beat()
        await other.beat(-2)
        a.page.broker.advance(42)
        await new.beat()
        a.page.broker.advance(4)
        await new.beat()
        await describe(a)

    assert transcript(FakeBroker("4.0", {"t": 3}), run) == snapshot


def test_a_static_member_that_comes_back_keeps_its_partitions() -> None:
    """Also if there are other topics by then, whose partitions come before."""
    found: list[list[str]] = []

    async def run(a: Speaker) -> None:
        one, two = Consumer(a, "one", "s", "t"), Consumer(a, "two", "s", "t", instance_id="i")
        back = Consumer(a, "back", "s", "t", instance_id="i")
        for member in (one, two):
            await member.beat()
        before = {one.member_id: places(one.target_assignment) for one in (await describe(a)).members}
        await two.beat(-2)
        await a("CreateTopics", 7, topics=[{"name": "s", "num_partitions": 3, "replication_factor": 1}])
        await back.beat()
        after = {one.member_id: places(one.target_assignment) for one in (await describe(a)).members}
        found.extend([before["two"], [place for place in after["back"] if place[0] == "t"]])
        assert sorted(place for row in after.values() for place in row) == ["s0", "s1", "s2", "t0", "t1", "t2", "t3"]

    transcript(FakeBroker("4.0", {"t": 4}), run)
    assert found == [["t2", "t3"], ["t2", "t3"]]


def test_who_may_commit_and_ask(snapshot: SnapshotAssertion) -> None:
    """Members with their epoch, and for offsets also who names no member."""

    async def run(a: Speaker) -> None:
        one, two = Consumer(a, "one", "t"), Consumer(a, "two", "t")
        await one.beat()
        await two.beat()
        await one.beat()
        await one.beat()
        topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
        who = (("one", 2), ("one", 1), ("one", 3), ("stranger", 2), ("", -1), ("one", -1), ("two", 2), ("", 2))
        for name, epoch in who:
            named = {"member_id": name, "generation_id_or_member_epoch": epoch}
            await a("OffsetCommit", 9, group_id="g", topics=topics, **named)
        wanted = [{"name": "t", "partition_indexes": [0]}]
        asked: list[tuple[str | None, int]] = [*who, (None, 2)]
        for reader, epoch in asked:
            groups = [{"group_id": "g", "member_id": reader, "member_epoch": epoch, "topics": wanted}]
            await a("OffsetFetch", 9, groups=groups)
        await one.beat(-1)
        await two.beat(-1)
        await a("OffsetCommit", 9, group_id="g", topics=topics)
        await a("OffsetCommit", 9, group_id="g", topics=topics, member_id="one", generation_id_or_member_epoch=2)

    assert transcript(FakeBroker("4.0", {"t": 2}), run) == snapshot


def test_wrong_heartbeats(snapshot: SnapshotAssertion) -> None:
    async def run(a: Speaker, b: Speaker) -> None:
        a.page.broker.move_coordinator("g", 1)
        one = Consumer(a, "one", "t", subscribed_topic_regex="(t|u)", server_assignor="range")
        await Consumer(a, "two", "t", server_assignor="sticky").beat()
        await Consumer(a, "two", subscribed_topic_regex="[").beat()
        await Consumer(b, "two").beat()
        await one.beat(group_id="")
        await one.beat()
        await one.beat(subscribed_topic_regex="(")
        await one.beat(subscribed_topic_regex="", subscribed_topic_names=["t"])
        await one.beat(server_assignor="uniform")
        await one.beat(subscribed_topic_regex="u", subscribed_topic_names=[])
        await one.beat(subscribed_topic_regex="uu?|v+", rack_id="r2", rebalance_timeout_ms=1)
        await describe(a)
        await describe(b)

    assert transcript(FakeBroker("4.0", {"t": 1, "u": 1, "uv": 1, "vv": 2}, nodes=2), run, 1, 2) == snapshot


@pytest.mark.parametrize(
    ("assignor", "shares"),
    [
        ("range", {"a": "t0 t1 t2 u0", "b": "t3 t4 u1", "c": "t5 t6"}),
        ("uniform", {"a": "t5 t6 u0", "b": "t3 t4 u1", "c": "t0 t1 t2"}),
    ],
)
def test_assignors(assignor: str, shares: dict[str, str]) -> None:
    """Range gives each neighbouring partitions of each topic; uniform gives equal numbers."""

    async def run(a: Speaker) -> None:
        members = [Consumer(a, name, "t", "u", server_assignor=assignor) for name in "cab"]
        for member in members:
            await member.beat()
        group = await describe(a)
        found.update({one.member_id: " ".join(places(one.target_assignment)) for one in group.members})

    found: dict[str, str] = {}
    transcript(FakeBroker("4.0", {"t": 7, "u": 2}), run)
    assert found == shares


def places(assignment: Any) -> list[str]:
    return sorted(f"{one.topic_name}{index}" for one in assignment.topic_partitions for index in one.partitions)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_whatever_members_do_each_partition_has_one_reader(seed: int) -> None:
    """No two have a partition at any time, and soon all partitions are read, in equal shares, by who wants them.

    Who stays keeps as much as its share allows.
    """
    random = Random(seed)
    broker = FakeBroker("4.0", {"t": 5, "u": 3, "v": 2})

    async def run(a: Speaker) -> None:
        members: dict[str, Consumer] = {}

        async def held() -> dict[str, list[str]]:
            group = await describe(a)
            found = {one.member_id: places(one.assignment) for one in group.members}
            every = [place for row in found.values() for place in row]
            assert len(every) == len({*every})
            assert {*found} == {*members}
            return found

        for step in range(14):
            before = await held()
            what = random.choice(("join", "join", "leave", "die", "change", "again"))
            who = random.choice([*members]) if members else ""
            chosen = ["t", "u", "v"] if seed % 2 else random.sample(["t", "u", "v"], random.randint(1, 3))
            if what == "join" or not members:
                who = f"m{step}"
                members[who] = Consumer(a, who, *chosen, server_assignor=random.choice(("uniform", "range")))
                await members[who].beat()
            elif what == "leave":
                await members.pop(who).beat(-1)
            elif what == "die":
                broker.advance(30)
                for name in members.keys() - {who}:
                    await members[name].beat()
                broker.advance(30)
                del members[who]
            elif what == "change":
                members[who].first["subscribed_topic_names"] = chosen
                await members[who].beat(subscribed_topic_names=chosen)
            else:
                members[who].forget()
                await members[who].beat()
            for _ in range(2 * len(members) + 2):
                await held()
                for name in random.sample([*members], len(members)):
                    await members[name].beat()
            after = await held()
            wanted = {name: {*one.first["subscribed_topic_names"]} for name, one in members.items()}
            whole = {f"{topic}{at}" for topic, count in (("t", 5), ("u", 3), ("v", 2)) for at in range(count)}
            expected = {place for place in whole for topics in wanted.values() if place[0] in topics}
            assert sorted(place for row in after.values() for place in row) == sorted(expected)
            assert all(place[0] in wanted[name] for name, row in after.items() for place in row)
            owned = {name: sum(map(len, one.owned.values())) for name, one in members.items()}
            assert owned == {name: len(row) for name, row in after.items()}
            group = await describe(a)
            assert group.group_state == ("Stable" if members else "Empty")
            assert {one.member_epoch for one in group.members} <= {group.group_epoch}
            if seed % 2 and members and group.assignor_name == "uniform":
                assert max(owned.values()) - min(owned.values()) <= 1
                share = len(expected) // len(members)
                for name in before.keys() & after.keys() if what != "again" else ():
                    assert len({*before[name]} & {*after[name]}) >= min(share, len(before[name]))
        a.page.lines.clear()

    assert transcript(broker, run) == []
