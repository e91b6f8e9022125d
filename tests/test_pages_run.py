"""Every block of every page runs as it stands there, or is listed here with the reason why it cannot."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.page_blocks import ROOT, Command, Reader, blocks, commands, free_port
from tests.support.small_sample import left_behind

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text()
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "decisions" not in path.parts and "rules" not in path.parts and path.name != "api.md"
}
RUNNING = [name for name, text in PAGES.items() if "```console" in text or "```pycon" in text]

NOT_RUN = {
    r"pip install|python3 -m venv|bin/activate": "the environment of the tests has everything",
    r"tcpdump|dumpcap": "capturing needs rights: make e2e-live",
    r"kubectl|aws |ssh |curl |JmxTool": "needs a cluster of one's own",
    r"s3a?://|hdfs://|/opt/hadoop": "needs a store: make e2e-stores",
    r"kwire watch|spark-submit|PYSPARK|--table-format": "needs Spark: tests/spark, make cluster",
    r"mvn |kwirec merge": "needs the jars of Kafka: tests/updating, tests/merge",
    r"my-client|--key-log": "needs the secrets of the reader's program: tests/inspect",
    r"kwirec guide|kwirec generate (message_defs|definitions)|--protocol": "tests/guide and tests/emit do it",
    r"git:main|release:|kafka-3|kafka_releases|definitions/krm": "tests/diff compare releases and revisions",
    r"kwirec emit|kwire\.lua|tshark": "tests/outputs, tests/wireshark and tests/models run the templates",
    r"--since|last-run": "needs an earlier run: tests/inspect",
    r"kwire (broker|call|proxy) |broker\.(example|json)": "needs a broker: tests/testing, make e2e",
    r"kafka-0|mirror": "needs the files of a capture in a cluster",
}
"""A pattern of commands → why no test runs them from here."""


def reason(command: str) -> str | None:
    return next((why for pattern, why in NOT_RUN.items() if re.search(pattern, command)), None)


@pytest.fixture
def reader(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Reader]:
    name = request.node.callspec.params["name"]
    if not name.startswith("docs/tutorials/"):
        prepared(tmp_path)
    port = free_port()
    person = Reader(
        tmp_path,
        {
            "/path/to/kwire": str(ROOT),
            "/var/lib/kafka/data": str(tmp_path / "data"),
            " /captures /var/log/kafka": f" {tmp_path}/captures {tmp_path}/logs",
            "127.0.0.1:9092": f"127.0.0.1:{port}",
            "--port 9092": f"--port {port}",
        },
    )
    yield person
    person.close()


def prepared(folder: Path) -> None:
    """Lay out the captures, logs and definitions that the how-to pages name."""
    left_behind(folder)
    shutil.copyfile(folder / "captures" / "a.pcap.gz", folder / "capture.pcap.gz")
    shutil.copyfile(ROOT / "tests" / "data" / "metrics" / "exporter.prom", folder / "broker-1.prom")
    shutil.copytree(ROOT / "message_defs", folder / "message_defs")
    (folder / "defs").mkdir()


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNNING)
def test_the_commands_of_a_page_do_what_it_says(name: str, reader: Reader) -> None:
    for block in blocks(PAGES[name]):
        if block.saved_as:
            reader.save(block)
        elif block.language == "console":
            for command in commands(block.text):
                if not reason(command.text):
                    found = re.search(r"make diff|kwirec? ", command.text)
                    reader.run(command, (0, 2) if found and found[0] == "make diff" else (0, 1, 4) if found else (0,))
        elif block.language == "pycon":
            reader.doctest(block.text)


def test_each_reason_is_needed() -> None:
    shown = [one.text for text in PAGES.values() for block in blocks(text) for one in commands(block.text)]
    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, one) for one in shown)] == []


def test_the_reader_notices_what_is_not_so(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.run(Command("cd /", ""))
    reader.run(Command("pwd; echo one two", "/\none …\n"))
    reader.run(Command("seq 9", "1\n…\n9\n"))
    for output in ("1\n2\n", "…\n8\n"):
        with pytest.raises(AssertionError, match="prints"):
            reader.run(Command("seq 3", output))
    with pytest.raises(AssertionError, match="exits with 1"):
        reader.run(Command("false", ""))
