"""aiokafka."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.e2e.clients.library import SECONDS, Endpoint, Sent


class AioKafka:
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers = True
    group_protocols: tuple[str, ...] = ("classic",)

    def __init__(self, endpoint: Endpoint, **settings: Any) -> None:
        self._settings: dict[str, Any] = {
            "bootstrap_servers": endpoint.bootstrap,
            "client_id": "aiokafka",
            **settings,
        }
        if endpoint.mechanism:
            self._settings |= {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": endpoint.mechanism,
                "sasl_plain_username": endpoint.user,
                "sasl_plain_password": endpoint.password,
            }

    def create_topic(self, topic: str, partitions: int) -> None:
        asyncio.run(self._create_topic(topic, partitions))

    def produce(self, topic: str, records: Sequence[Sent], *, codec: str = "none", acks: str = "all") -> None:
        asyncio.run(self._produce(topic, records, codec, acks))

    def consume(self, topic: str, count: int, *, group: str, protocol: str = "classic") -> list[Sent]:
        return asyncio.run(self._consume(topic, count, group))

    def transact(self, topic: str, name: str, commit: Sequence[Sent], abort: Sequence[Sent]) -> None:
        asyncio.run(self._transact(topic, name, commit, abort))

    def administrate(self, topic: str, group: str) -> None:
        asyncio.run(self._administrate(topic, group))

    def delete_topic(self, topic: str) -> None:
        asyncio.run(self._delete_topic(topic))

    async def _create_topic(self, topic: str, partitions: int) -> None:
        async with _Admin(self._settings) as admin:
            await admin.create_topics([NewTopic(topic, partitions, 1)])

    async def _produce(self, topic: str, records: Sequence[Sent], codec: str, acks: str) -> None:
        producer = AIOKafkaProducer(
            **self._settings,
            compression_type=None if codec == "none" else codec,
            acks=acks if acks == "all" else int(acks),
            enable_idempotence=acks == "all",
            linger_ms=20,
        )
        async with asyncio.timeout(SECONDS), producer:
            await _send(producer, topic, records)

    async def _consume(self, topic: str, count: int, group: str) -> list[Sent]:
        consumer = AIOKafkaConsumer(
            topic,
            **self._settings,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
        found: list[Sent] = []
        async with asyncio.timeout(SECONDS), consumer:
            while len(found) < count:
                one = await consumer.getone()
                found.append(Sent(one.key, one.value, tuple(one.headers)))
            await consumer.commit()
        return found

    async def _transact(self, topic: str, name: str, commit: Sequence[Sent], abort: Sequence[Sent]) -> None:
        producer = AIOKafkaProducer(**self._settings, transactional_id=name)
        async with asyncio.timeout(SECONDS), producer:
            for records, end in ((commit, producer.commit_transaction), (abort, producer.abort_transaction)):
                await producer.begin_transaction()
                await _send(producer, topic, records)
                await end()

    async def _administrate(self, topic: str, group: str) -> None:
        async with _Admin(self._settings) as admin:
            await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
            await admin.list_consumer_groups()
            await admin.describe_consumer_groups([group])
            await admin.list_consumer_group_offsets(group)
            await admin.create_partitions({topic: NewPartitions(3)})
            await admin.describe_cluster()
            await admin.list_topics()

    async def _delete_topic(self, topic: str) -> None:
        async with _Admin(self._settings) as admin:
            await admin.delete_topics([topic])


class _Admin:
    """An admin client that is closed again, and not waited for without end."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._client = AIOKafkaAdminClient(**settings)
        self._limit = asyncio.timeout(SECONDS)

    async def __aenter__(self) -> Any:
        await self._limit.__aenter__()
        await self._client.start()
        return self._client

    async def __aexit__(self, *problem: Any) -> None:
        await self._client.close()
        await self._limit.__aexit__(*problem)


async def _send(producer: AIOKafkaProducer, topic: str, records: Sequence[Sent]) -> None:
    futures = [await producer.send(topic, value, key, headers=list(headers)) for key, value, headers in records]
    await asyncio.gather(*futures)
