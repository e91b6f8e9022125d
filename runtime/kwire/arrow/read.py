"""Columns → structs: the way back, of one version."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyarrow import compute

from kwire.explain.place import struct_class, within
from kwire.message import Struct
from kwire.uuids import Uuid


def structs_from(cls: type[Struct], rows: pa.StructArray, version: int) -> list[Any]:
    """The structs that ``rows`` are columns of, ``None`` for null. What the version lacks has its default."""
    live = {spec[0]: spec[2] for spec in cls.FIELDS if within(version, spec[3])}
    present = [field.name for field in rows.type if field.name in live or field.name == "unknown_tags"]
    columns = [
        _tags(rows.field(name)) if name == "unknown_tags" else _values(cls, live[name], rows.field(name), version)
        for name in present
    ]
    made: Any = cls  # takes the fields as keywords
    filled = zip(*columns, strict=True) if columns else [()] * len(rows)
    return [
        made(**dict(zip(present, row, strict=True))) if valid else None
        for row, valid in zip(filled, rows.is_valid().to_pylist(), strict=True)
    ]


def _values(cls: type[Struct], spelled: str, column: pa.Array, version: int) -> list[Any]:
    if spelled.startswith("[]"):
        return _lists(cls, spelled.removeprefix("[]"), column, version)
    if pa.types.is_struct(column.type):
        return structs_from(struct_class(cls, spelled), column, version)
    if spelled == "uuid":
        return [None if text is None else Uuid.parse(text) for text in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values


def _lists(cls: type[Struct], spelled: str, column: pa.ListArray, version: int) -> list[Any]:
    elements = _values(cls, spelled, column.flatten(), version)  # which leaves out what null lists would hold
    lists: list[list[Any] | None] = []
    start = 0
    for count in compute.list_value_length(column).to_pylist():
        lists.append(None if count is None else elements[start : start + count])
        start += count or 0
    return lists


def _tags(column: pa.ListArray) -> list[tuple[tuple[int, bytes], ...]]:
    return [tuple((one["tag"], one["data"]) for one in tags or ()) for tags in column.to_pylist()]
