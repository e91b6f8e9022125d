"""Afkak, on Twisted. Run in its environment: see `steps`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afkak import OFFSET_EARLIEST, Consumer, KafkaClient, Producer
from twisted.internet import defer, reactor, threads

from tests.e2e_traffic.clients.steps import SECONDS, VALUES, Steps, Task, check, main


def steps(task: Task) -> Steps:
    return {"produce": lambda: _run(_produce, task), "consume": lambda: _run(_consume, task)}


def _run(step: Callable[[KafkaClient, Task], Any], task: Task) -> None:
    """Within the reactor, which runs in a thread of its own."""
    threads.blockingCallFromThread(reactor, lambda: defer.ensureDeferred(_with_client(step, task)))


async def _with_client(step: Callable[[KafkaClient, Task], Any], task: Task) -> None:
    client = KafkaClient(task.bootstrap, clientId=task.client_id, timeout=5000)
    try:
        await step(client, task)
    finally:
        await client.close()


async def _produce(client: KafkaClient, task: Task) -> None:
    producer = Producer(client, max_req_attempts=2)
    await producer.send_messages(task.topic, msgs=list(VALUES))
    await producer.stop()


async def _consume(client: KafkaClient, task: Task) -> None:
    done: defer.Deferred[None] = defer.Deferred()
    found = 0

    def take(_: Consumer, messages: list[object]) -> None:
        nonlocal found
        found += len(messages)
        if found >= len(VALUES) and not done.called:
            done.callback(None)

    consumer = Consumer(client, task.topic, 0, take, consumer_group=task.group)
    started = consumer.start(OFFSET_EARLIEST)
    started.addErrback(lambda problem: None if done.called else done.errback(problem))
    done.addTimeout(SECONDS, reactor)
    await done
    await consumer.commit()
    consumer.stop()
    check(found)


if __name__ == "__main__":
    import threading

    threading.Thread(target=reactor.run, kwargs={"installSignalHandlers": False}, daemon=True).start()
    main(steps)
