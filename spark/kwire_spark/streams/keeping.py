"""Keeps the tables ``clients`` and ``problems`` up to date with a stream of exchanges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_inspect.schemas import CLIENTS, PROBLEMS
from kwire_inspect.stored import Origin
from kwire_inspect.tables.clients import Clients, clients
from kwire_spark.reading import literal
from kwire_spark.types import spark_schema
from kwire_spark.writing import exists, write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

BATCH = "batch"
_ADDED = pa.field(BATCH, pa.int64(), metadata={"comment": "Number of the last batch that was added."})
KEPT = {"clients": CLIENTS.append(_ADDED), "problems": PROBLEMS.append(_ADDED)}
"""Columns of each table."""


def keep_clients(exchanges: DataFrame, folder: str, *, format: str = "parquet", inputs: str = "") -> DataStreamWriter:
    """Return a query that adds the rows of ``exchanges`` to the tables ``folder/clients`` and ``folder/problems``.
    The caller starts the query with any trigger.

    ``exchanges`` needs only the ``EXCHANGE_COLUMNS`` of ``tables.clients``. Each table is replaced as a whole in one
    step. The table records the last batch that was added, so that a batch repeated after a failure is not added
    twice. The tables depend on the checkpoint next to them, ``folder/_clients.checkpoint``. Raises ``ValueError`` if
    the tables exist without the checkpoint. A connection is counted once in each batch that contains its packets.
    ``inputs`` describes the stream's inputs in reports on the tables.
    """
    path, checkpoint = f"{folder.rstrip('/')}/clients", f"{folder.rstrip('/')}/_clients.checkpoint"
    if exists(exchanges.sparkSession, path) and not exists(exchanges.sparkSession, checkpoint):
        raise ValueError(f"{path} exists, but its checkpoint {checkpoint} does not")
    writer = exchanges.writeStream.queryName("clients").option("checkpointLocation", checkpoint)
    return writer.foreachBatch(partial(add_batch, folder, format, inputs=inputs))


def add_batch(folder: str, format: str, batch: DataFrame, number: int, inputs: str = "") -> None:
    """Add the exchanges of batch ``number``, unless it was already added. Batches are numbered from 0."""
    with clients(batch).kept() as seen:
        for name in ("problems", "clients"):  # a report needs both tables, and is created once clients exists
            _add(folder, name, format, seen, number, Origin(inputs))


def _add(folder: str, name: str, format: str, seen: Clients[DataFrame], number: int, origin: Origin) -> None:
    from pyspark.sql import functions as F

    spark, path = seen.counted.sparkSession, f"{folder.rstrip('/')}/{name}"
    known = _read(spark, path, format, KEPT[name])
    if known is None and number:
        raise ValueError(f"{path}: the table of this stream is missing. Delete the stream's checkpoint to start over")
    last = None if known is None else known.agg(F.max(BATCH)).first()
    if last is not None and last[0] is not None and last[0] >= number:
        return
    added: DataFrame = _of(seen, name)
    if known is not None and added.isEmpty():
        return
    table = added if known is None else _of(clients(added, known.drop(BATCH)), name)
    table = table.withColumn(BATCH, F.lit(number).cast("long")).coalesce(1)
    write(table, folder, name, format, origin=origin)


def _of(seen: Clients[DataFrame], name: str) -> DataFrame:
    return seen.table if name == "clients" else seen.problems


def _read(spark: SparkSession, path: str, format: str, schema: pa.Schema) -> DataFrame | None:
    return spark.read.format(format).schema(spark_schema(schema)).load(literal(path)) if exists(spark, path) else None
