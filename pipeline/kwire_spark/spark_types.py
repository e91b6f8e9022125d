"""Converts Arrow types to Spark's, so that columns and their descriptions are defined in one place.

The description of a field is in its metadata under ``comment``, in Arrow as in Spark, where ``DESCRIBE`` and catalogs
show it. Arrow types that Spark lacks (unsigned and half-precision numbers, unions) are a ``TypeError``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import types

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

COMMENT = b"comment"


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of an Arrow schema: same names, same order, null where Arrow allows it."""
    from pyspark.sql.types import StructType

    return StructType([_field(field) for field in schema])


def selected(schema: pa.Schema, asked: StructType) -> pa.Schema:
    """The requested columns of ``schema``, in the requested order.

    Raises ``ValueError`` for a column that does not exist or has a different type.
    """
    columns = []
    for wanted in asked.fields:
        index = schema.get_field_index(wanted.name)
        if index < 0:
            raise ValueError(f"there is no column {wanted.name!r}, only {', '.join(schema.names)}")
        if _bare(spark_type(schema.field(index).type)) != _bare(wanted.dataType):
            kind = spark_type(schema.field(index).type).simpleString()
            raise ValueError(f"column {wanted.name!r} is {kind}, not {wanted.dataType.simpleString()}")
        columns.append(schema.field(index))
    return pa.schema(columns)


def spark_type(kind: pa.DataType) -> DataType:
    """The Spark type of values of an Arrow type."""
    from pyspark.sql.types import ArrayType, StructType

    if types.is_struct(kind):
        return StructType([_field(kind.field(number)) for number in range(kind.num_fields)])
    if types.is_list(kind) or types.is_large_list(kind):
        return ArrayType(spark_type(kind.value_type), kind.value_field.nullable)
    for matches, name in _SCALARS:
        if matches(kind):
            return _scalar(name)
    raise TypeError(f"Spark has no type for {kind}")


_SCALARS = (
    (types.is_boolean, "BooleanType"),
    (types.is_int8, "ByteType"),
    (types.is_int16, "ShortType"),
    (types.is_int32, "IntegerType"),
    (types.is_int64, "LongType"),
    (types.is_float32, "FloatType"),
    (types.is_float64, "DoubleType"),
    (types.is_string, "StringType"),
    (types.is_large_string, "StringType"),
    (types.is_binary, "BinaryType"),
    (types.is_large_binary, "BinaryType"),
    (lambda kind: types.is_timestamp(kind) and kind.tz is not None, "TimestampType"),
    (lambda kind: types.is_timestamp(kind) and kind.tz is None, "TimestampNTZType"),
    (types.is_date32, "DateType"),
)


def _scalar(name: str) -> DataType:
    from pyspark.sql import types as spark

    made: DataType = getattr(spark, name)()
    return made


def _field(field: pa.Field) -> StructField:
    from pyspark.sql.types import StructField

    comment = (field.metadata or {}).get(COMMENT)
    metadata = {} if comment is None else {"comment": comment.decode()}
    return StructField(field.name, spark_type(field.type), field.nullable, metadata)


def _bare(kind: DataType) -> str:
    """Names and types, without comments and nullability."""
    return kind.simpleString()
