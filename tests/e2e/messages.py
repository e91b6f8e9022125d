"""Requests from tables: a name, a version and the fields as keywords, structs as dicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from kwire.message import Message, Struct
from kwire_kafka import PROTOCOL


def build(name: str, version: int, fields: Mapping[str, Any]) -> Message:
    """``build("Metadata", 12, {"topics": [{"name": "a"}]})``: one table serves all versions, because fields that a
    version does not have are left out. A field that no version has is a ``KeyError``."""
    cls = PROTOCOL.message(f"{name}Request")
    return cls(**_present(cls, version, fields))


def _present(cls: type[Struct], version: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    specs = {spec[0]: spec for spec in cls.FIELDS}
    unknown = fields.keys() - specs.keys()
    if unknown:
        raise KeyError(f"{cls.__name__} has no {sorted(unknown)}")
    values = {}
    for attribute, value in fields.items():
        _, _, kind, (first, last), *_ = specs[attribute]
        if first <= version <= last:
            values[attribute] = _value(cls, kind, version, value)
    return values


def _value(cls: type[Struct], kind: str, version: int, value: Any) -> Any:
    struct = getattr(sys.modules[cls.__module__], kind.removeprefix("[]"), None)
    if value is None or struct is None:
        return value
    if kind.startswith("[]"):
        return [struct(**_present(struct, version, element)) for element in value]
    return struct(**_present(struct, version, value))


def errors(struct: Struct, path: str = "") -> Iterator[tuple[str, int]]:
    """All error codes of a response that are not 0, with their places, however deep they are."""
    for attribute, *_ in struct.FIELDS:
        value = getattr(struct, attribute)
        place = f"{path}.{attribute}" if path else attribute
        if isinstance(value, Struct):
            yield from errors(value, place)
        elif attribute.endswith("error_code") and value:
            yield place, value
        elif isinstance(value, list):
            for index, element in enumerate(value):
                if isinstance(element, Struct):
                    yield from errors(element, f"{place}[{index}]")
