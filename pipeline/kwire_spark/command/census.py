"""``kwire-spark census``: APIs, versions and clients over time."""

from __future__ import annotations

import click

from kwire_spark.command.common import Run, no_requests, problems, with_inputs


@click.command("census")
@with_inputs()
def command(run: Run) -> int:
    """Usage of APIs and versions by clients, over time, and which releases deprecate or refuse them."""
    from kwire_spark.reports.census import census
    from kwire_spark.tables.clients import EXCHANGE_COLUMNS, identified
    from kwire_spark.tables.read import read_exchanges

    exchanges = run.read(read_exchanges, *EXCHANGE_COLUMNS).persist()
    counted = run.tally(exchanges)
    clients = identified(counted)
    with run.step("Adding up"):
        report, broken = census(clients, exchanges), problems(counted)
    if not report.table("versions").rows:
        raise no_requests(run, broken)
    run.write(clients.coalesce(1), "clients")
    return run.publish(report, broken)
