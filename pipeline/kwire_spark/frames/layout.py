"""Rows of connections, and Arrow batches of them.

Such a row is a tuple of which the first value is a tuple too: the columns that many rows have in common, as who the
client is and which api this is. That one is made once and is the same object in all these rows, which makes rows
cheap; the Arrow columns are made of the few there are.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa

from kwire_spark.columns import EXCHANGES, FRAMES
from kwire_spark.frames.context import Row

BINARY = pa.binary()

_OWN = {
    "frames": (
        *("position", "number", "started", "time", "size", "correlation_id"),
        *("request", "latency_ms", "error_codes", "throttle_ms", "raw"),
    ),
    "exchanges": (
        *("position", "number", "time", "correlation_id", "error_codes", "throttle_ms", "latency_ms"),
        *("request_size", "response_size", "request", "response"),
    ),
}


class Layout:
    """Which columns of a table are ``shared`` and which are a row's ``own``, in the order of their values."""

    def __init__(self, full: pa.Schema, own: Sequence[str]) -> None:
        self.own = {name: index for index, name in enumerate(own, 1)}
        self.shared = {name: index for index, name in enumerate(one for one in full.names if one not in self.own)}

    def value(self, row: Row, column: str) -> Any:
        """The value that a row has in a column."""
        index = self.own.get(column)
        return row[0][self.shared[column]] if index is None else row[index]


LAYOUTS = {"frames": Layout(FRAMES, _OWN["frames"]), "exchanges": Layout(EXCHANGES, _OWN["exchanges"])}


def corrupt(table: str, source: str, position: int | None, reason: str) -> Row:
    """A row that says what is broken, and where."""
    layout = LAYOUTS[table]
    shared = (source, *(None,) * (len(layout.shared) - 2), reason)
    return (shared, position, *(None,) * (len(layout.own) - 1))


def connection_batch(rows: Sequence[Row], schema: pa.Schema, table: str) -> pa.RecordBatch:
    """Rows as an Arrow batch with the columns of ``schema``. A number that its column cannot hold becomes null."""
    if not schema.names or not rows:
        return arrow_batch(rows, schema)
    layout = LAYOUTS[table]
    columns = list(zip(*rows, strict=True))
    distinct = {id(one): one for one in columns[0]}
    place = {key: number for number, key in enumerate(distinct)}
    indices = pa.array([place[id(one)] for one in columns[0]], pa.int32())
    shared = list(zip(*distinct.values(), strict=True))
    arrays = []
    for field in schema:
        if (index := layout.own.get(field.name)) is not None:
            arrays.append(_array(columns[index], field.type))
        else:
            arrays.append(_array(shared[layout.shared[field.name]], field.type).take(indices))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def arrow_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    """As ``connection_batch``, of rows that have a value for each column, in their order."""
    if not schema.names:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    columns = zip(*rows, strict=True)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return _binary(values) if kind == BINARY else pa.array(values, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return pa.array([_fitting(value, kind) for value in values], kind)


def _binary(values: Sequence[bytes | None]) -> pa.Array:
    """As ``pa.array``, which copies large values twice while it grows."""
    offsets = array("i", accumulate([0 if value is None else len(value) for value in values], initial=0))
    nulls = values.count(None)
    valid = pa.array([value is not None for value in values]).buffers()[1] if nulls else None
    data = b"".join([value for value in values if value] if nulls else values)  # type: ignore[arg-type]
    return pa.Array.from_buffers(BINARY, len(values), [valid, pa.py_buffer(offsets), pa.py_buffer(data)], nulls)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
    except (OverflowError, pa.ArrowInvalid, UnicodeEncodeError):
        return None
    return value
