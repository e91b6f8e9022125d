"""Exchanges counted before they are stored, in the process that reads them: few rows are brought to others.

What a request counts as is said twice, here for Arrow and in ``tables.clients`` in SQL. Tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy
import pyarrow as pa
from pyarrow import compute

from kwire_inspect.reasons import CLOSED
from kwire_inspect.schemas import COUNTED
from kwire_inspect.tables.clients import CAPTURE, FORWARDED, IDENTITY, KEYS, MAX_IDENTITY, REQUEST_LOG

AT_ONCE = 8 << 20
"""Bytes of exchanges that are counted together, or a batch more: some 35,000 requests."""
MAX_WAITING = 16 << 20
"""Bytes of counts that wait to be added up, some more than a database takes at a time."""

_SUMS = ("requests", "errors", "refused", "bytes", "begun", "unread")
_PLACE = ("first_seen", "source", "position")
_BROKEN = ("_corrupt", "broken_source", "broken_position")
"""What is broken is counted by its place."""


def counted(
    exchanges: Iterable[pa.RecordBatch], at_once: int = AT_ONCE, most: int = MAX_WAITING
) -> Iterator[pa.RecordBatch]:
    """Batches with ``EXCHANGE_COLUMNS`` as fewer rows, of :data:`COUNTED`, of which ``clients`` makes the same table.

    Of very many clients and connections, these are not added up, so that it takes no more memory.
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
    """All rows in tables of so many bytes or a batch more, but for the last."""
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
    """The counts of each request, with the columns of a group of them."""
    whole, sent = table["_corrupt"].is_null(), compute.fill_null(table["request_size"], 0)
    unanswered = compute.equal(table["outcome"], "unanswered")
    logged = compute.if_else(table["number"].is_null(), REQUEST_LOG, CAPTURE)
    same = ("source", "position", "connection", "unread", "_corrupt", *KEYS[1:])
    return pa.table(
        {name: table[name] for name in same}
        | {name: _cut(table[name]) for name in IDENTITY}
        | {
            "seen_in": compute.if_else(compute.fill_null(table["forwarded"], False), FORWARDED, logged),
            "first_seen": table["time"],
            "last_seen": table["time"],
            "requests": compute.fill_null(table["packets"], 1),
            "errors": _ones(compute.greater(compute.list_value_length(table["error_codes"]), 0)),
            "refused": _ones(compute.and_(unanswered, compute.equal(table["reason"], CLOSED))),
            "bytes": compute.add(sent, compute.fill_null(table["response_size"], 0)),
            "begun": _ones(compute.equal(table["number"], 0)),
            "broken_source": compute.if_else(whole, None, table["source"]),
            "broken_position": compute.if_else(whole, None, table["position"]),
        }
    )


def _cut(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """At most ``MAX_IDENTITY`` characters of each text, which nearly all have."""
    longest = compute.max(compute.binary_length(texts)).as_py() or 0
    return texts if longest <= MAX_IDENTITY else compute.utf8_slice_codeunits(texts, 0, MAX_IDENTITY)


def _ones(condition: pa.ChunkedArray) -> pa.ChunkedArray:
    return compute.fill_null(condition, False).cast(pa.int64())


def _grouped(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """A row for each group, with the place of its first request, and with the number of its connections unless it is
    of one."""
    first_seen, source, position = (table[name] for name in _PLACE)
    # the order of `place` in SQL: those without a time are last, those without a source or position are first
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
