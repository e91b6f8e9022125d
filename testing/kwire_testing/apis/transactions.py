"""Handlers for producer ids and transactions."""

from __future__ import annotations

import kwire_kafka as kafka
from kwire_kafka.api import add_partitions_to_txn, txn_offset_commit
from kwire_kafka.api.add_partitions_to_txn import AddPartitionsToTxnTransaction
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.groups import commit
from kwire_testing.call import Call, answers
from kwire_testing.refusal import Refused
from kwire_testing.transactions import Producer

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
    rows, cls = request.transactions, add_partitions_to_txn.AddPartitionsToTxnResult
    for asked, answer in call.each(rows, cls, response.results_by_transaction):
        _add(call, asked, answer.topic_results)
    if call.version < 4:
        one = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        _add(call, one, response.results_by_topic_v3_and_below)


def _add(
    call: Call,
    asked: AddPartitionsToTxnTransaction,
    results: list[add_partitions_to_txn.AddPartitionsToTxnTopicResult],
) -> None:
    """Add partitions to a transaction. If any of them does not exist, add none."""
    complete = all(call.cluster.has(topic.name, index) for topic in asked.topics for index in topic.partitions)
    for topic, found in call.each(asked.topics, add_partitions_to_txn.AddPartitionsToTxnTopicResult, results):
        cls = add_partitions_to_txn.AddPartitionsToTxnPartitionResult
        for index, answer in call.each(topic.partitions, cls, found.results_by_partition):
            with call.refusing(answer):
                producer = _producer(call, asked)
                partition = call.topic(topic.name, index=index).partitions[index]
                if not complete:
                    raise Refused(ErrorCode.OPERATION_NOT_ATTEMPTED)
                if not asked.verify_only:
                    call.cluster.producers.open(producer)
                    producer.partitions.add(partition)
                elif partition not in producer.partitions:
                    newer = call.version >= 5
                    raise Refused(ErrorCode.TRANSACTION_ABORTABLE if newer else ErrorCode.INVALID_TXN_STATE)


@answers
def add_offsets(call: Call, request: kafka.AddOffsetsToTxnRequest, response: kafka.AddOffsetsToTxnResponse) -> None:
    call.cluster.producers.open(_producer(call, request))


@answers
def commit_offsets(
    call: Call, request: kafka.TxnOffsetCommitRequest, response: kafka.TxnOffsetCommitResponse
) -> None:
    """Keep offsets until the transaction ends."""
    producers, parts = call.cluster.producers, txn_offset_commit.TxnOffsetCommitResponsePartition
    for topic, found in call.each(request.topics, txn_offset_commit.TxnOffsetCommitResponseTopic, response.topics):
        for part, answer in call.each(topic.partitions, parts, found.partitions):
            with call.refusing(answer):
                call.topic(topic.name, topic.topic_id, part.partition_index)
                group = call.group(request.group_id)
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
