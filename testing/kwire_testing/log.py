"""The log of a partition, which keeps batches as producers sent them, except that it assigns offsets."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kwire.compression import CompressionError
from kwire.records import Batch, Record, RecordsError, encode_batch, encode_control, encode_message_set, read_batches
from kwire_kafka.data.end_txn_marker import EndTxnMarker
from kwire_kafka.errors import ErrorCode
from kwire_testing.refusal import Refused, make_room

KEPT_BATCHES = 5
"""Number of batches per producer that are kept to detect duplicates."""
SEQUENCES = 1 << 31
MAX_PRODUCERS = 1000
"""Maximum number of producers that a partition tracks. A new producer replaces the oldest producer without an open
transaction.
"""
MAX_STORED = 1 << 30
"""Maximum total size in bytes of all logs of a cluster. Beyond this size, Produce fails as if the disk were full."""


class Aborted(NamedTuple):
    """An aborted transaction, with the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(slots=True)
class Producer:
    """An idempotent producer, with the sequence numbers and offsets of its last batches in a partition."""

    epoch: int
    batches: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=KEPT_BATCHES))


@dataclass(slots=True)
class Store:
    """Total size of the batches in all logs of a cluster, in bytes."""

    size: int = 0


class PartitionLog:
    """Batches with the offsets of their last records, and the state of producers and transactions."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.batches: list[Batch] = []
        self.lasts: list[int] = []
        self.start = 0
        self.end = 0
        self.producers: dict[int, Producer] = {}
        self.ongoing: dict[int, int] = {}
        """First offset of each open transaction, by producer id."""
        self.aborted: list[Aborted] = []
        self.waiting: set[asyncio.Future[None]] = set()
        """Futures of Fetch requests that wait for the next append."""

    @property
    def stable(self) -> int:
        """Last stable offset."""
        return min(self.ongoing.values(), default=self.end)

    def append(self, batches: list[Batch], leader_epoch: int) -> int:
        """Append batches and return the offset of the first record.

        Raise ``Refused`` if a batch is out of sequence for its producer, or if the store is full.
        """
        first = self.end
        for batch in batches:
            known = self._known(batch) if batch.producer_id >= 0 else None
            if known is not None:
                return known
            if self._store.size + len(batch.data) > MAX_STORED:
                raise Refused(ErrorCode.KAFKA_STORAGE_ERROR)
            self._add(_placed(batch, self.end, leader_epoch), batch.count)
        return first

    def mark(self, producer_id: int, epoch: int, *, commit: bool, time: int, leader_epoch: int) -> None:
        """End a producer's transaction with a marker."""
        first = self.ongoing.pop(producer_id, None)
        marker = encode_control("commit" if commit else "abort", EndTxnMarker(), timestamp=time)
        data = encode_batch([marker], producer_id=producer_id, producer_epoch=epoch, transactional=True, control=True)
        if first is not None and not commit:
            self.aborted.append(Aborted(producer_id, first, self.end))
        known = self.producers.get(producer_id)
        if known is None or epoch > known.epoch:
            self._renew(producer_id, epoch)
        [batch] = read_batches(data)
        self._add(_placed(batch, self.end, leader_epoch), 1)

    def read(self, offset: int, end: int, size: int, version: int) -> bytes:
        """Return batches from ``offset`` to ``end`` as bytes. If the batches exceed ``size`` bytes, leave out the
        last batches, but return at least one batch.

        ``version`` is the version of Fetch. Older versions of Fetch get message sets, and versions before 3 may get
        an incomplete batch.
        """
        found, left = list[bytes](), size
        for batch in self._from(offset):
            if batch.base_offset >= end:
                break
            data = _for_fetch(batch, version, offset)
            left -= len(data)
            if found and left < 0:
                break
            found.append(data)
        return b"".join(found)[: None if version >= 3 else size]

    def records(self, *, committed: bool = True) -> list[Record]:
        """Return all records. With ``committed``, leave out records of open and aborted transactions."""
        return [
            record
            for batch in self.batches
            if not batch.control and not (committed and batch.transactional and self._uncommitted(batch))
            for record in batch.records()
        ]

    def at_time(self, timestamp: int) -> tuple[int, int] | None:
        """Return the timestamp and offset of the first record with at least this timestamp, or ``None`` if there is
        no such record.
        """
        for batch in self.batches:
            if batch.max_timestamp >= timestamp:
                for record in batch.records():
                    if record.timestamp >= timestamp:
                        return record.timestamp, record.offset
        return None

    def newest(self) -> tuple[int, int] | None:
        """Return the largest timestamp and its offset, or ``None`` if the log is empty."""
        newest = max(self.batches, key=lambda batch: batch.max_timestamp, default=None)
        return None if newest is None else self.at_time(newest.max_timestamp)

    def drop(self) -> None:
        """Release the memory of a deleted topic's log, and wake waiting Fetch requests."""
        self._store.size -= sum(len(batch.data) for batch in self.batches)
        self.wake()

    def wake(self) -> None:
        """Wake the Fetch requests that wait for this log."""
        for event in self.waiting:
            if not event.done():
                event.set_result(None)

    def _add(self, batch: Batch, count: int) -> None:
        first, self.end = self.end, batch.last_offset + 1
        self._store.size += len(batch.data)
        self.batches.append(batch)
        self.lasts.append(batch.last_offset)
        if batch.producer_id >= 0 and not batch.control:
            producer = self.producers.get(batch.producer_id)
            if producer is None or producer.epoch != batch.producer_epoch:
                producer = self._renew(batch.producer_id, batch.producer_epoch)
            last = (batch.base_sequence + count - 1) % SEQUENCES
            producer.batches.append((batch.base_sequence, last, first))
            if batch.transactional:
                self.ongoing.setdefault(batch.producer_id, first)
        self.wake()

    def _renew(self, producer_id: int, epoch: int) -> Producer:
        """Replace a producer's state when its epoch has changed."""
        self.producers[producer_id] = Producer(epoch)
        return self.producers[producer_id]

    def _known(self, batch: Batch) -> int | None:
        """Return the offset of a duplicate batch, or ``None`` for a new batch. Raise ``Refused`` for a batch that is
        out of sequence.
        """
        producer = self.producers.get(batch.producer_id)
        if producer is None:
            make_room(self.producers, MAX_PRODUCERS, lambda one: one not in self.ongoing)
            return None
        if batch.producer_epoch < producer.epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
        if batch.producer_epoch > producer.epoch or not producer.batches:
            if batch.base_sequence:
                raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            return None
        last = (batch.base_sequence + batch.count - 1) % SEQUENCES
        for first, end, offset in producer.batches:
            if (first, end) == (batch.base_sequence, last):
                return offset
        if batch.base_sequence != (producer.batches[-1][1] + 1) % SEQUENCES:
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        return None

    def _from(self, offset: int) -> Iterator[Batch]:
        for number in range(bisect_left(self.lasts, offset), len(self.batches)):
            yield self.batches[number]

    def _uncommitted(self, batch: Batch) -> bool:
        first, producer = batch.base_offset, batch.producer_id
        return first >= self.ongoing.get(producer, self.end) or any(
            one.producer_id == producer and one.first_offset <= first <= one.last_offset for one in self.aborted
        )


def read(data: bytes | None) -> list[Batch]:
    """Return the batches in a request. Raise ``Refused`` if the request contains no batch, or a batch that is damaged
    or empty.
    """
    try:
        batches = list(read_batches(data))
        counts = [batch.count for batch in batches]
    except (RecordsError, CompressionError):
        raise Refused(ErrorCode.CORRUPT_MESSAGE) from None
    if not all(counts) or not counts:
        raise Refused(ErrorCode.INVALID_RECORD)
    return batches


def _placed(batch: Batch, offset: int, leader_epoch: int) -> Batch:
    """Return the batch with its offset in the log. For magic 2, the checksum covers neither offset nor leader
    epoch."""
    data = batch.data
    if batch.magic == 2:
        data = offset.to_bytes(8, "big") + data[8:12] + leader_epoch.to_bytes(4, "big") + data[16:]
    elif not batch.codec:
        data = offset.to_bytes(8, "big") + data[8:]
    else:
        records = [Record(row.key, row.value, timestamp=row.timestamp) for row in batch.records()]
        data = batch.encode(records, base_offset=offset)
    [placed] = read_batches(data, verify=False)
    return placed


def _for_fetch(batch: Batch, version: int, offset: int) -> bytes:
    """Return a batch as bytes in a format that this version of Fetch supports."""
    magic = 2 if version >= 4 else min(version // 2, 1)
    if batch.magic <= magic:
        return batch.data
    if batch.control:
        return b""
    codec = batch.codec if batch.codec < 4 else 0
    records = [
        Record(row.key, row.value, timestamp=row.timestamp if magic else -1, offset=row.offset)
        for row in batch.records()
        if row.offset >= offset
    ]
    return encode_message_set(records, magic=magic, codec=codec)
