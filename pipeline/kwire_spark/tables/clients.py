"""The table CLIENTS from exchanges and refusals, in one pass over them.

Takes tables of EXCHANGES, from captures and request logs alike, and of REFUSALS, recognized by their columns.
Only the columns in ``EXCHANGE_COLUMNS`` and ``REFUSAL_COLUMNS`` are needed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kwire.connection.decoder import ENDED
from kwire.connection.events import SERVER
from kwire_spark.columns import CLIENTS
from kwire_spark.tables.relations import R, Relation, collect, query

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
SEEN_IN = f"CASE WHEN number IS NULL THEN '{REQUEST_LOG}' ELSE '{CAPTURE}' END"
"""The type of input of an exchange, in SQL."""
CLOSED = f"{ENDED}: the {SERVER} closed it"
"""The reason of a request in a capture that the server refused. The oldest request in flight of a server that stops
looks the same; later ones, those of a client that did not wait, and those at the end of a capture, do not."""

MOST_VERSIONS = 10_000
"""Versions in a summary. Real inputs have some hundreds; a hostile one can make up 2^32."""

IDENTITY = ("client_id", "software_name", "software_version", "principal")
KEYS = ("seen_in", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")

_SHARED = ("source", "position", "connection", "client_host", "server_port", "time", "api_key", "api", "version")
REFUSAL_COLUMNS = (*_SHARED, "principal", "message", "_corrupt")
EXCHANGE_COLUMNS = (
    *(*_SHARED, "number", *IDENTITY, "outcome", "error_codes", "reason"),
    *("request_size", "response_size", "unread", "_corrupt"),
)


def clients(*tables: R) -> R:
    """``columns.CLIENTS`` of exchanges and refusals, any number of each; ``ValueError`` without any."""
    return identified(tally(*tables))


def versions_seen(table: Relation) -> list[dict[str, Any]]:
    """How many requests of each API and version each type of input has, from a tally or EXCHANGES: the most frequent
    versions."""
    each = "seen_in, requests" if "requests" in table.columns else f"{SEEN_IN} AS seen_in, 1 AS requests"
    return collect(
        f"""
        SELECT seen_in, api_key, version, sum(requests) AS requests
        FROM (
            SELECT api_key, version, {each} FROM {{table}}
            WHERE _corrupt IS NULL AND api_key IS NOT NULL AND version IS NOT NULL
        ) AS requests
        GROUP BY seen_in, api_key, version ORDER BY requests DESC, api_key, version LIMIT {MOST_VERSIONS}""",
        table=table,
    )


def identified(counted: R) -> R:
    """CLIENTS of a :func:`tally`, without broken input and requests with an unknown API."""
    known = f"SELECT {', '.join(CLIENTS.names)} FROM {{counted}} WHERE _corrupt IS NULL AND api_key IS NOT NULL"
    return query(known, counted=counted)


def tally(*tables: R) -> R:
    """CLIENTS and, in the same pass, rows for broken input: ``_corrupt``, ``source``, ``position`` and ``unread``.

    Other rows have ``bytes``, those of requests and responses in captures, and in ``begun`` the number of connections
    whose first request is among them.
    """
    if not tables:
        raise ValueError("expected at least one table of exchanges or refusals")
    named = {f"table{number}": table for number, table in enumerate(tables)}
    seen = " UNION ALL ".join(_seen(name, table.columns) for name, table in named.items())
    return query(_TALLY.format(seen=seen), **named)


_TALLY = f"""
    SELECT {", ".join(KEYS)}, min(time) AS first_seen, max(time) AS last_seen, count(*) AS requests,
        sum(error) AS errors, sum(refused) AS refused, count(DISTINCT connection) AS connections,
        min_by(source, place) AS source, min_by(position, place) AS position, _corrupt,
        sum(bytes) AS bytes, sum(begun) AS begun, sum(unread) AS unread
    FROM (
        SELECT *, struct(CASE WHEN time IS NULL THEN 1 ELSE 0 END, time, source, position) AS place,
            CASE WHEN _corrupt IS NOT NULL THEN source END AS broken_source,
            CASE WHEN _corrupt IS NOT NULL THEN position END AS broken_position
        FROM ({{seen}}) AS seen
    ) AS placed
    GROUP BY {", ".join(KEYS)}, _corrupt, broken_source, broken_position"""


def _seen(name: str, columns: Collection[str]) -> str:
    """The rows to count, with the type of input, and 1 or 0 for ``error`` and ``refused``."""
    if "outcome" in columns:
        seen_in, error, known = SEEN_IN, "size(error_codes) > 0", set(IDENTITY)
        refused = f"outcome = 'unanswered' AND reason = '{CLOSED}'"
        size, begun, unread = "coalesce(request_size, 0) + coalesce(response_size, 0)", "number = 0", "unread"
    elif "message" in columns:
        seen_in, error, refused, known = f"'{SERVER_LOG}'", "1 = 0", "1 = 1", {"principal"}
        size, begun, unread = "CAST(0 AS BIGINT)", "1 = 0", "CAST(NULL AS BIGINT)"
    else:
        raise ValueError(f"expected exchanges or refusals, got columns {', '.join(columns)}")
    who = ", ".join(one if one in known else f"CAST(NULL AS STRING) AS {one}" for one in IDENTITY)
    return f"""
        SELECT {seen_in} AS seen_in, {", ".join(_SHARED)}, {who}, _corrupt,
            CASE WHEN {error} THEN 1 ELSE 0 END AS error, CASE WHEN {refused} THEN 1 ELSE 0 END AS refused,
            {size} AS bytes, CASE WHEN {begun} THEN 1 ELSE 0 END AS begun, {unread} AS unread
        FROM {{{name}}}"""
