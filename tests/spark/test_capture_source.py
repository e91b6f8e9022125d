"""What test_capture_source.py states, with Spark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from kwire_inspect.schemas import FRAMES
from kwire_spark.sources.capture import KafkaCapture
from kwire_spark.types import spark_schema
from tests.inspect.test_capture_source import capture as capture
from tests.inspect.test_capture_source import rows
from tests.support.capture_files import (
    EPOCH,
)


def read(spark: SparkSession, path: Any, **options: str) -> DataFrame:
    return spark.read.format("kafka_capture").options(**options).load(str(path))


@pytest.mark.long
def test_in_spark(spark: SparkSession, capture: Path) -> None:
    spark.dataSource.register(KafkaCapture)
    frames = read(spark, capture, partitions="2")
    assert frames.schema == spark_schema(FRAMES)
    expected = rows(capture)
    counted = {row["api"]: row["count"] for row in frames.groupBy("api").count().collect()}
    assert counted == Counter(row["api"] for row in expected)

    spoken = spark.read.format("kafka_capture").schema("api string, principal string").option("rows", "exchanges")
    of_admin = spoken.load(str(capture)).where("principal = 'User:admin'")
    assert {row.api for row in of_admin.collect()} >= {"Metadata", "Produce", "Fetch"}

    some = frames.where(f"time > timestamp_seconds({EPOCH}) and api in ('Fetch', 'Produce') and kind = 'request'")
    assert some.count() == sum(row["kind"] == "request" and row["api"] in ("Fetch", "Produce") for row in expected)
    assert frames.count() == len(expected), "Spark would keep filters that were pushed with the DataFrame"
    pushed = read(spark, capture, pushdown="true").where("kind = 'request' and api in ('Fetch', 'Produce')")
    assert pushed.count() == sum(row["kind"] == "request" and row["api"] in ("Fetch", "Produce") for row in expected)


@pytest.mark.slow
def test_errors_in_spark_say_what_is_wrong(spark: SparkSession, capture: Path, tmp_path: Path) -> None:
    spark.dataSource.register(KafkaCapture)
    with pytest.raises(AnalysisException, match="the option rows must be one of frames, exchanges"):
        read(spark, capture, rows="records")
    (tmp_path / "text.pcap").write_text("this is no capture")
    (row,) = read(spark, tmp_path).collect()
    assert row["problem"]
    with pytest.raises(PySparkException, match=r"text\.pcap, byte 0"):
        read(spark, tmp_path, mode="failfast").collect()
