"""Writes records to partition 0 of the topic orders, and reads all records of the partition."""

import asyncio
import sys

from kwire.client import Client, connect, parse_address
from kwire.records import Record, encode_batch, read_batches
from kwire_kafka import PROTOCOL, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse
from kwire_kafka.api.fetch import FetchPartition, FetchTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_kafka.errors import ErrorCode


async def produce(client: Client, *values: bytes) -> int:
    """Write records, and return the offset of the first record."""
    partition = PartitionProduceData(index=0, records=encode_batch([Record(None, value) for value in values]))
    topic = TopicProduceData(name="orders", partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[topic])
    response = (await client.call(request, version=9)).expect(ProduceResponse)
    result = response.responses[0].partition_responses[0]
    if result.error_code:
        raise SystemExit(f"the broker refused: {ErrorCode(result.error_code).name}")
    return result.base_offset


async def consume(client: Client, offset: int = 0) -> list[bytes | None]:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=500, topics=[FetchTopic(topic="orders", partitions=[partition])])
    response = (await client.call(request, version=12)).expect(FetchResponse)
    batches = read_batches(response.responses[0].partitions[0].records or b"")
    return [record.value for batch in batches for record in batch if record.offset >= offset]


async def main(address: str) -> None:
    async with await connect(*parse_address(address), PROTOCOL, client_id="example") as client:
        print("written from offset", await produce(client, b"anvil", b"rope"))
        print("read", await consume(client))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
