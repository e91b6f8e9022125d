"""Tables as files, replaced as a whole, with the same result when a job runs again.

Takes a DataFrame, a folder and a name, and returns the path of the table. Files are accessed through Hadoop, so the
folder may be ``hdfs://`` or ``s3a://`` as well as local.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from kwire_spark.csv_cells import FORMULA
from kwire_spark.options import OptionError

FILES = frozenset({"parquet", "orc", "json", "csv", "text", "avro"})
"""Formats that are folders of files. Others, such as Delta Lake, replace a table atomically themselves."""
DATE = "date"
MARKER = "_kwire"
"""The file by which a table that was written here is known; Spark ignores names that start with ``_``."""


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
    """Write ``table`` to ``folder/name``, replacing an earlier one, and return that path.

    ``name`` may begin with folders. A file, folder or link that was not written here is an
    :class:`~kwire_spark.options.OptionError`. Files are written to ``_name.writing`` and then renamed. If a job is
    killed the old table survives, possibly as ``_name.replaced``, which the next run restores. Where a rename copies,
    as on S3, replacing takes as long as that. Formats that are not folders of files (:data:`FILES`) replace tables in
    their own way.

    In CSV, a text that a spreadsheet would evaluate as a formula is prefixed with ``'``.

    ``by_date`` adds a column ``date``, the UTC date of ``time``, and partitions by it; ``partition_by`` names further
    columns. Each task writes at most one file to each partition. ``options`` are those of the format.
    """
    if by_date:
        table, partition_by = _dated(table), [*partition_by, DATE]
    path = f"{folder.rstrip('/')}/{name}"
    writer = _writer(table, format, partition_by, options)
    if format.lower() not in FILES:
        writer.mode("overwrite").save(path)
        return path
    written, replaced = _hidden(path, "writing"), _hidden(path, "replaced")
    files = _Files(table.sparkSession, path)
    _refuse_links(folder, name)
    files.check(path)
    _restore(files, path)
    files.delete(written)
    files.create(f"{written}/{MARKER}")
    writer.mode("append").save(written)
    if files.exists(path):
        files.rename(path, replaced)
    files.rename(written, path)
    files.delete(replaced)
    return path


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a table, on any file system, after restoring one that a killed job has moved away."""
    files = _Files(spark, path)
    _restore(files, path)
    return files.exists(path)


def _hidden(path: str, state: str) -> str:
    """The path of a table while it is replaced; Spark ignores names that start with ``_``."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/_{name}.{state}"


def _restore(files: _Files, path: str) -> None:
    """Clean up after a killed job: keep the new table if it was complete, else move the old one back."""
    replaced = _hidden(path, "replaced")
    if files.exists(path):
        files.delete(replaced)
    elif files.exists(replaced):
        files.rename(replaced, path)


def _refuse_links(folder: str, name: str) -> None:
    for path in (PurePosixPath(name), *PurePosixPath(name).parents[:-1]):
        if Path(folder.removeprefix("file:"), path).is_symlink():
            raise OptionError(f"{folder}/{path} is a symbolic link: remove it, or choose another folder")


def _writer(table: DataFrame, format: str, partition_by: Sequence[str], options: dict[str, str]) -> DataFrameWriter:
    if format.lower() == "csv":
        texts = [field.name for field in table.schema if isinstance(field.dataType, StringType)]
        table = table.withColumns({name: F.regexp_replace(f"`{name}`", FORMULA, "'$0") for name in texts})
    writer = table.write.format(format).options(**options)
    return writer.partitionBy(*partition_by) if partition_by else writer


def _dated(table: DataFrame) -> DataFrame:
    """The table with ``date``, computed in UTC regardless of the session's time zone."""
    day = F.date_from_unix_date(F.floor(F.unix_micros("time") / F.lit(86_400_000_000)).cast("int"))
    return table.withColumn(DATE, day)


class _Files:
    """File operations that Spark's writers lack, through Hadoop's file systems."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm: Any = spark.sparkContext._jvm
        self._path = jvm.org.apache.hadoop.fs.Path
        self._system = self._path(path).getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())

    def check(self, path: str) -> None:
        """Raise :class:`OptionError` unless ``path`` is missing, an empty folder, or a table of ours."""
        if self.exists(path) and not self.exists(f"{path}/{MARKER}") and self._children(path):
            raise OptionError(f"{path} was not written by kwire_spark: move it, or choose another folder")

    def create(self, path: str) -> None:
        self._system.create(self._path(path)).close()

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def delete(self, path: str) -> None:
        """Delete a table, its marker last, so that the rest of a deletion that was interrupted is known."""
        if self.exists(path):
            self.check(path)
            for child in self._children(path):
                if child.getName() != MARKER:
                    self._system.delete(child, True)
            self._system.delete(self._path(path), True)

    def _children(self, path: str) -> list[Any]:
        return [status.getPath() for status in self._system.listStatus(self._path(path))]

    def rename(self, old: str, new: str) -> None:
        if not self._system.rename(self._path(old), self._path(new)):
            raise OSError(f"cannot rename {old} to {new}")
