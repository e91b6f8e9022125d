"""Usage of APIs, versions and clients over time, and the releases that deprecate or refuse the versions in use.

``census(clients, exchanges)`` returns a :class:`Report` on clients and the table EXCHANGES. The table CLIENTS is
small, so its rows are collected and added up in Python. Exchanges are counted per interval in one pass over
EXCHANGES.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kwire_inspect.reasons import MIN_COVERAGE
from kwire_inspect.reports import charts
from kwire_inspect.reports.basis import basis_of
from kwire_inspect.reports.client_usage import (
    WHO,
    Client,
    brokers_among,
    by_client,
    by_use,
    collected,
    grouped,
    highest,
)
from kwire_inspect.reports.completed import checked, completed
from kwire_inspect.reports.over_time import Steps, counted_over_time
from kwire_inspect.reports.release_support import OK, UNSURE, deprecated_in, is_known, judge, refused_by, spans
from kwire_inspect.reports.report import Chart, Column, Report, Table
from kwire_inspect.reports.text import counted, time
from kwire_inspect.tables.clients import INPUT_KIND
from kwire_inspect.tables.relations import collect
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry
    from kwire.releases import Releases
    from kwire_inspect.reports.client_usage import Row
    from kwire_inspect.reports.report import Cell
    from kwire_inspect.tables.clients import Clients
    from kwire_inspect.tables.relations import Relation

    Seen = Sequence[tuple[Client, Row]]

TOP = 200
"""Maximum number of rows in a table. Real inputs contain fewer versions, but a hostile input can invent 2^32."""
UNKNOWN_SOFTWARE = "unknown"
STATES = {"refused": "bad", "unstable": "warn", "deprecated": "warn", "current": "good"}
ORDER = (*STATES, "unknown")
COUNTED = (
    "requests",
    Column("errors", comment="Requests answered with an error code."),
    Column(
        "refused",
        "seen refused",
        "Requests refused according to a log, or unanswered because the server closed the connection.",
    ),
    "first_seen",
    "last_seen",
)
VERSIONS = Table("versions", "APIs and versions", empty="No requests found.").with_columns(
    Column("api_key", "key"),
    Column("api", "API"),
    "version",
    Column(
        "state",
        mark=STATES,
        comment="State in the newest known release, or unknown if no known release accepts the version.",
    ),
    Column("deprecated", "deprecated in"),
    "refused_by",
    "clients",
    *COUNTED,
)
CLIENTS = Table("clients", "Clients", empty="No clients found.").with_columns(
    *WHO,
    Column("apis", "APIs"),
    Column("versions", comment="Number of pairs of API and version."),
    *COUNTED,
)
REPORTED = "Clients report their software in ApiVersions 3 and newer [KIP-511]."
SOFTWARE = Table("software", "Software", note=REPORTED).with_columns("software", "clients", *COUNTED)


def census(
    clients: Clients[Any],
    exchanges: Relation | None = None,
    *,
    top: int = TOP,
    releases: Releases = RELEASES,
    min_coverage: float = MIN_COVERAGE,
    protocol: MessageRegistry = PROTOCOL,
) -> Report:
    """Return a report on the versions, libraries and addresses of clients.

    Without ``exchanges``, the report contains no chart over time. For each client, API and version, only the input
    type with the highest count is used, because captures and logs may contain the same requests. The state of a
    version is its state in the newest of ``releases``. The report begins with its basis. See ``readiness``.
    """
    checked(clients)
    with clients.kept() as kept:
        report = _report(kept.table, exchanges, top, releases)
        return completed(report, basis_of(kept), kept.origin, min_coverage, protocol, kept.table)


def _report(clients: Relation, exchanges: Relation | None, top: int, releases: Releases) -> Report:
    rows, more = collected(clients, "requests DESC")
    everyone = by_client(rows)
    brokers = brokers_among(everyone)
    seen = [(client, row) for client, row in everyone if client not in brokers]
    versions, people, software = _versions(seen, top, releases), _clients(seen, top), _software(seen, top)
    drawn = (_over_time(exchanges, versions) if exchanges is not None else None, _heat(versions))
    summary, shown = _summary(versions, people, more, releases), tuple(chart for chart in drawn if chart)
    if brokers:
        uses = by_use(pair for pair in everyone if pair[0] in brokers).values()
        left_out = counted(sum(highest(rows, "requests") for rows in uses), "request")
        summary = (*summary, f"Excludes {left_out} from brokers and controllers.")
    return Report("census", "Clients and API versions", summary, (versions, people, software), shown)


def _versions(seen: Seen, top: int, releases: Releases) -> Table:
    rows = []
    for (key, version), group in grouped(seen, lambda pair: (pair[1]["api_key"], pair[1]["version"])).items():
        name = next((row["api"] for _, row in group if row["api"]), f"key {key}")
        rows.append((key, name, version, *_support(key, version, releases), len(_people(group)), *_counts(group)))
    table = _most_used(VERSIONS, rows, top)
    return replace(table, rows=tuple(sorted(table.rows, key=_by_state)))


def _by_state(row: tuple[Any, ...]) -> tuple[Any, ...]:
    key, _, version, state, *_ = row
    return ORDER.index(state), key, -1 if version is None else version  # some refusals in server logs have no version


def _clients(seen: Seen, top: int) -> Table:
    rows = []
    for client, group in grouped(seen, lambda pair: pair[0]).items():
        apis = {row["api_key"] for _, row in group}
        rows.append((*client[: len(WHO)], len(apis), len(by_use(group)), *_counts(group)))
    return _most_used(CLIENTS, rows, top)


def _software(seen: Seen, top: int) -> Table:
    groups = grouped(seen, lambda pair: pair[0].software or UNKNOWN_SOFTWARE).items()
    return _most_used(SOFTWARE, [(name, len(_people(group)), *_counts(group)) for name, group in groups], top)


def _people(group: Seen) -> set[Client]:
    return {client for client, _ in group}


def _counts(group: Seen) -> tuple[Cell, ...]:
    """Return the cells of the columns ``COUNTED``.

    For each client, API and version, only the highest count of any input type is used. The highest counts are added
    up.
    """
    uses = by_use(group).values()
    firsts = [row["first_seen"] for _, row in group if row["first_seen"] is not None]
    lasts = [row["last_seen"] for _, row in group if row["last_seen"] is not None]
    most = [sum(highest(rows, name) for rows in uses) for name in ("requests", "errors", "refused")]
    return *most, min(firsts, default=None), max(lasts, default=None)


def _most_used(table: Table, rows: list[tuple[Any, ...]], top: int) -> Table:
    """Return the table with only the ``top`` rows by number of requests. Rows end with the columns ``COUNTED``."""
    requests = -len(COUNTED)
    rows.sort(key=lambda row: (-row[requests], *(str(cell or "") for cell in row[:requests])))
    return replace(table, rows=tuple(rows)).limited(top)


def _support(api_key: int | None, version: int | None, releases: Releases) -> tuple[str, str, str]:
    """Return the version's state in the newest release, the releases that deprecate the version, and the releases
    that refuse it.
    """
    if api_key is None or version is None or not is_known(api_key, version, releases):
        return "unknown", "", ""
    state = judge(api_key, version, releases.newest, releases=releases).state
    deprecated, refused = (find(api_key, version, releases) for find in (deprecated_in, refused_by))
    return (
        {OK: "current", UNSURE: "unstable"}.get(state, state),
        spans(deprecated, releases),
        spans(refused, releases),
    )


def _heat(versions: Table) -> Chart | None:
    known: list[Any] = [row for row in versions.rows if row[2] is not None]
    if not known:
        return None
    rows = sorted(known, key=lambda row: row[0])
    counts = {(row[0], row[2]): row[7] for row in rows}
    names = {row[0]: str(row[1]) for row in rows}
    across = sorted({row[2] for row in rows})
    table: list[list[Any]] = [[counts.get((key, version)) for version in across] for key in names]
    title, note = "Requests by API and version", "Darker cells represent more requests, on a logarithmic scale."
    labels = [str(version) for version in across]
    return Chart("heat", title, charts.heat(list(names.values()), labels, table, unit="requests"), note)


def _over_time(exchanges: Relation, versions: Table) -> Chart | None:
    if not (span := _span(versions)):
        return None
    steps = Steps.of(*span)
    counts = collect(
        f"""
        SELECT step, what, input_kind, count(*) AS requests
        FROM (
            SELECT {steps.number("time")} AS step, coalesce(api, 'unknown') AS what, {INPUT_KIND} AS input_kind
            FROM {{exchanges}} WHERE problem IS NULL AND time IS NOT NULL
        ) AS requests
        GROUP BY step, what, input_kind""",
        exchanges=exchanges,
    )
    return counted_over_time(
        "time", "Requests over time", (tuple(row.values()) for row in counts), steps, unit="requests"
    )


def _span(versions: Table) -> tuple[datetime, datetime] | None:
    firsts = [moment for moment in versions.column("first_seen") if isinstance(moment, datetime)]
    lasts = [moment for moment in versions.column("last_seen") if isinstance(moment, datetime)]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def _summary(versions: Table, people: Table, more: int, releases: Releases) -> tuple[str, ...]:
    if not versions.rows:
        return ("No requests found.",)
    states = Counter(versions.column("state"))
    span = _span(versions)
    when = f", from {time(span[0])} to {time(span[1])} UTC" if span else ""
    who = counted(len(people.rows) + people.more, "client")
    apis = counted(len(set(versions.column("api_key"))), "API")
    pairs = counted(len(versions.rows) + versions.more, "version")
    support = f"Of these versions, Kafka {releases.newest.name} refuses {states['refused']}"
    sentences = (f"{who} used {apis} in {pairs}{when}.", f"{support} and deprecates {states['deprecated']}.")
    left_out = f"Omits {counted(more, 'row')} of clients, APIs and versions with the fewest requests."
    return (*sentences, left_out) if more else sentences
