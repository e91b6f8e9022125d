"""Handlers for Produce, Fetch, ListOffsets and OffsetForLeaderEpoch."""

from __future__ import annotations

import asyncio
from collections import defaultdict

import kwire_kafka as kafka
from kwire import ZERO_UUID, Uuid
from kwire.records import Batch
from kwire_kafka.api import fetch
from kwire_kafka.api.list_offsets import ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopic
from kwire_kafka.api.offset_for_leader_epoch import EpochEndOffset, OffsetForLeaderPartition, OffsetForLeaderTopic
from kwire_kafka.api.produce import PartitionProduceData, PartitionProduceResponse, TopicProduceData
from kwire_kafka.enums import IsolationLevel, ListOffsetsTimestamp
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers, answers_each, at_least
from kwire_testing.cluster import Partition
from kwire_testing.log import read
from kwire_testing.refusal import Refused
from kwire_testing.sessions import FIRST, Key, Session

MAX_BYTES = 50 << 20


@answers_each("topic_data.partition_data", "responses.partition_responses")
def append(
    call: Call,
    request: kafka.ProduceRequest,
    topic: TopicProduceData,
    part: PartitionProduceData,
    answer: PartitionProduceResponse,
) -> None:
    """Append a batch to its partition."""
    answer.base_offset = -1
    if request.acks not in (-1, 0, 1):
        raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
    partition, batches = call.partition(topic.name, topic.topic_id, part.index), read(part.records)
    if call.version >= 3 and len(batches) > 1:
        raise Refused(ErrorCode.INVALID_RECORD)
    if request.transactional_id is not None and batches[0].transactional:
        _check_transaction(call, request.transactional_id, partition, batches[0])
    answer.log_start_offset = partition.log.start
    answer.base_offset = partition.log.append(batches, partition.epoch)


def _check_transaction(call: Call, name: str, partition: Partition, batch: Batch) -> None:
    """Raise ``Refused`` unless the partition is part of the transaction. Releases before 3.6 do not check the
    partition.

    Since version 12, Produce adds the partition to the transaction.
    """
    producers = call.cluster.producers
    log, release = partition.log, call.cluster.release
    same = batch.producer_id in log.ongoing and batch.producer_epoch == log.producers[batch.producer_id].epoch
    if same or not at_least(release, 3, 6) or (batch.producer_id in log.ongoing and not at_least(release, 4, 0)):
        return
    producer = producers.find(name, batch.producer_id, batch.producer_epoch)
    if call.version >= 12:
        producers.open(producer, partition)
    if partition not in producer.partitions:
        newer = call.version >= 11
        raise Refused(ErrorCode.TRANSACTION_ABORTABLE if newer else ErrorCode.INVALID_TXN_STATE)


@answers
async def read_batches(call: Call, request: kafka.FetchRequest, response: kafka.FetchResponse) -> None:
    """Respond with batches. Wait until there is enough data or the request's maximum wait time has passed."""
    session = call.cluster.sessions.enter(call.node, call.version, request)
    until = call.cluster.clock.now + request.max_wait_ms / 1000
    while True:
        found = _read(call, request, session)
        size = sum(len(part.records or b"") for part in found.values())
        done = size >= request.min_bytes or any(part.error_code for part in found.values())
        left = until - call.cluster.clock.now
        if done or left <= 0:
            break
        await _appended(call, session, left)
    if session.id and request.session_epoch > FIRST:
        found = {key: part for key, part in found.items() if part.records or session.is_new(key, part)}
    session.sent |= {key: (part.high_watermark, part.log_start_offset) for key, part in found.items()}
    topics: dict[tuple[str, Uuid], list[fetch.PartitionData]] = defaultdict(list)
    for (name, topic_id, _), part in found.items():
        topics[name, topic_id].append(part)
    response.session_id = session.id
    response.responses = [
        fetch.FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=parts)
        for (name, topic_id), parts in topics.items()
    ]


async def _appended(call: Call, session: Session, seconds: float) -> None:
    """Wait up to ``seconds`` until a batch is appended to one of the partitions."""
    event: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    topics = [(call.cluster.find(name, topic_id), index) for name, topic_id, index in session.wanted]
    logs = [topic.partitions[index].log for topic, index in topics if topic and index < len(topic.partitions)]
    for log in logs:
        log.waiting.add(event)
    try:
        await call.cluster.clock.wait(event, seconds)
    finally:
        for log in logs:
            log.waiting.discard(event)


def _read(call: Call, request: kafka.FetchRequest, session: Session) -> dict[Key, fetch.PartitionData]:
    left = request.max_bytes if call.version >= 3 else MAX_BYTES
    found: dict[Key, fetch.PartitionData] = {}
    for key, wanted in session.wanted.items():
        answer = found[key] = fetch.PartitionData(partition_index=key[2], high_watermark=-1, records=b"")
        with call.refusing(answer):
            call.topic(*key)
            answer.aborted_transactions = None
            partition, offset = call.partition(*key, wanted.current_leader_epoch), wanted.fetch_offset
            log = partition.log
            if not log.start <= offset <= log.end:
                raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
            answer.high_watermark, answer.last_stable_offset, answer.log_start_offset = log.end, log.stable, log.start
            end = log.end
            if request.isolation_level == IsolationLevel.READ_COMMITTED:
                end, answer.aborted_transactions = log.stable, [
                    fetch.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                    for one in log.aborted
                    if one.last_offset >= offset
                ]
            if left > 0:
                answer.records = log.read(offset, end, min(left, wanted.partition_max_bytes), call.version)
        left -= len(answer.records or b"")
    return found


@answers_each("topics.partitions")
def find_offsets(
    call: Call,
    request: kafka.ListOffsetsRequest,
    topic: ListOffsetsTopic,
    part: ListOffsetsPartition,
    answer: ListOffsetsPartitionResponse,
) -> None:
    """Respond with the offset for a timestamp, which may stand for the start or end of the log."""
    partition = call.partition(topic.name, ZERO_UUID, part.partition_index, part.current_leader_epoch)
    timestamp, offset = _found(partition, request, part.timestamp)
    if call.version == 0:
        answer.old_style_offsets = [offset] if offset >= 0 else []
    else:
        answer.timestamp, answer.offset = timestamp, offset
    if call.version >= 4 and offset >= 0:
        answer.leader_epoch = partition.epoch


def _found(partition: Partition, request: kafka.ListOffsetsRequest, timestamp: int) -> tuple[int, int]:
    """Return the timestamp and offset for a requested timestamp. A value that is not available is -1."""
    log = partition.log
    match timestamp:
        case ListOffsetsTimestamp.EARLIEST | ListOffsetsTimestamp.EARLIEST_LOCAL:
            return -1, log.start
        case ListOffsetsTimestamp.LATEST:
            return -1, log.stable if request.isolation_level == IsolationLevel.READ_COMMITTED else log.end
        case ListOffsetsTimestamp.MAX:
            return log.newest() or (-1, -1)
    return (log.at_time(timestamp) if timestamp >= 0 else None) or (-1, -1)


@answers_each("topics.partitions")
def find_ends_of_epochs(
    call: Call,
    request: kafka.OffsetForLeaderEpochRequest,
    topic: OffsetForLeaderTopic,
    part: OffsetForLeaderPartition,
    answer: EpochEndOffset,
) -> None:
    """Respond with the largest known epoch up to the requested epoch, and with the offset at which it ended."""
    partition = call.partition(topic.topic, ZERO_UUID, part.partition, part.current_leader_epoch)
    later = [start for epoch, start in partition.epochs if epoch > part.leader_epoch]
    known = [epoch for epoch, _ in partition.epochs if epoch <= part.leader_epoch]
    if known and part.leader_epoch <= partition.epoch:
        answer.leader_epoch, answer.end_offset = known[-1], later[0] if later else partition.log.end
