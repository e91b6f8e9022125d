"""Converting codec classes to Arrow types with the fields of all versions."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyarrow as pa

from kwire.enums import as_dict
from kwire.errors import UnknownColumnError
from kwire.message import Message
from kwire.schema import Field, description, enum_class, format_versions, struct_class
from kwire.struct import Struct
from kwire_rules import NUMBERS

SCALARS: dict[str, pa.DataType] = {kind: pa.type_for_alias(kind) for kind in NUMBERS} | {
    "uint16": pa.int32(),  # Spark has no unsigned types
    "uint32": pa.int64(),
    "string": pa.string(),
    "uuid": pa.string(),
    "bytes": pa.binary(),
    "records": pa.binary(),
}


def list_of(element: pa.DataType) -> pa.ListType:
    """Return a list type. Elements are never null [KAFKA-WIRE 15]. The field of the elements is named ``element``, as
    in Spark and Parquet."""
    return pa.list_(pa.field("element", element, nullable=False))


TAG = pa.struct([pa.field("tag", pa.int32(), nullable=False), pa.field("data", pa.binary(), nullable=False)])
TAGS = list_of(TAG)
TAGS_COMMENT = "Tags and payloads of unknown tagged fields, in ascending order of tags, or null."

Usage = dict[type[Struct], set[int]]
"""The versions of the message in which each struct class is used."""


def message_type(message: type[Message]) -> pa.StructType:
    """Return a struct type with all fields of all versions.

    A column is nullable if any version lacks the field or allows null. The metadata of a column contains the field's
    description in ``comment`` and the names of its values, as JSON, in ``enum``.
    """
    usage: Usage = {}
    _add_usage(message, set(message.VALID_VERSIONS), usage)
    return _struct_type(message, message, usage)


def _add_usage(cls: type[Struct], versions: set[int], usage: Usage) -> None:
    usage.setdefault(cls, set()).update(versions)
    for field in cls.FIELDS:
        inner = struct_class(cls, field)
        if inner is not None:
            _add_usage(inner, versions.intersection(field.versions), usage)


def _struct_type(message: type[Message], cls: type[Struct], usage: Usage) -> pa.StructType:
    columns = []
    for field in cls.FIELDS:
        present = usage[cls].intersection(field.versions)
        if present:
            always = present == usage[cls] and not present.intersection(field.nullable)
            metadata = {"comment": _comment(message, cls, field)}
            if (enum := enum_class(cls, field)) is not None:
                metadata["enum"] = json.dumps(as_dict(enum))
            kind = _type(message, cls, field, usage)
            nullable = not always or field.type == "records"
            columns.append(pa.field(field.name, kind, nullable=nullable, metadata=metadata))
    if usage[cls].intersection(cls.FLEXIBLE_VERSIONS):
        columns.append(pa.field("unknown_tags", TAGS, metadata={"comment": TAGS_COMMENT}))
    return pa.struct(columns)


def _type(message: type[Message], cls: type[Struct], field: Field, usage: Usage) -> pa.DataType:
    inner = struct_class(cls, field)
    kind = SCALARS[field.element_type] if inner is None else _struct_type(message, inner, usage)
    return list_of(kind) if field.is_array else kind


def selected(kind: pa.StructType, paths: Iterable[str], of: str) -> pa.StructType:
    """Return a struct type with only the columns of ``kind`` at these paths and all columns nested in them, in the
    original order."""
    below: dict[str, list[str]] = {}
    for path in paths:
        name, _, rest = path.partition(".")
        if kind.get_field_index(name) < 0:
            raise UnknownColumnError(name, [column.name for column in kind], of=of)
        below.setdefault(name, []).append(rest)
    return pa.struct([_narrowed(column, below[column.name], of) for column in kind if column.name in below])


def _narrowed(column: pa.Field, paths: list[str], of: str) -> pa.Field:
    """Return ``column`` with only the nested columns at these paths, or with all nested columns if a path is
    empty."""
    if "" in paths:
        return column
    path = f"{of}.{column.name}"
    inner = column.type.value_type if pa.types.is_list(column.type) else column.type
    if not pa.types.is_struct(inner) or inner == TAG:
        raise UnknownColumnError(paths[0], of=path)
    narrowed = selected(inner, paths, path)
    return column.with_type(list_of(narrowed) if pa.types.is_list(column.type) else narrowed)


def _comment(message: type[Message], cls: type[Struct], field: Field) -> str:
    """Return the field's description, followed by its versions unless it is in all versions."""
    text = description(cls, field.name)
    if field.versions == message.VALID_VERSIONS:
        return text
    return f"{text} Versions {format_versions(field.versions, message.VALID_VERSIONS)}.".strip()
