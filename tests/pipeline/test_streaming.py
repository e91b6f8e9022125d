"""Streams of packets come to what the same packets in one capture come to, wherever batches begin and end."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from kwire_spark.capture import read_pieces
from kwire_spark.capture.files import file_packets
from kwire_spark.capture.packets import Packet
from kwire_spark.columns import CLIENTS
from kwire_spark.frames import frame_batches
from kwire_spark.frames.wanted import Wanted
from kwire_spark.spark_types import spark_schema
from kwire_spark.streaming import follow, keep_clients, packets_in
from kwire_spark.streaming.connections import Ends
from kwire_spark.tables.clients import clients
from tests.pipeline.capture_files import frame as link_frame
from tests.pipeline.capture_files import merged, packets, recorded, write_pcap

RECORDING = "kafka-python-on-3.9.1"
ETHERNET = 1


def capture_of(path: Path, part: int = 0, parts: int = 1) -> Path:
    """A part of the recording's packets, as they follow each other."""
    found = merged(packets(one) for one in recorded(RECORDING))
    size = -(-len(found) // parts)
    write_pcap(path, found[part * size : (part + 1) * size])
    return path


def in_one_go(path: Path) -> list[dict[str, Any]]:
    batches = list(frame_batches(read_pieces([str(path)])))
    rows: list[dict[str, Any]] = pa.Table.from_batches(batches).to_pylist()
    return rows


@given(st.sets(st.integers(0, 2000)))
@settings(deadline=None, max_examples=15)
def test_the_state_of_a_connection_can_be_stored_between_any_two_packets(
    tmp_path_factory: pytest.TempPathFactory, stops: set[int]
) -> None:
    path = capture_of(tmp_path_factory.mktemp("captures") / "all.pcap")
    expected = {tuple(row.values())[2:10] for row in in_one_go(path)}
    wanted, ends, rows = Wanted("frames"), dict[bytes, Ends](), []
    for number, packet in enumerate(file_packets(str(path))):
        assert isinstance(packet, Packet)
        flow = min(packet.key, packet.key[4:8] + packet.key[:4] + packet.key[10:] + packet.key[8:10])
        here = ends.setdefault(flow, Ends(flow, ()))
        if number in stops:
            here = ends[flow] = pickle.loads(pickle.dumps(here))
        rows += here.add(packet, wanted)
    rows += [row for one in ends.values() for row in one.close()]
    assert {row[2:10] for row in rows} == {as_micros(row) for row in expected}


def as_micros(row: tuple[Any, ...]) -> tuple[Any, ...]:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return tuple(
        round((value - epoch).total_seconds() * 1e6) if isinstance(value, datetime) else value for value in row
    )


def test_files_that_arrive_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    folder, out = tmp_path / "captures", tmp_path / "tables"
    folder.mkdir()

    def run() -> None:
        """Until all files there are have been taken, one by one; another time it goes on from there."""
        source = spark.readStream.format("kafka_packets").options(settled=0, filesAtOnce=1)
        rows = follow(source.load(str(folder)), rows="exchanges")
        keep_clients(rows, str(out)).trigger(availableNow=True).start().awaitTermination()

    capture_of(folder / "0.pcap", 0, 3)
    run()
    capture_of(folder / "1.pcap", 1, 3)
    capture_of(folder / "2.pcap", 2, 3)
    run()
    kept = spark.read.parquet(str(out / "clients"))
    whole = spark.read.format("kafka_capture").option("rows", "exchanges").load(str(folder))
    assert comparable(kept) == comparable(clients(whole))
    run()
    assert comparable(spark.read.parquet(str(out / "clients"))) == comparable(clients(whole)), "files are taken once"


def test_what_is_broken_is_told_and_the_rest_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "none.pcap").write_bytes(b"no capture")
    path = capture_of(folder / "some.pcap")
    path.write_bytes(path.read_bytes()[:-5])
    source = spark.readStream.format("kafka_packets").options(settled=0).load(str(folder))
    query = follow(source).writeStream.format("memory").queryName("broken").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    rows = spark.table("broken").collect()
    assert {Path(row.source).name: row._corrupt.split(":")[0] for row in rows if row._corrupt} == {
        "none.pcap": "not a capture",
        "some.pcap": "cut off",
    }
    assert sum(row.kind == "response" for row in rows) > 100


def test_packets_out_of_a_topic(spark: SparkSession, tmp_path: Path) -> None:
    """With columns as Spark's ``kafka`` source has them, and the time in the key."""
    found = merged(packets(one) for one in recorded(RECORDING))
    times = [round(packet.time * 1e6).to_bytes(8, "big") for packet in found]
    values = [link_frame(packet, ETHERNET) for packet in found]
    records = pa.table(
        {
            "topic": pa.array(["packets"] * len(found)),
            "partition": pa.array([0] * len(found), pa.int32()),
            "offset": pa.array(range(len(found)), pa.int64()),
            "timestamp": pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * len(found), pa.timestamp("us", tz="UTC")),
            "key": pa.array(times),
            "value": pa.array(values),
        }
    )
    (tmp_path / "topic").mkdir()
    pq.write_table(records, tmp_path / "topic/0.parquet")
    stream = spark.readStream.schema(spark_schema(records.schema)).parquet(str(tmp_path / "topic"))
    query = follow(packets_in(stream)).writeStream.format("memory").queryName("topic").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    rows = [tuple(row)[2:] for row in spark.table("topic").collect()]
    path = capture_of(tmp_path / "all.pcap")
    whole = spark.read.format("kafka_capture").load(str(path)).collect()
    assert sorted(rows, key=repr) == sorted([tuple(row)[2:] for row in whole], key=repr)
    assert {row.source for row in spark.table("topic").collect()} == {"packets-0"}


def test_a_table_without_its_checkpoint_is_not_counted_into(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "clients").mkdir()
    source = spark.readStream.format("kafka_packets").load(str(tmp_path))
    with pytest.raises(ValueError, match="not the checkpoint"):
        keep_clients(follow(source, rows="exchanges"), str(tmp_path))


def comparable(table: DataFrame) -> list[str]:
    """All but on how many connections: a stream counts these anew in each batch."""
    return sorted(repr(row) for row in table.select(*CLIENTS.names).drop("connections").collect())
