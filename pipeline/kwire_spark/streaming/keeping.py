"""The table ``clients``, kept up to date by a stream of exchanges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.columns import CLIENTS, EXCHANGES
from kwire_spark.spark_types import spark_schema
from kwire_spark.tables.clients import KEYS, identified, tally
from kwire_spark.tables.write import exists, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCH = "batch"
KEPT = CLIENTS.append(pa.field(BATCH, pa.int64(), metadata={"comment": "The batch that was added last."}))
"""The columns of the table."""
PROBLEMS = pa.schema([EXCHANGES.field(name) for name in ("source", "position", "_corrupt")])


def keep_clients(
    exchanges: DataFrame, folder: str, *, name: str = "clients", format: str = "parquet"
) -> DataStreamWriter:
    """A query that adds the rows of ``exchanges`` to the table ``folder/name``; start it with any trigger.

    Of exchanges only ``EXCHANGE_COLUMNS`` of ``tables.clients`` are needed. The table is replaced as a whole, in one
    step. The table records the last batch added, so that a batch that Spark repeats after a failure is not added
    twice. It belongs to the checkpoint next to it, ``folder/_name.checkpoint``; a missing checkpoint is a
    ``ValueError``. A connection counts once in each batch. Broken input is listed in the table
    ``folder/name_problems`` (``source``, ``position``, ``_corrupt``), which is created with its first row.
    """
    path, checkpoint = f"{folder.rstrip('/')}/{name}", f"{folder.rstrip('/')}/_{name}.checkpoint"
    if exists(exchanges.sparkSession, path) and not exists(exchanges.sparkSession, checkpoint):
        raise ValueError(f"{path} exists, but its checkpoint does not: {checkpoint}")
    writer = exchanges.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    return writer.foreachBatch(partial(add_batch, folder, name, format))


def add_batch(folder: str, name: str, format: str, batch: DataFrame, number: int) -> None:
    """Add the exchanges of the batch with this ``number``, counted from 0, unless it was added before."""
    from pyspark.sql import functions as F

    spark, path = batch.sparkSession, f"{folder.rstrip('/')}/{name}"
    known = _read(spark, path, format, KEPT)
    if known is None and number:
        raise ValueError(f"{path}: the table of this stream is missing; delete its checkpoint to start over")
    last = None if known is None else known.agg(F.max(BATCH)).first()
    if last is not None and last[0] is not None and last[0] >= number:
        return
    counted = tally(batch).persist()
    try:
        if known is not None and counted.isEmpty():
            return
        _add_problems(counted.where("_corrupt IS NOT NULL"), folder, f"{name}_problems", format)
        table = identified(counted)
        if known is not None:
            table = merged(table.unionByName(known.drop(BATCH)))
        write(table.withColumn(BATCH, F.lit(number).cast("long")).coalesce(1), folder, name, format)
    finally:
        counted.unpersist()


def _add_problems(broken: DataFrame, folder: str, name: str, format: str) -> None:
    """Each once, so that it does not matter whether a batch was added before."""
    new = broken.select(*PROBLEMS.names).distinct()
    if new.isEmpty():
        return
    known = _read(new.sparkSession, f"{folder.rstrip('/')}/{name}", format, PROBLEMS)
    write((new if known is None else new.union(known).distinct()).coalesce(1), folder, name, format)


def _read(spark: SparkSession, path: str, format: str, schema: pa.Schema) -> DataFrame | None:
    return spark.read.format(format).schema(spark_schema(schema)).load(path) if exists(spark, path) else None


def merged(tables: DataFrame) -> DataFrame:
    """One row for each client and version, from rows of CLIENTS that were counted separately."""
    from pyspark.sql import functions as F

    place = F.min(F.struct(F.coalesce("first_seen", F.to_timestamp(F.lit("9999-12-31"))), "source", "position"))
    return (
        tables.groupBy(*KEYS)
        .agg(
            F.min("first_seen").alias("first_seen"),
            F.max("last_seen").alias("last_seen"),
            *[F.sum(count).alias(count) for count in ("requests", "errors", "refused", "connections")],
            place.alias("first"),
        )
        .select(
            *[one for one in CLIENTS.names if one not in ("source", "position")], "first.source", "first.position"
        )
    )
