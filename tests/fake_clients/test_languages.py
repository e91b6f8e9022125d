"""Clients in Java, Go and JavaScript, against the fake broker as three releases, behind a proxy or not."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker
from tests.e2e_traffic.languages import BUILT, command, missing
from tests.fake_clients.conftest import SCENARIOS, Passed
from tests.fake_clients.test_clients import again, behind, each_release
from tests.real_kafka.jars import SIMPLE, classpath

SOURCE = Path(__file__).with_name("Scenarios.java")
NEWEST = RELEASES.newest.name
SECONDS = 120
KAFKA_GO = "kafka-go (one member)"
PROGRAMS = {
    "Java 2.8.2": ("java", "2.8.2", "classic"),
    f"Java {NEWEST}": ("java", NEWEST, "classic"),
    f"Java {NEWEST}, KIP-848": ("java", NEWEST, "consumer"),
    "franz-go": ("go", "franzgo_scenarios", ""),
    "sarama": ("go", "sarama_scenarios", ""),
    "kafkajs": ("node", "kafkajs_scenarios", ""),
    KAFKA_GO: ("go", "kafkago", ""),
}
proxies = pytest.mark.parametrize("filters", [None, [], [again]], ids=["no proxy", "a proxy", "encoded again"])


@cache
def java(client: str) -> list[str]:
    """What runs the scenarios with a version of Java's client."""
    path, built = classpath(client, SIMPLE, ("kafka-clients",)), BUILT / "java" / client
    subprocess.run(["javac", "-d", built, "-cp", path, SOURCE], check=True, timeout=SECONDS)
    return ["java", "-cp", f"{built}:{path}", SOURCE.stem]


@proxies
@each_release
@pytest.mark.parametrize("client", [name for name in PROGRAMS if name != KAFKA_GO])
def test_a_client_does_all_scenarios(client: str, release: str, filters: list[Any] | None, passed: Passed) -> None:
    language, program, protocol = PROGRAMS[client]
    if why := missing(language) or (None if language != "java" or shutil.which("mvn") else "there is no mvn"):
        pytest.skip(why)
    if protocol == "consumer" and release != NEWEST:
        pytest.skip("groups of KIP-848 are in production since 4.0")
    run = java(program) if language == "java" else command(language, program)
    with FakeBroker(release, {"orders": 2}, nodes=2) as broker, behind(broker, filters) as servers:
        done = subprocess.run([*run, servers, protocol], capture_output=True, text=True, check=False, timeout=SECONDS)
        assert done.stdout == "[new, orders]\n[orders]\n20\n[kept, kept too]\n", done.stderr[-2000:]
        assert broker.offsets("g") == {("orders", 0): 10, ("orders", 1): 10}
    if filters is None:
        passed(client, release, *SCENARIOS)


@proxies
@each_release
@pytest.mark.parametrize("client", [KAFKA_GO])
def test_kafka_go_produces_reads_in_a_group_and_makes_a_topic(
    client: str, release: str, filters: list[Any] | None, passed: Passed
) -> None:
    if why := missing("go"):
        pytest.skip(why)
    with FakeBroker(release, {"orders": 2}) as broker, behind(broker, filters) as servers:
        task = {"bootstrap": servers, "client_id": "c", "topic": "orders", "only": [], "settings": {}}
        task |= dict.fromkeys(("mechanism", "user", "password"), "")
        done = subprocess.run(
            [*command("go", "kafkago"), json.dumps(task)],
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        steps = dict.fromkeys(("produce", "consume", "create", "describe"))
        assert {one["step"]: one["error"] for one in told} == steps, done.stderr[-2000:]
        assert len(broker.records("orders")) == 20
        assert broker.offsets("c-group")
    if filters is None:
        passed(client, release, "produce", "topics")
