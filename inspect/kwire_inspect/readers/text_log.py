"""Reads request logs as EXCHANGES and server logs as REFUSALS. ``kwire_spark.sources`` documents the options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import ClassVar

import pyarrow as pa

from kwire_inspect.options import Options
from kwire_inspect.readers import Reader
from kwire_inspect.rows import LAYOUTS, Projection
from kwire_inspect.text_logs import Split, refusal_batches, request_batches, splits
from kwire_inspect.text_logs.lines import LONGEST


class TextLogReader(Reader):
    """Reader with one task per split of a file. ``table`` is the name of the layout of the rows.

    ``batches`` yields the rows of a split. The function accepts the split and the projection, and the keyword
    arguments ``zone``, ``failfast`` and ``longest``.
    """

    table: ClassVar[str]
    batches: ClassVar[Callable[..., Iterator[pa.RecordBatch]]]

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        super().__init__(options, schema)
        zone, longest = options.time_zone("timeZone"), options.size("maxLine", LONGEST)
        self._batches = partial(self.batches, zone=zone, failfast=options.failfast, longest=longest)

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return LAYOUTS[cls.table].full

    def tasks(self) -> Sequence[Split]:
        files = self.options.files()
        return splits(files, self.split_size(files))

    def read(self, task: Split) -> Iterator[pa.RecordBatch]:
        return self._batches(task, Projection(self.table, self.schema, self.conditions, self.options.protocol()))


class RequestLogReader(TextLogReader):
    table = "logged_exchanges"
    batches = staticmethod(request_batches)


class ServerLogReader(TextLogReader):
    table = "refusals"
    batches = staticmethod(refusal_batches)
