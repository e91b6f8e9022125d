"""Two workers of Spark that read a capture and segments from S3, one of which is killed: the tables of the files."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from kwire_spark.columns import EXCHANGES, RECORDS
from kwire_spark.inputs import find
from kwire_spark.readers import read_batches
from tests.cluster.standalone import Cluster
from tests.cluster.test_cluster import TASKS, at_work, finished, kill_all, many_clients
from tests.e2e_stores.s3_servers import upload

JOB = Path(__file__).with_name("write_tables.py")


def test_a_worker_is_killed_while_it_reads(tmp_path: Path, given: Path, gateway: str) -> None:
    (tmp_path / "captures").mkdir()
    capture = many_clients(tmp_path / "captures" / "large.pcap")
    upload(gateway, tmp_path / "captures", "captures", "day")
    upload(gateway, given / "data", "captures", "data")
    with Cluster(tmp_path / "cluster") as cluster:
        job = cluster.submit(str(JOB), str(TASKS), str(tmp_path), "s3://captures/day", "s3://captures/data")
        executor = at_work(cluster.workers[0], job)
        assert not (tmp_path / "exchanges").exists()
        cluster.workers[0].kill()
        kill_all(executor)
        code, output = finished(job)
    assert code == 0, output
    assert "Lost executor" in output
    assert re.search(r"Starting task \d+\.1 in stage 0\.0", output), "a task was at work there, and began anew"
    for table, schema, path in (("exchanges", EXCHANGES, capture), ("records", RECORDS, given / "data")):
        expected = pa.Table.from_batches(read_batches(table, find([str(path)])))
        found = parquet.read_table(tmp_path / table)
        assert in_order(found, schema) == in_order(expected, schema) != [], table


def in_order(table: pa.Table, schema: pa.Schema) -> list[str]:
    """The rows without the names of inputs, which differ."""
    wanted = [field for field in schema if field.name != "source"]
    return sorted(map(str, table.select([one.name for one in wanted]).cast(pa.schema(wanted)).to_pylist()))
