"""``kwire-spark clients``: who speaks what, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from kwire_spark.columns import CLIENTS
from kwire_spark.command.common import Run, problems
from kwire_spark.command.common import command as shared
from kwire_spark.reports.client_usage import by_client
from kwire_spark.reports.report import Column, Report, Table, cells, columns
from kwire_spark.reports.text import counted as told

SHOWN = ("client_id", "client_host", "software_name", "software_version", "principal")
MAX_ROWS = 10_000


@click.command("clients")
@shared()
def command(run: Run) -> int:
    """Who uses which versions of which APIs: client, address, software, principal."""
    from pyspark.sql import functions as F

    counted = run.tally()
    clients = counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)
    run.write(clients.coalesce(1), "clients")
    with run.step("Adding up"):
        listed = clients.groupBy("seen_in", *SHOWN, "api_key").agg(
            F.max("api").alias("api"),
            F.sort_array(F.collect_set("version")).alias("versions"),
            *[F.sum(name).alias(name) for name in ("requests", "errors", "refused")],
            F.max("last_seen").alias("last_seen"),
        )
        rows = listed.orderBy(*SHOWN, "api_key", "seen_in").limit(MAX_ROWS).collect()
        more = listed.count() - MAX_ROWS if len(rows) == MAX_ROWS else 0
    return run.publish(report(rows, more), problems(counted))


def report(rows: Sequence[Any], more: int) -> Report:
    """The report on rows for each kind of input, client and API; ``more`` are left out."""
    shape = columns(
        Column("seen_in", "seen in"),
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
    key = 1 + len(SHOWN)
    listed = cells([(*row[:key], *row[key + 1 :]) for row in rows])
    table = Table("list", "Clients and APIs", shape, listed, more=more, empty="No request was seen.")
    uses = [row.asDict() | {"version": version} for row in rows for version in row["versions"]]
    seen = f"{'At least ' if more else ''}{told(len({client for client, _ in by_client(uses)}), 'client')} seen."
    return Report("clients", "Who speaks what", (seen,), (table,))
