"""Generates bytes for messages without a recorded frame. Every field is set, every array has one element, numbers are
small, and strings contain the name of their field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kwire.message import Message
from kwire.schema import BLOBS, Field, present_fields, struct_class
from kwire.struct import Struct
from kwire.uuids import Uuid
from kwire_rules import SIZES

LONGEST = 12
"""Maximum length of a generated string, in characters."""


def synthetic_bytes(cls: type[Message], version: int, given: Mapping[str, int | str] | None = None) -> bytes:
    """Return the bytes of a message. ``given`` maps top-level fields to the values that headers require."""
    message: Message = _Values(version).of(cls)
    for field in present_fields(cls, version):
        if given and field.defined_name in given:
            setattr(message, field.name, given[field.defined_name])
    return message.encode(version)


class _Values:
    def __init__(self, version: int) -> None:
        self.version = version
        self.number = 0

    def of(self, cls: type[Struct]) -> Any:
        struct = cls()
        for field in present_fields(cls, self.version):
            setattr(struct, field.name, self.value(cls, field, field.type))
        return struct

    def value(self, cls: type[Struct], field: Field, kind: str) -> object:
        if kind.startswith("[]"):
            return [self.value(cls, field, kind[2:])]
        if kind in SIZES:
            self.number = self.number % 99 + 1
            size = SIZES[kind]
            return Uuid(range(self.number, self.number + size)) if kind == "uuid" else self.number
        if kind in BLOBS:
            text = "" if kind == "records" else field.name[:LONGEST]
            return text if kind == "string" else text.encode()
        inner = struct_class(cls, field)
        assert inner is not None
        return self.of(inner)
