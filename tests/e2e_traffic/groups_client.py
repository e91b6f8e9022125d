"""Groups and transactions at a broker, by confluent-kafka alone: ``groups_client.py BOOTSTRAP``, in ``.venv-peers``.

Prints ``ready`` when all groups have their partitions and have committed, and keeps them until standard input ends.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def main(bootstrap: str) -> None:
    where = {"bootstrap.servers": bootstrap}
    admin = AdminClient(where)
    for future in admin.create_topics([NewTopic("orders", 3, 1), NewTopic("bills", 1, 1)]).values():
        future.result(30)
    producer = Producer(where)
    for number in range(30):
        producer.produce("orders", b"value %d" % number, partition=number % 3)
    producer.flush(30)
    groups = {
        "classic": consumer(where, "classic", {"client.id": "old-way", "group.instance.id": "static-1"}),
        "modern": consumer(where, "modern", {"client.id": "new-way", "group.protocol": "consumer"}),
    }
    for each in groups.values():
        read(each)
    committing = consumer(where, "only-commits", {})
    committing.commit(offsets=[TopicPartition("bills", 0, 7)], asynchronous=False)
    transact(where, groups["classic"], commit=True)
    transact(where, groups["classic"], commit=False)
    print("ready", flush=True)
    sys.stdin.read()
    for each in (*groups.values(), committing):
        each.close()


def consumer(where: dict[str, str], group: str, more: dict[str, str]) -> Consumer:
    settings = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
    return Consumer({**where, **settings, **more})


def read(each: Consumer) -> None:
    each.subscribe(["orders"])
    left, deadline = 30, time.monotonic() + 90
    while left:
        if time.monotonic() > deadline:
            sys.exit(f"{left} messages were not delivered")
        message = each.poll(1)
        left -= message is not None and not message.error()
    each.commit(asynchronous=False)


def transact(where: dict[str, str], group: Consumer, *, commit: bool) -> None:
    """An offset of ``bills`` within a transaction, which ends in one way or the other."""
    producer = Producer({**where, "transactional.id": f"tx-{'commit' if commit else 'abort'}"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("bills", b"a bill")
    place = TopicPartition("bills", 0, 11 if commit else 99)
    producer.send_offsets_to_transaction([place], group.consumer_group_metadata(), 60)
    if commit:
        producer.commit_transaction(60)
    else:
        producer.abort_transaction(60)


if __name__ == "__main__":
    main(sys.argv[1])
