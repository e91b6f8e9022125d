"""Tables as files: whole or not at all, and the same when a job runs again.

Takes a DataFrame, a folder and a name; gives the path of the table. Files go through Hadoop's file systems, so that
the folder may be ``hdfs://`` or ``s3a://`` as well as local.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = frozenset({"parquet", "orc", "json", "csv", "text", "avro"})
"""Formats that are folders of files. Others, as Delta Lake, replace a table in one step by themselves."""
DATE = "date"


def write(
    table: DataFrame,
    folder: str,
    name: str,
    format: str = "parquet",
    *,
    by_date: bool = False,
    partition_by: Sequence[str] = (),
    **options: str,
) -> str:
    """Write ``table`` as ``folder/name``, replacing an existing table, and return that path.

    The files are written to ``_name.writing`` and take the place of the table by a rename: if a job is killed, the
    old table survives, possibly as ``_name.replaced``, which the next run restores. Where a rename copies (S3),
    that takes longer. Formats that are not folders of files (:data:`FILES`) replace tables in their own way.

    ``by_date`` adds a column ``date`` of the column ``time``, in UTC, and makes a folder for each; ``partition_by``
    for the values of columns. There is at most one file for each task and folder. ``options`` are the format's.
    """
    if by_date:
        table, partition_by = _dated(table), [*partition_by, DATE]
    path = f"{folder.rstrip('/')}/{name}"
    if format.lower() not in FILES:
        _save(table, format, path, partition_by, options)
        return path
    beside, replaced = _beside(path, "writing"), _beside(path, "replaced")
    files = _Files(table.sparkSession, path)
    _put_back(files, path)
    _save(table, format, beside, partition_by, options)
    if files.exists(path):
        files.rename(path, replaced)
    files.rename(beside, path)
    files.delete(replaced)
    return path


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a table, on whatever file system. One that a killed job had moved away is put back first."""
    files = _Files(spark, path)
    _put_back(files, path)
    return files.exists(path)


def _beside(path: str, state: str) -> str:
    """Where a table is while it is replaced; readers of folders pass over names that begin with ``_``."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/_{name}.{state}"


def _put_back(files: _Files, path: str) -> None:
    """Undo what a killed job had begun: of the old table and none the old one is right, of two the new one."""
    replaced = _beside(path, "replaced")
    if files.exists(path):
        files.delete(replaced)
    elif files.exists(replaced):
        files.rename(replaced, path)


def _save(table: DataFrame, format: str, path: str, partition_by: Sequence[str], options: dict[str, str]) -> None:
    writer = table.write.format(format).mode("overwrite").options(**options)
    (writer.partitionBy(*partition_by) if partition_by else writer).save(path)


def _dated(table: DataFrame) -> DataFrame:
    """Sessions of ours have UTC; a date must not depend on where somebody else's session is."""
    from pyspark.sql import functions as F

    day = F.date_from_unix_date(F.floor(F.unix_micros("time") / F.lit(86_400_000_000)).cast("int"))
    return table.withColumn(DATE, day)


class _Files:
    """What has to be done to files that Spark's writers have no word for, through Hadoop."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._system = self._path(path).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def delete(self, path: str) -> None:
        self._system.delete(self._path(path), True)

    def rename(self, old: str, new: str) -> None:
        if not self._system.rename(self._path(old), self._path(new)):
            raise OSError(f"{old} cannot be renamed to {new}")
