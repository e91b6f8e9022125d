"""Makes DataFrames queryable with SQL. See :mod:`kwire_inspect.tables.relations`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kwire_inspect.tables.relations import Backend, Batches, Row, backend
from kwire_spark.types import spark_schema


class SparkBackend:
    """Implements ``tables.relations`` for DataFrames."""

    def query(self, text: str, tables: Mapping[str, DataFrame]) -> DataFrame:
        # Afterwards Spark drops the views. Dropping the view of a persisted table would also drop its cached data. A
        # view of a query on the table avoids this.
        session = next(iter(tables.values())).sparkSession
        named: dict[str, Any] = {name: table.where("true") for name, table in tables.items()}
        return session.sql(text, **named)

    def collect(self, text: str, tables: Mapping[str, DataFrame]) -> list[Row]:
        found = self.query(text, tables).collect()
        return [{name: _in_utc(value) for name, value in row.asDict().items()} for row in found]

    def query_groups(self, text: str, by: Sequence[str], tables: Mapping[str, DataFrame]) -> DataFrame:
        return self.query(text.replace("{part}", "true"), tables)

    def map_batches(
        self,
        table: DataFrame,
        takes: pa.Schema,
        function: Batches,
        gives: pa.Schema,
        where: str,
        by: str,
        order: Sequence[str],
    ) -> DataFrame:
        needed = table.where(where or "true").select(*takes.names)
        if by:
            needed = needed.repartition(by).sortWithinPartitions(by, *[F.expr(expression) for expression in order])
        called: Any = function
        return needed.mapInArrow(called, spark_schema(gives))

    def to_arrow(self, table: DataFrame, schema: pa.Schema) -> pa.Table:
        return table.select(*schema.names).toArrow().cast(schema)

    def like(self, table: DataFrame, rows: pa.Table) -> DataFrame:
        return table.sparkSession.createDataFrame(rows)

    @contextmanager
    def kept(self, table: DataFrame) -> Iterator[DataFrame]:
        if table.is_cached:  # the caller cached the table and still needs it
            yield table
            return
        try:
            yield table.persist()
        finally:
            table.unpersist()


@backend.register
def _spark(table: DataFrame) -> Backend:
    return SparkBackend()


def _in_utc(value: Any) -> Any:
    """Return a time in UTC. Spark returns naive times in Python's local time zone, even if the session's time zone is
    different."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value
