"""aiokafka, of any version since 0.8. Run in its environment: see `tests.e2e_traffic.clients.steps`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from tests.e2e_traffic.clients.steps import SECONDS, VALUES, Steps, Task, check, main

try:
    from aiokafka.admin import NewTopic
    from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
except ImportError:  # before 0.9 it took these from kafka-python
    from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

Step = Callable[[Task, dict[str, Any]], Coroutine[Any, Any, None]]


def steps(task: Task) -> Steps:
    settings: dict[str, Any] = {"bootstrap_servers": task.bootstrap, "client_id": task.client_id, **task.settings}
    if task.mechanism:
        settings |= {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": task.mechanism,
            "sasl_plain_username": task.user,
            "sasl_plain_password": task.password,
        }

    def run(step: Step) -> Callable[[], object]:
        return lambda: asyncio.run(asyncio.wait_for(step(task, settings), SECONDS))

    return {"produce": run(_produce), "consume": run(_consume), "create": run(_create), "describe": run(_describe)}


async def _produce(task: Task, settings: dict[str, Any]) -> None:
    producer = AIOKafkaProducer(**settings, enable_idempotence=True)
    await producer.start()
    try:
        await asyncio.gather(*[await producer.send(task.topic, value) for value in VALUES])
    finally:
        await producer.stop()


async def _consume(task: Task, settings: dict[str, Any]) -> None:
    consumer = AIOKafkaConsumer(
        task.topic, **settings, group_id=task.group, auto_offset_reset="earliest", enable_auto_commit=False
    )
    await consumer.start()
    try:
        found = [await consumer.getone() for _ in VALUES]
        await consumer.commit()
    finally:
        await consumer.stop()
    check(len(found))


async def _create(task: Task, settings: dict[str, Any]) -> None:
    admin = AIOKafkaAdminClient(**settings)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(task.made, 1, 1)])
    finally:
        await admin.close()


async def _describe(task: Task, settings: dict[str, Any]) -> None:
    admin = AIOKafkaAdminClient(**settings)
    await admin.start()
    try:
        await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, task.topic)])
        await admin.list_consumer_groups()
        await admin.describe_consumer_groups([task.group])
        await admin.list_consumer_group_offsets(task.group)
    finally:
        await admin.close()


if __name__ == "__main__":
    main(steps)
