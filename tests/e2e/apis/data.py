"""Records, one partition at a time: produced and fetched in all versions, looked up, deleted."""

from __future__ import annotations

from typing import Any

from kwire.records import Record, encode_batch, encode_message_set, read_batches
from kwire.uuids import Uuid
from tests.e2e.walk import Walk

YESTERDAY = 1_700_000_000_000
LATEST, EARLIEST = -1, -2
FETCH = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20}


def some_records(count: int = 3) -> list[Record]:
    """Records with and without key, value and timestamp order; headers are left to those who have magic 2."""
    return [
        Record(
            key=b"key-%d" % number if number % 3 else None,
            value=b"value " * number if number % 5 else None,
            timestamp=YESTERDAY + number % 7,
        )
        for number in range(1, count + 1)
    ]


def produce(
    walk: Walk, topic: str, topic_id: Uuid, records: bytes, count: int, version: int | None = None, **fields: Any
) -> int:
    """Append ``count`` encoded records to partition 0; the offset of the first."""
    partition = {"index": 0, "records": records}
    response = walk.ask(
        "Produce",
        walk.versions("Produce")[-1] if version is None else version,
        **{"acks": -1, "timeout_ms": 5000, **fields},
        topic_data=[{"name": topic, "topic_id": topic_id, "partition_data": [partition]}],
    )
    walk.client.tally.produced += count
    base_offset: int = response.responses[0].partition_responses[0].base_offset
    return base_offset


def fetch(walk: Walk, topic: str, topic_id: Uuid, offset: int = 0, version: int | None = None, **fields: Any) -> Any:
    """What partition 0 has from ``offset`` on, as the response has it."""
    partition = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    response = walk.ask(
        "Fetch",
        walk.versions("Fetch")[-1] if version is None else version,
        **{**FETCH, **fields},
        topics=[{"topic": topic, "topic_id": topic_id, "partitions": [partition]}],
    )
    return response.responses[0].partitions[0]


def read(walk: Walk, data: bytes | None, *, converted: bool = False) -> list[Record]:
    """The records of a ``records`` field, all of whose bytes must make sense; control records are left out.

    A broker that converts to an older magic promises a size before it does so: what does not fit is cut off, or the
    beginning of a message fills the rest [KAFKA-WIRE 44].
    """
    reader = read_batches(data or b"")
    found = [record for batch in reader if not batch.control for record in batch]
    assert reader.errors == []
    assert converted or not reader.truncated
    walk.client.tally.read_back += len(found)
    return found


def encoded_for(version: int, records: list[Record]) -> bytes:
    """Records as a version of Produce wants them: batches from 3 on, messages before, without timestamps before 2."""
    if version >= 3:
        return encode_batch(records)
    if version == 2:
        return encode_message_set(records, magic=1)
    return encode_message_set([Record(record.key, record.value) for record in records], magic=0)


def contents(records: list[Record]) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in records]


def produced_and_fetched(walk: Walk) -> None:
    topic_id = walk.topic("produced")
    sent = some_records()
    for version in walk.versions("Produce"):
        produce(walk, "produced", topic_id, encoded_for(version, sent), len(sent), version)
    expected = contents(sent) * len(walk.versions("Produce"))
    for version in walk.versions("Fetch"):
        found: list[Record] = []
        while len(found) < len(expected):
            partition = fetch(walk, "produced", topic_id, len(found), version)
            assert partition.high_watermark == len(expected)
            found += read(walk, partition.records, converted=version < 4)
        assert contents(found) == expected
        assert [record.offset for record in found] == list(range(len(expected)))
        timestamps = [record.timestamp for record in sent] if version >= 2 else [-1]
        assert found[-1].timestamp == timestamps[-1]


def fetch_sessions(walk: Walk) -> None:
    """A session is opened and told to forget a topic; the second answer has nothing to say."""
    topic_id = walk.topic("in-session")
    produce(walk, "in-session", topic_id, encode_batch(some_records()), 3)
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    opening = [{"topic": "in-session", "topic_id": topic_id, "partitions": [partition]}]
    for version in (version for version in walk.versions("Fetch") if version >= 7):
        opened = walk.ask("Fetch", version, **FETCH, session_id=0, session_epoch=0, topics=opening)
        assert opened.session_id
        forgotten = [{"topic": "in-session", "topic_id": topic_id, "partitions": [0]}]
        session = {"session_id": opened.session_id, "session_epoch": 1, "forgotten_topics_data": forgotten}
        assert walk.ask("Fetch", version, max_wait_ms=0, topics=[], **session).responses == []


def offsets_looked_up_and_deleted(walk: Walk) -> None:
    topic_id = walk.topic("looked-up")
    produce(walk, "looked-up", topic_id, encode_batch(some_records()), 3)
    for timestamp, expected in ((LATEST, 3), (EARLIEST, 0)):
        asked = [{"partition_index": 0, "timestamp": timestamp, "max_num_offsets": 1}]
        topics = [{"name": "looked-up", "partitions": asked}]
        for response in walk.every("ListOffsets", replica_id=-1, topics=topics, timeout_ms=1000):
            partition = response.topics[0].partitions[0]
            assert expected in (partition.offset, *partition.old_style_offsets)
    asked = [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]
    for response in walk.every("OffsetForLeaderEpoch", topics=[{"topic": "looked-up", "partitions": asked}]):
        assert response.topics[0].partitions[0].end_offset == 3
    for version in walk.versions("DeleteRecords"):
        partitions = [{"partition_index": 0, "offset": 1 + version}]
        topics = [{"name": "looked-up", "partitions": partitions}]
        response = walk.ask("DeleteRecords", version, topics=topics, timeout_ms=5000)
        assert response.topics[0].partitions[0].low_watermark == 1 + version
