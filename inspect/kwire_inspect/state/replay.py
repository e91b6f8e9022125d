"""Replays partitions of internal topics. ``replay`` converts sorted RECORDS to the rows of a ``State``, and
``undecodable_records`` returns the records that a replay skips.

Both functions accept and yield Arrow batches, as ``DataFrame.mapInArrow`` requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from kwire.frames import MAX_DECODED
from kwire.logs import Checkpoint, InternalRecord, decode_record
from kwire.logs.segment import log_file
from kwire.policy import LIKE_KAFKA
from kwire.protocol import MessageRegistry
from kwire_inspect.schemas import RECORDS
from kwire_inspect.state.columns import UNDECODABLE
from kwire_kafka import PROTOCOL

COLUMNS = ("source", "topic", "partition", "offset", "producer_id", "transactional", "control", "key", "value")
"""Columns of RECORDS that a replay needs."""
NEEDED = tuple(dict.fromkeys((*COLUMNS, *(n for n in UNDECODABLE.names if n in RECORDS.names), "problem")))
"""Columns of RECORDS that ``undecodable_records`` needs."""
CHUNK = 8192
"""Maximum number of rows per batch."""


class Logged(NamedTuple):
    """A decoded record of an internal topic, with its position in the log and its producer."""

    partition: int
    offset: int
    producer_id: int
    transactional: bool
    record: InternalRecord


class State(Protocol):
    """State that is derived from the records of a partition."""

    def add(self, row: Logged) -> None:
        """Apply the next record."""

    def rows(self) -> Iterable[dict[str, Any]]:
        """Return the rows of the state, based on the records added so far."""


class Several:
    """Builds several states from the same records. Each row is a dict whose only key is the name of its state."""

    def __init__(self, states: Mapping[str, Callable[[], State]]) -> None:
        self._states = {name: new() for name, new in states.items()}

    def add(self, row: Logged) -> None:
        for state in self._states.values():
            state.add(row)

    def rows(self) -> Iterator[dict[str, Any]]:
        for name, state in self._states.items():
            yield from ({name: row} for row in state.rows())


def snapshot_end(source: str) -> int | None:
    """Return the end offset of a snapshot (exclusive), or ``None`` for a log segment.

    Return 0 for the snapshot that is written when the storage is formatted.
    """
    file = log_file(source)
    return file.end_offset or 0 if isinstance(file, Checkpoint) else None


def replay(
    batches: Iterable[pa.RecordBatch],
    new: Callable[[], State],
    schema: pa.Schema,
    protocol: MessageRegistry = PROTOCOL,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a new state for each partition of a topic.

    The records must be sorted by partition. Within a partition, snapshots come first, oldest to newest, followed by
    the log in offset order. Each snapshot resets the state, because a snapshot is complete. Log records that the last
    snapshot covers are skipped. A record that occurs in two replicas is applied once.
    """
    partition, source, state, last = None, None, new(), -1
    end: int | None = None
    for row in (row for batch in batches for row in rows_of(batch)):
        if row["partition"] != partition:
            yield from _chunks(state.rows(), schema)
            partition, source, end, state, last = row["partition"], None, None, new(), -1
        if row["source"] != source:
            source, previous_end, end = row["source"], end, snapshot_end(row["source"])
            if end is not None:
                state, last = new(), -1
            elif previous_end is not None:
                last = previous_end - 1
        if row["offset"] > last:
            last = row["offset"]
            state.add(logged(row, protocol))
    yield from _chunks(state.rows(), schema)


def undecodable_records(
    batches: Iterable[pa.RecordBatch], protocol: MessageRegistry = PROTOCOL
) -> Iterator[pa.RecordBatch]:
    """Yield the records that a replay skips, with the columns of ``UNDECODABLE``.

    Records that were too large to read are also included.
    """
    for batch in batches:
        undecodable = [
            row | {"kind": record.name, "reason": row["problem"] or record.reason}
            for row in rows_of(batch, NEEDED)
            if (record := logged(row, protocol).record).reason is not None
        ]
        if undecodable:
            yield pa.RecordBatch.from_pylist(undecodable, UNDECODABLE)


def rows_of(batch: pa.RecordBatch, columns: Sequence[str] = COLUMNS) -> Iterator[dict[str, Any]]:
    """Yield these columns of a batch's rows as dicts."""
    yield from batch.select(columns).to_pylist()


def logged(row: dict[str, Any], protocol: MessageRegistry = PROTOCOL) -> Logged:
    """Decode the record in a row of RECORDS. If the record cannot be decoded, ``record.reason`` of the result says
    why, and no error is raised."""
    given = row["topic"], row["key"], row["value"]
    record = decode_record(protocol, *given, LIKE_KAFKA, control=row["control"], max_decoded=MAX_DECODED)
    return Logged(row["partition"], row["offset"], row["producer_id"], row["transactional"], record)


def _chunks(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, CHUNK)):
        yield pa.RecordBatch.from_pylist(chunk, schema)
