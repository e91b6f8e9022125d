"""Whole answers of Produce, Fetch, ListOffsets and OffsetForLeaderEpoch, and sessions of fetches."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.compression import Codec
from kwire.records import Record, encode_batch, encode_message_set
from kwire_kafka import PROTOCOL
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker, sessions
from tests.testing.transcripts import Speaker, Waiting, made, transcript


def batch(text: str, time: int = 1, **fields: Any) -> bytes:
    """A batch with a record for each letter, a millisecond apart."""
    return encode_batch([Record(None, one.encode(), timestamp=time + at) for at, one in enumerate(text)], **fields)


def put(name: str, *parts: tuple[int, bytes | None]) -> dict[str, Any]:
    return {"name": name, "partition_data": [{"index": index, "records": data} for index, data in parts]}


def want(name: str, *parts: tuple[int, int] | tuple[int, int, int], epoch: int = -1) -> dict[str, Any]:
    """Partitions of a topic from offsets, with the size that each may have."""
    rows = [
        {
            "partition": index,
            "fetch_offset": offset,
            "partition_max_bytes": (*size, 999)[0],
            "current_leader_epoch": epoch,
        }
        for index, offset, *size in parts
    ]
    return {"topic": name, "partitions": rows}


def named(row: dict[str, Any], ids: dict[str, Any], key: str) -> dict[str, Any]:
    """The same with the id of the topic in place of its name."""
    return {"topic_id": ids[row[key]]} | {name: value for name, value in row.items() if name != key}


async def ids_of(a: Speaker) -> dict[str, Any]:
    return {topic.name: topic.topic_id for topic in (await a("Metadata", 12, topics=None)).topics}


def test_produce(snapshot: SnapshotAssertion) -> None:
    """Each partition has its own offsets, start and error, in versions with names and with ids."""

    async def run(a: Speaker, b: Speaker) -> None:
        topics = [put("t", (0, batch("ab")), (2, batch("c"))), put("u", (0, batch("d")), (7, batch("e")))]
        topics += [put("none", (0, batch("f")))]
        await a("Produce", 9, acks=-1, topic_data=topics)
        await a("Produce", 3, acks=1, topic_data=[put("t", (0, batch("g")), (1, batch("h")), (-1, batch("i")))])
        await b("Produce", 8, acks=-1, topic_data=[put("t", (1, batch("j") + batch("kl")), (1, None), (1, b""))])
        await b(
            "Produce",
            8,
            acks=-1,
            topic_data=[
                put("t", (1, batch("m")[:-1]), (1, b"\0" * 61), (1, batch("xyz", codec=Codec.GZIP)[:-4] + b"junk"))
            ],
        )
        await b("Produce", 8, acks=2, topic_data=[put("t", (1, batch("n")))])
        await b("Produce", 8, acks=-2, topic_data=[put("t", (1, batch("n")))])
        ids = await ids_of(a)
        known = [named(row, ids, "name") for row in topics[:2]]
        await a(
            "Produce", 13, acks=-1, topic_data=[*known, {"topic_id": b"x" * 16, "partition_data": [{"index": 0}]}]
        )
        a.page.broker.move("t", 0, 2)
        await a("Produce", 9, acks=-1, topic_data=[put("t", (0, batch("o")))])
        await b("Produce", 9, acks=-1, topic_data=[put("t", (0, batch("p")))])
        for name, index in (("t", 0), ("t", 1), ("t", 2), ("u", 0)):
            speaker = a if (name, index) in (("t", 2), ("u", 0)) else b
            await speaker("Fetch", 12, topics=[want(name, (index, 0))], session_epoch=-1, max_bytes=9999)

    assert transcript(FakeBroker("4.4", {"t": 3, "u": 1}, nodes=2), run, 1, 2) == snapshot


def test_old_message_sets(snapshot: SnapshotAssertion) -> None:
    """Those of magic 0 and 1, compressed and not, are read in the magic of each version or an older one."""

    async def run(a: Speaker) -> None:
        sets = [
            encode_message_set(
                [Record(key, b"q", timestamp=5 if magic else -1) for key in (b"k", None)], magic=magic, codec=codec
            )
            for magic, codec in ((0, 0), (1, 0), (0, 1), (1, 1))
        ]
        await a("Produce", 2, acks=1, topic_data=[put("t", *((0, one) for one in sets), (0, batch("v", codec=1)))])
        for version in (0, 2, 4):
            await a("Fetch", version, topics=[want("t", (0, 0)), want("t", (0, 3))], max_bytes=9999)
        a.page.note(*(f"{record.offset} {record.key!r} {record.timestamp}" for record in a.page.broker.records("t")))

    assert transcript(FakeBroker("0.11", {"t": 1}), run) == snapshot


def test_produce_without_acks_is_not_answered() -> None:
    async def run(a: Speaker) -> None:
        wire = a.client._connection  # a client of its own would not send it
        data = wire.send(made(PROTOCOL["ProduceRequest"], {"acks": 0, "topic_data": [put("t", (0, batch("ab")))]}), 9)
        assert a.client._writer is not None
        a.client._writer.write(data)
        await a("Produce", 9, acks=1, topic_data=[put("t", (0, batch("c")))])

    found = transcript(FakeBroker("3.9", {"t": 1}), run)
    assert found[-1] == "a Produce 9: responses=[{name='t' partition_responses=[{base_offset=2 log_start_offset=0}]}]"


@pytest.mark.parametrize("version", [1, 3, 4, 12])
def test_fetch(version: int, snapshot: SnapshotAssertion) -> None:
    """Sizes, offsets and epochs exactly at their limits and one beyond; older versions get older records."""

    async def run(a: Speaker, b: Speaker) -> None:
        for name, parts in (("t", ("ab", "c", "def")), ("u", ("gh", "i"))):
            for text in parts:
                await a(
                    "Produce",
                    9,
                    acks=-1,
                    topic_data=[put(name, (0, batch(text, codec={"gh": 3, "i": 4}.get(text, 0))))],
                )
        a.page.lines.clear()

        async def ask(*topics: dict[str, Any], **fields: Any) -> None:
            await a("Fetch", version, **{"topics": [*topics], "session_epoch": -1, "max_bytes": 9999} | fields)

        await ask(want("u", (0, 0)), want("t", (0, 0)))
        await ask(want("t", (0, 1), (1, 0), (9, 0)), want("none", (0, 0)))
        await ask(want("t", (0, 2)))
        await ask(want("t", (0, 3)))
        await ask(want("t", (0, 6)))
        await ask(want("t", (0, 7)))
        await ask(want("t", (0, -1)))
        sizes = [len(batch(text)) for text in ("ab", "c", "def")]
        for size in (0, 1, sizes[0], sum(sizes[:2]) - 1, sum(sizes[:2])):
            await ask(want("t", (0, 0, size)))
            await ask(want("t", (0, 0)), want("u", (0, 0)), max_bytes=size)
        for epoch in (-1, 0, 1):
            await ask(want("t", (0, 5), epoch=epoch))
        a.page.broker.move("t", 0, 2)
        a.page.broker.move("t", 0, 1)
        for epoch in (0, 1, 2, 3):
            await ask(want("t", (0, 5), epoch=epoch))
        await b("Fetch", version, topics=[want("t", (0, 0), (1, 0))], session_epoch=-1, max_bytes=9999)

    assert transcript(FakeBroker("3.9", {"t": 2, "u": 1}, nodes=2), run, 1, 2) == snapshot


def test_fetch_by_id(snapshot: SnapshotAssertion) -> None:
    """A topic that is made again has another id, and those who know the old one are told."""

    async def run(a: Speaker) -> None:
        a.page.broker.produce("t", Record(b"k", b"v", (("h", b"1"),), 7), b"now", partition=1)
        ids = await ids_of(a)
        wanted = named(want("t", (0, 0), (1, 0)), ids, "topic")
        await a("Fetch", 17, topics=[wanted], session_epoch=-1)
        with a.page.broker.fail("*", ErrorCode.KAFKA_STORAGE_ERROR, topic="t", times=3):  # by name
            await a("Fetch", 17, topics=[wanted], session_epoch=-1)
            await a("Metadata", 12, topics=[{"name": None, "topic_id": ids["t"]}])
            await a("DeleteTopics", 6, topics=[{"name": None, "topic_id": ids["t"]}])
        await a("DeleteTopics", 6, topics=[{"name": "t"}])
        await a("Fetch", 17, topics=[wanted], session_epoch=-1)
        a.page.broker.create_topic("t", 2)
        await a("Fetch", 13, topics=[wanted], session_epoch=-1)
        await a("Fetch", 13, topics=[named(want("t", (1, 0)), await ids_of(a), "topic")], session_epoch=-1)

    assert transcript(FakeBroker("3.9", {"t": 2}), run) == snapshot


def test_fetches_wait(snapshot: SnapshotAssertion) -> None:
    """For so many bytes, or until the time is over, an error comes, the leader moves, or the topic is gone."""

    async def run(a: Speaker, b: Speaker) -> None:
        size = len(batch("ab"))
        broker = a.page.broker

        async def wait(*topics: dict[str, Any], **fields: Any) -> Waiting:
            fields = {"max_wait_ms": 60_000, "min_bytes": 1, "session_epoch": -1, "topics": [*topics]} | fields
            return await a.begin("Fetch", 12, **fields)

        async def waiting(*topics: dict[str, Any], **fields: Any) -> Waiting:
            found = await wait(*topics, **fields)
            await found.waits()
            return found

        one = await waiting(want("t", (0, 0), (1, 0)))
        broker.produce("u", b"other")
        await b("DescribeCluster", 0)
        await one.waits()
        broker.produce("t", b"x", partition=1)
        await one.answer()
        one = await waiting(want("t", (0, 0)), min_bytes=size + 1)
        await b("Produce", 9, acks=1, topic_data=[put("t", (0, batch("ab")))])
        await one.waits()
        broker.produce("t", b"y")
        await one.answer()
        await (await wait(want("t", (0, 2)), min_bytes=len(batch("y")))).answer()
        await (await wait(want("t", (0, 3)), min_bytes=0)).answer()
        await (await wait(want("t", (0, 9)), min_bytes=999)).answer()
        await (await wait(want("t", (0, 3)), max_wait_ms=0)).answer()
        await (await wait(want("t", (0, 3), (5, 0)), want("u", (0, 1)))).answer()
        one = await waiting(want("u", (0, 1)))
        for _ in range(2):  # one after another, before the fetch looks again
            broker.produce("u", b"more")
        broker.advance(60)
        await one.answer()
        one = await waiting(want("t", (0, 3)), want("u", (0, 3)))
        broker.advance(57)
        await b("DescribeCluster", 0)
        await one.waits()
        broker.advance(3)
        await one.answer()
        one = await waiting(want("t", (0, 3)))
        broker.move("t", 0, 2)
        await one.answer()
        broker.move("t", 0, 1)
        one = await waiting(want("t", (1, 1)))
        await b("DeleteTopics", 5, topic_names=["t"])
        await one.answer()
        assert not [one for one in broker._cluster.topics.values() for part in one.partitions if part.log.waiting]

    broker = FakeBroker("3.9", {"t": 2, "u": 1}, nodes=2)
    broker.move("t", 1, 1)
    assert transcript(broker, run, 1, 1) == snapshot


def test_fetch_sessions(snapshot: SnapshotAssertion) -> None:
    """Only what changed is told, by the epoch that comes next, at the node that has the session."""

    async def run(a: Speaker, b: Speaker) -> None:
        broker, t = a.page.broker, want("t", (0, 0), (1, 0))
        broker.move("t", 1, 1)

        async def ask(session: int, epoch: int, *topics: Any, speaker: Speaker = a, **fields: Any) -> None:
            await speaker(
                "Fetch", 12, session_id=session, session_epoch=epoch, topics=[*topics], max_bytes=999, **fields
            )

        await ask(0, 0, t)
        await ask(1, 1)
        broker.produce("t", Record(None, b"x", timestamp=1), partition=1)
        await ask(1, 2)
        await ask(1, 3)
        await ask(1, 4, want("t", (1, 1)))
        await ask(1, 5, want("u", (0, 0)), forgotten_topics_data=[{"topic": "t", "partitions": [0]}])
        broker.produce("t", Record(None, b"y", timestamp=1), partition=0)
        await ask(1, 6)
        broker.move("u", 0, 2)
        await ask(1, 7)
        await ask(1, 8)
        broker.move("u", 0, 1)
        await ask(1, 9, want("t", (0, 1)))
        await ask(1, 9)
        await ask(1, 8)
        await ask(1, 10, speaker=b)
        await ask(2, 1)
        await ask(0, 0, want("u", (0, 0)))
        await ask(2, 1)
        await ask(
            1, 10, forgotten_topics_data=[{"topic": "t", "partitions": [0, 1, 7]}, {"topic": "v", "partitions": [0]}]
        )
        await ask(1, -1, want("t", (0, 0)))
        await ask(1, 11)
        await ask(2, 0, want("t", (0, 1)))
        await ask(2, 2)
        await ask(3, 1)
        await a("Fetch", 6, topics=[want("t", (0, 1))], max_bytes=999)
        await a("Fetch", 7, topics=[want("t", (0, 1), (1, 1))], session_epoch=0, max_bytes=999)
        await ask(4, 1, forgotten_topics_data=[{"topic": "t", "partitions": [1]}])
        await ask(4, 2, want("t", (1, 1)))  # it is told again
        await ask(4, 3, want("t", (1, 1)))
        await ask(0, 0)

    assert transcript(FakeBroker("3.9", {"t": 2, "u": 1}, nodes=2), run, 1, 2) == snapshot


def test_sessions_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest session makes room, and the epoch after the last is the first."""
    assert (sessions.MAX_SESSIONS, sessions.MAX_EPOCH) == (1000, (1 << 31) - 1)
    monkeypatch.setattr("kwire_testing.sessions.MAX_SESSIONS", 2)
    monkeypatch.setattr("kwire_testing.sessions.MAX_EPOCH", 2)

    async def run(a: Speaker) -> None:
        found = []
        for session, epoch in (
            (0, 0),
            (0, 0),
            (1, 1),
            (2, 1),
            (1, 2),
            (1, 3),
            (1, 1),
            (0, 0),
            (1, 2),
            (2, 2),
            (3, 1),
        ):
            answer = await a("Fetch", 12, session_id=session, session_epoch=epoch)
            found.append((session, epoch, answer.session_id, ErrorCode(answer.error_code).name))
        a.page.lines = [str(row) for row in found]

    assert transcript(FakeBroker("3.9"), run) == [
        "(0, 0, 1, 'NONE')",
        "(0, 0, 2, 'NONE')",
        "(1, 1, 1, 'NONE')",
        "(2, 1, 2, 'NONE')",
        "(1, 2, 1, 'NONE')",
        "(1, 3, 0, 'INVALID_FETCH_SESSION_EPOCH')",
        "(1, 1, 1, 'NONE')",
        "(0, 0, 3, 'NONE')",
        "(1, 2, 0, 'FETCH_SESSION_ID_NOT_FOUND')",
        "(2, 2, 2, 'NONE')",
        "(3, 1, 3, 'NONE')",
    ]


def test_offsets_by_time(snapshot: SnapshotAssertion) -> None:
    """In two partitions, at the border of each batch, in each version that differs, and in epochs of leaders."""

    async def run(a: Speaker, b: Speaker) -> None:
        parts = [(0, batch("ab", 10)), (0, batch("cd", 30)), (0, batch("e", 20)), (2, batch("f", 5))]
        await a("Produce", 9, acks=-1, topic_data=[put("t", *parts)])
        a.page.lines.clear()

        def at(index: int, *times: int, epoch: int = -1) -> list[dict[str, Any]]:
            return [{"partition_index": index, "timestamp": time, "current_leader_epoch": epoch} for time in times]

        rows = at(0, -1, -2, -3, -4, -5, -6, 0, 10, 11, 12, 30, 31, 32, 99) + at(2, -1, 5, 6) + at(1, -1) + at(9, -2)
        for version in (0, 1, 4, 9):
            await a(
                "ListOffsets",
                version,
                topics=[
                    {"name": "t", "partitions": rows},
                    {"name": "u", "partitions": at(0, -1, -3, 5)},
                    {"name": "none", "partitions": at(0, -2)},
                ],
            )
        a.page.broker.move("t", 0, 2)
        a.page.broker.produce("t", Record(None, b"g", timestamp=50))
        a.page.broker.move("t", 0, 1)
        a.page.broker.move("t", 0, 1)
        a.page.broker.produce("t", Record(None, b"h", timestamp=60))
        rows = [row for epoch in (2, 3, 4) for row in at(0, -1, 50, epoch=epoch)]
        await a("ListOffsets", 7, topics=[{"name": "t", "partitions": rows}])
        asked = [
            {"partition": 0, "current_leader_epoch": epoch, "leader_epoch": last}
            for epoch, last in ((3, -1), (3, 0), (3, 1), (3, 2), (3, 3), (3, 4), (2, 0), (4, 0), (-1, 1))
        ]
        topics = [
            {"topic": "t", "partitions": [*asked, {"partition": 1}]},
            {"topic": "none", "partitions": [{"partition": 0}]},
        ]
        await a("OffsetForLeaderEpoch", 4, topics=topics)
        await a("OffsetForLeaderEpoch", 0, topics=[{"topic": "t", "partitions": asked[:3]}, *topics[1:]])
        await b("OffsetForLeaderEpoch", 3, topics=topics[:1])

    assert transcript(FakeBroker("3.9", {"t": 3, "u": 1}, nodes=2), run, 1, 2) == snapshot
