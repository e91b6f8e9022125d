"""Base classes of the data sources, which provide names, columns and filter pushdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kwire_inspect.options import COUNT, OPTIONS, OptionError, Options
from kwire_inspect.schemas import COUNTED, EXCHANGES
from kwire_inspect.storage import STDIN
from kwire_inspect.tables.clients import EXCHANGE_COLUMNS, counted
from kwire_spark.sources.filters import conditions
from kwire_spark.types import selected, spark_schema

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter
    from pyspark.sql.types import StructType

    from kwire_inspect.readers import Reader


NEEDED = pa.schema([EXCHANGES.field(name) for name in EXCHANGE_COLUMNS])


class TaskReader(DataSourceReader):
    """Runs a reader in Spark. The driver plans the tasks, and the workers read them."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    def partitions(self) -> Sequence[InputPartition]:
        return [InputPartition(task) for task in self.reader.tasks()] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return iter(()) if partition.value is None else self.reader.read(partition.value)


class PushingReader(TaskReader):
    """Reader that receives the filters of a query, which Spark then applies again. The reader is used only with the
    option ``pushdown``, because Spark 4.3 keeps pushed filters with the DataFrame."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self.reader.conditions = conditions(filters, self.reader.columns(self.reader.options))
        return filters


class CountingReader(TaskReader):
    """Reader that counts exchanges in the workers, so that only a few rows pass through Java. Other tasks may read
    requests of the same connections, so each connection is counted separately."""

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return counted(super().read(partition), most=0)


def refuse_standard_input(paths: Sequence[str]) -> None:
    """Raise :class:`OptionError` if standard input is among ``paths``, because Spark's workers cannot read it."""
    if STDIN in paths:
        raise OptionError(f"{STDIN} is standard input, which Spark cannot read: write it to a file")


class Source(DataSource):
    """Data source named after its module, such as ``kafka_log``."""

    reads: ClassVar[type[Reader]]
    kind: ClassVar[str]
    """Input type of the source, a key of ``OPTIONS``."""

    def given(self) -> Options:
        """Return the options. Raise :class:`OptionError` for an option that the source does not support."""
        return Options(self.options, OPTIONS[self.kind])

    @classmethod
    def name(cls) -> str:
        return f"kafka_{cls.__module__.rpartition('.')[2]}"

    def schema(self) -> StructType:
        options = self.given()
        return spark_schema(COUNTED if options.flag(COUNT, False) else self.reads.columns(options))

    def reader(self, schema: StructType) -> DataSourceReader:
        options = self.given()
        refuse_standard_input(options.paths())
        if options.flag(COUNT, False):
            return CountingReader(self.reads(options, NEEDED))
        reader = self.reads(options, selected(self.reads.columns(options), schema))
        return PushingReader(reader) if options.flag("pushdown", False) else TaskReader(reader)
