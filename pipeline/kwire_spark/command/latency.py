"""``kwire-spark latency``: how long requests take, how many fail, which clients are throttled."""

from __future__ import annotations

import click

from kwire_spark.command.common import Run, no_requests, problems, with_inputs

NEEDED = (
    *("source", "position", "client_host", "number", "time", "api_key", "api", "version", "client_id", "principal"),
    *("outcome", "error_codes", "throttle_ms", "latency_ms", "queue_ms", "local_ms", "remote_ms", "_corrupt"),
)


@click.command("latency")
@with_inputs()
def command(run: Run) -> int:
    """Latency and errors of requests per API, and clients that are throttled."""
    from kwire_spark.reports.latency import latency
    from kwire_spark.tables.read import read_exchanges

    exchanges = run.cached(run.read(read_exchanges, *NEEDED))
    with run.step("Adding up"):
        report, broken = latency(exchanges), problems(exchanges)
    if not report.table("apis").rows:
        raise no_requests(run, broken)
    return run.publish(report, broken)
