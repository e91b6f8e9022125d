"""A record batch. Reading a batch decodes only its header. The records are decoded on request.

In magic 2, a batch has one header for many records. With magic 0 and 1, every message is represented as a batch of
one record. A compressed message contains a whole message set and is represented as a batch of the messages in this
set [KAFKA-WIRE 44].
"""

from __future__ import annotations

import zlib
from itertools import chain

from librt.strings import read_i16_be, read_i32_be, read_i64_be

from kwire import is_native
from kwire.native import close_classes, i64
from kwire.policy import STRICT, Policy
from kwire.records import interpreted, interpreter, loops, message_sets
from kwire.records.checksums import crc32c
from kwire.records.errors import NAMES, ChecksumError, error_in
from kwire.records.layout import (
    APPEND_TIME,
    ATTRIBUTES,
    CODEC_MASK,
    CONTROL,
    DELETE_HORIZON,
    HEADER_SIZE,
    MAGIC,
    OVERHEAD,
    TRANSACTIONAL,
)
from kwire.records.loops import HUGE, MAX_OBJECTS, Record, read_record
from kwire.wire import read_u32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final, Literal

    from kwire.compression import Codec

    TimestampType = Literal["none", "create", "append"]

CHUNK: Final = 512
"""Number of records that an interpreted iteration decodes at a time."""

NATIVE = is_native()
read_records = loops.read_records if NATIVE else interpreted.read_records


class Batch:
    """A batch from ``read_batches``. Only its header has been decoded, which is cheap.

    ============================================  ===================================================================
    ``position``, ``size``                        start in the input, and size in bytes
    ``magic``                                     0, 1 or 2
    ``last_offset``                               offset of the last record when the batch was written
    ``leader_epoch``                              -1 before magic 2
    ``crc``                                       checksum as stored
    ``attributes``                                bits as stored, which other properties decode
    ``base_timestamp``, ``max_timestamp``         as stored, in milliseconds since 1970 UTC, or -1 for magic 0
    ``producer_id``, ``producer_epoch``,          -1 if unset
    ``base_sequence``
    ``lenient``                                   whether to ignore bytes that Kafka ignores
    ============================================  ===================================================================

    Every iteration decodes the records again. Invalid records raise a ``DecodeError``. The batch keeps a reference to
    the input. While it exists, a ``bytearray`` cannot be resized and an ``mmap`` cannot be closed.
    """

    __slots__ = (
        *("position", "size", "magic", "last_offset", "leader_epoch", "crc", "attributes", "base_timestamp"),
        *("max_timestamp", "producer_id", "producer_epoch", "base_sequence", "lenient"),
        *("_view", "_at", "_source", "_verify", "_limit", "_base_offset", "_count"),
    )

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
    _at: int
    _source: bytes | None
    _verify: bool
    _limit: int | None
    _base_offset: int | None
    _count: int | None

    def __init__(
        self,
        view: memoryview,
        position: int,
        *,
        at: int = 0,
        source: bytes | None = None,
        verify: bool = True,
        limit: int | None = None,
        policy: Policy = STRICT,
    ) -> None:
        """Create the batch at byte ``at`` of ``view``. ``source`` is the ``bytes`` object that ``view`` refers to, if
        there is one."""
        self._view = view
        self._at = at
        self._source = source
        self._verify = verify
        self._limit = limit
        self.lenient = policy.trailing == "ignore"
        self.position = position
        start: i64 = 0 if source is None else at
        data = bytes(view[at : at + HEADER_SIZE]) if source is None else source
        self.magic = data[start + MAGIC]
        size: int = read_i32_be(data, start + 8)
        self.size = OVERHEAD + size
        first: int = read_i64_be(data, start)
        if self.magic == 2:
            self._base_offset = first
            self.leader_epoch = read_i32_be(data, start + 12)
            self.crc = read_u32(data, start + 17)
            self.attributes = read_i16_be(data, start + 21)
            delta: int = read_i32_be(data, start + 23)
            self.last_offset = first + delta
            self.base_timestamp = read_i64_be(data, start + 27)
            self.max_timestamp = read_i64_be(data, start + 35)
            self.producer_id = read_i64_be(data, start + 43)
            self.producer_epoch = read_i16_be(data, start + 51)
            self.base_sequence = read_i32_be(data, start + 53)
            self._count = read_i32_be(data, start + 57)
        else:
            self.last_offset = first
            self.crc = read_u32(data, start + 12)
            self.attributes = (data[start + 17] ^ 128) - 128
            self.leader_epoch = self.producer_id = self.producer_epoch = self.base_sequence = -1
            self.base_timestamp = read_i64_be(data, start + 18) if self.magic else -1
            self.max_timestamp = self.base_timestamp
            compressed = self.attributes & CODEC_MASK
            self._base_offset = None if compressed else first
            self._count = None if compressed else 1

    @property
    def data(self) -> bytes:
        """The bytes of the batch."""
        return bytes(self._part(0))

    @property
    def base_offset(self) -> int:
        """The offset to which the offsets of the records are relative.

        For a compressed message set, this is the offset of the first record. All records are decoded to find this
        offset.
        """
        if self._base_offset is None:
            self._base_offset = self.records()[0].offset
        return self._base_offset

    @property
    def count(self) -> int:
        """The number of records, possibly 0 [KAFKA-WIRE 43]. The records of a compressed message set are decoded to
        count them."""
        if self._count is None:
            self._count = len(self.records())
        return self._count

    @property
    def codec(self) -> Codec:
        """The compression codec of the records [KAFKA-WIRE 45]."""
        from kwire.compression import Codec

        return Codec(self.attributes & CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """The type of the timestamps. With "create", they are the times of creation. With "append", they are the time
        when the broker appended the batch. With "none", as in magic 0, the records have no timestamps."""
        if self.magic == 0:
            return "none"
        return "append" if self.attributes & APPEND_TIME else "create"

    @property
    def transactional(self) -> bool:
        """Whether the records are part of a transaction."""
        return self.magic == 2 and self.attributes & TRANSACTIONAL != 0

    @property
    def control(self) -> bool:
        """Whether the batch contains control records, which applications do not see. Decode them with
        ``decode_control``."""
        return self.magic == 2 and self.attributes & CONTROL != 0

    @property
    def delete_horizon(self) -> int | None:
        """The time after which tombstones and transaction markers may be removed, in milliseconds since 1970 UTC. Log
        compaction stores this time in the base timestamp [KAFKA-WIRE 43]."""
        return self.base_timestamp if self.magic == 2 and self.attributes & DELETE_HORIZON else None

    def sequence(self, record: Record) -> int:
        """Return the producer's sequence number of a record, or -1 if the batch has no sequence numbers. Sequence
        numbers wrap to 0 after 2³¹ - 1."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + record.offset - self.base_offset) & 0x7FFFFFFF

    def verify(self) -> None:
        """Raise ``ChecksumError`` unless the checksum is correct. By default, ``read_batches`` verifies all
        checksums."""
        if self.magic == 2:
            start, actual = 17, crc32c(self._part(ATTRIBUTES))
        else:
            start, actual = OVERHEAD, zlib.crc32(self._part(MAGIC))
        if actual != self.crc:
            reason = f"the stored checksum is {self.crc:08x}, but the computed checksum is {actual:08x}"
            raise error_in(self, start, "crc", reason, ChecksumError)

    def __iter__(self) -> Iterator[Record]:
        """Return an iterator over the records. The iterator raises ``DecodeError`` at the first invalid record."""
        if NATIVE and self.magic == 2:
            return self._one_by_one()
        return chain.from_iterable(self._chunks())

    def _one_by_one(self) -> Iterator[Record]:
        """Yield records one by one in compiled runs. The memory of a record that the caller has dropped is reused."""
        data, start, end = self._place()
        pos: i64 = start
        stop: i64 = end
        count: i64 = self.count
        small = self._has_small_bases()
        stamped = self.attributes & APPEND_TIME != 0
        base_offset: i64 = self.base_offset
        base_timestamp: i64 = self.base_timestamp
        number: i64 = 0
        while number < count:
            record: Record | None = None
            if small:
                try:
                    record, pos, _ = read_record(data, pos, stop, MAX_OBJECTS - 1, base_offset, base_timestamp)
                except (IndexError, ValueError):
                    record = None
            if record is None:
                if start:
                    data, pos, stop, start = data[start:stop], pos - start, stop - start, 0
                records, pos = interpreter.read_records(self, data, pos, number, 1)
                record = records[0]
            if stamped:
                record.timestamp = self.max_timestamp
            number += 1
            yield record
        if pos != stop or count < 0:
            interpreter.refuse_rest(self, data[start:stop], pos - start)

    def _chunks(self) -> Iterator[list[Record]]:
        if self.magic < 2:
            yield message_sets.read(self, self._verify)[0]
            return
        data, pos, end = self._place()
        for done in range(0, self.count, CHUNK):
            wanted = min(CHUNK, self.count - done)
            read = self._read_fast(data, pos, end, wanted)
            if read is not None:
                records, pos = read
                yield self._stamped(records)
                continue
            for number in range(done, done + wanted):
                records, pos = interpreter.read_records(self, data, pos, number, 1)
                yield self._stamped(records)
        if pos != end or self.count < 0:
            interpreter.refuse_rest(self, data, pos)

    def records(self) -> list[Record]:
        """Return all records.

        Raise ``RecordsLimitError`` if there are too many records and headers to read at once, or another
        ``DecodeError`` if a record is invalid.
        """
        if self.magic < 2:
            return message_sets.read(self, self._verify)[0]
        return self._stamped(self.stored_records())

    def payload(self) -> bytes:
        """Return the decompressed bytes of the records. For magic 0 and 1, return the decompressed value of the
        message."""
        if self.magic < 2:
            return message_sets.payload(self)
        if self.lenient and not self.count:
            return b""  # Kafka ignores the payload if the number of records is 0.
        stored = self._part(HEADER_SIZE)
        return self.decompressed(stored, HEADER_SIZE) if self.attributes & CODEC_MASK and stored else bytes(stored)

    def decompressed(self, stored: bytes | memoryview, start: int) -> bytes:
        """Return the decompressed bytes of ``stored``, which starts at byte ``start`` of the batch."""
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
        """Return this batch encoded again, with different ``records`` or settings if given.

        The settings are the keyword arguments of ``encode_batch``, or for magic 0 and 1 of ``encode_message_set``.

        Without changes, the original bytes are returned, provided that the codec reproduces them and the varints were
        minimal.
        """
        from kwire.records import build

        return build.rebuild(self, records, changes)

    def stored_records(self) -> list[Record]:
        """Return the records with their stored timestamps, even if the broker's append time overrides them."""
        if self.magic < 2:
            return message_sets.read(self, self._verify, stored=True)[0]
        data, start, end = self._place()
        read = self._read_fast(data, start, end, max(0, self.count))
        if read is None:
            data, start, end = data[start:end], 0, end - start
            read = interpreter.read_records(self, data, 0, 0, max(0, self.count))
        records, pos = read
        if pos != end or self.count < 0:
            interpreter.refuse_rest(self, data[start:end], pos - start)
        return records

    def _place(self) -> tuple[bytes, int, int]:
        """Return bytes that contain the decompressed records, and the start and end of the records in them.

        In interpreted runs, the bytes contain nothing but the records, because the loop copies keys and values before
        it checks where their record ends.
        """
        source = self._source
        in_place = NATIVE and not self.attributes & CODEC_MASK and not (self.lenient and not self.count)
        if in_place and source is not None:
            return source, self._at + HEADER_SIZE, self._at + self.size
        data = self.payload()
        return data, 0, len(data)

    def _part(self, start: int) -> memoryview:
        """Return the bytes of the batch from byte ``start``."""
        return self._view[self._at + start : self._at + self.size]

    def _read_fast(self, data: bytes, pos: int, end: int, count: int) -> tuple[list[Record], int] | None:
        """Return ``count`` records from ``pos`` and the position after them, or ``None`` if the fast path cannot read
        them."""
        if self._has_small_bases():
            try:
                return read_records(data, pos, end, count, self.base_offset, self.base_timestamp)
            except (IndexError, ValueError):
                pass  # return first, so that the records are freed before the slow path starts
        return None

    def _stamped(self, records: list[Record]) -> list[Record]:
        """Set the timestamps of the records to the broker's append time if the batch has one, and return the
        records."""
        if self.attributes & APPEND_TIME:
            for record in records:
                record.timestamp = self.max_timestamp
        return records

    def _has_small_bases(self) -> bool:
        """Return whether offsets and timestamps cannot overflow."""
        return -HUGE < self.base_timestamp < HUGE and -HUGE < self.base_offset < HUGE

    def __repr__(self) -> str:
        names = ("position", "size", "magic", "last_offset", "timestamp_type", "transactional", "control")
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"Batch({values}, codec={self.codec.label!r})"


close_classes()
