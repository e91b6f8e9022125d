"""The table CLIENTS from exchanges and refusals, in one pass over them.

Takes tables of EXCHANGES, from captures and request logs alike, of REFUSALS, and of CLIENTS that were counted before,
in whole or for each connection, recognized by their columns. Of the first two only ``EXCHANGE_COLUMNS`` and
``REFUSAL_COLUMNS`` are needed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kwire_spark.tables.relations import R, Relation, collect, query
from kwire_spark.unread import CLOSED

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
FORWARDED, METRICS = "forwarded", "metrics"
SEEN_IN = f"""
    CASE WHEN forwarded THEN '{FORWARDED}' WHEN number IS NULL THEN '{REQUEST_LOG}' ELSE '{CAPTURE}' END"""
"""The type of input of an exchange, in SQL. A request that a broker forwarded was sent to that broker before, where
another input may have seen it."""
MOST_VERSIONS = 10_000
"""Versions in a summary. Real inputs have some hundreds; a hostile one can make up 2^32."""

IDENTITY = ("client_id", "software_name", "software_version", "principal")
KEYS = ("seen_in", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")

KNOWN = "_corrupt IS NULL AND api_key IS NOT NULL"
"""Which rows are requests of a known API, in SQL."""

_PLACED = ("source", "position", "client_host", "server_port", "api_key", "api", "version")
REFUSAL_COLUMNS = (*_PLACED, "connection", "time", "principal", "message", "_corrupt")
EXCHANGE_COLUMNS = (
    *(*_PLACED, "connection", "time", "number", "forwarded", *IDENTITY, "outcome", "error_codes", "reason"),
    *("request_size", "response_size", "unread", "packets", "_corrupt"),
)


def versions_seen(table: Relation) -> list[dict[str, Any]]:
    """How many requests of each API and version each type of input has, from CLIENTS or EXCHANGES: the most frequent
    versions."""
    each = "seen_in, requests" if "requests" in table.columns else f"{SEEN_IN} AS seen_in, 1 AS requests"
    return collect(
        f"""
        SELECT seen_in, api_key, version, sum(requests) AS requests
        FROM (
            SELECT api_key, version, {each} FROM {{table}}
            WHERE {KNOWN} AND version IS NOT NULL
        ) AS requests
        GROUP BY seen_in, api_key, version ORDER BY requests DESC, api_key, version LIMIT {MOST_VERSIONS}""",
        table=table,
    )


def clients(*tables: R) -> R:
    """``columns.CLIENTS`` of exchanges, refusals and clients, any number of each; ``ValueError`` without any.

    Rows with ``_corrupt`` report broken input, and requests of an unknown API have no ``api_key``: reports leave both
    out of their counts (:data:`KNOWN`), and say what these are based on.
    """
    if not tables:
        raise ValueError("expected at least one table of exchanges, refusals or clients")
    named = {f"table{number}": table for number, table in enumerate(tables)}
    seen = " UNION ALL ".join(_seen(name, table.columns) for name, table in named.items())
    return query(_COUNTED.format(seen=seen), **named)


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
        FROM ({{seen}}) AS seen
    ) AS placed
    GROUP BY {", ".join(KEYS)}, _corrupt, broken_source, broken_position"""


def _seen(name: str, columns: Collection[str]) -> str:
    """The rows to count, with the type of input and the counts of each."""
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
        seen_in, error, refused, size, begun, unread = "seen_in", "errors", "refused", "bytes", "begun", "unread"
        connection = "connection" if "connection" in columns else "CAST(NULL AS STRING) AS connection"
        rows = f"first_seen, last_seen, requests, {connection}, connections"
    else:
        raise ValueError(f"expected exchanges, refusals or clients, got columns {', '.join(columns)}")
    who = ", ".join(one if one in known else f"CAST(NULL AS STRING) AS {one}" for one in IDENTITY)
    return f"""
        SELECT {seen_in} AS seen_in, {", ".join(_PLACED)}, {who}, {rows}, {error} AS errors, {refused} AS refused,
            {size} AS bytes, {begun} AS begun, {unread} AS unread, _corrupt
        FROM {{{name}}}"""


def _one(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"
