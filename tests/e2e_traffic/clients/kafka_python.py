"""kafka-python, of any version since 1.4.4. Run in its environment: see `tests.e2e_traffic.clients.steps`."""

from __future__ import annotations

from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.e2e_traffic.clients.steps import SECONDS, VALUES, Steps, Task, check, main


def steps(task: Task) -> Steps:
    settings = _settings(task)
    return {
        "produce": lambda: _produce(task, settings),
        "consume": lambda: _consume(task, settings),
        "create": lambda: _create(task, settings),
        "describe": lambda: _describe(task, settings),
    }


def _settings(task: Task) -> dict[str, Any]:
    settings: dict[str, Any] = {"bootstrap_servers": task.bootstrap, "client_id": task.client_id, **task.settings}
    if "api_version" in settings:
        settings["api_version"] = tuple(settings["api_version"])
    if task.mechanism:
        settings |= {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": task.mechanism,
            "sasl_plain_username": task.user,
            "sasl_plain_password": task.password,
        }
    return settings


def _produce(task: Task, settings: dict[str, Any]) -> None:
    producer = KafkaProducer(**settings, retries=2, request_timeout_ms=5000, max_block_ms=10_000)
    try:
        futures = [producer.send(task.topic, value) for value in VALUES]
        for future in futures:
            future.get(SECONDS)
    finally:
        producer.close(1)


def _consume(task: Task, settings: dict[str, Any]) -> None:
    consumer = KafkaConsumer(
        task.topic,
        **settings,
        group_id=task.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=SECONDS * 1000,
    )
    found = 0
    for _ in consumer:
        found += 1
        if found == len(VALUES):
            consumer.commit()
            break
    consumer.close()
    check(found)


def _create(task: Task, settings: dict[str, Any]) -> None:
    admin = KafkaAdminClient(**settings, request_timeout_ms=10_000)
    admin.create_topics([NewTopic(task.made, 1, 1)])
    admin.close()


def _describe(task: Task, settings: dict[str, Any]) -> None:
    """Methods were renamed in version 3."""
    admin = KafkaAdminClient(**settings, request_timeout_ms=10_000)
    admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, task.topic)])
    if hasattr(admin, "list_groups"):
        admin.list_groups()
        admin.describe_groups([task.group])
        admin.list_group_offsets({task.group: None})
    else:
        admin.list_consumer_groups()
        admin.describe_consumer_groups([task.group])
        admin.list_consumer_group_offsets(task.group)
    admin.close()


if __name__ == "__main__":
    main(steps)
