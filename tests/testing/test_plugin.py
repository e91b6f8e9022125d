"""The fixtures of pytest, and ``kwire fake-broker``."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kwire.client import connect, parse_address
from kwire.command import main
from kwire_kafka import PROTOCOL, MetadataRequest, MetadataResponse
from kwire_testing import FakeBroker
from kwire_testing.call import HANDLERS


@pytest.mark.kafka(release="2.8", topics={"orders": 3})
class TestFixtures:
    def test_a_broker_has_what_the_marker_says(self, kafka_broker: FakeBroker) -> None:
        assert kafka_broker.release.startswith("2.8")
        assert kafka_broker.bootstrap_servers.count(",") == 0

    @pytest.mark.kafka(release="3.9")
    def test_the_nearest_marker_counts(self, kafka_broker: FakeBroker) -> None:
        assert kafka_broker.release.startswith("3.9")
        assert kafka_broker.records("orders") == []

    def test_a_cluster_has_three_nodes(self, kafka_cluster: FakeBroker) -> None:
        assert kafka_cluster.bootstrap_servers.count(",") == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_command_runs_until_it_is_stopped() -> None:
    command = [sys.executable, "-m", "kwire", "fake-broker", "--release", "3.9", "--topic", "orders:3", "--requests"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        [release, address] = re.findall(r"\S+(?= at)|\S+$", process.stdout.readline().strip())

        async def topics() -> list[tuple[str | None, int]]:
            async with await connect(*parse_address(address), PROTOCOL) as client:
                answer = (await client.call(MetadataRequest(topics=None))).expect(MetadataResponse)
                return [(topic.name, len(topic.partitions)) for topic in answer.topics]

        assert asyncio.run(topics()) == [("orders", 3)]
        process.send_signal(signal.SIGTERM)
        printed = process.stdout.read()
    assert release.startswith("3.9")
    assert process.returncode == 0
    assert re.search(r"node 1  ApiVersions \d+  kwire \(kwire [\d.]+\w*\)\n.*Metadata 12  kwire", printed)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--release", "99"], "unknown release '99'"),
        (["--topic", "a b"], "INVALID_TOPIC_EXCEPTION"),
        (["--topic", "a:b"], "expected NAME or NAME:PARTITIONS"),
        (["--cert", "missing.pem"], "no file 'missing.pem'"),
    ],
)
def test_wrong_options_are_usage_errors(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fake-broker", *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_the_page_lists_the_apis() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fake-broker.md").read_text()
    rows = re.findall(r"^\| (?:cluster|topics|logs|groups|transactions) \| (.*) \|$", page, re.MULTILINE)
    assert sorted(name for row in rows for name in row.split(", ")) == sorted(map(PROTOCOL.api_name, HANDLERS))
