"""Encoding of records as batches in all three formats."""

from __future__ import annotations

import zlib
from struct import Struct, error

from librt.strings import BytesWriter

from kwire import is_native
from kwire.errors import EncodeError
from kwire.records import interpreted, message_sets, writing
from kwire.records.batch import Batch
from kwire.records.interpreter import int64
from kwire.records.layout import APPEND_TIME, CODEC_MASK, DELETE_HORIZON, ZSTD
from kwire.records.loops import HUGE, Record
from kwire.records.sealing import append_bit, codec_bits, compressed, invalid, out_of_range, seal
from kwire.records.writing import varint, write_headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from kwire.records.batch import TimestampType

MESSAGE = (Struct(">Bbi"), Struct(">Bbqi"))
"""The encodings of the fields from the magic to the key length, indexed by magic."""
SIZE = Struct(">i")
HEAD = Struct(">qiI")
KEPT = (
    *("base_offset", "base_timestamp", "delete_horizon", "producer_id", "producer_epoch", "base_sequence"),
    *("transactional", "control", "leader_epoch"),
)
"""Batch attributes that remain unchanged by default when a batch of magic 2 is encoded again."""

write_records = writing.write_records if is_native() else interpreted.write_records
new_buffer = writing.new_buffer if is_native() else interpreted.new_buffer


def encode_batch(
    records: Iterable[Record],
    *,
    codec: int = 0,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: TimestampType = "create",
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    delete_horizon: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    leader_epoch: int = -1,
    attributes: int = 0,
    exact_offsets: bool = False,
) -> bytes:
    """Return the bytes of a record batch of magic 2 [KAFKA-WIRE 43].

    ``base_offset`` and ``base_timestamp`` default to the values of the first record, ``last_offset`` to the offset of
    the last record, and ``max_timestamp`` to the largest timestamp. Records without an offset get the next offset. If
    the first record has no offset, it gets ``base_offset`` or 0. A batch may be empty, for example after log
    compaction.

    With ``timestamp_type="append"``, ``max_timestamp`` is the time at which the broker appended the batch. A
    ``delete_horizon`` replaces the base timestamp. Unassigned bits of ``attributes`` are kept.

    Offsets must ascend. ``exact_offsets`` lifts this rule and treats -1 as an ordinary offset, for records that were
    decoded and are encoded again. Raise ``EncodeError`` for invalid values.
    """
    rows = records if type(records) is list else list(records)
    if rows and not isinstance(rows[0], Record):
        raise _not_a_record(rows[0], 0)
    if base_offset is None:
        base_offset = rows[0].offset if rows and rows[0].offset != -1 else 0
    if delete_horizon is not None:
        base_timestamp = delete_horizon
    if base_timestamp is None:
        base_timestamp = rows[0].timestamp if rows else -1
    out, last, newest = _written(rows, base_offset, base_timestamp, exact_offsets)
    return seal(
        out,
        len(rows),
        base_offset=base_offset,
        last_offset=max(last, base_offset) if last_offset is None else last_offset,
        base_timestamp=base_timestamp,
        max_timestamp=newest if max_timestamp is None else max_timestamp,
        attributes=attributes if delete_horizon is None else attributes | DELETE_HORIZON,
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


def encode_message_set(
    records: Iterable[Record],
    *,
    magic: int = 1,
    codec: int = 0,
    level: int | None = None,
    base_offset: int | None = None,
    last_offset: int | None = None,
    timestamp_type: TimestampType = "create",
    max_timestamp: int | None = None,
    attributes: int = 0,
    inner_attributes: int = 0,
    exact_offsets: bool = False,
) -> bytes:
    """Return the bytes of messages of magic 0 or 1, wrapped in a single message if a ``codec`` is given [KAFKA-WIRE
    44].

    Records without an offset are numbered from ``base_offset`` or 0. The wrapper has the offset of the last record
    (or ``last_offset``) and the largest timestamp (or ``max_timestamp``). Inner offsets of magic 1 are relative to
    ``base_offset``, by default the offset of the first record. Magic 0 has no timestamps, and neither format has
    headers. Unassigned bits of ``attributes`` are kept. ``inner_attributes`` are the attributes of the inner
    messages. ``exact_offsets`` treats -1 as an ordinary offset, for records that were decoded and are encoded again.
    """
    if magic not in (0, 1):
        raise invalid(f"a message set has magic 0 or 1, not {magic}", magic)
    if codec_bits(codec) >= ZSTD:
        raise invalid(f"codec {codec} is not supported by message sets", magic)
    rows = list(records)
    offsets = [row.offset for row in rows] if exact_offsets else _offsets(rows, base_offset)
    bits = (attributes & ~(CODEC_MASK | APPEND_TIME if magic else CODEC_MASK)) | codec_bits(codec)
    bits |= append_bit(timestamp_type if magic else "create", 1)
    if not codec:
        return _messages(rows, offsets, magic, bits)
    if not rows:
        raise invalid("the compressed message contains no messages", magic)
    start = (offsets[0] if base_offset is None else base_offset) if magic else 0
    inner = _messages(rows, [int64(offset - start) for offset in offsets], magic, inner_attributes)
    if max_timestamp is None:
        max_timestamp = max(row.timestamp for row in rows)
    last = offsets[-1] if last_offset is None else last_offset
    wrapper = Record(None, compressed(codec, inner, magic, level), timestamp=max_timestamp)
    return _message(wrapper, last, magic, bits)


def rebuild(batch: Batch, records: Iterable[Record] | None, changes: dict[str, Any]) -> bytes:
    """Return ``batch`` encoded with ``records`` and the settings in ``changes``, as ``Batch.encode`` does."""
    kind = changes.get("timestamp_type", batch.timestamp_type)
    # New records may have a different largest timestamp, but an append time applies to all records and is kept.
    same_times = kind == batch.timestamp_type and (records is None or kind == "append")
    settings: dict[str, Any] = {"codec": batch.attributes & CODEC_MASK, "attributes": batch.attributes}
    settings["timestamp_type"] = batch.timestamp_type
    if same_times:
        settings["max_timestamp"] = batch.max_timestamp
    if records is None:
        settings |= {"last_offset": batch.last_offset, "exact_offsets": True}
    if batch.magic == 2:
        settings |= {name: getattr(batch, name) for name in KEPT}
        return encode_batch(batch.stored_records() if records is None else records, **(settings | changes))
    stored, base, inner_attributes = message_sets.read(batch, verify=False, stored=True)
    settings |= {"magic": batch.magic, "inner_attributes": inner_attributes}
    if records is None:
        settings["base_offset"] = base
    return encode_message_set(stored if records is None else records, **(settings | changes))


def _written(rows: list[Record], base_offset: int, base_timestamp: int, exact: bool) -> tuple[BytesWriter, int, int]:
    """Return a buffer with the encoded records, the last offset and the largest timestamp."""
    out = new_buffer()
    try:
        ordinary = -HUGE < base_timestamp < HUGE and -HUGE < base_offset < HUGE
        if ordinary and not (exact and any(row.offset == -1 for row in rows)):  # write_records would number them
            return out, *write_records(out, rows, base_offset, base_timestamp)
    except (AttributeError, OverflowError, TypeError, ValueError):
        pass  # the slow path finds the reason
    return _written_slowly(rows, base_offset, base_timestamp, exact)


def _written_slowly(
    rows: list[Record], base_offset: int, base_timestamp: int, exact: bool
) -> tuple[BytesWriter, int, int]:
    """Return the same values as ``_written``, or raise an error that explains the problem."""
    out, newest = new_buffer(), -1
    offset = base_offset - 1
    for number, row in enumerate(rows):
        part, offset = record_slowly(row, number, offset, base_offset, base_timestamp, exact)
        out.write(part)
        newest = max(newest, row.timestamp)
    return out, offset, newest


def record_slowly(
    row: Record, number: int, last: int, base_offset: int, base_timestamp: int, exact: bool = False
) -> tuple[bytes, int]:
    """Return the bytes of a record and its offset. ``last`` is the offset of the previous record.

    Deltas overflow as in Java, so that every decoded record can be encoded again.
    """
    if not isinstance(row, Record):
        raise _not_a_record(row, number)
    path = f"records[{number}]"
    timestamp = _checked_int(row.timestamp, f"{path}.timestamp", 64)
    offset = _checked_int(row.offset, f"{path}.offset", 64)
    if not exact:
        if offset != -1 and offset <= last:
            following = "-1 for the next offset, because offsets must ascend"
            reason = f"offset {offset} must be {last + 1} or more, or {following}"
            raise invalid(reason, path=f"{path}.offset")
        offset = last + 1 if offset == -1 else offset
    delta = int64(offset - base_offset)
    _checked_int(delta, f"{path}.offset", 32, "distance from the base offset: ")
    body = b"\0" + _long_varint(int64(timestamp - base_timestamp)) + _long_varint(delta)
    body += _bytes(row.key, f"{path}.key") + _bytes(row.value, f"{path}.value") + _headers(row, number)
    return _long_varint(len(body)) + body, offset


def _not_a_record(row: object, number: int) -> EncodeError:
    return invalid(f"expected a Record, got {type(row).__name__}", path=f"records[{number}]")


def _long_varint(value: int) -> bytes:
    coded = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while coded > 127:
        out.append(coded & 127 | 128)
        coded >>= 7
    out.append(coded)
    return bytes(out)


def _bytes(value: object, path: str) -> bytes:
    if value is None:
        return b"\x01"
    if not isinstance(value, (bytes, bytearray)):
        raise invalid(f"expected bytes or None, got {type(value).__name__}", path=path)
    return varint(len(value)) + value


def _headers(row: Record, number: int) -> bytes:
    for place, pair in enumerate(row.headers):
        path = f"records[{number}].headers[{place}]"
        try:
            key, value = pair
        except (TypeError, ValueError):
            raise invalid("expected a pair of key and value", path=path) from None
        if not isinstance(key, str):
            raise invalid(f"expected a str as key, got {type(key).__name__}", path=path)
        _bytes(value, path)
    try:
        return write_headers(row.headers)
    except UnicodeEncodeError as problem:
        raise invalid(str(problem), path=f"records[{number}].headers") from problem


def _checked_int(value: object, path: str, bits: int, what: str = "") -> int:
    if not isinstance(value, int) or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise invalid(f"{what}{value!r} is not an int{bits}", path=path)
    return value


def _offsets(rows: Sequence[Record], base_offset: int | None) -> list[int]:
    """Return the offset of each record. Records without an offset get the next offset."""
    offset = (0 if base_offset is None else base_offset) - 1
    offsets = []
    for row in rows:
        offset = offset + 1 if row.offset == -1 else row.offset
        offsets.append(offset)
    return offsets


def _messages(rows: list[Record], offsets: list[int], magic: int, attributes: int) -> bytes:
    return b"".join(
        _message(row, offset, magic, attributes, f"records[{number}]")
        for number, (row, offset) in enumerate(zip(rows, offsets, strict=True))
    )


def _message(row: Record, offset: int, magic: int, attributes: int, path: str = "") -> bytes:
    if row.headers:
        raise invalid(f"magic {magic} does not support headers", magic, path)
    if magic == 0 and row.timestamp != -1:
        raise invalid("magic 0 does not support timestamps", magic, path)
    key, value = row.key, row.value
    try:
        fields = (magic, attributes, row.timestamp) if magic else (magic, attributes)
        body = MESSAGE[magic].pack(*fields, -1 if key is None else len(key)) + (key or b"")
        body += SIZE.pack(-1 if value is None else len(value)) + (value or b"")
        return HEAD.pack(offset, 4 + len(body), zlib.crc32(body)) + body
    except (error, TypeError) as problem:
        raise invalid(out_of_range(problem), magic, path) from problem
