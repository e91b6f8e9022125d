"""Building a batch of magic 2 record by record. This module runs interpreted or compiled by mypyc."""

from __future__ import annotations

from librt.strings import BytesWriter

from kwire.native import close_classes, i64, mypyc_attr
from kwire.records.build import record_slowly
from kwire.records.layout import HEADER_SIZE
from kwire.records.loops import HUGE, Record
from kwire.records.sealing import seal
from kwire.records.writing import new_buffer, write_record

if __file__.endswith(".py"):
    from kwire.records.interpreted import new_buffer, write_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire.records.batch import TimestampType
    from kwire.records.loops import Headers


@mypyc_attr(acyclic=True)
class BatchBuilder:
    """Builds a record batch of magic 2 from the fields of records, without ``Record`` objects.

    >>> from kwire.compression import Codec
    >>> builder = BatchBuilder()
    >>> builder.append(b"key", b"value", (), 1_700_000_000_000)
    >>> data = builder.build(codec=Codec.LZ4)

    ``base_offset`` and ``base_timestamp`` default to the offset and timestamp of the first record. If that record has
    no offset, ``base_offset`` defaults to 0.
    """

    __slots__ = (
        *("_base_offset", "_base_timestamp", "_count", "_last", "_newest", "_offset", "_out", "_small", "_timestamp"),
    )

    _offset: int | None
    _timestamp: int | None
    _base_offset: int
    _base_timestamp: int
    _small: bool  # whether offsets and timestamps cannot overflow
    _last: int
    _newest: i64
    _count: i64
    _out: BytesWriter

    def __init__(self, *, base_offset: int | None = None, base_timestamp: int | None = None) -> None:
        self._offset = base_offset
        self._timestamp = base_timestamp
        self._base_offset = 0
        self._base_timestamp = -1
        self._small = False
        self._last = -1
        self._newest = -1
        self._count = 0
        self._out = new_buffer()

    @property
    def count(self) -> int:
        """The number of records so far."""
        return self._count

    @property
    def size(self) -> int:
        """The size of the batch so far in bytes, before compression. Producers compare this size with their
        ``batch.size`` setting."""
        return HEADER_SIZE + len(self._out)

    def append(
        self,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers = (),
        timestamp: int = -1,
        offset: int = -1,
    ) -> None:
        """Add a record. Offsets must ascend. A record without an offset gets the next offset.

        Raise ``EncodeError`` for invalid values, or ``TypeError`` in native builds for values of the wrong type. In
        both cases, the batch remains unchanged.
        """
        if self._count == 0:
            try:
                self._begin(timestamp, offset)
            except TypeError:  # _append_slowly finds the reason
                self._begin(0, 0)
                self._small = False
        out = self._out
        size: i64 = len(out)
        place = self._last + 1 if offset == -1 else offset
        try:
            if self._small and place > self._last:
                write_record(out, timestamp - self._base_timestamp, place - self._base_offset, key, value, headers)
        except (AttributeError, OverflowError, TypeError, ValueError):
            out.truncate(size)
        if len(out) == size:
            place = self._append_slowly(Record(key, value, headers, timestamp, offset))
        self._last = place
        if timestamp > self._newest:
            self._newest = timestamp
        self._count += 1

    def build(
        self,
        *,
        codec: int = 0,
        level: int | None = None,
        last_offset: int | None = None,
        timestamp_type: TimestampType = "create",
        max_timestamp: int | None = None,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = -1,
    ) -> bytes:
        """Return the bytes of the batch. The settings are the same as for ``encode_batch``. Records may still be
        added afterwards."""
        if self._count == 0:
            self._begin(-1, -1)
        return seal(
            self._out,
            self._count,
            base_offset=self._base_offset,
            last_offset=max(self._last, self._base_offset) if last_offset is None else last_offset,
            base_timestamp=self._base_timestamp,
            max_timestamp=self._newest if max_timestamp is None else max_timestamp,
            codec=codec,
            level=level,
            timestamp_type=timestamp_type,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            transactional=transactional,
            control=control,
            leader_epoch=leader_epoch,
        )

    def _begin(self, timestamp: int, offset: int) -> None:
        """Set the base offset and base timestamp, from the first record if they were not given."""
        base = self._offset
        if base is None:
            base = 0 if offset == -1 else offset
        time = timestamp if self._timestamp is None else self._timestamp
        self._base_offset = base
        self._base_timestamp = time
        self._small = -HUGE < time < HUGE and -HUGE < base < HUGE
        self._last = base - 1

    def _append_slowly(self, record: Record) -> int:
        """Append the record and return its offset, or raise an error that explains the problem."""
        data, offset = record_slowly(record, self._count, self._last, self._base_offset, self._base_timestamp)
        self._out.write(data)
        return offset


close_classes()
