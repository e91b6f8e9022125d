"""Usage of APIs, versions and clients, over time, and which releases deprecate or refuse the versions in use.

``census(clients, exchanges)`` takes the tables CLIENTS and EXCHANGES and returns a :class:`Report`. CLIENTS is small:
its rows are collected, and added up in Python. EXCHANGES are counted over time, in one pass.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kwire_kafka.releases import RELEASES
from kwire_spark.reports import charts
from kwire_spark.reports.client_usage import WHO, Client, by_client, collected
from kwire_spark.reports.over_time import Steps, counted_over_time
from kwire_spark.reports.release_support import deprecated_in, is_known, refused_by, spans
from kwire_spark.reports.report import Chart, Column, Report, Table, columns
from kwire_spark.reports.text import counted, time

if TYPE_CHECKING:

    from kwire_spark.reports.client_usage import Row
    from kwire_spark.reports.report import Cell

    Seen = Sequence[tuple[Client, Row]]

TOP = 200
"""Rows of a table. Real inputs have fewer versions than this; a hostile one can make up 2^32."""
UNKNOWN_SOFTWARE = "unknown"
STATES = {"refused": "bad", "unstable": "warn", "deprecated": "warn", "current": "good"}
ORDER = (*STATES, "unknown")
COUNTS = ("requests", "errors", "refused")
COUNTED = columns(
    "requests",
    Column("errors", comment="Answered with an error code."),
    Column("refused", "seen refused", "Not answered because the connection ended, or refused in a log."),
    "first_seen",
    "last_seen",
)


def census(clients: DataFrame, exchanges: DataFrame | None = None, *, top: int = TOP) -> Report:
    """A report on clients: versions, libraries, addresses. Without ``exchanges`` there is no chart over time.

    For each client, API and version only the type of input with the highest count is used, since captures and logs
    may have seen the same requests.
    """
    rows, more = collected(clients, F.desc("requests"))
    seen = by_client(rows)
    versions, people, software = _versions(seen, top), _clients(seen, top), _software(seen, top)
    drawn = (_over_time(exchanges, versions) if exchanges is not None else None, _heat(versions))
    title, shown = "Clients and API versions", tuple(chart for chart in drawn if chart is not None)
    return Report("census", title, _summary(versions, people, more), (versions, people, software), shown)


def _versions(seen: Seen, top: int) -> Table:
    rows = []
    for (key, version), group in _groups(seen, lambda client, row: (row["api_key"], row["version"])):
        name = next((row["api"] for _, row in group if row["api"]), f"key {key}")
        rows.append((key, name, version, *_support(key, version), len(_people(group)), *_counts(group)))
    rows, more = _top(rows, top)
    rows.sort(key=lambda row: (ORDER.index(row[3]), *row[:3]))
    shape = columns(
        Column("api_key", "key"),
        Column("api", "API"),
        "version",
        Column("state", mark=STATES, comment=f"In {RELEASES.newest.name}; unknown if no known release accepts it."),
        Column("deprecated", "deprecated in"),
        Column("refused_by", "refused by"),
        "clients",
        *COUNTED,
    )
    return Table("versions", "APIs and versions", shape, tuple(rows), more=more, empty="No requests found.")


def _clients(seen: Seen, top: int) -> Table:
    rows = []
    for client, group in _groups(seen, lambda client, row: client):
        apis = {row["api_key"] for _, row in group}
        versions = {(row["api_key"], row["version"]) for _, row in group}
        rows.append((*client.cells, len(apis), len(versions), *_counts(group)))
    rows, more = _top(rows, top)
    shape = columns(
        *WHO,
        Column("apis", "APIs"),
        Column("versions", comment="Pairs of API and version."),
        *COUNTED,
    )
    return Table("clients", "Clients", shape, tuple(rows), more=more, empty="No clients found.")


def _software(seen: Seen, top: int) -> Table:
    groups = _groups(seen, lambda client, row: client.software or UNKNOWN_SOFTWARE)
    rows, more = _top([(software, len(_people(group)), *_counts(group)) for software, group in groups], top)
    shape = columns("software", "clients", *COUNTED)
    note = "As clients report it in ApiVersions, from version 3 on [KIP-511]."
    return Table("software", "Software", shape, tuple(rows), note, more)


def _groups(seen: Seen, key: Callable[[Client, Row], Hashable]) -> list[tuple[Any, Seen]]:
    groups: defaultdict[Hashable, list[tuple[Client, Row]]] = defaultdict(list)
    for client, row in seen:
        groups[key(client, row)].append((client, row))
    return [*groups.items()]


def _people(group: Seen) -> set[Client]:
    return {client for client, _ in group}


def _counts(group: Seen) -> tuple[Cell, ...]:
    """The columns ``COUNTED``: the sums over clients, APIs and versions of the highest count of any type of input."""
    uses: defaultdict[Hashable, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for client, row in group:
        by_input = uses[client, row["api_key"], row["version"]]
        by_input[row["seen_in"]].update({name: row[name] for name in COUNTS})
    firsts = [row["first_seen"] for _, row in group if row["first_seen"] is not None]
    lasts = [row["last_seen"] for _, row in group if row["last_seen"] is not None]
    most = [sum(max(counts[name] for counts in use.values()) for use in uses.values()) for name in COUNTS]
    return *most, min(firsts, default=None), max(lasts, default=None)


def _top(rows: Sequence[tuple[Any, ...]], top: int) -> tuple[list[tuple[Any, ...]], int]:
    """The rows with the most requests, and the number of others; rows end with the columns ``COUNTED``."""
    requests = -len(COUNTED)
    ranked = sorted(rows, key=lambda row: (-row[requests], *(str(cell or "") for cell in row[:requests])))
    return ranked[:top], max(len(rows) - top, 0)


def _support(api_key: int | None, version: int | None) -> tuple[str, str, str]:
    """State in the newest release, releases that deprecate it, releases that refuse it."""
    if api_key is None or version is None or not is_known(api_key, version):
        return "unknown", "", ""
    newest = RELEASES.newest.name
    refused, deprecated = refused_by(api_key, version), deprecated_in(api_key, version)
    api = RELEASES.newest.apis.get(api_key)
    state = "refused" if newest in refused else "deprecated" if newest in deprecated else "current"
    if api is not None and version in api.unstable:
        state = "unstable"
    return state, spans(deprecated), spans(refused)


def _heat(versions: Table) -> Chart | None:
    if not versions.rows:
        return None
    rows: list[Any] = sorted(versions.rows, key=lambda row: row[:1])
    counts = {(row[0], row[2]): row[7] for row in rows}
    names = {row[0]: str(row[1]) for row in rows}
    across = sorted({row[2] for row in rows})
    table: list[list[Any]] = [[counts.get((key, version)) for version in across] for key in names]
    title, note = "Requests by API and version", "Darker cells have more requests, by powers of ten."
    labels = [str(version) for version in across]
    return charts.heat("heat", title, list(names.values()), labels, table, unit="requests", note=note)


def _over_time(exchanges: DataFrame, versions: Table) -> Chart | None:
    if not (span := _span(versions)):
        return None
    steps = Steps.of(*span)
    what = F.coalesce("api", F.lit("unknown")).alias("what")
    requests = exchanges.where("_corrupt is null and time is not null")
    counts = (
        requests.groupBy(steps.number("time").alias("at"), what, F.isnull("number").alias("log")).count().collect()
    )
    return counted_over_time("time", "Requests over time", map(tuple, counts), steps, unit="requests")


def _span(versions: Table) -> tuple[datetime, datetime] | None:
    firsts = [moment for moment in versions.column("first_seen") if isinstance(moment, datetime)]
    lasts = [moment for moment in versions.column("last_seen") if isinstance(moment, datetime)]
    return (min(firsts), max(lasts)) if firsts and lasts else None


def _summary(versions: Table, people: Table, more: int) -> tuple[str, ...]:
    if not versions.rows:
        return ("No requests found.",)
    states = Counter(versions.column("state"))
    span = _span(versions)
    when = f", from {time(span[0])} to {time(span[1])} UTC" if span else ""
    who = counted(len(people.rows) + people.more, "client")
    apis = counted(len(set(versions.column("api_key"))), "API")
    pairs = counted(len(versions.rows) + versions.more, "version")
    support = f"Of these versions, Kafka {RELEASES.newest.name} refuses {states['refused']}"
    sentences = (f"{who} used {apis} in {pairs}{when}.", f"{support} and deprecates {states['deprecated']}.")
    left_out = f"{counted(more, 'row')} of clients, APIs and versions left out: those with the fewest requests."
    return (*sentences, left_out) if more else sentences
