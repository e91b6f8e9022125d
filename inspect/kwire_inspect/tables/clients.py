"""The tables CLIENTS and PROBLEMS, created from exchanges and refusals in one pass.

The inputs are tables of EXCHANGES from captures or request logs, tables of REFUSALS, and tables of CLIENTS and
PROBLEMS from an earlier count. The type of each table is recognized by its columns. Tables of EXCHANGES need only the
columns ``EXCHANGE_COLUMNS``, and tables of REFUSALS need only ``REFUSAL_COLUMNS``.

The process that reads exchanges counts them before it stores them, so that only a few rows move to other processes.
Counting is therefore defined twice, in SQL and for Arrow. Tests compare the two implementations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic

import numpy
import pyarrow as pa
from pyarrow import compute

from kwire_inspect.reasons import CLOSED
from kwire_inspect.schemas import CLIENTS, COUNTED
from kwire_inspect.stored import UNKNOWN, Origin
from kwire_inspect.tables.relations import R, Relation, collect, kept, query, query_groups

CAPTURE, REQUEST_LOG, SERVER_LOG = "capture", "request_log", "server_log"
FORWARDED, METRICS = "forwarded", "metrics"
INPUT_KIND = f"""
    CASE WHEN forwarded THEN '{FORWARDED}' WHEN number IS NULL THEN '{REQUEST_LOG}' ELSE '{CAPTURE}' END"""
"""SQL expression for an exchange's input type. A forwarded request was first sent to the forwarding broker,
so another input may also contain it.
"""
MAX_VERSIONS = 10_000
"""Maximum number of versions in a summary. Real inputs contain a few hundred versions, but a hostile input can invent
2^32."""
IDENTITY = ("client_id", "software_name", "software_version", "principal")
MAX_IDENTITY = 1000
"""Maximum number of characters to keep of the value of each column in ``IDENTITY``. Reports keep up to 10,000 clients
in memory."""
KEYS = ("input_kind", "client_host", "server_port", *IDENTITY, "api_key", "api", "version")
KNOWN = "api_key IS NOT NULL"
"""SQL condition for rows of CLIENTS that count requests of known APIs."""
_PLACED = ("source", "position", "client_host", "server_port", "api_key", "api", "version")
REFUSAL_COLUMNS = (*_PLACED, "connection", "time", "principal", "message", "problem")
EXCHANGE_COLUMNS = (
    *(*_PLACED, "connection", "time", "number", "forwarded", *IDENTITY, "outcome", "error_codes", "reason"),
    *("request_size", "response_size", "unread", "packets", "problem"),
)
_COUNTED = f"""
    SELECT {", ".join(KEYS)}, min(first_seen) AS first_seen, max(last_seen) AS last_seen, sum(requests) AS requests,
        sum(errors) AS errors, sum(refused) AS refused,
        count(DISTINCT connection) + sum(connections) AS connections,
        min_by(source, place) AS source, min_by(position, place) AS position,
        CASE WHEN count(bytes) = count(*) THEN sum(bytes) END AS bytes,
        sum(begun) AS begun, sum(unread) AS unread, problem
    FROM (
        SELECT *, struct(CASE WHEN first_seen IS NULL THEN 1 ELSE 0 END, first_seen, source, position) AS place,
            CASE WHEN problem IS NOT NULL THEN source END AS broken_source,
            CASE WHEN problem IS NOT NULL THEN position END AS broken_position
        FROM ({{seen}}) AS seen WHERE {{{{part}}}}
    ) AS placed
    GROUP BY {", ".join(KEYS)}, problem, broken_source, broken_position"""
_PROBLEMS = """
    SELECT problem, sum(requests) AS places, sum(begun) AS connections, sum(unread) AS unread,
        client_host, server_port, source, position
    FROM {seen} WHERE problem IS NOT NULL
    GROUP BY problem, client_host, server_port, source, position"""
_COUNTED_PROBLEMS = f"""
        SELECT CAST(NULL AS STRING) AS input_kind, source, position, client_host, server_port, NULL AS api_key,
            NULL AS api, NULL AS version, {", ".join(f"CAST(NULL AS STRING) AS {one}" for one in IDENTITY)},
            NULL AS first_seen, NULL AS last_seen,
            places AS requests, CAST(NULL AS STRING) AS connection, 0 AS connections, 0 AS errors,
            0 AS refused, 0 AS bytes, connections AS begun, unread, problem
        FROM {{name}}"""
AT_ONCE = 8 << 20
"""Number of bytes of exchanges to count at once, which is about 35,000 requests. The last batch may exceed this
size."""
MAX_WAITING = 16 << 20
"""Maximum size, in bytes, of the counts to hold and add up. This size is slightly more than a database accepts at a
time."""
_SUMS = ("requests", "errors", "refused", "bytes", "begun", "unread")
_PLACE = ("first_seen", "source", "position")
_BROKEN = ("problem", "broken_source", "broken_position")
"""Columns by which problems are counted: the problem and the place of the broken input."""


def versions_seen(table: Relation) -> list[dict[str, Any]]:
    """Return the number of requests by API, version and input type, from a table of CLIENTS or EXCHANGES.

    Only the most frequent versions are returned.
    """
    each, where = "input_kind, requests", KNOWN
    if "requests" not in table.columns:
        each, where = f"{INPUT_KIND} AS input_kind, 1 AS requests", f"{KNOWN} AND problem IS NULL"
    return collect(
        f"""
        SELECT input_kind, api_key, version, sum(requests) AS requests
        FROM (
            SELECT api_key, version, {each} FROM {{table}}
            WHERE {where} AND version IS NOT NULL
        ) AS requests
        GROUP BY input_kind, api_key, version ORDER BY requests DESC, api_key, version LIMIT {MAX_VERSIONS}""",
        table=table,
    )


@dataclass(frozen=True)
class Clients(Generic[R]):
    """Clients with the API versions that they use, and the parts of the input that could not be read.

    ``table`` has the columns of CLIENTS, and ``problems`` has the columns of PROBLEMS. ``counted`` contains the rows
    of both tables, computed in one pass over the inputs. ``origin`` describes the inputs. ``complete`` is false if
    problems may be missing.
    """

    counted: R
    origin: Origin = UNKNOWN
    complete: bool = True

    @cached_property
    def table(self) -> R:
        """Table with the columns of CLIENTS. In rows for requests of an unknown API, ``api_key`` is null. See
        :data:`KNOWN`."""
        return query(f"SELECT {', '.join(CLIENTS.names)} FROM {{seen}} WHERE problem IS NULL", seen=self.counted)

    @cached_property
    def problems(self) -> R:
        """Table with the columns of PROBLEMS."""
        return query(_PROBLEMS, seen=self.counted)

    @contextmanager
    def kept(self) -> Iterator[Clients[R]]:
        """Provide the clients for a ``with`` block, and compute them only once."""
        with kept(self.counted) as counted:
            yield replace(self, counted=counted)


def clients(*tables: R | Clients[R], origin: Origin = UNKNOWN) -> Clients[R]:
    """Return the clients in one or more tables of exchanges, refusals and previously counted clients.

    Raises ``ValueError`` if no table is given. Reports begin with the description in ``origin``.
    """
    if not tables:
        raise ValueError("expected at least one table of exchanges, refusals or clients")
    before = [table for table in tables if isinstance(table, Clients)]
    found: list[R] = [table.counted if isinstance(table, Clients) else table for table in tables]
    named = {f"table{number}": table for number, table in enumerate(found)}
    seen = " UNION ALL ".join(_seen(name, table.columns) for name, table in named.items())
    counted = query_groups(_COUNTED.format(seen=seen), KEYS, **named)
    return Clients(counted, origin, all(one.complete for one in before))


def _seen(name: str, columns: Collection[str]) -> str:
    """Return a query that selects the rows to count, with the input type and the counts of each row."""
    if "places" in columns:
        return _COUNTED_PROBLEMS.format(name=f"{{{name}}}")
    requests, known = "coalesce(packets, 1)" if "packets" in columns else "1", set(IDENTITY)
    rows = f"time AS first_seen, time AS last_seen, {requests} AS requests, connection, 0 AS connections"
    if "outcome" in columns:
        input_kind, error = INPUT_KIND, _one("size(error_codes) > 0")
        refused = _one(f"outcome = 'unanswered' AND reason = '{CLOSED}'")
        size, begun = "coalesce(request_size, 0) + coalesce(response_size, 0)", _one("number = 0")
        unread = "unread"
    elif "message" in columns:
        input_kind, error, refused, known = f"'{SERVER_LOG}'", "0", "1", {"principal"}
        size, begun, unread = "0", "0", "CAST(NULL AS BIGINT)"
    elif "requests" in columns:
        input_kind, error, refused, size, begun = "input_kind", "errors", "refused", "bytes", "begun"
        unread = "unread" if "unread" in columns else "CAST(NULL AS BIGINT)"
        connection = "connection" if "connection" in columns else "CAST(NULL AS STRING) AS connection"
        rows = f"first_seen, last_seen, requests, {connection}, connections"
    else:
        raise ValueError(f"expected exchanges, refusals or clients, got columns {', '.join(columns)}")
    problem = "problem" if "problem" in columns else "CAST(NULL AS STRING) AS problem"
    who = ", ".join(
        f"{f'substr({one}, 1, {MAX_IDENTITY})' if one in known else 'CAST(NULL AS STRING)'} AS {one}"
        for one in IDENTITY
    )
    return f"""
        SELECT {input_kind} AS input_kind, {", ".join(_PLACED)}, {who}, {rows}, {error} AS errors,
            {refused} AS refused, {size} AS bytes, {begun} AS begun, {unread} AS unread, {problem}
        FROM {{{name}}}"""


def _one(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


def counted(
    exchanges: Iterable[pa.RecordBatch], at_once: int = AT_ONCE, most: int = MAX_WAITING
) -> Iterator[pa.RecordBatch]:
    """Count exchanges in batches with the columns ``EXCHANGE_COLUMNS``. Yield fewer rows, with the columns
    :data:`COUNTED`, for which ``clients`` returns the same result.

    To limit memory use, the counts of very many clients and connections are not added up.
    """
    kept: list[pa.Table] = []
    complete = True
    for table in _tables(exchanges, at_once):
        kept.append(_grouped(_of_requests(table), [*KEYS, *_BROKEN, "connection"]))
        if sum(counts.nbytes for counts in kept) > most:
            yield from _batches(kept)
            kept, complete = [], False
    if complete and kept:
        kept = [_grouped(pa.concat_tables(kept), [*KEYS, *_BROKEN])]
    yield from _batches(kept)


def _tables(batches: Iterable[pa.RecordBatch], at_once: int) -> Iterator[pa.Table]:
    """Yield all rows in tables of ``at_once`` bytes. The last batch of a table may exceed this size."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size >= at_once:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _batches(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    for table in tables:
        yield from table.select(COUNTED.names).cast(COUNTED).to_batches()


def _of_requests(table: pa.Table) -> pa.Table:
    """Return a table with the counts of each request, and the columns to group requests by."""
    whole, sent = table["problem"].is_null(), compute.fill_null(table["request_size"], 0)
    unanswered = compute.equal(table["outcome"], "unanswered")
    logged = compute.if_else(table["number"].is_null(), REQUEST_LOG, CAPTURE)
    same = ("source", "position", "connection", "unread", "problem", *KEYS[1:])
    return pa.table(
        {name: table[name] for name in same}
        | {name: _cut(table[name]) for name in IDENTITY}
        | {
            "input_kind": compute.if_else(compute.fill_null(table["forwarded"], False), FORWARDED, logged),
            "first_seen": table["time"],
            "last_seen": table["time"],
            "requests": compute.fill_null(table["packets"], 1),
            "errors": _ones(compute.greater(compute.list_value_length(table["error_codes"]), 0)),
            "refused": _ones(compute.and_(unanswered, compute.equal(table["reason"], CLOSED))),
            "bytes": compute.add(sent, compute.fill_null(table["response_size"], 0)),
            "begun": _ones(compute.equal(table["number"], 0)),
            # In pyarrow before 24, a scalar null would break the offsets of a sliced text array.
            "broken_source": compute.if_else(whole, pa.nulls(len(table), pa.string()), table["source"]),
            "broken_position": compute.if_else(whole, None, table["position"]),
        }
    )


def _cut(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the first ``MAX_IDENTITY`` characters of each text. Nearly all texts are shorter."""
    longest = compute.max(compute.binary_length(texts)).as_py() or 0
    return texts if longest <= MAX_IDENTITY else compute.utf8_slice_codeunits(texts, 0, MAX_IDENTITY)


def _ones(condition: pa.ChunkedArray) -> pa.ChunkedArray:
    return compute.fill_null(condition, False).cast(pa.int64())


def _grouped(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return a table with one row per group, including the place of the first request and the number of connections.
    Connections are not counted if ``by`` contains ``connection``.
    """
    first_seen, source, position = (table[name] for name in _PLACE)
    # the same order as `place` in SQL: null times last, null sources and positions first
    places = pa.table([first_seen, compute.fill_null(source, ""), compute.fill_null(position, -1)], [*_PLACE])
    order = compute.sort_indices(places, [(name, "ascending") for name in _PLACE])
    rank = numpy.empty(table.num_rows, numpy.int64)
    rank[order] = numpy.arange(table.num_rows)
    aggregates = [("rank", "min"), ("last_seen", "max"), *((name, "sum") for name in _SUMS)]
    aggregates += [] if "connection" in by else [("connection", "count_distinct")]
    found = table.append_column("rank", pa.array(rank)).group_by(by, use_threads=False).aggregate(aggregates)
    first = order.take(found["rank_min"])
    columns = {name: found[name] for name in by} | {name: table[name].take(first) for name in _PLACE}
    columns |= {name: found[f"{name}_{how}"] for name, how in aggregates[1:]}
    if "connection" in by:
        columns["connections"] = pa.repeat(0, found.num_rows)
    else:
        columns["connections"], columns["connection"] = columns["connection"], pa.nulls(found.num_rows)
    return pa.table(columns)
