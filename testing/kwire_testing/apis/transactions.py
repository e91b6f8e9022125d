"""Handlers for producer ids and transactions."""

from __future__ import annotations

import kwire_kafka as kafka
from kwire_kafka.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kwire_kafka.api.txn_offset_commit import (
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponsePartition,
)
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.groups import commit
from kwire_testing.call import Call, answers, answers_each
from kwire_testing.refusal import Refused
from kwire_testing.transactions import Producer

Answer = AddPartitionsToTxnResponse | AddPartitionsToTxnResult

MAX_TIMEOUT = 900_000
"""Maximum duration of a transaction in milliseconds."""


@answers
def init_producer_id(
    call: Call, request: kafka.InitProducerIdRequest, response: kafka.InitProducerIdResponse
) -> None:
    response.producer_id = response.producer_epoch = -1
    name, timeout = request.transactional_id, request.transaction_timeout_ms
    if name is None:
        call.check()
    else:
        call.coordinate(name)
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout <= MAX_TIMEOUT:
            raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    producer = call.cluster.producers.begin(name, timeout / 1000, request.producer_id, request.producer_epoch)
    response.producer_id, response.producer_epoch = producer.id, producer.epoch


@answers
def add_partitions(
    call: Call, request: kafka.AddPartitionsToTxnRequest, response: kafka.AddPartitionsToTxnResponse
) -> None:
    """Add partitions to one transaction or, since version 4, to several."""
    names = ("transactional_id", "producer_id", "producer_epoch", "topics")
    if call.version < 4:
        old = AddPartitionsToTxnTransaction(**{name: getattr(request, f"v3_and_below_{name}") for name in names})
        _add(call, old, response, "results_by_topic_v3_and_below")
    for asked in request.transactions:
        response.results_by_transaction.append(AddPartitionsToTxnResult(transactional_id=asked.transactional_id))
        _add(call, asked, response.results_by_transaction[-1], "topic_results")


def _add(call: Call, asked: AddPartitionsToTxnTransaction, response: Answer, results: str) -> None:
    """Add partitions to a transaction. If any partition does not exist, add no partitions."""
    complete = all(call.cluster.has(topic.name, index) for topic in asked.topics for index in topic.partitions)

    def add(topic: AddPartitionsToTxnTopic, index: int, answer: AddPartitionsToTxnPartitionResult) -> None:
        producer = _producer(call, asked)
        partition = call.topic(topic.name, index=index).partitions[index]
        if not complete:
            raise Refused(ErrorCode.OPERATION_NOT_ATTEMPTED)
        if not asked.verify_only:
            call.cluster.producers.open(producer, partition)
        elif partition not in producer.partitions:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE if call.version >= 5 else ErrorCode.INVALID_TXN_STATE)

    call.each(add, asked, response, "topics.partitions", f"{results}.results_by_partition")


@answers
def add_offsets(call: Call, request: kafka.AddOffsetsToTxnRequest, response: kafka.AddOffsetsToTxnResponse) -> None:
    call.cluster.producers.open(_producer(call, request))


@answers_each("topics.partitions")
def commit_offsets(
    call: Call,
    request: kafka.TxnOffsetCommitRequest,
    topic: TxnOffsetCommitRequestTopic,
    part: TxnOffsetCommitRequestPartition,
    answer: TxnOffsetCommitResponsePartition,
) -> None:
    """Keep an offset until the transaction ends."""
    call.topic(topic.name, topic.topic_id, part.partition_index)
    group, producers = call.group(request.group_id), call.cluster.producers
    producer = producers.find(request.transactional_id, request.producer_id, request.producer_epoch)
    group.check(request.member_id, request.generation_id_or_member_epoch, request.group_instance_id)
    producers.open(producer)
    producer.groups.add(group)
    commit(call, group.pending.setdefault(producer.id, {}), topic, part)


@answers
def end_transaction(call: Call, request: kafka.EndTxnRequest, response: kafka.EndTxnResponse) -> None:
    name, bump = request.transactional_id, call.version >= 5
    call.coordinate(name)
    producer = call.cluster.producers.end(
        name, request.producer_id, request.producer_epoch, commit=request.committed, bump=bump
    )
    response.producer_id, response.producer_epoch = producer.id, producer.epoch


def _producer(call: Call, asked: kafka.AddOffsetsToTxnRequest | AddPartitionsToTxnTransaction) -> Producer:
    call.coordinate(asked.transactional_id)
    return call.cluster.producers.find(asked.transactional_id, asked.producer_id, asked.producer_epoch)
