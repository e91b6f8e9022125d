"""Fetch, ListOffsets and OffsetForLeaderEpoch."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from kwire import Uuid
from kwire_kafka import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from kwire_kafka.api.fetch import AbortedTransaction, FetchableTopicResponse, FetchPartition, PartitionData
from kwire_kafka.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from kwire_kafka.api.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
)
from kwire_kafka.enums import IsolationLevel, ListOffsetsTimestamp
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import Partition
from kwire_testing.refusal import Refused
from kwire_testing.sessions import FIRST, Key, Session

MAX_BYTES = 50 << 20


@answers(FetchRequest, FetchResponse)
async def fetch(call: Call, request: FetchRequest, response: FetchResponse) -> None:
    """Answer with batches, and wait for them as long as the request allows."""
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
    session.told |= {key: (part.high_watermark, part.log_start_offset) for key, part in found.items()}
    topics: dict[tuple[str, Uuid], list[PartitionData]] = defaultdict(list)
    for (name, topic_id, _), part in found.items():
        topics[name, topic_id].append(part)
    response.session_id = session.id
    response.responses = [
        FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=parts)
        for (name, topic_id), parts in topics.items()
    ]


async def _appended(call: Call, session: Session, seconds: float) -> None:
    """Wait until a batch comes to one of the partitions, or the time is over."""
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


def _read(call: Call, request: FetchRequest, session: Session) -> dict[Key, PartitionData]:
    left = request.max_bytes if call.version >= 3 else MAX_BYTES
    found: dict[Key, PartitionData] = {}

    def read(item: tuple[Key, FetchPartition], answer: PartitionData) -> None:
        (name, topic_id, index), wanted = item
        answer.partition_index, answer.records = index, b""
        answer.high_watermark = -1
        call.topic(name, topic_id, index)
        answer.aborted_transactions = None
        partition = call.partition(name, topic_id, index, wanted.current_leader_epoch)
        log, offset = partition.log, wanted.fetch_offset
        if not log.start <= offset <= log.end:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        answer.high_watermark, answer.last_stable_offset, answer.log_start_offset = log.end, log.stable, log.start
        end = log.end
        if request.isolation_level == IsolationLevel.READ_COMMITTED:
            end, answer.aborted_transactions = log.stable, [
                AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                for one in log.aborted
                if one.last_offset >= offset
            ]
        if left > 0:
            answer.records = log.read(offset, end, min(left, wanted.partition_max_bytes), call.version)

    for item in session.wanted.items():
        [found[item[0]]] = call.each([item], PartitionData, read)
        left -= len(found[item[0]].records or b"")
    return found


@answers(ListOffsetsRequest, ListOffsetsResponse)
def list_offsets(call: Call, request: ListOffsetsRequest, response: ListOffsetsResponse) -> None:
    """Answer with the offsets at times, at the beginning or at the end."""

    def find(topic: ListOffsetsTopic, part: ListOffsetsPartition, answer: ListOffsetsPartitionResponse) -> None:
        partition = call.partition(topic.name, bytes(16), part.partition_index, part.current_leader_epoch)
        timestamp, offset = _found(partition, request, part.timestamp)
        if call.version == 0:
            answer.old_style_offsets = [offset] if offset >= 0 else []
            return
        answer.timestamp, answer.offset = timestamp, offset
        if call.version >= 4 and offset >= 0:
            answer.leader_epoch = partition.epoch

    response.topics = call.each_partition(request.topics, ListOffsetsTopicResponse, find)


def _found(partition: Partition, request: ListOffsetsRequest, timestamp: int) -> tuple[int, int]:
    """Return timestamp and offset, each -1 if no record has them."""
    log = partition.log
    match timestamp:
        case ListOffsetsTimestamp.EARLIEST | ListOffsetsTimestamp.EARLIEST_LOCAL:
            return -1, log.start
        case ListOffsetsTimestamp.LATEST:
            return -1, log.stable if request.isolation_level == IsolationLevel.READ_COMMITTED else log.end
        case ListOffsetsTimestamp.MAX:
            return log.newest() or (-1, -1)
    return (log.at_time(timestamp) if timestamp >= 0 else None) or (-1, -1)


@answers(OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse)
def offset_for_leader_epoch(
    call: Call, request: OffsetForLeaderEpochRequest, response: OffsetForLeaderEpochResponse
) -> None:
    """Answer with the offsets at which epochs of leaders ended."""

    def find(topic: OffsetForLeaderTopic, part: OffsetForLeaderPartition, answer: EpochEndOffset) -> None:
        partition = call.partition(topic.topic, bytes(16), part.partition, part.current_leader_epoch)
        later = [start for epoch, start in partition.epochs if epoch > part.leader_epoch]
        known = [epoch for epoch, _ in partition.epochs if epoch <= part.leader_epoch]
        if known and part.leader_epoch <= partition.epoch:
            answer.leader_epoch, answer.end_offset = known[-1], later[0] if later else partition.log.end

    response.topics = call.each_partition(request.topics, OffsetForLeaderTopicResult, find)
