"""Fields by their place in a message: ``topics[].partitions[].leader_epoch``."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.ir.schema import ArrayType, Field, Message, Struct, StructType, base_type
from kwirec.naming import python_name


def field_paths(message: Message) -> Iterator[tuple[str, Field]]:
    """All fields from the outside in; those of an array's elements have ``[]`` in their path."""
    yield from _below(message, message.root, "")


def _below(message: Message, struct: Struct, prefix: str) -> Iterator[tuple[str, Field]]:
    for one in struct.fields:
        path = f"{prefix}{python_name(one.name)}"
        yield path, one
        base = base_type(one.type)
        if isinstance(base, StructType):
            array = "[]" if isinstance(one.type, ArrayType) else ""
            yield from _below(message, message.struct(base.name), f"{path}{array}.")


def parent(path: str) -> str:
    """The path of the field around a field, ``""`` for one at the top."""
    return path.rpartition(".")[0].removesuffix("[]")
