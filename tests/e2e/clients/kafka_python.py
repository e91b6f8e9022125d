"""kafka-python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.codec import has_lz4, has_snappy, has_zstd

from tests.e2e.clients.library import SECONDS, Endpoint, Sent


class KafkaPython:
    null_headers = False
    group_protocols: tuple[str, ...] = ("classic",)

    def __init__(self, endpoint: Endpoint, **settings: Any) -> None:
        self._settings: dict[str, Any] = {
            "bootstrap_servers": endpoint.bootstrap,
            "client_id": "kafka-python",
            **settings,
        }
        if endpoint.mechanism:
            self._settings |= {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": endpoint.mechanism,
                "sasl_plain_username": endpoint.user,
                "sasl_plain_password": endpoint.password,
            }

    @property
    def codecs(self) -> tuple[str, ...]:
        """What is installed, less what it refuses to write for the broker that it was told to speak to. The lz4 of
        magic 0 would need another package."""
        version = self._settings.get("api_version", (4, 0))
        there = {
            "none": True,
            "gzip": True,
            "snappy": has_snappy(),
            "lz4": has_lz4() and version >= (0, 10),
            "zstd": has_zstd() and version >= (2, 1),
        }
        return tuple(name for name, usable in there.items() if usable)

    def create_topic(self, topic: str, partitions: int) -> None:
        admin = self._admin()
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.close()

    def produce(self, topic: str, records: Sequence[Sent], *, codec: str = "none", acks: str = "all") -> None:
        more = {"compression_type": None if codec == "none" else codec, "acks": acks if acks == "all" else int(acks)}
        producer = KafkaProducer(**self._settings, **more, linger_ms=20, enable_idempotence=acks == "all")
        self._send(producer, topic, records)
        producer.close(SECONDS)

    def consume(self, topic: str, count: int, *, group: str, protocol: str = "classic") -> list[Sent]:
        consumer = KafkaConsumer(
            topic,
            **self._settings,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            consumer_timeout_ms=SECONDS * 1000,
        )
        found: list[Sent] = []
        for one in consumer:
            found.append(Sent(one.key, one.value, tuple(one.headers)))
            if len(found) == count:
                break
        consumer.commit()
        consumer.close()
        return found

    def transact(self, topic: str, name: str, commit: Sequence[Sent], abort: Sequence[Sent]) -> None:
        producer = KafkaProducer(**self._settings, transactional_id=name)
        producer.init_transactions()
        for records, end in ((commit, producer.commit_transaction), (abort, producer.abort_transaction)):
            producer.begin_transaction()
            self._send(producer, topic, records)
            end()
        producer.close(SECONDS)

    def administrate(self, topic: str, group: str) -> None:
        admin = self._admin()
        admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        admin.list_groups()
        admin.describe_groups([group])
        admin.list_group_offsets({group: None})
        admin.describe_cluster()
        admin.list_topics()
        admin.delete_groups([group])
        admin.close()

    def delete_topic(self, topic: str) -> None:
        admin = self._admin()
        admin.delete_topics([topic])
        admin.close()

    def _admin(self) -> KafkaAdminClient:
        return KafkaAdminClient(**self._settings)

    def _send(self, producer: KafkaProducer, topic: str, records: Sequence[Sent]) -> None:
        futures = [producer.send(topic, value, key, headers=list(headers)) for key, value, headers in records]
        producer.flush(SECONDS)
        for future in futures:
            future.get(SECONDS)
