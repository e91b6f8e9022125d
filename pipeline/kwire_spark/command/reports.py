"""The commands that print a report and write it as files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kwire_spark.command.common import Run, no_requests, problems, with_inputs
from kwire_spark.options import OptionError, Options
from kwire_spark.reports.client_usage import by_client
from kwire_spark.reports.report import Column, Report, Table
from kwire_spark.reports.text import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kwire.logs import LogSegment

SHOWN = ("client_id", "client_host", "software_name", "software_version", "principal")
MAX_ROWS = 10_000
LIST = Table("list", "Clients and APIs", empty="No requests found.").with_columns(
    "seen_in",
    Column("client_id", "client"),
    Column("client_host", "address"),
    Column("software_name", "software"),
    Column("software_version", "version"),
    "principal",
    Column("api", "API"),
    "versions",
    "requests",
    "errors",
    "refused",
    "last_seen",
)
TIMED = (
    *("source", "position", "client_host", "number", "time", "api_key", "api", "version", "client_id", "principal"),
    *("outcome", "error_codes", "throttle_ms", "latency_ms", "queue_ms", "local_ms", "remote_ms", "_corrupt"),
)
"""Columns of EXCHANGES that the report on latency needs."""
PLACE = ("source", "position", "topic", "partition", "offset", "_corrupt")


@click.command
@with_inputs()
def clients(run: Run) -> int:
    """API versions in use by each client, with address, software and principal."""
    from pyspark.sql import functions as F

    from kwire_spark.tables.clients import identified

    tally = run.tally()
    seen = identified(tally)
    run.write(seen.coalesce(1), "clients")
    with run.step("Adding up"):
        usage = seen.groupBy("seen_in", *SHOWN, "api_key").agg(
            F.max("api").alias("api"),
            F.sort_array(F.collect_set("version")).alias("versions"),
            *[F.sum(name).alias(name) for name in ("requests", "errors", "refused")],
            F.max("last_seen").alias("last_seen"),
        )
        rows = usage.orderBy(*SHOWN, "api_key", "seen_in").limit(MAX_ROWS).collect()
        more = usage.count() - MAX_ROWS if len(rows) == MAX_ROWS else 0
    return run.publish(clients_report(rows, more), problems(tally))


def clients_report(rows: Sequence[Any], more: int) -> Report:
    """The report on a row for each type of input, client and API; ``more`` rows are left out."""
    uses = [row.asDict() | {"version": version} for row in rows for version in row["versions"]]
    total = counted(len({client for client, _ in by_client(uses)}), "client")
    summary = f"{'At least ' if more else ''}{total} seen."
    return Report("clients", "Clients and API versions", (summary,), (LIST.with_rows(rows, more),))


@click.command
@click.option("--target", required=True, metavar="RELEASE", help="Kafka release you plan to upgrade to, e.g. 4.1.1.")
@with_inputs()
def readiness(run: Run, target: str) -> int:
    """Report clients that use versions which a release refuses.

    Exit codes: 0 no client is refused, 1 some are, 2 usage error, 3 failure.
    """
    from kwire_kafka.releases import RELEASES
    from kwire_spark.reports.readiness import readiness as make_report

    RELEASES[target]  # fail before Spark is started
    return _publish(run, f"Comparing with Kafka {target}", lambda seen: make_report(seen, target))


@click.command
@with_inputs()
def census(run: Run) -> int:
    """Usage of APIs and versions by clients, over time, and which releases deprecate or refuse them."""
    from kwire_spark.reports.census import census as make_report
    from kwire_spark.tables.clients import EXCHANGE_COLUMNS
    from kwire_spark.tables.read import read_exchanges

    exchanges = run.read(read_exchanges, *EXCHANGE_COLUMNS).persist()
    return _publish(run, "Adding up", lambda seen: make_report(seen, exchanges), exchanges)


def _publish(run: Run, doing: str, make: Callable[[DataFrame], Report], exchanges: DataFrame | None = None) -> int:
    """Make and publish a report on the table clients, and write the table."""
    from kwire_spark.tables.clients import identified

    tally = run.tally(exchanges)
    seen = identified(tally)
    with run.step(doing):
        report, broken = make(seen), problems(tally)
    if not any(table.rows for table in report.tables) and seen.isEmpty():
        raise no_requests(run, broken)
    run.write(seen.coalesce(1), "clients")
    return run.publish(report, broken)


@click.command
@with_inputs()
def latency(run: Run) -> int:
    """Latency and errors of requests per API, and clients that are throttled."""
    from kwire_spark.reports.latency import latency as make_report
    from kwire_spark.tables.read import read_exchanges

    exchanges = run.cached(run.read(read_exchanges, *TIMED))
    with run.step("Adding up"):
        report, broken = make_report(exchanges), problems(exchanges)
    if not report.table("apis").rows:
        raise no_requests(run, broken)
    return run.publish(report, broken)


@click.command
@with_inputs()
def offsets(run: Run) -> int:
    """Groups with members, committed offsets and lag, from the internal topics in brokers' data directories."""
    from kwire_spark.reports.offsets import log_ends
    from kwire_spark.reports.offsets import offsets as make_report
    from kwire_spark.state.replay import COLUMNS
    from kwire_spark.tables.groups import INTERNAL
    from kwire_spark.tables.read import read_records

    if not run.inputs.logs:
        raise OptionError(f"offsets need a data directory of a broker: found {run.inputs}")
    if {"start", "end"} & run.options.keys():
        raise OptionError("--start and --end are not supported: offsets are those at the end of the logs")
    names = dict.fromkeys((*COLUMNS, *PLACE))
    states = run.read(read_records, *names, topics=",".join(INTERNAL)).persist()
    last = last_segments(run.inputs.logs)
    segments = replace(run.inputs, logs=tuple(str(file.path) for file in last))
    ends = read_records(segments, columns=PLACE, spark=run.spark, **run.options)
    bases = [(file.topic or "", file.partition or 0, file.base_offset or 0) for file in last]
    with run.step(f"Reading {run.inputs}"):
        report = make_report(states, log_ends(ends, bases))
    with run.step("Looking for broken records"):
        broken = problems(states, ends)
    return run.publish(report, broken)


def last_segments(paths: tuple[str, ...]) -> list[LogSegment]:
    """The last segment of each partition in each folder, without internal topics: only it has the end of the log."""
    from kwire_spark.segments import Selection, segment_files
    from kwire_spark.tables.groups import INTERNAL

    options = Options({"paths": json.dumps(paths)})
    others = Selection(tuple(f"!{topic}" for topic in INTERNAL), checkpoints="false")
    files = segment_files(options.files(), options.paths(), others)
    known = [file for file in files if file.topic and file.topic not in INTERNAL and file.base_offset is not None]
    return [*{file.path.parent: file for file in sorted(known, key=lambda file: file.path.name)}.values()]
