"""``kwire-spark clients``: API versions in use by each client, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from kwire_spark.command.common import Run, problems, with_inputs
from kwire_spark.reports.client_usage import by_client
from kwire_spark.reports.report import Column, Report, Table
from kwire_spark.reports.text import counted

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


@click.command("clients")
@with_inputs()
def command(run: Run) -> int:
    """API versions in use by each client, with address, software and principal."""
    from pyspark.sql import functions as F

    from kwire_spark.tables.clients import identified

    tally = run.tally()
    clients = identified(tally)
    run.write(clients.coalesce(1), "clients")
    with run.step("Adding up"):
        usage = clients.groupBy("seen_in", *SHOWN, "api_key").agg(
            F.max("api").alias("api"),
            F.sort_array(F.collect_set("version")).alias("versions"),
            *[F.sum(name).alias(name) for name in ("requests", "errors", "refused")],
            F.max("last_seen").alias("last_seen"),
        )
        rows = usage.orderBy(*SHOWN, "api_key", "seen_in").limit(MAX_ROWS).collect()
        more = usage.count() - MAX_ROWS if len(rows) == MAX_ROWS else 0
    return run.publish(report(rows, more), problems(tally))


def report(rows: Sequence[Any], more: int) -> Report:
    """The report on a row for each type of input, client and API; ``more`` rows are left out."""
    uses = [row.asDict() | {"version": version} for row in rows for version in row["versions"]]
    total = counted(len({client for client, _ in by_client(uses)}), "client")
    summary = f"{'At least ' if more else ''}{total} seen."
    return Report("clients", "Clients and API versions", (summary,), (LIST.with_rows(rows, more),))
