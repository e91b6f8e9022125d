"""Producer ids and transactions."""

from __future__ import annotations

from kwire_kafka import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from kwire_kafka.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kwire_kafka.api.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.offsets import committed
from kwire_testing.call import Call, answers
from kwire_testing.refusal import Refused
from kwire_testing.transactions import Producer, as_older


@answers(InitProducerIdRequest)
def init_producer_id(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """Answer with a producer id and an epoch."""
    try:
        with as_older(call.version, 4):
            if request.transactional_id is None:
                call.check()
            else:
                call.coordinate(request.transactional_id)
            producer = call.cluster.producers.begin(
                request.transactional_id,
                request.transaction_timeout_ms / 1000,
                request.producer_id,
                request.producer_epoch,
            )
    except Refused as refusal:
        return InitProducerIdResponse(error_code=refusal.error, producer_id=-1, producer_epoch=-1)
    return InitProducerIdResponse(producer_id=producer.id, producer_epoch=producer.epoch)


@answers(AddPartitionsToTxnRequest)
def add_partitions_to_txn(call: Call, request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """Make partitions part of a transaction."""
    if call.version >= 4:
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(transactional_id=one.transactional_id, topic_results=_added(call, one))
                for one in request.transactions
            ]
        )
    one = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_added(call, one))


def _added(call: Call, asked: AddPartitionsToTxnTransaction) -> list[AddPartitionsToTxnTopicResult]:
    producer, error = None, ErrorCode.NONE
    try:
        with as_older(call.version, 2):
            call.coordinate(asked.transactional_id)
            producer = call.cluster.producers.find(asked.transactional_id, asked.producer_id, asked.producer_epoch)
    except Refused as refusal:
        error = refusal.error

    def add(topic: AddPartitionsToTxnTopic, index: int) -> ErrorCode:
        if producer is None:
            return error
        try:
            partition = call.topic(topic.name, bytes(16), index).partitions[index]
        except Refused as refusal:
            return refusal.error
        if asked.verify_only:
            return ErrorCode.NONE if partition in producer.partitions else ErrorCode.INVALID_TXN_STATE
        call.cluster.producers.open(producer)
        producer.partitions.add(partition)
        return ErrorCode.NONE

    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=add(topic, index))
                for index in topic.partitions
            ],
        )
        for topic in asked.topics
    ]


@answers(AddOffsetsToTxnRequest)
def add_offsets_to_txn(call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    """Make the offsets of a group part of a transaction."""
    with as_older(call.version, 2):
        call.coordinate(request.transactional_id)
        producer = _producer(call, request)
    call.cluster.producers.open(producer)
    return AddOffsetsToTxnResponse()


@answers(TxnOffsetCommitRequest)
def txn_offset_commit(call: Call, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Keep offsets until the transaction ends."""
    error, pending = ErrorCode.NONE, {}
    try:
        with as_older(call.version, 4):
            group = call.group(request.group_id)
            producer = _producer(call, request)
            group.check(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
            call.cluster.producers.open(producer)
            producer.groups.add(group)
            pending = group.pending.setdefault(producer.id, {})
    except Refused as refusal:
        error = refusal.error

    def commit(name: str, topic_id: bytes, part: TxnOffsetCommitRequestPartition) -> TxnOffsetCommitResponsePartition:
        code = error or committed(call, pending, name, topic_id, part)
        return TxnOffsetCommitResponsePartition(partition_index=part.partition_index, error_code=code)

    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[commit(topic.name, topic.topic_id, part) for part in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _producer(call: Call, request: AddOffsetsToTxnRequest | TxnOffsetCommitRequest) -> Producer:
    return call.cluster.producers.find(request.transactional_id, request.producer_id, request.producer_epoch)


@answers(EndTxnRequest)
def end_txn(call: Call, request: EndTxnRequest) -> EndTxnResponse:
    """Commit or abort a transaction."""
    with as_older(call.version, 2):
        call.coordinate(request.transactional_id)
        producer = call.cluster.producers.end(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            commit=request.committed,
            bump=call.version >= 5,
        )
    return EndTxnResponse(producer_id=producer.id, producer_epoch=producer.epoch)
