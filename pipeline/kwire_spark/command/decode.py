"""``kwire-spark decode``: everything as tables, to be queried."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import click

from kwire_spark.columns import FRAMES
from kwire_spark.command.common import Run, problems
from kwire_spark.command.common import command as shared
from kwire_spark.reports.report import Cell, Column, Report, Table, columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

AT_ONCE = 4
"""Small tables that are written at the same time: each takes more to start than to write."""

Written = list[tuple[Cell, ...]]


@click.command("decode")
@click.option("--raw", is_flag=True, help="Keep the bytes of frames as well.")
@click.option(
    "--topics", default="__*", show_default=True, help="Topics whose records are taken, as 'orders*,!*-changelog'."
)
@shared("Folder for the tables; those of the same names are replaced.")
def command(run: Run, raw: bool, topics: str) -> int:
    """Write tables: frames, exchanges, refusals, records, clients, one for each API, one for each kind of record.

    The tables of APIs are in the folder apis, those of records of Kafka's own topics in the folder internal.
    """
    run.options["topics"] = topics
    written: Written = []
    main = _main(run, written, [name for name in FRAMES.names if raw or name != "raw"])
    names = _topics(run, written, main)
    if "exchanges" in main:
        _apis(run, written, main["exchanges"], names)
    if "records" in main:
        _internal(run, written, main["records"], names)
    _clients(run, written, main)
    with run.step("Looking for what is broken"):
        broken = problems(*main.values())
    return run.publish(_report(run, written), broken)


def _main(run: Run, written: Written, frames: list[str]) -> dict[str, DataFrame]:
    """What the sources give, written and read again, so that all that follows is spared the decoding."""
    inputs = run.inputs
    wanted: dict[str, Callable[[], DataFrame]] = {}
    if inputs.captures:
        wanted["frames"] = lambda: run.frames(*frames)
    if inputs.captures or inputs.request_logs:
        wanted["exchanges"] = run.exchanges
    if inputs.server_logs:
        wanted["refusals"] = run.refusals
    if inputs.logs:
        wanted["records"] = run.records
    tables = {}
    for name, read in wanted.items():
        path = run.write(read(), name, by_date=name != "refusals")
        tables[name] = run.spark.read.format(run.format).load(path)
        written.append((name, tables[name].count(), path))
    return tables


def _topics(run: Run, written: Written, main: dict[str, DataFrame]) -> DataFrame | None:
    """Ids of topics and their names [KAFKA-WIRE 46], kept for all tables that have ids."""
    from kwire_spark.tables.topics import topic_names

    told = [main[name] for name in ("exchanges", "records") if name in main]
    if not told:
        return None
    path = run.write(topic_names(*told).coalesce(1), "topics")
    names = run.spark.read.format(run.format).load(path).coalesce(1).persist()
    written.append(("topics", names.count(), path))
    return names


def _apis(run: Run, written: Written, exchanges: DataFrame, names: DataFrame | None) -> None:
    from kwire_spark.tables.typed import messages

    known = exchanges.where("_corrupt IS NULL AND api IS NOT NULL")
    counts = {row["api"]: row["count"] for row in known.groupBy("api").count().collect()}
    _several(run, written, "apis", counts, lambda api: messages(known, api), names)


def _internal(run: Run, written: Written, logged: DataFrame, names: DataFrame | None) -> None:
    from pyspark.sql import functions as F

    from kwire_spark.tables.record_structs import record_kinds
    from kwire_spark.tables.typed import is_of, records

    known = logged.where("_corrupt IS NULL")
    counting = [F.count_if(is_of(known, kind)).alias(name) for name, kind in record_kinds().items()]
    row = known.agg(*counting).first()
    counts = {name: count for name, count in row.asDict().items() if count} if row else {}
    _several(run, written, "internal", counts, lambda name: records(known, name), names)


def _several(
    run: Run,
    written: Written,
    folder: str,
    counts: dict[str, int],
    table: Callable[[str], DataFrame],
    names_of_topics: DataFrame | None,
) -> None:
    from kwire_spark.tables.topics import with_topic_names
    from kwire_spark.tables.write import write

    def one(name: str) -> str:
        typed = table(name).drop("_corrupt")
        named = typed if names_of_topics is None else with_topic_names(typed, names_of_topics)
        return write(named, f"{run.out}/{folder}", name, run.format)

    names = sorted(counts)
    with run.step(f"Writing {', '.join(names)}"), ThreadPoolExecutor(AT_ONCE) as workers:
        paths = list(workers.map(one, names))
    written += [(f"{folder}/{name}", counts[name], path) for name, path in zip(names, paths, strict=True)]


def _clients(run: Run, written: Written, main: dict[str, DataFrame]) -> None:
    from kwire_spark.tables.clients import clients

    seen = [main[name] for name in ("exchanges", "refusals") if name in main]
    if seen:
        path = run.write(clients(*seen).coalesce(1), "clients")
        written.append(("clients", run.spark.read.format(run.format).load(path).count(), path))


def _report(run: Run, written: Written) -> Report:
    shape = columns("table", "rows", Column("path"))
    table = Table("tables", "Tables", shape, tuple(written), empty="There was nothing to write.")
    return Report("decode", "What was decoded", (f"Read {run.inputs}.",), (table,))
