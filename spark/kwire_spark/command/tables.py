"""What ``decode`` writes, by Spark: each table is read back, so that nothing is decoded twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StructField, StructType

from kwire_inspect.reports.basis import problems_of
from kwire_inspect.tables.clients import Clients, clients
from kwire_inspect.tables.files import DATE
from kwire_inspect.tables.record_structs import record_kinds
from kwire_spark.topics import topic_names, with_topic_names
from kwire_spark.typed import is_of, messages, typed_records
from kwire_spark.writing import write

if TYPE_CHECKING:
    from kwire_inspect.command.common import Run
    from kwire_inspect.reports.basis import Problem
    from kwire_inspect.reports.report import Cell

AT_ONCE = 4
"""Typed tables that are written in parallel: small ones take longer to start than to write."""


class SparkTables:
    """The tables written so far: ``rows`` has name, number of rows, and path of each."""

    def __init__(self, run: Run) -> None:
        self.rows: list[tuple[Cell, ...]] = []
        self._run = run
        self._engine: Any = run.engine
        self._main: dict[str, DataFrame] = {}
        self.seen: Clients[DataFrame] | None = None
        """The clients, once they are written."""

    def add_main(self, name: str, columns: Sequence[str] = ()) -> None:
        """Write a table that sources return."""
        table: Any = self._run.read(name, *columns)
        self._main[name] = self._add(table, name, by_date=name != "refusals")

    def add_topic_names(self) -> None:
        """Write the table ``topics``, from responses and records."""
        names = topic_names(*self._found("exchanges", "records"), protocol=self._run.protocol)
        self._names = self._add(names.coalesce(1), "topics").coalesce(1).persist()

    def add_apis(self) -> None:
        """Write a table for each API."""
        protocol = self._run.protocol
        known = self._main["exchanges"].where("_corrupt IS NULL AND api IS NOT NULL")
        counts = {row["api"]: row["count"] for row in known.groupBy("api").count().collect()}
        self._add_typed("apis", counts, lambda api: messages(known, api, protocol=protocol))

    def add_internal(self) -> None:
        """Write a table for each kind of record."""
        protocol = self._run.protocol
        known = self._main["records"].where("_corrupt IS NULL")
        kinds = record_kinds(protocol).items()
        (row,) = known.agg(*[F.count_if(is_of(known, kind)).alias(name) for name, kind in kinds]).collect()
        counts = {name: count for name, count in row.asDict().items() if count}
        self._add_typed("internal", counts, lambda name: typed_records(known, name, protocol))

    def add_clients(self) -> None:
        """Write the tables ``clients`` and ``problems``."""
        metrics: list[Any] = [self._run.read("metrics")] if self._run.inputs.metrics else []
        found, origin = self._found("exchanges", "refusals"), self._run.origin
        with clients(*found, *metrics).kept() as seen:
            written = [
                self._add(table.coalesce(1), name)
                for name, table in {"clients": seen.table, "problems": seen.problems}.items()
            ]
        self.seen = clients(*written, origin=origin)

    def broken_records(self) -> list[Problem]:
        """Reasons and places of broken input that the table ``problems`` does not have."""
        return problems_of(*self._found("records"))

    def _found(self, *names: str) -> list[DataFrame]:
        return [self._main[name] for name in names if name in self._main]

    def _add(self, table: DataFrame, name: str, **options: Any) -> DataFrame:
        """Write a table and read it back, so that tables made of it need not decode anything again."""
        with self._run.step(f"Writing {name}"):
            path = write(table, self._run.out, name, self._engine.table_format, origin=self._run.origin, **options)
        reader = self._engine.session.read.format(self._engine.table_format)
        if self._engine.table_format == "parquet":  # of which a table without rows has no files
            day = [StructField(DATE, DateType())] if options.get("by_date") else []
            reader = reader.schema(StructType([*table.schema, *day]))
        table = reader.load(path)
        self.rows.append((name, table.count(), path))
        return table

    def _add_typed(self, folder: str, counts: dict[str, int], typed: Callable[[str], DataFrame]) -> None:
        """Write the typed tables of these names, whose numbers of rows are known."""

        def write_typed(name: str) -> str:
            table = with_topic_names(typed(name).drop("_corrupt"), self._names)
            target = f"{folder}/{name}"
            return write(table, self._run.out, target, self._engine.table_format, origin=self._run.origin)

        names = sorted(counts)
        with self._run.step(f"Writing {', '.join(names)}"), ThreadPoolExecutor(AT_ONCE) as workers:
            paths = list(workers.map(write_typed, names))
        self.rows += [(f"{folder}/{name}", counts[name], path) for name, path in zip(names, paths, strict=True)]
