"""Packets of a recorded capture, through a topic of a real broker: the tables are those of the file."""

from __future__ import annotations

import csv
import gzip
import random
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import pytest

from kwire.records import Record, encode_batch
from kwire_kafka import CreateTopicsRequest, ProduceRequest, ProduceResponse
from kwire_kafka.api.create_topics import CreatableTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from kwire_spark.capture.packets import LINKS, packet, reverse
from kwire_spark.unread import NO_PACKET
from tests.e2e_live.commands import problems, requests, run
from tests.e2e_traffic import raw
from tests.e2e_traffic.clients.steps import Task
from tests.pipeline.capture_files import ETHERNET, Conversation, packets
from tests.pipeline.capture_files import frame as link_frame
from tests.real_kafka.broker import Broker
from tests.real_kafka.releases import NEWEST
from tools.maven import COPY, ITEM, mvn

CAPTURE = Path(__file__).parents[1] / "data" / "traffic" / "3.9.1" / "traffic.pcap.gz"
CONNECTOR = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
"""What docs/pipeline.md says: Spark has the rest."""
TOPIC = "packets"
PARTITIONS = 2
NO_PACKETS = [
    b"",
    b'{"name": "value"}',
    b"plain text, of more than sixty bytes, which might be a packet's length",
    None,
]
NAMES = {f"{NO_PACKET}: empty": 2, f"{NO_PACKET}: text": 2, f"{NO_PACKET}: a capture file": 1}


@pytest.fixture(scope="module")
def connector() -> Path:
    folder = Path(__file__).parents[2] / "build" / "jars" / "spark-kafka-connector"
    if not folder.is_dir():
        items = "\n".join(ITEM.format(*coordinates, "jar", folder) for coordinates in CONNECTOR)
        mvn(COPY.format(items), "dependency:copy")
    return folder


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(NEWEST, tmp_path_factory.mktemp("broker")) as running:
        yield running


def recorded() -> list[tuple[int, bytes, int]]:
    """Time in microseconds, bytes and partition of each packet: those of a connection are in one partition."""
    data = gzip.decompress(CAPTURE.read_bytes())
    link, at, found = LINKS[struct.unpack_from("<I", data, 20)[0]], 24, []
    while at < len(data):
        seconds, micros, size = struct.unpack_from("<III", data, at)
        frame = data[at + 16 : at + 16 + size]
        seen = packet(frame, 0, size, size, link, 0.0, "", 0)
        flow = min(seen.key, reverse(seen.key)) if seen else b""
        found.append((seconds * 1_000_000 + micros, frame, crc32(flow) % PARTITIONS))
        at += 16 + size
    return found


def batches(found: Sequence[tuple[int, bytes | None, int]]) -> Iterator[tuple[int, bytes]]:
    """Batches of records for each partition."""
    now = time.time_ns() // 1_000_000
    for number in range(PARTITIONS):
        mine = [(micros, value) for micros, value, partition in found if partition == number]
        for at in range(0, len(mine), 500):
            records = [
                Record(timestamp=now, key=micros.to_bytes(8, "big"), value=value)
                for micros, value in mine[at : at + 500]
            ]
            yield number, encode_batch(records)


def produce(ask: raw.Conversation, found: Sequence[tuple[int, bytes | None, int]]) -> None:
    for number, batch in batches(found):
        data = PartitionProduceData(index=number, records=batch)
        topics = [TopicProduceData(name=TOPIC, partition_data=[data])]
        answer = ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), 9)
        assert isinstance(answer, ProduceResponse)
        assert [part.error_code for topic in answer.responses for part in topic.partition_responses] == [0]


def halves(found: list[tuple[int, bytes, int]]) -> int:
    """Where a batch may end: in the longest silence of the middle, because what is secret is not kept beyond it."""
    third = len(found) // 3
    return max(range(third, 2 * third), key=lambda number: found[number][0] - found[number - 1][0])


def an_hour_later(found: list[tuple[int, bytes, int]]) -> tuple[int, bytes, int]:
    """The beginning of another connection: then those are over that were still open, as at the end of a file."""
    return found[-1][0] + 3_600_000_000, link_frame(packets(Conversation([]))[0], ETHERNET), 0


def test_packets_of_a_topic_give_the_tables_of_the_file(broker: Broker, connector: Path, tmp_path: Path) -> None:
    found, out, whole = recorded(), tmp_path / "out", tmp_path / "whole"
    middle = halves(found)
    noise = [(found[0][0], value, number % PARTITIONS) for number, value in enumerate(NO_PACKETS)]
    noise.append((found[0][0], gzip.decompress(CAPTURE.read_bytes())[:500], 0))
    noise += [(found[0][0], random.Random(number).randbytes(80), 1) for number in range(5)]
    arguments = ["watch", "--topic", TOPIC, "--bootstrap-server", broker.bootstrap, "--connector", str(connector)]
    arguments += ["--once", "--target", "4.4.0", "--out", str(out)]
    with raw.Conversation(Task(broker.bootstrap, "producer", TOPIC), []) as ask:
        topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
        ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        time.sleep(2)
        produce(ask, [*found[:middle], *noise])
        first = run(*arguments)
        assert f"{len(found[:middle]) + len(noise):,} packets in 1 batch" in " ".join(first.split())
        half = requests(out)
        produce(ask, [*found[middle:], an_hour_later(found)])
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
