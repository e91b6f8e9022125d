"""Converting the buffers of ``kwire.columns`` to Arrow arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import pyarrow as pa
from pyarrow import compute

from kwire.columns.rows import unmarked

MAX_BYTES = (1 << 31) - 1
"""Maximum size of a buffer in bytes. Positions in a buffer are int32, like Arrow's offsets."""

FEW = 1 << 14
"""Maximum number of rows for which the indexes of parts are cached. Computing these indexes takes longer than using
them."""


def numbers(kind: pa.DataType, values: bytes, valid: pa.Buffer | None = None) -> pa.Array:
    """Return an array of the numbers in ``values``. For booleans, every byte except 0 is true."""
    if kind == pa.bool_():
        return numbers(pa.uint8(), values).cast(kind)
    return pa.Array.from_buffers(kind, len(values) // kind.byte_width, [valid, pa.py_buffer(values)])


def binary(values: Sequence[bytes | None]) -> pa.Array:
    """Return ``values`` as a binary array. Unlike ``pa.array``, this does not copy large values twice."""
    offsets = array("i", accumulate([0 if value is None else len(value) for value in values], initial=0))
    nulls = values.count(None)
    valid = pa.array([value is not None for value in values]).buffers()[1] if nulls else None
    data = b"".join([value for value in values if value] if nulls else values)  # type: ignore[arg-type]
    return pa.Array.from_buffers(pa.binary(), len(values), [valid, pa.py_buffer(offsets), pa.py_buffer(data)], nulls)


def valid_rows(nulls: bytes, count: int) -> pa.Array | None:
    """Return a mask of ``count`` rows that is false for the rows in ``nulls`` (int64), or ``None`` if ``nulls`` is
    empty."""
    return numbers(pa.bool_(), unmarked(nulls, count)) if nulls else None


def _even_numbers(count: int) -> pa.Array:
    return compute.cumulative_sum(pa.repeat(pa.scalar(2, pa.int32()), count), start=-2)


@cache
def _even() -> pa.Array:
    return _even_numbers(FEW)


def cut(data: pa.Buffer, places: bytes, nulls: bytes = b"", first: int = 0, last: int | None = None) -> pa.Array:
    """Return parts of ``data`` as a binary array, either all parts or the rows from ``first`` to ``last``.

    ``places`` contains pairs of start and end (int32) in ascending order, and ``nulls`` contains the numbers of null
    rows (int64). Used as the offsets of an array, these pairs result in alternating parts and gaps. Selecting the
    parts copies them only once.
    """
    valid = valid_rows(nulls, len(places) // 8)
    if last is not None:
        places = places[8 * first : 8 * last]
    count = len(places) // 8
    if not count:
        return pa.array([], pa.binary())
    indexes = _even()[:count] if count <= FEW else _even_numbers(count)
    if valid is not None:
        valid = valid[first : first + count]
        indexes = compute.if_else(valid, indexes, pa.scalar(None, pa.int32()))
    every = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(places), data])
    return every.take(indexes)
