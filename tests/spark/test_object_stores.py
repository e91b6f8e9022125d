"""What test_object_stores.py states, with Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from tests.inspect.test_object_stores import CAPTURE, LOG
from tests.inspect.test_object_stores import store as store
from tests.support.s3_server import Store


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.long
def test_workers_of_spark_open_objects_themselves(tmp_path: Path, store: Store) -> None:
    """In a process of its own: workers have the environment in which Spark was started."""
    store.put("bucket/a.pcap", CAPTURE)
    store.put("bucket/a.log", LOG)
    for engine in ("local", "spark"):
        options = ["--engine", engine, "--out", str(tmp_path / engine), "-q"]
        ran = subprocess.run([sys.executable, "-m", "kwire", "clients", "s3://bucket/", *options], check=True)
        assert ran.returncode == 0
    local, of_spark = (
        sorted(map(str, parquet.read_table(tmp_path / engine / "clients-list.parquet").to_pylist()))
        for engine in ("local", "spark")
    )
    assert local == of_spark != []
