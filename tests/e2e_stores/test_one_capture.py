"""One capture as a file, in S3 by two workers of Spark of which one is killed, in HDFS, from standard input and in a
topic of a real broker: the same ``clients`` and ``exchanges``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from kwire_inspect.inputs import find
from kwire_inspect.readers import read_batches
from kwire_inspect.schemas import CLIENTS, EXCHANGES, RECORDS
from tests.cluster.jobs import JOB, TASKS, lose_a_worker, many_clients
from tests.cluster.standalone import Cluster
from tests.e2e_live.packet_topic import an_hour_later, connector, create, packets_of, produce
from tests.e2e_stores import hadoop, s3_servers
from tests.e2e_stores.hadoop import Hdfs
from tests.e2e_traffic import raw
from tests.e2e_traffic.clients.steps import Task
from tests.real_kafka.broker import Broker
from tests.real_kafka.releases import NEWEST

READ_TOPIC = Path(__file__).with_name("read_topic.py")
TABLES = {"clients": CLIENTS, "exchanges": EXCHANGES}
IN_FILES = {"source", "position"}
"""Columns that name a place in a file; a topic has its partition and the record's offset there."""
IN_BATCHES = {"connections"}
"""A stream counts a connection once in each batch in which it is active: the last one closes those that are open."""


def test_five_ways_give_the_same_tables(tmp_path: Path, given: Path, gateway: str, hdfs: Hdfs) -> None:
    day = tmp_path / "day"
    day.mkdir()
    capture = many_clients(day / "large.pcap")
    s3_servers.upload(gateway, day, "captures", "day")
    s3_servers.upload(gateway, given / "data", "captures", "data")
    with Cluster(tmp_path / "cluster") as cluster:
        job = cluster.submit(str(JOB), str(TASKS), str(tmp_path / "S3"), "s3://captures/day", "s3://captures/data")
        lose_a_worker(cluster, job, tmp_path / "S3" / "exchanges")
    hadoop.upload(hdfs, day, "/day")
    by_topic(capture, tmp_path)
    for kind, name in {"file": str(capture), "HDFS": f"{hdfs.name_node}/day", "standard input": "-"}.items():
        with capture.open("rb") as file:
            chosen = ["--engine", "local", "--out", str(tmp_path / kind), "-q"]
            subprocess.run(
                [sys.executable, "-m", "kwire", "tables", name, *chosen],
                stdin=file,
                env=os.environ | hadoop.client_environment(),
                check=True,
            )
    for table, schema in TABLES.items():
        expected = parquet.read_table(tmp_path / "file" / table)
        assert expected.num_rows > 5000
        for kind in ("S3", "HDFS", "standard input", "topic"):
            left_out = {"source"} if kind != "topic" else IN_FILES | IN_BATCHES
            found = parquet.read_table(tmp_path / kind / table)
            assert in_order(found, schema, left_out) == in_order(expected, schema, left_out), (table, kind)
    records = pa.Table.from_batches(read_batches("records", find([str(given / "data")])))
    found = parquet.read_table(tmp_path / "S3" / "records")
    assert in_order(found, RECORDS, {"source"}) == in_order(records, RECORDS, {"source"}) != []


def by_topic(capture: Path, folder: Path) -> None:
    """Write the tables of the packets in a topic to the folder ``topic``."""
    jars = ",".join(str(jar) for jar in sorted(connector().glob("*.jar")))
    (folder / "broker").mkdir()
    with Broker(NEWEST, folder / "broker") as broker:
        with raw.Conversation(Task(broker.bootstrap, "producer", "packets"), []) as ask:
            create(ask, "packets")
            found = packets_of(capture)
            produce(ask, "packets", [*found, an_hour_later(found)])
        arguments = [str(READ_TOPIC), broker.bootstrap, "packets", jars, str(folder / "topic")]
        subprocess.run([sys.executable, *arguments], check=True)


def in_order(table: pa.Table, schema: pa.Schema, left_out: set[str]) -> list[str]:
    wanted = [field for field in schema if field.name not in left_out]
    return sorted(map(str, table.select([one.name for one in wanted]).cast(pa.schema(wanted)).to_pylist()))
