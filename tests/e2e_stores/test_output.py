"""Tables written to S3 by Spark, and what is said before it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyarrow.fs import FileSelector

from kwire_inspect.schemas import CLIENTS
from tests.e2e_stores.maven import hadoop_version, jars
from tests.e2e_stores.s3_servers import client

S3A = ("org.apache.hadoop", "hadoop-aws", hadoop_version())
IN_SPARK = (
    ("org.apache.hadoop", "hadoop-client-api"),
    ("org.apache.hadoop", "hadoop-client-runtime"),
    ("org.slf4j", "*"),
)
"""What Spark has."""


def with_classes() -> dict[str, str]:
    """The environment that gives Spark the classes for S3."""
    found = ",".join(map(str, jars(S3A, without=IN_SPARK)))
    return {"PYSPARK_SUBMIT_ARGS": f"--jars {found} pyspark-shell"}


def kwire(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kwire", *arguments, "-q"]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=600)


@pytest.fixture
def bucket(gateway: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    client(gateway).create_dir("tables")
    monkeypatch.chdir(tmp_path)  # pages are written there
    return gateway


def keys(endpoint: str) -> set[str]:
    found = client(endpoint).get_file_info(FileSelector("tables", recursive=True))
    return {one.path for one in found if one.is_file}


def test_parquet_in_s3_is_that_of_this_machine_and_is_replaced(tmp_path: Path, given: Path, bucket: str) -> None:
    for _ in range(2):
        done = kwire("clients", str(given), "--out", "s3://tables/day 1", **with_classes())
        assert done.returncode == 0, done.stderr
    assert kwire("clients", str(given), "--out", str(tmp_path / "here")).returncode == 0
    assert len(keys(bucket)) == 2 * 3, "of clients and problems: the file, its marker and that of Spark"
    stored = parquet.read_table("tables/day 1/clients", filesystem=client(bucket))
    assert in_order(stored) == in_order(parquet.read_table(tmp_path / "here" / "clients")) != []


def in_order(table: pa.Table) -> list[str]:
    return sorted(map(str, table.select(CLIENTS.names).cast(CLIENTS).to_pylist()))


@pytest.mark.parametrize(
    ("out", "environment", "told"),
    [
        ("s3://nobody/a", {}, "there is no such bucket"),
        ("s3://tables/a", {"AWS_SECRET_ACCESS_KEY": "wrong"}, "access is denied"),
        ("s3://tables/a", {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "the store cannot be reached"),
    ],
)
def test_what_cannot_be_written_is_said_before_spark_starts(
    given: Path, bucket: str, out: str, environment: dict[str, str], told: str
) -> None:
    java = {"JAVA_HOME": "/none", "PYSPARK_SUBMIT_ARGS": "--jars any.jar pyspark-shell"}
    done = kwire("clients", str(given), "--out", out, **java, **environment)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2
    assert line.startswith(f"kwire: {out}: cannot write here: ")
    assert told in line
    assert not keys(bucket)
