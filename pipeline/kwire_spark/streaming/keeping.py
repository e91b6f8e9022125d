"""The table ``clients``, kept up to date by a stream of exchanges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.columns import CLIENTS
from kwire_spark.spark_types import spark_schema
from kwire_spark.stored import Origin
from kwire_spark.tables.clients import clients
from kwire_spark.tables.read import literal
from kwire_spark.tables.write import exists, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCH = "batch"
KEPT = CLIENTS.append(pa.field(BATCH, pa.int64(), metadata={"comment": "The batch that was added last."}))
"""The columns of the table."""


def keep_clients(
    exchanges: DataFrame, folder: str, *, name: str = "clients", format: str = "parquet", inputs: str = ""
) -> DataStreamWriter:
    """A query that adds the rows of ``exchanges`` to the table ``folder/name``; start it with any trigger.

    Of exchanges only ``EXCHANGE_COLUMNS`` of ``tables.clients`` are needed. The table is replaced as a whole, in one
    step. The table records the last batch added, so that a batch that Spark repeats after a failure is not added
    twice. It belongs to the checkpoint next to it, ``folder/_name.checkpoint``; a missing checkpoint is a
    ``ValueError``. A connection counts once in each batch. ``inputs`` are those of the stream, in words, for
    reports on the table.
    """
    path, checkpoint = f"{folder.rstrip('/')}/{name}", f"{folder.rstrip('/')}/_{name}.checkpoint"
    if exists(exchanges.sparkSession, path) and not exists(exchanges.sparkSession, checkpoint):
        raise ValueError(f"{path} exists, but its checkpoint does not: {checkpoint}")
    writer = exchanges.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    return writer.foreachBatch(partial(add_batch, folder, name, format, inputs=inputs))


def add_batch(folder: str, name: str, format: str, batch: DataFrame, number: int, inputs: str = "") -> None:
    """Add the exchanges of the batch with this ``number``, counted from 0, unless it was added before."""
    from pyspark.sql import functions as F

    spark, path = batch.sparkSession, f"{folder.rstrip('/')}/{name}"
    known = _read(spark, path, format, KEPT)
    if known is None and number:
        raise ValueError(f"{path}: the table of this stream is missing; delete its checkpoint to start over")
    last = None if known is None else known.agg(F.max(BATCH)).first()
    if last is not None and last[0] is not None and last[0] >= number:
        return
    seen = clients(batch).persist()
    try:
        if known is not None and seen.isEmpty():
            return
        table = seen if known is None else clients(seen, known)
        table = table.withColumn(BATCH, F.lit(number).cast("long")).coalesce(1)
        write(table, folder, name, format, origin=Origin(inputs))
    finally:
        seen.unpersist()


def _read(spark: SparkSession, path: str, format: str, schema: pa.Schema) -> DataFrame | None:
    return spark.read.format(format).schema(spark_schema(schema)).load(literal(path)) if exists(spark, path) else None
