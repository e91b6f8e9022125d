"""What the sources of request logs and server logs have in common: options, splits, filters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire_spark.options import OptionError, Options
from kwire_spark.sources.capture import condition
from kwire_spark.spark_types import selected, spark_schema
from kwire_spark.text_logs import Chosen, Split, splits

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

Batches = Callable[..., Iterator[pa.RecordBatch]]
"""Of a split, what is chosen, the time zone, and ``failfast``."""

LARGEST_SPLIT, LEAST_SPLIT = 64 << 20, 4 << 20
"""Bytes of a file that one task reads, unless the option says."""


class TextLog(DataSource):
    """A source of log files. ``full`` is its table, ``batches`` makes the rows of a split."""

    full: ClassVar[pa.Schema]
    batches: ClassVar[Batches]

    def schema(self) -> StructType:
        return spark_schema(self.full)

    def reader(self, schema: StructType) -> TextLogReader:
        options = Options(self.options)
        kind = PushingReader if options.flag("pushdown", False) else TextLogReader
        return kind(self.full, self.batches, options, schema)


class TextLogReader(DataSourceReader):
    """Plans splits of files on the driver; a task reads one."""

    def __init__(self, full: pa.Schema, batches: Batches, options: Options, schema: StructType) -> None:
        self._options = options
        self._batches = batches
        self._zone = time_zone(options)
        self._failfast = options.failfast
        self.chosen = Chosen(full, selected(full, schema))

    def partitions(self) -> Sequence[InputPartition]:
        files = self._options.files()
        size = self._options.size("splitSize", _split_size(files))
        return [InputPartition(split) for split in splits(files, size)] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        split: Split | None = partition.value
        if split is None:
            return iter(())
        return self._batches(split, self.chosen, self._zone, failfast=self._failfast)


class PushingReader(TextLogReader):
    """Reads less where filters allow it; Spark applies all of them again, as it knows SQL better."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        full = self.chosen.full
        made = [condition(one, full) for one in filters]
        self.chosen = Chosen(full, self.chosen.schema, [one for one in made if one is not None])
        return filters


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
