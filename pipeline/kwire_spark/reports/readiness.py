"""Clients that will break on a release: CLIENTS compared with what the release accepts [KIP-896, KAFKA-WIRE 2.1].

``readiness(clients, "4.1.1")`` returns a :class:`Report` whose exit code is 1 if a client is refused. CLIENTS is
small: its rows are collected, and evaluated in plain Python, in ``client_usage`` and ``release_support``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kwire.protocol import API_VERSIONS
from kwire.releases import format_range
from kwire_kafka.releases import RELEASES
from kwire_spark.reports import charts
from kwire_spark.reports.client_usage import WHO, Client, Use, collected, grouped, uses_of
from kwire_spark.reports.release_support import (
    OK,
    REFUSED,
    SEVERITY,
    Verdict,
    judge,
    refused_by,
    titled,
)
from kwire_spark.reports.report import Chart, Column, Report, Table
from kwire_spark.reports.text import counted, file_name
from kwire_spark.tables.clients import CAPTURE, REQUEST_LOG, SERVER_LOG

if TYPE_CHECKING:
    from kwire.releases import Release, Releases
    from kwire_spark.reports.report import Cell
    from kwire_spark.tables.relations import Relation

MAX_NAMED = 10
"""Maximum number of clients named in the summary."""
LOGS_ALONE = (
    "Only request logs were read, in which brokers of 4.x do not log the requests that they refuse: "
    "if these logs are from 4.x, add server logs or a capture."
)
MARKS = {"refused": "bad", "unsure": "warn", "unknown": "warn", "deprecated": "warn", "ok": "good"}
CLIENTS = Table("clients", "Clients", empty="No clients found.").with_columns(
    *WHO,
    Column("verdict", mark=MARKS),
    Column("refused_apis", "refused APIs"),
    Column("apis", "APIs"),
    "requests",
)
UPGRADED = (
    "Requests of brokers and controllers to each other do not affect the verdict: an upgrade changes both ends."
)
BETWEEN = Table("between-brokers", "Between brokers", note=UPGRADED, empty="No such requests found.").with_columns(
    Column("api", "API"),
    "versions",
    Column("state", "in target"),
    "refused_since",
    "requests",
    Column("evidence", brief=file_name),
)

Judged = list[tuple[Use, Verdict]]


def readiness(clients: Relation, target: str | Release, releases: Releases = RELEASES) -> Report:
    """A report on the clients (``columns.CLIENTS``) that brokers of release ``target`` would break.

    ``target`` is one of ``releases``, or a line such as ``"4.1"``, which stands for its newest known release;
    ``UnknownReleaseError`` if there is none. ``RELEASES.of`` makes one from the answer of a broker. Of several types
    of input only the highest count is used, since they may have seen the same requests.
    """
    release = releases[target] if isinstance(target, str) else target
    rows, more = collected(clients, _worst_first(release))
    unjudged = sum(row["refused"] for row in rows if row["version"] is None)
    report = report_on(uses_of(rows), release, more, unjudged, releases)
    seen_in = {row["seen_in"] for row in rows}
    if not report.exit_code and REQUEST_LOG in seen_in and not seen_in & {CAPTURE, SERVER_LOG}:
        return replace(report, summary=(*report.summary, LOGS_ALONE))
    return report


def report_on(
    uses: Iterable[Use], target: Release, more: int = 0, unjudged: int = 0, releases: Releases = RELEASES
) -> Report:
    """The report on these uses; ``more`` are left out. ``unjudged`` is the number of requests that a broker refused
    without logging their version."""
    verdicts = judged(uses, target, releases)
    between = [(use, verdict) for use, verdict in verdicts if use.between_brokers]
    verdicts = [(use, verdict) for use, verdict in verdicts if not use.between_brokers]
    chart = _per_release(verdicts, releases)
    none, doubtful = "No client uses a version that is refused.", set(SEVERITY) - {REFUSED, OK}
    refused = _table("refused", f"Refused by {target.name}", verdicts, {REFUSED}, target, none)
    tables = (
        refused,
        _table("doubtful", "Deprecated, unknown or unsure", verdicts, doubtful, target, "None."),
        _clients_table(verdicts, more),
        _between_table(between),
    )
    title, summary = f"Clients that break on {titled(target)}", _summary(verdicts, target, more, unjudged)
    return Report("readiness", title, summary, tables, (chart,) if chart else (), 1 if refused.rows else 0)


def judged(uses: Iterable[Use], target: Release, releases: Releases = RELEASES) -> Judged:
    """Each use with the verdict of the target, the worst first.

    A client negotiates if its ApiVersions requests were seen, or its software is known, which only these tell: before
    a login, a request log has none of them."""
    uses = list(uses)
    asking = (use.client for use in uses if use.api_key == API_VERSIONS or use.client.software)
    negotiating = {(client.client_id, client.host) for client in asking}

    def verdict(use: Use) -> Verdict:
        negotiates = (use.client.client_id, use.client.host) in negotiating
        return judge(use.api_key, use.version, target, negotiates=negotiates, releases=releases)

    def worst_first(judged: tuple[Use, Verdict]) -> tuple[Any, ...]:
        use, verdict = judged
        return -SEVERITY[verdict.state], [cell or "" for cell in use.client], use.api_key, use.version

    return sorted(((use, verdict(use)) for use in uses), key=worst_first)


def _worst_first(target: Release) -> str:
    """The order of rows of CLIENTS: if there are too many, those that the target accepts are left out."""
    accepted = " OR ".join(
        f"api_key = {key} AND version BETWEEN {api.accepted.start} AND {api.accepted.stop - 1}"
        for key, api in target.apis.items()
    )
    return f"CASE WHEN {accepted} THEN 1 ELSE 0 END, api_key, version"


def _table(name: str, title: str, verdicts: Judged, states: set[str], target: Release, empty: str) -> Table:
    """A row for each client and API with uses in one of ``states``. The most important columns are at the left,
    since terminals have room for a few only; ``state`` is left out if the title says it."""
    rows = []
    for (client, key), group in grouped(verdicts, lambda pair: (pair[0].client, pair[0].api_key)).items():
        if bad := [(use, verdict) for use, verdict in group if verdict.state in states]:
            who = dict(zip((column.name for column in WHO), client, strict=True))
            rows.append(who | _cells(key, bad, group, target))
    shape = Table(name, title, empty=empty).with_columns(
        *WHO[:2],
        Column("api", "API"),
        "versions",
        *([Column("state", mark=MARKS)] if len(states) > 1 else []),
        Column("refused_since", comment="The first release that refuses a version accepted by an earlier one."),
        Column("newest_common", comment="Newest version that the client has used and the target accepts."),
        Column("evidence", comment="File and byte offset of an example.", brief=file_name),
        Column("accepted", "target accepts"),
        "reason",
        *WHO[2:],
        "requests",
        Column(
            "refusals", comment="Not answered because the server closed the connection, or refused in a server log."
        ),
        "last_seen",
        "deprecated_since",
    )
    return shape.with_rows(rows)


def _cells(key: int, bad: Judged, group: Judged, target: Release) -> dict[str, Cell]:
    """``group`` has all uses of an API by a client; those in ``bad`` have the state in question."""
    api = target.apis.get(key)
    (worst, verdict), *_ = bad
    good = [use.version for use, _ in group if api and use.version in api.accepted]
    return {
        "api": worst.api,
        "versions": tuple(use.version for use, _ in bad),
        "state": verdict.state,
        "refused_since": min((other.first for _, other in bad if other.first), key=_age, default=None),
        "newest_common": max(good, default=None),
        "evidence": worst.place,
        "accepted": format_range(api.accepted) if api else "none",
        "reason": verdict.reason,
        "requests": sum(use.requests for use, _ in bad),
        "refusals": sum(use.refusals for use, _ in bad),
        "last_seen": max((use.last_seen for use, _ in bad if use.last_seen is not None), default=None),
        "deprecated_since": min((other.deprecated for _, other in bad if other.deprecated), key=_age, default=None),
    }


def _clients_table(verdicts: Judged, more: int) -> Table:
    """A row for each client, with the worst verdict on its requests."""
    rows = tuple(
        (
            *client,
            group[0][1].state,  # the worst is first
            tuple(dict.fromkeys(use.api for use, verdict in group if verdict.state == REFUSED)),
            len({use.api_key for use, _ in group}),
            sum(use.requests for use, _ in group),
        )
        for client, group in grouped(verdicts, lambda pair: pair[0].client).items()
    )
    return replace(CLIENTS, rows=rows, more=more)


def _between_table(verdicts: Judged) -> Table:
    """A row for each API and state."""
    rows = tuple(
        (
            group[0][0].api,
            tuple(sorted({use.version for use, _ in group})),
            state,
            min((verdict.first for _, verdict in group if verdict.first), key=_age, default=None),
            sum(use.requests for use, _ in group),
            group[0][0].place,
        )
        for (_, state), group in grouped(verdicts, lambda pair: (pair[0].api_key, pair[1].state)).items()
    )
    return replace(BETWEEN, rows=rows)


def _summary(verdicts: Judged, target: Release, more: int, unjudged: int) -> tuple[str, ...]:
    """The clients that break, what to do about them, and what the report leaves out."""
    clients = {use.client for use, _ in verdicts}
    refused = list(dict.fromkeys(use.client for use, verdict in verdicts if verdict.state == REFUSED))
    sentences = ["No clients found."]
    if clients:
        names = [str(client) for client in refused[:MAX_NAMED]]
        names += [f"and {len(refused) - MAX_NAMED:,} more"] if len(refused) > MAX_NAMED else []
        share = f"{len(refused):,}" if refused else "none"
        label = titled(target)
        listed = f": {'; '.join(names)}" if names else ""
        sentences = [f"{label[:1].upper()}{label[1:]} refuses {share} of {counted(len(clients), 'client')}{listed}."]
    if refused:
        sentences.append("Upgrade or reconfigure these clients before the brokers: see the table refused.")
    if seen := sum(use.refusals for use, verdict in verdicts if verdict.state == REFUSED):
        sentences.append(f"{counted(seen, 'request')} of theirs {'was' if seen == 1 else 'were'} refused already.")
    if clients and more:
        sentences.append(f"{counted(more, 'row')} of clients, APIs and versions left out, accepted ones first.")
    if unjudged:
        sentences.append(f"{counted(unjudged, 'refusal')} in server logs without a version: see the table clients.")
    return tuple(sentences)


def _per_release(verdicts: Judged, releases: Releases) -> Chart | None:
    """The number of clients that break on each release, from the last that refuses none of them."""
    breaking: defaultdict[str, set[Client]] = defaultdict(set)
    for use, _ in verdicts:
        for name in refused_by(use.api_key, use.version, releases):
            breaking[name].add(use.client)
    if not breaking:
        return None
    order = list(releases)
    names = order[max(min(map(order.index, breaking)) - 1, 0) :]
    counts = [len(breaking[name]) for name in names]
    note = "By the versions that clients were seen to use."
    figure = charts.columns(names, {"clients": counts}, unit="clients", roles={"clients": "bad"})
    return Chart("releases", "Clients that break", figure, note)


def _age(release: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", release)]
