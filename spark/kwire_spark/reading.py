"""Reads files of any type as DataFrames: FRAMES, EXCHANGES, REFUSALS and RECORDS of :mod:`kwire_inspect.schemas`.

Each function accepts the same paths as :func:`kwire_inspect.inputs.find`, or the ``Inputs`` that ``find`` returned.
The function reads the files of matching types, or tables that an earlier run wrote. If there are no such files or
tables, the DataFrame is empty. Only ``columns`` are computed, or all columns by default. Keyword arguments are source
options, whose names may contain ``_``, such as ``time_zone`` for ``timeZone``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_inspect.inputs import Inputs, find
from kwire_inspect.options import COUNT, FOUND, KINDS, only, passed
from kwire_inspect.schemas import COUNTED, EXCHANGES, FRAMES, RECORDS, REFUSALS
from kwire_inspect.storage import absolute
from kwire_inspect.stored import SCHEMAS, Origin, are_complete, of_clients
from kwire_inspect.tables.clients import Clients, clients
from kwire_spark.session import spark_session
from kwire_spark.types import spark_schema

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
"""Name of the Spark data source for each input type."""


def read_frames(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Return the events of captured connections, as ``schemas.FRAMES``."""
    return _read(paths, "frames", FRAMES, columns, spark, options)


def read_exchanges(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Return requests and their responses from captures and request logs, as ``schemas.EXCHANGES``."""
    return _read(paths, "exchanges", EXCHANGES, columns, spark, options)


def read_counted(*paths: Inputs | str | Path, spark: SparkSession | None = None, **options: Option) -> DataFrame:
    """Return counts of requests with their responses, as ``schemas.COUNTED``. The workers that read the requests
    also count them. ``tables.clients`` needs only the counts."""
    return _read(paths, "exchanges", COUNTED, (), spark, options)


def read_refusals(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Return the refused requests in brokers' server logs, as ``schemas.REFUSALS``."""
    return _read(paths, "refusals", REFUSALS, columns, spark, options)


def read_records(
    *paths: Inputs | str | Path, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Return the records in log segments and snapshots, as ``schemas.RECORDS``."""
    return _read(paths, "records", RECORDS, columns, spark, options)


def read_clients(
    *paths: Inputs | str | Path, spark: SparkSession | None = None, **options: Option
) -> Clients[DataFrame]:
    """Return the clients that brokers' metrics or stored tables have already counted, and the problems."""
    passed(options, "metrics")  # fail before searching for files
    found = [path if isinstance(path, Inputs) else find([path]) for path in paths]
    inputs = [replace(part, tables=of_clients(part.tables)) for part in found]
    tables = [read_stored(name, *inputs, spark=spark) for name in ("clients", "problems")]
    tables.append(read_metrics(*inputs, spark=spark, **options))
    before = [table for part in inputs for table in part.tables]
    left_out = [file for part in inputs for file in part.skipped]
    left_out += [file for table in before for file in table.origin.skipped]
    skipped = dict.fromkeys(left_out)
    origin = Origin("; ".join(map(str, inputs)), (*skipped,))
    return replace(clients(*tables, origin=origin), complete=are_complete(before))


def read_metrics(*paths: Inputs | str | Path, spark: SparkSession | None = None, **options: Option) -> DataFrame:
    """Return the request counts in brokers' metrics, as ``schemas.COUNTED``."""
    return _read(paths, "metrics", COUNTED, (), spark, options)


def read_stored(name: str, *inputs: Inputs, spark: SparkSession | None = None) -> DataFrame:
    """Return the rows of all tables of the kind ``name`` that earlier runs wrote. ``name`` is a key of
    ``stored.SCHEMAS``.
    """
    return _read(inputs, name, SCHEMAS[name], (), spark, {})


def _read(
    paths: Sequence[Inputs | str | Path],
    table: str,
    full: pa.Schema,
    columns: Sequence[str],
    spark: SparkSession | None,
    options: dict[str, Option],
) -> DataFrame:
    """Return the rows of ``table`` with columns of ``full``, which is the schema of the table or of its counts."""
    texts = passed(options, table)
    if unknown := sorted(set(columns) - set(full.names)):
        raise ValueError(f"unknown column {', '.join(unknown)}, expected one of {', '.join(full.names)}")
    schema = spark_schema(pa.schema([full.field(name) for name in columns or full.names]))
    spark = spark or spark_session()
    inputs = [path if isinstance(path, Inputs) else find([path]) for path in paths]
    tables = []
    for kind in KINDS[table]:
        # absolute, because workers may have a different working directory
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
        return spark.createDataFrame([], schema).where("false")  # lets Spark remove this table from the plan
    return reduce(lambda left, right: left.unionByName(right), tables)


def literal(path: str) -> str:
    """Return a path escaped so that Spark does not treat it as a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)
