"""Spark and this process alone: the same tables and reports of the whole sample, and which of them is chosen."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from pyspark.sql import SparkSession

from kwire.command import main as run
from kwire_inspect.command.engines import WORTH, Engine, LocalEngine, engine_for, processes_for
from kwire_inspect.inputs import Inputs
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers import Reader, read_dealt
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, clients
from kwire_inspect.tables.relations import collect, kept, query
from kwire_spark import reading
from kwire_spark.engine import SparkEngine
from kwire_spark.reading import read_counted, read_exchanges
from tests.support.effort import one_in
from tests.support.small_sample import left_behind

DATA = Path(__file__).parents[1] / "data"
LOG = DATA / "request_logs" / "3.9.1.log.gz"
SMALL = "a little of each"
SAMPLES = (SMALL, "traffic/3.9.1", "traffic/4.0.0", "traffic/4.1.1", "request_logs", "server_logs", "logs")
COMMANDS = ("clients", "readiness", "census", "latency", "offsets", "tables")
OPTIONS = {"readiness": ["--target", "4.1.1"]}


def comparable(cell: Any) -> Any:
    """Without the last digits of means, since engines add up in different orders, and without the zone of times,
    which Spark does not write."""
    if isinstance(cell, datetime):
        return cell.replace(tzinfo=None).isoformat(timespec="microseconds")
    if isinstance(cell, list):
        return [*map(comparable, cell)]
    if isinstance(cell, dict):
        return {name: comparable(value) for name, value in cell.items()}
    return f"{cell:.10g}" if isinstance(cell, float) else cell


def tables(folder: Path) -> dict[str, list[str]]:
    """The rows of all tables below a folder: those of reports in their order, others in any."""
    found: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        name = "/".join(part for part in file.parent.relative_to(folder).parts if "=" not in part) or file.name
        rows = parquet.ParquetFile(file).read().to_pylist()
        found.setdefault(name, []).extend(str(comparable(row)).replace(str(folder), "OUT") for row in rows)
    return {name: rows if name.endswith(".parquet") else sorted(rows) for name, rows in found.items()}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("sample", one_in(len(SAMPLES), SAMPLES))
@pytest.mark.long
def test_engines_agree(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], sample: str, command: str
) -> None:
    given, told = DATA / sample, {}
    if sample == SMALL:
        given = tmp_path / "given"
        given.mkdir()
        left_behind(given)
    for engine in ("local", "spark"):
        out = str(tmp_path / engine)
        code = run([command, str(given), *OPTIONS.get(command, []), "--engine", engine, "--out", out, "-q"])
        told[engine] = code, [" ".join(text.replace(out, "OUT").split()) for text in capsys.readouterr()]
    assert str(told["local"]).replace("Engine: local.", "Engine: Spark.") == str(told["spark"])
    local, of_spark = tables(tmp_path / "local"), tables(tmp_path / "spark")
    assert local.keys() == of_spark.keys()
    for name, rows in local.items():
        assert rows == of_spark[name], name


@pytest.mark.slow
def test_a_folder_without_the_topics_that_are_asked_for_is_no_error(spark: SparkSession, tmp_path: Path) -> None:
    given = str(DATA / "logs" / "4.1.1" / "txn-0")
    for engine in ("local", "spark"):
        assert run(["tables", given, "--engine", engine, "--out", str(tmp_path / engine), "-q"]) == 0
    local, of_spark = (tables(tmp_path / engine) for engine in ("local", "spark"))
    assert local["records"] == of_spark["records"] == []


@pytest.mark.long
def test_tables_of_either_engine_are_read_by_either(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, told = tmp_path / "given", set()
    given.mkdir()
    left_behind(given)
    shutil.rmtree(given / "data")
    for wrote in ("local", "spark"):
        run(["tables", str(given), "--engine", wrote, "--out", str(tmp_path / wrote), "-q"])
        capsys.readouterr()
        for command in ("census", "latency"):
            for reads in ("local", "spark"):
                out = str(tmp_path / f"{command}-{wrote}-{reads}")
                assert run([command, str(tmp_path / wrote), "--engine", reads, "--out", out, "-q"]) == 0
                told.add(capsys.readouterr().out.partition("Report:")[0])
    assert len(told) == 2


@pytest.mark.slow
def test_a_table_that_spark_keeps_is_computed_once(spark: SparkSession, tmp_path: Path) -> None:
    engine, computed = SparkEngine("local[2]", "parquet", "out", brief=True), tmp_path / "computed"

    def noted(batches: Any) -> Any:
        with computed.open("a") as file:
            file.write("computed ")
        yield from batches

    table: Any = engine.cached(spark.range(3, numPartitions=1).mapInArrow(noted, "id bigint"))
    more = query("SELECT id + 1 AS id FROM {table}", table=table)
    assert collect("SELECT sum(id) AS ids FROM {more}", more=more) == [{"ids": 6}]
    with kept(table) as same:
        assert collect("SELECT count(*) AS rows FROM {same}", same=same) == [{"rows": 3}]
    assert collect("SELECT max(id) AS id FROM {table} WHERE id < 2", table=table) == [{"id": 1}]
    assert computed.read_text() == "computed "
    table.unpersist()


@pytest.mark.long
def test_exchanges_are_counted_where_they_are_read(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "kafka-request.log"
    lines = gzip.decompress((DATA / "request_logs" / "3.9.1.log.gz").read_bytes())
    log.write_bytes(2 * lines)  # its connections are in the first half and in the second
    captures = sorted((DATA / "traffic" / "3.9.1").glob("*.pcap*"))
    options: dict[str, Any] = {"bodies": "codes", "partitions": 3, "split_size": len(lines)}
    exchanges = read_exchanges(log, *captures, columns=EXCHANGE_COLUMNS, spark=spark, **options)
    counted = read_counted(log, *captures, spark=spark, **options)
    found, expected = ({str(row) for row in clients(table).table.collect()} for table in (counted, exchanges))
    assert found == expected
    assert any(row.connections > 1 and row.input_kind == "request_log" for row in clients(counted).table.collect())
    assert counted.count() < exchanges.count()


WITHOUT = """
import sys
readers = (f"kwire_inspect.readers.{of}" for of in ("capture", "log", "metrics"))
for name in ("pyspark", "kwire.client", "kwire.logs", *readers):
    sys.modules[name] = None
from kwire.command import group, main
for name in ("tables", "clients", "readiness", "census", "latency", "offsets", "watch"):
    assert "needs" not in group.get_command(None, name).get_short_help_str()
assert "pyarrow" not in sys.modules
code = main(sys.argv[1:])
assert "pandas" not in sys.modules
import pyarrow
assert pyarrow.table({"id": [1]}).to_pandas().shape == (1, 1), "it is still found by who wants it"
sys.exit(code)
"""


@pytest.mark.slow
def test_nothing_but_python_is_needed_and_nothing_is_imported_before_it_is(tmp_path: Path) -> None:
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    arguments = ["readiness", "--target", "4.1.1", log, "--out", str(tmp_path / "out")]
    ran = subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, env={})
    assert (ran.returncode, ran.stderr.strip()) == (1, "")
    assert "Kafka 4.1.1 refuses 1 of" in ran.stdout
    assert "Engine: local." in ran.stdout
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "out", *tmp_path.rglob("out/*"))} == {0}
    assert (tmp_path / "out" / "clients" / "_kwire").exists()


@pytest.mark.parametrize("table", ["frames", "exchanges", "refusals", "records", "metrics"])
def test_a_reader_of_spark_gets_the_options_of_the_command(monkeypatch: pytest.MonkeyPatch, table: str) -> None:
    given: list[Any] = []
    monkeypatch.setattr(reading, f"read_{table}", lambda inputs, **options: given.append((inputs, options)))
    engine, inputs, session = SparkEngine(None, "parquet", "out", brief=True), Inputs(metrics=("a.prom",)), object()
    engine.__dict__["session"] = session
    engine.read(table, inputs, ("source",) if table != "metrics" else (), {"mode": "failfast"})
    columns = {} if table == "metrics" else {"columns": ("source",)}
    assert given == [(inputs, {"spark": session, "mode": "failfast"} | columns)]


def test_what_is_counted_in_workers_needs_little_of_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "read_counted", lambda inputs, **options: inputs)
    large = SparkEngine(None, "parquet", "out", brief=False)
    large.__dict__["session"] = object()
    large.counted(Inputs(size=1 << 40), {})
    assert large.brief


def chosen(name: str, size: int = 0, **needs: Any) -> type[Engine]:
    options = {"out": "out", "table_format": "parquet", "master": None} | needs
    return type(engine_for(name, Inputs(size=size), **options))


def test_inputs_are_read_without_spark_unless_something_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen("auto") is chosen("auto", 1 << 40) is chosen("local") is LocalEngine
    assert chosen("spark") is SparkEngine
    needing: list[dict[str, Any]] = [{"master": "local[2]"}, {"out": "hdfs://a/b"}, {"table_format": "delta"}]
    for needs in needing:
        assert chosen("auto", **needs) is SparkEngine
        for name, more in (("local", {}), ("auto", {"processes": 2})):
            with pytest.raises(OptionError, match="which needs Spark"):
                chosen(name, **needs, **more)
    for name in ("MASTER", "PYSPARK_GATEWAY_PORT"):  # as of spark-submit
        with monkeypatch.context() as submitted:
            submitted.setenv(name, "1")
            assert (chosen("auto"), chosen("local")) == (SparkEngine, LocalEngine)


def test_large_inputs_are_read_by_as_many_processes_as_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    assert [processes_for(size) for size in (0, 2 * WORTH - 1, 2 * WORTH, 3 * WORTH, 1 << 40)] == [1, 1, 2, 3, 3]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.long
def test_several_processes_have_the_results_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    given, told = tmp_path / "given", []
    given.mkdir()
    left_behind(given)
    for processes in ("1", "3"):
        out = str(tmp_path / processes)
        code = run([command, str(given), *OPTIONS.get(command, []), "--processes", processes, "--out", out, "-q"])
        told.append((code, [" ".join(text.replace(out, "OUT").split()) for text in capsys.readouterr()]))
    assert told[0] == told[1]
    assert tables(tmp_path / "1") == tables(tmp_path / "3")
    if command == "tables":
        parts = {path.name for path in (tmp_path / "3").rglob("part-*")}
        assert {f"part-{number:05}-00000.snappy.parquet" for number in range(3)} <= parts, "each process writes"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["clients", "tables"])
def test_the_first_problem_of_any_process_ends_the_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for number in range(4):
        (given / f"kafka-request.log.{number}").write_bytes(gzip.decompress(LOG.read_bytes()))
    (given / "kafka-request.log.5").write_text(
        "[2026-01-01 00:00:00,000] DEBUG Completed request:{broken (kafka.request.logger)\n"
    )
    out = str(tmp_path / "out")
    assert run([command, str(given), "--mode", "failfast", "--processes", "3", "--out", out, "-q"]) == 3
    assert "kafka-request.log.5, byte 0: " in capfd.readouterr().err
    assert not [*(tmp_path / "out").rglob("*")], "what other processes have written is gone"


class Ending(Reader):
    """A reader whose second task ends its process."""

    def tasks(self) -> list[int]:
        return [0, 1]

    def read(self, task: int) -> Iterator[pa.RecordBatch]:
        if task:
            os._exit(1)
        yield pa.RecordBatch.from_pydict({"task": [task]})


@pytest.mark.slow
def test_a_process_that_is_gone_is_an_error() -> None:
    reader = Ending(Options({}), pa.schema([("task", pa.int64())]))
    with pytest.raises(RuntimeError, match="ended before it finished"):
        list(read_dealt(reader, reader.tasks(), 2))
