"""Record batches → columns of records, and back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from struct import pack
from typing import Any

import pyarrow as pa
from librt.strings import BytesWriter
from pyarrow import compute

from kwire.arrow.buffers import MAX_BYTES, cut, numbers
from kwire.arrow.schema import list_of
from kwire.columns.records import HEADERS, KEYS, OFFSETS, TIMES, VALUES, RecordColumns
from kwire.columns.rows import ends
from kwire.compression import Codec
from kwire.errors import DecodeError, UnknownColumnError, to_keep
from kwire.policy import STRICT, Policy
from kwire.records import Batch, BatchReader, Record, encode_batch, read_batches
from kwire.records.layout import APPEND_TIME, BATCH_HEADER, CODEC_MASK
from kwire.records.loops import HUGE

TIMESTAMP = pa.timestamp("ms", tz="UTC")
LABEL = pa.dictionary(pa.int8(), pa.string())
HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
CODECS = [codec.label for codec in Codec] + [f"unknown {code}" for code in range(len(Codec), CODEC_MASK + 1)]
TIMESTAMP_TYPES = ["none", "create", "append"]


def _column(name: str, kind: pa.DataType, comment: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"comment": comment})


RECORDS = pa.schema(
    [
        _column("offset", pa.int64(), "Offset of the record."),
        _column("timestamp", TIMESTAMP, "Timestamp of the record; null if it has none.", nullable=True),
        _column("key", pa.binary(), "The key; null if there is none.", nullable=True),
        _column("value", pa.binary(), "The value; null for a tombstone.", nullable=True),
        _column("headers", list_of(HEADER), "Headers in their order; what is not UTF-8 in a key is U+FFFD."),
        _column("position", pa.int64(), "Where the batch of the record starts in the input."),
        _column("magic", pa.int8(), "Format of the batch: 0, 1 or 2."),
        _column("codec", LABEL, "Compression of the batch: none, gzip, snappy, lz4 or zstd."),
        _column(
            "timestamp_type", LABEL, "Whether timestamps are of the producer or the broker: create, append; none."
        ),
        _column("leader_epoch", pa.int32(), "Leader epoch of the batch; -1 before magic 2."),
        _column("producer_id", pa.int64(), "Id of the producer; -1 without one."),
        _column("producer_epoch", pa.int16(), "Epoch of the producer; -1 without one."),
        _column("base_sequence", pa.int32(), "Sequence number of the first record of the batch; -1 without one."),
        _column("transactional", pa.bool_(), "Whether the record is part of a transaction."),
        _column("control", pa.bool_(), "Whether this is a control record, such as a transaction marker."),
    ]
)
"""The columns of records: those of each record, then those of its batch."""

_OF_RECORDS = {"offset": OFFSETS, "timestamp": TIMES, "key": KEYS, "value": VALUES, "headers": HEADERS}
_LABELS = {"codec": CODECS, "timestamp_type": TIMESTAMP_TYPES}

ROWS = 1 << 17
"""How many records are in a :class:`pyarrow.RecordBatch`, about: record batches are added whole."""
BYTES = 1 << 25
"""How many bytes of batches they come from, decompressed, about."""
BELIEVED = 1 << 16
"""The largest number of records that is taken from the header of a batch alone, if no column needs its records."""


class RecordBuilder:
    """Gathers record batches until about ``rows`` records or ``size`` bytes are enough for the columns of ``schema``,
    some of :data:`RECORDS`.

    ``ready`` are columns that are finished, in order. Without columns of the record itself, batches are not
    decompressed and their records not checked.
    """

    def __init__(self, schema: pa.Schema = RECORDS, rows: int = ROWS, size: int = BYTES) -> None:
        self.schema = schema
        self.ready: deque[pa.RecordBatch] = deque()
        self._rows = rows
        self._size = size
        self._wanted = sum(_OF_RECORDS.get(name, 0) for name in schema.names)
        self._begin()

    def _begin(self) -> None:
        self._records = RecordColumns(self._wanted)
        self._facts: dict[str, list[Any]] = {name: [] for name in self.schema.names if name not in _OF_RECORDS}
        self._counts: list[int] = []
        self._buffers: list[bytes] = []
        self._shift = 0

    @property
    def rows(self) -> int:
        """How many records have been added and are not ready."""
        return self._records.count

    def add(self, batch: Batch, data: bytes = b"", at: int = 0) -> None:
        """Add all records of ``batch``, or none if one is invalid: ``DecodeError``.

        ``data`` and ``at``, if given, are the bytes in which the batch lies and where; they are not copied.
        """
        if not self._wanted and 0 <= batch.count <= BELIEVED:
            self._records.count += batch.count
            self._note(batch, batch.count)
        elif batch.magic < 2 or not self._add(batch, data, at):
            self.add_records(batch, batch.records())
        if self.rows >= self._rows:
            self.flush()

    def _add(self, batch: Batch, data: bytes, at: int) -> bool:
        """Add the records of a usual batch; whether it is one."""
        shared = bool(data) and not batch.attributes & CODEC_MASK and self._takes(data)
        start, end = at + BATCH_HEADER.size, at + batch.size
        if not shared:
            data = batch.payload()
            start, end = 0, len(data)
        append = batch.attributes & APPEND_TIME != 0
        offset, time = batch.base_offset, batch.max_timestamp if append else batch.base_timestamp
        if len(data) > MAX_BYTES or not all(-HUGE < base < HUGE for base in (offset, time, batch.base_timestamp)):
            return False
        known = bool(self._buffers) and self._buffers[-1] is data
        shift = self._shift - len(data) if known else self._room(len(data))
        if not self._records.read(data, start, end, batch.count, shift, offset, time, append):
            return False
        if not known:
            self._keep(data)
        self._note(batch, batch.count)
        return True

    def _takes(self, data: bytes) -> bool:
        """Whether ``data`` can be kept as it is. It is joined with other buffers, so it is small or the only one."""
        alone = not self._buffers or self._buffers[-1] is data
        return len(data) <= self._size or (alone and len(data) <= MAX_BYTES)

    def _room(self, size: int) -> int:
        """Where the next buffer will begin, of ``size`` bytes."""
        if self._buffers and self._shift + size > self._size:
            self.flush()
        return self._shift

    def _keep(self, data: bytes) -> None:
        self._buffers.append(data)
        self._shift += len(data)

    def add_records(self, batch: Batch, records: Sequence[Record]) -> None:
        """Add records that ``batch`` gave."""
        size = sum([len(one.key or b"") + len(one.value or b"") for one in records])
        out, shift = BytesWriter(), self._room(size)
        for record in records:
            self._records.add(record, out, shift)
        self._keep(out.getvalue())
        self._note(batch, len(records))
        if self.rows >= self._rows:
            self.flush()

    def _note(self, batch: Batch, count: int) -> None:
        self._counts.append(count)
        for name, values in self._facts.items():
            values.append(_fact(batch, name))

    def flush(self) -> None:
        """Make columns of all records that have been added."""
        if self._records.count:
            self.ready.append(self._made())
        self._begin()

    def _made(self) -> pa.RecordBatch:
        data = pa.py_buffer(self._buffers[0] if len(self._buffers) == 1 else b"".join(self._buffers))
        each = [pack("<i", number) * count for number, count in enumerate(self._counts)] if self._facts else []
        owners = numbers(pa.int32(), b"".join(each))
        columns = [
            (
                _repeated(field, self._facts[field.name], owners)
                if field.name in self._facts
                else self._column(field.name, data)
            )
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _column(self, name: str, data: pa.Buffer) -> pa.Array:
        found = self._records
        if name == "offset":
            return numbers(pa.int64(), found.offsets.getvalue())
        if name == "timestamp":
            times = numbers(pa.int64(), found.times.getvalue())
            return compute.if_else(compute.equal(times, -1), None, times).cast(TIMESTAMP)
        if name == "key":
            return cut(data, found.keys.getvalue(), found.no_keys.getvalue())
        if name == "value":
            return cut(data, found.values.getvalue(), found.no_values.getvalue())
        keys = _texts(cut(data, found.header_keys.getvalue()))
        values = cut(data, found.header_values.getvalue(), found.no_header_values.getvalue())
        pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER))
        offsets = numbers(pa.int32(), ends(found.header_rows.getvalue(), found.count))
        return pa.ListArray.from_arrays(offsets, pairs, type=list_of(HEADER))


def _fact(batch: Batch, name: str) -> Any:
    """The value of a column for all records of a batch, for labels their number."""
    if name == "codec":
        return batch.attributes & CODEC_MASK
    return TIMESTAMP_TYPES.index(batch.timestamp_type) if name == "timestamp_type" else getattr(batch, name)


def _repeated(field: pa.Field, values: list[Any], owners: pa.Array) -> pa.Array:
    """The fact of each record's batch."""
    if field.type != LABEL:
        return pa.array(values, field.type).take(owners)
    return pa.DictionaryArray.from_arrays(pa.array(values, pa.int8()).take(owners), pa.array(_LABELS[field.name]))


def _texts(keys: pa.Array) -> pa.Array:
    """The keys of headers, which are UTF-8 and not checked by brokers."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


class RecordReader:
    """An iterator of record batches of Arrow, made by :func:`read_records`. ``schema`` is that of all of them.

    ``errors``, ``truncated`` and what happens at an error are those of :class:`kwire.records.BatchReader`.
    """

    def __init__(
        self, batches: BatchReader, data: bytes, start: int, schema: pa.Schema, rows: int, skip: bool
    ) -> None:
        self.schema = schema
        self._batches = batches
        self._data = data
        self._start = start
        self._skip = skip
        self._builder = RecordBuilder(schema, rows)

    @property
    def errors(self) -> list[DecodeError]:
        """The errors of batches that were skipped."""
        return self._batches.errors

    @property
    def truncated(self) -> int:
        """The bytes of an incomplete batch at the end."""
        return self._batches.truncated

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        ready = self._builder.ready
        while not ready:
            batch = next(self._batches, None)
            if batch is None:
                self._builder.flush()
                if not ready:
                    raise StopIteration
                break
            try:
                self._builder.add(batch, self._data, batch.position - self._start)
            except DecodeError as problem:
                if not self._skip:
                    raise
                self.errors.append(to_keep(problem))
        return ready.popleft()

    def table(self) -> pa.Table:
        """All that is left as one table."""
        return pa.Table.from_batches(self, self.schema)


def read_records(
    data: bytes | bytearray | memoryview | None,
    columns: Sequence[str] | None = None,
    *,
    rows: int = ROWS,
    position: int = 0,
    verify: bool = True,
    skip: bool = False,
    limit: int | None = None,
    policy: Policy = STRICT,
) -> RecordReader:
    """The records of ``data``, the contents of a records field or a log segment, as columns: some of :data:`RECORDS`,
    or all.

    Gives a :class:`pyarrow.RecordBatch` for about every ``rows`` records. What was not asked for is skipped, not
    copied. The other parameters and errors are those of :func:`kwire.records.read_batches`; with ``skip``, batches
    with invalid records are skipped as well. ``UnknownColumnError`` for other columns.
    """
    names = RECORDS.names if columns is None else columns
    for name in names:
        if name not in RECORDS.names:
            raise UnknownColumnError(name, RECORDS.names, of="records")
    batches = read_batches(data, position=position, verify=verify, skip=skip, limit=limit, policy=policy)
    schema = pa.schema([RECORDS.field(name) for name in names])
    return RecordReader(batches, data if type(data) is bytes else b"", position, schema, rows, skip)


def write_records(rows: pa.RecordBatch | pa.Table, **settings: Any) -> bytes:
    """The bytes of one record batch of these rows: their columns ``offset``, ``timestamp``, ``key``, ``value`` and
    ``headers``. Those that are missing have the defaults of :class:`~kwire.records.Record`.

    ``settings`` and errors are those of :func:`kwire.records.encode_batch`.
    """
    names = [name for name in _OF_RECORDS if name in rows.schema.names]
    columns = {name: rows.column(name) for name in names}
    if "timestamp" in columns:
        times = columns["timestamp"].cast(TIMESTAMP, safe=False)  # others may be finer
        columns["timestamp"] = compute.fill_null(times.cast(pa.int64()), -1)
    values = {name: column.to_pylist() for name, column in columns.items()}
    if "headers" in values:
        pairs = [[(one["key"], one["value"]) for one in found or ()] for found in values["headers"]]
        values["headers"] = [tuple(found) for found in pairs]
    records = [Record(**dict(zip(names, row, strict=True))) for row in zip(*values.values(), strict=True)]
    return encode_batch(records or [Record() for _ in range(rows.num_rows)], **settings)
