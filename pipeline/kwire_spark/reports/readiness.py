"""Who breaks on a release: the table CLIENTS against what the release accepts [KIP-896, KAFKA-WIRE 2.1].

``readiness(clients, "4.1.1")`` gives a :class:`Report` whose exit code is 1 if a client is refused. CLIENTS is
small: its rows are collected, and what they come to is plain Python, in ``uses`` and ``verdicts``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kwire.protocol import API_VERSIONS
from kwire.releases import text
from kwire_kafka.releases import RELEASES
from kwire_spark.reports import charts
from kwire_spark.reports.report import Chart, Column, Report, Table, columns
from kwire_spark.reports.standing import refused_by
from kwire_spark.reports.text import counted
from kwire_spark.reports.uses import Client, Use, uses_of
from kwire_spark.reports.verdicts import BETWEEN_BROKERS, OK, REFUSED, SEVERITY, Verdict, judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kwire.releases import Release
    from kwire_spark.reports.report import Cell

MOST = 200_000
"""Rows of CLIENTS that are judged."""

WHO = columns(
    Column("client_id", "client"),
    Column("client_host", "address"),
    Column("software", comment="As the client introduced itself [KIP-511]; nothing if it did not."),
    Column("principal"),
)
MARKS = {"refused": "bad", "unsure": "warn", "unknown": "warn", "deprecated": "warn", "ok": "good"}


Judged = list[tuple[Use, Verdict]]


def readiness(clients: DataFrame, target: str) -> Report:
    """What becomes of ``clients`` (``columns.CLIENTS``) when all brokers are of release ``target``.

    ``target`` is a release, or a line as ``"4.1"``: its newest that is known. ``UnknownRelease`` if there is none.
    What captures and logs saw counts once, by the kind of input that saw most of it.
    """
    release = RELEASES[target]
    rows, more = _rows(clients, release)
    return report_on(uses_of(rows), release, more)


def report_on(uses: Iterable[Use], target: Release, more: int = 0) -> Report:
    """The report on these uses; ``more`` are left out."""
    found = judged(uses, target)
    between = [(use, verdict) for use, verdict in found if use.api_key in BETWEEN_BROKERS]
    found = [(use, verdict) for use, verdict in found if use.api_key not in BETWEEN_BROKERS]
    refused = _of_clients(found, {REFUSED}, target)
    doubtful = _of_clients(found, set(SEVERITY) - {REFUSED, OK}, target)
    return Report(
        "readiness",
        f"Who breaks on Kafka {target.name}",
        _summary(found, target, more),
        (
            _table("refused", f"Refused by {target.name}", refused, "No client uses a version that is refused."),
            _table("doubtful", "Deprecated, unknown or unsure", doubtful, "Nothing."),
            _clients_table(found, more),
            _between_table(between),
        ),
        tuple(chart for chart in [_per_release(found)] if chart),
        1 if refused else 0,
    )


def judged(uses: Iterable[Use], target: Release) -> Judged:
    """Each use with what the target says to it, the worst first."""
    uses = _named(list(uses))
    asking = {(use.client.client_id, use.client.host) for use in uses if use.api_key == API_VERSIONS}
    found = [
        (use, judge(use.api_key, use.version, target, negotiates=(use.client.client_id, use.client.host) in asking))
        for use in uses
    ]
    return sorted(
        found, key=lambda one: (-SEVERITY[one[1].state], _order(one[0].client), one[0].api_key, one[0].version)
    )


def _named(uses: list[Use]) -> list[Use]:
    """Without what server logs say of requests that something else saw too, and knows the clients of."""
    known = {(use.client.host, use.api_key, use.version) for use in uses if not use.nameless}
    return [use for use in uses if not use.nameless or (use.client.host, use.api_key, use.version) not in known]


def _rows(clients: DataFrame, target: Release) -> tuple[list[Mapping[str, Any]], int]:
    """At most :data:`MOST` rows, and how many more there are: of too many, those that the target simply accepts."""
    from pyspark.sql import functions as F

    rows = clients.limit(MOST + 1).collect()
    more = 0
    if len(rows) > MOST:
        accepted = F.lit(False)
        for key, api in target.apis.items():
            fine = F.col("version").between(api.accepted.start, api.accepted.stop - 1)
            accepted = accepted | ((F.col("api_key") == key) & fine)
        rows, more = clients.orderBy(accepted, "api_key", "version").limit(MOST).collect(), clients.count() - MOST
    return [row.asDict() for row in rows], more


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
        min((one.first for _, one in bad if one.first), key=_age, default=None),
        text(api.accepted) if api else "none",
        max(good, default=None),
        verdict.state,
        verdict.reason,
        worst.place,
        sum(use.requests for use, _ in bad),
        sum(use.refusals for use, _ in bad),
        max(seen, default=None),
        min((one.deprecated for _, one in bad if one.deprecated), key=_age, default=None),
    )


def _table(name: str, title: str, rows: Sequence[tuple[Cell, ...]], empty: str) -> Table:
    """What is worth most at the left: terminals have room for no more."""
    common = "The newest version that the client was seen to use and the target accepts."
    refusals = "Requests not answered before the connection ended, or refused in a server log."
    shape = columns(
        *WHO,
        Column("api", "API"),
        "versions",
        Column("refused_since", "first refused by", "The first release that refuses what one before it accepted."),
        Column("accepted", "target accepts"),
        Column("newest_common", "newest common", common),
        Column("state", mark=MARKS),
        "reason",
        Column("evidence", comment="File and byte of an example."),
        "requests",
        Column("refusals", comment=refusals),
        "last_seen",
        Column("deprecated_since", "first deprecated in"),
    )
    return Table(name, title, shape, tuple(rows), empty=empty)


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
    rows = [
        (
            use.client.client_id,
            use.client.host,
            use.api,
            use.version,
            verdict.state,
            verdict.first,
            use.requests,
            use.place,
        )
        for use, verdict in found
    ]
    shape = columns(
        Column("client_id", "client"),
        Column("client_host", "address"),
        Column("api", "API"),
        "version",
        Column("state", "in target"),
        Column("refused_since", "first refused by"),
        "requests",
        Column("evidence"),
    )
    note = "Brokers and controllers among themselves: an upgrade changes both ends, so none of this counts."
    return Table("between-brokers", "Between brokers", shape, tuple(rows), note, empty="None of their APIs was seen.")


def _summary(found: Judged, target: Release, more: int) -> tuple[str, ...]:
    clients = {use.client for use, _ in found}
    bad = list(dict.fromkeys(use.client for use, verdict in found if verdict.state == REFUSED))
    if not clients:
        return ("No client was seen.",)
    told = [f"Kafka {target.name} refuses {len(bad):,} of {counted(len(clients), 'client')}."]
    if bad:
        names = "; ".join(map(str, bad[:10])) + (f"; and {len(bad) - 10:,} more" if len(bad) > 10 else "")
        told.append(f"Refused: {names}.")
    seen = sum(use.refusals for use, verdict in found if verdict.state == REFUSED)
    if seen:
        told.append(f"{counted(seen, 'request')} of them were seen to be refused already.")
    if more:
        told.append(f"{counted(more, 'row')} of clients, APIs and versions were left out, all of them accepted.")
    return tuple(told)


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
