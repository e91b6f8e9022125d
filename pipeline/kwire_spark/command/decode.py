"""``kwire-spark decode``: everything as tables, for queries."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import click

from kwire_spark.command.common import Run, problems, with_inputs
from kwire_spark.reports.report import Cell, Report, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

AT_ONCE = 4
"""Typed tables that are written in parallel: small ones take longer to start than to write."""


@click.command
@click.option("--raw", is_flag=True, help="Keep the bytes of frames.")
@click.option("--topics", default="__*", show_default=True, help="Topics to read, e.g. 'orders*,!*-changelog'.")
@with_inputs("Output directory; tables of the same name are replaced.", local=False)
def decode(run: Run, raw: bool, topics: str) -> int:
    """Write tables: frames, exchanges, refusals, records, clients, and one for each API and each kind of record.

    Tables of APIs are in the folder apis; tables of records of Kafka's internal topics are in the folder internal.
    """
    from kwire_spark.columns import FRAMES
    from kwire_spark.tables.clients import clients
    from kwire_spark.tables.topics import topic_names

    run.options["topics"] = topics
    output = _Output(run)
    main = {
        name: output.add(table, name, by_date=name != "refusals")
        for name, table in _main(run, [name for name in FRAMES.names if raw or name != "raw"]).items()
    }
    if with_ids := [main[name] for name in ("exchanges", "records") if name in main]:
        names = output.add(topic_names(*with_ids, protocol=run.protocol).coalesce(1), "topics").coalesce(1).persist()
    if "exchanges" in main:
        _add_apis(output, main["exchanges"], names)
    if "records" in main:
        _add_internal(output, main["records"], names)
    if with_clients := [main[name] for name in ("exchanges", "refusals") if name in main]:
        output.add(clients(*with_clients).coalesce(1), "clients")
    with run.step("Looking for broken input"):
        broken = problems(*main.values())
    table = Table("tables", "Tables", rows=tuple(output.rows), empty="None.").with_columns("table", "rows", "path")
    return run.publish(
        Report("decode", "Decoded tables", (f"Read {run.inputs}.",), (table,)), broken, main.get("exchanges")
    )


class _Output:
    """The tables written so far: ``rows`` has name, number of rows, and path of each."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.engine: Any = run.engine  # Spark
        self.rows: list[tuple[Cell, ...]] = []

    def add(self, table: DataFrame, name: str, **options: Any) -> DataFrame:
        """Write a table and read it back, so that tables made of it need not decode anything again."""
        from kwire_spark.tables.write import write

        with self.run.step(f"Writing {name}"):
            path = write(table, self.run.out, name, self.engine.table_format, **options)
        table = self.engine.session.read.format(self.engine.table_format).load(path)
        self.rows.append((name, table.count(), path))
        return table

    def add_typed(
        self, folder: str, counts: dict[str, int], typed: Callable[[str], DataFrame], topic_names: DataFrame
    ) -> None:
        """Write the typed tables of these names, whose numbers of rows are known."""
        from kwire_spark.tables.topics import with_topic_names
        from kwire_spark.tables.write import write

        def write_typed(name: str) -> str:
            table = with_topic_names(typed(name).drop("_corrupt"), topic_names)
            return write(table, self.run.out, f"{folder}/{name}", self.engine.table_format)

        names = sorted(counts)
        with self.run.step(f"Writing {', '.join(names)}"), ThreadPoolExecutor(AT_ONCE) as workers:
            paths = list(workers.map(write_typed, names))
        self.rows += [(f"{folder}/{name}", counts[name], path) for name, path in zip(names, paths, strict=True)]


def _main(run: Run, frame_columns: list[str]) -> dict[str, Any]:
    """The tables that sources return for the inputs."""
    inputs = run.inputs
    tables: dict[str, Any] = {}
    if inputs.captures:
        tables["frames"] = run.read("frames", *frame_columns)
    if inputs.captures or inputs.request_logs:
        tables["exchanges"] = run.read("exchanges")
    if inputs.server_logs:
        tables["refusals"] = run.read("refusals")
    if inputs.logs:
        tables["records"] = run.read("records")
    return tables


def _add_apis(output: _Output, exchanges: DataFrame, topic_names: DataFrame) -> None:
    from kwire_spark.tables.typed import messages

    protocol = output.run.protocol
    known = exchanges.where("_corrupt IS NULL AND api IS NOT NULL")
    counts = {row["api"]: row["count"] for row in known.groupBy("api").count().collect()}
    output.add_typed("apis", counts, lambda api: messages(known, api, protocol=protocol), topic_names)


def _add_internal(output: _Output, records: DataFrame, topic_names: DataFrame) -> None:
    from pyspark.sql import functions as F

    from kwire_spark.tables.record_structs import record_kinds
    from kwire_spark.tables.typed import is_of, typed_records

    protocol = output.run.protocol
    known = records.where("_corrupt IS NULL")
    (row,) = known.agg(
        *[F.count_if(is_of(known, kind)).alias(name) for name, kind in record_kinds(protocol).items()]
    ).collect()
    counts = {name: count for name, count in row.asDict().items() if count}
    output.add_typed("internal", counts, lambda name: typed_records(known, name, protocol), topic_names)
