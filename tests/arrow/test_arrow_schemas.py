"""Schemas are what the compiler says of the protocol: names, types, nulls and descriptions, for all versions."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from syrupy.assertion import SnapshotAssertion

from kwire.message import Message
from kwire.schema import Field, struct_class
from kwire.struct import Struct
from kwire_kafka.arrow import ARROW
from tests.properties.values import NAMES

TYPES = {
    "uint16": pa.int32(),
    "uint32": pa.int64(),
    "bytes": pa.binary(),
    "records": pa.binary(),
    "uuid": pa.string(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "float64": pa.float64(),
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
}
"""By the type in FIELDS of the codec classes."""

TAGS = "list<element: struct<tag: int32 not null, data: binary not null> not null>"


Usage = dict[type[Struct], set[int]]
"""The versions that have a struct, wherever in the message."""


def usage(message: type[Message]) -> Usage:
    used: Usage = {}
    pending: list[tuple[type[Struct], list[int]]] = [(message, list(message.VALID_VERSIONS))]
    for cls, versions in pending:
        used.setdefault(cls, set()).update(versions)
        for field in cls.FIELDS:
            inner = struct_class(cls, field)
            if inner is not None:
                pending.append((inner, [version for version in versions if version in field.versions]))
    return used


def derived(message: type[Message], cls: type[Struct], used: Usage) -> dict[str, tuple[str, bool]]:
    """Type and whether it may be null, by column: from the codec class alone."""
    columns = {}
    for field in cls.FIELDS:
        live = {version for version in used[cls] if version in field.versions}
        if live:
            always = live == used[cls] and not any(version in field.nullable for version in live)
            columns[field.name] = (
                type_of(message, cls, field, field.type, used),
                field.type == "records" or not always,
            )
    if any(version in message.FLEXIBLE_VERSIONS for version in used[cls]):
        columns["unknown_tags"] = TAGS, True
    return columns


def type_of(message: type[Message], cls: type[Struct], field: Field, kind: str, used: Usage) -> str:
    if kind.startswith("[]"):
        return f"list<element: {type_of(message, cls, field, kind[2:], used)} not null>"
    owner = struct_class(cls, field)
    if owner is None:
        return str(TYPES[kind])
    inner = derived(message, owner, used).items()
    return f"struct<{', '.join(f'{name}: {what}{spelled(null)}' for name, (what, null) in inner)}>"


def spelled(nullable: bool) -> str:
    return "" if nullable else " not null"


def test_every_schema_is_that_of_the_codec_class() -> None:
    for name in NAMES:
        columns = ARROW[name]
        shown = [(field.name, (str(field.type), field.nullable)) for field in columns.schema]
        expected = derived(columns.message, columns.message, usage(columns.message))
        assert shown == list(expected.items()), name


def described(schema: pa.Schema, indent: str = "") -> Iterator[str]:
    """A line for each column, with its description."""
    for field in schema:
        kind, mark = field.type, spelled(field.nullable)
        comment = (field.metadata or {}).get(b"comment", b"").decode()
        arrays = ""
        while pa.types.is_list(kind):
            kind, arrays = kind.value_type, f"{arrays}[]"
        yield f"{indent}{field.name}: {arrays}{'struct' if pa.types.is_struct(kind) else kind}{mark} - {comment}"
        if pa.types.is_struct(kind) and field.name != "unknown_tags":
            yield from described(kind, f"{indent}    ")


@pytest.mark.parametrize("name", ["ProduceRequest", "ProduceResponse", "ConsumerGroupMemberMetadataValue"])
def test_what_a_schema_says(name: str, snapshot: SnapshotAssertion) -> None:
    assert "\n".join(described(ARROW[name].schema)) == snapshot


def test_every_column_has_a_description() -> None:
    for name in NAMES:
        missing = [line for line in described(ARROW[name].schema) if line.endswith(" - ")]
        assert not missing, name
