"""What test_newer_versions.py states, with Spark."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from kwire.command import main as run
from kwire.protocol import MessageRegistry
from tests.inspect.test_newer_versions import capture as capture
from tests.support.newer_kafka import NEWER, PACKAGE


@pytest.mark.long
def test_workers_of_spark_read_with_the_package(
    spark: SparkSession, newer: MessageRegistry, capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also tables of APIs, which other workers make; the package comes to them as a file of the application."""
    folder = Path(sys.modules[newer.package].__path__[0]).parent
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", folder, PACKAGE)
    spark.sparkContext.addPyFile(archive)
    out = tmp_path / "out"
    assert run(["tables", capture, "--out", str(out), "-q", "--protocol", PACKAGE, "--engine", "spark"]) == 0
    rows = parquet.read_table(out / "apis" / "Heartbeat").to_pylist()
    assert [(row["version"], row["request"]["reason"], row["response"]["error_code"]) for row in rows] == [
        (NEWER, "why not", 27)
    ]
    (tmp_path / "captures").mkdir()
    shutil.copy(capture, tmp_path / "captures")
    arguments = ["watch", str(tmp_path / "captures"), "--once", "--settled", "0", "-q", "--protocol", PACKAGE]
    assert run([*arguments, "--out", str(tmp_path / "watched")]) == 0
    watched = parquet.read_table(tmp_path / "watched" / "clients").to_pylist()
    assert {(row["api"], row["version"], row["errors"]) for row in watched} == {
        ("ApiVersions", 3, 0),
        ("Heartbeat", NEWER, 1),
    }
