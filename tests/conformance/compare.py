"""A value of ours against Kafka's JSON form of the same value."""

from __future__ import annotations

import base64
import pathlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kwire.message import Message
from kwire.schema import present_fields
from kwire.struct import Struct
from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from kwirec.ir import Schema
from kwirec.ir.schema import Message as Definition
from kwirec.ir.schema import Struct as StructDefinition
from kwirec.ir.schema import StructType, base_type

KAFKA = pathlib.Path(__file__).resolve().parents[2] / "message_defs" / "kafka"
ABSENT = object()

Path = tuple[str, ...]
"""The names of fields from the message inwards; in what is compared with the numbers of elements between."""
FormerNames = Mapping[Path, tuple[str, ...]]


def differences(message: Message, json: Any, version: int, known: frozenset[str] | None = None) -> list[str]:
    """Where the two say different things; empty if they are the same value.

    Kafka's form leaves out what the version does not have and tagged fields with their default, knows fields by the
    names they had in the release, and of records has but the size, unless they are null or the release is before 2.7.
    ``known`` are the names of all fields that the message has in the release: Java cannot name a tagged field that
    came later, and keeps it as an unknown one.
    """
    names = former_names().get(type(message).__name__, {})
    flexible = version in type(message).FLEXIBLE_VERSIONS
    return list(_Comparison(version, flexible, names, known).struct(message, json, ()))


@cache
def former_names() -> dict[str, FormerNames]:
    """For each message the former names of its fields, by the path to the field."""
    return {message.name: dict(_aliases(message, message.root, ())) for message in union().messages}


@cache
def union() -> Schema:
    """The definitions that our classes are made of."""
    return load([KAFKA], Report()).schema


def _aliases(message: Definition, struct: StructDefinition, path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for field in struct.fields:
        here = (*path, field.name)
        if field.aliases:
            yield here, field.aliases
        base = base_type(field.type)
        if isinstance(base, StructType):
            yield from _aliases(message, message.struct(base.name), here)


class _Comparison:
    def __init__(self, version: int, flexible: bool, former: FormerNames, known: frozenset[str] | None) -> None:
        self._version = version
        self._flexible = flexible
        self._former = former
        self._known = known

    def struct(self, value: Struct, json: Any, path: Path) -> Iterator[str]:
        if not isinstance(json, dict):
            yield f"{_shown(path)}: {value!r} is {json!r} in Java"
            return
        left = dict(json)
        for field in present_fields(type(value), self._version):
            here = (*path, field.defined_name)
            mine = getattr(value, field.name)
            theirs = self._take(left, here, field.type)
            if theirs is ABSENT:
                if not field.is_tagged:
                    yield f"{_shown(here)}: missing in Java"
                elif self._is_known(here) and mine != field.default:
                    yield f"{_shown(here)}: {mine!r} is the default in Java"
            else:
                yield from self.value(mine, theirs, field.type, here)
        for name in left:
            yield f"{_shown((*path, name))}: only in Java, {left[name]!r}"

    def _take(self, json: dict[str, Any], path: Path, kind: str) -> Any:
        """Remove and give what Java has under the name of a field, or under a name it once had."""
        for candidate in self._names(path):
            key = candidate[0].lower() + candidate[1:]
            size = key + "SizeInBytes"
            if key in json or (kind == "records" and size in json):
                return json.pop(key if key in json else size)
        return ABSENT

    def _is_known(self, path: Path) -> bool:
        return self._known is None or not self._known.isdisjoint(self._names(path))

    def _names(self, path: Path) -> tuple[str, ...]:
        plain = tuple(step for step in path if not step.isdigit())
        return (path[-1], *self._former.get(plain, ()))

    def value(self, mine: Any, theirs: Any, kind: str, path: Path) -> Iterator[str]:
        if mine is None or theirs is None:
            same = mine is theirs
        elif kind.startswith("[]"):
            if not isinstance(theirs, list) or len(mine) != len(theirs):
                yield f"{_shown(path)}: {len(mine)} elements, Java has {theirs!r}"
                return
            for number, (one, other) in enumerate(zip(mine, theirs, strict=True)):
                yield from self.value(one, other, kind[2:], (*path, str(number)))
            return
        elif isinstance(mine, Struct):
            yield from self.struct(mine, theirs, path)
            return
        else:
            kind = "bytes" if kind == "records" and isinstance(theirs, str) else kind  # no type of its own before 2.7
            same = _scalar(mine, kind) == (repr(float(theirs)) if kind == "float64" else theirs)
        if not same:
            yield f"{_shown(path)}: {mine!r} is {theirs!r} in Java"


def _scalar(value: Any, kind: str) -> Any:
    """A value as Kafka's JSON has it. Doubles are compared as text: -0.0 is not 0.0, NaN is NaN."""
    if kind == "uuid":
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    if kind == "bytes":
        return base64.b64encode(value).decode()
    if kind == "records":
        return len(value)
    return repr(value) if kind == "float64" else value


def _shown(path: Path) -> str:
    return ".".join(path) or "the message"
