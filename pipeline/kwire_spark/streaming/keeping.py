"""The table ``clients``, kept up to date by a stream of exchanges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.columns import CLIENTS
from kwire_spark.spark_types import spark_schema
from kwire_spark.tables.clients import KEYS, clients
from kwire_spark.tables.write import exists, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCH = "batch"
KEPT = CLIENTS.append(pa.field(BATCH, pa.int64(), metadata={"comment": "The batch that was added last."}))
"""The columns of the table."""


def keep_clients(
    exchanges: DataFrame, folder: str, *, name: str = "clients", format: str = "parquet"
) -> DataStreamWriter:
    """A query that adds what ``exchanges`` brings to the table ``folder/name``; start it, with the trigger you like.

    The table is replaced as a whole, in one step. It says which batch was added last, so that one that Spark runs
    again, after a failure, is not added twice: it belongs to the checkpoint beside it, ``folder/_name.checkpoint``,
    and ``ValueError`` is raised if only one of them is there. A connection counts once in each batch.
    """
    checkpoint = f"{folder.rstrip('/')}/_{name}.checkpoint"
    path = f"{folder.rstrip('/')}/{name}"
    if exists(exchanges.sparkSession, path) and not exists(exchanges.sparkSession, checkpoint):
        raise ValueError(f"{path} is there, but not the checkpoint of the stream that it is of: {checkpoint}")
    writer = exchanges.writeStream.queryName(name).option("checkpointLocation", checkpoint)
    return writer.foreachBatch(partial(_add, folder, name, format))


def _add(folder: str, name: str, format: str, batch: DataFrame, number: int) -> None:
    from pyspark.sql import functions as F

    spark, path = batch.sparkSession, f"{folder.rstrip('/')}/{name}"
    table = clients(batch)
    if exists(spark, path):
        known = spark.read.format(format).schema(spark_schema(KEPT)).load(path)
        last = known.agg(F.max(BATCH)).first()
        if last is not None and last[0] is not None and last[0] >= number:
            return
        table = merged(table.unionByName(known.drop(BATCH)))
    write(table.withColumn(BATCH, F.lit(number).cast("long")).coalesce(1), folder, name, format)


def merged(tables: DataFrame) -> DataFrame:
    """One row for each client and version, from rows of CLIENTS that were counted apart."""
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
