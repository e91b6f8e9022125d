"""Records of a topic that are no packets are named, and watch says what it needs for a topic."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kwire_spark.command import run
from kwire_spark.streaming import topic
from kwire_spark.unread import NO_PACKET
from tests.pipeline.capture_files import ETHERNET, packets, recorded, write_pcap
from tests.pipeline.capture_files import frame as link_frame


def rows(values: list[bytes | None], first: int = 0) -> list[dict[str, Any]]:
    records = [("packets", 0, first + number, 7_000_000, None, value) for number, value in enumerate(values)]
    columns = [pa.array(column) for column in zip(*records, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, ["topic", "partition", "offset", "micros", "key", "value"])
    return [row for made in topic.packet_rows(ETHERNET, [batch]) for row in made.to_pylist()]


def test_records_that_are_no_packets_are_counted_and_named_and_the_others_read(tmp_path: Path) -> None:
    sent = [link_frame(packet, ETHERNET) for packet in packets(recorded("kafka-python-on-3.9.1")[0])]
    capture = write_pcap(tmp_path / "a.pcap", []).read_bytes()
    noise = [b"", None, b'{"a": 1}', "grüße, länger als ein Kopf von Ethernet".encode(), capture]
    found = rows([*noise, *sent])
    read = [row for row in found if not row["_corrupt"]]
    assert len(read) == len(sent)
    told = {row["_corrupt"]: (row["packets"], row["position"], row["unread"]) for row in found if row["_corrupt"]}
    assert told == {
        f"{NO_PACKET}: empty": (2, 0, None),
        f"{NO_PACKET}: text": (2, 2, None),
        f"{NO_PACKET}: a capture file": (1, 4, None),
    }


def test_no_packet_is_taken_for_text() -> None:
    """Its flags are a control character, whatever else it has."""
    for conversation in recorded("kafka-python-on-3.9.1"):
        for packet in packets(conversation):
            assert not topic._other(link_frame(packet, ETHERNET))


def test_random_bytes_are_counted_by_what_they_may_be() -> None:
    chance = random.Random(1)
    found = rows([chance.randbytes(100) for _ in range(200)])
    assert sum(row["packets"] for row in found if row["_corrupt"]) > 150
    assert all(row["_corrupt"] or row["data"] is not None for row in found)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--topic needs --bootstrap-server"),
        (["--bootstrap-server", "a:1", "--link-type", "77"], "--link-type 77 is unknown"),
        (["--bootstrap-server", "a:1", "--topic-config", "missing"], "--topic-config missing: "),
        (["--bootstrap-server", "a:1", "--connector", "."], "there is no jar in this folder"),
        (["--bootstrap-server", "a:1"], "name a folder with its jars by --connector"),
    ],
)
def test_wrong_usage(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["watch", "--topic", "packets", *arguments]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "micros", "time"),
    [
        (None, 1_700_000_000_000_000, 1_700_000_000_000_000),
        ((1_700_000_000_123_456).to_bytes(8, "big"), 7, 1_700_000_000_123_456),
        ((1_700_000_000_123_456).to_bytes(8, "big") + b"more", 7, 1_700_000_000_123_456),
        (b"short", 7, 7),
        (b"a name of a host", 7, 7),
        (b"a name of a host", -1, None),
        (None, None, None),
    ],
)
def test_times_are_microseconds(key: bytes | None, micros: int | None, time: int | None) -> None:
    assert topic._time(key or b"", micros) == time
