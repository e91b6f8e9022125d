"""Idempotent and transactional producers of a fake broker."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kwire.client import Client
from kwire.records import Record, encode_batch
from kwire_kafka import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from kwire_kafka.api.add_partitions_to_txn import AddPartitionsToTxnTopic
from kwire_kafka.api.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from kwire_kafka.api.txn_offset_commit import TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker
from tests.testing.talking import ask, connected, get, send, talk


def batch(producer: int, epoch: int, sequence: int, *values: bytes, transactional: bool = False) -> bytes:
    return encode_batch(
        [Record(None, value, timestamp=1) for value in values or (b"x",)],
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


class Producer:
    """A producer with a transactional id, as clients before 4.0 are."""

    def __init__(self, client: Client) -> None:
        self.client, self.id, self.epoch, self.sequence = client, -1, -1, 0

    @property
    def who(self) -> dict[str, Any]:
        return {"transactional_id": "tx", "producer_id": self.id, "producer_epoch": self.epoch}

    async def begin(self) -> None:
        answer = await ask(self.client, InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=10_000))
        self.id, self.epoch, self.sequence = answer.producer_id, answer.producer_epoch, 0

    async def add(self) -> int:
        topic = AddPartitionsToTxnTopic(name="t", partitions=[0])
        named = {f"v3_and_below_{name}": value for name, value in self.who.items()}
        answer = await ask(self.client, AddPartitionsToTxnRequest(v3_and_below_topics=[topic], **named), 3)
        code: int = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        return code

    async def send(self, value: bytes) -> int:
        data = batch(self.id, self.epoch, self.sequence, value, transactional=True)
        self.sequence += 1
        code: int = (await send(self.client, "t", data, transactional_id="tx")).error_code
        return code

    async def end(self, *, commit: bool) -> int:
        code: int = (await ask(self.client, EndTxnRequest(committed=commit, **self.who), 3)).error_code
        return code


@pytest.mark.parametrize(
    ("sequences", "expected"),
    [
        ([0, 2, 2], [(0, 0), (0, 2), (0, 2)]),
        ([0, 4], [(0, 0), (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)]),
        ([0, 2, 0], [(0, 0), (0, 2), (0, 0)]),
    ],
)
def test_a_batch_that_comes_again_is_kept_once(sequences: list[int], expected: list[tuple[int, int]]) -> None:
    async def run(client: Client) -> Any:
        answers = [await send(client, "t", batch(1, 0, sequence, b"x", b"y")) for sequence in sequences]
        return [(one.error_code, one.base_offset) for one in answers]

    assert talk(FakeBroker("3.9", {"t": 1}), run) == expected


def test_an_older_epoch_is_refused() -> None:
    async def run(client: Client) -> Any:
        sent = [(1, 0), (1, 1), (0, 1), (2, 5)]
        return [(await send(client, "t", batch(1, epoch, sequence))).error_code for epoch, sequence in sent]

    wrong = [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert talk(FakeBroker("3.9", {"t": 1}), run) == [0, 0, *wrong]


def test_consumers_of_committed_records_see_whole_transactions() -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9", {"t": 1})
        async with broker, connected(broker) as client:
            producer = Producer(client)
            await producer.begin()
            refused = await producer.send(b"outside")
            producer.sequence = 0
            for value, commit in ((b"kept", True), (b"lost", False)):
                assert await producer.add() == await producer.send(value) == await producer.end(commit=commit) == 0
            assert await producer.add() == await producer.send(b"open") == 0
            found = await get(client, "t", isolation_level=1)
            aborted = [(one.producer_id, one.first_offset) for one in found.aborted_transactions]
            every = [record.value for record in broker.records("t", committed=False)]
            offsets = found.last_stable_offset, found.high_watermark
            kept = [record.value for record in broker.records("t")]
            return refused, offsets, aborted == [(producer.id, 2)], every, kept

    assert asyncio.run(run()) == (
        ErrorCode.INVALID_TXN_STATE,
        (4, 5),
        True,
        [b"kept", b"lost", b"open"],
        [b"kept"],
    )


def test_a_newer_producer_fences_the_older_one() -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9", {"t": 1})
        async with broker, connected(broker) as client:
            old, new = Producer(client), Producer(client)
            await old.begin()
            await old.add()
            await old.send(b"zombie")
            await new.begin()
            codes = [await old.add(), await old.send(b"zombie"), await old.end(commit=True)]
            assert await new.add() == await new.send(b"new") == await new.end(commit=True) == 0
            return codes, [record.value for record in broker.records("t")]

    fenced = [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED]
    assert asyncio.run(run()) == (fenced, [b"new"])


def test_a_transaction_that_lasts_too_long_is_aborted() -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9", {"t": 1})
        async with broker, connected(broker) as client:
            producer = Producer(client)
            await producer.begin()
            await producer.add()
            await producer.send(b"late")
            broker.advance(11)
            return await producer.end(commit=True), broker.records("t")

    assert asyncio.run(run()) == (ErrorCode.PRODUCER_FENCED, [])


@pytest.mark.parametrize(("commit", "expected"), [(True, {("t", 0): 5}), (False, {})])
def test_offsets_are_committed_with_the_transaction(commit: bool, expected: dict[tuple[str, int], int]) -> None:
    async def run() -> Any:
        broker = FakeBroker("3.9", {"t": 1})
        async with broker, connected(broker) as client:
            producer = Producer(client)
            await producer.begin()
            await ask(client, AddOffsetsToTxnRequest(group_id="g", **producer.who), 3)
            part = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
            topic = TxnOffsetCommitRequestTopic(name="t", partitions=[part])
            await ask(client, TxnOffsetCommitRequest(group_id="g", topics=[topic], **producer.who), 3)
            asked = OffsetFetchRequestGroup(
                group_id="g", topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
            )
            pending = await ask(client, OffsetFetchRequest(groups=[asked], require_stable=True))
            code = pending.groups[0].topics[0].partitions[0].error_code
            return code, broker.offsets("g"), await producer.end(commit=commit), broker.offsets("g")

    assert asyncio.run(run()) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, {}, 0, expected)


def test_since_4_0_partitions_join_by_produce_and_each_end_is_a_new_epoch() -> None:
    """KIP-890: a repeated EndTxn is answered as the first one was."""

    async def run() -> Any:
        broker = FakeBroker("4.4", {"t": 1})
        async with broker, connected(broker) as client:
            producer = Producer(client)
            await producer.begin()
            sent = await producer.send(b"kept")
            ends = [await ask(client, EndTxnRequest(committed=True, **producer.who)) for _ in range(2)]
            producer.epoch, producer.sequence = ends[0].producer_epoch, 0
            again = await producer.send(b"next")
            levels = {one.name: one.max_version_level for one in client.api_versions.finalized_features}
            epochs = [(one.error_code, one.producer_epoch) for one in ends]
            return sent, epochs, again, levels, [record.value for record in broker.records("t")]

    levels = {"group.version": 1, "transaction.version": 2}
    assert asyncio.run(run()) == (0, [(0, 1), (0, 1)], 0, levels, [b"kept"])
