"""A transaction that is committed, one that is aborted, and who gets to see what."""

from __future__ import annotations

from typing import Any

from kwire.records import ControlRecord, Record, decode_control, encode_batch, read_batches
from kwire.uuids import Uuid
from kwire_kafka import PROTOCOL
from tests.e2e.apis.data import contents, fetch, produce
from tests.e2e.walk import TRANSACTION, Walk

READ_COMMITTED = 1


def transaction(walk: Walk, topic: str, topic_id: Uuid, values: list[bytes], *, committed: bool, size: int) -> int:
    """Write values in a transaction of its own, wait until the log has ``size`` records, and return its producer id.

    The coordinator answers before the partition has the end of the transaction.
    """
    version = walk.versions("Produce")[-1]
    name = f"{topic}-{'good' if committed else 'bad'}"
    walk.find_coordinator(name, TRANSACTION)
    given = walk.latest(
        "InitProducerId", transactional_id=name, transaction_timeout_ms=60000, producer_id=-1, producer_epoch=-1
    )
    ids = {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    producer = {"transactional_id": name, **ids}
    topics = [{"name": topic, "partitions": [0]}]
    adding = {f"v3_and_below_{field}": value for field, value in producer.items()}
    walk.ask("AddPartitionsToTxn", 3, **adding, v3_and_below_topics=topics)
    records = encode_batch([Record(value=value) for value in values], **ids, base_sequence=0, transactional=True)
    produce(walk, topic, topic_id, records, len(values), version, transactional_id=name)
    walk.latest("EndTxn", **producer, committed=committed)
    walk.wait("the end", lambda: _whole(fetch(walk, topic, topic_id, isolation_level=READ_COMMITTED), size))
    producer_id: int = given.producer_id
    return producer_id


def test_only_what_was_committed_is_seen(walk: Walk) -> None:
    topic_id = walk.topic("decided")
    good = transaction(walk, "decided", topic_id, [b"a", b"b"], committed=True, size=3)
    bad = transaction(walk, "decided", topic_id, [b"x", b"y", b"z"], committed=False, size=7)
    partition = fetch(walk, "decided", topic_id, isolation_level=READ_COMMITTED)

    assert [(run.producer_id, run.first_offset) for run in partition.aborted_transactions] == [(bad, 3)]
    assert _control(partition.records) == [(good, "commit", 2), (bad, "abort", 6)]
    assert contents(committed(partition)) == [(None, b"a"), (None, b"b")]


def _whole(partition: Any, size: int) -> Any:
    """Return the partition once it has ``size`` records and ends, and none of them is undecided."""
    return partition if partition.last_stable_offset == partition.high_watermark == size else None


def _control(data: bytes) -> list[tuple[int, str, int]]:
    found = []
    for batch in read_batches(data):
        if batch.control:
            (record,) = batch
            end: ControlRecord = decode_control(PROTOCOL, record)
            assert end.message is not None
            found.append((batch.producer_id, end.name, record.offset))
    return found


def committed(partition: Any) -> list[Record]:
    """What a consumer that reads committed records makes of a partition: those of aborted transactions are dropped,
    from the offset that the broker names up to the end of the transaction."""
    begins = sorted((run.first_offset, run.producer_id) for run in partition.aborted_transactions or ())
    aborting: set[int] = set()
    found: list[Record] = []
    for batch in read_batches(partition.records):
        while begins and begins[0][0] <= batch.last_offset:
            aborting.add(begins.pop(0)[1])
        if batch.control:
            aborting.discard(batch.producer_id)
        elif batch.producer_id not in aborting or not batch.transactional:
            found += batch
    return found
