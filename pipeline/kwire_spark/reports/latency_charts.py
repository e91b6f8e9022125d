"""Charts of the report on latency, from its table of APIs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kwire_spark.reports import charts
from kwire_spark.reports.report import Chart, Table


def quantiles_chart(times: Table, note: str) -> Chart | None:
    """Median to maximum of each API; ``None`` if no latency is known."""
    labels, (p50, p90, p99, slowest) = _measured(times, ("p50_ms", "p90_ms", "p99_ms", "max_ms"))
    if not labels:
        return None
    series = {"p50": p50, "p90": p90, "p99": p99, "max": slowest}
    return charts.points("quantiles", "Latency per API", labels, series, unit="milliseconds", note=note)


def split_chart(times: Table) -> Chart | None:
    """How brokers spend the time; ``None`` without request logs."""
    labels, (queues, local, remote) = _measured(times, ("queue_ms", "local_ms", "remote_ms"))
    if not labels:
        return None
    series = {"queues": queues, "local": local, "remote": remote}
    note = "Mean per request, from request logs: waiting in queues, at work on the leader, waiting for other brokers."
    return charts.bars("split", "How brokers spend the time", labels, series, unit="milliseconds", note=note)


def _measured(times: Table, names: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Labels of the rows with any of these measures, and a list of values for each measure."""
    apis, seen = times.column("api"), times.column("seen_in")
    both = len(set(seen)) > 1
    labels = [
        f"{api} ({str(place).removeprefix('request_')})" if both else str(api)
        for api, place in zip(apis, seen, strict=True)
    ]
    measures = [times.column(name) for name in names]
    kept = [place for place in range(len(labels)) if any(column[place] is not None for column in measures)]
    return [labels[place] for place in kept], [[column[place] for place in kept] for column in measures]
