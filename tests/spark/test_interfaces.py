"""What test_interfaces.py states, with Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kwire.command import main as run
from kwire_inspect.reasons import DROPPED
from tests.inspect.test_interfaces import LO, Install, capture_in
from tests.inspect.test_interfaces import install as install
from tests.support.capture_files import recorded


@pytest.mark.long
def test_watch_reads_packets_of_an_interface_and_removes_them(
    spark: SparkSession, install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = install(last=["Packets received/dropped on interface 'x': 14/3 (pcap:3/0) (80%)"])
    capture_in(folder, *recorded("kafka-python-as-of-0.10-on-3.9.1"))
    out = tmp_path / "out"
    arguments = ["--interface", LO, "--for", "8s", "--ports", "9092", "--target", "4.4.0", "--out", str(out)]
    assert run(["watch", *arguments]) == 0
    told = capsys.readouterr().err
    assert "dropped 3 packets while capturing" in told
    assert told.count("refused by 4.4.0 ") == 1
    problems = pq.read_table(out / "problems").to_pylist()
    assert sum(row["places"] for row in problems if row["problem"] == DROPPED) == 3
    page = (out / "readiness.html").read_text()
    assert f"packets on {LO}" in page
    assert DROPPED in page
    assert 'verdict="refused"} 1\n' in (out / "kwire.prom").read_text()
