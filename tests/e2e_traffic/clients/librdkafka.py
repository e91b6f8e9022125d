"""librdkafka through confluent-kafka, of any version since 2.0. Run in its environment: see `steps`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from tests.e2e_traffic.clients.steps import SECONDS, VALUES, Steps, Task, check, main


def steps(task: Task) -> Steps:
    settings: dict[str, Any] = {
        "bootstrap.servers": task.bootstrap,
        "client.id": task.client_id,
        "debug": "protocol",
        **task.settings,
    }
    if task.mechanism:
        settings |= {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": task.mechanism,
            "sasl.username": task.user,
            "sasl.password": task.password,
        }
    return {
        "produce": lambda: _produce(task, settings),
        "consume": lambda: _consume(task, settings),
        "create": lambda: _create(task, settings),
        "describe": lambda: _describe(task, settings),
    }


def _produce(task: Task, settings: dict[str, Any]) -> None:
    problems: list[object] = []
    producer = Producer(settings | {"message.timeout.ms": 10_000})
    for value in VALUES:
        producer.produce(task.topic, value, on_delivery=lambda error, _: problems.append(error) if error else None)
    left = producer.flush(SECONDS)
    if left or problems:
        raise RuntimeError(f"{left} records were not written, {problems[:1]}")


def _consume(task: Task, settings: dict[str, Any]) -> None:
    more = {"group.id": task.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer(settings | more)
    consumer.subscribe([task.topic])
    found = 0
    deadline = time.monotonic() + SECONDS
    while found < len(VALUES) and time.monotonic() < deadline:
        found += sum(one.error() is None for one in consumer.consume(len(VALUES) - found, 1))
    try:
        check(found)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def _create(task: Task, settings: dict[str, Any]) -> None:
    admin = AdminClient(settings)  # a name keeps it alive until the answer is there
    _settle(admin.create_topics([NewTopic(task.made, 1, 1)], request_timeout=SECONDS))


def _describe(task: Task, settings: dict[str, Any]) -> None:
    admin = AdminClient(settings)
    admin.list_topics(timeout=SECONDS)
    resource = ConfigResource(ConfigResource.Type.TOPIC, task.topic)
    _settle(admin.describe_configs([resource], request_timeout=SECONDS))
    admin.list_consumer_groups(request_timeout=SECONDS).result()
    _settle(admin.describe_consumer_groups([task.group], request_timeout=SECONDS))


def _settle(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(SECONDS)


if __name__ == "__main__":
    main(steps)
