"""A group with two members and one partition: the second speaks as to a broker of 0.10.1, and gets nothing to do.

So it joins with JoinGroup 1, and nothing else that it says is old enough to be refused. kafka-python 1.4.
"""

from __future__ import annotations

import threading
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer

from tests.e2e_traffic.clients.steps import SECONDS, Steps, Task, main

OLD = (0, 10, 1)


def steps(task: Task) -> Steps:
    return {"stand by": lambda: _stand_by(task)}


def _stand_by(task: Task) -> None:
    """Both are there when the first has been told to share, which it learns by its heartbeat."""
    done = threading.Event()
    owner = threading.Thread(target=_own, args=(task, done))
    owner.start()
    try:
        time.sleep(1.5)  # the owner is in the group by now, and keeps what there is: its name comes first
        _join(task)
    finally:
        done.set()
        owner.join()


def _own(task: Task, done: threading.Event) -> None:
    owner = _consumer(task, f"a-{task.client_id}-owner", None)
    while not done.is_set():
        owner.poll(200)
    owner.close()


def _join(task: Task) -> None:
    second = _consumer(task, task.client_id, OLD)
    joined = threading.Event()
    deadline = time.monotonic() + SECONDS
    try:
        second.subscribe([task.topic], listener=_Joined(joined))
        while not joined.is_set() and time.monotonic() < deadline:
            second.poll(200)
        if not joined.is_set():
            raise TimeoutError("never joined")
        if second.assignment():
            raise AssertionError("the second member was to get nothing")
        for _ in range(5):
            second.poll(200)
    finally:
        second.close()


class _Joined(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, joined: threading.Event) -> None:
        self._joined = joined

    def on_partitions_revoked(self, revoked: object) -> None: ...

    def on_partitions_assigned(self, assigned: object) -> None:
        self._joined.set()


def _consumer(task: Task, client_id: str, version: tuple[int, ...] | None) -> KafkaConsumer:
    consumer = KafkaConsumer(
        bootstrap_servers=task.bootstrap,
        client_id=client_id,
        group_id=task.group,
        api_version=version,
        heartbeat_interval_ms=300,
        enable_auto_commit=False,
    )
    consumer.subscribe([task.topic])
    return consumer


if __name__ == "__main__":
    main(steps)
