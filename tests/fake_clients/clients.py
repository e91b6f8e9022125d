"""The same scenarios with each client library. Each takes ``bootstrap_servers``."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")
SECONDS = 20.0
"""Time for a scenario."""


def until(ready: Callable[[], bool], poll: Callable[[], None]) -> None:
    end = time.monotonic() + SECONDS
    while not ready():
        poll()
        assert time.monotonic() < end, "took too long"


class Confluent:
    """confluent-kafka, which is librdkafka."""

    def produce(self, servers: str, values: list[bytes]) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, "compression.type": "lz4"})
        for number, value in enumerate(values):
            producer.produce("orders", value, partition=number % 2)
        assert producer.flush(SECONDS) == 0

    def rebalance(self, servers: str, count: int, protocol: str = "classic") -> list[bytes]:
        from confluent_kafka import Consumer

        settings: dict[str, Any] = {
            "bootstrap.servers": servers,
            "group.id": "g",
            "auto.offset.reset": "earliest",
            "group.protocol": protocol,
        }
        if protocol == "classic":
            settings |= {"heartbeat.interval.ms": 100, "session.timeout.ms": 6000}
        found: list[bytes] = []
        consumers: list[Any] = []

        def poll() -> None:
            for one in consumers:
                found.extend(message.value() for message in one.consume(100, 0.05))

        for shares in ([2], [1, 1]):
            consumers.append(Consumer(settings))
            consumers[-1].subscribe(["orders"])
            while [len(one.assignment()) for one in consumers] != shares:
                poll()
            until(lambda: len(found) >= count, poll)
        for one in consumers:
            one.close()
        return found

    def transactions(self, servers: str) -> list[bytes]:
        from confluent_kafka import Consumer, Producer

        producer = Producer({"bootstrap.servers": servers, "transactional.id": "tx"})
        producer.init_transactions(SECONDS)
        for value in (b"lost", b"kept"):
            producer.begin_transaction()
            producer.produce("orders", value, partition=0)
            producer.flush(SECONDS)
            (producer.commit_transaction if value == b"kept" else producer.abort_transaction)(SECONDS)
        consumer = Consumer({"bootstrap.servers": servers, "group.id": "tx", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        found = [message.value() for message in consumer.consume(1, SECONDS)]
        consumer.close()
        return found

    def admin(self, servers: str) -> tuple[list[str], list[str]]:
        from confluent_kafka.admin import AdminClient, NewTopic

        client = AdminClient({"bootstrap.servers": servers})
        client.create_topics([NewTopic("new", 2, 1)])["new"].result(SECONDS)
        created = sorted(client.list_topics(timeout=SECONDS).topics)
        client.delete_topics(["new"])["new"].result(SECONDS)
        return created, sorted(client.list_topics(timeout=SECONDS).topics)


class KafkaPython:
    """kafka-python, of the version that is installed."""

    def produce(self, servers: str, values: list[bytes]) -> None:
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=servers, compression_type="gzip")
        for future in [producer.send("orders", value, partition=number % 2) for number, value in enumerate(values)]:
            future.get(SECONDS)
        producer.close()

    def rebalance(self, servers: str, count: int) -> list[bytes]:
        from kafka import KafkaConsumer

        def consumer() -> Any:
            return KafkaConsumer(
                "orders",
                bootstrap_servers=servers,
                group_id="g",
                auto_offset_reset="earliest",
                heartbeat_interval_ms=100,
                session_timeout_ms=6000,
            )

        found: list[bytes] = []
        shares: dict[int, int] = {}
        done = threading.Event(), threading.Event()

        def read(number: int) -> None:
            """Poll on a thread: version 2 waits in it until all members have joined."""
            one = consumer()
            while not done[number].is_set():
                found.extend(record.value for rows in one.poll(100).values() for record in rows)
                shares[number] = len(one.assignment())
            one.close()

        threads = [threading.Thread(target=read, args=(number,), daemon=True) for number in range(2)]
        for thread, wanted in zip(threads, ({0: 2}, {0: 1, 1: 1}), strict=True):
            thread.start()
            until(lambda wanted=wanted: len(found) >= count and shares == wanted, lambda: time.sleep(0.02))  # type: ignore[misc]
        for end, thread in zip(done, threads, strict=True):
            end.set()
            thread.join(SECONDS)
        return found

    def transactions(self, servers: str) -> list[bytes]:
        from kafka import KafkaConsumer, KafkaProducer

        producer = KafkaProducer(bootstrap_servers=servers, transactional_id="tx")
        producer.init_transactions()
        for value in (b"lost", b"kept"):
            producer.begin_transaction()
            producer.send("orders", value, partition=0).get(SECONDS)
            (producer.commit_transaction if value == b"kept" else producer.abort_transaction)()
        producer.close()
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=servers,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            consumer_timeout_ms=1000,
        )
        found = [record.value for record in consumer]
        consumer.close()
        return found

    def admin(self, servers: str) -> tuple[list[str], list[str]]:
        from kafka import KafkaAdminClient
        from kafka.admin import NewTopic

        client = KafkaAdminClient(bootstrap_servers=servers)
        client.create_topics([NewTopic("new", 2, 1)])
        created = sorted(client.list_topics())
        client.delete_topics(["new"])
        left = sorted(client.list_topics())
        client.close()
        return created, left


class Aiokafka:
    """aiokafka."""

    def produce(self, servers: str, values: list[bytes]) -> None:
        from aiokafka import AIOKafkaProducer

        async def run() -> None:
            async with AIOKafkaProducer(bootstrap_servers=servers, enable_idempotence=True) as producer:
                for number, value in enumerate(values):
                    await producer.send_and_wait("orders", value, partition=number % 2)

        asyncio.run(within(run()))

    def rebalance(self, servers: str, count: int) -> list[bytes]:
        from aiokafka import AIOKafkaConsumer

        async def run() -> list[bytes]:
            settings = {"bootstrap_servers": servers, "group_id": "g", "auto_offset_reset": "earliest"}
            found: list[bytes] = []
            async with AIOKafkaConsumer("orders", heartbeat_interval_ms=100, **settings) as first:
                while len(found) < count:
                    rows = await first.getmany(timeout_ms=100)
                    found += [record.value for records in rows.values() for record in records]
                async with AIOKafkaConsumer("orders", heartbeat_interval_ms=100, **settings) as second:
                    while [len(one.assignment()) for one in (first, second)] != [1, 1]:
                        await asyncio.gather(first.getmany(timeout_ms=50), second.getmany(timeout_ms=50))
            return found

        return asyncio.run(within(run()))

    def transactions(self, servers: str) -> list[bytes]:
        from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

        async def run() -> list[bytes]:
            async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id="tx") as producer:
                for value in (b"lost", b"kept"):
                    await producer.begin_transaction()
                    await producer.send_and_wait("orders", value, partition=0)
                    await (producer.commit_transaction if value == b"kept" else producer.abort_transaction)()
            async with AIOKafkaConsumer(
                "orders",
                bootstrap_servers=servers,
                auto_offset_reset="earliest",
                isolation_level="read_committed",
            ) as consumer:
                return [(await consumer.getone()).value]

        return asyncio.run(within(run()))

    def admin(self, servers: str) -> tuple[list[str], list[str]]:
        from aiokafka.admin import AIOKafkaAdminClient, NewTopic

        async def run() -> tuple[list[str], list[str]]:
            client = AIOKafkaAdminClient(bootstrap_servers=servers)
            await client.start()
            await client.create_topics([NewTopic("new", 2, 1)])
            created = sorted(await client.list_topics())
            await client.delete_topics(["new"])
            left = sorted(await client.list_topics())
            await client.close()
            return created, left

        return asyncio.run(within(run()))


class Elsewhere:
    """The same client of another version, which has a Python of its own."""

    def __init__(self, name: str, environment: str) -> None:
        self._name, self._environment = name, environment

    def _run(self, scenario: str, *arguments: object) -> Any:
        from tests.e2e_traffic.venvs import python

        command = [str(python(self._environment)), __file__, self._name, scenario, repr(arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=2 * SECONDS)
        return ast.literal_eval(done.stdout)

    def produce(self, servers: str, values: list[bytes]) -> None:
        self._run("produce", servers, values)

    def rebalance(self, servers: str, count: int) -> list[bytes]:
        found: list[bytes] = self._run("rebalance", servers, count)
        return found

    def admin(self, servers: str) -> tuple[list[str], list[str]]:
        found: tuple[list[str], list[str]] = self._run("admin", servers)
        return found


async def within(work: Awaitable[T]) -> T:
    return await asyncio.wait_for(work, SECONDS)


CLIENTS: dict[str, Any] = {
    "confluent-kafka": Confluent(),
    "kafka-python 2": Elsewhere("kafka-python 3", "kafka-python-2.0"),
    "kafka-python 3": KafkaPython(),
    "aiokafka": Aiokafka(),
}

if __name__ == "__main__":
    name, scenario, arguments = sys.argv[1:]
    print(repr(getattr(CLIENTS[name], scenario)(*ast.literal_eval(arguments))))
