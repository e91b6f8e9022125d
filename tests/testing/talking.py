"""Clients of a fake broker: typed requests, one connection to each node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kwire import Message, Uuid
from kwire.client import Client, connect, parse_address
from kwire_kafka import PROTOCOL, FetchRequest, MetadataRequest, ProduceRequest
from kwire_kafka.api.fetch import FetchPartition, FetchTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_testing import FakeBroker, Proxy

T = TypeVar("T")


@asynccontextmanager
async def connected(broker: FakeBroker | Proxy | str, node: int = 1, **options: Any) -> AsyncIterator[Client]:
    host, port = parse_address((broker if isinstance(broker, str) else broker.bootstrap_servers).split(",")[node - 1])
    async with await connect(host, port, PROTOCOL, timeout=60, **options) as client:
        yield client


@asynccontextmanager
async def quiet() -> AsyncIterator[None]:
    """Look that no task of the loop ends with an error that nobody sees."""
    problems: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
    try:
        yield
    finally:
        await asyncio.sleep(0)
        assert problems == []


def talk(broker: FakeBroker, what: Callable[[Client], Awaitable[T]], **options: Any) -> T:
    """The result of a conversation on one connection."""

    async def run() -> T:
        async with quiet(), broker, connected(broker, **options) as client:
            return await what(client)

    return asyncio.run(run())


async def ask(client: Client, request: Message, version: int | None = None) -> Any:
    return (await client.call(request, version)).message


async def ids(client: Client) -> dict[str, Uuid]:
    return {topic.name: topic.topic_id for topic in (await ask(client, MetadataRequest(topics=None))).topics}


async def send(client: Client, topic: str, data: bytes, partition: int = 0, **fields: Any) -> Any:
    """The partition's response to Produce."""
    known = await ids(client)
    part = PartitionProduceData(index=partition, records=data)
    named = TopicProduceData(name=topic, topic_id=known.get(topic, Uuid(bytes(16))), partition_data=[part])
    response = await ask(client, ProduceRequest(acks=-1, topic_data=[named], **fields))
    return response.responses[0].partition_responses[0]


async def get(client: Client, topic: str, offset: int = 0, partition: int = 0, **fields: Any) -> Any:
    """The partition's response to Fetch."""
    known = await ids(client)
    part = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    named = FetchTopic(topic=topic, topic_id=known.get(topic, Uuid(bytes(16))), partitions=[part])
    settings = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "session_epoch": -1} | fields
    response = await ask(client, FetchRequest(topics=[named], **settings))
    return response.responses[0].partitions[0]
