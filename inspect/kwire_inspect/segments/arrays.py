"""Converts columns of ``kwire.arrow`` to columns of ``schemas.RECORDS``."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyarrow import compute

from kwire.arrow.records import RECORDS as DECODED
from kwire.logs import LogSegment
from kwire_inspect.schemas import RECORDS, TIME
from kwire_inspect.segments.secret_records import redacted_values
from kwire_inspect.storage import written

_FIRST_TIME, _LAST_TIME = -62_135_596_800_000, 253_402_300_799_999
"""Minimum and maximum timestamps that Python supports, in milliseconds since the epoch: the years 1 and 9999."""

Column = Callable[[pa.RecordBatch, LogSegment, bool], pa.Array]
"""Function that accepts decoded records, their file, and whether to hide secrets, and returns a column."""


def decoded_schema(schema: pa.Schema, bounded: bool, hide: bool) -> pa.Schema:
    """Return the columns to decode for ``schema``. If the records are ``bounded``, include the offset and time.

    The result has at least one column, because a batch without columns loses its number of rows.
    """
    names = {"position"} | {"timestamp" if name == "time" else name for name in schema.names}
    if bounded:
        names |= {"offset", "timestamp"}
    if hide and "value" in names:
        names.add("key")
    return pa.schema([field for field in DECODED if field.name in names])


def columns(records: pa.RecordBatch, schema: pa.Schema, file: LogSegment, hide: bool) -> pa.RecordBatch:
    """Return decoded records as a batch with the columns of ``schema``."""
    arrays = []
    for field in schema:
        of = _COLUMNS.get(field.name)
        array = of(records, file, hide) if of else records.column(field.name)
        arrays.append(array if array.type == field.type else array.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def large_reason(size: int) -> str:
    """Return the reason why the contents of a record of ``size`` bytes are missing."""
    return f"a record of {size:,} bytes is left out: see the option maxRecord"


def milliseconds(records: pa.RecordBatch) -> pa.Array:
    """Return the timestamps as integers in milliseconds since the epoch, or null for records without a timestamp."""
    return records.column("timestamp").cast(pa.int64())


def _time(records: pa.RecordBatch, file: LogSegment, hide: bool) -> pa.Array:
    times = milliseconds(records)
    possible = compute.and_(compute.greater_equal(times, _FIRST_TIME), compute.less_equal(times, _LAST_TIME))
    return compute.multiply(compute.if_else(possible, times, None), 1000).cast(TIME)


def _value(records: pa.RecordBatch, file: LogSegment, hide: bool) -> pa.Array:
    values = records.column("value")
    return redacted_values(records.column("key"), values, file.topic) if hide else values


def _too_large(records: pa.RecordBatch, file: LogSegment, hide: bool) -> pa.Array:
    sizes = records.column("left_out")
    if sizes.null_count == len(sizes):
        return pa.nulls(len(sizes), pa.string())
    return pa.array([None if size is None else large_reason(size) for size in sizes.to_pylist()], pa.string())


def _constant(name: str, of: Callable[[LogSegment], object]) -> Column:
    kind = RECORDS.field(name).type
    return lambda records, file, hide: pa.repeat(pa.scalar(of(file), kind), records.num_rows)


_COLUMNS: dict[str, Column] = {
    "source": _constant("source", lambda file: written(file.path)),
    "topic": _constant("topic", lambda file: file.topic),
    "partition": _constant("partition", lambda file: file.partition),
    "time": _time,
    "value": _value,
    "problem": _too_large,
}
"""Functions by column name, for the columns that differ from the decoded columns."""
