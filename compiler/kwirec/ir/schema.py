"""The rich intermediate representation: messages as their authors think of them, names bound, defaults typed.

Ranges stay as declared. Every node keeps its syntax in ``decl``, so that rules can point at it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Protocol

from kwire_rules import NUMBERS
from kwirec.frontend.syntax import EnumDecl, EnumValueDecl, FieldDecl, MessageDecl, StructDecl
from kwirec.versions import NONE, VersionRange


class Named(Protocol):
    """Anything with a name: fields of a schema, of a layout, of a draft."""

    @property
    def name(self) -> str: ...


class MessageKind(enum.Enum):
    """The purpose of a message, which decides its framing and its attributes."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    DATA = "data"
    METADATA = "metadata"
    COORDINATOR_KEY = "coordinator-key"
    COORDINATOR_VALUE = "coordinator-value"


PRIMITIVES = (*NUMBERS, "string", "uuid", "bytes", "records")
NO_WIRE_KIND = frozenset({"varint", "varlong", "varint-string", "varint-bytes", "varint-array", "length-field-minus"})
"""Types of the indentation notation that only records have, not messages."""
NULLABLE_PRIMITIVES = frozenset({"string", "bytes", "records"})

ENTITY_TYPES = {
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
"""The entity types of Kafka's schemas and the primitive type of each."""


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct of the same message, by name: structs may mention each other before they are defined."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class ArrayType:
    element: Type

    def __str__(self) -> str:
        return f"[]{self.element}"


Type = PrimitiveType | StructType | ArrayType


def base_type(type_: Type) -> PrimitiveType | StructType:
    """Return the type below all arrays."""
    while isinstance(type_, ArrayType):
        type_ = type_.element
    return type_


def with_base(type_: Type, base: PrimitiveType | StructType) -> Type:
    """Return the type with a different element type inside its arrays."""
    return ArrayType(with_base(type_.element, base)) if isinstance(type_, ArrayType) else base


Default = int | float | bool | str | bytes | None
"""A typed default. ``bytes`` also for uuids (16 of them). Arrays and structs: ``None`` for null."""


class Implicit(enum.Enum):
    """Marks a field without a default of its own: zero, empty, or a struct of defaults."""

    IMPLICIT = "implicit"


IMPLICIT = Implicit.IMPLICIT


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumValue:
    """A name for one value of an integer."""

    name: str
    value: int
    doc: str = field(default="", compare=False)
    decl: EnumValueDecl = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enum:
    """Names for values of integer fields. Peers may send values that it lacks."""

    name: str
    type: PrimitiveType
    values: tuple[EnumValue, ...]
    doc: str = field(default="", compare=False)
    decl: EnumDecl = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a struct. ``tag`` and ``tagged`` come together; ``flexible`` overrides the length coding only."""

    name: str
    type: Type
    versions: VersionRange
    nullable: VersionRange = NONE
    tagged: VersionRange = NONE
    tag: int | None = None
    flexible: VersionRange | None = None
    default: Default | Implicit = IMPLICIT
    enum: Enum | None = None
    ignorable: bool = False
    entity_type: str | None = None
    map_key: bool = False
    zero_copy: bool = False
    doc: str = field(default="", compare=False)
    aliases: tuple[str, ...] = field(default=(), compare=False)
    since: str | None = field(default=None, compare=False)
    decl: FieldDecl = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Struct:
    """Fields in wire order. The root struct has the name of its message; ``common`` ones have uses by name."""

    name: str
    versions: VersionRange
    fields: tuple[Field, ...]
    common: bool = False
    doc: str = field(default="", compare=False)
    decl: StructDecl | FieldDecl | MessageDecl = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message with all its versions.

    ``structs`` holds the root first, then the other structs in definition order. ``headers`` has the header versions
    that the definition gives. It is empty if they follow from ``flexible``.
    """

    name: str
    kind: MessageKind
    api_key: int | None
    listeners: tuple[str, ...]
    valid: VersionRange
    flexible: VersionRange
    deprecated: VersionRange
    latest_unstable: bool
    headers: tuple[tuple[VersionRange, int], ...] = ()
    structs: tuple[Struct, ...]
    module: str | None = field(default=None, compare=False)
    doc: str = field(default="", compare=False)
    aliases: tuple[str, ...] = field(default=(), compare=False)
    decl: MessageDecl = field(compare=False, repr=False)

    @property
    def root(self) -> Struct:
        return self.structs[0]

    @property
    def is_rpc(self) -> bool:
        return self.kind in (MessageKind.REQUEST, MessageKind.RESPONSE)

    @property
    def log(self) -> str:
        """The log that this is a record of, empty for requests and responses.

        Kafka's generator runs once for each module, and several modules number their own records from 0. Bundles
        record the module; otherwise it is the folder of the definition.
        """
        if self.is_rpc:
            return ""
        return self.module or str(PurePosixPath(self.decl.name.span.source.name).parent)

    @cached_property
    def _by_name(self) -> dict[str, Struct]:
        return {struct.name: struct for struct in self.structs}

    def struct(self, name: str) -> Struct:
        return self._by_name[name]

    @cached_property
    def usage(self) -> dict[str, frozenset[int]]:
        """For every struct the valid versions in which some field of the message contains it."""
        everywhere = _all_of(self.valid) if not self.valid.is_open else frozenset[int]()
        uses = {
            struct.name: [
                (base.name, inner.versions)
                for inner in struct.fields
                if isinstance(base := base_type(inner.type), StructType)
            ]
            for struct in self.structs
        }
        return usage(self.root.name, everywhere, uses)


def usage(
    root: str, versions: frozenset[int], uses: Mapping[str, Iterable[tuple[str, VersionRange | frozenset[int]]]]
) -> dict[str, frozenset[int]]:
    """Return for every struct the versions in which the struct ``root`` contains it. ``root`` has ``versions``.

    ``uses`` has the structs that the fields of each struct contain, with the versions of the field. Other structs are
    ignored. Structs may contain themselves.
    """
    used = {name: frozenset[int]() for name in uses}
    pending = [(root, versions)]
    while pending:
        name, versions = pending.pop()
        if not versions <= used[name]:
            used[name] = used[name] | versions if used[name] else versions
            pending += [(to, within(versions, own)) for to, own in uses[name] if to in uses]
    return used


@lru_cache(1024)
def within(versions: frozenset[int], own: VersionRange | frozenset[int]) -> frozenset[int]:
    """Return the members of ``versions`` that are in ``own``. Fields share the sets, because a set of 1000 versions
    has 32 kB.
    """
    return frozenset(version for version in versions if version in own)


@lru_cache(1024)
def _all_of(versions: VersionRange) -> frozenset[int]:
    return frozenset(versions)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A whole protocol: messages and enums in the order of their files."""

    messages: tuple[Message, ...]
    enums: tuple[Enum, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Message]:
        return {message.name: message for message in self.messages}

    def message(self, name: str) -> Message | None:
        """Return the message of this name, or ``None``."""
        return self._by_name.get(name)

    def pairs(self) -> Iterator[tuple[int, Message | None, Message | None]]:
        """Yield requests with their responses by api key, with ``None`` for a missing half.

        A definition without versions only reserves its key. A definition with versions has precedence.
        """
        reserved_first = sorted(self.messages, key=lambda message: bool(message.valid))
        requests = {m.api_key: m for m in reserved_first if m.kind is MessageKind.REQUEST}
        responses = {m.api_key: m for m in reserved_first if m.kind is MessageKind.RESPONSE}
        keys = {key for key in (*requests, *responses) if key is not None}
        for key in sorted(keys):
            yield key, requests.get(key), responses.get(key)


def name_overlap(some: Iterable[Named], others: Iterable[Named]) -> float:
    """Return the share of names that both have, from 0 to 1. About half suggests the same thing under a new name."""
    mine, theirs = ({one.name for one in both} for both in (some, others))
    return len(mine & theirs) / max(len(mine), len(theirs), 1)
