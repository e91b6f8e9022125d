"""Tables as files: whole or not at all, and the same when a job runs again."""

from __future__ import annotations

import csv
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from kwire_inspect.reports.text import csv_cell
from kwire_inspect.schemas import CLIENTS
from kwire_inspect.stored import MARKER, UNKNOWN, Origin
from kwire_inspect.tables.clients import clients
from kwire_spark.writing import _Files, check_folder, exists, write, write_clients
from tests.support.report_rows import client
from tests.support.report_samples import ACTED_ON, INVISIBLE


@pytest.mark.slow
def test_writing_twice_is_writing_once(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.range(100)
    for _ in range(2):
        path = write(table, f"{tmp_path}/", "numbers", origin=Origin("2 captures", (("a", "empty"),)))
        assert path == f"{tmp_path}/numbers"
        assert spark.read.parquet(path).count() == 100
        assert Origin.read(Path(path)) == Origin("2 captures", (("a", "empty"),))
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


@pytest.mark.slow
def test_cells_of_a_table_in_csv_are_those_of_a_report(spark: SparkSession, tmp_path: Path) -> None:
    texts = [
        "=1+1",
        "\n=1+1",
        "\t\u2028\uff1d1",
        "a=1",
        "",
        None,
        *(f"{one}=1" for one in INVISIBLE[:-2]),
        *ACTED_ON,
        "1 \U0001f600 ö\u3042",
    ]
    table = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "n int, `client.id` string")
    path = write(table.coalesce(1), str(tmp_path), "texts", "CSV", quoteAll="true")
    lines = next(Path(path).glob("*.csv")).open(encoding="utf-8", newline="")
    rows = list(csv.reader(lines, doublequote=False, escapechar="\\"))  # as Spark writes it
    assert [text for _, text in rows] == [csv_cell(text or "") for text in texts]
    assert Origin.read(Path(path)) is not None, "replaced as a folder of files"


@pytest.mark.slow
def test_a_job_that_fails_leaves_the_old_table(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.range(3), str(tmp_path), "numbers")
    broken = spark.range(1000).selectExpr("assert_true(id < 900) AS id")
    with pytest.raises(Exception, match="is not true"):
        write(broken, str(tmp_path), "numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 3
    write(spark.range(5), str(tmp_path), "numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 5
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_only_the_user_can_read_a_table(spark: SparkSession, tmp_path: Path) -> None:
    table = Path(write(spark.range(3), str(tmp_path), "apis/numbers"))
    assert {path.stat().st_mode & 0o077 for path in (table.parent, table, *table.rglob("*"))} == {0}


@pytest.mark.slow
def test_a_date_is_that_of_utc_and_null_without_a_time(spark: SparkSession, tmp_path: Path) -> None:
    days = [datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)]
    times = [*days, datetime(1969, 12, 31, 23, tzinfo=UTC), None]
    table = spark.createDataFrame([(time,) for time in times], "time timestamp").coalesce(1)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        write(table, str(tmp_path), "times", by_date=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    folders = sorted(entry.name for entry in (tmp_path / "times").iterdir() if entry.is_dir())
    dates = ["1969-12-31", "2026-01-01", "2026-01-02", "__HIVE_DEFAULT_PARTITION__"]
    assert folders == [f"date={date}" for date in dates]


@pytest.mark.slow
def test_folders_are_by_the_columns_asked_for_and_by_date_within(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("Fetch", datetime(2026, 1, 1, tzinfo=UTC), 1), ("Produce", datetime(2026, 1, 2, tzinfo=UTC), 2)]
    table = spark.createDataFrame(rows, "api string, time timestamp, number int")
    path = Path(write(table, str(tmp_path), "calls", by_date=True, partition_by=["api"]))
    files = {file.parent.relative_to(path).as_posix() for file in path.rglob("*.parquet")}
    assert files == {"api=Fetch/date=2026-01-01", "api=Produce/date=2026-01-02"}
    assert {(row.api, row.number) for row in spark.read.parquet(str(path)).collect()} == {
        ("Fetch", 1),
        ("Produce", 2),
    }


@pytest.mark.slow
def test_large_rows_are_few_in_a_row_group(spark: SparkSession, tmp_path: Path) -> None:
    """The JVM has a whole row group in its heap: by default, it gathers 100 rows of any size before it looks."""
    values = spark.createDataFrame([(bytearray(os.urandom(4 << 20)),) for _ in range(8)], "value binary").coalesce(1)
    (file,) = Path(write(values, str(tmp_path), "large")).glob("*.parquet")
    assert parquet.ParquetFile(file).num_row_groups >= 2


@pytest.mark.slow
def test_clients_are_two_tables_of_a_file_each(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{name: row.get(name) for name in CLIENTS.names} for row in (client(), client(1))]
    table = spark.createDataFrame(pa.Table.from_pylist(rows, CLIENTS)).repartition(2)
    origin = Origin("a capture", (), "today")
    write_clients(clients(table, origin=origin), str(tmp_path), "json")
    for name, count in (("clients", 2), ("problems", 0)):
        assert Origin.read(tmp_path / name) == origin
        assert sum(len(file.read_text().splitlines()) for file in (tmp_path / name).glob("*.json")) == count
    assert len([*(tmp_path / "clients").glob("*.json")]) == 1


@pytest.mark.slow
def test_a_table_that_a_killed_job_moved_away_is_there_again(spark: SparkSession, tmp_path: Path) -> None:
    path = Path(write(spark.range(3), str(tmp_path), "numbers"))
    path.rename(tmp_path / "_numbers.replaced")
    assert exists(spark, str(path))
    assert [one.name for one in tmp_path.iterdir()] == ["numbers"]
    assert not exists(spark, f"{path}2")


@pytest.mark.slow
def test_a_rename_that_hadoop_refuses_fails_the_job(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some of its file systems say so only by returning false."""

    def refusing(self: Any, *given: Any) -> None:
        opened(self, *given)
        self._system.rename = lambda old, new: False

    write(spark.range(3), str(tmp_path), "numbers")
    opened = _Files.__init__
    monkeypatch.setattr(_Files, "__init__", refusing)
    for name in ("numbers", "others"):
        with pytest.raises(OSError, match="cannot rename"):
            write(spark.range(5), str(tmp_path), name)
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 3


def test_a_folder_that_was_tried_is_empty_again(spark: SparkSession, tmp_path: Path) -> None:
    check_folder(spark, f"{tmp_path}/")
    assert not [*tmp_path.glob("*kwire*")]


@pytest.mark.slow
def test_any_format_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = write(spark.range(2), str(tmp_path), "numbers", "CSV", header="true")
    assert spark.read.csv(path, header=True).count() == 2
    assert Path(path, MARKER).read_bytes() == UNKNOWN.marker()
