"""Writes tables as files, which are replaced as a whole. Repeating a job produces the same result.

``write`` writes a DataFrame to a folder under a name and returns the path of the table. Files are accessed through
Hadoop, so the folder may be ``hdfs://`` or ``s3a://`` as well as local.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from kwire_inspect.options import OptionError
from kwire_inspect.reports.text import FORMULA, UNPRINTABLE
from kwire_inspect.stored import MARKER, MAX_MARKER, UNKNOWN, Origin
from kwire_inspect.tables.clients import Clients
from kwire_inspect.tables.files import DATE, Files

HINTS = {
    "S3AFileSystem not found": "Spark lacks hadoop-aws (spark.jars.packages)",
    "No FileSystem for scheme": "Spark has no file system for this address (spark.jars.packages)",
    "NoSuchBucket": "there is no such bucket",
    "Status Code: 403": "access is denied: check the credentials and the permissions to list and write",
}
"""Advice for parts of Hadoop's error messages."""
FILES = frozenset({"parquet", "orc", "json", "csv", "text", "avro"})
"""Formats whose tables are folders of files. Other formats, such as Delta Lake, have their own way to replace tables
atomically."""


def write(
    table: DataFrame,
    folder: str,
    name: str,
    format: str = "parquet",
    *,
    by_date: bool = False,
    partition_by: Sequence[str] = (),
    origin: Origin = UNKNOWN,
    **options: str,
) -> str:
    """Write ``table`` to ``folder/name``, replacing any earlier table, and return this path.

    ``name`` may contain folders. Raises :class:`~kwire_inspect.options.OptionError` instead of replacing a file,
    folder or link that kwire did not write. Files are written to ``_name.writing``, which is then renamed. If a job
    is killed, the old table survives, possibly as ``_name.replaced``, which the next run restores. If renaming copies
    files, as on S3, the replacement takes as long as the copy. Formats other than :data:`FILES` replace tables in
    their own way.

    In CSV, strings that a spreadsheet would evaluate as formulas get the prefix ``'``, and characters that would
    control a terminal are escaped.

    ``by_date`` adds a column ``date``, the UTC date of ``time``, and partitions the table by this column.
    ``partition_by`` names further partition columns. Each task writes at most one file per partition. ``origin`` is
    stored for reports on the table. ``options`` are passed to the format.
    """
    if by_date:
        table, partition_by = _dated(table), [*partition_by, DATE]
    path = f"{folder.rstrip('/')}/{name}"
    writer = _writer(table, format, partition_by, options)
    if format.lower() not in FILES:
        writer.mode("overwrite").save(path)
        return path
    files = _Files(table.sparkSession, path)
    with files.replacing(folder, name) as written:
        files.create(f"{written}/{MARKER}", origin.marker())
        writer.mode("append").save(written)
    return path


def write_clients(seen: Clients[DataFrame], folder: str, format: str = "parquet") -> None:
    """Write the tables ``clients`` and ``problems``. Reports on these tables equal reports on the original inputs."""
    write(seen.problems.coalesce(1), folder, "problems", format, origin=seen.origin)
    write(seen.table.coalesce(1), folder, "clients", format, origin=seen.origin)


def check_folder(spark: SparkSession, folder: str) -> None:
    """Write a small file to a folder on any file system, and remove it. Raise :class:`OptionError` if the folder
    cannot be written.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    path = f"{folder.rstrip('/')}/_kwire.check"
    try:
        files = _Files(spark, path)
        files.create(path, bytes(1))
        files._remove(path)
    except Py4JJavaError as error:
        text = str(error.java_exception.toString())
        reason = next(
            (hint for known, hint in HINTS.items() if known in text),
            text.rpartition("Exception: ")[2].partition(" (Service: ")[0][:200],
        )
        raise OptionError(f"{folder}: cannot write here: {reason}. Choose another folder with --out") from None


def exists(spark: SparkSession, path: str) -> bool:
    """Restore a table that a killed job moved away, and return whether the table exists. ``path`` can be on any file
    system.
    """
    files = _Files(spark, path)
    files.restore(path)
    return files.exists(path)


def _writer(table: DataFrame, format: str, partition_by: Sequence[str], options: dict[str, str]) -> DataFrameWriter:
    if format.lower() == "csv":
        texts = [field.name for field in table.schema if isinstance(field.dataType, StringType)]
        table = table.withColumns({name: _csv_cell(F.col(f"`{name}`")) for name in texts})
    writer = table.write.format(format).options(**options)
    return writer.partitionBy(*partition_by) if partition_by else writer


def _csv_cell(text: Column) -> Column:
    """Return a column whose cells are converted as in :func:`~kwire_inspect.reports.text.csv_cell`."""

    def escaped(character: Column) -> Column:
        escape = F.format_string("\\u%04x", F.ascii(character))
        return F.when(character.rlike(UNPRINTABLE), escape).otherwise(character)

    text = F.regexp_replace(text, FORMULA, "'$0")
    characters = F.transform(F.split(text, ""), escaped)
    return F.when(text.rlike(UNPRINTABLE), F.array_join(characters, "")).otherwise(text)


def _dated(table: DataFrame) -> DataFrame:
    """Return the table with a column ``date``, computed in UTC regardless of the session's time zone."""
    day = F.date_from_unix_date(F.floor(F.unix_micros("time") / F.lit(86_400_000_000)).cast("int"))
    return table.withColumn(DATE, day)


class _Files(Files):
    """File operations that Spark's writers lack, implemented with Hadoop's file systems."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._system = self._path(path).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def create(self, path: str, content: bytes) -> None:
        file = self._system.create(self._path(path))
        file.write(bytearray(content))
        file.close()

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def rename(self, old: str, new: str) -> None:
        if not self._system.rename(self._path(old), self._path(new)):
            raise OSError(f"cannot rename {old} to {new}")

    def _children(self, path: str) -> list[str]:
        return [status.getPath().getName() for status in self._system.listStatus(self._path(path))]

    def _beginning(self, path: str) -> bytes:
        file = self._system.open(self._path(path))
        try:
            return bytes(file.readNBytes(MAX_MARKER))
        finally:
            file.close()

    def _remove(self, path: str) -> None:
        self._system.delete(self._path(path), True)
