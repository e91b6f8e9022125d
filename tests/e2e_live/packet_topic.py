"""A topic of a real broker with the packets of a capture, and Spark's connector for it."""

from __future__ import annotations

import gzip
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

from kwire.records import Record, encode_batch
from kwire_inspect.capture.packets import LINKS, packet, reverse
from kwire_kafka import CreateTopicsRequest, ProduceRequest, ProduceResponse
from kwire_kafka.api.create_topics import CreatableTopic
from kwire_kafka.api.produce import PartitionProduceData, TopicProduceData
from tests.e2e_traffic import raw
from tests.support.capture_files import ETHERNET, Conversation, frame, packets
from tools.maven import COPY, ITEM, mvn

CONNECTOR = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)
"""The jars that docs/watch.md lists; Spark has the rest."""
PARTITIONS = 2


def connector() -> Path:
    """The folder with its jars."""
    folder = Path(__file__).parents[2] / "build" / "jars" / "spark-kafka-connector"
    if not folder.is_dir():
        items = "\n".join(ITEM.format(*coordinates, "jar", folder) for coordinates in CONNECTOR)
        mvn(COPY.format(items), "dependency:copy")
    return folder


def create(ask: raw.Conversation, topic: str) -> None:
    made = CreatableTopic(name=topic, num_partitions=PARTITIONS, replication_factor=1)
    ask(CreateTopicsRequest(topics=[made], timeout_ms=30_000), 5)
    time.sleep(2)


def packets_of(capture: Path) -> list[tuple[int, bytes, int]]:
    """Time in microseconds, bytes and partition of each packet: those of a connection are in one partition."""
    data = capture.read_bytes()
    if capture.suffix == ".gz":
        data = gzip.decompress(data)
    link, at, found = LINKS[struct.unpack_from("<I", data, 20)[0]], 24, []
    while at < len(data):
        seconds, micros, size = struct.unpack_from("<III", data, at)
        value = data[at + 16 : at + 16 + size]
        seen = packet(value, 0, size, size, link, 0.0, "", 0)
        flow = min(seen.key, reverse(seen.key)) if seen else b""
        found.append((seconds * 1_000_000 + micros, value, crc32(flow) % PARTITIONS))
        at += 16 + size
    return found


def an_hour_later(found: list[tuple[int, bytes, int]]) -> tuple[int, bytes, int]:
    """The beginning of another connection: then those are over that were still open, as at the end of a file."""
    return found[-1][0] + 3_600_000_000, frame(packets(Conversation([]))[0], ETHERNET), 0


def produce(ask: raw.Conversation, topic: str, found: Sequence[tuple[int, bytes | None, int]]) -> None:
    for number, batch in _batches(found):
        data = PartitionProduceData(index=number, records=batch)
        wanted = [TopicProduceData(name=topic, partition_data=[data])]
        answer = ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=wanted), 9)
        assert isinstance(answer, ProduceResponse)
        assert [part.error_code for one in answer.responses for part in one.partition_responses] == [0]


def _batches(found: Sequence[tuple[int, bytes | None, int]]) -> Iterator[tuple[int, bytes]]:
    """Batches of records for each partition."""
    now = time.time_ns() // 1_000_000
    for number in range(PARTITIONS):
        mine = [(micros, value) for micros, value, partition in found if partition == number]
        for at in range(0, len(mine), 500):
            some = mine[at : at + 500]
            yield number, encode_batch(
                [Record(timestamp=now, key=micros.to_bytes(8, "big"), value=value) for micros, value in some]
            )
