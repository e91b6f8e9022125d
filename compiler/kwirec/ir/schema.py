"""The intermediate representation, which mirrors the definitions but has resolved names and typed defaults.

Version ranges are kept as declared. Each node refers to its declaration in ``decl``, so that rules can point to the
source text.
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
    """An object with a name, such as a field of a schema, layout or draft."""

    @property
    def name(self) -> str: ...


class MessageKind(enum.Enum):
    """The purpose of a message, which determines its framing and attributes."""

    REQUEST = "request"
    RESPONSE = "response"
    HEADER = "header"
    DATA = "data"
    METADATA = "metadata"
    COORDINATOR_KEY = "coordinator-key"
    COORDINATOR_VALUE = "coordinator-value"


PRIMITIVES = (*NUMBERS, "string", "uuid", "bytes", "records")
NO_WIRE_KIND = frozenset({"varint", "varlong", "varint-string", "varint-bytes", "varint-array", "length-field-minus"})
"""Types in the indentation notation that occur in records but not in messages."""
NULLABLE_PRIMITIVES = frozenset({"string", "bytes", "records"})

ENTITY_TYPES = {
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
"""The primitive type for each entity type in Kafka's schemas."""


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class StructType:
    """A reference by name to a struct of the same message. Structs can be used before they are defined."""

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
    """Return the innermost element type of nested arrays, or the type itself."""
    while isinstance(type_, ArrayType):
        type_ = type_.element
    return type_


def with_base(type_: Type, base: PrimitiveType | StructType) -> Type:
    """Return the type with its innermost element type replaced by ``base``."""
    return ArrayType(with_base(type_.element, base)) if isinstance(type_, ArrayType) else base


Default = int | float | bool | str | bytes | None
"""A typed default. Uuids are 16 ``bytes``. ``None`` is null, the only explicit default of arrays and structs."""


class Implicit(enum.Enum):
    """Marks the default of a field that does not state one. It is zero, empty, or a struct with default values."""

    IMPLICIT = "implicit"


IMPLICIT = Implicit.IMPLICIT


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumValue:
    """A named integer value."""

    name: str
    value: int
    doc: str = field(default="", compare=False)
    decl: EnumValueDecl = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enum:
    """Names for the values of an integer field. Peers may send other values."""

    name: str
    type: PrimitiveType
    values: tuple[EnumValue, ...]
    doc: str = field(default="", compare=False)
    decl: EnumDecl = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a struct. A field has both ``tag`` and ``tagged``, or neither. ``flexible`` overrides the
    message's flexible versions for the encoding of the field's length.
    """

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
    """Fields in wire order. The root struct has the message's name. Fields refer to ``common`` structs by name."""

    name: str
    versions: VersionRange
    fields: tuple[Field, ...]
    common: bool = False
    doc: str = field(default="", compare=False)
    decl: StructDecl | FieldDecl | MessageDecl = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message with all its versions.

    ``structs`` contains the root, followed by the other structs in definition order. ``headers`` contains the header
    versions that the definition states. It is empty if they follow from ``flexible``.
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
        """The log that contains this record, or ``""`` for requests and responses.

        Kafka's generator runs once per module, and several modules number their own records from 0. The log is the
        module that a bundle names, or else the folder of the definition.
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
        """The valid versions in which the message contains each struct, by struct name."""
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
    """Return the members of ``versions`` in which the struct ``root`` contains each struct, by struct name.

    ``uses`` lists, for each struct, the structs in its fields and the versions of these fields. Structs that are not
    keys of ``uses`` are ignored. Structs may be recursive.
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
    """Return the members of ``versions`` that are in ``own``.

    Results are cached so that fields share them, because a set of 1000 versions takes 32 kB.
    """
    return frozenset(version for version in versions if version in own)


@lru_cache(1024)
def _all_of(versions: VersionRange) -> frozenset[int]:
    return frozenset(versions)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """A whole protocol, with messages and enums in file order."""

    messages: tuple[Message, ...]
    enums: tuple[Enum, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, Message]:
        return {message.name: message for message in self.messages}

    def message(self, name: str) -> Message | None:
        """Return the message of this name, or ``None``."""
        return self._by_name.get(name)

    def pairs(self) -> Iterator[tuple[int, Message | None, Message | None]]:
        """Yield each api key with its request and response. One of them may be ``None``.

        A definition without versions only reserves its key, so a definition with versions takes precedence.
        """
        reserved_first = sorted(self.messages, key=lambda message: bool(message.valid))
        requests = {m.api_key: m for m in reserved_first if m.kind is MessageKind.REQUEST}
        responses = {m.api_key: m for m in reserved_first if m.kind is MessageKind.RESPONSE}
        keys = {key for key in (*requests, *responses) if key is not None}
        for key in sorted(keys):
            yield key, requests.get(key), responses.get(key)


def name_overlap(some: Iterable[Named], others: Iterable[Named]) -> float:
    """Return the proportion of shared names, from 0 to 1. More than half suggests a renamed object."""
    mine, theirs = ({one.name for one in both} for both in (some, others))
    return len(mine & theirs) / max(len(mine), len(theirs), 1)
