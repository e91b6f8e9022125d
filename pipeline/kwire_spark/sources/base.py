"""The shared part of all sources: their names, columns, pushdown of filters, and sizes of splits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire_spark.options import Options
from kwire_spark.sources.filters import conditions
from kwire_spark.spark_types import selected, spark_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from kwire_spark.projection import Condition

LARGEST_SPLIT, LEAST_SPLIT = 64 << 20, 4 << 20
"""Bytes of a file that one task reads, unless the option says."""


class Reader(DataSourceReader):
    """Plans tasks on the driver, and reads one of them in a worker. Only rows that satisfy ``conditions`` are needed:
    Spark applies all filters again."""

    def __init__(self, options: Options, schema: StructType) -> None:
        self.options = options
        self.schema = selected(self.columns(options), schema)
        self.conditions: list[Condition] = []

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        """All columns of the table."""
        raise NotImplementedError

    def split_size(self, files: Iterable[str]) -> int:
        """The option ``splitSize``; by default small enough for all processors to have something to do."""
        total = sum(path.stat().st_size for path in map(Path, files) if path.is_file())
        size = min(LARGEST_SPLIT, max(LEAST_SPLIT, total // (2 * (os.cpu_count() or 1))))
        return self.options.size("splitSize", size)


class PushingReader(DataSourceReader):
    """A reader to which Spark pushes the filters of a query. Only used with the option ``pushdown``: Spark 4.3 keeps
    pushed filters with the DataFrame."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self.reader.conditions = conditions(filters, self.reader.columns(self.reader.options))
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        return self.reader.partitions()

    def read(self, partition: InputPartition) -> Any:
        return self.reader.read(partition)


class Source(DataSource):
    """A source that is named after its module, such as ``kafka_log``."""

    reads: ClassVar[type[Reader]]

    @classmethod
    def name(cls) -> str:
        return f"kafka_{cls.__module__.rpartition('.')[2]}"

    def schema(self) -> StructType:
        return spark_schema(self.reads.columns(Options(self.options)))

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.options)
        reader = self.reads(options, schema)
        return PushingReader(reader) if options.flag("pushdown", False) else reader
