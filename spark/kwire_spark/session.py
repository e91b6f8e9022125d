"""Creates a Spark session with kwire's sources. The session is quiet, bounded in memory, and local by default.

A new session starts one JVM. Only the current user can read the files that the session writes locally. All temporary
files are in one folder. Spark writes to standard error before it reads any log settings, so this output is redirected
to a file. If Spark does not start, the error message quotes the last lines of the file. Errors in jobs are raised in
Python as usual.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kwire.errors import KwireError
from kwire_inspect.storage.folders import claimed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIN_JAVA = 17
INSTALL = """\
Spark needs Java 17 or newer. Install it:
  Debian, Ubuntu   apt install openjdk-17-jre-headless
  Fedora, RHEL     dnf install java-17-openjdk-headless
  macOS            brew install openjdk@17
  Windows, others  https://adoptium.net
or set JAVA_HOME to an existing installation."""
LOOPBACK = "127.0.0.1"
PRIVATE = "kwire-spark-"
"""Prefix of the names of kwire's temporary folders."""
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

SETTINGS = {
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxBytesPerBatch": "16m",
    "spark.sql.parquet.columnarReaderBatchSize": "16",
    "spark.hadoop.parquet.block.size": str(16 << 20),
    "spark.hadoop.parquet.block.size.row.check.min": "1",
    "spark.hadoop.parquet.page.size.row.check.min": "1",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.sql.sources.partitionOverwriteMode": "static",
}
"""Default settings for every session, local or not. Settings of ``spark-submit`` take precedence.

Shuffle files are encrypted with a key that is kept in memory, because ``watch`` shuffles packets, which may contain
passwords. Workers that create typed tables receive at most 16 MB, or one row, at a time. The heap holds Parquet row
groups during writing, and 16 rows during reading. A row may be as large as 40 MB.
"""

TRACE = re.compile(r"(\s|\\t)*(at .*)?$")
"""Pattern of empty lines and stack trace lines, including the form that Spark logs."""
DEFAULTS = "core-default.xml"
"""Name that Hadoop gives the source of its built-in default settings."""

ERROR_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers to disable, because PySpark uses them to print each error as JSON with the JVM's stack trace before it
raises the error.
"""


class JavaMissingError(KwireError):
    """Java is missing or too old for Spark. The message says what to install."""


class SparkNotStartedError(KwireError):
    """Spark's JVM exited during startup. The message quotes the last lines of the output."""


def spark_session(master: str | None = None, *, brief: bool = False, **settings: str) -> SparkSession:
    """Return a session with kwire's sources registered: the active session, the session of ``spark-submit``, or a new
    one.

    ``master`` is the Spark master. The default for a new session is all local cores. ``settings`` are Spark settings
    with ``_`` instead of ``.``. An active session ignores settings that cannot change at run time. Set ``brief`` for
    local jobs of a minute or two. The JVM then compiles less, which saves two fifths of the CPU time for a report, or
    a seventh for decoding 1 GB. Raises :class:`JavaMissingError` and :class:`SparkNotStartedError`.
    """
    from pyspark.sql import SparkSession

    from kwire_spark.sources import register

    settings = {name.replace("_", "."): value for name, value in settings.items()}
    spark = SparkSession.getActiveSession()
    if spark is not None:
        for name, value in (SETTINGS | settings).items():
            if spark.conf.isModifiable(name):
                spark.conf.set(name, value)
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            spark = _submitted_session(master, settings)
        else:
            spark = _new_session(master or os.environ.get("MASTER") or f"local[{_cores()}]", settings, brief)
    register(spark)
    _use_environment(spark.sparkContext._jsc.hadoopConfiguration())
    return spark


def _new_session(master: str, settings: dict[str, str], brief: bool = False) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    check_java()
    for name in ERROR_LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    local = _local_settings(brief) if master.startswith("local") else {}
    conf = SparkConf().setAppName("kwire").setMaster(master).setAll([*(SETTINGS | local | settings).items()])
    if SparkContext._gateway is None:  # otherwise Spark would reuse the JVM of a stopped session
        output = private_folder() / "output.log"
        if local:
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        try:
            with output.open("wb") as log:
                started = {"stderr": log, "stdout": log, "umask": 0o077}
                gateway = launch_gateway(conf, started)  # type: ignore[no-untyped-call]
            SparkContext._ensure_initialized(gateway=gateway, conf=conf)
        except PySparkException as error:
            lines = [line for line in output.read_text(errors="replace").splitlines() if not TRACE.match(line)]
            reason = "\n".join(lines[-10:]) or "its JVM exited without any output"
            raise SparkNotStartedError(f"Spark did not start: {reason}") from error
    return SparkSession(SparkContext.getOrCreate(conf))


def _submitted_session(master: str | None, settings: dict[str, str]) -> SparkSession:
    """Return the session of the application started by ``spark-submit``. The settings of the application override
    :data:`SETTINGS`.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    conf = SparkConf()  # includes the settings of spark-submit
    for name, value in SETTINGS.items():
        conf.setIfMissing(name, value)
    conf.setIfMissing("spark.app.name", "kwire").setAll([*settings.items()])
    if master:
        conf.setMaster(master)
    return SparkSession(SparkContext.getOrCreate(conf))


def _local_settings(brief: bool) -> dict[str, str]:
    """Return settings for a driver and workers in one process. The settings keep ports on the loopback interface and
    files out of the working directory, and prevent other users from reading the files.
    """
    folder = private_folder()
    options = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} -XX:+UseSerialGC -Xshare:auto"
    options += f" -Djava.io.tmpdir={folder}"
    if brief:
        options += " -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"  # typed tables exceed the default of 48m
    return {
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": f"{_heap_mb()}m",
        "spark.driver.extraJavaOptions": options,
        "spark.sql.shuffle.partitions": str(2 * _cores()),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.hadoop.fs.permissions.umask-mode": "077",
    }


@cache
def private_folder() -> Path:
    """Create a private folder for temporary files of this process, and return its path.

    The folder is removed when the process exits. The next process to start removes the folders of killed processes.
    """
    temporary = Path(tempfile.gettempdir())
    for left in temporary.glob(f"{PRIVATE}*"):
        with suppress(OSError), claimed(left) as is_ours:
            if is_ours and left.lstat().st_uid == os.getuid():
                shutil.rmtree(left)  # does not follow links
    made = Path(tempfile.mkdtemp(prefix=f".{PRIVATE}"))
    held = ExitStack()
    held.callback(shutil.rmtree, folder := temporary / made.name[1:], ignore_errors=True)
    held.enter_context(claimed(made))
    atexit.register(held.close)
    return made.rename(folder)  # other processes find the folder only after it is claimed


def _use_environment(configuration: Any) -> None:
    """Use the same S3 endpoint and region for ``s3a`` as for inputs, unless Spark's settings already define them."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    wanted = {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.path.style.access": endpoint and "true",
        "fs.s3a.endpoint.region": region,
    }
    for name, value in wanted.items():
        sources = configuration.getPropertySources(name)
        if value and (sources is None or [*sources] == [DEFAULTS]):
            configuration.set(name, value)


def spark_home() -> Path:
    """Return Spark's home folder, which is SPARK_HOME or the folder of pyspark."""
    from importlib.util import find_spec

    found = find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return Path(os.environ.get("SPARK_HOME") or Path(found.origin).parent)


def _cores() -> int:
    return os.cpu_count() or 1


def _heap_mb() -> int:
    """Return an eighth of the machine's memory in megabytes, but at least 1 GB and at most 4 GB. Rows only pass
    through the heap, and aggregations spill to disk."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    except (ValueError, OSError, AttributeError):  # not available on every system
        return 2048
    return min(max(total // 8, 1024), 4096)


def check_java() -> int:
    """Return the major version of the Java installation that Spark will use. JAVA_HOME takes precedence over PATH.

    Raises :class:`JavaMissingError` if Java is missing or older than :data:`MIN_JAVA`.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        raise JavaMissingError(f"Java not found: JAVA_HOME is not set and PATH has no java.\n{INSTALL}")
    version = _java_version(java)
    if version is None:
        raise JavaMissingError(f"{java} does not run.\n{INSTALL}")
    if version < MIN_JAVA:
        raise JavaMissingError(f"{java} is Java {version}, which is too old.\n{INSTALL}")
    return version


def _java_version(java: str) -> int | None:
    """Return the major version, such as 17 for ``openjdk version "17.0.15" 2025-04-15`` or 8 for ``java version
    "1.8.0_402"``. Return ``None`` if Java cannot be run."""
    try:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', ran.stderr + ran.stdout)
    return int(match[1]) if match else None
