"""The console tools of a Kafka release, from its jars: what a ``Task`` makes of them.

Tools were renamed when they left the broker's jar; their options were not. Before 2.4 only producer and consumer
speak to brokers about everything (the others wanted ZooKeeper).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.e2e_traffic.clients.steps import VALUES, Task
from tests.real_kafka.jars import SIMPLE, TOOLS, classpath

JAVA = ("java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
TRACE = "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.clients.NetworkClient=trace"
"""Every request that is sent, on standard error."""

CORE = "kafka.tools.{}"
NAMES: dict[tuple[int, ...], dict[str, str]] = {
    (0,): {
        "ProducerPerformance": "org.apache.kafka.tools.{}",
        "ConsoleConsumer": CORE,
        "TopicCommand": "kafka.admin.{}",
        "ConsumerGroupCommand": "kafka.admin.{}",
    },
    (3, 9): {
        "ConsoleProducer": CORE,
        "ConsoleConsumer": "org.apache.kafka.tools.consumer.{}",
        "TopicCommand": "org.apache.kafka.tools.{}",
        "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.{}",
    },
    (4, 0): {
        "ConsoleProducer": "org.apache.kafka.tools.{}",
        "ConsoleConsumer": "org.apache.kafka.tools.consumer.{}",
        "TopicCommand": "org.apache.kafka.tools.{}",
        "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.{}",
    },
}
"""The classes, from a release on."""

ARTIFACTS = dict.fromkeys(("0.10.2.2", "1.1.1", "2.0.1", "2.1.1"), ("kafka_2.12", "kafka-tools"))
"""What to fetch, where Scala was an older one."""

OWN_NAME = (3,)
"""Since when the console producer lets its user say what it calls itself. Before, the one for measurements writes."""

READING = 30
"""Seconds that a consumer waits for a record: on a busy machine the JVM alone takes ten."""

ADMINISTRATES = (2, 4)
LOGIN = 'org.apache.kafka.common.security.{}Module required username="{}" password="{}";'
MODULES = {"PLAIN": "plain.PlainLogin", "SCRAM-SHA-256": "scram.ScramLogin", "SCRAM-SHA-512": "scram.ScramLogin"}


@dataclass(frozen=True)
class Call:
    """One run of a tool."""

    step: str
    command: list[str]
    input: bytes = b""


def calls(release: str, task: Task, folder: Path) -> Iterator[Call]:
    """What to run, in order; ``folder`` is for the configuration."""
    configuration = folder / f"{task.client_id}.properties"
    configuration.write_text("".join(f"{name}={value}\n" for name, value in _settings(release, task).items()))
    server, conf = ["--bootstrap-server", task.bootstrap], str(configuration)
    limits = ["--max-messages", str(len(VALUES)), "--timeout-ms", str(READING * 1000)]
    consuming = [*server, "--topic", task.topic, "--from-beginning", *limits, "--consumer.config", conf]
    yield _producer(release, task, conf)
    yield Call("consume", [*tool(release, "ConsoleConsumer"), *consuming])
    if _number(release) >= ADMINISTRATES:
        topics = [*tool(release, "TopicCommand"), *server, "--command-config", conf]
        yield Call("create", [*topics, "--create", "--topic", task.made, "--partitions", "1"])
        yield Call("describe", [*topics, "--describe", "--topic", task.topic])
        groups = [*tool(release, "ConsumerGroupCommand"), *server, "--command-config", conf]
        yield Call("describe groups", [*groups, "--describe", "--group", task.group])


def _producer(release: str, task: Task, conf: str) -> Call:
    if _number(release) >= OWN_NAME:
        writing = ["--bootstrap-server", task.bootstrap, "--topic", task.topic, "--producer.config", conf]
        return Call("produce", [*tool(release, "ConsoleProducer"), *writing], b"\n".join(VALUES) + b"\n")
    amount = ["--num-records", str(len(VALUES)), "--record-size", "10", "--throughput", "-1"]
    writing = ["--topic", task.topic, *amount, "--producer.config", conf]
    return Call("produce", [*tool(release, "ProducerPerformance"), *writing])


def problem(call: Call, code: int, said: bytes) -> str | None:
    """What went wrong, if the exit code or what was printed shows it: a consumer gives up without an error."""
    found = len(said.splitlines())
    if call.step == "consume" and found < len(VALUES):
        return f"exit code {code}, {found} of {len(VALUES)} records were read"
    return f"exit code {code}" if code else None


def tool(release: str, name: str) -> list[str]:
    """The command that runs one of Kafka's tools, without its arguments."""
    package = [names for first, names in NAMES.items() if _number(release) >= first][-1][name]
    jars = classpath(release, SIMPLE, ARTIFACTS.get(release, TOOLS))
    return [*JAVA, TRACE, "-cp", jars, package.format(name)]


def _settings(release: str, task: Task) -> dict[str, str]:
    settings = {
        "bootstrap.servers": task.bootstrap,
        "client.id": task.client_id,
        "group.id": task.group,
        "auto.offset.reset": "earliest",
        "acks": "all",
    }
    if _number(release) >= ADMINISTRATES:  # older consumers want it to be longer than their session
        settings |= {"delivery.timeout.ms": "30000", "request.timeout.ms": "15000"}
    if task.mechanism:
        settings |= {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": task.mechanism,
            "sasl.jaas.config": LOGIN.format(MODULES[task.mechanism], task.user, task.password),
        }
    return settings


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))
