"""Whatever a cluster left behind as DataFrames: FRAMES, EXCHANGES, REFUSALS and RECORDS, from files of any kind.

Each function takes paths as :func:`kwire_spark.inputs.find` does, or the ``Inputs`` that it gave, and reads those
that hold what is asked for; there are no rows if none does. ``columns`` are those that are computed, all unless
given. Further options are those of the sources, with ``_`` in names or without.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire_spark.columns import EXCHANGES, FRAMES, RECORDS, REFUSALS
from kwire_spark.inputs import Inputs, find
from kwire_spark.session import session
from kwire_spark.spark_types import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Given = Inputs | str | Path
Option = str | int | bool


def frames(
    *given: Given, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """The frames on the connections of captures: ``columns.FRAMES``."""
    parts = [("kafka_capture", path.captures) for path in _inputs(given)]
    return _read(parts, FRAMES, columns, spark, {**options, "rows": "frames"})


def exchanges(
    *given: Given, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Requests with their responses, from captures and request logs: ``columns.EXCHANGES``."""
    found = _inputs(given)
    parts = [("kafka_capture", path.captures) for path in found]
    parts += [("kafka_request_log", path.request_logs) for path in found]
    return _read(parts, EXCHANGES, columns, spark, {**options, "rows": "exchanges"})


def refusals(
    *given: Given, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Requests that a broker refused, from server logs: ``columns.REFUSALS``."""
    return _read(
        [("kafka_server_log", path.server_logs) for path in _inputs(given)], REFUSALS, columns, spark, options
    )


def records(
    *given: Given, columns: Sequence[str] = (), spark: SparkSession | None = None, **options: Option
) -> DataFrame:
    """Records of log segments and snapshots: ``columns.RECORDS``."""
    return _read([("kafka_log", path.logs) for path in _inputs(given)], RECORDS, columns, spark, options)


def _inputs(given: Sequence[Given]) -> list[Inputs]:
    known = [one for one in given if isinstance(one, Inputs)]
    paths = [str(one) for one in given if not isinstance(one, Inputs)]
    return [*known, find(paths)] if paths else known


def _read(
    parts: Sequence[tuple[str, Sequence[str]]],
    full: pa.Schema,
    columns: Sequence[str],
    spark: SparkSession | None,
    options: dict[str, Option],
) -> DataFrame:
    spark = spark or session()
    unknown = sorted(set(columns) - set(full.names))
    if unknown:
        raise ValueError(f"there is no column {', '.join(unknown)}, only {', '.join(full.names)}")
    shape = spark_schema(pa.schema([full.field(name) for name in columns or full.names]))
    texts = {name.replace("_", ""): str(value) for name, value in options.items()}
    read = [
        spark.read.format(source).options(**texts).schema(shape).load(_absolute(paths))
        for source, paths in parts
        if paths
    ]
    return reduce(lambda left, right: left.unionByName(right), read) if read else spark.createDataFrame([], shape)


def _absolute(paths: Sequence[str]) -> list[str]:
    """Workers are not in the folder that this process is in."""
    return [str(Path(path).absolute()) for path in paths]
