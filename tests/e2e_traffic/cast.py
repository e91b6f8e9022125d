"""Who talks to the brokers: libraries of several ages, each under a name of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.real_kafka.releases import COMPLETE, NEWEST

USERS = {"alice": "alice-secret", "bob": "bob-secret"}
"""Passwords of this scenario and of nothing else: PLAIN sends them as they are. Bob is known to SCRAM only."""

RECORDS = ("produce", "consume")
"""What there is to do for a client that believes in a broker without an API for administration."""

AS_OF_0_9 = {"api.version.request": "false", "broker.version.fallback": "0.9.0"}


@dataclass(frozen=True)
class Member:
    """``client_id`` as the broker sees it; what runs it: an environment and a program in it, or Kafka's tools.

    ``environment`` is that of a Python library, or another language. ``since`` is the first release of a broker that
    knows what the client wants."""

    client_id: str
    software: str
    environment: str | None = None
    program: str | None = None
    tools: str | None = None
    mechanism: str | None = None
    user: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    since: tuple[int, ...] = ()


CAST = (
    Member("kafka-python-1.4", "kafka-python 1.4.7", "kafka-python-1.4", "kafka_python"),
    Member(
        "kafka-python-as-of-0.10",
        "kafka-python 1.4.7",
        "kafka-python-1.4",
        "kafka_python",
        settings={"api_version": [0, 10]},
        only=RECORDS,
    ),
    Member("standby-as-of-0.10.1", "kafka-python 1.4.7", "kafka-python-1.4", "standby"),
    Member("kafka-python-2.0", "kafka-python 2.0.2", "kafka-python-2.0", "kafka_python", None, "PLAIN", "alice"),
    Member(
        "kafka-python-3.0", "kafka-python 3.0.12", "kafka-python-3.0", "kafka_python", None, "SCRAM-SHA-256", "bob"
    ),
    Member("aiokafka-0.8", "aiokafka 0.8.1", "aiokafka-0.8", "aio_kafka"),
    Member("aiokafka-0.14", "aiokafka 0.14.0", "aiokafka-0.14", "aio_kafka", None, "PLAIN", "alice"),
    Member("librdkafka-2.0", "librdkafka 2.0.2", "confluent-2.0", "librdkafka"),
    Member("librdkafka-2.16", "librdkafka 2.16.1", "confluent-2.16", "librdkafka", None, "SCRAM-SHA-512", "bob"),
    Member(
        "librdkafka-as-of-0.9", "librdkafka 2.0.2", "confluent-2.0", "librdkafka", settings=AS_OF_0_9, only=RECORDS
    ),
    Member("java-0.10", "Kafka tools 0.10.2.2", tools="0.10.2.2"),
    Member("java-1.1", "Kafka tools 1.1.1", tools="1.1.1"),
    Member("java-2.4", "Kafka tools 2.4.1", tools="2.4.1", mechanism="PLAIN", user="alice"),
    Member("java-3.9", "Kafka tools 3.9.1", tools="3.9.1"),
    Member("java-4.1", "Kafka tools 4.1.1", tools="4.1.1", mechanism="SCRAM-SHA-256", user="bob"),
    Member(f"java-{NEWEST}", f"kafka-clients {NEWEST}", "java", "Clients", None, "SCRAM-SHA-512", "bob"),
    Member("java-consumer", f"kafka-clients {NEWEST}", "java", "Clients", settings={"group": "consumer"}),
    Member("java-share", f"kafka-clients {NEWEST}", "java", "Clients", settings={"group": "share"}, since=(4, 2)),
    Member("streams", f"kafka-streams {COMPLETE}", "java", "Streams", since=(4, 2)),
    Member("sarama", "sarama 1.61.1", "go", "sarama"),
    Member("sarama-login", "sarama 1.61.1", "go", "sarama", None, "PLAIN", "alice", settings={"version": "4.3.1"}),
    Member("sarama-as-of-2.1", "sarama 1.61.1", "go", "sarama", settings={"version": "2.1.0"}),
    Member("sarama-as-of-0.10", "sarama 1.61.1", "go", "sarama", settings={"version": "0.10.2.0"}, only=RECORDS),
    Member("sarama-mute", "sarama 1.61.1", "go", "sarama", settings={"version": "2.1.0", "mute": "yes"}),
    Member("franz-go", "franz-go 1.22.2", "go", "franzgo"),
    Member("franz-go-login", "franz-go 1.22.2", "go", "franzgo", None, "SCRAM-SHA-256", "bob"),
    Member("franz-go-as-of-0.10", "franz-go 1.22.2", "go", "franzgo", settings={"version": "0.10.2"}, only=RECORDS),
    Member("kafka-go", "kafka-go 0.4.51", "go", "kafkago"),
    Member("kafka-go-login", "kafka-go 0.4.51", "go", "kafkago", None, "PLAIN", "alice"),
    Member("kafkajs", "kafkajs 2.2.4", "node", "kafkajs"),
    Member("kafkajs-login", "kafkajs 2.2.4", "node", "kafkajs", None, "SCRAM-SHA-256", "bob"),
    Member("raw-old", "kwire"),
    Member("raw-group", "kwire"),
)
