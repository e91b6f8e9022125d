"""The stored sample of real traffic (``tests/data/traffic``): what `make e2e-traffic` checks, without brokers."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from kwire.logs import internal_records
from kwire_inspect.tables.relations import collect
from kwire_kafka import PROTOCOL
from tests.e2e_traffic.checks import CHECKS, LAST, Check, Run
from tests.e2e_traffic.named import named, spoken
from tests.e2e_traffic.told import BEFORE_LOGIN

SAMPLE = Path(__file__).parents[1] / "data" / "traffic"
RELEASES = ("3.9.1", "4.0.0", "4.1.1")
LATER = "4.4.0"
"""With clients in Go, Node and Java of their time, and none of the others."""

OLD = {"kafka-python-as-of-0.10", "librdkafka-as-of-0.9", "java-0.10", "raw-old"}
JOINS = {"standby-as-of-0.10.1", "raw-group"}
"""Nothing that these say is too old but JoinGroup 1."""

NOT_LOGGED = {*BEFORE_LOGIN, LAST, "Envelope"}
"""What brokers do not log, or not always, or as what is in it."""


@cache
def sample(release: str) -> Run:
    return Run(SAMPLE / release)


@pytest.mark.parametrize("release", [*RELEASES, LATER])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_nothing_differs(release: str, check: Check) -> None:
    assert not check(sample(release))


def test_who_was_refused() -> None:
    assert [sample(release).refused for release in RELEASES] == [set(), OLD | JOINS, OLD]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["traffic.pcap", "kafka-request.log"])
def test_readiness_names_who_was_refused(source: str) -> None:
    """From what the clients said to 3.9.1, before the upgrade."""
    before = [sample("3.9.1").file(source)]
    assert named(before, "4.0.0") == sample("4.0.0").refused
    assert named(before, "4.1.1") == sample("4.1.1").refused


@pytest.mark.slow
def test_clients_of_capture_and_logs_agree() -> None:
    """Who said what to 4.0.0: a request is in the request log, or the server log says that it was refused.

    One client does not wait for a response: the capture knows that the server did not close that connection."""
    run = sample("4.0.0")
    logs = ("traffic.pcap", "kafka-request.log", "server.log")
    requests: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    refused: defaultdict[str, Counter[tuple[str, int]]] = defaultdict(Counter)
    for row in collect("SELECT * FROM {seen}", seen=spoken([run.file(name) for name in logs]).table):
        if row["api"] not in NOT_LOGGED:
            use = row["api"], row["version"]
            requests[row["input_kind"]][use] += row["requests"]
            refused[row["input_kind"]][use] += row["refused"]
    assert requests["capture"] == requests["request_log"] + requests["server_log"]
    assert refused["capture"] == refused["server_log"] == requests["server_log"]
    assert requests["server_log"]["JoinGroup", 1] > 1


@pytest.mark.slow
def test_what_sarama_sent_after_a_refusal_was_not_refused() -> None:
    """It had sent Metadata 2 before it noticed that the broker had closed the connection at Produce 2."""
    run = sample(LATER)
    refused: Counter[tuple[str, int]] = Counter()
    for row in collect("SELECT * FROM {seen} WHERE refused > 0", seen=spoken([run.file("traffic.pcap")]).table):
        refused[row["api"], row["version"]] += row["refused"]
    assert refused == Counter((row["api"], row["version"]) for row in run.refusals)
    assert refused.keys() == {("Produce", 2), ("Fetch", 3)}
    assert named([run.file("traffic.pcap")], LATER) == run.refused == {"sarama-as-of-0.10"}


def test_clients_with_a_login_negotiate_though_request_logs_have_no_handshake_of_theirs() -> None:
    """Franz-go uses Fetch 18, which 4.0.0 does not have, and an older one there."""
    assert named([sample(LATER).file("kafka-request.log")], "4.0.0") == {"sarama-as-of-0.10"}


def test_software_of_clients_in_go_and_java() -> None:
    """Also of those that send ApiVersions 5. Kafka-go and kafkajs do not tell theirs."""
    rows = collect("SELECT * FROM {seen}", seen=spoken([sample(LATER).file("traffic.pcap")]).table)
    told = {(row["client_id"], row["software_name"], row["software_version"]) for row in rows if row["software_name"]}
    assert {
        ("sarama", "sarama", "v1.61.1"),
        ("franz-go-login", "kgo", "v1.22.2"),
        ("java-share", "apache-kafka-java", "4.4.0"),
        ("streams-StreamThread-1-consumer", "apache-kafka-java", "4.3.1"),
    } <= told
    assert not {client for client, *_ in told if client.startswith("kafka")}


def test_groups_of_every_kind_are_in_the_internal_topics() -> None:
    topics = (SAMPLE / LATER / "data").iterdir()
    records = [row.record for topic in topics for row in internal_records(PROTOCOL, topic)]
    assert not [record.reason for record in records if record.reason]
    kinds = {"GroupMetadata", "ShareGroupMetadata", "StreamsGroupMetadata", "StreamsGroupTopology"}
    assert kinds <= {record.name for record in records}
