"""The fixtures of pytest, and ``kwire fake-broker``."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kwire.client import BrokerError, Security, connect, parse_address, tls_context
from kwire.command import main
from kwire.frames import frame
from kwire_kafka import PROTOCOL, MetadataRequest, MetadataResponse
from kwire_kafka.api.metadata import MetadataRequestTopic
from kwire_kafka.releases import RELEASES
from kwire_testing import FakeBroker, plugin
from kwire_testing.call import HANDLERS
from tests.support.certificates import Certificates


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
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_the_command_runs_until_it_is_stopped(how: signal.Signals) -> None:
    command = [sys.executable, "-m", "kwire", "fake-broker", "--release", "3.9", "--topic", "orders:3", "--requests"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        [release, address] = re.findall(r"\S+(?= at)|\S+$", process.stdout.readline().strip())

        async def topics() -> list[tuple[str | None, int]]:
            async with await connect(*parse_address(address), PROTOCOL) as client:
                answer = (await client.call(MetadataRequest(topics=None))).expect(MetadataResponse)
                return [(topic.name, len(topic.partitions)) for topic in answer.topics]

        assert asyncio.run(topics()) == [("orders", 3)]
        process.send_signal(how)
        try:
            printed, _ = process.communicate(timeout=20)
        finally:
            process.kill()
    assert release.startswith("3.9")
    assert process.returncode == 0
    assert re.search(r"node 1  ApiVersions \d+  kwire \(kwire [\d.]+\w*\)\n.*Metadata 12  kwire", printed)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--release", "99"], "unknown release '99'"),
        (["--topic", "a b"], "INVALID_TOPIC_EXCEPTION"),
        (["--topic", "a:b"], "'a:b': expected NAME or NAME:PARTITIONS"),
        (["--topic", "a:-1"], "'a:-1': expected NAME or NAME:PARTITIONS"),
        (["--release", "\x1b[0m"], r"unknown release '\x1b[0m'"),
        (["--topic", "a:0"], "INVALID_PARTITIONS"),
        (["--nodes", "0"], "1<=x<=100"),
        (["--nodes", "101"], "1<=x<=100"),
        (["--port", "65001"], "0<=x<=65000"),
        (["--port", "-1"], "0<=x<=65000"),
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


def marked(*markers: pytest.Mark) -> Any:
    """A request of a test with markers, the nearest first."""
    return SimpleNamespace(
        node=SimpleNamespace(iter_markers=lambda name: iter([m for m in markers if m.name == name]))
    )


def test_the_fixtures_take_the_arguments_of_all_markers(pytestconfig: pytest.Config) -> None:
    """The nearest wins, and each broker ends with its test."""
    near, far = pytest.mark.kafka(release="2.8", nodes=2).mark, pytest.mark.kafka(release="3.9", topics={"t": 2}).mark
    running = plugin._running(marked(near, pytest.mark.slow(nodes=9).mark, far), nodes=3)
    broker = next(running)
    assert (broker.release, len(broker.records("t", 1))) == ("2.8.2", 0)
    addresses = broker.bootstrap_servers.split(",")
    assert len(addresses) == 2
    assert [*running] == []
    for address in addresses:
        with pytest.raises(BrokerError, match="refused"):
            asyncio.run(connect(*parse_address(address), PROTOCOL))
    with pytest.raises(pytest.UsageError, match=r"accepts only named arguments: @pytest.mark.kafka\(release=...\)"):
        next(plugin._running(marked(pytest.mark.kafka("3.9").mark)))
    assert plugin.MARKER in pytestconfig.getini("markers")


def commanded(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], talk: Callable[[FakeBroker], Awaitable[None]]
) -> int:
    """The exit code of the command, which runs until a conversation with its broker ends."""

    async def run(broker: FakeBroker, title: str) -> None:
        async with broker:
            assert title == f"Kafka {broker.release} at"
            await talk(broker)

    monkeypatch.setattr("kwire_testing.command._run_until_stopped", run)
    return main(["fake-broker", *arguments])


@pytest.mark.skipif(sys.platform != "linux", reason="other addresses of the loopback")
def test_the_options_of_the_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Topics with one partition or more, at ports in a row, and a line for each request."""
    with FakeBroker(nodes=2) as other:  # a number that other tests will not have
        port = int(other.bootstrap_servers.rpartition(":")[2]) % 60_000 + 2_000

    async def talk(broker: FakeBroker) -> None:
        assert broker.bootstrap_servers == ",".join(f"127.0.0.3:{port + at}" for at in range(3))
        assert broker.release == "3.9.2"
        for node, name in ((0, "m\x1be"), (2, None)):
            async with await connect("127.0.0.3", port + node, PROTOCOL, client_id=name) as client:
                request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in ("a", "b", "new")])
                answer = (await client.call(request)).expect(MetadataResponse)
                found = [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics]
                assert found == [("a", 0, 1), ("b", 0, 12), ("new", 3, 0)]
        reader, writer = await asyncio.open_connection("127.0.0.3", port)
        request = MetadataRequest(topics=[])
        writer.write(frame(PROTOCOL.encode_request(request, 12, correlation_id=1, client_id="raw")))
        await reader.readexactly(4)
        writer.close()
        assert broker.requests == []

    options = ["--release", "3.9", "--topic", "a", "--topic", "b:12", "--nodes", "3", "--host", "127.0.0.3"]
    assert commanded(monkeypatch, [*options, "--port", str(port), "--no-auto-create", "--requests"], talk) == 0
    shown = re.sub(r"kwire [\d.]+\w*", "kwire N", capsys.readouterr().out).splitlines()
    assert shown == [
        "   1 node 1  ApiVersions 4  m\\u001be (kwire N)",
        "   1 node 1  Metadata 12  m\\u001be (kwire N)",
        "   2 node 3  ApiVersions 4  - (kwire N)",
        "   2 node 3  Metadata 12  - (kwire N)",
        "   3 node 1  Metadata 12  raw",
    ]


def test_the_command_has_defaults(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One node of the newest release on loopback and a free port, which makes topics and prints no requests."""

    async def talk(broker: FakeBroker) -> None:
        [address] = broker.bootstrap_servers.split(",")
        assert address.startswith("127.0.0.1:")
        assert broker.release == RELEASES.newest.name
        async with await connect(*parse_address(address), PROTOCOL) as client:
            request = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
            answer = (await client.call(request)).expect(MetadataResponse)
            assert [len(topic.partitions) for topic in answer.topics] == [1]

    assert commanded(monkeypatch, [], talk) == 0
    assert capsys.readouterr().out == ""


def test_a_fault_of_the_running_broker_is_no_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(broker: FakeBroker) -> None:
        broker.problems.append(ValueError("what a handler raised"))

    with pytest.raises(ValueError, match="what a handler raised"):
        commanded(monkeypatch, [], talk)


def test_the_command_speaks_tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the certificate that it was given; who comes in clear text is disconnected."""
    certificates = Certificates(tmp_path)

    async def talk(broker: FakeBroker) -> None:
        host, port = parse_address(broker.bootstrap_servers)
        security = Security(tls=tls_context(ca=certificates.ca))
        async with await connect(host, port, PROTOCOL, security=security) as client:
            await client.call(MetadataRequest(topics=[]))
        with pytest.raises(BrokerError, match="closed the connection"):
            await connect(host, port, PROTOCOL)

    assert commanded(monkeypatch, ["--cert", str(certificates.server)], talk) == 0


def test_a_port_that_is_taken_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeBroker() as broker:
        port = broker.bootstrap_servers.rpartition(":")[2]
        assert main(["fake-broker", "--port", port]) == 2
    assert "address already in use" in capsys.readouterr().err
