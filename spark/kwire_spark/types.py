"""Converts Arrow types to Spark types, so that columns and their descriptions need to be defined only once.

Arrow and Spark both store a field's description under ``comment`` in its metadata. ``DESCRIBE`` and catalogs display
the description. Arrow types that Spark lacks (unsigned integers, half-precision floats, unions) raise ``TypeError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql.types import DataType, StructType


def spark_schema(columns: Iterable[pa.Field]) -> StructType:
    """Return the Spark schema for an Arrow schema, with the same names, order and nullability."""
    from pyspark.sql.types import StructType

    schema = StructType()
    for field in columns:
        metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        schema.add(field.name, spark_type(field.type), field.nullable, metadata)
    return schema


def spark_type(kind: pa.DataType) -> DataType:
    """Return the Spark type for values of an Arrow type."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import ArrayType

    # pyspark's function would lose the comments of nested fields
    if types.is_struct(kind):
        return spark_schema(kind)
    if types.is_list(kind) or types.is_large_list(kind):
        return ArrayType(spark_type(kind.value_type), kind.value_field.nullable)
    return from_arrow_type(kind)


def selected(schema: pa.Schema, asked: StructType) -> pa.Schema:
    """Return the columns of ``schema`` that ``asked`` contains, in the order of ``asked``.

    Raises ``ValueError`` if a column does not exist or has a different type. Comments and nullability may differ.
    """
    columns = []
    for wanted in asked.fields:
        if wanted.name not in schema.names:
            raise ValueError(f"unknown column {wanted.name!r}, expected one of {', '.join(schema.names)}")
        column = schema.field(wanted.name)
        kind, asked_kind = spark_type(column.type).simpleString(), wanted.dataType.simpleString()
        if kind != asked_kind:
            raise ValueError(f"column {wanted.name!r} is {kind}, not {asked_kind}")
        columns.append(column)
    return pa.schema(columns)
