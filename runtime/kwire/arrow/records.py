"""Converting between Kafka's record batches and columns of records."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from operator import sub
from struct import Struct
from typing import Any

import pyarrow as pa
from librt.strings import BytesWriter
from pyarrow import compute

from kwire.arrow.buffers import MAX_BYTES, cut, numbers
from kwire.arrow.schema import list_of
from kwire.columns.records import HEADERS, KEYS, OFFSETS, TIMES, VALUES, RecordColumns
from kwire.columns.rows import ends, signed
from kwire.compression import Codec
from kwire.errors import DecodeError, UnknownColumnError, to_keep
from kwire.policy import STRICT, Policy
from kwire.records import Batch, BatchReader, Record, encode_batch, read_batches
from kwire.records.layout import APPEND_TIME, BATCH_HEADER, CODEC_MASK, CONTROL, TRANSACTIONAL
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
        _column("timestamp", TIMESTAMP, "Timestamp of the record, or null.", nullable=True),
        _column("key", pa.binary(), "Key of the record, or null.", nullable=True),
        _column("value", pa.binary(), "Value of the record, or null for a tombstone.", nullable=True),
        _column("headers", list_of(HEADER), "Headers in order. Invalid UTF-8 in a key becomes U+FFFD."),
        _column("position", pa.int64(), "Position of the record's batch in the input, in bytes."),
        _column("magic", pa.int8(), "Format of the batch: 0, 1 or 2."),
        _column("codec", LABEL, "Compression of the batch: none, gzip, snappy, lz4 or zstd."),
        _column("timestamp_type", LABEL, "Source of timestamps: create (the producer), append (the broker) or none."),
        _column("leader_epoch", pa.int32(), "Leader epoch of the batch, or -1 before magic 2."),
        _column("producer_id", pa.int64(), "Producer id, or -1."),
        _column("producer_epoch", pa.int16(), "Producer epoch, or -1."),
        _column("base_sequence", pa.int32(), "Sequence number of the first record in the batch, or -1."),
        _column("transactional", pa.bool_(), "Whether the record is part of a transaction."),
        _column("control", pa.bool_(), "Whether this is a control record, such as a transaction marker."),
    ]
)
"""The schema of records: columns of the record itself, followed by columns of its batch."""

_OF_RECORDS = {"offset": OFFSETS, "timestamp": TIMES, "key": KEYS, "value": VALUES, "headers": HEADERS}
_FACTS = Struct(">qibhqhi")
"""Layout of the stored properties of a batch, in the order of ``_PLACES``."""
_PLACES = {
    "position": (0, pa.int64()),
    "leader_epoch": (8, pa.int32()),
    "magic": (12, pa.int8()),
    "attributes": (13, pa.int16()),
    "producer_id": (15, pa.int64()),
    "producer_epoch": (23, pa.int16()),
    "base_sequence": (25, pa.int32()),
}
"""The offset and type of each batch property in ``_FACTS``."""
_LABELS = {"codec": CODECS, "timestamp_type": TIMESTAMP_TYPES}

ROWS = 1 << 17
"""Approximate number of records in a ``pyarrow.RecordBatch``. Kafka's record batches are not split."""
BYTES = 1 << 25
"""Approximate total size, in bytes, of the decompressed Kafka record batches in a ``pyarrow.RecordBatch``."""
BELIEVED = 1 << 16
"""Maximum record count in a batch header that is trusted without reading the records, if no column needs the
records."""


LEFT_OUT = _column("left_out", pa.int64(), "Size of a record that was too large to keep, in bytes.", nullable=True)


class RecordBuilder:
    """Collects record batches and converts them to columns of ``schema``, about ``rows`` records or ``size`` bytes at
    a time.

    ``schema`` contains columns of ``RECORDS``. ``pop`` returns finished columns, in order. If ``schema`` contains
    only batch columns, batches are not decompressed and their records are not checked. Records of more than
    ``largest`` bytes lose their key, value and headers, and the additional column ``LEFT_OUT`` contains their size.
    """

    def __init__(
        self, schema: pa.Schema = RECORDS, rows: int = ROWS, size: int = BYTES, largest: int | None = None
    ) -> None:
        self.schema = schema if largest is None else schema.append(LEFT_OUT)
        self._ready: deque[Iterator[pa.RecordBatch]] = deque()
        self._rows = rows
        self._size = size
        self._largest = MAX_BYTES if largest is None else largest
        self._wanted = sum(_OF_RECORDS.get(name, 0) for name in schema.names)
        self._facts_wanted = any(name not in _OF_RECORDS for name in schema.names)
        self._begin()

    def _begin(self) -> None:
        self._records = RecordColumns(self._wanted, self._largest)
        self._facts = BytesWriter()
        self._ends = array("i")
        self._buffers: list[bytes] = []
        self._shift = 0

    @property
    def rows(self) -> int:
        """The number of records added since the last ``flush``."""
        return self._records.count

    def add(self, batch: Batch, data: bytes = b"", at: int = 0) -> None:
        """Add all records of ``batch``. If a record is invalid, raise ``DecodeError`` and add no records.

        If ``data`` is given, it contains the batch at byte ``at`` and is not copied.
        """
        if not self.take(batch, data, at):
            self.add_records(batch, batch.records())

    def take(self, batch: Batch, data: bytes = b"", at: int = 0) -> bool:
        """Add a batch like ``add``, unless the batch is unusual, and return whether it was added."""
        if not self._wanted and 0 <= batch.count <= BELIEVED:
            self._records.count += batch.count
            self._note(batch, batch.count)
        elif batch.magic < 2:
            return False
        else:
            start, end = at + BATCH_HEADER.size, at + batch.size
            shared = not batch.attributes & CODEC_MASK and self._takes(data)
            if not shared:
                data = batch.payload()
                start, end = 0, len(data)
            if self._read(batch, data, start, end, batch.count, True) < 0:
                return False
            if not shared and self._shift >= self._size:
                self.flush()  # before the next batch is decompressed
        if self._records.count >= self._rows:
            self.flush()
        return True

    def take_some(self, batch: Batch, payload: bytes, start: int, count: int) -> int:
        """Add ``count`` records of ``batch`` from byte ``start`` of its ``payload``, and return the position after
        them.

        If a record is unusual, add no records and return -1.
        """
        return self._read(batch, payload, start, len(payload), count, False)

    def _read(self, batch: Batch, data: bytes, start: int, end: int, count: int, whole: bool) -> int:
        """Add records with ``kwire.columns.records.RecordColumns.read``, and return its result."""
        append = batch.attributes & APPEND_TIME != 0
        offset, time = batch.base_offset, batch.base_timestamp
        if len(data) > MAX_BYTES or not (-HUGE < offset < HUGE and -HUGE < time < HUGE):
            return -1
        if append:
            time = batch.max_timestamp
            if not -HUGE < time < HUGE:
                return -1
        known = self._has(data)
        shift = self._shift - len(data) if known else self._room(len(data))
        end = self._records.read(data, start, end, count, shift, offset, time, append, whole)
        if end < 0:
            return -1
        if count and not known:
            self._keep(data)
        self._note(batch, count)
        return end

    def _has(self, data: bytes) -> bool:
        """Return whether ``data`` is already the last buffer."""
        return bool(self._buffers) and self._buffers[-1] is data

    def _takes(self, data: bytes) -> bool:
        """Return whether all of ``data`` can be kept as a buffer.

        Buffers will be joined, so ``data`` has to be small or the only buffer.
        """
        return self._has(data) or 0 < len(data) <= (self._size if self._buffers else MAX_BYTES)

    def _room(self, size: int) -> int:
        """Return the start position of the next buffer of ``size`` bytes. If the buffer would not fit, call ``flush``
        first."""
        if self._buffers and self._shift + size > self._size:
            self.flush()
        return self._shift

    def _keep(self, data: bytes) -> None:
        self._buffers.append(data)
        self._shift += len(data)

    def add_records(self, batch: Batch, records: Sequence[Record]) -> None:
        """Add decoded records of ``batch``."""
        size = sum([len(one.key or b"") + len(one.value or b"") for one in records])
        out, shift = BytesWriter(), self._room(size)
        for record in records:
            self._records.add(record, out, shift)
        self._keep(out.getvalue())
        self._note(batch, len(records))
        if self.rows >= self._rows:
            self.flush()

    def _note(self, batch: Batch, count: int) -> None:
        """Store the properties of a batch for the last ``count`` records."""
        if count and self._facts_wanted:
            of_producer = batch.producer_id, batch.producer_epoch, batch.base_sequence
            known = batch.attributes if batch.magic == 2 else batch.attributes & (CODEC_MASK | APPEND_TIME)
            self._facts.write(_FACTS.pack(batch.position, batch.leader_epoch, batch.magic, known, *of_producer))
            self._ends.append(self._records.count)

    def flush(self) -> None:
        """Convert all records added so far to columns."""
        if self._records.count:
            data = pa.py_buffer(self._buffers[0] if len(self._buffers) == 1 else b"".join(self._buffers))
            facts = Facts(self._facts, numbers(pa.int32(), self._ends.tobytes()))
            self._ready.append(_made(self.schema, self._records, data, facts, self._size))
        self._begin()

    @property
    def ready(self) -> bool:
        """Whether ``pop`` may return columns."""
        return bool(self._ready)

    def pop(self) -> pa.RecordBatch | None:
        """Return the next finished columns, or ``None`` if there are none yet."""
        while self._ready:
            batch = next(self._ready[0], None)
            if batch is not None:
                return batch
            self._ready.popleft()
        return None


def _made(
    schema: pa.Schema, found: RecordColumns, data: pa.Buffer, facts: Facts, size: int
) -> Iterator[pa.RecordBatch]:
    """Yield record batches with the columns of ``schema``.

    Keys and values are copied in parts, so that only one part is in memory twice at any time.
    """
    places = {"key": found.keys.getvalue(), "value": found.values.getvalue()}
    nulls = {"key": found.no_keys.getvalue(), "value": found.no_values.getvalue()}
    others = {name: _column_of(name, found, data, facts) for name in schema.names if name not in places}
    first = 0
    for last in _parts(places.values(), found.count, size) if data.size > 2 * size else [found.count]:
        columns = [
            others[name][first:last] if name in others else cut(data, places[name], nulls[name], first, last)
            for name in schema.names
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
        first = last


def _parts(places: Iterable[bytes], count: int, size: int) -> Iterator[int]:
    """Yield the rows at which parts of about ``size`` bytes end. The last row is ``count``."""
    pairs = [array("i", some) for some in places if some]
    filled = 0
    for row, sizes in enumerate(zip(*(map(sub, each[1::2], each[::2]) for each in pairs), strict=True), 1):
        filled += sum(sizes)
        if filled >= size and row < count:
            yield row
            filled = 0
    yield count


def _column_of(name: str, found: RecordColumns, data: pa.Buffer, facts: Facts) -> pa.Array:
    if name == "offset":
        return numbers(pa.int64(), found.offsets.getvalue())
    if name == "timestamp":
        times = numbers(pa.int64(), found.times.getvalue())
        return compute.if_else(compute.equal(times, -1), None, times).cast(TIMESTAMP)
    if name == "headers":
        keys = _texts(cut(data, found.header_keys.getvalue()))
        values = cut(data, found.header_values.getvalue(), found.no_header_values.getvalue())
        pairs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER))
        offsets = numbers(pa.int32(), ends(found.header_rows.getvalue(), found.count))
        return pa.ListArray.from_arrays(offsets, pairs, type=list_of(HEADER))
    if name == LEFT_OUT.name:
        sizes = dict(found.left_out)
        return (
            pa.array(map(sizes.get, range(found.count)), LEFT_OUT.type)
            if sizes
            else pa.nulls(found.count, pa.int64())
        )
    return facts.column(name)


class Facts:
    """The batch properties of records. ``rows`` contains one entry per batch, and ``ends`` contains the number of
    records up to the end of each batch."""

    def __init__(self, rows: BytesWriter, ends: pa.Array) -> None:
        self._rows = rows
        self._ends = ends

    def column(self, name: str) -> pa.Array:
        """Return a column with one element per record."""
        values = self._of_batches(name)
        indexes = values.cast(pa.int8()) if name in _LABELS else values
        array = compute.run_end_decode(pa.RunEndEncodedArray.from_arrays(self._ends, indexes))
        return pa.DictionaryArray.from_arrays(array, pa.array(_LABELS[name])) if name in _LABELS else array

    def _of_batches(self, name: str) -> pa.Array:
        """Return a column with one element per batch. Labels are returned as numbers."""
        if name in _PLACES:
            offset, kind = _PLACES[name]
            return numbers(kind, signed(self._rows, offset, _FACTS.size, kind.byte_width))
        attributes = self._of_batches("attributes")
        if name == "codec":
            return compute.bit_wise_and(attributes, CODEC_MASK)
        if name == "timestamp_type":
            numbered = compute.equal(self._of_batches("magic"), 0)
            return compute.if_else(numbered, 0, compute.add(_is_set(attributes, APPEND_TIME).cast(pa.int8()), 1))
        return _is_set(attributes, TRANSACTIONAL if name == "transactional" else CONTROL)


def _is_set(attributes: pa.Array, mask: int) -> pa.Array:
    return compute.not_equal(compute.bit_wise_and(attributes, mask), 0)


def _texts(keys: pa.Array) -> pa.Array:
    """Return header keys as strings. Brokers do not check that header keys are UTF-8, so invalid bytes are
    replaced."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


class RecordReader:
    """An iterator over Arrow record batches with the schema ``schema``, returned by ``read_records``.

    ``errors``, ``truncated`` and the behaviour after an error are the same as in ``kwire.records.BatchReader``.
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
        """The errors of skipped batches."""
        return self._batches.errors

    @property
    def truncated(self) -> int:
        """The size in bytes of an incomplete batch at the end."""
        return self._batches.truncated

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        while (made := self._builder.pop()) is None:
            batch = next(self._batches, None)
            if batch is None:
                self._builder.flush()
                if not self._builder.ready:
                    raise StopIteration
                continue
            try:
                self._builder.add(batch, self._data, batch.position - self._start)
            except DecodeError as problem:
                if not self._skip:
                    raise
                self.errors.append(to_keep(problem))
        return made

    def table(self) -> pa.Table:
        """Return all remaining records as one table."""
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
    """Return an iterator over columns of the records in ``data``, the contents of a records field or a log segment.

    ``columns`` lists names of columns in ``RECORDS``, by default all of them. All other columns are skipped without
    copying their values. The iterator yields a ``pyarrow.RecordBatch`` for about every ``rows`` records. The
    remaining parameters and errors are the same as in ``kwire.records.read_batches``. With ``skip``, batches with
    invalid records are skipped as well. Raise ``UnknownColumnError`` for an unknown column.
    """
    names = RECORDS.names if columns is None else columns
    for name in names:
        if name not in RECORDS.names:
            raise UnknownColumnError(name, RECORDS.names, of="records")
    batches = read_batches(data, position=position, verify=verify, skip=skip, limit=limit, policy=policy)
    schema = pa.schema([RECORDS.field(name) for name in names])
    return RecordReader(batches, data if type(data) is bytes else b"", position, schema, rows, skip)


def write_records(rows: pa.RecordBatch | pa.Table, **settings: Any) -> bytes:
    """Return the bytes of a Kafka record batch with a record for each row.

    The rows may have the columns ``offset``, ``timestamp``, ``key``, ``value`` and ``headers``. Missing columns get
    the default values of ``kwire.records.Record``. ``settings`` and errors are the same as in
    ``kwire.records.encode_batch``.
    """
    names = [name for name in _OF_RECORDS if name in rows.schema.names]
    columns = {name: rows.column(name) for name in names}
    if "timestamp" in columns:
        times = columns["timestamp"].cast(TIMESTAMP, safe=False)  # other units may be finer than milliseconds
        columns["timestamp"] = compute.fill_null(times.cast(pa.int64()), -1)
    values = {name: column.to_pylist() for name, column in columns.items()}
    if "headers" in values:
        pairs = [[(one["key"], one["value"]) for one in found or ()] for found in values["headers"]]
        values["headers"] = [tuple(found) for found in pairs]
    records = [Record(**dict(zip(names, row, strict=True))) for row in zip(*values.values(), strict=True)]
    return encode_batch(records or [Record() for _ in range(rows.num_rows)], **settings)
