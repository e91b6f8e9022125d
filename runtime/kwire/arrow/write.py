"""Converting structs to columns.

Writers are composed once for each struct and version, and each fills its column in one pass.

Nested values are collected in one flat list per level, so that the number of calls depends on the columns and not on
the values. The writer of a column accepts the values of a field, one per struct, and returns an Arrow array.
"""

from __future__ import annotations

from array import array
from binascii import b2a_base64
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any

import pyarrow as pa
from pyarrow import compute

from kwire.arrow.buffers import binary
from kwire.arrow.schema import TAGS
from kwire.schema import Field, present_fields, struct_class
from kwire.struct import Struct

Write = Callable[[Sequence[Any]], pa.Array]

TYPECODES = {pa.int8(): "b", pa.int16(): "h", pa.int32(): "i", pa.int64(): "q"}
"""The type codes of ``array.array`` by Arrow type. ``array.array`` converts a list of numbers twice as fast as
pyarrow."""

FEW = 64
"""Maximum number of values in a list whose values are assumed to be large, such as records of 40 MB. The values of
longer lists are assumed to be small, for which Arrow is faster."""

ZEROES = {pa.bool_(): False, pa.string(): "", pa.binary(): b""}


def absent(kind: pa.DataType, count: int) -> pa.Array:
    """Return an array of ``count`` nulls. Nested columns that are not nullable still contain values, as Parquet
    requires."""
    if not pa.types.is_struct(kind):
        return pa.nulls(count, kind)
    return structs_of(kind, [_blank(field, count) for field in kind], pa.array([True] * count, pa.bool_()))


def _blank(field: pa.Field, count: int) -> pa.Array:
    kind = field.type
    if field.nullable:
        return absent(kind, count)
    if pa.types.is_struct(kind):
        return structs_of(kind, [_blank(inner, count) for inner in kind], None, count)
    return pa.array([[] if pa.types.is_list(kind) else ZEROES.get(kind, 0)] * count, kind)


def struct_writer(kind: pa.StructType, cls: type[Struct], version: int) -> Write:
    """Return a function that converts structs of one version to an array of ``kind``."""
    fields = {field.name: field for field in present_fields(cls, version)}
    columns: list[Write] = []
    for column in kind:
        if column.name in fields:
            values = _writer(column.type, cls, fields[column.name], version)
            columns.append(_checked(cls, column, values))
        elif column.name == "unknown_tags" and version in cls.FLEXIBLE_VERSIONS:
            columns.append(_checked(cls, column, _tags))
        else:
            columns.append(partial(_absent, column.type))
    return lambda structs: structs_of(kind, [column(structs) for column in columns], None, len(structs))


def structs_of(
    kind: pa.StructType, columns: list[pa.Array], mask: pa.Array | None = None, count: int = 0
) -> pa.StructArray:
    """Return an array of structs. A struct is null if its element of ``mask`` is true. ``count`` is required for
    structs without fields."""
    if not columns:  # without fields, the number of structs is only known from count
        nulls = [False] * count if mask is None else mask.to_pylist()
        return pa.array([None if null else {} for null in nulls], kind)
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)


def _absent(kind: pa.DataType, structs: Sequence[Struct]) -> pa.Array:
    return absent(kind, len(structs))


def _checked(cls: type[Struct], field: pa.Field, write: Write) -> Write:
    """Return a writer that reads the attribute ``field`` of structs and raises ``ValueError`` for null values that
    are not allowed."""
    lazy = hasattr(cls, f"_{field.name}")
    get = getter(f"_{field.name}" if lazy else field.name)
    if lazy:
        write = _or_default(getattr(cls(), field.name), write)

    def written(structs: Sequence[Struct]) -> pa.Array:
        column = write(get(structs))
        if column.null_count and not field.nullable:
            raise ValueError(f"{cls.__name__}.{field.name} must not be null")
        return column

    return written


def _or_default(default: Struct, write: Write) -> Write:
    """Return a writer for structs that are created on first access. ``None``, the most frequent value, means the
    default."""
    one = write([default])

    def written(values: Sequence[Struct | None]) -> pa.Array:
        if any(values):  # a struct is always truthy
            return write([default if value is None else value for value in values])
        return one.take(_numbers(pa.int32(), "i", [0] * len(values)))

    return written


@cache
def getter(name: str) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a function that reads an attribute of many objects. The function is twice as fast as ``map`` with an
    ``attrgetter``."""
    function: Callable[[Sequence[Any]], list[Any]] = eval(f"lambda items: [item.{name} for item in items]")
    return function


def _writer(kind: pa.DataType, cls: type[Struct], field: Field, version: int) -> Write:
    """Return a writer for values of type ``kind``, either the values of ``field`` or the elements of its arrays."""
    if pa.types.is_list(kind) and (pa.types.is_nested(kind.value_type) or field.element_type == "uuid"):
        return partial(_lists, kind, _writer(kind.value_type, cls, field, version))
    if field.element_type == "uuid":
        return _uuids
    if kind in TYPECODES:
        return partial(_numbers, kind, TYPECODES[kind])
    inner = struct_class(cls, field)
    if inner is not None:
        return partial(_nullable, kind, inner(), struct_writer(kind, inner, version))
    return _binary if kind == pa.binary() else partial(pa.array, type=kind)


def _binary(values: Sequence[bytes | None]) -> pa.Array:
    return binary(values) if len(values) <= FEW else pa.array(values, pa.binary())


def _numbers(kind: pa.DataType, typecode: str, values: Sequence[int]) -> pa.Array:
    numbers = array(typecode, values)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _uuids(values: Sequence[bytes]) -> pa.Array:
    return uuid_texts(b"\0\0".join([*values, b""]), len(values))


def uuid_texts(uuids: bytes, count: int) -> pa.Array:
    """Return uuids, each followed by two zero bytes, as strings in Kafka's format.

    A single call converts all uuids. Every 18 bytes become 24 base64 characters. The first 22 characters are the
    uuid.
    """
    if len(uuids) != 18 * count:
        raise ValueError("expected uuids of 16 bytes")
    text = b2a_base64(uuids, newline=False).translate(_TO_URL)
    padded = pa.Array.from_buffers(pa.binary(24), count, [None, pa.py_buffer(text)])
    return compute.binary_slice(padded, 0, 22).cast(pa.string())


_TO_URL = bytes.maketrans(b"+/", b"-_")


def _nullable(kind: pa.StructType, default: Struct, write: Write, values: list[Struct | None]) -> pa.Array:
    nulls = [value is None for value in values]
    if True not in nulls:
        return write(values)
    columns = write([default if value is None else value for value in values])
    return structs_of(kind, columns.flatten(), pa.array(nulls, pa.bool_()))


def _lists(kind: pa.ListType, write: Write, values: Sequence[Any]) -> pa.Array:
    mask = None
    if None in values:
        mask = pa.array([value is None for value in values], pa.bool_())
        values = [value or [] for value in values]
    ends = compute.cumulative_sum(_numbers(pa.int32(), "i", [0, *map(len, values)]))
    return pa.ListArray.from_arrays(ends, write(list(chain.from_iterable(values))), type=kind, mask=mask)


def _tags(values: Sequence[Any]) -> pa.Array:
    if not any(values):
        return pa.nulls(len(values), TAGS)
    return pa.array([[{"tag": tag, "data": data} for tag, data in tags] or None for tags in values], TAGS)
