"""The tables of the readiness report: the verdicts of targets on clients, and the number of clients by owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kwire.releases import format_range
from kwire_inspect.reports.client_usage import WHO, Client, Use, grouped
from kwire_inspect.reports.judgement import Addresses, Judged, Judgement
from kwire_inspect.reports.libraries import numbers
from kwire_inspect.reports.release_support import OK, REFUSED, SEVERITY, Verdict
from kwire_inspect.reports.report import Column, Table
from kwire_inspect.reports.text import file_name
from kwire_inspect.tables.clients import METRICS

if TYPE_CHECKING:
    from kwire.releases import Release
    from kwire_inspect.reports.report import Cell

MARKS = {"refused": "bad", "unsure": "warn", "unknown": "warn", "deprecated": "warn", "ok": "good"}
TARGET = Column("target")
BY_ADDRESS = "Clients by address"
ADDRESS = replace(WHO[1], comment=f'Address of the client, if there is only one. Otherwise, see "{BY_ADDRESS}".')
ADDRESSES = Column("addresses", comment="Number of addresses, if the client has several.")
OWNER = Column("owner", comment="Owner according to --owners, or empty if no line matches.")
UPGRADED = "Requests between brokers and controllers do not affect the verdict, because an upgrade changes both ends."
FROM_METRICS = " (from metrics, by software only)"
INPUT_KIND = Column("input_kind", comment="Types of input.")
NOBODY = "(nobody)"
"""Name in the table of owners for clients without an owner."""


def refused_table(judgements: Sequence[Judgement], hosts: Addresses) -> Table:
    """Return a table of refused API versions, with one row per client, API and target."""
    title = f"Refused by {', '.join(judgement.target.name for judgement in judgements)}"
    return _table("refused", title, judgements, {REFUSED}, hosts, "No client uses a refused version.")


def doubtful_table(judgements: Sequence[Judgement], hosts: Addresses) -> Table:
    """Return a table of API versions that are neither refused nor simply accepted, with one row per client, API and
    target.
    """
    states = set(SEVERITY) - {REFUSED, OK}
    return _table("doubtful", "Deprecated, unknown or unsure", judgements, states, hosts, "None.")


def _table(
    name: str, title: str, judgements: Sequence[Judgement], states: set[str], hosts: Addresses, empty: str
) -> Table:
    """Return a table of uses in one of ``states``, with one row per client, API and target.

    The most important columns are on the left, because terminals have room for only a few columns. The column
    ``state`` is omitted if there is only one state, and the column ``target`` is omitted if there is only one target.
    """
    rows = []
    for judgement in judgements:
        by_use = grouped(judgement.clients, lambda pair: (pair[0].client, pair[0].api_key))
        for (client, key), group in by_use.items():
            if bad := [(use, verdict) for use, verdict in group if verdict.state in states]:
                rows.append(_who(client, hosts) | _cells(key, bad, group, judgement.target))
    shape = Table(name, title, empty=empty).with_columns(
        WHO[0],
        ADDRESS,
        ADDRESSES,
        *([TARGET] if len(judgements) > 1 else []),
        Column("api", "API"),
        "versions",
        *([Column("state", mark=MARKS)] if len(states) > 1 else []),
        Column("refused_since", comment="First release that refuses a version that an earlier release accepted."),
        Column("newest_common", comment="Newest version that the client used and the target accepts."),
        Column("evidence", comment="File and byte offset of an example.", brief=file_name),
        Column("accepted", "target accepts"),
        Column("reason", whole=True),
        *WHO[2:],
        OWNER,
        "requests",
        Column(
            "refusals",
            comment="Refused according to a server log, or unanswered because the server closed the connection.",
        ),
        "last_seen",
        "deprecated_since",
        INPUT_KIND,
    )
    return shape.with_rows(rows)


def _who(client: Client, hosts: Addresses) -> dict[str, Cell]:
    """Return the cells that identify a client, with its address, or the number of addresses if there are several."""
    cells: dict[str, Cell] = dict(zip([*(column.name for column in WHO), OWNER.name], client, strict=True))
    known = hosts[client]
    only = {ADDRESS.name: known[0]} if len(known) == 1 else {}
    return {**cells, **only, ADDRESSES.name: len(known) if len(known) > 1 else None}


def _cells(key: int, bad: Judged, group: Judged, target: Release) -> dict[str, Cell]:
    """Return the cells for ``group``, which contains all uses of an API by a client. ``bad`` contains the uses whose
    state is shown.
    """
    api = target.apis.get(key)
    (worst, verdict), *_ = bad
    good = [use.version for use, _ in group if api and use.version in api.accepted]
    return {
        "target": target.name,
        "api": worst.api,
        "versions": tuple(use.version for use, _ in bad),
        "state": verdict.state,
        "refused_since": _earliest(other.first for _, other in bad),
        "newest_common": max(good, default=None),
        "evidence": worst.place,
        "accepted": format_range(api.accepted) if api else "none",
        "reason": f"{verdict.reason}{FROM_METRICS}" if worst.input_kind == (METRICS,) else verdict.reason,
        "requests": sum(use.requests for use, _ in bad),
        "refusals": sum(use.refusals for use, _ in bad),
        "last_seen": max((use.last_seen for use, _ in bad if use.last_seen is not None), default=None),
        "deprecated_since": _earliest(other.deprecated for _, other in bad),
        "input_kind": _input_kinds(bad),
    }


def _earliest(releases: Iterable[str | None]) -> str | None:
    return min(filter(None, releases), key=numbers, default=None)


def clients_table(judgements: Sequence[Judgement], more: int, hosts: Addresses) -> Table:
    """Return a table with one row per client, with each target's worst verdict. The worst client comes first."""
    shape = Table("clients", "Clients", empty="No clients found.").with_columns(
        WHO[0], ADDRESS, ADDRESSES, *WHO[2:], *_verdict_columns(judgements)
    )
    return shape.with_rows((_who(client, hosts) | cells for client, cells in _verdicts(judgements)), more)


def addresses_table(judgements: Sequence[Judgement], more: int) -> Table:
    """Return a table with one row per client and address, from judgements that are not rolled up."""
    shape = Table("addresses", BY_ADDRESS, note="Each verdict covers the requests from one address.").with_columns(
        *WHO, *_verdict_columns(judgements)
    )
    names = [*(column.name for column in WHO), OWNER.name]
    return shape.with_rows(
        (dict(zip(names, client, strict=True)) | cells for client, cells in _verdicts(judgements)), more
    )


def _verdict_columns(judgements: Sequence[Judgement]) -> tuple[str | Column, ...]:
    verdicts = [Column("verdict", mark=MARKS)]
    if len(judgements) > 1:
        verdicts = [Column(f"verdict_{one.target.name}", one.target.name, mark=MARKS) for one in judgements]
    return (*verdicts, Column("refused_apis", "refused APIs"), Column("apis", "APIs"), OWNER, "requests", INPUT_KIND)


def _verdicts(judgements: Sequence[Judgement]) -> Iterator[tuple[Client, dict[str, Cell]]]:
    """Yield each client with the cells of :func:`_verdict_columns`, worst client first."""
    by_client = [judgement.by_client() for judgement in judgements]
    names = [column.name for column in _verdict_columns(judgements) if isinstance(column, Column)]
    for client in sorted(by_client[0], key=lambda client: -sum(SEVERITY[_worst(of[client])] for of in by_client)):
        uses = by_client[0][client]
        yield client, {
            **dict(zip(names, (_worst(of[client]) for of in by_client), strict=False)),
            "refused_apis": tuple(dict.fromkeys(use.api for of in by_client for use in _refused(of[client]))),
            "apis": len({use.api_key for use, _ in uses}),
            "requests": sum(use.requests for use, _ in uses),
            "input_kind": _input_kinds(uses),
        }


def _input_kinds(verdicts: Judged) -> tuple[str, ...]:
    return tuple(sorted({name for use, _ in verdicts for name in use.input_kind}))


def _worst(verdicts: Judged) -> str:
    return verdicts[0][1].state  # the worst is first


def _refused(verdicts: Judged) -> Iterable[Use]:
    return (use for use, verdict in verdicts if verdict.state == REFUSED)


def between_table(judgements: Sequence[Judgement]) -> Table:
    """Return a table of the requests that brokers and controllers send to each other, with one row per API, state
    and target.
    """
    shape = Table("between-brokers", "Between brokers", note=UPGRADED, empty="No such requests found.").with_columns(
        *([TARGET] if len(judgements) > 1 else []),
        Column("api", "API"),
        "versions",
        Column("state", "in target"),
        "refused_since",
        "requests",
        Column("evidence", brief=file_name),
    )
    return shape.with_rows(
        _between_cells(group, state, judgement.target)
        for judgement in judgements
        for (_, state), group in grouped(judgement.between, lambda pair: (pair[0].api_key, pair[1].state)).items()
    )


def _between_cells(group: list[tuple[Use, Verdict]], state: str, target: Release) -> dict[str, Cell]:
    return {
        "target": target.name,
        "api": group[0][0].api,
        "versions": tuple(sorted({use.version for use, _ in group})),
        "state": state,
        "refused_since": _earliest(verdict.first for _, verdict in group),
        "requests": sum(use.requests for use, _ in group),
        "evidence": group[0][0].place,
    }


def owners_table(judgements: Sequence[Judgement]) -> Table:
    """Return a table of owners, with the number of clients of each owner and the number that each target refuses.

    Owners with the most refused clients come first.
    """
    shape = Table("owners", "By owner", empty="No clients found.").with_columns(
        OWNER,
        "clients",
        *(Column(f"refused_{one.target.name}", f"refused by {one.target.name}") for one in judgements),
        "requests",
    )
    clients: Counter[str] = Counter()
    requests: Counter[str] = Counter()
    for client, uses in judgements[0].by_client().items():
        clients[client.owner or NOBODY] += 1
        requests[client.owner or NOBODY] += sum(use.requests for use, _ in uses)
    refused = [Counter(client.owner or NOBODY for client in one.refused()) for one in judgements]
    order = sorted(clients, key=lambda owner: (-sum(count[owner] for count in refused), owner))
    counts = (clients, *refused, requests)
    return replace(shape, rows=tuple((owner, *(count[owner] for count in counts)) for owner in order))
