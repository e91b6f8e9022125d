"""A record batch: its header, and its records on request.

Magic 2 has one header for many records. With magic 0 and 1 every message is a batch of one record here; a compressed
message holds a whole message set and is a batch of its messages [KAFKA-WIRE 44].
"""

from __future__ import annotations

import zlib
from itertools import chain

from kwire.policy import STRICT, Policy
from kwire.records import interpreter, message_sets
from kwire.records.errors import NAMES, ChecksumError, error_in
from kwire.records.layout import (
    APPEND_TIME,
    ATTRIBUTES,
    BATCH_HEADER,
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    MAGIC,
    MESSAGE_HEADER,
    OVERHEAD,
    TRANSACTIONAL,
)
from kwire.records.loops import HUGE, Record, read_records
from kwire.records.views import RecordViews, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from kwire.compression import Codec
    from kwire.records.views import RecordView

    TimestampType = Literal["none", "create", "append"]

CHUNK = 512
"""How many records are decoded at a time when a batch is iterated."""


class Batch:
    """One batch, as returned by ``read_batches``. Only its header has been decoded, which is cheap.

    ============================================  ===================================================================
    ``position``, ``size``                        where it starts in the input, and its size in bytes
    ``magic``                                     0, 1 or 2
    ``last_offset``                               of the last record when the batch was written
    ``leader_epoch``                              -1 before magic 2
    ``crc``                                       as stored
    ``attributes``                                as stored; the properties below decode them
    ``base_timestamp``, ``max_timestamp``         as stored, in milliseconds since 1970 UTC; -1 for magic 0
    ``producer_id``, ``producer_epoch``,          -1 if unset
    ``base_sequence``
    ``lenient``                                   whether bytes that Kafka ignores are ignored
    ============================================  ===================================================================

    Every iteration decodes the records again; invalid records raise a ``DecodeError``. The batch refers to the input:
    while it exists, a ``bytearray`` cannot be resized and an ``mmap`` cannot be closed.
    """

    position: int
    size: int
    magic: int
    last_offset: int
    leader_epoch: int
    crc: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    lenient: bool
    _view: memoryview
    _verify: bool
    _limit: int | None
    _base_offset: int | None
    _count: int | None
    __slots__ = tuple(__annotations__)

    def __init__(
        self,
        view: memoryview,
        position: int,
        *,
        verify: bool = True,
        limit: int | None = None,
        policy: Policy = STRICT,
    ) -> None:
        self._view = view
        self._verify = verify
        self._limit = limit
        self.lenient = policy.trailing == "ignore"
        self.position = position
        self.magic = view[MAGIC]
        if self.magic == 2:
            (
                self._base_offset,
                size,
                self.leader_epoch,
                _,
                self.crc,
                self.attributes,
                last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self._count,
            ) = BATCH_HEADER.unpack_from(view)
            self.last_offset = self.base_offset + last_offset_delta
        else:
            self.last_offset, size, self.crc, _, self.attributes = MESSAGE_HEADER.unpack_from(view)
            self.leader_epoch = self.producer_id = self.producer_epoch = self.base_sequence = -1
            self.base_timestamp = int.from_bytes(view[18:26], "big", signed=True) if self.magic else -1
            self.max_timestamp = self.base_timestamp
            compressed = self.attributes & CODEC_MASK
            self._base_offset = None if compressed else self.last_offset
            self._count = None if compressed else 1
        self.size = 12 + size

    @property
    def data(self) -> bytes:
        """The bytes of the batch."""
        return bytes(self._view)

    @property
    def base_offset(self) -> int:
        """The offset to which those of the records are relative. For a compressed message set it is that of the first
        record, and all records are decoded to find it."""
        if self._base_offset is None:
            self._base_offset = self.records()[0].offset
        return self._base_offset

    @property
    def count(self) -> int:
        """The number of records, possibly 0 [KAFKA-WIRE 43]. Those of a compressed message set are decoded to count
        them."""
        if self._count is None:
            self._count = len(self.records())
        return self._count

    @property
    def codec(self) -> Codec:
        """How the records are compressed [KAFKA-WIRE 45]."""
        from kwire.compression import Codec

        return Codec(self.attributes & CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether timestamps say when a record was created or when the broker appended it; "none" for magic 0."""
        if self.magic == 0:
            return "none"
        return "append" if self.attributes & APPEND_TIME else "create"

    @property
    def transactional(self) -> bool:
        """Whether the records are part of a transaction."""
        return self.magic == 2 and self.attributes & TRANSACTIONAL != 0

    @property
    def control(self) -> bool:
        """Whether the batch holds control records, which applications do not see: use ``decode_control``."""
        return self.magic == 2 and self.attributes & CONTROL != 0

    @property
    def delete_horizon(self) -> int | None:
        """When tombstones and transaction markers may be removed, in milliseconds since 1970 UTC. Log compaction sets
        it, and stores it in the base timestamp [KAFKA-WIRE 43]."""
        return self.base_timestamp if self.magic == 2 and self.attributes & DELETE_HORIZON else None

    def sequence(self, record: Record) -> int:
        """The producer's sequence number of a record, which wraps to 0 after 2³¹ - 1; -1 if it has none."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + record.offset - self.base_offset) & 0x7FFFFFFF

    def verify(self) -> None:
        """Raise :class:`ChecksumError` unless the checksum is correct. ``read_batches`` does this by default."""
        if self.magic == 2:
            from crc32c import crc32c

            start, actual = 17, crc32c(self._view[ATTRIBUTES:])
        else:
            start, actual = OVERHEAD, zlib.crc32(self._view[MAGIC:])
        if actual != self.crc:
            reason = f"the stored checksum is {self.crc:08x}, the computed one {actual:08x}"
            raise error_in(self, start, "crc", reason, ChecksumError)

    def __iter__(self) -> Iterator[Record]:
        """The records one by one, up to the first invalid one, which raises."""
        return chain.from_iterable(self._chunks())

    def views(self) -> Iterator[RecordView]:
        """The same records as views, which copy a key, a value and headers only when these are asked for: faster
        where few of them are."""
        if self.magic < 2:
            return map(view_of, self)
        data = self.payload()

        def slowly(number: int, pos: int) -> tuple[Record, int]:
            (record,), end = interpreter.read_records(self, data, pos, number, 1)
            return record, end

        def finish(pos: int) -> None:
            if pos != len(data) or self.count < 0:
                interpreter.refuse_rest(self, data, pos)

        append_time = self.max_timestamp if self.attributes & APPEND_TIME else None
        bases = (self.base_offset, self.base_timestamp) if self._has_small_bases() else None
        return RecordViews(data, self.count, bases, append_time, slowly, finish)

    def _chunks(self) -> Iterator[list[Record]]:
        if self.magic < 2:
            yield message_sets.read(self, self._verify)[0]
            return
        data, done, pos = self.payload(), 0, 0
        while self.count - done > CHUNK:
            records, pos = self._read(data, pos, done, CHUNK)
            done += CHUNK
            yield records
        yield self._read_rest(data, pos, done)

    def records(self) -> list[Record]:
        """All records; one invalid record raises, as do more than fit into memory: :class:`RecordsLimitError`."""
        if self.magic < 2:
            return message_sets.read(self, self._verify)[0]
        return self._read_rest(self.payload(), 0, 0)

    def payload(self) -> bytes:
        """The decompressed bytes of the records; for magic 0 and 1 the decompressed value of the message."""
        if self.magic < 2:
            return message_sets.payload(self)
        if self.lenient and not self.count:
            return b""  # Kafka ignores records that the header does not count.
        stored = self._view[BATCH_HEADER.size :]
        return (
            self.decompressed(stored, BATCH_HEADER.size) if self.attributes & CODEC_MASK and stored else bytes(stored)
        )

    def decompressed(self, stored: bytes | memoryview, start: int) -> bytes:
        """``stored`` decompressed, which starts at byte ``start`` of the batch."""
        from kwire.compression import DEFAULT_LIMIT, CompressionError, decompress

        limit = DEFAULT_LIMIT if self._limit is None else self._limit
        try:
            return decompress(self.attributes & CODEC_MASK, stored, magic=self.magic, limit=limit)
        except CompressionError as problem:
            problem.message_name, problem.version, problem.path = NAMES[self.magic], self.magic, "records"
            problem.position, problem.offset = self.position, problem.offset + self.position + start
            problem.data = self.data
            raise

    def encode(self, records: list[Record] | None = None, **changes: Any) -> bytes:
        """The bytes of this batch with other ``records`` or other settings: the keywords of ``encode_batch``, or for
        magic 0 and 1 of ``encode_message_set``.

        Without changes the bytes are the same, provided that the codec reproduces them and the batch was written with
        minimal varints.
        """
        from kwire.records import build

        return build.rebuild(self, records, changes)

    def stored_records(self) -> list[Record]:
        """The records with the timestamps stored in them, even if the broker's append time overrides these."""
        if self.magic < 2:
            return message_sets.read(self, self._verify, stored=True)[0]
        return self._read_rest(self.payload(), 0, 0, stored=True)

    def _read_rest(self, data: bytes, pos: int, done: int, *, stored: bool = False) -> list[Record]:
        """All records after the first ``done`` ones. They must extend to the end of the payload."""
        records, pos = self._read(data, pos, done, max(0, self.count - done), stored=stored)
        if pos != len(data) or self.count < 0:
            interpreter.refuse_rest(self, data, pos)
        return records

    def _read(
        self, data: bytes, pos: int, done: int, wanted: int, *, stored: bool = False
    ) -> tuple[list[Record], int]:
        records: list[Record] | None = None
        if self._has_small_bases():
            try:
                records, pos = read_records(data, pos, wanted, self.base_offset, self.base_timestamp)
            except (IndexError, ValueError):
                records = None  # the failed loop holds records until the end of this block
        if records is None:
            records, pos = interpreter.read_records(self, data, pos, done, wanted)
        if self.attributes & APPEND_TIME and not stored:
            for record in records:
                record.timestamp = self.max_timestamp
        return records, pos

    def _has_small_bases(self) -> bool:
        """Whether offsets and timestamps cannot overflow."""
        return -HUGE < self.base_timestamp < HUGE and -HUGE < self.base_offset < HUGE

    def __repr__(self) -> str:
        names = ("position", "size", "magic", "last_offset", "timestamp_type", "transactional", "control")
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Batch({values}, codec={self.codec.label!r})"
