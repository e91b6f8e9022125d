"""The shared part of the sources of request logs and server logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kwire_spark.options import Options
from kwire_spark.projection import Projection
from kwire_spark.rows import LAYOUTS
from kwire_spark.sources.base import Reader
from kwire_spark.text_logs import splits
from kwire_spark.text_logs.lines import LONGEST

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class TextLogReader(Reader):
    """Plans splits of files; a task reads one. ``table`` is the layout of the rows.

    ``batches`` takes a split, the projection, and by name ``zone``, ``failfast`` and ``longest``; it makes the rows
    of the split.
    """

    table: ClassVar[str]
    batches: ClassVar[Callable[..., Iterator[pa.RecordBatch]]]

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        zone, longest = options.time_zone("timeZone"), options.size("maxLine", LONGEST)
        self._batches = partial(self.batches, zone=zone, failfast=options.failfast, longest=longest)

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return LAYOUTS[cls.table].full

    def partitions(self) -> Sequence[InputPartition]:
        files = self.options.files()
        return [InputPartition(split) for split in splits(files, self.split_size(files))] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        projection = Projection(self.table, self.schema, self.conditions)
        return iter(()) if partition.value is None else self._batches(partition.value, projection)
