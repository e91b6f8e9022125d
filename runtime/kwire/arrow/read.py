"""Converting columns to structs of one version."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import compute

from kwire.schema import Field, present_fields, struct_class
from kwire.struct import Struct
from kwire.uuids import Uuid


def structs_from(cls: type[Struct], rows: pa.StructArray, version: int) -> list[Any]:
    """Return a list of structs, one for each row. Null rows become ``None``. Fields that are not in the version get
    their defaults."""
    fields = {field.name: field for field in present_fields(cls, version)}
    names = [column.name for column in rows.type if column.name in fields or column.name == "unknown_tags"]
    columns = [
        _tags(rows.field(name)) if name == "unknown_tags" else _values(cls, fields[name], rows.field(name), version)
        for name in names
    ]
    new: Any = cls
    filled = zip(*columns, strict=True) if columns else [()] * len(rows)
    return [
        new(**dict(zip(names, row, strict=True))) if valid else None
        for row, valid in zip(filled, rows.is_valid().to_pylist(), strict=True)
    ]


def _values(cls: type[Struct], field: Field, column: pa.Array, version: int) -> list[Any]:
    if pa.types.is_list(column.type):
        return _lists(cls, field, column, version)
    inner = struct_class(cls, field)
    if inner is not None:
        return structs_from(inner, column, version)
    values: list[Any] = column.to_pylist()
    if field.element_type == "uuid":
        return [None if text is None else Uuid.parse(text) for text in values]
    return values


def _lists(cls: type[Struct], field: Field, column: pa.ListArray, version: int) -> list[Any]:
    elements = _values(cls, field, column.flatten(), version)  # flatten omits the elements of null lists
    lists: list[list[Any] | None] = []
    start = 0
    for count in compute.list_value_length(column).to_pylist():
        lists.append(None if count is None else elements[start : start + count])
        start += count or 0
    return lists


def _tags(column: pa.ListArray) -> list[tuple[tuple[int, bytes], ...]]:
    return [tuple((tag["tag"], tag["data"]) for tag in tags or ()) for tags in column.to_pylist()]
