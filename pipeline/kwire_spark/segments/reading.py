"""Splits of segments to Arrow: batches are read, verified, decompressed, and become columns.

Takes splits and the columns that are wanted, gives Arrow record batches of these columns, of ``columns.RECORDS``.
What is broken is a row of its own with ``_corrupt``, or ``BrokenInput`` where ``failfast`` is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa

from kwire.errors import DecodeError
from kwire.records import Batch
from kwire.records.layout import BATCH_HEADER
from kwire_spark.options import BrokenInput
from kwire_spark.segments.bounds import Bounds
from kwire_spark.segments.chain import BLOCK, WINDOW, Window, stretches
from kwire_spark.segments.files import Split
from kwire_spark.segments.near import near_offset, near_position
from kwire_spark.segments.rows import ROWS, Rows

BYTES = 8 << 20
"""Bytes of keys and values, about, that one Arrow batch has at most, unless one record batch has more."""
BELIEVED = 1 << 16
"""A batch that says it has more records than this is read to be sure, even if only their number matters."""


@dataclass(frozen=True, slots=True)
class Broken:
    """What cannot be read: a file, bytes between batches, a batch."""

    source: str
    position: int | None
    reason: str


def record_batches(
    group: Iterable[Split],
    schema: pa.Schema,
    *,
    bounds: Bounds | None = None,
    failfast: bool = False,
    control: bool = True,
    hide: bool = True,
    limit: int | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of splits within ``bounds``, in columns of ``schema``. Nothing is computed for other columns.

    A batch of up to 8192 records is given whole or, if one of them cannot be read, not at all; of larger ones what
    precedes the damage. ``control=False`` leaves out control records, ``hide`` takes secrets out of metadata records.
    ``limit`` bounds the decompressed bytes of a batch. :class:`~kwire_spark.options.BrokenInput` with ``failfast``.
    """
    bounds = bounds or Bounds()
    for split in group:
        rows = Rows(split.path, schema, bounds, hide)
        for found in _batches(split, bounds, limit):
            if isinstance(found, Batch):
                if control or not found.control:
                    yield from _added(rows, found, failfast)
            else:
                yield from _reported(rows, found, failfast)
        yield from rows.flushed()


def _batches(split: Split, bounds: Bounds, limit: int | None) -> Iterator[Batch | Broken]:
    """Batches that begin in a split and may have records within the bounds, and what is none."""
    if split.size < 0:
        yield Broken(split.path, None, "cannot be opened")
        return
    try:
        with Path(split.path).open("rb", buffering=0) as file:
            window = Window(file, split.size)
            yield from _within(window, split, bounds, limit)
    except OSError as problem:
        yield Broken(split.path, None, f"cannot be read: {problem.strerror or problem}")


def _within(window: Window, split: Split, bounds: Bounds, limit: int | None) -> Iterator[Batch | Broken]:
    first = max(near_position(window, split.path, split.start), near_offset(window, split.path, bounds.first_offset))
    every = bounds == Bounds()
    for position, size, reason in stretches(window, first, split.start):
        if position >= split.end:
            if reason is None and window.intact(position, size):
                return  # nothing before it can follow
            continue
        if reason is not None:
            yield Broken(split.path, position, f"{reason} ({size} bytes are passed over)")
        elif every or not bounds.skip(Batch(window.read(position, min(size, BATCH_HEADER.size)), position)):
            window.least = WINDOW
            yield Batch(window.read(position, size), position, limit=limit)
        else:
            window.least = BLOCK


def _added(rows: Rows, batch: Batch, failfast: bool) -> Iterator[pa.RecordBatch]:
    try:
        batch.verify()
        if (batch.count > ROWS and rows.one_by_one) or batch.count > BELIEVED:
            yield from _in_parts(rows, batch)
        elif rows.one_by_one or batch.count < 0:
            rows.add_batch(batch)
        else:
            rows.add_number(batch)
    except DecodeError as problem:
        yield from _reported(rows, Broken(rows.source, batch.position, str(problem)), failfast)
    if rows.count >= ROWS or rows.weight > BYTES:
        yield from rows.flushed()


def _in_parts(rows: Rows, batch: Batch) -> Iterator[pa.RecordBatch]:
    records = iter(batch)
    while part := list(islice(records, ROWS)):
        rows.add_records(batch, part)
        yield from rows.flushed()


def _reported(rows: Rows, broken: Broken, failfast: bool) -> Iterator[pa.RecordBatch]:
    if failfast:
        raise BrokenInput(broken.source, broken.position, broken.reason)
    yield from rows.flushed()
    yield rows.corrupt(broken.position, broken.reason)
