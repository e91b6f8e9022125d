"""``kwire-spark census``: APIs, versions and clients over time."""

from __future__ import annotations

import click

from kwire_spark.columns import CLIENTS
from kwire_spark.command.common import Run, nothing_to_report, problems
from kwire_spark.command.common import command as shared


@click.command("census")
@shared()
def command(run: Run) -> int:
    """Who speaks what: APIs, versions, clients and software, over time, and their status in releases."""
    from kwire_spark.reports.census import census
    from kwire_spark.tables.clients import EXCHANGE_COLUMNS, REFUSAL_COLUMNS, tally

    exchanges = run.exchanges(*EXCHANGE_COLUMNS).persist()
    counted = tally(exchanges, run.refusals(*REFUSAL_COLUMNS)).persist()
    with run.step(f"Reading {run.inputs}"):
        counted.count()
    clients = counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)
    with run.step("Adding up"):
        report, broken = census(clients, exchanges), problems(counted)
    if not report.table("versions").rows:
        raise nothing_to_report(run, broken)
    run.write(clients.coalesce(1), "clients")
    return run.publish(report, broken)
