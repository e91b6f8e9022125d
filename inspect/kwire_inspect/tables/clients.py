"""The tables CLIENTS and PROBLEMS from exchanges and refusals, in one pass over them.

Takes tables of EXCHANGES, from captures and request logs alike, of REFUSALS, and of CLIENTS and PROBLEMS that were
counted before, recognized by their columns. Of the first two only ``EXCHANGE_COLUMNS`` and ``REFUSAL_COLUMNS`` are
needed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic

from kwire_inspect.reasons import CLOSED
from kwire_inspect.schemas import CLIENTS
from kwire_inspect.stored import UNKNOWN, Origin
from kwire_inspect.tables.relations import R, Relation, collect, kept, query, query_groups

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
FORWARDED, METRICS = "forwarded", "metrics"
SEEN_IN = f"""
    CASE WHEN forwarded THEN '{FORWARDED}' WHEN number IS NULL THEN '{REQUEST_LOG}' ELSE '{CAPTURE}' END"""
"""The type of input of an exchange, in SQL. A request that a broker forwarded was sent to that broker before, where
another input may have seen it."""
MAX_VERSIONS = 10_000
"""Versions in a summary. Real inputs have some hundreds; a hostile one can make up 2^32."""

IDENTITY = ("client_id", "software_name", "software_version", "principal")
MAX_IDENTITY = 1000
"""Characters of an identity that are kept: reports have the rows of up to 10,000 clients in memory."""
KEYS = ("seen_in", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")

KNOWN = "api_key IS NOT NULL"
"""Which rows of CLIENTS are requests of a known API, in SQL."""

_PLACED = ("source", "position", "client_host", "server_port", "api_key", "api", "version")
REFUSAL_COLUMNS = (*_PLACED, "connection", "time", "principal", "message", "_corrupt")
EXCHANGE_COLUMNS = (
    *(*_PLACED, "connection", "time", "number", "forwarded", *IDENTITY, "outcome", "error_codes", "reason"),
    *("request_size", "response_size", "unread", "packets", "_corrupt"),
)


def versions_seen(table: Relation) -> list[dict[str, Any]]:
    """How many requests of each API and version each type of input has, from CLIENTS or EXCHANGES: the most frequent
    versions."""
    each, where = "seen_in, requests", KNOWN
    if "requests" not in table.columns:
        each, where = f"{SEEN_IN} AS seen_in, 1 AS requests", f"{KNOWN} AND _corrupt IS NULL"
    return collect(
        f"""
        SELECT seen_in, api_key, version, sum(requests) AS requests
        FROM (
            SELECT api_key, version, {each} FROM {{table}}
            WHERE {where} AND version IS NOT NULL
        ) AS requests
        GROUP BY seen_in, api_key, version ORDER BY requests DESC, api_key, version LIMIT {MAX_VERSIONS}""",
        table=table,
    )


@dataclass(frozen=True)
class Clients(Generic[R]):
    """Which client used which API versions, and what could not be read: what reports on clients need.

    ``table`` has the columns CLIENTS, ``problems`` those of PROBLEMS. ``counted`` are the rows of both, of one pass
    over the inputs. ``origin`` says what these were. ``complete`` is false if problems may be missing.
    """

    counted: R
    origin: Origin = UNKNOWN
    complete: bool = True

    @cached_property
    def table(self) -> R:
        """``columns.CLIENTS``. Requests of an unknown API have no ``api_key``: see :data:`KNOWN`."""
        return query(f"SELECT {', '.join(CLIENTS.names)} FROM {{seen}} WHERE _corrupt IS NULL", seen=self.counted)

    @cached_property
    def problems(self) -> R:
        """``columns.PROBLEMS``."""
        return query(_PROBLEMS, seen=self.counted)

    @contextmanager
    def kept(self) -> Iterator[Clients[R]]:
        """The same, computed once within a ``with`` block."""
        with kept(self.counted) as counted:
            yield replace(self, counted=counted)


def clients(*tables: R | Clients[R], origin: Origin = UNKNOWN) -> Clients[R]:
    """The clients in exchanges, refusals and clients that were counted before, any number of each; ``ValueError``
    without any. Reports begin with the ``origin``."""
    if not tables:
        raise ValueError("expected at least one table of exchanges, refusals or clients")
    before = [table for table in tables if isinstance(table, Clients)]
    found: list[R] = [table.counted if isinstance(table, Clients) else table for table in tables]
    named = {f"table{number}": table for number, table in enumerate(found)}
    seen = " UNION ALL ".join(_seen(name, table.columns) for name, table in named.items())
    counted = query_groups(_COUNTED.format(seen=seen), KEYS, **named)
    return Clients(counted, origin, all(one.complete for one in before))


_COUNTED = f"""
    SELECT {", ".join(KEYS)}, min(first_seen) AS first_seen, max(last_seen) AS last_seen, sum(requests) AS requests,
        sum(errors) AS errors, sum(refused) AS refused,
        count(DISTINCT connection) + sum(connections) AS connections,
        min_by(source, place) AS source, min_by(position, place) AS position,
        CASE WHEN count(bytes) = count(*) THEN sum(bytes) END AS bytes,
        sum(begun) AS begun, sum(unread) AS unread, _corrupt
    FROM (
        SELECT *, struct(CASE WHEN first_seen IS NULL THEN 1 ELSE 0 END, first_seen, source, position) AS place,
            CASE WHEN _corrupt IS NOT NULL THEN source END AS broken_source,
            CASE WHEN _corrupt IS NOT NULL THEN position END AS broken_position
        FROM ({{seen}}) AS seen WHERE {{{{part}}}}
    ) AS placed
    GROUP BY {", ".join(KEYS)}, _corrupt, broken_source, broken_position"""

_PROBLEMS = """
    SELECT _corrupt AS problem, sum(requests) AS places, sum(begun) AS connections, sum(unread) AS unread,
        client_host, server_port, source, position
    FROM {seen} WHERE _corrupt IS NOT NULL
    GROUP BY _corrupt, client_host, server_port, source, position"""
_COUNTED_PROBLEMS = f"""
        SELECT CAST(NULL AS STRING) AS seen_in, source, position, client_host, server_port, NULL AS api_key,
            NULL AS api, NULL AS version, {", ".join(f"CAST(NULL AS STRING) AS {one}" for one in IDENTITY)},
            NULL AS first_seen, NULL AS last_seen,
            places AS requests, CAST(NULL AS STRING) AS connection, 0 AS connections, 0 AS errors,
            0 AS refused, 0 AS bytes, connections AS begun, unread, problem AS _corrupt
        FROM {{name}}"""


def _seen(name: str, columns: Collection[str]) -> str:
    """The rows to count, with the type of input and the counts of each."""
    if "places" in columns:
        return _COUNTED_PROBLEMS.format(name=f"{{{name}}}")
    requests, known = "coalesce(packets, 1)" if "packets" in columns else "1", set(IDENTITY)
    rows = f"time AS first_seen, time AS last_seen, {requests} AS requests, connection, 0 AS connections"
    if "outcome" in columns:
        seen_in, error = SEEN_IN, _one("size(error_codes) > 0")
        refused = _one(f"outcome = 'unanswered' AND reason = '{CLOSED}'")
        size, begun = "coalesce(request_size, 0) + coalesce(response_size, 0)", _one("number = 0")
        unread = "unread"
    elif "message" in columns:
        seen_in, error, refused, known = f"'{SERVER_LOG}'", "0", "1", {"principal"}
        size, begun, unread = "0", "0", "CAST(NULL AS BIGINT)"
    elif "requests" in columns:
        seen_in, error, refused, size, begun = "seen_in", "errors", "refused", "bytes", "begun"
        unread = "unread" if "unread" in columns else "CAST(NULL AS BIGINT)"
        connection = "connection" if "connection" in columns else "CAST(NULL AS STRING) AS connection"
        rows = f"first_seen, last_seen, requests, {connection}, connections"
    else:
        raise ValueError(f"expected exchanges, refusals or clients, got columns {', '.join(columns)}")
    corrupt = "_corrupt" if "_corrupt" in columns else "CAST(NULL AS STRING) AS _corrupt"
    who = ", ".join(
        f"{f'substr({one}, 1, {MAX_IDENTITY})' if one in known else 'CAST(NULL AS STRING)'} AS {one}"
        for one in IDENTITY
    )
    return f"""
        SELECT {seen_in} AS seen_in, {", ".join(_PLACED)}, {who}, {rows}, {error} AS errors, {refused} AS refused,
            {size} AS bytes, {begun} AS begun, {unread} AS unread, {corrupt}
        FROM {{{name}}}"""


def _one(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"
