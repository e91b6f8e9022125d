"""Files of any type as DataFrames: FRAMES, EXCHANGES, REFUSALS, RECORDS and CLIENTS of :mod:`kwire_spark.columns`.

Each function takes paths, like :func:`kwire_spark.inputs.find`, or its ``Inputs``, and reads the files of the
matching types, or tables that an earlier run wrote; without any, the DataFrame is empty. Only ``columns`` are
computed, all by default. Further options are those of the sources, with or without ``_`` in names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.columns import CLIENTS, EXCHANGES, FRAMES, RECORDS, REFUSALS
from kwire_spark.inputs import Inputs, find
from kwire_spark.options import COUNT, FOUND, KINDS, only, passed
from kwire_spark.session import spark_session
from kwire_spark.spark_types import spark_schema
from kwire_spark.storage import absolute
from kwire_spark.stored import SCHEMAS
from kwire_spark.tables.counting import COUNTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Option = str | int | bool
SOURCES = {
    "captures": "kafka_capture",
    "request_logs": "kafka_request_log",
    "server_logs": "kafka_server_log",
    "logs": "kafka_log",
    "metrics": "kafka_metrics",
}
"""The source that reads each kind of input."""


def read_frames(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """What was seen on the connections of captures: ``columns.FRAMES``."""
    return _read(paths, "frames", FRAMES, columns, spark, options)


def read_exchanges(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Requests with their responses, from captures and request logs: ``columns.EXCHANGES``."""
    return _read(paths, "exchanges", EXCHANGES, columns, spark, options)


def read_counted(*paths: Inputs | str | Path, spark: SparkSession | None = None, **options: Option) -> DataFrame:
    """The same, counted where they are read: what ``tables.clients`` needs of them, as ``counting.COUNTED``."""
    return _read(paths, "exchanges", COUNTED, (), spark, options)


def read_refusals(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Requests that a broker refused, from server logs: ``columns.REFUSALS``."""
    return _read(paths, "refusals", REFUSALS, columns, spark, options)


def read_records(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Records of log segments and snapshots: ``columns.RECORDS``."""
    return _read(paths, "records", RECORDS, columns, spark, options)


def read_clients(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Clients that were counted before, by brokers in their metrics or in tables: ``columns.CLIENTS``."""
    return _read(paths, "clients", CLIENTS, columns, spark, options)


def _read(
    paths: Sequence[Inputs | str | Path],
    table: str,
    full: pa.Schema,
    columns: Sequence[str],
    spark: SparkSession | None,
    options: dict[str, Option],
) -> DataFrame:
    """The rows of ``table`` with columns of ``full``, which are its own or counts of them."""
    texts = passed(options, table)
    if unknown := sorted(set(columns) - set(full.names)):
        raise ValueError(f"unknown column {', '.join(unknown)}, expected one of {', '.join(full.names)}")
    schema = spark_schema(pa.schema([full.field(name) for name in columns or full.names]))
    spark = spark or spark_session()
    inputs = [path if isinstance(path, Inputs) else find([path]) for path in paths]
    tables = []
    for kind in KINDS[table]:
        # absolute, since workers do not share the current folder of this process
        if files := dict.fromkeys(absolute(file) for part in inputs for file in getattr(part, kind)):
            own = {"rows": table, FOUND: str(kind != "logs"), COUNT: str(full is COUNTED)}
            source = spark.read.format(SOURCES[kind])
            tables.append(source.options(**only(texts | own, kind)).schema(schema).load([*files]))
    stored = [earlier for part in inputs for earlier in part.tables if SCHEMAS[earlier.kind] is full]
    tables += [
        spark.read.schema(schema).parquet(literal(str(Path(earlier.path).absolute()))).select(*schema.names)
        for earlier in stored
    ]
    if not tables:
        return spark.createDataFrame([], schema).where("false")  # so Spark leaves it out of what it runs
    return reduce(lambda left, right: left.unionByName(right), tables)


def literal(path: str) -> str:
    """A path that Spark does not take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)
