"""Compares the requests of deprecated versions in brokers' metrics with the requests in other inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire_inspect.reports.client_usage import by_client, by_use, client_of, highest, seen_elsewhere
from kwire_inspect.reports.release_support import REFUSED, judge
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.reports.text import counted
from kwire_inspect.tables.clients import METRICS

if TYPE_CHECKING:
    from kwire.releases import Release, Releases
    from kwire_inspect.reports.client_usage import Row

COUNTED = Table(
    "metrics",
    "Deprecated versions counted by brokers",
    note="Counts since the start of each broker, by software only. If other inputs contain fewer requests of a "
    "version, some clients that use the version may not have been captured.",
).with_columns(
    Column("api", "API"),
    "version",
    Column(
        "software", comment="Software that the client reported, or empty if the broker did not know the software."
    ),
    Column(
        "requests", "counted", comment="Requests that DeprecatedRequestsPerSec counted since the brokers started."
    ),
    Column("seen", "in other inputs", comment="Requests with this API, version and software in other inputs."),
    Column("clients", comment="Clients that sent the requests in other inputs."),
    Column("refused_by", comment="Targets that refuse the version."),
)

ALONE = (
    "Only metrics were read. Metrics count only requests with deprecated versions, and identify clients at most by "
    "software. Add captures or request logs."
)


def with_counted(report: Report, rows: Sequence[Row], targets: Sequence[Release], releases: Releases) -> Report:
    """Return the report, with a table of any rows of CLIENTS that come from metrics."""
    metrics = [row for row in rows if row["input_kind"] == METRICS]
    if not metrics:
        return report
    others = by_client(row for row in rows if row["input_kind"] != METRICS)
    cells = []
    for row, seen in zip(metrics, seen_elsewhere(others, metrics), strict=True):
        key, version = row["api_key"], row["version"]
        cells.append(
            {
                "api": row["api"],
                "version": version,
                "software": client_of(row).software,
                "requests": row["requests"],
                "seen": sum(highest(group, "requests") for group in by_use(seen).values()),
                "clients": tuple(dict.fromkeys(str(client.anywhere) for client, _ in seen)),
                "refused_by": tuple(
                    target.name
                    for target in targets
                    if judge(key, version, target, releases=releases).state == REFUSED
                ),
            }
        )
    cells.sort(key=lambda cell: (not cell["refused_by"], cell["seen"] > 0, -cell["requests"]))
    more = sum(cell["requests"] > cell["seen"] for cell in cells)
    sentence = ALONE
    if others:
        sentence = (
            f"Metrics count more requests of {counted(more, 'deprecated version')} than other inputs contain. "
            f'See "{COUNTED.title}".'
            if more
            else "Other inputs contain all requests with deprecated versions that metrics count."
        )
    return replace(report, summary=(*report.summary, sentence), tables=(*report.tables, COUNTED.with_rows(cells)))
