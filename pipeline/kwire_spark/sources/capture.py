"""``kafka_capture``: packet captures as a table of frames, or of requests with their responses.

::

    spark.read.format("kafka_capture").option("rows", "exchanges").load("captures/*.pcap.gz")

=================  ===================================================================================================
``path``           files in pcap or pcapng format, plain, gzip or zstd; folders, patterns. All are read as one
                   capture: a connection may begin in one file and continue in another.
``rows``           ``frames`` (default): ``columns.FRAMES``; ``exchanges``: ``columns.EXCHANGES``
``ports``          server ports, such as ``9092,19092-19095``: only connections to these are read. By default, if the
                   beginning of a connection was not captured, its client is guessed from usual ports.
``start``, ``end`` times: packets before ``start``, and from ``end`` on, are ignored
``mode``           ``permissive`` (default): a broken part of a file becomes a row with ``_corrupt``; ``failfast``: it
                   is an error. Bytes missing from a connection are never an error, but reported in rows.
``partitions``     number of tasks that share the work: by default one for each 32 MB, up to the number of processors
``maxDecoded``     bodies of frames above this size (default: 2m) are only decoded if a few large values, such as
                   records, make up nearly all of it; otherwise ``reason`` says so, and there are no error codes
``maxHeld``        limit of the bytes that all connections of a task keep while they wait for the rest of frames or
                   for responses (default: 32m). Beyond it those with most are dropped, and rows say so.
``pushdown``       ``true`` lets filters of the query reduce the work: see below (default: false)
=================  ===================================================================================================

Every task reads all packets but decodes only its own connections, selected by a hash, from beginning to end: so
connections may span files and hours, and tasks exchange no data.

Columns that are not in a schema given by ``.schema("api string, version smallint")`` are not computed; without those
for the outcome of a request, bodies are not even decoded.

With ``pushdown``, filters on connection and server, and on the client of frames, spare the connections, those on api
the decoding of others; rows that do not pass stay in the worker. A filter on time only drops rows: earlier facts
about a connection, such as its client, are still known. It is for a DataFrame that one query reads once: Spark 4.3
keeps pushed filters with the DataFrame, so another query on it would get the rows of the first query's filters.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from kwire_spark.capture import read_pieces
from kwire_spark.frames import Table, frame_batches
from kwire_spark.frames.projection import BUDGET, TABLES, Budget
from kwire_spark.options import Options
from kwire_spark.sources.base import Reader, Source
from kwire_spark.worker import tune_worker

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

BYTES_PER_TASK = 32 << 20
COMPRESSION = 4
"""How much smaller compressed captures are, roughly."""


class CaptureReader(Reader):
    """Plans shares of all files; every task reads all packets of the files, but only the connections of its share."""

    def __init__(self, options: Options, schema: StructType) -> None:
        super().__init__(options, schema)
        start, end = options.time("start"), options.time("end")
        self._pieces = partial(read_pieces, ports=options.ports("ports"), start=start, end=end)
        budget = Budget(options.size("maxDecoded", BUDGET.decoded), options.size("maxHeld", BUDGET.held))
        self._batches = partial(frame_batches, table=_table(options), failfast=options.failfast, budget=budget)

    @classmethod
    def columns(cls, options: Options) -> pa.Schema:
        return TABLES[_table(options)]

    def partitions(self) -> Sequence[InputPartition]:
        files = self.options.files()
        tasks = self.options.number("partitions", 0) or _tasks(files)
        return [InputPartition((files, (number, tasks))) for number in range(tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        tune_worker()
        files, share = partition.value
        return self._batches(self._pieces(files, share=share), self.schema, conditions=self.conditions)


class KafkaCapture(Source):
    """Registers as ``kafka_capture``."""

    reads = CaptureReader


def _table(options: Options) -> Table:
    return "exchanges" if options.choice("rows", "frames", ("frames", "exchanges")) == "exchanges" else "frames"


def _tasks(files: Sequence[str]) -> int:
    """As many tasks as the files are worth, and this machine can run at once."""
    size = sum(_size(Path(file)) for file in files)
    return max(1, min(-(-size // BYTES_PER_TASK), os.cpu_count() or 1))


def _size(file: Path) -> int:
    try:
        size = file.stat().st_size
    except OSError:
        return 0  # deleted meanwhile: reading it reports that
    return size * COMPRESSION if file.suffix in (".gz", ".zst", ".zstd") else size
