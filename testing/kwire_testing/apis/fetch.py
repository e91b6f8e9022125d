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
from kwire_kafka.api.list_offsets import ListOffsetsPartition, ListOffsetsPartitionResponse, ListOffsetsTopicResponse
from kwire_kafka.api.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from kwire_kafka.enums import IsolationLevel, ListOffsetsTimestamp
from kwire_kafka.errors import ErrorCode
from kwire_testing.call import Call, answers
from kwire_testing.cluster import Partition
from kwire_testing.refusal import Refused
from kwire_testing.sessions import FIRST, Key, Session

MAX_BYTES = 50 << 20


@answers(FetchRequest)
async def fetch(call: Call, request: FetchRequest) -> FetchResponse:
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
        found = {key: part for key, part in found.items() if part.records or _news(session, key, part)}
    session.told |= {key: (part.high_watermark, part.log_start_offset) for key, part in found.items()}
    topics: dict[tuple[str, Uuid], list[PartitionData]] = defaultdict(list)
    for (name, topic_id, _), part in found.items():
        topics[name, topic_id].append(part)
    return FetchResponse(
        session_id=session.id,
        responses=[
            FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=parts)
            for (name, topic_id), parts in topics.items()
        ],
    )


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
    for key, wanted in session.wanted.items():
        part = found[key] = _part(call, request, key, wanted, left)
        left -= len(part.records or b"")
    return found


def _part(call: Call, request: FetchRequest, key: Key, wanted: FetchPartition, left: int) -> PartitionData:
    name, topic_id, index = key
    try:
        partition = call.partition(name, topic_id, index, wanted.current_leader_epoch)
        log, offset = partition.log, wanted.fetch_offset
        if not log.start <= offset <= log.end:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
    except Refused as refusal:
        return PartitionData(
            partition_index=index,
            error_code=refusal.error,
            high_watermark=-1,
            last_stable_offset=-1,
            log_start_offset=-1,
            records=b"",
        )
    committed = request.isolation_level == IsolationLevel.READ_COMMITTED
    end = log.stable if committed else log.end
    records = log.read(offset, end, min(left, wanted.partition_max_bytes), call.version) if left > 0 else b""
    aborted = [
        AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
        for one in log.aborted
        if one.last_offset >= offset
    ]
    return PartitionData(
        partition_index=index,
        high_watermark=log.end,
        last_stable_offset=log.stable,
        log_start_offset=log.start,
        aborted_transactions=aborted if committed else None,
        records=records,
    )


def _news(session: Session, key: Key, part: PartitionData) -> bool:
    return part.error_code != 0 or session.told.get(key) != (part.high_watermark, part.log_start_offset)


@answers(ListOffsetsRequest)
def list_offsets(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """Answer with the offsets at times, at the beginning or at the end."""
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=[_offset(call, request, topic.name, part) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _offset(
    call: Call, request: ListOffsetsRequest, name: str, asked: ListOffsetsPartition
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    try:
        partition = call.partition(name, bytes(16), index, asked.current_leader_epoch)
    except Refused as refusal:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=refusal.error)
    timestamp, offset = _found(partition, request, asked.timestamp)
    if call.version == 0:
        return ListOffsetsPartitionResponse(partition_index=index, old_style_offsets=[offset] if offset >= 0 else [])
    answer = ListOffsetsPartitionResponse(partition_index=index, timestamp=timestamp, offset=offset)
    if call.version >= 4 and offset >= 0:
        answer.leader_epoch = partition.epoch
    return answer


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


@answers(OffsetForLeaderEpochRequest)
def offset_for_leader_epoch(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """Answer with the offsets at which epochs of leaders ended."""
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_end(call, topic.topic, part) for part in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _end(call: Call, name: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    try:
        partition = call.partition(name, bytes(16), asked.partition, asked.current_leader_epoch)
    except Refused as refusal:
        return EpochEndOffset(partition=asked.partition, error_code=refusal.error)
    later = [start for epoch, start in partition.epochs if epoch > asked.leader_epoch]
    known = [epoch for epoch, _ in partition.epochs if epoch <= asked.leader_epoch]
    end = later[0] if later else partition.log.end
    return EpochEndOffset(
        partition=asked.partition,
        leader_epoch=known[-1] if known else -1,
        end_offset=end if known and asked.leader_epoch <= partition.epoch else -1,
    )
