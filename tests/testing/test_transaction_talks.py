"""Whole conversations of idempotent and transactional producers, and an account of what consumers read."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.records import read_batches
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.test_group_talks import enter
from tests.testing.test_log_talks import batch, put, want
from tests.testing.transcripts import Speaker, transcript


class Producer:
    """A producer that knows its id, its epoch and the next sequence in each partition."""

    def __init__(self, speaker: Speaker, name: str | None = "tx") -> None:
        self.speaker, self.name, self.id, self.epoch = speaker, name, -1, -1
        self.next: dict[int, int] = {}

    @property
    def who(self) -> dict[str, Any]:
        return {"transactional_id": self.name, "producer_id": self.id, "producer_epoch": self.epoch}

    async def begin(self, version: int = 4, **fields: Any) -> Any:
        named = {"transactional_id": self.name, "transaction_timeout_ms": 10_000}
        answer = await self.speaker("InitProducerId", version, **named | fields)
        if answer.error_code == 0:
            self.id, self.epoch, self.next = answer.producer_id, answer.producer_epoch, {}
        return answer

    async def add(self, *indexes: int, version: int = 3, topic: str = "t", **fields: Any) -> Any:
        topics = [{"name": topic, "partitions": [*indexes]}]
        if version >= 4:
            rows = [self.who | {"topics": topics} | fields]
            return await self.speaker("AddPartitionsToTxn", version, transactions=rows)
        named = {f"v3_and_below_{name}": value for name, value in (self.who | {"topics": topics} | fields).items()}
        return await self.speaker("AddPartitionsToTxn", version, **named)

    async def send(self, index: int, text: str, version: int = 9, topic: Any = None, **fields: Any) -> Any:
        settings = {"producer_id": self.id, "producer_epoch": self.epoch, "base_sequence": self.next.get(index, 0)}
        data = batch(text, **settings | {"transactional": self.name is not None} | fields)
        row = topic or {"name": "t"}
        named = {"acks": -1, "transactional_id": self.name}
        parts = put("", (index, data))["partition_data"]
        answer = await self.speaker("Produce", version, **named, topic_data=[row | {"partition_data": parts}])
        if answer.responses[0].partition_responses[0].error_code == 0:
            self.next[index] = self.next.get(index, 0) + len(text)
        return answer

    async def end(self, commit: bool, version: int = 3, **fields: Any) -> Any:
        answer = await self.speaker("EndTxn", version, **self.who | {"committed": commit} | fields)
        if version >= 5 and answer.error_code == 0:
            self.id, self.epoch, self.next = answer.producer_id, answer.producer_epoch, {}
        return answer


async def show(a: Speaker, *indexes: int, offset: int = 0) -> None:
    """All that is in partitions, and what consumers of committed records are told."""
    for index in indexes:
        for isolation in (0, 1):
            fields = {"isolation_level": isolation, "session_epoch": -1}
            await a("Fetch", 12, topics=[want("t", (index, offset))], max_bytes=9999, **fields)
    a.page.note(*(f"{index}: {[one.value for one in a.page.broker.records('t', index)]}" for index in indexes))


def test_sequences(snapshot: SnapshotAssertion) -> None:
    """The last five batches may come again; what follows neither the last one nor a new epoch is refused."""

    async def run(a: Speaker) -> None:
        one, two = Producer(a, None), Producer(a, None)
        await one.begin(0)
        await two.begin(4)
        for sequence in (0, 0, 2):
            await Producer(a, None).send(1, "w", producer_id=0, producer_epoch=0, base_sequence=sequence)
        for text in ("ab", "c", "def", "g", "hi", "j"):
            await one.send(0, text)
        for sequence, text in ((0, "ab"), (2, "c"), (3, "def"), (3, "de"), (9, "j"), (9, "jk"), (11, "l"), (8, "ij")):
            await one.send(0, text, base_sequence=sequence)
        await two.send(0, "m")
        await two.send(1, "n")
        await two.send(1, "o", base_sequence=2)
        await one.send(1, "p", base_sequence=7)
        last = (1 << 31) - 2
        await one.send(2, "qrs", base_sequence=last)
        await one.send(2, "qrs", base_sequence=last)
        await one.send(2, "tu", base_sequence=1)
        await one.send(2, "tu", base_sequence=1)
        for epoch, sequence in ((1, 3), (1, 0), (0, 4), (1, 1), (3, 2), (3, 0), (2, 0)):
            await one.send(2, "v", producer_epoch=epoch, base_sequence=sequence)
        await show(a, 0, 1, 2)

    assert transcript(FakeBroker("3.9", {"t": 3}), run) == snapshot


@pytest.mark.parametrize("text", ["a", "ab", "abc"])
def test_after_the_highest_sequence_comes_0(text: str) -> None:
    """Wherever the batch ends. Any other sequence is refused."""

    async def run(a: Speaker) -> None:
        one, highest = Producer(a, None), (1 << 31) - 1
        await one.begin()
        await one.send(0, text, base_sequence=highest - 1)
        following = (highest - 1 + len(text)) % (1 << 31)
        for wrong in {0, 1, 2, highest} - {following}:
            answer = await one.send(0, "z", base_sequence=wrong)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        await one.send(0, "next", base_sequence=following)
        await one.send(0, "last", base_sequence=(following + 4) % (1 << 31))

    broker = FakeBroker("3.9", {"t": 1})
    transcript(broker, run)
    assert b"".join(one.value or b"" for one in broker.records("t")) == f"{text}nextlast".encode()


def test_transactions(snapshot: SnapshotAssertion) -> None:
    """Markers end them, in each partition that was added; the first open one limits what committed readers see."""

    async def run(a: Speaker, b: Speaker) -> None:
        one, two = Producer(a, "one"), Producer(b, "two")
        await one.begin()
        await two.begin(1)
        await one.add(0, 1)
        await two.add(0, version=4)
        await one.send(0, "ab")
        await two.send(0, "c")
        await one.send(1, "d")
        await one.send(0, "e")
        await show(a, 0, 1)
        await one.end(False)
        await show(a, 0, 1)
        await Producer(a, None).send(0, "f")
        await two.end(True)
        await show(a, 0)
        await two.add(0)
        await two.send(0, "g")
        await two.end(False)
        await one.add(0, 9)
        await one.send(0, "h", transactional=False)
        await one.send(0, "i")
        await one.end(True)
        for offset in (0, 4, 5, 6, 7, 8, 9, 10, 12, 13):
            await show(a, 0, offset=offset)
        for index in (0, 1):
            rows = [{"partition_index": index, "timestamp": time} for time in (-1, -2, 1)]
            for level in (0, 1):
                topics = [{"name": "t", "partitions": rows}]
                await a("ListOffsets", 7, topics=topics, isolation_level=level)

    broker = FakeBroker("3.9", {"t": 2})
    assert transcript(broker, run, 1, 1) == snapshot


def test_errors_of_transactions(snapshot: SnapshotAssertion) -> None:
    """Each request in the version before and after its error for fenced producers changed its name."""

    async def run(a: Speaker, b: Speaker) -> None:
        old, new, nobody = Producer(a), Producer(a), Producer(a, "nobody")
        await old.begin()
        await old.add(0, version=2)
        await old.send(0, "a")
        await new.begin(4, producer_id=old.id, producer_epoch=old.epoch + 1)
        await new.begin(3, producer_id=old.id + 1, producer_epoch=old.epoch)
        await new.begin(3, producer_id=old.id, producer_epoch=old.epoch)
        for version in (1, 2, 3):
            await old.add(0, version=version)
        await old.send(0, "b")
        await old.end(True, 1)
        await old.end(True, 2)
        for version in (1, 2):
            await a("AddOffsetsToTxn", version, group_id="g", **old.who)
        for version in (3, 4):
            topics = [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": 1}]}]
            await a("TxnOffsetCommit", version, group_id="g", topics=topics, **old.who)
        await nobody.add(0)
        await nobody.send(0, "c")
        await nobody.end(True)
        stranger = Producer(a)
        stranger.id, stranger.epoch = new.id + 5, new.epoch
        await stranger.add(0)
        await stranger.send(0, "d")
        await stranger.end(False)
        await new.end(True)
        await new.end(False)
        await new.send(0, "e")
        await new.add(0, 7)
        await new.add(0, topic="none")
        await new.send(1, "f")
        await new.add(1, version=4, verify_only=True)
        await new.add(1)
        await new.add(1, 0, version=4, verify_only=True)
        await new.end(True)
        await new.end(True)
        await new.end(False)
        await new.add(0)
        await new.end(False)
        await new.end(False)
        await new.end(True)
        a.page.broker.move_coordinator("tx", 2)
        for version in (3, 4):
            await new.add(0, version=version)
        await new.begin()
        await new.end(True)
        await a("AddOffsetsToTxn", 3, group_id="g", **new.who)
        new.speaker = b
        await new.begin()
        await new.add(0, 1, version=4)
        await b(
            "AddPartitionsToTxn",
            4,
            transactions=[one.who | {"topics": [{"name": "t", "partitions": [0]}]} for one in (new, nobody)],
        )
        await show(a, 0, 1)

    broker = FakeBroker("3.9", {"t": 2}, nodes=2)
    for name in ("tx", "nobody", "g"):
        broker.move_coordinator(name, 1)
    broker.move("t", 1, 1)
    assert transcript(broker, run, 1, 2) == snapshot


def test_transactions_of_version_2(snapshot: SnapshotAssertion) -> None:
    """Since 4.0, Produce begins them, and each end a new epoch; a repeated end is answered alike [KIP-890]."""

    async def run(a: Speaker) -> None:
        one = Producer(a)
        await one.begin(5)
        await one.send(0, "a", 11)
        await one.send(0, "b", 12)
        await one.send(1, "c", 12)
        before = one.epoch
        await one.end(True, 5)
        await one.end(True, 5, producer_epoch=before)
        await one.end(False, 5, producer_epoch=before)
        await one.end(True, 5)
        await one.send(0, "d", 12)
        await one.send(0, "e", 12, producer_epoch=before, base_sequence=2)
        await one.end(True, 5, producer_epoch=before)
        await one.end(False, 5)
        await one.end(False, 5, producer_epoch=one.epoch - 1)
        await one.end(False, 5)
        await one.end(False, 4, producer_epoch=one.epoch)
        await one.send(1, "f", 12)
        await a("AddOffsetsToTxn", 4, group_id="g", **one.who)
        await one.begin(5)
        await one.end(True, 5)
        await show(a, 0, 1)

    broker = FakeBroker("4.0", {"t": 2})
    assert transcript(broker, run) == snapshot


def test_transactions_that_last_too_long(snapshot: SnapshotAssertion) -> None:
    """Each has its time, from its first partition; what ended in time is left alone."""

    async def run(a: Speaker) -> None:
        advance = a.page.broker.advance
        one, two, three = Producer(a, "one"), Producer(a, "two"), Producer(a, "three")
        await one.begin()
        await two.begin(transaction_timeout_ms=30_000)
        await three.begin()
        advance(20)  # none is open
        for producer in (one, two, three):
            await producer.add(0)
            await producer.send(0, producer.name or "")
        advance(8)
        await one.add(1)
        await three.end(True)
        await show(a, 0)
        advance(3)
        await show(a, 0, 1)
        await one.end(True)
        one.name = None
        for index in (0, 1):  # its epoch is too old, in the log too
            await one.send(index, "zombie", transactional=True)
        await three.add(0)
        advance(8)
        await three.end(True)
        advance(13)
        await two.end(True)
        await show(a, 0)

    assert transcript(FakeBroker("3.9", {"t": 2}), run) == snapshot


def test_offsets_in_transactions(snapshot: SnapshotAssertion) -> None:
    """Those of two groups are kept or forgotten with the transaction, and unstable until then."""

    async def run(a: Speaker, b: Speaker) -> None:
        broker = a.page.broker
        one, two = Producer(a, "one"), Producer(a, "two")
        await one.begin()
        await two.begin()
        member = await enter(b)

        async def commit(producer: Producer, group: str, offset: int, version: int = 3, **fields: Any) -> None:
            parts = [
                {
                    "partition_index": 1,
                    "committed_offset": offset,
                    "committed_metadata": "m",
                    "committed_leader_epoch": 3,
                },
                {"partition_index": 7, "committed_offset": 1},
            ]
            topics = [{"name": "t", "partitions": parts}, {"name": "none", "partitions": parts[:1]}]
            await a("TxnOffsetCommit", version, group_id=group, topics=topics, **producer.who | fields)

        async def look() -> None:
            for stable in (False, True):
                topics = [{"name": "t", "partition_indexes": [0, 1]}]
                groups = [{"group_id": name, "topics": topics} for name in ("g", "h")]
                await b("OffsetFetch", 8, groups=groups, require_stable=stable)
                await b("OffsetFetch", 7, group_id="g", topics=None, require_stable=stable)
            a.page.note(broker.offsets("g"), broker.offsets("h"))

        await b("OffsetCommit", 8, group_id="h", topics=[{"name": "t", "partitions": [{"partition_index": 0}]}])
        for group in ("g", "h"):
            await a("AddOffsetsToTxn", 3, group_id=group, **one.who)
        named = {"member_id": member.member_id, "generation_id_or_member_epoch": member.generation_id}
        await commit(one, "g", 5, **named)
        await commit(one, "g", 6, **named | {"generation_id_or_member_epoch": 9})
        await commit(one, "g", 7, **named | {"member_id": "stranger"})
        await commit(one, "h", 8)
        await commit(two, "h", 9, 2)
        await look()
        await one.end(True)
        await look()
        await two.end(False)
        await look()
        await commit(two, "h", 10)
        await commit(one, "h", 11, generation_id_or_member_epoch=0)
        broker.advance(11)
        await look()
        await commit(two, "h", 12)
        broker.move_coordinator("h", 2)
        await two.begin()
        await commit(two, "h", 13)

    broker = FakeBroker("3.9", {"t": 2}, nodes=2)
    for name in ("one", "two", "g", "h"):
        broker.move_coordinator(name, 1)
    assert transcript(broker, run, 1, 1) == snapshot


async def committed(a: Speaker, index: int, offset: int) -> list[str]:
    """Read as consumers of committed records do: skip control batches, and what the list says is aborted."""
    found: list[str] = []
    while True:
        wanted = want("t", (index, offset, 200))
        answer = await a("Fetch", 12, topics=[wanted], max_bytes=9999, isolation_level=1, session_epoch=-1)
        part = answer.responses[0].partitions[0]
        if not part.records:
            return found
        waiting = sorted((one.first_offset, one.producer_id) for one in part.aborted_transactions)
        aborted: set[int] = set()
        for one in read_batches(part.records):
            while waiting and waiting[0][0] <= one.last_offset:
                aborted.add(waiting.pop(0)[1])
            if one.control:
                aborted.discard(one.producer_id)
            elif one.producer_id not in aborted or not one.transactional:
                found += [(record.value or b"").decode() for record in one.records() if record.offset >= offset]
            end = one.last_offset + 1
        offset = end


@pytest.mark.parametrize("seed", range(8))
def test_whatever_producers_do_consumers_read_what_was_committed(seed: int) -> None:
    """An account of each record says whether its transaction is open, committed or aborted."""
    random = Random(seed)
    broker = FakeBroker("3.9", {"t": 2})
    rows: list[list[tuple[str, int]]] = [[], []]
    outcome: dict[int, str] = {-1: "committed"}

    async def run(a: Speaker) -> None:
        producers = [Producer(a, name) for name in ("one", "two")]
        open_: dict[str, tuple[int, set[int]]] = {}
        for one in producers:
            await one.begin()

        def ended(name: str, how: str) -> None:
            number, parts = open_.pop(name)
            outcome[number] = how
            for index in parts:
                rows[index].append(("", -1))

        for step in range(30):
            one = random.choice(producers)
            name, index = one.name or "", random.randrange(2)
            what = random.choice(("send", "send", "send", "plain", "commit", "abort", "init", "late"))
            if what == "send":
                number, parts = open_.setdefault(name, (step, set()))
                outcome[number] = "open"
                if index not in parts:
                    await one.add(index)
                    parts.add(index)
                text = "xyz"[: random.randint(1, 3)]
                await one.send(index, text)
                rows[index] += [(letter, number) for letter in text]
            elif what == "plain":
                broker.produce("t", b"p", partition=index)
                rows[index].append(("p", -1))
            elif what in ("commit", "abort") and name in open_:
                answer = await one.end(what == "commit")
                assert answer.error_code == 0
                ended(name, "committed" if what == "commit" else "aborted")
            elif what == "init":
                await one.begin()
                if name in open_:
                    ended(name, "aborted")
            elif what == "late":
                broker.advance(11)
                for other in producers:
                    if other.name in open_:
                        ended(other.name or "", "aborted")
                        await other.begin()
            for index in (0, 1):
                account = rows[index]
                stable = next(
                    (at for at, (_, number) in enumerate(account) if outcome[number] == "open"), len(account)
                )
                kept = [text for text, number in account if text and outcome[number] == "committed"]
                assert [(one.value or b"").decode() for one in broker.records("t", index)] == kept
                every = [text for text, _ in account if text]
                assert [(one.value or b"").decode() for one in broker.records("t", index, committed=False)] == every
                start = random.randint(0, stable)
                expected = [text for text, number in account[start:stable] if text and outcome[number] == "committed"]
                assert await committed(a, index, start) == expected
                asked = await a(
                    "ListOffsets",
                    7,
                    isolation_level=1,
                    topics=[{"name": "t", "partitions": [{"partition_index": index, "timestamp": -1}]}],
                )
                assert asked.topics[0].partitions[0].offset == stable

    transcript(broker, run)


def test_old_consumers_get_no_markers() -> None:
    """Versions of Fetch before 4 have no batches, so that markers leave a gap in the offsets."""

    async def run(a: Speaker) -> None:
        one = Producer(a)
        await one.begin()
        await one.add(0)
        await one.send(0, "x")
        await one.end(True)
        await one.add(0)
        await one.send(0, "y")
        a.page.lines.clear()
        await a("Fetch", 3, topics=[want("t", (0, 0))], max_bytes=9999)
        await a("Fetch", 3, topics=[want("t", (0, 1))], max_bytes=9999)

    message_set = "(m1: {} @1)"
    first, second = (message_set.format(row) for row in ("0 b'x'", "2 b'y'"))
    assert transcript(FakeBroker("3.9", {"t": 1}), run) == [
        f"a Fetch 3: responses=[{{topic='t' partitions=[{{high_watermark=3 records=[{records}]}}]}}]"
        for records in (f"{first}, {second}", second)
    ]


def test_a_transaction_lasts_a_millisecond_to_15_minutes() -> None:
    async def run(a: Speaker) -> None:
        for timeout, error in ((0, 50), (1, 0), (900_000, 0), (900_001, 50)):
            answer = await a("InitProducerId", 4, transactional_id="tx", transaction_timeout_ms=timeout)
            assert answer.error_code == error, ErrorCode.INVALID_TRANSACTION_TIMEOUT

    transcript(FakeBroker("3.9"), run)


def test_a_producer_that_asks_again_gets_the_same_epoch() -> None:
    """The answer to InitProducerId may be lost. Any other epoch is that of a fenced producer."""

    async def run(a: Speaker) -> None:
        mine = {"transactional_id": "tx", "transaction_timeout_ms": 60_000}
        one = await a("InitProducerId", 4, producer_id=-1, producer_epoch=-1, **mine)
        for epoch in (0, 0, 1, 1, 0, 7):
            await a("InitProducerId", 4, producer_id=one.producer_id, producer_epoch=epoch, **mine)

    fenced = "a InitProducerId 4: error_code=PRODUCER_FENCED producer_epoch=-1"
    first, *others = transcript(FakeBroker("3.9"), run)
    assert first == "a InitProducerId 4: producer_id=1000"
    asked = [line.removeprefix("a InitProducerId 4: producer_id=1000 producer_epoch=") for line in others]
    assert asked == ["1", "1", "2", "2", fenced, fenced]
