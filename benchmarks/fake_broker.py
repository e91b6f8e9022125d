"""Measures ``kwire_testing.FakeBroker``: startup, many brokers, and a comparison with librdkafka's mock cluster.

Each result consists of the elapsed time, and the CPU time of all threads in this process. The clients from
confluent-kafka run in this process, as in a test. ``--brokers 10000`` also starts and stops 10,000 brokers, and
counts the files and threads that remain.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import resource
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path

from kwire.client import connect, parse_address
from kwire_kafka import PROTOCOL
from kwire_testing import FakeBroker

VALUE = b"v" * 100
TOGETHER = 100


def timed(what: Callable[[], object]) -> tuple[float, float]:
    """Call a function, and return the elapsed seconds and the CPU seconds."""
    clock, cpu = time.perf_counter(), time.process_time()
    what()
    return time.perf_counter() - clock, time.process_time() - cpu


async def asked(broker: FakeBroker) -> None:
    """Request the API versions, as clients do in their first request."""
    async with await connect(*parse_address(broker.bootstrap_servers), PROTOCOL):
        pass


async def first_answer() -> None:
    """Start a broker and get a response."""
    async with FakeBroker(topics={"orders": 3}) as broker:
        await asked(broker)


async def many(count: int) -> None:
    """Start brokers, and get a response from each."""
    async with AsyncExitStack() as stack:
        for _ in range(count):
            await asked(await stack.enter_async_context(FakeBroker()))


def blocking(count: int) -> None:
    """Start and stop brokers that run on threads."""
    for _ in range(count):
        with FakeBroker():
            pass


def left() -> dict[str, int]:
    """Return this process's numbers of threads and files, and its peak memory, to show what stopped brokers leave."""
    gc.collect()
    files, memory = len([*Path("/proc/self/fd").iterdir()]), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return {"threads": threading.active_count(), "files and sockets": files, "MiB at most": memory}


async def started_and_stopped(count: int) -> int:
    """Start and stop brokers with one client each, and return the number of asyncio tasks that remain."""
    for _ in range(count):
        await first_answer()
    return len(asyncio.all_tasks()) - 1


def produced(servers: str, count: int) -> None:
    """Produce ``count`` records with confluent-kafka."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
    for _ in range(count):
        producer.produce("orders", VALUE, partition=0)
    assert producer.flush(60) == 0


def consumed(servers: str, count: int) -> None:
    """Consume ``count`` records with confluent-kafka."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    found = 0
    while found < count:
        found += len(consumer.consume(10_000, 1))
    consumer.close()


@contextmanager
def mock_cluster() -> Iterator[str]:
    """Run librdkafka's mock cluster, which exists as long as the client that creates it."""
    from confluent_kafka import Producer

    owner = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored"})
    [node] = owner.list_topics("orders", timeout=10).brokers.values()
    yield f"{node.host}:{node.port}"
    del owner


@contextmanager
def fake_broker() -> Iterator[str]:
    """Run a fake broker on a thread."""
    with FakeBroker(topics={"orders": 4}, keep_requests=0) as broker:
        yield broker.bootstrap_servers


def beside_the_mock_cluster(count: int, rounds: int) -> None:
    """Print the fastest of several rounds for the mock cluster and for the fake broker."""
    for name, running in (("mock cluster", mock_cluster), ("FakeBroker", fake_broker)):
        found = []
        for _ in range(rounds):
            with running() as servers:
                found.append((timed(partial(produced, servers, count)), timed(partial(consumed, servers, count))))
        for what, rows in zip(("produce", "consume"), zip(*found, strict=True), strict=True):
            show(f"{what} {count:,} records of 100 bytes, {name}", min(rows))


def show(what: str, seconds: tuple[float, float]) -> None:
    """Print a line with the elapsed time and the CPU time in milliseconds."""
    print(f"{what:60} {seconds[0] * 1000:9.1f} {seconds[1] * 1000:9.1f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records",
        type=int,
        default=40_000,
        help="Number of records. The mock cluster keeps only 5 MB per partition.",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--brokers", type=int, default=0, help="Number of brokers to start and stop in turn.")
    options = parser.parse_args(arguments)
    print(f"{'':60} {'ms':>9} {'CPU ms':>9}")
    clock, cpu = zip(*(timed(lambda: asyncio.run(first_answer())) for _ in range(30)), strict=True)
    show("start to first response, median of 30", (statistics.median(clock), statistics.median(cpu)))
    show(f"{TOGETHER} brokers, each with a response", timed(lambda: asyncio.run(many(TOGETHER))))
    beside_the_mock_cluster(options.records, options.rounds)
    if options.brokers:
        before = left()
        tasks: list[int] = []
        show(
            f"{options.brokers:,} brokers on a loop",
            timed(lambda: tasks.append(asyncio.run(started_and_stopped(options.brokers)))),
        )
        on_threads = options.brokers // 10
        show(f"{on_threads:,} brokers on threads", timed(partial(blocking, on_threads)))
        print(f"tasks left on the loop: {tasks[0]}; before {before}; after {left()}")


if __name__ == "__main__":
    main()
