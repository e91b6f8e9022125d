"""Producer ids and transactions."""

from __future__ import annotations

from kwire.uuids import Uuid
from kwire_kafka.errors import ErrorCode
from tests.e2e.walk import TRANSACTION, Walk


def producer_ids(walk: Walk) -> None:
    nobody = {"transactional_id": None, "transaction_timeout_ms": 60000, "producer_id": -1, "producer_epoch": -1}
    given = [response.producer_id for response in walk.every("InitProducerId", **nobody)]
    assert len(set(given)) == len(given)


def transactions(walk: Walk) -> None:
    """In each turn a transaction with a partition and with offsets of a group; every second one is committed."""
    topic_id = walk.topic("transacted")
    walk.every("FindCoordinator", key="transaction-0", key_type=TRANSACTION, coordinator_keys=["transaction-0"])
    apis = ("InitProducerId", "AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
    for turn in walk.turns(*apis):
        _transaction(walk, turn, topic_id)
    walk.every("DescribeProducers", topics=[{"name": "transacted", "partition_indexes": [0]}])
    walk.every("DescribeTransactions", transactional_ids=["transaction-0"])
    walk.every(
        "ListTransactions", state_filters=["Ongoing", "Empty"], duration_filter=-1, transactional_id_pattern="trans.*"
    )


def _transaction(walk: Walk, turn: int, topic_id: Uuid) -> None:
    name = {"transactional_id": f"transaction-{turn}"}
    given = walk.turn("InitProducerId", turn, **name, transaction_timeout_ms=60000, producer_id=-1, producer_epoch=-1)
    producer = {**name, "producer_id": given.producer_id, "producer_epoch": given.producer_epoch}
    topics = [{"name": "transacted", "partitions": [0]}]
    walk.turn(
        "AddPartitionsToTxn",
        turn,
        transactions=[{**producer, "topics": topics}],
        v3_and_below_topics=topics,
        **{f"v3_and_below_{field}": value for field, value in producer.items()},
    )
    walk.turn("AddOffsetsToTxn", turn, **producer, group_id="transacting")
    partitions = [{"partition_index": 0, "committed_offset": turn, "committed_metadata": None}]
    walk.turn(
        "TxnOffsetCommit",
        turn,
        **producer,
        group_id="transacting",
        generation_id_or_member_epoch=-1,
        topics=[{"name": "transacted", "topic_id": topic_id, "partitions": partitions}],
    )
    walk.turn("EndTxn", turn, **producer, committed=bool(turn % 2))


def markers(walk: Walk) -> None:
    """What a transaction coordinator tells the leaders of partitions; here for a producer nobody knows."""
    walk.topic("marked")
    marker = {
        "producer_id": 4711,
        "producer_epoch": 0,
        "transaction_result": True,
        "topics": [{"name": "marked", "partition_indexes": [0]}],
        "coordinator_epoch": 0,
    }
    walk.every("WriteTxnMarkers", markers=[marker], allow={ErrorCode.INVALID_PRODUCER_EPOCH})
