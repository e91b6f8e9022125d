"""``kwire-spark readiness``: who breaks on a release."""

from __future__ import annotations

import click

from kwire_spark.columns import CLIENTS
from kwire_spark.command.common import Run, nothing_to_report, problems
from kwire_spark.command.common import command as shared


@click.command("readiness")
@click.option("--target", required=True, metavar="RELEASE", help="Kafka release you plan to upgrade to, e.g. 4.1.1.")
@shared()
def command(run: Run, target: str) -> int:
    """Which clients use versions that a release refuses.

    Exit codes: 0 no client is refused, 1 some are, 2 usage error, 3 failure.
    """
    from kwire_kafka.releases import RELEASES
    from kwire_spark.reports.readiness import readiness

    RELEASES[target]  # before Spark is started for nothing
    counted = run.tally()
    clients = counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)
    with run.step(f"Judging by Kafka {target}"):
        report, broken = readiness(clients, target), problems(counted)
    if not any(report.table(name).rows for name in ("clients", "between-brokers")) and clients.isEmpty():
        raise nothing_to_report(run, broken)
    run.write(clients.coalesce(1), "clients")
    return run.publish(report, broken)
