"""Spark's schemas say what Arrow's do: names, types, nulls, descriptions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from syrupy.assertion import SnapshotAssertion

from kwire_inspect import schemas
from kwire_spark.types import selected, spark_schema, spark_type

NAMES = ("FRAMES", "EXCHANGES", "REFUSALS", "RECORDS", "PACKETS", "CLIENTS", "COUNTED", "PROBLEMS")
TABLES = {name: getattr(schemas, name) for name in NAMES}


def test_the_columns_of_all_tables(snapshot: SnapshotAssertion) -> None:
    """Names, types and descriptions, which queries and readers of tables rely on."""
    lines = []
    for table, schema in TABLES.items():
        lines += [table, *(f"  {one.name} {one.type}: {one.metadata[b'comment'].decode()}" for one in schema), ""]
    assert "\n".join(lines) == snapshot


@pytest.mark.parametrize("name", TABLES)
def test_all_tables_have_spark_schemas_with_comments(name: str) -> None:
    schema = spark_schema(TABLES[name])
    assert schema.names == TABLES[name].names
    for field, column in zip(schema.fields, TABLES[name], strict=True):
        assert field.metadata == {"comment": column.metadata[b"comment"].decode()}


def test_nested_columns_keep_comments_and_nullability() -> None:
    assert spark_schema(pa.schema([("l", pa.large_list(pa.int16()))])).simpleString() == "struct<l:array<smallint>>"
    inner = pa.struct([pa.field("x", pa.int16(), nullable=False, metadata={"comment": "An x."}), ("y", pa.binary())])
    schema = spark_schema(
        pa.schema([("l", pa.list_(pa.field("element", inner, nullable=False))), ("d", pa.float64())])
    )
    assert schema.simpleString() == "struct<l:array<struct<x:smallint,y:binary>>,d:double>"
    array = schema["l"].dataType
    assert not array.containsNull  # type: ignore[attr-defined]
    x, y = array.elementType.fields  # type: ignore[attr-defined]
    assert (x.nullable, x.metadata, y.nullable, y.metadata) == (False, {"comment": "An x."}, True, {})


def test_types_are_those_that_spark_itself_gives_back() -> None:
    for schema in TABLES.values():
        for field in to_arrow_schema(spark_schema(schema), timezone="UTC"):
            assert spark_type(field.type) == spark_type(schema.field(field.name).type)


def test_what_spark_lacks_is_named() -> None:
    with pytest.raises(TypeError, match="uint32"):
        spark_schema(pa.schema([("a", pa.list_(pa.uint32()))]))


def asked(text: str) -> StructType:
    schema = StructType.fromDDL(text)
    assert isinstance(schema, StructType)
    return schema


def test_columns_are_selected_in_the_order_in_which_they_are_asked_for(spark: object) -> None:
    chosen = selected(schemas.FRAMES, asked("time timestamp, api_key smallint"))
    assert chosen == pa.schema([schemas.FRAMES.field("time"), schemas.FRAMES.field("api_key")])
    with pytest.raises(ValueError, match="unknown column 'colour', expected one of source, position"):
        selected(schemas.FRAMES, asked("time timestamp, colour string"))
    with pytest.raises(ValueError, match="column 'api_key' is smallint, not string"):
        selected(schemas.FRAMES, asked("api_key string"))
