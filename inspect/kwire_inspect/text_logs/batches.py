"""Converts splits of request logs and server logs to Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo

import pyarrow as pa

from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import LAYOUTS, Layout, Projection, Row
from kwire_inspect.text_logs.fast_path import MARK
from kwire_inspect.text_logs.lines import LONGEST, Lines, Split
from kwire_inspect.text_logs.refusals import NEAR, refusal_rows
from kwire_inspect.text_logs.requests import RequestRows, request_entries

BATCH_ROWS = 4096
BATCH_BYTES = 4 << 20
"""Approximate total size, in bytes, of the log lines in a batch."""

NO_REQUESTS = "no line of this file describes a request"

Rows = Iterable[tuple[int, list[Row]]]
"""Size in bytes and rows of each log entry."""


def request_batches(
    split: Split, projection: Projection, zone: tzinfo, *, failfast: bool = False, longest: int = LONGEST
) -> Iterator[pa.RecordBatch]:
    """Yield the requests in a split of a request log as Arrow batches.

    ``projection`` selects the rows and columns of EXCHANGES. Broken lines, lines of more than ``longest`` bytes and
    files without requests become rows with a ``problem``, or raise ``BrokenInputError`` if ``failfast`` is true.
    """
    with Lines(split.path, split.start, longest, split.stamp) as lines:
        rows = _request_rows(lines, split, RequestRows(projection, zone))
        yield from _batches(rows, lines, split, projection, failfast)


def refusal_batches(
    split: Split, projection: Projection, zone: tzinfo, *, failfast: bool = False, longest: int = LONGEST
) -> Iterator[pa.RecordBatch]:
    """Yield the refusals in a split of a server log as Arrow batches.

    ``projection`` selects the rows and columns of REFUSALS. Problems are handled as in ``request_batches``.
    """
    with Lines(split.path, split.start, longest, split.stamp, near=NEAR) as lines:
        yield from _batches(refusal_rows(lines, split, zone, projection.protocol), lines, split, projection, failfast)


def _request_rows(lines: Lines, split: Split, maker: RequestRows) -> Rows:
    found = False
    for position, line in request_entries(lines, split):
        found = True
        yield len(line), maker.rows(split.path, position, line)
    if not found and not split.start and not lines.problems and not _has_requests(split):
        yield 0, [LAYOUTS["logged_exchanges"].corrupt(split.path, 0, NO_REQUESTS)]


def _has_requests(split: Split) -> bool:
    """Return whether the file contains a request after this split."""
    if split.end is None:
        return False
    with Lines(split.path, split.end) as lines:
        return any(MARK in line for _, line in lines)


def _batches(
    rows: Rows, lines: Lines, split: Split, projection: Projection, failfast: bool
) -> Iterator[pa.RecordBatch]:
    held: list[Row] = []
    size = 0
    for weight, found in _with_problems(rows, lines, split, projection):
        if failfast:
            _fail(found, projection.layout)
        held += found
        size += weight
        if len(held) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield from _batch(held, projection)
            held, size = [], 0
    yield from _batch(held, projection)


def _batch(rows: list[Row], projection: Projection) -> Iterator[pa.RecordBatch]:
    if rows := projection.rows(rows):
        yield projection.batch(rows)


def _with_problems(rows: Rows, lines: Lines, split: Split, projection: Projection) -> Rows:
    yield from rows
    for position, reason in lines.problems:
        if split.has(position):
            yield 0, [projection.layout.corrupt(split.path, position, reason)]


def _fail(rows: list[Row], layout: Layout) -> None:
    for row in rows:
        if (reason := layout.value(row, "problem")) is not None:
            raise BrokenInputError(layout.value(row, "source"), layout.value(row, "position"), reason)
