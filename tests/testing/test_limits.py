"""What a broker keeps of names that clients invent: the oldest make room, or clients get an error."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.records import Record, encode_batch
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker, log, proxy, sessions
from kwire_testing.apis import logs
from tests.testing.test_group_talks import both, enter, joining
from tests.testing.test_log_talks import put, want
from tests.testing.test_transaction_talks import Producer
from tests.testing.transcripts import Speaker, transcript


def test_limits_that_no_page_states() -> None:
    found = proxy.MAX_LISTENERS, sessions.MAX_WANTED, log.MAX_PRODUCERS, logs.MAX_BYTES
    assert found == (1000, 100_000, 1000, 50 << 20)


def test_groups(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest that nobody uses makes room, with its offsets. None does while all have members or transactions."""
    monkeypatch.setattr("kwire_testing.cluster.MAX_NAMES", 3)

    async def run(a: Speaker) -> None:
        topics = [{"name": "t", "partitions": [{"committed_offset": 1}]}]
        await enter(a)
        for name in ("one", "two", "three"):
            await a("OffsetCommit", 8, group_id=name, topics=topics)
        await a("ListGroups", 4)
        await a("Heartbeat", 3, group_id="none", member_id="m")
        await a("JoinGroup", 3, **joining(group_id="h"))
        one = Producer(a)
        await one.begin()
        await a("TxnOffsetCommit", 3, **one.who, group_id="i", topics=topics)
        for name in ("three", "h"):
            await a("OffsetCommit", 8, group_id=name, topics=topics)
        await a("JoinGroup", 3, **joining(group_id="j"))
        await one.end(True)
        await a("JoinGroup", 3, **joining(group_id="j"))
        await a("ListGroups", 4)

    assert transcript(FakeBroker("3.9", {"t": 1}), run) == snapshot


def test_members(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group has so many members, and as many ids of members that have yet to join: of these the oldest go."""
    monkeypatch.setattr("kwire_testing.groups.members.MAX_MEMBERS", 2)

    async def run(a: Speaker, b: Speaker, c: Speaker) -> None:
        await both(a, b)
        await c("JoinGroup", 3, **joining())
        await c("JoinGroup", 5, **joining(instance="st"))
        ids = [(await c("JoinGroup", 4, **joining())).member_id for _ in range(3)]
        for name in ids:
            await c("JoinGroup", 4, **joining(name))
        beat = {"group_id": "new", "rebalance_timeout_ms": 9999, "topic_partitions": []}
        for name in ("m", "n", "o", "n"):
            await a("ConsumerGroupHeartbeat", 1, member_id=name, subscribed_topic_names=["t"], **beat)

    assert transcript(FakeBroker("4.0", {"t": 1}), run, 1, 1, 1) == snapshot


def test_transactional_ids(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest without a transaction makes room, and its producer is unknown then."""
    monkeypatch.setattr("kwire_testing.transactions.MAX_NAMES", 2)

    async def run(a: Speaker) -> None:
        one, two, three, four = (Producer(a, name) for name in ("one", "two", "three", "four"))
        await one.begin()
        await one.add(0)
        await two.begin()
        await three.begin()
        await two.add(0)
        await three.add(0)
        await four.begin()
        await one.end(True)
        await four.begin()
        await one.begin()

    assert transcript(FakeBroker("3.9", {"t": 1}), run) == snapshot


def test_producers(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition knows so many. The oldest without a transaction may begin with any sequence again."""
    monkeypatch.setattr("kwire_testing.log.MAX_PRODUCERS", 2)

    async def run(a: Speaker) -> None:
        tx, one, two, three = (Producer(a, name) for name in ("tx", None, None, None))
        for producer in (tx, one, two, three):
            await producer.begin()
        await tx.add(0)
        for producer in (tx, one, two):
            await producer.send(0, "a")
        await two.send(0, "b", base_sequence=7)
        await one.send(0, "b", base_sequence=7)
        for name in ("ty", "tz"):
            other = Producer(a, name)
            await other.begin()
            await other.add(0)
            await other.send(0, "c")

    assert transcript(FakeBroker("3.9", {"t": 1}), run) == snapshot


def test_sessions(snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session ends that has too many partitions. Without a session their number has no limit."""
    monkeypatch.setattr("kwire_testing.sessions.MAX_WANTED", 3)

    async def run(a: Speaker) -> None:
        four = want("t", *((index, 0) for index in range(4)))
        first = await a("Fetch", 12, topics=[want("t", (0, 0), (1, 0))], session_epoch=0)
        for epoch, part in ((1, 2), (2, 3), (3, 0)):
            fields = {"session_id": first.session_id, "session_epoch": epoch}
            await a("Fetch", 12, topics=[want("t", (part, 0))], **fields)
        await a("Fetch", 12, topics=[four], session_epoch=-1)
        await a("Fetch", 12, topics=[four], session_epoch=0)

    assert transcript(FakeBroker("3.9", {"t": 1}), run) == snapshot


def test_logs_and_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs take batches until the store is full. A deleted topic makes room. The oldest requests are forgotten."""
    batch = encode_batch([Record(None, b"v" * 100)])
    monkeypatch.setattr("kwire_testing.log.MAX_STORED", 2 * len(batch) + 1)
    monkeypatch.setattr("kwire_testing.cluster.MAX_KEPT", 4 * len(batch) - 1)

    async def run(a: Speaker) -> None:
        async def produce(topic: str) -> tuple[int, int]:
            answer = await a("Produce", 9, acks=1, topic_data=[put(topic, (0, batch))])
            [part] = answer.responses[0].partition_responses
            return part.error_code, part.base_offset

        full = (ErrorCode.KAFKA_STORAGE_ERROR, -1)
        assert [await produce(topic) for topic in "ttuu"] == [(0, 0), (0, 1), full, full]
        assert len(a.page.broker.records("t")) == 2
        await a("DeleteTopics", 1, topic_names=["t"])
        assert [await produce("u") for _ in range(3)] == [(0, 0), (0, 1), full]
        assert [call.name for call in a.page.broker.requests] == ["DeleteTopics", "Produce", "Produce", "Produce"]

    transcript(FakeBroker("3.9", {"t": 1, "u": 1}), run)


@pytest.mark.parametrize("length", [4096, 4097])
def test_metadata_of_offsets(length: int) -> None:
    async def run(a: Speaker) -> None:
        parts = [{"partition_index": 0, "committed_offset": 1, "committed_metadata": "m" * length}]
        answer = await a("OffsetCommit", 8, group_id="g", topics=[{"name": "t", "partitions": parts}])
        error = ErrorCode(answer.topics[0].partitions[0].error_code)
        expected = (ErrorCode.NONE, {("t", 0): 1}) if length == 4096 else (ErrorCode.OFFSET_METADATA_TOO_LARGE, {})
        assert (error, a.page.broker.offsets("g")) == expected

    transcript(FakeBroker("3.9", {"t": 1}), run)


@pytest.mark.parametrize("length", [4092, 4093])
def test_configurations_of_topics(length: int) -> None:
    async def run(a: Speaker) -> None:
        rows = [{"name": "x", "value": None}, {"name": "nam", "value": "v" * length}]
        topic = {"name": "new", "num_partitions": 1, "replication_factor": 1, "configs": rows}
        [created] = (await a("CreateTopics", 7, topics=[topic])).topics
        asked = [{"resource_type": 2, "resource_name": "new"}]
        [described] = (await a("DescribeConfigs", 4, resources=asked)).results
        found = {one.name: len(one.value or "") for one in described.configs if one.config_source == 1}
        expected = (ErrorCode.NONE, {"x": 0, "nam": length}) if length == 4092 else (ErrorCode.INVALID_CONFIG, {})
        assert (ErrorCode(created.error_code), found) == expected

    transcript(FakeBroker("3.9"), run)


@pytest.mark.parametrize(
    ("regex", "known"),
    [
        (".*orders.*", True),
        (r"a{1,9}b?c+", True),
        (r"[*+?{|)(]\*\+\?\{[^]*+?]", True),
        ("a|b|c|d|e|f", True),
        ("(?:orders|payments)-.*", True),
        ("a*b*c*d*", False),
        ("(a+)+(b|c)x*", False),
        ("(a|a)(a|a)(a|a)(a|a)", False),
        ("(", False),
    ],
)
def test_regular_expressions(regex: str, known: bool) -> None:
    """Those that Python might search for hours are refused."""

    async def run(a: Speaker) -> None:
        beat: dict[str, Any] = {"group_id": "g", "rebalance_timeout_ms": 9999, "topic_partitions": []}
        answer = await a("ConsumerGroupHeartbeat", 1, member_id="m", subscribed_topic_regex=regex, **beat)
        assert answer.error_code == (ErrorCode.NONE if known else ErrorCode.INVALID_REGULAR_EXPRESSION)

    transcript(FakeBroker("4.0", {"t": 1}), run)
