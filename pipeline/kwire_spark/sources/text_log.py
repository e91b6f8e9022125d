"""The shared part of the sources of request logs and server logs: options, splits, filters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire_spark.options import OptionError, Options
from kwire_spark.projection import Projection
from kwire_spark.rows import LAYOUTS
from kwire_spark.sources.filters import Reader, conditions
from kwire_spark.spark_types import selected, spark_schema
from kwire_spark.text_logs import Split, splits

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

Batches = Callable[..., Iterator[pa.RecordBatch]]
"""Takes a split, the projection, the time zone, and ``failfast``."""

LARGEST_SPLIT, LEAST_SPLIT = 64 << 20, 4 << 20
"""Bytes of a file that one task reads, unless the option says."""


class TextLog(DataSource):
    """A source of log files. ``table`` is the layout of its rows, ``batches`` makes the rows of a split."""

    table: ClassVar[str]
    batches: ClassVar[Batches]

    def schema(self) -> StructType:
        return spark_schema(LAYOUTS[self.table].full)

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.options)
        return TextLogReader(self.table, self.batches, options, schema).pushing(options.flag("pushdown", False))


class TextLogReader(Reader):
    """Plans splits of files on the driver; a task reads one."""

    def __init__(self, table: str, batches: Batches, options: Options, schema: StructType) -> None:
        self._options = options
        self._batches = batches
        self._zone = time_zone(options)
        self._failfast = options.failfast
        self.table = table
        self.projection = Projection(table, selected(LAYOUTS[table].full, schema))

    def push(self, filters: list[Filter]) -> None:
        made = conditions(filters, self.projection.layout.full)
        self.projection = Projection(self.table, self.projection.schema, made)

    def partitions(self) -> Sequence[InputPartition]:
        files = self._options.files()
        size = self._options.size("splitSize", _split_size(files))
        return [InputPartition(split) for split in splits(files, size)] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        split: Split | None = partition.value
        if split is None:
            return iter(())
        return self._batches(split, self.projection, self._zone, failfast=self._failfast)


def _split_size(files: Sequence[str]) -> int:
    """Small enough for all processors of this machine to have something to do."""
    total = sum(path.stat().st_size for path in map(Path, files) if path.is_file())
    return min(LARGEST_SPLIT, max(LEAST_SPLIT, total // (2 * (os.cpu_count() or 1))))


def time_zone(options: Options) -> tzinfo:
    """The option ``timeZone``: a name of the time zone database, or an offset from UTC."""
    value = (options.text("timeZone") or "UTC").strip()
    if value.upper() in ("UTC", "Z", "GMT"):
        return UTC
    try:
        if value[0] in "+-":
            zone = datetime.strptime(value, "%z").tzinfo
            assert zone is not None
            return zone
        return ZoneInfo(value)
    except (ValueError, OSError, LookupError):
        wanted = "a time zone, as Europe/Berlin, UTC or +02:00"
        raise OptionError(f"the option timeZone must be {wanted}, not {value!r}") from None
