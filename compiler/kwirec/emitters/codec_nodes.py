"""The statements of an emitted function, as a tree: the readers and writers make it, the templates spell it.

A node names the template of its wire kind in ``templates/codec/kinds`` and the macro there that spells it. Names,
offsets and conditions are decided when a node is made; what a node contains is spelled by ``code(…)`` inside the
macro.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from kwirec.emitters.ranges import condition
from kwirec.emitters.views import ClassView, FieldView
from kwirec.lowering.coding import FieldCoding, Versions

BULK = ("int8", "int16", "int32", "int64", "uuid")
"""Primitives whose arrays are read by one call."""


@dataclass(frozen=True, kw_only=True)
class Node:
    macro: ClassVar[tuple[str, str]]


Nodes = tuple[Node, ...]


@dataclass(frozen=True, kw_only=True)
class Choice(Node):
    """Statements for some of the versions each; the last condition is empty where no version is left over."""

    macro = "flow", "choice"
    branches: tuple[tuple[str, Nodes], ...]


@dataclass(frozen=True, kw_only=True)
class Advance(Node):
    macro = "flow", "advance"
    width: int


@dataclass(frozen=True, kw_only=True)
class ReadDefault(Node):
    """A field that the version lacks."""

    macro = "flow", "default"
    target: str
    value: str


@dataclass(frozen=True, kw_only=True)
class RequireDefault(Node):
    """A field that the version lacks and that is not ignorable."""

    macro = "flow", "require_default"
    source: str
    field: FieldView


@dataclass(frozen=True, kw_only=True)
class ReadScalar(Node):
    macro = "scalar", "read"
    type: str
    target: str
    at: str


@dataclass(frozen=True, kw_only=True)
class WriteScalar(Node):
    macro = "scalar", "write"
    type: str
    source: str


@dataclass(frozen=True, kw_only=True)
class ReadLength(Node):
    """What begins with a length. ``nullable`` is the condition under which null is allowed.

    ``at`` is the place of the length, ``advance`` the number of bytes read since ``pos`` was stored.
    """

    kind: str
    target: str
    compact: bool
    nullable: str
    at: str
    advance: int


@dataclass(frozen=True, kw_only=True)
class ReadBlob(ReadLength):
    macro = "blob", "read"


@dataclass(frozen=True, kw_only=True)
class ReadArray(ReadLength):
    """``bulk`` is the type of elements that are read by one call, else ``body`` reads one into ``item``.

    ``guard``: elements may take no bytes, so the count is checked first.
    """

    macro = "array", "read"
    bulk: str
    width: int
    item: str
    count: str
    guard: bool
    body: Nodes


@dataclass(frozen=True, kw_only=True)
class WriteLength(Node):
    """What begins with a length. ``optional`` if the attribute can be ``None``, which not all versions may allow."""

    kind: str
    source: str
    local: str
    compact: bool
    nullable: str
    optional: bool


@dataclass(frozen=True, kw_only=True)
class WriteBlob(WriteLength):
    macro = "blob", "write"


@dataclass(frozen=True, kw_only=True)
class WriteArray(WriteLength):
    macro = "array", "write"
    item: str
    body: Nodes


@dataclass(frozen=True, kw_only=True)
class ReadStruct(Node):
    """``tags`` of the struct are ``known``, all ``unknown``, or there are ``none`` since the version is classic."""

    macro = "struct", "read"
    path: str
    target: str
    cls: str
    arguments: tuple[str, ...]
    fields: Nodes
    tags: str
    at: str
    advance: int


@dataclass(frozen=True, kw_only=True)
class ReadNullableStruct(Node):
    macro = "struct", "read_nullable"
    target: str
    tagged: bool
    body: Nodes
    at: str
    advance: int


@dataclass(frozen=True, kw_only=True)
class WriteStruct(Node):
    """``local`` is where the struct is kept, ``source`` where it comes from unless it is there."""

    macro = "struct", "write"
    path: str
    source: str
    local: str
    cls: ClassView
    fields: Nodes
    tags: str


@dataclass(frozen=True, kw_only=True)
class WriteNullableStruct(Node):
    macro = "struct", "write_nullable"
    source: str
    local: str
    nullable: str
    tagged: bool
    body: Nodes


def in_groups(
    fields: Iterable[FieldCoding], parts: Callable[[FieldCoding], tuple[Versions, ...]]
) -> Iterator[tuple[tuple[Versions, ...], list[FieldCoding]]]:
    """Neighbouring fields for which the versions fall into the same ``parts``, so that one test serves them all."""
    for _, group in groupby(fields, key=lambda one: frozenset(parts(one))):
        together = list(group)
        yield parts(together[0]), together


def choice(branches: Sequence[tuple[Versions, Nodes]], versions: Versions) -> Nodes:
    """The branches that have statements, each with its test. Together the branches cover all ``versions``."""
    if len(branches) == 1:
        return branches[0][1]
    tests = [(condition(part, versions), body) for part, body in branches if body]
    if len(tests) == len(branches):
        tests[-1] = ("", tests[-1][1])
    return (Choice(branches=tuple(tests)),) if tests else ()
