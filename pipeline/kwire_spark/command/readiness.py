"""``kwire-spark readiness``: who breaks on a release."""

from __future__ import annotations

import click

from kwire_spark.columns import CLIENTS
from kwire_spark.command.common import Run, problems
from kwire_spark.command.common import command as shared
from kwire_spark.options import OptionError


@click.command("readiness")
@click.option("--target", required=True, metavar="RELEASE", help="The release of the brokers to be, as 4.1.1.")
@shared()
def command(run: Run, target: str) -> int:
    """Which clients use versions that a release refuses.

    Exit codes: 0 no client is refused, 1 some are, 2 wrong usage, 3 it did not work.
    """
    from kwire_kafka.releases import RELEASES
    from kwire_spark.reports.readiness import readiness

    RELEASES[target]  # before Spark is started for nothing
    counted = run.tally()
    clients = counted.where("_corrupt IS NULL AND api_key IS NOT NULL").select(*CLIENTS.names)
    broken = problems(counted)
    if not run.write_clients(clients):
        why = f": {broken.rows[0][2]}" if broken.rows else ""
        raise OptionError(f"there is no request in {run.inputs}{why}")
    run.write(clients, "clients")
    with run.step(f"Judging by Kafka {target}"):
        report = readiness(clients, target)
    return run.hand_over(report, broken)
