"""``kwire-spark readiness``: clients that will break on a release."""

from __future__ import annotations

import click

from kwire_spark.command.common import Run, no_requests, problems, with_inputs


@click.command("readiness")
@click.option("--target", required=True, metavar="RELEASE", help="Kafka release you plan to upgrade to, e.g. 4.1.1.")
@with_inputs()
def command(run: Run, target: str) -> int:
    """Report clients that use versions which a release refuses.

    Exit codes: 0 no client is refused, 1 some are, 2 usage error, 3 failure.
    """
    from kwire_kafka.releases import RELEASES
    from kwire_spark.reports.readiness import readiness
    from kwire_spark.tables.clients import identified

    RELEASES[target]  # fail before Spark is started
    counted = run.tally()
    clients = identified(counted)
    with run.step(f"Comparing with Kafka {target}"):
        report, broken = readiness(clients, target), problems(counted)
    if not any(report.table(name).rows for name in ("clients", "between-brokers")) and clients.isEmpty():
        raise no_requests(run, broken)
    run.write(clients.coalesce(1), "clients")
    return run.publish(report, broken)
