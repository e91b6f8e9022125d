"""Tracing a block of records: each batch header field by field, then one span per record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from struct import Struct

from kwire.compression import DEFAULT_LIMIT, Codec, CompressionError, DecompressionLimitError
from kwire.errors import DecodeError, counted, cut
from kwire.primitives import read_varint
from kwire.records import ChecksumError, Record, read_batches
from kwire.records.layout import BATCH_HEADER, CODEC_MASK, MAGIC, MESSAGE_HEADER, OVERHEAD
from kwire.secrets import is_secret_record
from kwire.trace.spans import Span
from kwire_rules import SIZES

_MESSAGE = "offset message_size crc magic attributes"
_BATCH = (
    "base_offset batch_length leader_epoch magic crc attributes last_offset_delta base_timestamp max_timestamp"
    " producer_id producer_epoch base_sequence count"
)
_HEADERS = {
    0: (MESSAGE_HEADER, _MESSAGE),
    1: (Struct(MESSAGE_HEADER.format + "q"), _MESSAGE + " timestamp"),
    2: (BATCH_HEADER, _BATCH),
}
"""Header layouts and their field names, by magic."""
_KINDS = {"b": "int8", "h": "int16", "i": "int32", "I": "uint32", "q": "int64"}
MAX_RECORDS = 1000
"""Maximum number of records per batch that have spans of their own. The remaining records are counted in one span."""
MAX_BYTES = 1024
"""Maximum size of a key or value in a span, in bytes. A tiny batch may decompress to large values."""
MAX_HEADERS = 8
"""Maximum number of headers in a record's span. Keys and values of headers are limited to a tenth of
``MAX_BYTES``."""
MAX_COUNTED = 1_000_000
"""Maximum total number of records read from compressed batches."""
MAX_DECOMPRESSED = 256 << 20
"""Maximum total size of decompressed batches, in bytes."""
UNREADABLE = 1000
"""Assumed compression ratio of a corrupt batch, because its decompressed size up to the error is unknown."""
BEYOND = f"the batches contain more than {MAX_COUNTED:,} records or {MAX_DECOMPRESSED >> 20} MiB of decompressed data"
_FLAGS = ((8, "append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"))


@dataclass
class RecordsBudget:
    """The number of records and bytes that may still be read from compressed batches."""

    records: int = MAX_COUNTED
    size: int = MAX_DECOMPRESSED


def expand_records(
    data: bytes, start: int, end: int, path: str, depth: int, left: RecordsBudget | None = None
) -> Iterator[Span]:
    """Yield the spans of the batches in ``data[start:end]``. The spans cover these bytes without gaps, even if the
    batches are invalid.

    Calls with the same ``left`` object share its limits for compressed batches. Records beyond these limits are not
    read."""
    left = left or RecordsBudget()
    index = 0
    while start < end:
        size = _size(data, start, end)
        name = f"batch[{index}]"
        place = f"{path}.{name}" if path else name
        if not size:
            yield Span(start, end, place, name, "incomplete batch", data[start:end], depth=depth)
            return
        yield from _batch(data, start, start + size, place, depth, left)
        start, index = start + size, index + 1


def time_text(milliseconds: int) -> str:
    """Return the date and time of a timestamp in UTC as text, or ``""`` if the timestamp is not set."""
    try:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return ""
    return "" if milliseconds < 0 else f"{found:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def _size(data: bytes, start: int, end: int) -> int:
    """Return the size of the batch at ``start`` in bytes, or 0 if it is incomplete."""
    size = OVERHEAD + int.from_bytes(data[start + 8 : start + OVERHEAD], "big", signed=True)
    return size if MAGIC < size <= end - start else 0


def _batch(data: bytes, start: int, end: int, path: str, depth: int, left: RecordsBudget) -> Iterator[Span]:
    magic = data[start + MAGIC]
    layout, names = _HEADERS.get(magic, (None, ""))
    name = path.rpartition(".")[2]
    if not layout or layout.size > end - start:
        text = "too short for a batch" if layout else f"unknown magic {magic}: expected 0 to 2"
        yield Span(start, end, path, name, "?", data[start:end], depth=depth, text=text)
        return
    batch = data[start:end]
    count, problem = _count(batch, left)
    yield Span(start, start, path, name, "record batch" if magic == 2 else f"message v{magic}", ..., depth=depth)
    pos, codec = start, 0
    for field, code, value in zip(names.split(), layout.format[1:], layout.unpack_from(batch), strict=True):
        text, kind = "", _KINDS[code]
        if field == "attributes":
            codec, text = value & CODEC_MASK, f"{value}  {_attributes(value)}"
        elif field == "crc" and isinstance(problem, ChecksumError):
            text = f"{value}  {problem.reason}"
        elif field.endswith("timestamp"):
            text = f"{value}  {time_text(value)}".rstrip()
        yield Span(pos, pos + SIZES[kind], f"{path}.{field}", field, kind, value, depth=depth + 1, text=text)
        pos += SIZES[kind]
    if count is None:
        text = f"not readable: {problem.reason}" if problem else ""
        yield Span(pos, end, f"{path}.records", "records", "?", data[pos:end], depth=depth + 1, text=text)
        return
    depth += 1
    if codec:
        what = f"{Codec(codec).label} data"
        yield Span(pos, end, f"{path}.records", "records", what, data[pos:end], depth=depth)
        pos, depth = end, depth + 1
    for index, record in enumerate(islice(chain.from_iterable(read_batches(batch, verify=False)), MAX_RECORDS)):
        size, content = read_varint(data, pos) if magic == 2 and not codec else (end - pos, pos)
        yield _record(pos, content + size, f"{path}.record[{index}]", record, depth, content)
        pos = content + size
    if count > MAX_RECORDS:
        text, kind = f"{counted(count - MAX_RECORDS, 'record')} more", "records"
        if problem and problem.reason == BEYOND:
            text, kind = f"at least {text}: {BEYOND}", "?"
        yield Span(pos, end, f"{path}.records", "records", kind, count - MAX_RECORDS, depth=depth, text=text)


def _count(batch: bytes, left: RecordsBudget) -> tuple[int | None, DecodeError | None]:
    """Return the number of records in a batch and the error, if any. The number is ``None`` if the records cannot be
    read.

    Records beyond a limit are not counted, and the reason of the error is then ``BEYOND``.
    """
    problem, size = None, min(DEFAULT_LIMIT, left.size)
    for verify in (True, False):
        try:
            [found] = read_batches(batch, verify=verify, limit=size)
            if not found.attributes & CODEC_MASK:
                return sum(1 for _ in found), problem
            if left.records <= 0 or left.size <= 0:
                return None, DecodeError(BEYOND)
            left.size -= len(found.payload())
            most = max(left.records, MAX_RECORDS)
            count = sum(1 for _ in islice(found, most + 1))
            left.records -= count
            return count, problem if count <= most else DecodeError(BEYOND)
        except ChecksumError as error:
            problem = error
        except DecompressionLimitError as error:
            left.size -= size
            return None, DecodeError(BEYOND) if size < DEFAULT_LIMIT else problem or error
        except DecodeError as error:
            if isinstance(error, CompressionError):
                left.size -= len(batch) * UNREADABLE
            return None, problem or error
    return None, problem


def _record(start: int, end: int, path: str, record: Record, depth: int, content: int) -> Span:
    shown = record.headers[:MAX_HEADERS]
    names = ", ".join(name for name, _ in shown)
    headers = f", headers {cut(names, 48)}" if record.headers else ""
    text = f"offset {record.offset}, {time_text(record.timestamp) or 'no time'}, "
    text += f"key {_short(record.key)}, value {_short(record.value)}{headers}"
    name = path.rpartition(".")[2]
    value = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _digits(record.key),
        "value": _digits(record.value),
        "headers": [[cut(name, MAX_BYTES // 10), _digits(value, MAX_BYTES // 10)] for name, value in shown],
    }
    secret = is_secret_record(record.key, record.value)
    return Span(start, end, path, name, "record", value, depth=depth, content=content, text=text, secret=secret)


def _digits(value: bytes | None, most: int = MAX_BYTES) -> str | None:
    return None if value is None else cut(value[: most + 1].hex(), 2 * most)


def _short(value: bytes | None) -> str:
    if value is None:
        return "null"
    return repr(value)[1:] if len(value) <= 24 else f"{repr(value[:20])[1:]}… ({len(value)} bytes)"


def _attributes(value: int) -> str:
    codec = value & CODEC_MASK
    how = "uncompressed" if not codec else Codec(codec).label if codec <= Codec.ZSTD else f"codec {codec}"
    return ", ".join([how, *(name for bit, name in _FLAGS if value & bit)])
