"""Records compressed by us and read by brokers, and compressed by brokers and read by us."""

from __future__ import annotations

import pytest

from kwire.compression import Codec
from kwire.records import Record, encode_batch, encode_message_set, read_batches
from kwire_kafka.errors import ErrorCode
from tests.e2e.apis.data import YESTERDAY, contents, fetch, produce, read, some_records
from tests.e2e.client import Client
from tests.e2e.messages import build
from tests.e2e.tally import Tally
from tests.e2e.walk import Walk
from tests.real_kafka.broker import Broker

COUNT = 200
each_codec = pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.label)


@pytest.fixture
def old_walk(kafka_before: Broker, tally: Tally) -> Walk:
    """Kafka 3.9 converts between batches and message sets."""
    return Walk(kafka_before, Client(kafka_before.address, kafka_before.name, tally))


def many_records() -> list[Record]:
    """With headers, one of them without value, and nulls here and there."""
    records = some_records(COUNT)
    for number, record in enumerate(records):
        record.headers = (("number", b"%d" % number), ("nothing", None), ("mäh", b"")) if number % 4 else ()
    return records


@each_codec
def test_a_broker_keeps_our_batches_as_they_are(codec: Codec, walk: Walk) -> None:
    topic = f"ours-{codec.label}"
    topic_id = walk.topic(topic)
    sent = many_records()
    produce(walk, topic, topic_id, encode_batch(sent, codec=codec), COUNT)
    fetched = fetch(walk, topic, topic_id).records
    (batch,) = read_batches(fetched)
    assert (batch.codec, batch.base_offset, batch.leader_epoch) == (codec, 0, 0)
    assert [record.headers for record in batch] == [record.headers for record in sent]
    assert [record.timestamp for record in batch] == [record.timestamp for record in sent]
    assert contents(read(walk, fetched)) == contents(sent)


@each_codec
def test_what_a_broker_compresses_is_read(codec: Codec, walk: Walk) -> None:
    topic = f"theirs-{codec.label}"
    compression = {"name": "compression.type", "value": "uncompressed" if codec == Codec.NONE else codec.label}
    topic_id = walk.topic(topic, configs=[compression])
    sent = many_records()
    produce(walk, topic, topic_id, encode_batch(sent), COUNT)
    fetched = fetch(walk, topic, topic_id).records
    assert [batch.codec for batch in read_batches(fetched)] == [codec]
    assert contents(read(walk, fetched)) == contents(sent)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", list(Codec)[: Codec.ZSTD], ids=lambda codec: codec.label)
def test_trap_45_messages_of_old_are_converted_by_a_broker(magic: int, codec: Codec, old_walk: Walk) -> None:
    """Ours into batches, batches into messages for us: with LZ4, magic 0 has a wrong header checksum both ways."""
    topic = f"messages-{magic}-{codec.label}"
    topic_id = old_walk.topic(topic)
    sent = [Record(record.key, record.value, (), record.timestamp if magic else -1) for record in some_records(COUNT)]
    messages = encode_message_set(sent, magic=magic, codec=codec)
    produce(old_walk, topic, topic_id, messages, COUNT, version=magic * 2)
    found: list[Record] = []
    while len(found) < COUNT:
        fetched = fetch(old_walk, topic, topic_id, len(found), version=magic * 2).records
        assert {batch.magic for batch in read_batches(fetched)} == {magic}
        found += [record for record in read(old_walk, fetched, converted=True) if record.offset >= len(found)]
    assert contents(found) == contents(sent)
    assert [record.timestamp for record in found] == [record.timestamp for record in sent]
    assert contents(read(old_walk, fetch(old_walk, topic, topic_id).records)) == contents(sent)


def test_trap_45_zstd_is_not_for_old_versions(old_walk: Walk) -> None:
    topic_id = old_walk.topic("too-new", configs=[{"name": "compression.type", "value": "zstd"}])
    produce(old_walk, "too-new", topic_id, encode_batch(some_records(), codec=Codec.ZSTD), 3)
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    refused = old_walk.ask(
        "Fetch",
        9,
        max_wait_ms=0,
        topics=[{"topic": "too-new", "partitions": [partition]}],
        allow={ErrorCode.UNSUPPORTED_COMPRESSION_TYPE},
    )
    assert refused.responses[0].partitions[0].error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


def test_trap_08_produce_without_acknowledgement_is_not_answered(walk: Walk) -> None:
    """The next response is that of the next request."""
    topic_id = walk.topic("unanswered")
    fetch(walk, "unanswered", topic_id)  # waits for its leader: without one, the broker closes the connection
    version = walk.versions("Produce")[-1]
    partition = {"index": 0, "records": encode_batch(some_records(), codec=Codec.LZ4)}
    topics = [{"name": "unanswered", "topic_id": topic_id, "partition_data": [partition]}]
    walk.client.tell(build("Produce", version, {"acks": 0, "timeout_ms": 1000, "topic_data": topics}), version)
    walk.client.tally.produced += 3
    found = walk.wait("the records", lambda: read(walk, fetch(walk, "unanswered", topic_id).records))
    assert contents(found) == contents(some_records())


def test_an_idempotent_producer_may_repeat_itself(walk: Walk) -> None:
    topic_id = walk.topic("idempotent")
    given = walk.latest("InitProducerId", transactional_id=None, producer_id=-1, producer_epoch=-1)
    producer = {"producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    for sequence in (0, 3, 3, 6):
        produce(walk, "idempotent", topic_id, encode_batch(some_records(), **producer, base_sequence=sequence), 3)
    batches = list(read_batches(fetch(walk, "idempotent", topic_id).records))
    assert [(batch.producer_id, batch.base_sequence) for batch in batches] == [
        (given.producer_id, sequence) for sequence in (0, 3, 6)
    ]


def test_a_broker_stamps_records_with_its_own_clock(walk: Walk) -> None:
    topic_id = walk.topic("stamped", configs=[{"name": "message.timestamp.type", "value": "LogAppendTime"}])
    produce(walk, "stamped", topic_id, encode_batch(some_records()), 3)
    (batch,) = read_batches(fetch(walk, "stamped", topic_id).records)
    assert batch.timestamp_type == "append"
    assert {record.timestamp for record in batch} == {batch.max_timestamp}
    assert batch.max_timestamp > YESTERDAY + 1000
