"""A session that says what is missing, and says nothing else."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, call

import pytest
from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from kwire_spark import session as start
from kwire_spark.session import JavaMissingError, check_java, spark_session


def with_java(folder: Path, monkeypatch: pytest.MonkeyPatch, says: str, code: int = 0) -> None:
    (folder / "bin").mkdir()
    program = folder / "bin" / "java"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('caf\xe9\nopenjdk version "17-internal"', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\njava version "25-ea" 2025-09-16', 25),
    ],
)
def test_new_ones_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: int) -> None:
    with_java(tmp_path, monkeypatch, says)
    assert check_java() == version


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ('java version "1.8.0_402"', "is Java 8, which is too old"),
        ('openjdk version "16.0.2" 2021-07-20', "is Java 16, which is too old"),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", "does not run"),
    ],
)
def test_old_ones_will_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, told: str) -> None:
    with_java(tmp_path, monkeypatch, says)
    with pytest.raises(JavaMissingError, match=told) as error:
        check_java()
    assert "openjdk-17-jre-headless" in str(error.value)


def test_without_java_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissingError, match=r"Java not found.*\n(.*\n)*.*brew install openjdk@17"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissingError, match="does not run"):
        check_java()


def test_java_home_precedes_path_and_either_output_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("home/bin", 17), ("path", 21)):
        (tmp_path / name).mkdir(parents=True)
        program = tmp_path / name / "java"
        program.write_bytes(b"#!/bin/sh\necho 'caf\xe9'\necho 'java version \"%d.0.1\"'\n" % version)
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:{os.environ['PATH']}")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert check_java() == 17
    monkeypatch.delenv("JAVA_HOME")
    assert check_java() == 21


def test_java_that_does_not_answer_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(command: list[str], *, timeout: float, **_: Any) -> None:
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(JavaMissingError, match="/opt/java/bin/java does not run"):
        check_java()


def test_java_is_looked_for_before_spark_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> int:
        raise JavaMissingError(start.INSTALL)

    monkeypatch.setattr(start, "check_java", missing)
    with pytest.raises(JavaMissingError):
        start._new_session("local[1]", {})


def test_a_session_that_runs_is_used_and_gets_what_can_still_be_set(spark: SparkSession) -> None:
    """Even instead of a setting that kwire makes, which the next use makes again."""
    given: dict[str, Any] = {"spark_sql_shuffle_partitions": "3", "spark_sql_session_timeZone": "Asia/Tokyo"}
    running = spark_session(**given, spark_driver_memory="1g")
    try:
        assert running.sparkContext is spark.sparkContext
        assert {name: running.conf.get(name.replace("_", ".")) for name in given} == given
        assert running.conf.get("spark.driver.memory") != "1g"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        spark_session()
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_brief_session_has_room_for_the_code_of_all_typed_tables(spark: SparkSession) -> None:
    """The JVM ends where its code cache is full: 48 MB, its own limit for quick compilation, were full after 40 s."""
    jvm: Any = spark.sparkContext._jvm
    pools = jvm.java.lang.management.ManagementFactory.getMemoryPoolMXBeans()
    code = [pool.getUsage().getMax() for pool in pools if "Code" in pool.getName()]
    assert sum(code) >= 200 << 20


@pytest.mark.slow
def test_an_error_is_raised_and_not_printed_besides(spark: SparkSession) -> None:
    logger, printed = PySparkLogger.getLogger("SQLQueryContextLogger"), StringIO()
    handler = logging.StreamHandler(printed)
    logger.addHandler(handler)
    try:
        with pytest.raises(AnalysisException):
            spark.sql("SELECT nope")
    finally:
        logger.removeHandler(handler)
    assert printed.getvalue() == ""


@pytest.mark.slow
def test_only_the_user_can_read_what_spark_writes(spark: SparkSession) -> None:
    assert spark.range(1000).repartition(3).selectExpr("id % 7 AS id").groupBy("id").count().count() == 7
    folder = start.private_folder()
    shuffled = [*folder.rglob("shuffle_*")]
    assert shuffled
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("blockmgr*"), *shuffled)} == {0}
    assert Path(spark.conf.get("spark.sql.warehouse.dir") or "").parent.name == folder.name


@pytest.mark.slow
def test_a_session_removes_the_folders_of_killed_ones_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import os; from kwire_spark.session import private_folder as p; p(); {}"
    environment = os.environ | {"TMPDIR": str(tmp_path)}

    def run(end: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code.format(end)]
        return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    assert run("pass").wait() == 0
    assert not [*tmp_path.iterdir()]
    assert run("os.kill(os.getpid(), 9)").wait() == -9
    (killed,) = tmp_path.iterdir()
    other = "import os; os.getuid = lambda: -1; from kwire_spark.session import private_folder as p; p()"
    assert subprocess.run([sys.executable, "-c", other], env=environment, check=False).returncode == 0
    assert killed.exists(), "it belongs to another user"
    with run("print(p(), flush=True); input()") as running:
        assert running.stdout is not None
        folder = Path(running.stdout.readline().strip())
        assert not killed.exists()
        (tmp_path / "kwire-spark-file").touch()
        (tmp_path / "kwire-spark-link").symlink_to(tmp_path)
        os.mkfifo(tmp_path / "kwire-spark-pipe")
        assert run("pass").wait() == 0
        assert folder.stat().st_mode & 0o777 == 0o700
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [folder.name, "kwire-spark-file", "kwire-spark-link", "kwire-spark-pipe"]
        )
        running.communicate("\n")
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the sockets that Linux lists")
def test_a_session_listens_on_loopback_only(spark: SparkSession) -> None:
    assert spark.range(10).repartition(2).count() == 10
    gateway: Any = spark.sparkContext._gateway
    process = Path("/proc", str(gateway.proc.pid))
    sockets = {str(link.readlink()) for link in (process / "fd").iterdir() if link.is_symlink()}
    rows = [line.split() for name in ("tcp", "tcp6") for line in (process / "net" / name).read_text().splitlines()]
    listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
    assert listening
    loopback = "0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"
    assert not [address for address in listening if address.partition(":")[0] not in loopback]


@pytest.mark.parametrize(
    ("given", "own", "expected"),
    [
        ({}, (), {}),
        ({"AWS_ENDPOINT_URL": "b"}, (), {"endpoint": "b", "path.style.access": "true"}),
        ({"AWS_ENDPOINT_URL": "b", "AWS_ENDPOINT_URL_S3": "a"}, (), {"endpoint": "a", "path.style.access": "true"}),
        ({"AWS_ENDPOINT_URL": "b"}, ("endpoint",), {"path.style.access": "true"}),
        ({"AWS_REGION": "r", "AWS_DEFAULT_REGION": "d"}, (), {"endpoint.region": "r"}),
        ({"AWS_DEFAULT_REGION": "d"}, (), {"endpoint.region": "d"}),
        ({"AWS_DEFAULT_REGION": "d"}, ("endpoint.region",), {}),
    ],
)
def test_spark_has_the_endpoint_and_region_of_the_inputs_unless_it_has_its_own(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], own: tuple[str, ...], expected: dict[str, str]
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    configuration = MagicMock()
    configuration.getPropertySources.side_effect = lambda name: (
        ["core-default.xml", "spark-defaults.conf"]
        if name.removeprefix("fs.s3a.") in own
        else None if name.endswith("region") else ["core-default.xml"]
    )
    start._use_environment(configuration)
    assert configuration.set.mock_calls == [call(f"fs.s3a.{name}", value) for name, value in expected.items()]


@pytest.mark.slow
def test_workers_get_few_large_rows_at_a_time(spark: SparkSession) -> None:
    def sizes(batches: Any) -> Any:
        import pyarrow as pa

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"size": [batch.nbytes]})

    large = spark.range(12, numPartitions=1).selectExpr("repeat('x', 5000000) AS text")
    found = [row.size for row in large.mapInArrow(sizes, "size bigint").collect()]
    assert sum(found) > 60_000_000
    assert max(found) < 25_000_000


def test_the_heap_is_bounded() -> None:
    assert 1024 <= start._heap_mb() <= 4096


@pytest.mark.slow
def test_nothing_is_imported_before_it_is_asked_for() -> None:
    heavy = ("pyspark", "pyarrow", "rich", "kwire_kafka")
    code = f"import sys, kwire_spark; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
    code = "import kwire_spark as k; [getattr(k, name) for name in k.__all__]; print(k.spark_session, k.read_frames)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.count("function") == 2
