"""A client that retries a write when the leader of a partition moves, and its tests."""

from __future__ import annotations

import asyncio

import pytest

from kwire.client import connect, parse_address
from kwire.records import Record, encode_batch
from kwire_kafka import PROTOCOL, ProduceRequest, ProduceResponse
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.errors import ErrorCode
from kwire_testing import FakeBroker


async def write(address: str, value: bytes, attempts: int = 3) -> int:
    """Write a record to the topic orders, and return its offset."""
    partition = PartitionProduceData(index=0, records=encode_batch([Record(None, value)]))
    topic = TopicProduceData(name="orders", partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
    async with await connect(*parse_address(address), PROTOCOL) as client:
        for _ in range(attempts):
            response = (await client.call(request, version=9)).expect(ProduceResponse)
            result = response.responses[0].partition_responses[0]
            if result.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                return result.base_offset
    raise TimeoutError(f"no leader in {attempts} attempts")


@pytest.mark.kafka(topics={"orders": 1})
def test_a_moved_leader_is_tried_again(kafka_broker: FakeBroker) -> None:
    kafka_broker.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)
    assert asyncio.run(write(kafka_broker.bootstrap_servers, b"anvil")) == 0
    assert [record.value for record in kafka_broker.records("orders")] == [b"anvil"]


@pytest.mark.kafka(topics={"orders": 1})
def test_attempts_have_an_end(kafka_broker: FakeBroker) -> None:
    kafka_broker.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=3)
    with pytest.raises(TimeoutError, match="3 attempts"):
        asyncio.run(write(kafka_broker.bootstrap_servers, b"anvil"))
    assert list(kafka_broker.records("orders")) == []
