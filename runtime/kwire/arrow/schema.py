"""Declared columns → Arrow types.

A declaration is a dict of structs, each a dict of columns: ``"partition": "int32?: Number of the partition."`` has
the type, ``?`` if it may be null, and the description, which becomes the field's metadata under ``comment``.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

Declared = Mapping[str, Mapping[str, str]]
"""Struct → column → type and description."""

SCALARS: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "uuid": pa.string(),
}


def list_of(element: pa.DataType) -> pa.ListType:
    """Elements of arrays are never null [KAFKA-WIRE 15]. They are named as in Spark and in Parquet."""
    return pa.list_(pa.field("element", element, nullable=False))


TAG = pa.struct([pa.field("tag", pa.int32(), nullable=False), pa.field("data", pa.binary(), nullable=False)])
TAGS = list_of(TAG)
TAGS_COMMENT = "Tagged fields that nobody knows: tag and payload, ascending; null if there are none."


def struct_type(declared: Declared, name: str) -> pa.StructType:
    """The type of the struct ``name``, with everything in it."""
    return pa.struct([_field(declared, column, text) for column, text in declared[name].items()])


def _field(declared: Declared, name: str, text: str) -> pa.Field:
    spelled, _, comment = text.partition(": ")
    kind = spelled.removesuffix("?")
    if kind == "tags":
        return pa.field(name, TAGS, metadata={"comment": TAGS_COMMENT})
    metadata = {"comment": comment} if comment else None
    return pa.field(name, _type(declared, kind), nullable=spelled.endswith("?"), metadata=metadata)


def _type(declared: Declared, kind: str) -> pa.DataType:
    if kind.startswith("list<"):
        return list_of(_type(declared, kind.removeprefix("list<").removesuffix(">")))
    return SCALARS[kind] if kind in SCALARS else struct_type(declared, kind)
