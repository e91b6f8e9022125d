"""Reads metrics dumps as COUNTED. ``kwire_spark.sources.metrics`` documents the options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from kwire_inspect.options import Options
from kwire_inspect.readers import Reader
from kwire_inspect.schemas import COUNTED
from kwire_inspect.text_logs import metrics_batches


class MetricsReader(Reader):
    """Reader with one task per file."""

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return COUNTED

    def tasks(self) -> Sequence[str]:
        return self.options.files()

    def read(self, task: str) -> Iterator[pa.RecordBatch]:
        return metrics_batches(task, self.schema, self.options.protocol(), failfast=self.options.failfast)
