"""Java's own client, of 2.8 and the newest release, against the fake broker as three releases."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker
from tests.fake_clients.test_clients import again, behind, each_release
from tests.real_kafka.jars import SIMPLE, classpath

SOURCE = Path(__file__).with_name("Scenarios.java")
NEWEST = RELEASES.newest.name
SECONDS = 120

pytestmark = pytest.mark.skipif(not (shutil.which("javac") and shutil.which("mvn")), reason="needs a JDK and mvn")


@pytest.mark.parametrize("filters", [None, [], [again]], ids=["no proxy", "a proxy", "encoded again"])
@each_release
@pytest.mark.parametrize(("client", "protocol"), [("2.8.2", "classic"), (NEWEST, "classic"), (NEWEST, "consumer")])
def test_a_java_client_does_all_scenarios(
    client: str, protocol: str, release: str, filters: list[Any] | None, tmp_path: Path
) -> None:
    if protocol == "consumer" and release != NEWEST:
        pytest.skip("groups of KIP-848 are in production since 4.0")
    path = classpath(client, SIMPLE, ("kafka-clients",))
    subprocess.run(["javac", "-d", tmp_path, "-cp", path, SOURCE], check=True, timeout=SECONDS)
    with FakeBroker(release, {"orders": 2}, nodes=2) as broker, behind(broker, filters) as servers:
        command = ["java", "-cp", f"{tmp_path}:{path}", SOURCE.stem, servers, protocol]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        assert done.stdout == "[new, orders]\n[orders]\n20\n[kept, kept too]\n", done.stderr[-2000:]
        assert broker.offsets("g") == {("orders", 0): 10, ("orders", 1): 10}
