"""Packets of a recorded capture, through a topic of a real broker: the tables are those of the file."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwire_inspect.reasons import NO_PACKET
from tests.e2e_live import packet_topic
from tests.e2e_live.commands import problems, requests, run
from tests.e2e_live.packet_topic import PARTITIONS, an_hour_later, create, packets_of, produce
from tests.e2e_traffic import raw
from tests.e2e_traffic.clients.steps import Task
from tests.real_kafka.broker import Broker
from tests.real_kafka.releases import NEWEST

CAPTURE = Path(__file__).parents[1] / "data" / "traffic" / "3.9.1" / "traffic.pcap.gz"
TOPIC = "packets"
NO_PACKETS = [
    b"",
    b'{"name": "value"}',
    b"plain text, of more than sixty bytes, which might be a packet's length",
    None,
]
NAMES = {f"{NO_PACKET}: empty": 2, f"{NO_PACKET}: text": 2, f"{NO_PACKET}: a capture file": 1}


@pytest.fixture(scope="module")
def connector() -> Path:
    return packet_topic.connector()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(NEWEST, tmp_path_factory.mktemp("broker")) as running:
        yield running


def halves(found: list[tuple[int, bytes, int]]) -> int:
    """Where a batch may end: in the longest silence of the middle, because what is secret is not kept beyond it."""
    third = len(found) // 3
    return max(range(third, 2 * third), key=lambda number: found[number][0] - found[number - 1][0])


def test_packets_of_a_topic_give_the_tables_of_the_file(broker: Broker, connector: Path, tmp_path: Path) -> None:
    found, out, whole = packets_of(CAPTURE), tmp_path / "out", tmp_path / "whole"
    middle = halves(found)
    noise = [(found[0][0], value, number % PARTITIONS) for number, value in enumerate(NO_PACKETS)]
    noise.append((found[0][0], gzip.decompress(CAPTURE.read_bytes())[:500], 0))
    noise += [(found[0][0], random.Random(number).randbytes(80), 1) for number in range(5)]
    arguments = ["watch", "--topic", TOPIC, "--bootstrap-server", broker.bootstrap, "--connector", str(connector)]
    arguments += ["--once", "--target", "4.4.0", "--out", str(out)]
    with raw.Conversation(Task(broker.bootstrap, "producer", TOPIC), []) as ask:
        create(ask, TOPIC)
        produce(ask, TOPIC, [*found[:middle], *noise])
        first = run(*arguments)
        assert f"{len(found[:middle]) + len(noise):,} packets in 1 batch" in " ".join(first.split())
        half = requests(out)
        produce(ask, TOPIC, [*found[middle:], an_hour_later(found)])
        run(*arguments)
    run("clients", str(CAPTURE), "--engine", "local", "--out", str(whole))
    assert requests(out) == requests(whole)
    assert half.total() < requests(whole).total(), "the second run went on from the checkpoint"
    told = problems(out)
    assert {reason: told[reason] for reason in NAMES} == NAMES
    others = told.total() - sum(NAMES.values()) - problems(whole).total()
    assert others >= 5, "random bytes are counted by what they may be"
    again = tmp_path / "again"
    run("readiness", "--target", "4.4.0", str(whole), "--out", str(again), allowed=(0, 1))
    name = "readiness-refused.csv"
    columns = [_judged(folder / name) for folder in (out, again)]
    assert columns[0] == columns[1]
    assert len(columns[0]) > 3
    assert "kwire_clients{" in (out / "kwire.prom").read_text()
    assert 'http-equiv="refresh"' in (out / "readiness.html").read_text()


def _judged(path: Path) -> list[tuple[str, ...]]:
    """Who is refused what, in a CSV file."""
    with path.open(newline="") as file:
        return sorted(
            (row["client_id"], row["api"], row["versions"], row["requests"]) for row in csv.DictReader(file)
        )


def test_a_topic_needs_the_connector_and_a_broker(tmp_path: Path) -> None:
    told = run("watch", "--topic", TOPIC, "--out", str(tmp_path / "out"), allowed=(2,))
    assert "--topic needs --bootstrap-server" in told
    told = run(
        *("watch", "--topic", TOPIC, "--bootstrap-server", "127.0.0.1:1", "--once", "--out", str(tmp_path / "out")),
        allowed=(2,),
    )
    assert "--connector" in told
