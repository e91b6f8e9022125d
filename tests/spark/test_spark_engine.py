"""What Spark is told by the engine, the readers and a new session: with stand-ins, so no JVM is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, call

import pyarrow as pa
import pyspark
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.logger import PySparkLogger

from kwire.errors import KwireError
from kwire_inspect.inputs import Inputs
from kwire_inspect.options import OptionError
from kwire_inspect.schemas import CLIENTS, COUNTED, EXCHANGES, FRAMES, PROBLEMS, RECORDS, REFUSALS
from kwire_inspect.stored import Origin, StoredTable
from kwire_inspect.tables.clients import Clients
from kwire_spark import engine, reading, session, writing
from kwire_spark.engine import SparkEngine
from kwire_spark.reading import literal
from kwire_spark.session import JavaMissingError, SparkNotStartedError, spark_session
from kwire_spark.streams import keeping

INPUTS = Inputs(
    captures=("/d/a.pcap", "/d/b.pcap", "/d/a.pcap"),
    request_logs=("/d/request.log",),
    server_logs=("/d/server.log",),
    logs=("/d/data", "/d/more"),
    metrics=("/d/m.prom",),
)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is asked while the session of an engine starts."""
    asked: list[Any] = []

    def start(master: str | None, *, brief: bool) -> Any:
        asked.append((master, brief))
        return SimpleNamespace(name=f"session {len(asked)}")

    monkeypatch.setattr("kwire_spark.session.spark_session", start)
    monkeypatch.setattr(engine, "_check_format", lambda found, name: asked.append((found.name, name)))
    monkeypatch.setattr(writing, "check_folder", lambda found, name: asked.append((found.name, name)))
    return asked


@pytest.mark.parametrize("out", ["out", "/a/s3", "s3a://bucket/a", "hdfs://name/a"])
@pytest.mark.parametrize("brief", [False, True])
def test_a_session_starts_once_and_is_checked_before_anything_is_read(
    started: list[Any], out: str, brief: bool
) -> None:
    """An address is tried; a folder of this machine was tried before."""
    made = SparkEngine("local[3]", "orc", out, brief=brief)
    assert started == []
    assert made.session is made.session
    assert started == [("local[3]", brief), ("session 1", "orc"), *[("session 1", out)] * ("://" in out)]
    assert made.label == "Engine: Spark."


def test_without_java_the_other_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise JavaMissingError("There is no Java.")

    monkeypatch.setattr("kwire_spark.session.spark_session", missing)
    with pytest.raises(JavaMissingError) as raised:
        _ = SparkEngine(None, "parquet", "out", brief=True).session
    assert str(raised.value) == "There is no Java.\nOr read the inputs without Spark: --engine local"


def test_a_format_that_spark_lacks_is_wrong_usage() -> None:
    found = MagicMock()
    lookup = found._jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource
    engine._check_format(found, "orc")
    lookup.assert_called_once_with("orc", found._jsparkSession.sessionState().conf())
    lookup.side_effect = Py4JJavaError("", MagicMock())
    with pytest.raises(OptionError, match=r"^--table-format delta: not supported by Spark. Try parquet"):
        engine._check_format(found, "delta")


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("a.B: Class c.S3AFileSystem not found", "Spark lacks hadoop-aws (spark.jars.packages)"),
        ('a.B: No FileSystem for scheme "x"', "Spark has no file system for this address (spark.jars.packages)"),
        ("a.B: NoSuchBucket: c", "there is no such bucket"),
        (
            "a.B: c (Service: S3, Status Code: 403)",
            "access is denied: check the credentials and the permissions to list and write",
        ),
        ("a.BException: c.DException: no route (Service: S3, Status Code: 500)", "no route"),
        ("a.BException: " + "x" * 300, "x" * 200),
        (None, None),
    ],
)
def test_a_folder_is_tried_by_a_file_that_is_removed(says: str | None, told: str | None) -> None:
    """Only advice follows for what is known, and else the message of the innermost error."""
    spark, error = MagicMock(), MagicMock()
    path = spark.sparkContext._jvm.org.apache.hadoop.fs.Path
    system = path.return_value.getFileSystem.return_value
    error.toString.return_value = says
    system.delete.side_effect = Py4JJavaError("", error) if says else None
    if says:
        with pytest.raises(OptionError) as raised:
            writing.check_folder(spark, "s3a://b/a/")
        refusal = f"s3a://b/a/: cannot write here: {told}. Choose another folder with --out"
        assert str(raised.value) == refusal
    else:
        writing.check_folder(spark, "s3a://b/a/")
    assert {one.args for one in path.call_args_list} == {("s3a://b/a/_kwire.check",)}
    assert system.create.return_value.mock_calls == [call.write(bytearray(1)), call.close()]
    system.delete.assert_called_once_with(path.return_value, True)


def test_a_format_without_files_replaces_its_tables_itself() -> None:
    table = MagicMock()
    assert {"parquet", "orc", "json", "csv", "text", "avro"} == writing.FILES
    assert writing.write(table, "hdfs://a/", "b/c", "Delta", partition_by=("api", "date"), x="y") == "hdfs://a/b/c"
    made = call.write.format("Delta").options(x="y").partitionBy("api", "date").mode("overwrite").save("hdfs://a/b/c")
    assert table.mock_calls == made.call_list()


@pytest.mark.parametrize("there", [(), ("/t/clients", "/t/_clients.checkpoint"), ("/t/clients",)])
def test_a_stream_keeps_its_checkpoint_next_to_its_tables(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    exchanges = MagicMock()
    monkeypatch.setattr(keeping, "exists", lambda found, path: found is exchanges.sparkSession and path in there)
    if len(there) == 1:
        with pytest.raises(
            ValueError, match=r"^/t/clients exists, but its checkpoint /t/_clients.checkpoint does not$"
        ):
            keeping.keep_clients(exchanges, "/t/")
        return
    query = keeping.keep_clients(exchanges, "/t/", format="orc", inputs="some")
    *placed, (_, (add,), _) = exchanges.writeStream.mock_calls
    assert placed == call.queryName("clients").option("checkpointLocation", "/t/_clients.checkpoint").call_list()
    assert (add.func, add.args, add.keywords) == (keeping.add_batch, ("/t/", "orc"), {"inputs": "some"})
    assert query is exchanges.writeStream.queryName().option().foreachBatch()


@pytest.mark.parametrize("name", ["clients", "problems", "exchanges", "metrics", "records"])
def test_each_table_is_read_by_its_reader(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Stored tables have no options."""
    asked = MagicMock()
    for one in ("read_frames", "read_exchanges", "read_refusals", "read_records", "read_metrics", "read_stored"):
        monkeypatch.setattr(reading, one, getattr(asked, one))
    monkeypatch.setattr(reading, "read_counted", asked.read_counted)
    made = SparkEngine(None, "parquet", "out", brief=False)
    made.__dict__["session"] = "the session"
    made.read(name, INPUTS, ("source",), {"mode": "failfast"})
    expected = {
        "clients": call.read_stored("clients", INPUTS, spark="the session"),
        "problems": call.read_stored("problems", INPUTS, spark="the session"),
        "exchanges": call.read_exchanges(INPUTS, columns=("source",), spark="the session", mode="failfast"),
        "metrics": call.read_metrics(INPUTS, spark="the session", mode="failfast"),
        "records": call.read_records(INPUTS, columns=("source",), spark="the session", mode="failfast"),
    }
    assert asked.mock_calls == [expected[name]]
    asked.reset_mock()
    made.counted(INPUTS, {"bodies": "codes"})
    assert asked.mock_calls == [call.read_counted(INPUTS, spark="the session", bodies="codes")]


class Spark:
    """Stands in for a session: notes what is read, and joins names of what it read."""

    def __init__(self, told: list[Any] | None = None, **of: Any) -> None:
        self.told: list[Any] = [] if told is None else told
        self.of = of
        self.read = self

    def format(self, name: str) -> Spark:
        return Spark(self.told, format=name)

    def options(self, **options: str) -> Spark:
        return Spark(self.told, **self.of, options=options)

    def schema(self, schema: Any) -> Spark:
        return Spark(self.told, **self.of, columns=schema.names)

    def load(self, paths: list[str]) -> Spark:
        self.told.append(self.of | {"paths": paths})
        return self

    def parquet(self, path: str) -> Spark:
        self.told.append(self.of | {"path": path})
        return self

    def select(self, *columns: str) -> Spark:
        self.told[-1]["selected"] = [*columns]
        return self

    def unionByName(self, other: Spark) -> Spark:
        self.told.append("union")
        return Spark(self.told, joined=True)

    def createDataFrame(self, rows: list[Any], schema: Any) -> Spark:
        self.told.append({"rows": rows, "columns": schema.names})
        return self

    def where(self, condition: str) -> Spark:
        self.told[-1]["where"] = condition
        return self


@pytest.fixture
def other_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "spark_session", lambda: pytest.fail("another session"))


COMMON = {"mode": "failfast"}


@pytest.mark.usefixtures("other_session")
@pytest.mark.parametrize(
    ("read", "full", "sources"),
    [
        ("frames", FRAMES, [("capture", ["/d/a.pcap", "/d/b.pcap"], {"ports": "9", "keyLog": "k"})]),
        (
            "exchanges",
            EXCHANGES,
            [
                ("capture", ["/d/a.pcap", "/d/b.pcap"], {"ports": "9", "keyLog": "k"}),
                ("request_log", ["/d/request.log"], {"time_zone": "Z"}),
            ],
        ),
        ("refusals", REFUSALS, [("server_log", ["/d/server.log"], {"time_zone": "Z"})]),
        ("records", RECORDS, [("log", ["/d/data", "/d/more"], {"topics": "a"})]),
        ("metrics", COUNTED, [("metrics", ["/d/m.prom"], {})]),
        (
            "counted",
            COUNTED,
            [
                ("capture", ["/d/a.pcap", "/d/b.pcap"], {"ports": "9", "keyLog": "k"}),
                ("request_log", ["/d/request.log"], {"time_zone": "Z"}),
            ],
        ),
    ],
)
def test_what_each_source_is_told(read: str, full: pa.Schema, sources: list[Any]) -> None:
    """Each file once, and each source its own options. Files were found before, but folders of logs are searched."""
    spark, given = Spark(), dict[str, str]()
    for _, _, own in sources:
        given |= own
    others: Any = {name: (f"/e/{name}",) for name in ("captures", "request_logs", "server_logs", "logs", "metrics")}
    more: Any = {"columns": full.names[2:0:-1]} if read not in ("counted", "metrics") else {}
    for inputs in ((INPUTS,), (INPUTS, Inputs(**others))):
        spark.told.clear()
        getattr(reading, f"read_{read}")(*inputs, spark=spark, **more, **COMMON, **given)
        rows = "exchanges" if read == "counted" else read
        kinds = {"capture": "captures", "request_log": "request_logs", "server_log": "server_logs", "log": "logs"}
        expected: list[Any] = [
            {
                "format": f"kafka_{source}",
                "options": COMMON
                | {"found": str(source != "log")}
                | {name.replace("_", ""): value for name, value in own.items()}
                | ({"rows": rows} if source == "capture" else {})
                | ({"count": str(read == "counted")} if source in ("capture", "request_log") else {}),
                "columns": more.get("columns") or full.names,
                "paths": [*paths, *[f"/e/{kinds.get(source, source)}"] * (len(inputs) - 1)],
            }
            for source, paths, own in sources
        ]
        assert spark.told == [*expected, *["union"] * (len(sources) - 1)]


@pytest.mark.usefixtures("other_session")
def test_names_from_the_current_folder_are_absolute_for_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spark: Any = Spark()
    reading.read_refusals(Inputs(server_logs=("a.log", f"{tmp_path}/a.log")), spark=spark)
    stored = StoredTable("t/{a}[b]", "clients", Origin(), True)
    reading.read_stored("clients", Inputs(tables=(stored,)), spark=spark)
    assert [one.get("paths") or one.get("path") for one in spark.told] == [
        *([f"{tmp_path}/a.log"], literal(f"{tmp_path}/t/{{a}}[b]")),
    ]


@pytest.mark.usefixtures("other_session")
@pytest.mark.parametrize("name", ["clients", "problems", "exchanges"])
def test_stored_tables_of_the_kind_are_put_together(name: str) -> None:
    full = {"clients": CLIENTS, "problems": PROBLEMS, "exchanges": EXCHANGES}[name]
    tables = [
        StoredTable(f"/{day}/{kind}*", kind, Origin(), True)
        for day in ("a", "b")
        for kind in ("problems", "exchanges", "clients")
    ]
    spark: Any = Spark()
    reading.read_stored(name, Inputs(tables=tuple(tables[:3])), Inputs(tables=tuple(tables[3:])), spark=spark)
    found = {"columns": full.names, "selected": full.names}
    assert spark.told == [found | {"path": f"/{day}/{name}\\*"} for day in ("a", "b")] + ["union"]
    spark.told.clear()
    reading.read_stored(name, Inputs(tables=tuple(one for one in tables if one.kind != name)), spark=spark)
    assert spark.told == [{"rows": [], "columns": full.names, "where": "false"}]


@pytest.mark.usefixtures("other_session")
def test_stored_exchanges_are_no_counts() -> None:
    spark: Any = Spark()
    reading.read_counted(Inputs(tables=(StoredTable("/a", "exchanges", Origin(), True),)), spark=spark)
    assert spark.told == [{"rows": [], "columns": COUNTED.names, "where": "false"}]


def test_clients_are_those_of_tables_and_metrics_with_the_origin_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of tables in several inputs, each file that was left out is named once."""
    asked = MagicMock()
    asked.clients.side_effect = lambda *tables, origin: Clients(MagicMock(), origin)
    for name in ("read_stored", "read_metrics", "clients"):
        monkeypatch.setattr(reading, name, getattr(asked, name))

    def stored(kind: str, day: str, *skipped: str, complete: bool = True) -> StoredTable:
        origin = Origin(f"captures of {day}", tuple((path, "cut off") for path in skipped), day)
        return StoredTable(f"{day}/{kind}", kind, origin, complete)

    seen, told = stored("clients", "monday", "a", "b"), stored("problems", "monday", "b")
    late, unread = stored("clients", "tuesday", "c"), stored("problems", "tuesday")
    first = Inputs(tables=(seen, stored("exchanges", "monday", "x"), told), skipped=(("0", "empty"),))
    second = Inputs(tables=(late,), metrics=("m",), skipped=(("0", "empty"), ("1", "empty")))
    used = replace(first, tables=(seen, told)), second
    for inputs, kept, complete in (
        ((first, second), used, False),
        ((first, replace(second, tables=(late, unread))), (used[0], replace(second, tables=(late, unread))), True),
    ):
        asked.reset_mock()
        found = reading.read_clients(*inputs, spark=asked.spark, mode="failfast")
        assert asked.mock_calls[:3] == [
            call.read_stored("clients", *kept, spark=asked.spark),
            call.read_stored("problems", *kept, spark=asked.spark),
            call.read_metrics(*kept, spark=asked.spark, mode="failfast"),
        ]
        tables, _ = asked.clients.call_args
        assert tables == (asked.read_stored(), asked.read_stored(), asked.read_metrics())
        skipped = [("0", "empty"), ("1", "empty"), *((path, "cut off") for path in "abc")]
        assert found.origin == Origin("captures of monday; captures of tuesday", tuple(skipped))
        assert found.complete is complete


def test_a_column_that_no_row_has_is_refused() -> None:
    spark: Any = Spark()
    for names in (["raw", "nope"], ["b", "a"]):
        told = ", ".join(sorted({*names} - {*FRAMES.names}))
        with pytest.raises(ValueError, match=f"^unknown column {told}, expected one of source, position, "):
            reading.read_frames(INPUTS, columns=names, spark=spark)
    with pytest.raises(OptionError, match="unknown option"):
        reading.read_clients("/is/not/searched", spark=spark, nope="1")
    assert spark.told == []


@pytest.mark.parametrize(
    ("path", "pattern"), [("/a/b", "/a/b"), ("/a[1]/{b}*?\\", "/a\\[1\\]/\\{b\\}\\*\\?\\\\"), ("é (1)", "é (1)")]
)
def test_a_literal_path_is_no_pattern(path: str, pattern: str) -> None:
    assert literal(path) == pattern


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Spark without a JVM: notes how a session is made. The machine has three processors and 16 GB."""
    spark = MagicMock()
    spark.sql.SparkSession.getActiveSession.return_value = None
    for name in ("PYSPARK_PYTHON", "PYSPARK_GATEWAY_PORT", "MASTER", "SPARK_LOCAL_IP"):
        monkeypatch.setenv(name, "")  # so that it is restored
        monkeypatch.delenv(name)
    monkeypatch.setattr("pyspark.sql.SparkSession", spark.sql.SparkSession)
    monkeypatch.setattr("pyspark.SparkContext", spark.SparkContext)
    monkeypatch.setattr("pyspark.SparkConf", lambda: pyspark.conf.SparkConf(loadDefaults=False))
    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", spark.launch)
    monkeypatch.setattr("kwire_spark.sources.register", spark.register)
    monkeypatch.setattr(session, "_use_environment", spark.environment)
    monkeypatch.setattr(session, "check_java", spark.check_java)
    monkeypatch.setattr(session, "private_folder", lambda: tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    sizes = {"SC_PHYS_PAGES": 4 << 20, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    spark.SparkContext._gateway = None
    disabled = {name: PySparkLogger.getLogger(name).disabled for name in session.ERROR_LOGGERS}
    yield spark
    for name, was in disabled.items():
        PySparkLogger.getLogger(name).disabled = was


def settings_of(spark: Any) -> dict[str, str]:
    (conf,), _ = spark.SparkContext.getOrCreate.call_args
    return dict(conf.getAll())


OWN = {
    "spark.app.name": "kwire",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.parquet.columnarReaderBatchSize": "16",
    "spark.hadoop.parquet.block.size": "16777216",
    "spark.hadoop.parquet.block.size.row.check.min": "1",
    "spark.hadoop.parquet.page.size.row.check.min": "1",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "static",
}


@pytest.mark.parametrize("brief", [False, True])
def test_all_settings_of_a_session_on_this_machine(bare: Any, tmp_path: Path, brief: bool) -> None:
    for name in session.ERROR_LOGGERS:
        PySparkLogger.getLogger(name).disabled = False
    made = spark_session(brief=brief, spark_ui_enabled="true", spark_driver_memory="7g", spark_x="y")
    options = f"-Dlog4j2.configurationFile={session.LOG_SETTINGS.as_uri()} -XX:+UseSerialGC -Xshare:auto "
    options += f"-Djava.io.tmpdir={tmp_path}"
    options += " -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m" if brief else ""
    assert settings_of(bare) == OWN | {
        "spark.master": "local[3]",
        "spark.ui.enabled": "true",
        "spark.x": "y",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "7g",
        "spark.driver.extraJavaOptions": options,
        "spark.sql.shuffle.partitions": "6",
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.local.dir": str(tmp_path),
        "spark.hadoop.fs.permissions.umask-mode": "077",
    }
    assert made is bare.sql.SparkSession.return_value
    bare.check_java.assert_called_once_with()
    (conf, started), _ = bare.launch.call_args
    assert started == {"stdout": started["stderr"], "stderr": started["stderr"], "umask": 0o077}
    assert started["stderr"].name == str(tmp_path / "output.log")
    assert bare.SparkContext._ensure_initialized.call_args == call(gateway=bare.launch(), conf=conf)
    bare.register.assert_called_once_with(made)
    bare.environment.assert_called_once_with(made.sparkContext._jsc.hadoopConfiguration())
    assert {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP")} == {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        assert PySparkLogger.getLogger(name).disabled


def test_a_session_on_a_cluster_has_no_settings_of_this_machine(bare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASTER", "spark://from-environment:7077")
    monkeypatch.setenv("PYSPARK_PYTHON", "python-of-cluster")
    spark_session(brief=True)
    assert settings_of(bare) == OWN | {"spark.master": "spark://from-environment:7077"}
    assert "SPARK_LOCAL_IP" not in os.environ
    assert os.environ["PYSPARK_PYTHON"] == "python-of-cluster"
    spark_session("yarn")
    assert settings_of(bare) == OWN | {"spark.master": "yarn"}


def test_the_jvm_of_a_stopped_session_is_used_again(bare: Any) -> None:
    bare.SparkContext._gateway = object()
    spark_session("local[1]")
    assert settings_of(bare)["spark.master"] == "local[1]"
    assert not bare.launch.called
    assert not bare.SparkContext._ensure_initialized.called


def test_an_active_session_gets_what_can_still_be_changed(bare: Any) -> None:
    running = bare.sql.SparkSession.getActiveSession.return_value = MagicMock()
    running.conf.isModifiable.side_effect = lambda name: name.startswith("spark.sql.")
    assert spark_session("yarn", spark_sql_x="1", spark_driver_memory="9g", spark_sql_session_timeZone="Z") is running
    told = {name: value for name, value in OWN.items() if name.startswith("spark.sql.")}
    told |= {"spark.sql.x": "1", "spark.sql.session.timeZone": "Z"}
    assert {one.args for one in running.conf.set.call_args_list} == {*told.items()}
    bare.register.assert_called_once_with(running)
    bare.environment.assert_called_once_with(running.sparkContext._jsc.hadoopConfiguration())
    assert not bare.SparkContext.getOrCreate.called


@pytest.mark.parametrize("master", [None, "local[2]"])
def test_settings_of_a_submitted_application_precede_ours(
    bare: Any, monkeypatch: pytest.MonkeyPatch, master: str | None
) -> None:
    """But not those that the caller gives."""
    submitted = {"spark.master": "yarn", "spark.app.name": "theirs", "spark.ui.enabled": "true", "spark.x": "theirs"}

    def conf() -> Any:
        return pyspark.conf.SparkConf(loadDefaults=False).setAll([*submitted.items()])

    monkeypatch.setattr("pyspark.SparkConf", conf)
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    spark_session(master, spark_x="mine")
    bare.SparkContext._ensure_initialized.assert_called_once_with()
    expected = OWN | submitted | {"spark.x": "mine"} | ({"spark.master": master} if master else {})
    assert settings_of(bare) == expected
    assert not bare.launch.called
    submitted.clear()
    spark_session()
    assert settings_of(bare) == OWN


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("", "its JVM exited without any output"),
        ("\n\tat a.b.C\n\\tat d\n   \n", "its JVM exited without any output"),
        ("first\n\tat a.b.C\n\nlast", "first\nlast"),
        ("\n".join(map(str, range(30))), "\n".join(map(str, range(20, 30)))),
        ("caf\xe9", "caf\ufffd"),
    ],
)
def test_a_jvm_that_does_not_start_is_quoted(bare: Any, printed: str, told: str) -> None:
    def launch(conf: Any, started: Any) -> None:
        started["stderr"].write(printed.encode("latin-1"))
        raise PySparkRuntimeError("it has exited")

    bare.launch.side_effect = launch
    with pytest.raises(SparkNotStartedError) as raised:
        spark_session("local[1]")
    assert str(raised.value) == f"Spark did not start: {told}"
    assert isinstance(raised.value.__cause__, PySparkException)
    assert isinstance(raised.value, KwireError)


@pytest.mark.parametrize(
    ("gigabytes", "heap"), [(1, 1024), (8, 1024), (9, 1152), (16, 2048), (31, 3968), (32, 4096), (512, 4096)]
)
def test_the_heap_is_an_eighth_of_the_memory_within_bounds(
    bare: Any, monkeypatch: pytest.MonkeyPatch, gigabytes: int, heap: int
) -> None:
    sizes = {"SC_PHYS_PAGES": gigabytes << 18, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert session._heap_mb() == heap


def test_without_known_memory_or_processors_a_session_starts_all_the_same(
    bare: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    for error in (ValueError, OSError, AttributeError):
        monkeypatch.setattr(os, "sysconf", MagicMock(side_effect=error))
        spark_session()
        found = settings_of(bare)
        assert (found["spark.master"], found["spark.driver.memory"]) == ("local[1]", "2048m")
        assert found["spark.sql.shuffle.partitions"] == "2"


def test_the_folder_of_spark_is_that_of_pyspark_unless_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert session.spark_home() == Path(pyspark.__file__).parent
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert session.spark_home() == Path("/opt/spark")
