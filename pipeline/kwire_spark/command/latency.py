"""``kwire-spark latency``: how long requests take, how many fail, who is throttled."""

from __future__ import annotations

import click

from kwire_spark.command.common import Run, nothing_to_report, problems
from kwire_spark.command.common import command as shared

NEEDED = (
    *("source", "position", "client_host", "number", "time", "api_key", "api", "version", "client_id", "principal"),
    *("outcome", "error_codes", "throttle_ms", "latency_ms", "queue_ms", "local_ms", "remote_ms", "_corrupt"),
)


@click.command("latency")
@shared()
def command(run: Run) -> int:
    """How long requests take per API, with which errors, and which clients are throttled."""
    from kwire_spark.reports.latency import latency

    exchanges = run.exchanges(*NEEDED).persist()
    with run.step(f"Reading {run.inputs}"):
        exchanges.count()
    with run.step("Adding up"):
        report, broken = latency(exchanges), problems(exchanges)
    if not report.table("apis").rows:
        raise nothing_to_report(run, broken)
    return run.publish(report, broken)
