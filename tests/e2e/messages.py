"""Requests from tables: a name, a version and the fields as keywords, structs as dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kwire.message import Message
from kwire.schema import Field, struct_class
from kwire.struct import Struct
from kwire_kafka import PROTOCOL


def build(name: str, version: int, fields: Mapping[str, Any]) -> Message:
    """``build("Metadata", 12, {"topics": [{"name": "a"}]})``: one table serves all versions, because fields that a
    version does not have are left out. A field that no version has is a ``KeyError``."""
    cls = PROTOCOL[f"{name}Request"]
    return cls(**_present(cls, version, fields))


def _present(cls: type[Struct], version: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name: field for field in cls.FIELDS}
    unknown = fields.keys() - known.keys()
    if unknown:
        raise KeyError(f"{cls.__name__} has no {sorted(unknown)}")
    values = {}
    for attribute, value in fields.items():
        field = known[attribute]
        if version in field.versions:
            values[attribute] = _value(cls, field, version, value)
    return values


def _value(cls: type[Struct], field: Field, version: int, value: Any) -> Any:
    struct: Any = struct_class(cls, field)
    if value is None or struct is None:
        return value
    if field.is_array:
        return [struct(**_present(struct, version, element)) for element in value]
    return struct(**_present(struct, version, value))


def errors(struct: Struct, path: str = "") -> Iterator[tuple[str, int]]:
    """All error codes of a response that are not 0, with their places, however deep they are."""
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        place = f"{path}.{field.name}" if path else field.name
        if isinstance(value, Struct):
            yield from errors(value, place)
        elif field.name.endswith("error_code") and value:
            yield place, value
        elif isinstance(value, list):
            for index, element in enumerate(value):
                if isinstance(element, Struct):
                    yield from errors(element, f"{place}[{index}]")
