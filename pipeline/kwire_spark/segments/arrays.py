"""Arrow arrays from gathered batches, a function for each column of ``columns.RECORDS``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kwire.compression import NAMES
from kwire.logs import LogSegment
from kwire.records import Batch
from kwire.records.layout import APPEND_TIME, CODEC, CONTROL, TRANSACTIONAL
from kwire_spark.columns import RECORDS, TIME
from kwire_spark.segments.loop import Columns
from kwire_spark.segments.secret_records import hidden

_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999
"""Milliseconds of the years 1 to 9999, beyond which Python has no times."""
_CODECS = pa.array([*NAMES, *(f"unknown {code}" for code in range(len(NAMES), CODEC + 1))])
_TIMESTAMP_TYPES = pa.array(["none", "create", "append"])
_HEADERS = RECORDS.field("headers").type

Numbers = npt.NDArray[np.int64]


class Gathered:
    """Batches, how many records each has here, what their offsets and timestamps count from, and all records."""

    __slots__ = ("base_offsets", "base_times", "batches", "columns", "count", "counts", "file", "hide")

    def __init__(self, file: LogSegment, hide: bool) -> None:
        self.file = file
        self.hide = hide
        self.count = 0
        self.batches: list[Batch] = []
        self.counts: list[int] = []
        self.base_offsets: list[int] = []
        self.base_times: list[int] = []
        self.columns = Columns()

    def repeated(self, facts: list[int]) -> Numbers:
        """A number of each batch, once for each of its records."""
        return np.repeat(np.array(facts, np.int64), self.counts)

    def offsets(self) -> Numbers:
        return self.repeated(self.base_offsets) + np.array(self.columns.offsets, np.int64)

    def times(self) -> Numbers:
        """Timestamps in milliseconds, -1 where there is none."""
        return self.repeated(self.base_times) + np.array(self.columns.times, np.int64)

    def attributes(self, mask: int) -> Numbers:
        """These bits of the attributes, of magic 2 alone."""
        return self.repeated([batch.attributes & mask if batch.magic == 2 else 0 for batch in self.batches])


def _constant(value: object, kind: pa.DataType, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def _fact(name: str, kind: str) -> Callable[[Gathered], pa.Array]:
    """A fact that stands in the header of a batch."""
    return lambda it: pa.array(it.repeated([getattr(batch, name) for batch in it.batches]).astype(kind))


def _timestamp_type(it: Gathered) -> pa.Array:
    kinds = [0 if not batch.magic else 2 if batch.attributes & APPEND_TIME else 1 for batch in it.batches]
    return _TIMESTAMP_TYPES.take(pa.array(it.repeated(kinds)))


def _time(it: Gathered) -> pa.Array:
    times = it.times()
    absent = (times == -1) | (times < _FIRST_TIME) | (times > _LAST_TIME)
    return pa.array(np.where(absent, 0, times) * 1000, pa.int64(), mask=absent).cast(TIME)


def _value(it: Gathered) -> pa.Array:
    values = it.columns.values
    return _binary([hidden(value) for value in values] if it.hide else values)


def _binary(values: list[Any]) -> pa.Array:
    """Bytes, some of which may be null. Where none is, joining them is much faster than letting Arrow do it."""
    try:
        joined = b"".join(values)
    except TypeError:
        return pa.array(values, pa.binary())
    ends = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=ends[1:])
    return pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(joined)])


def _headers(it: Gathered) -> pa.Array:
    """Flat lists of all keys and all values, and where those of each record begin."""
    lengths = np.zeros(it.count + 1, np.int32)
    for number, headers in it.columns.headers:
        lengths[number + 1] = len(headers)
    pairs = [pair for _, headers in it.columns.headers for pair in headers]
    keys = pa.array([_text(key) for key, _ in pairs], pa.string())
    values = pa.array([value for _, value in pairs], pa.binary())
    flat = pa.StructArray.from_arrays([keys, values], fields=list(_HEADERS.value_type))
    return pa.ListArray.from_arrays(pa.array(np.cumsum(lengths, dtype=np.int32)), flat).cast(_HEADERS)


def _text(key: str) -> str:
    """A header's key, in which bytes that are no UTF-8 are surrogates, as Java reads it."""
    return key if key.isascii() else key.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


COLUMNS: dict[str, Callable[[Gathered], Any]] = {
    "source": lambda it: _constant(str(it.file.path), pa.string(), it.count),
    "position": _fact("position", "i8"),
    "topic": lambda it: _constant(it.file.topic, pa.string(), it.count),
    "partition": lambda it: _constant(it.file.partition, pa.int32(), it.count),
    "offset": lambda it: pa.array(it.offsets()),
    "time": _time,
    "timestamp_type": _timestamp_type,
    "leader_epoch": _fact("leader_epoch", "i4"),
    "magic": _fact("magic", "i1"),
    "codec": lambda it: _CODECS.take(pa.array(it.repeated([batch.attributes & CODEC for batch in it.batches]))),
    "producer_id": _fact("producer_id", "i8"),
    "producer_epoch": _fact("producer_epoch", "i2"),
    "base_sequence": _fact("base_sequence", "i4"),
    "transactional": lambda it: pa.array(it.attributes(TRANSACTIONAL) != 0),
    "control": lambda it: pa.array(it.attributes(CONTROL) != 0),
    "key": lambda it: _binary(it.columns.keys),
    "value": _value,
    "headers": _headers,
    "_corrupt": lambda it: _constant(None, pa.string(), it.count),
}
"""By name; each has as many rows as there are records."""
