"""Produce: batches to the end of logs."""

from __future__ import annotations

from kwire.records import Batch
from kwire_kafka import ProduceRequest, ProduceResponse
from kwire_kafka.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kwire_kafka.errors import ErrorCode
from kwire_testing.apis.versions import at_least
from kwire_testing.call import Call, answers
from kwire_testing.cluster import Partition
from kwire_testing.log import read
from kwire_testing.refusal import Refused


@answers(ProduceRequest, ProduceResponse)
def produce(call: Call, request: ProduceRequest, response: ProduceResponse) -> None:
    """Append the batches of each partition."""

    def append(topic: TopicProduceData, part: PartitionProduceData, answer: PartitionProduceResponse) -> None:
        answer.base_offset = -1
        if request.acks not in (-1, 0, 1):
            raise Refused(ErrorCode.INVALID_REQUIRED_ACKS)
        partition = call.partition(topic.name, topic.topic_id, part.index)
        batches = read(part.records)
        if call.version >= 3 and len(batches) > 1:
            raise Refused(ErrorCode.INVALID_RECORD)
        if request.transactional_id is not None and batches[0].transactional:
            _check_transaction(call, request.transactional_id, partition, batches[0])
        answer.log_start_offset = partition.log.start
        answer.base_offset = partition.log.append(batches, partition.epoch)

    response.responses = call.each_partition(request.topic_data, TopicProduceResponse, append)


def _check_transaction(call: Call, name: str, partition: Partition, batch: Batch) -> None:
    """Raise ``Refused`` unless the partition is part of the transaction. Releases before 3.6 do not look.

    Since version 12, Produce adds the partition to it.
    """
    producers = call.cluster.producers
    log, release = partition.log, call.cluster.release
    same = batch.producer_id in log.ongoing and batch.producer_epoch == log.producers[batch.producer_id].epoch
    if same or not at_least(release, 3, 6) or (batch.producer_id in log.ongoing and not at_least(release, 4, 0)):
        return
    producer = producers.find(name, batch.producer_id, batch.producer_epoch)
    if call.version >= 12:
        producers.open(producer)
        producer.partitions.add(partition)
    if partition not in producer.partitions:
        newer = call.version >= 11
        raise Refused(ErrorCode.TRANSACTION_ABORTABLE if newer else ErrorCode.INVALID_TXN_STATE)
