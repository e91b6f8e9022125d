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
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.offsets import commit
from kwire_testing.call import Call, answers
from kwire_testing.refusal import Refused
from kwire_testing.transactions import Producer

MAX_TIMEOUT = 900_000
"""Milliseconds that a transaction may last."""


@answers(InitProducerIdRequest, InitProducerIdResponse)
def init_producer_id(call: Call, request: InitProducerIdRequest, response: InitProducerIdResponse) -> None:
    """Answer with a producer id and an epoch."""
    response.producer_id = response.producer_epoch = -1
    name = request.transactional_id
    if name is None:
        call.check()
    else:
        call.coordinate(name)
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST)
        if not 0 < request.transaction_timeout_ms <= MAX_TIMEOUT:
            raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    producer = call.cluster.producers.begin(
        name, request.transaction_timeout_ms / 1000, request.producer_id, request.producer_epoch
    )
    response.producer_id, response.producer_epoch = producer.id, producer.epoch


@answers(AddPartitionsToTxnRequest, AddPartitionsToTxnResponse)
def add_partitions_to_txn(
    call: Call, request: AddPartitionsToTxnRequest, response: AddPartitionsToTxnResponse
) -> None:
    """Make partitions part of a transaction."""

    def added(asked: AddPartitionsToTxnTransaction) -> list[AddPartitionsToTxnTopicResult]:
        places = [(topic.name, index) for topic in asked.topics for index in topic.partitions]
        complete = all(call.cluster.has(name, index) for name, index in places)

        def add(topic: AddPartitionsToTxnTopic, index: int, answer: AddPartitionsToTxnPartitionResult) -> None:
            producer = _producer(call, asked)
            partition = call.topic(topic.name, index=index).partitions[index]
            if not complete:
                raise Refused(ErrorCode.OPERATION_NOT_ATTEMPTED)
            if not asked.verify_only:
                call.cluster.producers.open(producer)
                producer.partitions.add(partition)
            elif partition not in producer.partitions:
                raise Refused(ErrorCode.TRANSACTION_ABORTABLE if call.version >= 5 else ErrorCode.INVALID_TXN_STATE)

        return call.each_partition(asked.topics, AddPartitionsToTxnTopicResult, add)

    def answer(asked: AddPartitionsToTxnTransaction, answer: AddPartitionsToTxnResult) -> None:
        answer.topic_results = added(asked)

    response.results_by_transaction = call.each(request.transactions, AddPartitionsToTxnResult, answer)
    if call.version < 4:
        one = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        response.results_by_topic_v3_and_below = added(one)


@answers(AddOffsetsToTxnRequest, AddOffsetsToTxnResponse)
def add_offsets_to_txn(call: Call, request: AddOffsetsToTxnRequest, response: AddOffsetsToTxnResponse) -> None:
    """Make the offsets of a group part of a transaction."""
    call.cluster.producers.open(_producer(call, request))


@answers(TxnOffsetCommitRequest, TxnOffsetCommitResponse)
def txn_offset_commit(call: Call, request: TxnOffsetCommitRequest, response: TxnOffsetCommitResponse) -> None:
    """Keep offsets until the transaction ends."""

    def keep(
        topic: TxnOffsetCommitRequestTopic,
        part: TxnOffsetCommitRequestPartition,
        answer: TxnOffsetCommitResponsePartition,
    ) -> None:
        call.topic(topic.name, topic.topic_id, part.partition_index)
        group, producers = call.group(request.group_id), call.cluster.producers
        producer = producers.find(request.transactional_id, request.producer_id, request.producer_epoch)
        group.check(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
        producers.open(producer)
        producer.groups.add(group)
        commit(call, group.pending.setdefault(producer.id, {}), topic, part)

    response.topics = call.each_partition(request.topics, TxnOffsetCommitResponseTopic, keep)


@answers(EndTxnRequest, EndTxnResponse)
def end_txn(call: Call, request: EndTxnRequest, response: EndTxnResponse) -> None:
    """Commit or abort a transaction."""
    call.coordinate(request.transactional_id)
    producer = call.cluster.producers.end(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        commit=request.committed,
        bump=call.version >= 5,
    )
    response.producer_id, response.producer_epoch = producer.id, producer.epoch


def _producer(call: Call, asked: AddOffsetsToTxnRequest | AddPartitionsToTxnTransaction) -> Producer:
    call.coordinate(asked.transactional_id)
    return call.cluster.producers.find(asked.transactional_id, asked.producer_id, asked.producer_epoch)
