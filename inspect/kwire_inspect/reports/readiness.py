"""Clients that will break on a release, because it refuses API versions that they use [KIP-896, KAFKA-WIRE 2.1].

``readiness(clients(exchanges), "4.1.1")`` returns a report. The report's exit code is 1 if a client is refused, and 4
if no client is refused but too little was read. The table CLIENTS is small, so its rows are collected and evaluated
in plain Python, in ``client_usage``, ``judgement`` and ``release_support``. ``verdict_tables`` and ``since`` present
the verdicts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from kwire_inspect.reasons import MIN_COVERAGE
from kwire_inspect.reports import charts
from kwire_inspect.reports.advice import ADVICE, advice_table
from kwire_inspect.reports.basis import basis_of
from kwire_inspect.reports.client_usage import Client, collected, uses_of
from kwire_inspect.reports.completed import checked, completed
from kwire_inspect.reports.counted import with_counted
from kwire_inspect.reports.judgement import Addresses, Judged, Judgement, addresses_of
from kwire_inspect.reports.release_support import REFUSED, UNKNOWN, UNSURE, each_once, refused_by, spans, titled
from kwire_inspect.reports.report import FAILED, PASSED, SKIPPED, Chart, Check, Report
from kwire_inspect.reports.since import with_changes
from kwire_inspect.reports.text import counted, listed
from kwire_inspect.reports.verdict_tables import (
    addresses_table,
    between_table,
    clients_table,
    doubtful_table,
    owners_table,
    refused_table,
)
from kwire_inspect.tables.clients import CAPTURE, REQUEST_LOG, SERVER_LOG
from kwire_kafka import PROTOCOL
from kwire_kafka.releases import RELEASES

if TYPE_CHECKING:
    from kwire.protocol import MessageRegistry
    from kwire.releases import Release, Releases
    from kwire_inspect.reports.client_usage import Use
    from kwire_inspect.reports.owners import Owners
    from kwire_inspect.tables.clients import Clients

MAX_NAMED = 10
"""Maximum number of clients to name in the summary."""
LOGS_ALONE = (
    "Only request logs were read. Brokers of 4.x do not write refused requests to request logs. "
    "If the logs are from 4.x, add server logs or a capture."
)


def readiness(
    clients: Clients[Any],
    target: str | Release | Sequence[str | Release],
    releases: Releases = RELEASES,
    *,
    owners: Owners | None = None,
    before: Clients[Any] | None = None,
    min_coverage: float = MIN_COVERAGE,
    protocol: MessageRegistry = PROTOCOL,
) -> Report:
    """Return a report on the clients that would break on brokers of release ``target``. ``clients`` is a result of
    the function ``clients()``.

    ``target`` is one of ``releases``, a release line such as ``"4.1"``, which stands for its newest known release, or
    a list of these. An unknown release raises ``UnknownReleaseError``. ``RELEASES.of`` creates a release from a
    broker's answer.

    Several types of input may contain the same requests, so only the type with the highest count is used. ``owners``
    names the owners of clients. If ``before`` contains the clients of an earlier run, the report lists the changes
    since then. After the verdict, the report states its basis, the inputs that were read. It is INCOMPLETE if less
    than ``min_coverage`` percent of the bytes or of the connections was read.
    """
    given = [target] if isinstance(target, str) or not isinstance(target, Sequence) else target
    found = [releases[one] if isinstance(one, str) else one for one in given]
    targets = each_once(found)
    checked(clients)
    with clients.kept() as seen:
        report = _report(seen, targets, releases, owners, before)
        return completed(report, basis_of(seen), seen.origin, min_coverage, protocol, seen.table)


def _report(
    clients: Clients[Any],
    targets: Sequence[Release],
    releases: Releases,
    owners: Owners | None,
    before: Clients[Any] | None,
) -> Report:
    rows, more = collected(clients.table, _worst_first(targets))
    unjudged = sum(row["refused"] for row in rows if row["version"] is None)
    earlier = None if before is None else uses_of(collected(before.table, _worst_first(targets))[0])
    report = report_on(uses_of(rows), targets, more, unjudged, releases, owners=owners, before=earlier)
    report = with_counted(report, rows, targets, releases)
    input_kind = {row["input_kind"] for row in rows}
    if not report.exit_code and REQUEST_LOG in input_kind and not input_kind & {CAPTURE, SERVER_LOG}:
        return replace(report, summary=(*report.summary, LOGS_ALONE))
    return report


def report_on(
    uses: Iterable[Use],
    target: Release | Sequence[Release],
    more: int = 0,
    unjudged: int = 0,
    releases: Releases = RELEASES,
    *,
    owners: Owners | None = None,
    before: Iterable[Use] | None = None,
) -> Report:
    """Return the report on these uses.

    ``more`` is the number of omitted uses. ``unjudged`` is the number of requests that a broker refused without
    logging their versions. ``before`` contains the uses of an earlier run.
    """
    uses = owners.named(uses) if owners else list(uses)
    targets = target if isinstance(target, Sequence) else [target]
    at_addresses = [Judgement.of(uses, one, releases) for one in targets]
    judgements, hosts = [one.rolled_up() for one in at_addresses], addresses_of(at_addresses[0])
    breaking = _breaking(judgements[0].clients, releases)
    chart = _per_release(judgements, breaking, releases)
    refused = refused_table(judgements, hosts)
    tables = (
        *([owners_table(judgements)] if owners else []),
        *([advice_table(judgements, releases)] if refused.rows else []),
        refused,
        doubtful_table(judgements, hosts),
        clients_table(judgements, more, hosts),
        *([addresses_table(at_addresses, more)] if any(len(of) > 1 for of in hosts.values()) else []),
        between_table(judgements),
    )
    report = Report(
        "readiness",
        f"Clients that break on {listed([titled(one) for one in targets])}",
        tuple(_summary(judgements, hosts, breaking, more, unjudged, releases)),
        tables,
        (chart,) if chart else (),
        1 if refused.rows else 0,
        checks=tuple(check for judgement in judgements for check in _checks(judgement)),
    )
    return report if before is None else with_changes(report, judgements, before, releases)


def _worst_first(targets: Sequence[Release]) -> str:
    """Return the SQL sort order that decides which rows of CLIENTS are kept. Rows that all targets accept come
    last."""
    accepted = " AND ".join(f"({_accepted(target)})" for target in targets)
    return f"CASE WHEN {accepted} THEN 1 ELSE 0 END, api_key, version"


def _accepted(target: Release) -> str:
    return " OR ".join(
        f"api_key = {key} AND version BETWEEN {api.accepted.start} AND {api.accepted.stop - 1}"
        for key, api in target.apis.items()
    )


Breaking = Mapping[str, set[Client]]
"""Maps each release to the clients that use a version which the release refuses but an earlier release accepted."""


def _summary(
    judgements: Sequence[Judgement],
    hosts: Addresses,
    breaking: Breaking,
    more: int,
    unjudged: int,
    releases: Releases,
) -> Iterator[str]:
    """Yield sentences on the clients that break, with advice, and on the requests that the report omits."""
    clients = judgements[0].by_client()
    if not clients:
        yield "No clients found."
    for judgement in judgements if clients else ():
        yield _verdict(judgement, len(clients), hosts)
        yield from _way(judgement, breaking, releases)
    refused = {client for judgement in judgements for client in judgement.refused()}
    if refused:
        yield f'Upgrade or reconfigure these clients before the brokers. See "{ADVICE.title}".'
    seen = max(map(_refused_already, judgements))
    if seen:
        yield f"{counted(seen, 'request')} of these clients {'was' if seen == 1 else 'were'} already refused."
    if clients and more:
        yield f"Omits {counted(more, 'row')} of clients, APIs and versions, beginning with accepted versions."
    if unjudged:
        yield f"Server logs contain {counted(unjudged, 'refusal')} without a version. See \"Clients\"."


def _verdict(judgement: Judgement, clients: int, hosts: Addresses) -> str:
    refused = judgement.refused()
    names = [_located(client, hosts[client]) for client in refused[:MAX_NAMED]]
    names += [f"and {len(refused) - MAX_NAMED:,} more"] if len(refused) > MAX_NAMED else []
    share = f"{len(refused):,}" if refused else "none"
    label = titled(judgement.target)
    whom = f": {'; '.join(names)}" if names else ""
    return f"{label[:1].upper()}{label[1:]} refuses {share} of {counted(clients, 'client')}{whom}."


def _located(client: Client, hosts: Sequence[str]) -> str:
    """Return the name of a client, with its address, or the number of addresses if there are several."""
    if len(hosts) > 1:
        return f"{client} ({len(hosts):,} addresses)"
    return str(client._replace(host=hosts[0])) if hosts else str(client)


def _refused_already(judgement: Judgement) -> int:
    return sum(use.refusals for use, verdict in judgement.clients if verdict.state == REFUSED)


def _way(judgement: Judgement, breaking: Breaking, releases: Releases) -> Iterator[str]:
    """Yield sentences on how to reach a target without losing a client.

    The sentences name the newest earlier release that refuses no client, and the releases on the way that refuse
    clients that the target accepts.
    """
    name = judgement.target.name
    if name not in releases or not breaking:
        return
    earlier = [release for release in releases if release != name][: list(releases).index(name)]
    refused = set(judgement.refused())
    dropped = refused <= breaking.get(
        name, set()
    )  # the other clients are too new for the target and for earlier releases
    if refused and dropped and (free := [release for release in earlier if not breaking.get(release)]):
        yield f"The newest release before {name} that refuses none of these clients is {free[-1]}."
    worse = [release for release in earlier if breaking.get(release, set()) - refused]
    if worse:
        lost = len(set.union(*(breaking[release] for release in worse)) - refused)
        yield (
            f"On the way to {name}, do not stop at {spans(worse, releases)}. "
            f"There, {counted(lost, 'client')} that {name} accepts {'is' if lost == 1 else 'are'} refused."
        )


def _breaking(verdicts: Judged, releases: Releases) -> Breaking:
    breaking: defaultdict[str, set[Client]] = defaultdict(set)
    for use, _ in verdicts:
        for name in refused_by(use.api_key, use.version, releases):
            breaking[name].add(use.client)
    return breaking


def _per_release(judgements: Sequence[Judgement], breaking: Breaking, releases: Releases) -> Chart | None:
    """Return a chart of the clients that break on each release. The first bar is the last release that still accepts
    all clients.

    Adjacent releases that refuse the same clients share a bar, but each target has its own bar.
    """
    if not breaking:
        return None
    order = list(releases)
    names = order[max(min(map(order.index, breaking)) - 1, 0) :]
    total = len(judgements[0].by_client())
    aims = {judgement.target.name: set(judgement.refused()) for judgement in judgements}
    broken = {**breaking, **aims}
    kinds = groupby(names, lambda name: (broken.get(name, set()), name if name in aims else ""))
    bars = [(list(group), len(clients), aim) for (clients, aim), group in kinds]
    labels = [f"{aim}: target" if aim else _from_to(group) for group, _, aim in bars]
    counts = [count for _, count, _ in bars]
    series = {"refused": counts, "not refused": [total - count for count in counts]}
    figure = charts.columns(
        labels,
        series,
        unit="clients",
        roles={"refused": "bad", "not refused": "good"},
        marked=[place for place, (_, _, aim) in enumerate(bars) if aim],
    )
    note = "Based on the versions that clients used. Releases that refuse the same clients share a bar."
    return Chart("releases", "Clients that break on each release", figure, note)


def _from_to(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _checks(judgement: Judgement) -> Iterator[Check]:
    """Yield a check for each client. The check fails if a version is refused, and is skipped if the verdict is unsure
    or unknown.

    CI systems compare checks by name, so names must not change between runs. The names contain neither the number of
    addresses nor, for a client with an id, the address.
    """
    for client, verdicts in judgement.by_client().items():
        worst = verdicts[0][1].state
        state = FAILED if worst == REFUSED else SKIPPED if worst in (UNSURE, UNKNOWN) else PASSED
        reasons = dict.fromkeys(
            f"{use.api} {use.version}: {verdict.reason}" for use, verdict in verdicts if verdict.state == worst
        )
        facts = ", ".join(filter(None, (client.software, client.principal, client.owner)))
        name = f"{client} ({facts})" if facts else str(client)
        yield Check(name, titled(judgement.target), state, "; ".join(reasons) if state != PASSED else "")
