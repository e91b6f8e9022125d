"""librdkafka through confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.e2e.clients.library import SECONDS, Endpoint, Sent


class Librdkafka:
    codecs: tuple[str, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
    null_headers = True
    group_protocols: tuple[str, ...] = ("classic", "consumer")

    def __init__(self, endpoint: Endpoint, **settings: str) -> None:
        """``settings`` are configuration properties with ``_`` for ``.``."""
        self._settings: dict[str, Any] = {
            "bootstrap.servers": endpoint.bootstrap,
            "client.id": "librdkafka",
            "log_level": 2,  # what it warns of, it recovers from
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        if endpoint.mechanism:
            self._settings |= {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": endpoint.mechanism,
                "sasl.username": endpoint.user,
                "sasl.password": endpoint.password,
            }

    def create_topic(self, topic: str, partitions: int) -> None:
        admin = self._admin()
        _settle(admin.create_topics([NewTopic(topic, partitions, 1)], operation_timeout=SECONDS))

    def produce(self, topic: str, records: Sequence[Sent], *, codec: str = "none", acks: str = "all") -> None:
        producer = Producer(self._settings | {"compression.type": codec, "acks": acks, "linger.ms": 20})
        self._send(producer, topic, records)
        producer.close()

    def consume(self, topic: str, count: int, *, group: str, protocol: str = "classic") -> list[Sent]:
        more = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer(self._settings | more | ({"group.protocol": protocol} if protocol != "classic" else {}))
        consumer.subscribe([topic])
        found: list[Sent] = []
        deadline = time.monotonic() + SECONDS
        while len(found) < count and time.monotonic() < deadline:
            for one in consumer.consume(count - len(found), 1):
                assert one.error() is None, one.error()
                found.append(Sent(one.key(), one.value(), tuple(one.headers() or ())))
        consumer.commit(asynchronous=False)
        consumer.close()
        return found

    def transact(self, topic: str, name: str, commit: Sequence[Sent], abort: Sequence[Sent]) -> None:
        producer = Producer(self._settings | {"transactional.id": name})
        producer.init_transactions(SECONDS)
        for records, end in ((commit, producer.commit_transaction), (abort, producer.abort_transaction)):
            producer.begin_transaction()
            self._send(producer, topic, records)
            end(SECONDS)
        producer.close()

    def administrate(self, topic: str, group: str) -> None:
        admin = self._admin()
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        configuration = admin.describe_configs([resource])[resource].result(SECONDS)
        assert "retention.ms" in configuration
        groups = admin.list_consumer_groups().result(SECONDS)
        assert group in [one.group_id for one in groups.valid]
        _settle(admin.describe_consumer_groups([group]))
        _settle(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
        _settle(admin.list_offsets({TopicPartition(topic, 0): OffsetSpec.latest()}, isolation_level=COMMITTED))
        _settle(admin.create_partitions([NewPartitions(topic, 3)]))
        admin.describe_cluster().result(SECONDS)
        admin.list_topics(timeout=SECONDS)
        _settle(admin.delete_consumer_groups([group]))

    def delete_topic(self, topic: str) -> None:
        admin = self._admin()
        _settle(admin.delete_topics([topic], operation_timeout=SECONDS))

    def add_scram_user(self, mechanism: str, user: str, password: str) -> None:
        """So that ``user`` can authenticate, by ``SCRAM-SHA-256`` or ``SCRAM-SHA-512``."""
        admin = self._admin()
        how = ScramCredentialInfo(getattr(ScramMechanism, mechanism.replace("-", "_")), 4096)
        credential = UserScramCredentialUpsertion(user, how, password.encode())
        _settle(admin.alter_user_scram_credentials([credential]))

    def _admin(self) -> AdminClient:
        return AdminClient(self._settings)

    def _send(self, producer: Producer, topic: str, records: Sequence[Sent]) -> None:
        for key, value, headers in records:
            producer.produce(topic, value, key, headers=list(headers))
        assert producer.flush(SECONDS) == 0


COMMITTED = IsolationLevel.READ_COMMITTED


def _settle(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(SECONDS)
