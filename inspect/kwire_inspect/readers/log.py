"""Reads log segments and snapshots as RECORDS. ``kwire_spark.sources.log`` documents the options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire.compression import DEFAULT_LIMIT
from kwire.frames import MAX_DECODED
from kwire_inspect.options import OptionError, Options
from kwire_inspect.readers import Reader
from kwire_inspect.rows import may_pass
from kwire_inspect.schemas import RECORDS
from kwire_inspect.segments import Bounds, Selection, Split, record_batches, segment_files, splits
from kwire_inspect.segments.bounds import HIGHEST, LOWEST
from kwire_inspect.segments.files import STATES, name_of
from kwire_inspect.segments.rows import MAX_RECORD
from kwire_inspect.segments.typed import raw_schema, typed_batches, typed_schema
from kwire_inspect.tables.record_structs import RecordStructs, record_kind

if TYPE_CHECKING:
    from kwire.logs import LogSegment


class LogReader(Reader):
    """Reader that plans tasks from file sizes only. Each task finds the first batch in its split."""

    def __init__(self, options: Options, schema: pa.Schema | None = None) -> None:
        super().__init__(options, schema)
        self._decode = _typed(options)
        self._bounds = _bounds(options)
        self._selection = _selection(options)
        self._batches = partial(
            record_batches,
            failfast=options.failfast,
            control=options.flag("control", True),
            hide=options.choice("secrets", "hide", ("hide", "keep")) == "hide",
            limit=options.size("limit", DEFAULT_LIMIT),
            most=options.size("maxRecord", MAX_RECORD),
        )

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        decode = _typed(options)
        return typed_schema(decode) if decode else RECORDS

    def tasks(self) -> Sequence[tuple[Split, ...]]:
        found = segment_files(self.options.files(), self.options.paths(), self._selection)
        wanted = [file for file in found if self._wants(file)]
        size = self.split_size(map(name_of, wanted))
        return splits(wanted, size)

    def read(self, task: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
        schema = raw_schema(self.schema) if self._decode else self.schema
        batches = self._batches(task, schema, bounds=self._bounds.narrowed(self.conditions))
        return typed_batches(batches, self._decode, self.schema) if self._decode else batches

    def _wants(self, file: LogSegment) -> bool:
        """Return whether a file can contain requested rows."""
        if self._decode is not None and not self._decode.kind.is_in(file.topic or ""):
            return False
        return file.topic is None or may_pass(self.conditions, {"topic": file.topic, "partition": file.partition})


def _typed(options: Options) -> RecordStructs | None:
    name, protocol = options.text("record"), options.protocol()
    most = options.size("maxDecoded", MAX_DECODED)
    return RecordStructs(record_kind(name, protocol), protocol, most) if name else None


def _bounds(options: Options) -> Bounds:
    start, end = options.time("start"), options.time("end")
    last_offset = options.number("endOffset", 0) - 1 if options.text("endOffset") else HIGHEST
    return Bounds(
        first_offset=options.number("startOffset", 0) if options.text("startOffset") else LOWEST,
        last_offset=last_offset,
        first_time=LOWEST if start is None else round(start * 1_000_000),
        last_time=HIGHEST if end is None else round(end * 1_000_000) - 1,
    )


def _selection(options: Options) -> Selection:
    states = options.names("states")
    if unknown := sorted(set(states) - set(STATES)):
        raise OptionError(f"the option states accepts {', '.join(STATES)}, not {', '.join(unknown)}")
    checkpoints = options.choice("checkpoints", "auto", ("auto", "true", "false"))
    return Selection(options.names("topics"), states, checkpoints)
