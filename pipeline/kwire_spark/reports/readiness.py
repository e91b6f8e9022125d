"""Who breaks on a release: the table CLIENTS against what the release accepts [KIP-896, KAFKA-WIRE 2.1].

``readiness(clients, "4.1.1")`` gives a :class:`Report` whose exit code is 1 if a client is refused. CLIENTS is
small: its rows are collected, and what they come to is plain Python, in ``uses`` and ``verdicts``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire.protocol import API_VERSIONS
from kwire.releases import format_range
from kwire_kafka.releases import RELEASES
from kwire_spark.reports import charts
from kwire_spark.reports.client_usage import WHO, Client, Use, collected, uses_of
from kwire_spark.reports.release_support import refused_by
from kwire_spark.reports.report import Chart, Column, Report, Table, columns
from kwire_spark.reports.text import counted, file_name
from kwire_spark.reports.verdicts import BETWEEN_BROKERS, OK, REFUSED, SEVERITY, Verdict, judge
from kwire_spark.tables.clients import REQUEST_LOG

if TYPE_CHECKING:
    from pyspark.sql import Column as Expression
    from pyspark.sql import DataFrame

    from kwire.releases import Release
    from kwire_spark.reports.report import Cell

NAMED = 10
"""Clients that the summary names."""
NOBODY = "No client uses a version that is refused."
LOGS_ALONE = (
    "This is from request logs alone, and brokers of 4.x do not log the requests that they refuse: "
    "if these are theirs, add their server logs or a capture."
)
MARKS = {"refused": "bad", "unsure": "warn", "unknown": "warn", "deprecated": "warn", "ok": "good"}


Judged = list[tuple[Use, Verdict]]


def readiness(clients: DataFrame, target: str) -> Report:
    """A report on the clients (``columns.CLIENTS``) that brokers of release ``target`` would break.

    ``target`` is a release, or a line as ``"4.1"``: its newest that is known. ``UnknownReleaseError`` if there is
    none.
    What captures and logs saw counts once, by the kind of input that saw most of it.
    """
    release = RELEASES[target]
    rows, more = collected(clients, *_worst_first(release))
    unjudged = sum(row["refused"] for row in rows if row["version"] is None)
    report = report_on(uses_of(rows), release, more, unjudged)
    if not report.exit_code and {row["seen_in"] for row in rows} == {REQUEST_LOG}:
        return replace(report, summary=(*report.summary, LOGS_ALONE))
    return report


def report_on(uses: Iterable[Use], target: Release, more: int = 0, unjudged: int = 0) -> Report:
    """The report on these uses; ``more`` are left out. ``unjudged`` are requests that a broker refused without a word
    on their version."""
    found = judged(uses, target)
    between = [(use, verdict) for use, verdict in found if use.api_key in BETWEEN_BROKERS]
    found = [(use, verdict) for use, verdict in found if use.api_key not in BETWEEN_BROKERS]
    refused = _of_clients(found, {REFUSED}, target)
    doubtful = _of_clients(found, set(SEVERITY) - {REFUSED, OK}, target)
    return Report(
        "readiness",
        f"Who breaks on Kafka {target.name}",
        _summary(found, target, more, unjudged),
        (
            _without(_table("refused", f"Refused by {target.name}", refused, NOBODY), "state"),
            _table("doubtful", "Deprecated, unknown or unsure", doubtful, "Nothing."),
            _clients_table(found, more),
            _between_table(between),
        ),
        tuple(chart for chart in [_per_release(found)] if chart),
        1 if refused else 0,
    )


def judged(uses: Iterable[Use], target: Release) -> Judged:
    """Each use with what the target says to it, the worst first."""
    uses = list(uses)
    asking = {(use.client.client_id, use.client.host) for use in uses if use.api_key == API_VERSIONS}
    found = [
        (use, judge(use.api_key, use.version, target, negotiates=(use.client.client_id, use.client.host) in asking))
        for use in uses
    ]
    return sorted(
        found, key=lambda one: (-SEVERITY[one[1].state], _order(one[0].client), one[0].api_key, one[0].version)
    )


def _worst_first(target: Release) -> tuple[Expression | str, ...]:
    """The order in which rows of CLIENTS count: of too many, those go that the target simply accepts."""
    from pyspark.sql import functions as F

    accepted = F.lit(False)
    for key, api in target.apis.items():
        fine = F.col("version").between(api.accepted.start, api.accepted.stop - 1)
        accepted = accepted | ((F.col("api_key") == key) & fine)
    return accepted, "api_key", "version"


def _of_clients(found: Judged, states: set[str], target: Release) -> list[tuple[Cell, ...]]:
    """A row for each client and API that has uses in one of ``states``."""
    groups: defaultdict[tuple[Client, int], Judged] = defaultdict(list)
    for use, verdict in found:
        groups[use.client, use.api_key].append((use, verdict))
    rows = []
    for (client, key), group in groups.items():
        bad = [(use, verdict) for use, verdict in group if verdict.state in states]
        if bad:
            rows.append((*client.cells, *_facts(key, bad, group, target)))
    return rows


def _facts(key: int, bad: Judged, group: Judged, target: Release) -> tuple[Cell, ...]:
    api = target.apis.get(key)
    (worst, verdict), *_ = bad
    good = [use.version for use, judgement in group if SEVERITY[judgement.state] < SEVERITY["unknown"]]
    seen = [use.last_seen for use, _ in bad if use.last_seen is not None]
    return (
        worst.api,
        tuple(use.version for use, _ in bad),
        verdict.state,
        min((one.first for _, one in bad if one.first), key=_age, default=None),
        max(good, default=None),
        worst.place,
        format_range(api.accepted) if api else "none",
        verdict.reason,
        sum(use.requests for use, _ in bad),
        sum(use.refusals for use, _ in bad),
        max(seen, default=None),
        min((one.deprecated for _, one in bad if one.deprecated), key=_age, default=None),
    )


def _table(name: str, title: str, rows: Sequence[tuple[Cell, ...]], empty: str) -> Table:
    """What is worth most at the left: terminals have room for no more."""
    common = "The newest version that the client was seen to use and the target accepts."
    refusals = "Requests not answered as the server closed the connection, or refused in a server log."
    shape = columns(
        *WHO[:2],
        Column("api", "API"),
        "versions",
        Column("state", mark=MARKS),
        Column("refused_since", "refused since", "The first release that refuses what one before it accepted."),
        Column("newest_common", "newest common", common),
        Column("evidence", comment="File and byte of an example.", brief=file_name),
        Column("accepted", "target accepts"),
        "reason",
        *WHO[2:],
        "requests",
        Column("refusals", comment=refusals),
        "last_seen",
        Column("deprecated_since", "deprecated since"),
    )
    who = len(WHO)
    ordered = tuple((*row[:2], *row[who : who + 8], *row[2:who], *row[who + 8 :]) for row in rows)
    return Table(name, title, shape, ordered, empty=empty)


def _without(table: Table, name: str) -> Table:
    """The table without a column: one in which all cells are the same, as its title says."""
    place = [column.name for column in table.columns].index(name)
    rows = tuple((*row[:place], *row[place + 1 :]) for row in table.rows)
    return replace(table, columns=(*table.columns[:place], *table.columns[place + 1 :]), rows=rows)


def _clients_table(found: Judged, more: int) -> Table:
    """A row for each client, with the worst that is said to any of its requests."""
    groups: defaultdict[Client, Judged] = defaultdict(list)
    for use, verdict in found:  # the worst first
        groups[use.client].append((use, verdict))
    rows = [
        (
            *client.cells,
            group[0][1].state,
            tuple(dict.fromkeys(use.api for use, verdict in group if verdict.state == REFUSED)),
            len({use.api_key for use, _ in group}),
            sum(use.requests for use, _ in group),
        )
        for client, group in groups.items()
    ]
    shape = columns(
        *WHO,
        Column("verdict", mark=MARKS),
        Column("refused_apis", "refused APIs"),
        Column("apis", "APIs"),
        "requests",
    )
    return Table("clients", "Clients", shape, tuple(rows), more=more, empty="No client was seen.")


def _between_table(found: Judged) -> Table:
    """A row for each API and what becomes of its versions."""
    groups: defaultdict[tuple[int, str], Judged] = defaultdict(list)
    for use, verdict in found:
        groups[use.api_key, verdict.state].append((use, verdict))
    rows = [
        (
            group[0][0].api,
            tuple(sorted({use.version for use, _ in group})),
            state,
            min((verdict.first for _, verdict in group if verdict.first), key=_age, default=None),
            sum(use.requests for use, _ in group),
            group[0][0].place,
        )
        for (_, state), group in groups.items()
    ]
    shape = columns(
        Column("api", "API"),
        "versions",
        Column("state", "in target"),
        Column("refused_since", "refused since"),
        "requests",
        Column("evidence", brief=file_name),
    )
    note = "Brokers and controllers among themselves: an upgrade changes both ends, so none of this counts."
    return Table("between-brokers", "Between brokers", shape, tuple(rows), note, empty="None of their APIs was seen.")


def _summary(found: Judged, target: Release, more: int, unjudged: int) -> tuple[str, ...]:
    """Who breaks, in one sentence; then what else is worth knowing."""
    clients = {use.client for use, _ in found}
    bad = list(dict.fromkeys(use.client for use, verdict in found if verdict.state == REFUSED))
    apart = [f"{counted(unjudged, 'refusal')} in server logs without a version: see the table clients."]
    if not clients:
        return ("No client was seen.", *(apart if unjudged else ()))
    share = f"{len(bad):,}" if bad else "none"
    told = [f"Kafka {target.name} refuses {share} of {counted(len(clients), 'client')}{_names(bad)}."]
    seen = sum(use.refusals for use, verdict in found if verdict.state == REFUSED)
    if seen:
        told.append(f"Of their requests {seen:,} {'was' if seen == 1 else 'were'} refused already.")
    if more:
        told.append(
            f"{counted(more, 'row')} of clients, APIs and versions were left out, accepted ones before others."
        )
    told += apart if unjudged else []
    return tuple(told)


def _names(clients: Sequence[Client]) -> str:
    if not clients:
        return ""
    names = [str(client) for client in clients[:NAMED]]
    if len(clients) > NAMED:
        return f": {'; '.join(names)}; and {len(clients) - NAMED:,} more"
    return f": {'; '.join(names)}"


def _per_release(found: Judged) -> Chart | None:
    """How many clients break on each release, from the one before the first that refuses any of them."""
    breaking: defaultdict[str, set[Client]] = defaultdict(set)
    for use, _ in found:
        for name in refused_by(use.api_key, use.version):
            breaking[name].add(use.client)
    if not breaking:
        return None
    names = list(RELEASES)[max(min(map(_age, breaking)) - 1, 0) :]
    counts = [len(breaking[name]) for name in names]
    note = "At each release, by the versions that clients were seen to use."
    series, roles = {"clients": counts}, {"clients": "bad"}
    return charts.columns("releases", "Clients that break", names, series, unit="clients", roles=roles, note=note)


def _age(release: str) -> int:
    return list(RELEASES).index(release)


def _order(client: Client) -> tuple[str, ...]:
    return tuple(str(cell or "") for cell in client.cells)
