"""A Spark session that is quiet, bounded and on this machine unless told otherwise.

A command of its own starts one JVM, whose standard error goes to a file: Spark writes notices there before it reads
any setting of its log. What goes wrong in a job is raised in Python all the same; when Spark does not start at all,
the end of that file is in the error.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire_spark.java import check_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOPBACK = "127.0.0.1"
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
"""Needed, or wanted, wherever the session runs; what ``spark-submit`` was told goes before them."""

TWICE_TOLD = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers of pyspark that print each error with the JVM's stack, in a line of JSON, before it is raised."""


class SparkNotStartedError(KwireError):
    """Spark's JVM ended before it could be spoken to; the message has the last lines that it wrote."""


def session(master: str | None = None, *, brief: bool = False, **settings: str) -> SparkSession:
    """A session with kwire's sources registered: the one that runs, that of ``spark-submit``, or a new one.

    ``master`` is Spark's, for a new session by default all cores of this machine. ``settings`` are Spark's too, with
    ``_`` for ``.``; of a session that runs already only those change that can. ``brief`` is for a minute or less of
    work on this machine: the JVM compiles at once and not well, instead of longer than all of that would run, which
    spares a small report two fifths of its CPU. Raises :class:`~kwire_spark.java.JavaMissingError` and
    :class:`SparkNotStartedError`.
    """
    from pyspark.sql import SparkSession

    chosen = {name.replace("_", "."): value for name, value in settings.items()}
    running = SparkSession.getActiveSession()
    if running is None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        submitted = "PYSPARK_GATEWAY_PORT" in os.environ
        running = _submitted(master, chosen) if submitted else _started(master or _local_master(), chosen, brief)
    else:
        _change(running, SETTINGS | chosen)
    _register(running)
    return running


def _started(master: str, chosen: dict[str, str], brief: bool = False) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    check_java()
    for name in TWICE_TOLD:
        PySparkLogger.getLogger(name).disabled = True
    local = _local_settings(brief) if master.startswith("local") else {}
    conf = SparkConf().setAppName("kwire").setMaster(master).setAll([*(SETTINGS | local | chosen).items()])
    if SparkContext._gateway is None:  # the JVM of a session that was stopped is used again
        log = _log_of_spark()
        if local:
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        try:
            gateway = launch_gateway(conf, {"stderr": log, "stdout": log})  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway, conf=conf)
        except PySparkException as failed:
            raise SparkNotStartedError(f"Spark did not start: {_end(log)}") from failed
    return SparkSession(SparkContext.getOrCreate(conf))


def _submitted(master: str | None, chosen: dict[str, str]) -> SparkSession:
    """The session of the application that ``spark-submit`` started: its settings and its master go before ours."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    conf = SparkConf()  # with what spark-submit was told
    for name, value in SETTINGS.items():
        conf.setIfMissing(name, value)
    conf.setIfMissing("spark.app.name", "kwire").setAll([*chosen.items()])
    if master:
        conf.setMaster(master)
    return SparkSession(SparkContext.getOrCreate(conf))


def _local_master() -> str:
    return os.environ.get("MASTER") or f"local[{os.cpu_count() or 1}]"


def _local_settings(brief: bool) -> dict[str, str]:
    """For driver and workers in one process on this machine: nothing listens to others, nothing is left behind."""
    options = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} -XX:+UseSerialGC -Xshare:auto"
    if brief:
        options += " -XX:TieredStopAtLevel=1"
    return {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": f"{_heap_mb()}m",
        "spark.driver.extraJavaOptions": options,
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "kwire-spark-warehouse"),
    }


def _heap_mb() -> int:
    """An eighth of the memory, from 1 to 4 GB: rows pass through the heap, and aggregates spill to disk."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError, AttributeError):  # not on every system
        return 2048
    return min(max(total // 8, 1024), 4096)


def _log_of_spark() -> IO[bytes]:
    log = tempfile.NamedTemporaryFile(prefix="kwire-spark-", suffix=".log")  # noqa: SIM115  # until the process ends
    atexit.register(log.close)
    return log


def _end(log: IO[bytes]) -> str:
    lines = [line for line in Path(log.name).read_text(errors="replace").splitlines() if line.strip()]
    return "\n".join(lines[-10:]) or "it said nothing"


def _change(spark: SparkSession, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)


def _register(spark: SparkSession) -> None:
    from kwire_spark.sources import register

    register(spark)
