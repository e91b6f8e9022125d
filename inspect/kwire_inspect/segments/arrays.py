"""Arrow arrays from gathered batches, a function for each column of ``columns.RECORDS``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from kwire.compression import Codec
from kwire.records.layout import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from kwire_inspect.schemas import RECORDS, TIME
from kwire_inspect.segments.record_columns import Gathered
from kwire_inspect.segments.secret_records import redacted_values
from kwire_inspect.storage import written

_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999
"""Milliseconds of the years 1 to 9999, beyond which Python has no times."""
_CODECS = pa.array(
    [codec.label for codec in Codec] + [f"unknown {code}" for code in range(len(Codec), CODEC_MASK + 1)]
)
_TIMESTAMP_TYPES = pa.array(["none", "create", "append"])
_HEADERS = RECORDS.field("headers").type

Column = Callable[[Gathered, bool], pa.Array]
"""A function of the gathered batches and whether to hide secrets."""


def _constant(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _fact(name: str, kind: str) -> Column:
    """A column for a field of the batch header."""
    return lambda it, hide: pa.array(it.fact(name).astype(kind))


def _flag(mask: int) -> Column:
    """A bit of the attributes."""
    return lambda it, hide: pa.array(it.fact("attributes") & mask != 0)


def _timestamp_type(it: Gathered, hide: bool) -> pa.Array:
    append = it.fact("attributes") & APPEND_TIME != 0
    return _TIMESTAMP_TYPES.take(pa.array(np.where(it.fact("magic") == 0, 0, 1 + append)))


def _time(it: Gathered, hide: bool) -> pa.Array:
    times = it.times()
    absent = (times == -1) | (times < _FIRST_TIME) | (times > _LAST_TIME)
    return pa.array(np.where(absent, 0, times) * 1000, pa.int64(), mask=absent).cast(TIME)


def _value(it: Gathered, hide: bool) -> pa.Array:
    values = it.values()
    return redacted_values(it.keys(), values, it.file.topic) if hide else values


def _too_large(it: Gathered, hide: bool) -> pa.Array:
    """Why records have no contents."""
    if not it.large:
        return _constant(None, pa.string(), it.count)
    return pa.array([large_reason(it.large[n]) if n in it.large else None for n in range(it.count)], pa.string())


def large_reason(size: int) -> str:
    """Why a record of this size has no contents."""
    return f"a record of {size:,} bytes is left out: see the option maxRecord"


def _headers(it: Gathered, hide: bool) -> pa.Array:
    """Flat lists of all keys and all values, and the index of the first of each record."""
    found = it.headers()
    lengths = np.zeros(it.count + 1, np.int32)
    for number, headers in found:
        lengths[number + 1] = len(headers)
    pairs = [pair for _, headers in found for pair in headers]
    keys = pa.array([_text(key) for key, _ in pairs], pa.string())
    values = pa.array([value for _, value in pairs], pa.binary())
    flat = pa.StructArray.from_arrays([keys, values], fields=list(_HEADERS.value_type))
    return pa.ListArray.from_arrays(pa.array(np.cumsum(lengths, dtype=np.int32)), flat, type=_HEADERS)


def _text(key: str) -> str:
    """A header's key as Java reads it; its invalid UTF-8 bytes are surrogates here."""
    return key if key.isascii() else key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


COLUMNS: dict[str, Column] = {
    "source": lambda it, hide: _constant(written(it.file.path), pa.string(), it.count),
    "position": _fact("position", "i8"),
    "topic": lambda it, hide: _constant(it.file.topic, pa.string(), it.count),
    "partition": lambda it, hide: _constant(it.file.partition, pa.int32(), it.count),
    "offset": lambda it, hide: pa.array(it.offsets()),
    "time": _time,
    "timestamp_type": _timestamp_type,
    "leader_epoch": _fact("leader_epoch", "i4"),
    "magic": _fact("magic", "i1"),
    "codec": lambda it, hide: _CODECS.take(pa.array(it.fact("attributes") & CODEC_MASK)),
    "producer_id": _fact("producer_id", "i8"),
    "producer_epoch": _fact("producer_epoch", "i2"),
    "base_sequence": _fact("base_sequence", "i4"),
    "transactional": _flag(TRANSACTIONAL),
    "control": _flag(CONTROL),
    "key": lambda it, hide: it.keys(),
    "value": _value,
    "headers": _headers,
    "problem": _too_large,
}
"""By name; each has as many rows as there are records."""
