"""Tables as files: whole or not at all, and the same when a job runs again."""

from __future__ import annotations

import csv
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kwire_spark.options import OptionError
from kwire_spark.tables import write as writing
from kwire_spark.tables.write import exists, write


class Killed(BaseException):
    """As if the process ended here."""


def test_writing_twice_is_writing_once(spark: SparkSession, tmp_path: Path) -> None:
    table = spark.range(100)
    for _ in range(2):
        path = write(table, str(tmp_path), "numbers")
        assert path == f"{tmp_path}/numbers"
        assert spark.read.parquet(path).count() == 100
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


def test_no_cell_of_a_table_in_csv_is_a_formula(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["=1+1", "\n=1+1", "\t\u2028\uff1d1", "a=1", "", None]
    table = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "n int, `client.id` string")
    path = write(table.coalesce(1), str(tmp_path), "texts", "csv", quoteAll="true")
    rows = list(csv.reader(next(Path(path).glob("*.csv")).open(encoding="utf-8", newline="")))
    assert [text for _, text in rows] == ["'=1+1", "'\n=1+1", "'\t\u2028\uff1d1", "a=1", "", ""]


def test_a_job_that_fails_leaves_the_old_table(spark: SparkSession, tmp_path: Path) -> None:
    write(spark.range(3), str(tmp_path), "numbers")
    broken = spark.range(1000).selectExpr("assert_true(id < 900) AS id")
    with pytest.raises(Exception, match="is not true"):
        write(broken, str(tmp_path), "numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 3
    write(spark.range(5), str(tmp_path), "numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 5
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


@pytest.mark.parametrize("step", range(0, 30, 2))
def test_a_kill_between_any_two_steps_is_put_right_by_the_next_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    write(spark.range(3), str(tmp_path), "numbers")
    steps = 0

    def dying(real: Any) -> Any:
        def call(*given: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > step:
                raise Killed
            return real(*given)

        return call

    with monkeypatch.context() as patched:
        for name in ("create", "delete", "exists", "rename", "_children"):
            patched.setattr(writing._Files, name, dying(getattr(writing._Files, name)))
        with suppress(Killed):
            write(spark.range(4), str(tmp_path), "numbers")
    left = {name for name in ("numbers", "_numbers.replaced", "_numbers.writing") if (tmp_path / name).exists()}
    assert left & {"numbers", "_numbers.replaced"}  # a whole table at any time
    assert exists(spark, f"{tmp_path}/numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() in (3, 4)
    write(spark.range(4), str(tmp_path), "numbers")
    assert spark.read.parquet(f"{tmp_path}/numbers").count() == 4
    assert [entry.name for entry in tmp_path.iterdir()] == ["numbers"]


@pytest.mark.parametrize("taken", ["numbers", "_numbers.writing", "_numbers.replaced"])
def test_a_folder_of_the_user_is_not_replaced(spark: SparkSession, tmp_path: Path, taken: str) -> None:
    mine = tmp_path / taken / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("mine")
    for _ in range(2):
        with pytest.raises(OptionError, match=f"{taken} was not written by kwire_spark: move it"):
            write(spark.range(3), str(tmp_path), "numbers")
    assert mine.read_text() == "mine"


@pytest.mark.parametrize("link", ["apis", "apis/Fetch"])
def test_no_link_leads_out_of_the_folder(spark: SparkSession, tmp_path: Path, link: str) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    write(spark.range(3), str(outside), "Fetch")
    (out / link).parent.mkdir(parents=True)
    (out / link).symlink_to(outside if link == "apis" else outside / "Fetch")
    before = sorted(outside.rglob("*"))
    with pytest.raises(OptionError, match=f"{link} is a symbolic link: remove it"):
        write(spark.range(4), str(out), "apis/Fetch")
    assert sorted(outside.rglob("*")) == before


def test_a_deletion_that_was_interrupted_is_completed(spark: SparkSession, tmp_path: Path) -> None:
    """Its marker goes last, and then the folder is empty."""
    for left in ("_numbers.writing", "_numbers.replaced"):
        path = Path(write(spark.range(3), str(tmp_path), "numbers"))
        (tmp_path / left).mkdir()
        (tmp_path / left / "_kwire").touch()
        (tmp_path / left / "part").touch()
        write(spark.range(3), str(tmp_path), "numbers")
        (tmp_path / left).mkdir()
        write(spark.range(3), str(tmp_path), "numbers")
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_only_the_user_can_read_a_table(spark: SparkSession, tmp_path: Path) -> None:
    table = Path(write(spark.range(3), str(tmp_path), "apis/numbers"))
    assert {path.stat().st_mode & 0o077 for path in (table.parent, table, *table.rglob("*"))} == {0}


def test_a_date_is_that_of_utc_and_null_without_a_time(spark: SparkSession, tmp_path: Path) -> None:
    times = [datetime(2026, 1, 1, 23, 59, 59, tzinfo=UTC), datetime(2026, 1, 2, 0, 0, tzinfo=UTC), None]
    table = spark.createDataFrame([(time,) for time in times], "time timestamp").coalesce(1)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        write(table, str(tmp_path), "times", by_date=True)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    folders = sorted(entry.name for entry in (tmp_path / "times").iterdir() if entry.is_dir())
    assert folders == ["date=2026-01-01", "date=2026-01-02", "date=__HIVE_DEFAULT_PARTITION__"]


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


def test_any_format_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = write(spark.range(2), str(tmp_path), "numbers", "csv", header="true")
    assert spark.read.csv(path, header=True).count() == 2
