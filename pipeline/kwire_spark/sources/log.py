"""``kafka_log``: log segments and metadata snapshots of a broker as a table of records, ``columns.RECORDS``.

::

    spark.read.format("kafka_log").load("/var/lib/kafka/data").where("topic = '__consumer_offsets'")

===================  =================================================================================================
``path``             data directories, folders of partitions, files, patterns
``mode``             ``permissive`` (default): broken input becomes a row with ``_corrupt``; ``failfast``: it is an
                     error
``record``           a kind of record, such as ``OffsetCommit``: only these, with ``key`` and ``value`` as structs
``topics``           comma-separated patterns, such as ``orders*,!*-changelog`` (default: all topics)
``start``, ``end``   times: records from ``start`` on and before ``end``; those without a time are left out
``startOffset``,     offsets: from ``startOffset`` on and before ``endOffset``
``endOffset``
``control``          whether control records, such as commit markers, are rows (default: true)
``checkpoints``      ``auto`` (default): the newest snapshot, if the metadata log does not reach back to its start;
                     ``true``: all snapshots, which repeat records of the log; ``false``: none. A file named in
                     ``path`` is always read.
``states``           folders that are left out by default: ``delete``, ``future``, ``stray``
``secrets``          ``hide`` (default) removes salted passwords and sensitive configurations from metadata records
``splitSize``        bytes of a file that one task reads (default: 64m, less for small inputs)
``limit``            largest decompressed size of a batch in bytes (default: 100m)
``pushdown``         ``true`` lets filters of the query skip files and batches: see below (default: false)
===================  =================================================================================================

Columns that are not in a schema given by ``.schema("topic string, offset bigint")`` are not computed; without columns
of the record itself, records are not even decompressed.

With ``pushdown``, filters on topic and partition skip files, and those on offset and time skip batches. It is for a
DataFrame that one query reads once. Spark 4.3 keeps pushed filters with the DataFrame: another query on it, or
another part of the same query, would silently get the rows of the first query's filters. The options are always safe.

An incomplete batch at the end of the newest segment of a partition is a row with ``_corrupt`` in both modes and not
an error: it is normal while a broker writes, or after it was killed. Anywhere else it is damage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from kwire.compression import DEFAULT_LIMIT
from kwire_spark.columns import RECORDS
from kwire_spark.options import OptionError, Options
from kwire_spark.projection import may_pass
from kwire_spark.segments import Bounds, Selection, record_batches, segment_files, splits
from kwire_spark.segments.bounds import LEAST, MOST
from kwire_spark.segments.files import STATES
from kwire_spark.segments.typed import raw_schema, typed_batches, typed_schema
from kwire_spark.sources.base import Reader, Source
from kwire_spark.tables.record_structs import RecordKind, record_kind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kwire.logs import LogSegment


class LogReader(Reader):
    """Plans tasks by sizes of files alone; tasks find where their batches begin."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        self._kind = _kind(options)
        self._bounds = _bounds(options)
        self._selection = _selection(options)
        self._batches = partial(
            record_batches,
            failfast=options.failfast,
            control=options.flag("control", True),
            hide=options.choice("secrets", "hide", ("hide", "keep")) == "hide",
            limit=options.size("limit", DEFAULT_LIMIT),
        )

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        kind = _kind(options)
        return typed_schema(kind) if kind else RECORDS

    def partitions(self) -> Sequence[InputPartition]:
        found = segment_files(self.options.files(), self.options.paths(), self._selection)
        wanted = [file for file in found if self._wants(file)]
        size = self.split_size(str(file.path) for file in wanted)
        return [InputPartition(group) for group in splits(wanted, size)] or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = raw_schema(self.schema) if self._kind else self.schema
        batches = self._batches(partition.value, schema, bounds=self._bounds.narrowed(self.conditions))
        return typed_batches(batches, self._kind, self.schema) if self._kind else batches

    def _wants(self, file: LogSegment) -> bool:
        """Whether a file can have requested rows."""
        if self._kind is not None and self._kind.topic not in (None, file.topic):
            return False
        return file.topic is None or may_pass(self.conditions, {"topic": file.topic, "partition": file.partition})


class KafkaLog(Source):
    """Registers as ``kafka_log``."""

    reads = LogReader


def _kind(options: Options) -> RecordKind | None:
    name = options.text("record")
    return record_kind(name) if name else None


def _bounds(options: Options) -> Bounds:
    start, end = options.time("start"), options.time("end")
    last_offset = options.number("endOffset", 0) - 1 if options.text("endOffset") else MOST
    return Bounds(
        first_offset=options.number("startOffset", 0) if options.text("startOffset") else LEAST,
        last_offset=last_offset,
        first_time=LEAST if start is None else round(start * 1_000_000),
        last_time=MOST if end is None else round(end * 1_000_000) - 1,
    )


def _selection(options: Options) -> Selection:
    states = options.names("states")
    if unknown := sorted(set(states) - set(STATES)):
        raise OptionError(f"the option states must be of {', '.join(STATES)}, not {', '.join(unknown)}")
    checkpoints = options.choice("checkpoints", "auto", ("auto", "true", "false"))
    return Selection(options.names("topics"), states, checkpoints)
