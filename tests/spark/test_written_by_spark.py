"""What the engine of Spark writes and reads back: rows, files, origins; and tables that answer SQL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kwire_inspect.command.engines import Written
from kwire_inspect.schemas import CLIENTS, PROBLEMS, TIME
from kwire_inspect.stored import Origin
from kwire_inspect.tables.relations import backend, collect, kept, like, map_batches, query, query_groups, to_arrow
from kwire_spark import typed as typing
from kwire_spark.engine import SparkEngine
from kwire_spark.streams.keeping import add_batch
from tests.support.report_rows import client, in_spark

ORIGIN = Origin("2 captures", (("a.txt", "empty file"),), "monday")
NUMBERS = pa.schema([("time", TIME), ("number", pa.int64()), ("text", pa.string())])
DAYS = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 2)]
ROWS = [{"time": day, "number": number, "text": f"{number}"} for number, day in enumerate(DAYS)]


def engine_of(spark: SparkSession, table_format: str = "parquet") -> SparkEngine:
    made = SparkEngine(None, table_format, "out", brief=True)
    made.__dict__["session"] = spark
    return made


def folders(written: Written) -> Counter[str]:
    """The folders with files of a table, and the number of the files."""
    path = Path(written.path)
    files = (file for file in path.rglob("*") if file.name.startswith("part-"))
    return Counter(file.parent.relative_to(path).as_posix() for file in files)


def rows_of(written: Written) -> list[dict[str, Any]]:
    return sorted(collect("SELECT * FROM {t}", t=written.table), key=lambda row: row["number"])


@pytest.mark.slow
@pytest.mark.parametrize("by_date", [False, True])
def test_a_table_is_written_and_read_back(spark: SparkSession, tmp_path: Path, by_date: bool) -> None:
    """By date in a file for each, else in one; without rows it has its columns."""
    engine = engine_of(spark)
    table = in_spark(spark, NUMBERS, *ROWS).repartition(2)
    days: list[dict[str, Any]] = [{"date": date(2026, 1, day)} if by_date else {} for day in (1, 2, 2)]
    for _ in range(2):  # the second replaces the first
        written = engine.write(table, NUMBERS, str(tmp_path), "numbers", origin=ORIGIN, by_date=by_date)
    assert (written.name, written.path, written.count()) == ("numbers", f"{tmp_path}/numbers", 3)
    assert rows_of(written) == [row | day for row, day in zip(ROWS, days, strict=True)]
    found = folders(written)
    assert {*found} == ({"date=2026-01-01", "date=2026-01-02"} if by_date else {"."})
    assert by_date or found["."] == 1
    assert Origin.read(tmp_path / "numbers") == ORIGIN
    none = engine.write(table.where("false"), NUMBERS, str(tmp_path), "none", origin=ORIGIN, by_date=by_date)
    assert (none.count(), rows_of(none), {*folders(none)}) == (0, [], {"."})
    assert none.table.columns == [*NUMBERS.names, *["date"] * by_date]
    assert Origin.read(tmp_path / "none") == ORIGIN


@pytest.mark.slow
def test_a_table_of_another_format_is_read_back_in_it(spark: SparkSession, tmp_path: Path) -> None:
    engine = engine_of(spark, "json")
    written = engine.write(in_spark(spark, NUMBERS, *ROWS), NUMBERS, str(tmp_path), "numbers", origin=ORIGIN)
    assert [(row["number"], row["text"]) for row in rows_of(written)] == [(0, "0"), (1, "1"), (2, "2")]
    assert [file.suffix for file in (tmp_path / "numbers").glob("part-*")] == [".json"]
    assert Origin.read(tmp_path / "numbers") == ORIGIN


@pytest.mark.slow
def test_typed_tables_are_those_with_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorted by name, each with its own rows, in the format of the engine."""
    made = {
        f"apis/{name}": SimpleNamespace(structs=SimpleNamespace(where=where))
        for name, where in {"two": "number > 0", "none": "number > 9", "one": "number = 0"}.items()
    }
    monkeypatch.setattr(typing, "typed", lambda table, one: table.where(one.structs.where).select("number"))
    kinds: Any = made
    table = in_spark(spark, NUMBERS, *ROWS).coalesce(1)
    written = engine_of(spark, "json").write_typed(table, str(tmp_path), kinds, origin=ORIGIN)
    assert [(one.name, one.path, one.count(), rows_of(one)) for one in written] == [
        ("apis/one", f"{tmp_path}/apis/one", 1, [{"number": 0}]),
        ("apis/two", f"{tmp_path}/apis/two", 2, [{"number": 1}, {"number": 2}]),
    ]
    assert [Origin.read(Path(one.path)) for one in written] == [ORIGIN, ORIGIN]
    assert sorted(path.name for path in (tmp_path / "apis").iterdir()) == ["one", "two"]
    assert {file.suffix for file in tmp_path.rglob("part-*")} == {".json"}


def batches_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of each call in one row: how many, their columns and their numbers in order."""
    whole = [*batches]
    rows = [row for batch in whole for row in batch.to_pylist()]
    if rows:
        texts = {row["text"] for row in rows}
        told = {"number": len(rows), "text": f"{[*rows[0]]} {sorted(texts)} {[row['number'] for row in rows]}"}
        yield pa.RecordBatch.from_pylist([told], TOLD)


TAKES = pa.schema([NUMBERS.field("number"), NUMBERS.field("text")])
TOLD = TAKES


@pytest.mark.slow
def test_tables_of_spark_answer_sql(spark: SparkSession) -> None:
    table, other = in_spark(spark, NUMBERS, *ROWS), in_spark(spark, NUMBERS, *ROWS[:1])
    assert collect("SELECT time, number FROM {t} ORDER BY number DESC LIMIT 1", t=table) == [
        {"time": DAYS[2], "number": 2}
    ]
    assert collect("SELECT time FROM {t} LIMIT 1", t=table)[0]["time"].utcoffset().total_seconds() == 0
    joined = query("SELECT a.number FROM {a} a JOIN {b} b ON a.number = b.number", a=table, b=other)
    assert [row.number for row in joined.collect()] == [0]
    grouped = query_groups("SELECT time, count(*) AS c FROM {t} WHERE {part} GROUP BY time", ["time"], t=table)
    assert sorted(row.c for row in grouped.collect()) == [1, 2]
    few = pa.schema([("text", pa.large_string()), ("number", pa.int16())])
    found = to_arrow(table, few)
    assert (found.schema, sorted(found.column("number").to_pylist())) == (few, [0, 1, 2])
    assert like(table, NUMBERS, ROWS[1:]).count() == 2
    assert backend(table).__class__.__name__ == "SparkBackend"


@pytest.mark.slow
def test_batches_of_spark_are_the_rows_and_columns_that_are_asked_for(spark: SparkSession) -> None:
    """Rows of a group are in one call, in their order."""
    rows = [{"time": DAYS[0], "number": n, "text": "ab"[n % 2]} for n in (3, 1, 0, 2, 5, 4)]
    table = in_spark(spark, NUMBERS, *rows).repartition(3)
    (one,) = map_batches(table.coalesce(1), TAKES, batches_of, TOLD, where="number < 3").collect()
    assert (one.number, one.text[:28]) == (3, "['number', 'text'] ['a', 'b'")
    (everything,) = map_batches(table.coalesce(1), TAKES, batches_of, TOLD).collect()
    assert everything.number == 6
    for order, first in (
        (["number"], "[0, 2, 4]"),
        (["-number"], "[4, 2, 0]"),
        (["number % 4", "-number"], "[4, 0, 2]"),
    ):
        made = map_batches(table, TAKES, grouped_batches, TOLD, by="text", order=order).collect()
        told = {row.text.partition(" ")[0]: row.text.partition(" ")[2] for row in made}
        assert told["a"] == first
        assert {*told} == {"a", "b"}


def grouped_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each run of rows with the same text."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    seen: list[tuple[str, list[int]]] = []
    for row in rows:
        if not seen or seen[-1][0] != row["text"]:
            seen.append((row["text"], []))
        seen[-1][1].append(row["number"])
    told = [{"number": len(numbers), "text": f"{text} {numbers}"} for text, numbers in seen]
    yield pa.RecordBatch.from_pylist(told, TOLD)


@pytest.mark.slow
def test_a_table_is_kept_for_a_block_unless_its_owner_keeps_it(spark: SparkSession) -> None:
    table, owned = spark.range(3), spark.range(4).persist()
    with kept(table) as same:
        assert (same.is_cached, same.count()) == (True, 3)
    assert not table.is_cached
    for one, after in ((table, False), (owned, True)):
        with pytest.raises(KeyError), kept(one):
            raise KeyError
        assert one.is_cached is after
    owned.unpersist()


UNREAD = {"problem": "x", "places": 1, "connections": 1, "unread": 5, "source": "a.pcap", "position": 7}


@pytest.mark.slow
def test_a_stream_adds_each_batch_once_and_only_what_it_has(spark: SparkSession, tmp_path: Path) -> None:
    """An older batch is not added either. A batch without problems leaves their table alone."""
    batch = in_spark(spark, CLIENTS, client(requests=5, position=3))
    told: list[Any] = []
    for number in (0, 0, 3, 2, 4):
        rows = batch if number < 4 else batch.where("false")
        add_batch(str(tmp_path), "parquet", rows, number, "captures of a stream")
        (row,) = spark.read.parquet(f"{tmp_path}/clients").collect()
        told.append((number, row.requests, row.batch))
        assert len([*(tmp_path / "clients").glob("part-*")]) == 1
    assert told == [(0, 5, 0), (0, 5, 0), (3, 10, 3), (2, 10, 3), (4, 10, 3)]
    problems = spark.read.parquet(f"{tmp_path}/problems")
    assert (problems.count(), problems.columns) == (0, [*PROBLEMS.names, "batch"])
    assert [Origin.read(tmp_path / name) for name in ("clients", "problems")] == [Origin("captures of a stream")] * 2
    with pytest.raises(ValueError, match=r"other/problems: the table of this stream is missing\. Delete"):
        add_batch(f"{tmp_path}/other", "parquet", batch, 1)
