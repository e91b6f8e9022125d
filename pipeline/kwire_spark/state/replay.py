"""Partitions of internal topics, replayed: records in order in, the rows of a ``State`` out.

Takes Arrow batches of sorted RECORDS, gives Arrow batches of a table: what ``DataFrame.mapInArrow`` wants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from kwire.logs import InternalRecord, decode_record
from kwire.policy import LIKE_KAFKA
from kwire.records import Record, decode_control
from kwire_kafka import PROTOCOL

COLUMNS = ("source", "topic", "partition", "offset", "producer_id", "transactional", "control", "key", "value")
"""What a replay needs of RECORDS."""
CHUNK = 8192
"""Rows of a batch that is given out."""

_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")


class Logged(NamedTuple):
    """A record of an internal topic, where it stands and who wrote it."""

    partition: int
    offset: int
    producer_id: int
    transactional: bool
    record: InternalRecord


class State(Protocol):
    """What the records of a partition come to."""

    def add(self, row: Logged) -> None:
        """The next record."""

    def rows(self) -> Iterable[dict[str, Any]]:
        """What is left of all records."""


class Several:
    """Several states of the same records; a row of one of them stands below the name of that one."""

    def __init__(self, states: Mapping[str, Callable[[], State]]) -> None:
        self._states = {name: new() for name, new in states.items()}

    def add(self, row: Logged) -> None:
        for state in self._states.values():
            state.add(row)

    def rows(self) -> Iterator[dict[str, Any]]:
        for name, state in self._states.items():
            yield from ({name: row} for row in state.rows())


def snapshot_end(source: str) -> int | None:
    """Up to which offset, exclusive, a snapshot tells the state; -1 for the one that storage was formatted with,
    ``None`` for a log segment."""
    if not source.endswith(".checkpoint"):
        return None
    found = _SNAPSHOT.fullmatch(PurePosixPath(source.replace("\\", "/")).name)
    return int(found[1]) if found else -1


def replay(
    batches: Iterable[pa.RecordBatch], new: Callable[[], State], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The rows of a new state for each partition of a topic.

    Records come by partition; within one, snapshots first, the newest last, then the log by offset. A snapshot is all
    of the state, so that the newest counts, and of the log what it does not contain. A record that comes twice, from
    two replicas, counts once.
    """
    partition, source, state, last = None, None, new(), -1
    for row in (row for batch in batches for row in rows_of(batch)):
        if row["partition"] != partition:
            yield from _chunks(state.rows(), schema)
            partition, source, state, last = row["partition"], None, new(), -1
        end = snapshot_end(row["source"])
        if end is not None and row["source"] != source:
            state, last = new(), -1
        if end is None and source is not None and (before := snapshot_end(source)) is not None:
            last = before - 1
        source = row["source"]
        if row["offset"] > last:
            last = row["offset"]
            state.add(logged(row))
    yield from _chunks(state.rows(), schema)


def rows_of(batch: pa.RecordBatch, columns: Sequence[str] = COLUMNS) -> Iterator[dict[str, Any]]:
    """The rows of a batch, with these columns."""
    for values in zip(*(batch.column(name).to_pylist() for name in columns), strict=True):
        yield dict(zip(columns, values, strict=True))


def logged(row: dict[str, Any]) -> Logged:
    """A row of RECORDS, decoded. Nothing in it raises; ``record.reason`` says what cannot be read."""
    decode = _control if row["control"] else decode_record
    record = decode(PROTOCOL, row["topic"], row["key"], row["value"], LIKE_KAFKA)
    return Logged(row["partition"], row["offset"], row["producer_id"], row["transactional"], record)


def _control(protocol: Any, topic: str, key: bytes | None, value: bytes | None, policy: Any) -> InternalRecord:
    found = decode_control(protocol, Record(key, value), policy)
    return InternalRecord(topic, key, value, control=True, name=found.name, value=found.message, reason=found.reason)


def _chunks(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    chunk: list[dict[str, Any]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            yield pa.RecordBatch.from_pylist(chunk, schema)
            chunk = []
    if chunk:
        yield pa.RecordBatch.from_pylist(chunk, schema)
