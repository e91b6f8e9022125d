"""A block of records as spans: the header of each batch field by field, then a line per record."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from struct import unpack_from
from typing import TYPE_CHECKING

from kwire.compression import Codec
from kwire.errors import DecodeError, cut
from kwire.primitives import read_varint
from kwire.records import ChecksumError, read_batches
from kwire.records.layout import MAGIC, OVERHEAD
from kwire.schema import FORMATS, SIZES
from kwire.secrets import METADATA_STARTS
from kwire.trace.spans import Span

if TYPE_CHECKING:
    from kwire.records import Record

Fields = tuple[tuple[str, str], ...]

_BATCH: Fields = (
    ("base_offset", "int64"),
    ("batch_length", "int32"),
    ("leader_epoch", "int32"),
    ("magic", "int8"),
    ("crc", "uint32"),
    ("attributes", "int16"),
    ("last_offset_delta", "int32"),
    ("base_timestamp", "int64"),
    ("max_timestamp", "int64"),
    ("producer_id", "int64"),
    ("producer_epoch", "int16"),
    ("base_sequence", "int32"),
    ("count", "int32"),
)
_MESSAGE: Fields = (
    ("offset", "int64"),
    ("message_size", "int32"),
    ("crc", "uint32"),
    ("magic", "int8"),
    ("attributes", "int8"),
)
_HEADERS: dict[int, Fields] = {0: _MESSAGE, 1: (*_MESSAGE, ("timestamp", "int64")), 2: _BATCH}
_FLAGS = ((8, "append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"))


def expand_records(data: bytes, start: int, end: int, path: str, depth: int) -> Iterator[Span]:
    """The batches in ``data[start:end]``; their spans cover it without gaps, even if it is invalid."""
    index = 0
    while start < end:
        size = _size(data, start, end)
        name = f"batch[{index}]"
        place = f"{path}.{name}" if path else name
        if not size:
            yield Span(start, end, place, name, "incomplete batch", data[start:end], depth=depth)
            return
        yield from _batch(data, start, start + size, place, depth)
        start, index = start + size, index + 1


def time_text(milliseconds: int) -> str:
    """A timestamp as date and time; empty where there is none."""
    try:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return ""
    return "" if milliseconds < 0 else f"{found:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"


def _size(data: bytes, start: int, end: int) -> int:
    """The size of the batch at ``start``, or 0 if it is not all there."""
    if end - start <= MAGIC:
        return 0
    size = OVERHEAD + int.from_bytes(data[start + 8 : start + OVERHEAD], "big", signed=True)
    return size if MAGIC < size <= end - start else 0


def _batch(data: bytes, start: int, end: int, path: str, depth: int) -> Iterator[Span]:
    magic = data[start + MAGIC]
    fields = _HEADERS.get(magic, ())
    size = sum(SIZES[kind] for _, kind in fields)
    name = path.rpartition(".")[2]
    if not fields or size > end - start:
        text = "too short for a batch" if fields else f"a batch of magic {magic}, only 0 to 2 are known"
        yield Span(start, end, path, name, "?", data[start:end], depth=depth, text=text)
        return
    records, problem = _records(data[start:end])
    yield Span(start, start, path, name, "record batch" if magic == 2 else f"message v{magic}", ..., depth=depth)
    pos, attributes = start, 0
    for field, kind in fields:
        (value,) = unpack_from(FORMATS[kind], data, pos)
        text = ""
        if field == "attributes":
            attributes, text = value, f"{value}  {_attributes(value)}"
        elif field == "crc" and isinstance(problem, ChecksumError):
            text = f"{value}  {problem.reason}"
        elif field.endswith("timestamp"):
            text = f"{value}  {time_text(value)}".rstrip()
        yield Span(pos, pos + SIZES[kind], f"{path}.{field}", field, kind, value, depth=depth + 1, text=text)
        pos += SIZES[kind]
    if records is None:
        text = f"not readable: {problem.reason}" if problem else ""
        yield Span(pos, end, f"{path}.records", "records", "?", data[pos:end], depth=depth + 1, text=text)
    elif magic == 2 and not attributes & 7:
        yield from _plain(data, pos, records, path, depth + 1)
    elif not attributes & 7:
        yield from [_record(pos, end, f"{path}.record[0]", record, depth + 1) for record in records]
    else:
        what = f"{Codec(attributes & 7).label} data"
        yield Span(pos, end, f"{path}.records", "records", what, data[pos:end], depth=depth + 1)
        for index, record in enumerate(records):
            yield _record(end, end, f"{path}.record[{index}]", record, depth + 2)


def _records(batch: bytes) -> tuple[list[Record] | None, DecodeError | None]:
    """The records of a batch, if they can be read, and the errors in it."""
    problem = None
    for verify in (True, False):
        try:
            return [record for found in read_batches(batch, verify=verify) for record in found], problem
        except ChecksumError as error:
            problem = error
        except DecodeError as error:
            return None, problem or error
    return None, problem


def _plain(data: bytes, pos: int, records: list[Record], path: str, depth: int) -> Iterator[Span]:
    for index, record in enumerate(records):
        size, start = read_varint(data, pos)
        yield _record(pos, start + size, f"{path}.record[{index}]", record, depth, content=start)
        pos = start + size


def _record(start: int, end: int, path: str, record: Record, depth: int, content: int = 0) -> Span:
    names = ", ".join(name for name, _ in record.headers)
    headers = f", headers {cut(names, 48)}" if record.headers else ""
    text = f"offset {record.offset}, {time_text(record.timestamp) or 'no time'}, "
    text += f"key {_short(record.key)}, value {_short(record.value)}{headers}"
    name = path.rpartition(".")[2]
    value = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _digits(record.key),
        "value": _digits(record.value),
        "headers": [[name, _digits(value)] for name, value in record.headers],
    }
    secret = bool(record.value and record.value.startswith(METADATA_STARTS))
    return Span(start, end, path, name, "record", value, depth=depth, content=content, text=text, secret=secret)


def _digits(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


def _short(value: bytes | None) -> str:
    if value is None:
        return "null"
    return repr(value)[1:] if len(value) <= 24 else f"{repr(value[:20])[1:]}… ({len(value)} bytes)"


def _attributes(value: int) -> str:
    codec = value & 7
    names = [Codec(codec).label if codec <= Codec.ZSTD else f"codec {codec}"]
    return ", ".join(names + [name for bit, name in _FLAGS if value & bit])
