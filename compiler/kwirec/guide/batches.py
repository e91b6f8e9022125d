"""Blocks of records as spans: batches of magic 2, and the messages of magic 0 and 1. See docs/kafka-wire.md, records.

What is compressed stays closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from struct import Struct

OVERHEAD = 12
"""Bytes before those that the size of a batch counts: the base offset, and the size itself."""
MAGIC = 16
CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
FLAGS = ((8, "append time"), (16, "transactional"), (32, "control"), (64, "delete horizon"))
KINDS = {"b": "int8", "h": "int16", "i": "int32", "I": "uint32", "q": "int64"}
_MESSAGE = "offset message_size crc magic attributes"
HEADERS = {
    0: (Struct(">qiIbb"), _MESSAGE),
    1: (Struct(">qiIbbq"), f"{_MESSAGE} timestamp"),
    2: (
        Struct(">qiibIhiqqqhii"),
        "base_offset batch_length leader_epoch magic crc attributes last_offset_delta base_timestamp max_timestamp"
        " producer_id producer_epoch base_sequence count",
    ),
}
"""The header of a batch, and the names of its fields, by magic."""


@dataclass(frozen=True)
class Found:
    """A part of a block of records; ``path`` and ``depth`` are relative to the block. ``content`` is where a record
    starts after its size."""

    start: int
    end: int
    path: str
    name: str
    depth: int
    kind: str
    text: str = ""
    content: int | None = None


def batches(data: bytes, start: int, end: int) -> Iterator[Found]:
    """The batches in ``data[start:end]``. All but the last are whole."""
    index = 0
    while start < end:
        name = f"batch[{index}]"
        stop = start + OVERHEAD + int.from_bytes(data[start + 8 : start + OVERHEAD], "big")
        if stop > end:  # as many bytes as the consumer allowed
            yield Found(start, end, name, name, 0, "incomplete batch")
            return
        yield from _batch(data[:stop], start, name)
        start, index = stop, index + 1


def _batch(data: bytes, start: int, path: str) -> Iterator[Found]:
    magic = data[start + MAGIC]
    header, names = HEADERS[magic]
    values = dict(zip(names.split(), header.unpack_from(data, start), strict=True))
    yield Found(start, start, path, path, 0, "record batch" if magic == 2 else f"message v{magic}")
    pos = start
    for (name, value), code in zip(values.items(), header.format[1:], strict=True):
        kind = KINDS[code]
        text = str(value)
        if name == "attributes":
            text = f"{value}  {_attributes(value)}"
        elif name.endswith("timestamp"):
            text = f"{value}  {time_text(value)}".rstrip()
        width = Struct(f">{code}").size
        yield Found(pos, pos + width, f"{path}.{name}", name, 1, kind, text)
        pos += width
    codec = values["attributes"] & 7
    if codec:
        yield Found(pos, len(data), f"{path}.records", "records", 1, f"{CODECS[codec]} data")
    elif magic == 2:
        yield from _records(data, pos, path, values)
    else:
        text = _record_text(values["offset"], values.get("timestamp", -1), *_key_and_value(data, pos, 4))
        yield Found(pos, len(data), f"{path}.record[0]", "record[0]", 1, "record", text)


def _records(data: bytes, pos: int, path: str, values: dict[str, int]) -> Iterator[Found]:
    for index in range(values["count"]):
        size, content = _varint(data, pos)
        delta, after = _varint(data, content + 1)
        offset, after = _varint(data, after)
        text = _record_text(
            values["base_offset"] + offset, values["base_timestamp"] + delta, *_key_and_value(data, after, 0)
        )
        name = f"record[{index}]"
        yield Found(pos, content + size, f"{path}.{name}", name, 1, "record", text, content)
        pos = content + size


def _key_and_value(data: bytes, pos: int, width: int) -> tuple[bytes | None, bytes | None]:
    """Key and value, whose lengths have ``width`` bytes, or are varints if it is 0."""
    found: list[bytes | None] = []
    for _ in range(2):
        if width:
            length, pos = int.from_bytes(data[pos : pos + width], "big", signed=True), pos + width
        else:
            length, pos = _varint(data, pos)
        found.append(None if length < 0 else data[pos : pos + length])
        pos += max(length, 0)
    key, value = found
    return key, value


def _varint(data: bytes, pos: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), pos
        shift += 7


def _record_text(offset: int, timestamp: int, key: bytes | None, value: bytes | None) -> str:
    return f"offset {offset}, {time_text(timestamp) or 'no time'}, key {_short(key)}, value {_short(value)}"


def _short(value: bytes | None) -> str:
    if value is None:
        return "null"
    return repr(value)[1:] if len(value) <= 24 else f"{repr(value[:20])[1:]}… ({len(value)} bytes)"


def _attributes(value: int) -> str:
    return ", ".join([CODECS[value & 7], *(name for bit, name in FLAGS if value & bit)])


def time_text(milliseconds: int) -> str:
    """A timestamp as date and time; empty where there is none."""
    if milliseconds < 0:
        return ""
    try:
        found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return ""
    return f"{found:%Y-%m-%d %H:%M:%S}.{milliseconds % 1000:03} UTC"
