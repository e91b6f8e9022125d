"""The basis of a report: time span, connections, requests, and the percentage of captured bytes that was read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kwire_inspect.reasons import HTTP, MISSING, NOT_READ, PARTIAL, TLS, UNDECIDED, advice
from kwire_inspect.reports.client_usage import MAX_ROWS, by_client, by_use, highest
from kwire_inspect.reports.encrypted import Encrypted, encrypted_of
from kwire_inspect.reports.report import Column, Report, Table
from kwire_inspect.reports.text import counted, file_name, time
from kwire_inspect.tables.clients import INPUT_KIND, METRICS, Clients
from kwire_inspect.tables.relations import collect

if TYPE_CHECKING:
    from kwire_inspect.tables.relations import Relation

INCOMPLETE = 4
"""Exit code of a report that requires no action, but is based on less input than the user requires."""
MAX_PROBLEMS = 1000
NOT_COUNTED = frozenset({PARTIAL, HTTP})
"""Reasons for unread bytes that cannot contain an unknown request. The bytes are parts of known requests, or belong
to connections that are certainly not Kafka.
"""

OLDER = (
    "INCOMPLETE: clients may be missing. A table does not record how much of its input was read, because an old "
    "version of kwire wrote the table or the table problems of the same run is missing. Write the table again."
)

PROBLEMS = Table("problems", "What could not be read").with_columns(
    Column("problem", whole=True),
    Column("places", comment="Number of places or packets with this problem."),
    Column("connections", comment="Number of connections that were not read at all."),
    Column("unread", "bytes", comment="Number of bytes that were not read."),
    Column("advice", "what to do", whole=True),
    Column("source", "first in", brief=file_name),
    Column("position", "byte"),
)

_OF_CLIENTS = f"""SELECT sum(CASE WHEN input_kind = '{METRICS}' THEN 0 ELSE requests END) AS requests,
        sum(CASE WHEN input_kind = '{METRICS}' THEN requests END) AS deprecated,
        sum(begun) AS connections, sum(bytes) AS bytes,
        min(first_seen) AS first_seen, max(last_seen) AS last_seen, count(*) - count(bytes) AS unknown,
        count(DISTINCT CASE WHEN input_kind <> '{METRICS}' THEN input_kind END) AS types
        FROM {{table}}"""
_OF_EXCHANGES = f"""SELECT sum(CASE WHEN outcome IS NULL THEN 0 ELSE 1 END) AS requests,
        NULL AS deprecated, 0 AS unknown, min(time) AS first_seen, max(time) AS last_seen,
        sum(CASE WHEN number = 0 THEN 1 ELSE 0 END) AS connections,
        sum(CASE WHEN {INPUT_KIND} = 'capture' THEN coalesce(request_size, 0) + coalesce(response_size, 0) ELSE 0 END)
        AS bytes, count(DISTINCT {INPUT_KIND}) AS types FROM {{table}} WHERE problem IS NULL"""
_BY_API = f"""SELECT api_key, input_kind, count(*) AS requests
        FROM (SELECT api_key, {INPUT_KIND} AS input_kind FROM {{table}}
            WHERE problem IS NULL AND outcome IS NOT NULL) AS requests
        GROUP BY api_key, input_kind"""


UNREAD = {
    "undecided": UNDECIDED,
    "encrypted": TLS,
    "missing": MISSING,
    "in unsupported encapsulations": NOT_READ,
}
"""Kinds of unread bytes that the basis lists separately, with the beginning of the reason for each kind."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A reason for unread input.

    ``places`` is the number of places with this reason. ``source`` and ``position`` locate the first place.
    ``unread`` is the number of unread bytes. ``connections`` is the number of connections that were not read at all.
    """

    reason: str
    places: int
    unread: int
    source: str | None = None
    position: int | None = None
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Basis:
    """The input that a report is based on, and how much of it was read. ``read`` is the number of bytes of requests
    and responses in captures. ``encrypted`` lists the clients with encrypted connections. ``deprecated`` is the
    number of requests counted in metrics, or ``None`` if there are no metrics. ``known`` is false for tables that
    contain no information on unread input.
    """

    requests: int
    connections: int
    read: int
    first_seen: datetime | None
    last_seen: datetime | None
    problems: tuple[Problem, ...]
    encrypted: tuple[Encrypted, ...] = ()
    known: bool = True
    deprecated: int | None = None

    def suffices(self, min_coverage: float) -> bool:
        """Return whether at least ``min_coverage`` percent of the bytes and of the connections were read.

        Return true for input without connections, such as logs.
        """
        return self.known and (self.coverage is None or self.coverage >= min_coverage)

    @property
    def unread(self) -> int:
        """Number of unread bytes that may belong to requests or responses."""
        return sum(problem.unread for problem in self.problems if problem.reason not in NOT_COUNTED)

    @property
    def share_of_connections(self) -> float | None:
        """Percentage of connections that were at least partly read, or ``None`` for input without connections."""
        lost = sum(problem.connections for problem in self.problems if problem.reason not in NOT_COUNTED)
        total = self.connections + lost
        return 100 * self.connections / total if total else None

    @property
    def coverage(self) -> float | None:
        """The lower of the percentages of bytes and of connections that were read. The percentage of bytes alone may
        be misleading, because one busy client may account for most of the bytes."""
        return min((one for one in (self.share, self.share_of_connections) if one is not None), default=None)

    @property
    def share(self) -> float | None:
        """Percentage of bytes that were read, or ``None`` for input without connections, such as logs."""
        total = self.read + self.unread
        return 100 * self.read / total if total else None

    def sentences(self, inputs: str) -> tuple[str, ...]:
        """Return sentences that describe the basis and the ``inputs``."""
        on = counted(self.requests, "request")
        if self.connections:
            on += f" on {counted(self.connections, 'connection')}"
        if self.first_seen and self.last_seen:
            on += f", from {time(self.first_seen)} to {time(self.last_seen)} UTC"
        if not inputs:
            first = [f"Based on {on}."]
        else:
            counts = f": {on}" if self.requests or self.deprecated is None else ""
            first = [f"Based on {inputs}{counts}."]
        if self.deprecated is not None:
            requests = counted(self.deprecated, "request")
            first.append(f"Metrics count {requests} with deprecated versions since the brokers started.")
        if self.share is None:
            return (*first,)
        connections = self.share_of_connections
        of = "" if connections is None else f" and {shown_share(connections)} of the connections"
        read, unread = f"{shown_share(self.share)} of the bytes{of} were read.", []
        for name, reason in UNREAD.items():
            if size := sum(problem.unread for problem in self.problems if problem.reason.startswith(reason)):
                unread.append(f"{counted(size, 'byte')} {name}")
        return *first, f"{read} Unread: {', '.join(unread)}." if unread else read


def basis_of(seen: Relation | Clients[Any]) -> Basis:
    """Return the basis of a report on exchanges or on clients."""
    of_clients = isinstance(seen, Clients)
    table, broken = (seen.table, seen.problems) if isinstance(seen, Clients) else (seen, seen)
    (row,) = collect(_OF_CLIENTS if of_clients else _OF_EXCHANGES, table=table)
    requests, connections, read = (row[name] or 0 for name in ("requests", "connections", "bytes"))
    if row["types"] > 1:
        requests = _counted_once(table, requests) if of_clients else _highest_by_api(table)
    span, problems = (row["first_seen"], row["last_seen"]), tuple(problems_of(broken))
    known = not row["unknown"] and (not isinstance(seen, Clients) or seen.complete)
    return Basis(requests, connections, read, *span, problems, encrypted_of(broken), known, row["deprecated"])


def _highest_by_api(exchanges: Relation) -> int:
    """Return the number of requests as the latency report counts them.

    For each API, only the input type with the most requests is counted.
    """
    highest: dict[int | None, int] = {}
    for row in collect(_BY_API, table=exchanges):
        highest[row["api_key"]] = max(row["requests"], highest.get(row["api_key"], 0))
    return sum(highest.values())


def _counted_once(clients: Relation, requests: int) -> int:
    """Return the number of requests as the tables of reports count them.

    Requests that were seen in several types of input are counted once.
    """
    text = f"SELECT * FROM {{clients}} WHERE input_kind <> '{METRICS}' LIMIT {MAX_ROWS + 1}"
    rows = collect(text, clients=clients)
    if len(rows) > MAX_ROWS:
        return requests
    return sum(highest(group, "requests") for group in by_use(by_client(rows)).values())


def problems_of(*tables: Relation) -> list[Problem]:
    """Return up to :data:`MAX_PROBLEMS` problems from each of these tables, in descending order of unread bytes."""
    found = []
    for table in tables:
        columns, places, connections = table.columns, "count(*)", "0"
        unread = "unread" if "unread" in columns else "NULL"
        if "places" in columns:
            places, connections = "sum(places)", "sum(connections)"
        elif "packets" in columns:
            places, connections = "sum(coalesce(packets, 1))", "sum(CASE WHEN number = 0 THEN 1 ELSE 0 END)"
        text = f"""SELECT problem AS reason, {places} AS places, coalesce(sum({unread}), 0) AS unread,
            min(source) AS source, min_by(position, struct(source, position)) AS position,
            coalesce({connections}, 0) AS connections
            FROM {{table}} WHERE problem IS NOT NULL GROUP BY problem ORDER BY 3 DESC, 1 LIMIT {MAX_PROBLEMS}"""
        found += [Problem(**row) for row in collect(text, table=table)]
    return found


def with_basis(report: Report, basis: Basis, inputs: str, min_coverage: float) -> Report:
    """Return the report with its basis inserted after the verdict.

    If too little was read, the exit code is :data:`INCOMPLETE` unless the report requires action.
    """
    summary = (*report.summary, *basis.sentences(inputs))
    if basis.suffices(min_coverage):
        return replace(report, summary=summary)
    headline = OLDER
    if basis.known and basis.coverage is not None:
        of = "bytes" if basis.coverage == basis.share else "connections"
        headline = (
            f"INCOMPLETE: only {shown_share(basis.coverage)} of the {of} were read, but --min-coverage is "
            f"{min_coverage:g} %. Clients may be missing. See the last table."
        )
    return replace(report, summary=(headline, *summary), exit_code=report.exit_code or INCOMPLETE)


def with_problems(report: Report, problems: Iterable[Problem], skipped: Iterable[tuple[str, str]]) -> Report:
    """Return the report, with a table of any problems and skipped files."""
    rows = [
        (
            one.reason,
            one.places,
            one.connections or None,
            one.unread or None,
            advice(one.reason),
            one.source,
            one.position,
        )
        for one in problems
    ]
    left_out = [(f"skipped: {reason}", 1, None, None, "", path, None) for path, reason in skipped]
    if not rows and not left_out:
        return report
    more = [f"Some input could not be read. The last table lists {counted(len(rows), 'reason')}."] if rows else []
    more += [f"Skipped {counted(len(left_out), 'file')}. See the last table."] if left_out else []
    table = replace(PROBLEMS, rows=(*rows, *left_out))
    return replace(report, summary=(*report.summary, *more), tables=(*report.tables, table))


def shown_share(percent: float) -> str:
    """Return a percentage as text. Only exactly 100 becomes ``100 %``.

    >>> shown_share(100.0), shown_share(99.996), shown_share(43.21)
    ('100 %', '99.9 %', '43.2 %')
    """
    return "100 %" if percent == 100 else f"{min(percent, 99.9):.1f} %"
