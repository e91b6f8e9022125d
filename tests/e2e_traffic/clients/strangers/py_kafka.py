"""Pykafka, whose client id cannot be chosen. Run in its environment: see `steps`."""

from __future__ import annotations

from typing import Any

from pykafka import KafkaClient
from pykafka.common import OffsetType

from tests.e2e_traffic.clients.steps import SECONDS, VALUES, Steps, Task, check, main


def steps(task: Task) -> Steps:
    return {"produce": lambda: _produce(task), "consume": lambda: _consume(task)}


def _topic(task: Task) -> Any:
    client = KafkaClient(hosts=task.bootstrap, broker_version=task.settings["broker_version"])
    return client.topics[task.topic.encode()]


def _produce(task: Task) -> None:
    with _topic(task).get_sync_producer(required_acks=-1, max_retries=2) as producer:
        for value in VALUES:
            producer.produce(value)


def _consume(task: Task) -> None:
    consumer = _topic(task).get_balanced_consumer(
        consumer_group=task.group.encode(),
        managed=True,
        auto_offset_reset=OffsetType.EARLIEST,
        consumer_timeout_ms=SECONDS * 1000,
    )
    found = 0
    for _ in consumer:
        found += 1
        if found == len(VALUES):
            consumer.commit_offsets()
            break
    consumer.stop()
    check(found)


if __name__ == "__main__":
    main(steps)
