"""The syntax tree: text with positions, and nothing about its meaning.

Every notation produces these nodes. A node has a span for each of its parts, because diagnostics of later passes
point at the part that is wrong. Names are not bound and ranges are not compared here.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kwirec.diagnostics.source import Source, Span
from kwirec.versions import VersionRange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spanned(Generic[T]):
    """A value and where it was written."""

    value: T
    span: Span = field(compare=False, repr=False)


Dialect = typing.Literal["json", "krammar", "franz-go"]
"""JSON, or one of the two dialects of the indentation notation."""

Literal = str | int | float | bool | None
"""A default as written: JSON string, number, boolean or ``null``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """The text of a comment that describes nothing to the compiler, in lines without their signs.

    ``attribute`` is the attribute in JSON that it stands before or behind: ``None`` for the whole node, and empty at
    the end of the node.
    """

    text: str
    attribute: str | None = None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeExpr:
    """A type such as ``int32``, ``[]string`` or ``[]Partition``: a name and the number of ``[]`` before it."""

    name: str
    array_depth: int
    span: Span = field(compare=False, repr=False)
    name_span: Span = field(compare=False, repr=False)

    def __str__(self) -> str:
        return "[]" * self.array_depth + self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDecl:
    """One field. Attributes that were not written are ``None``."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    type: TypeExpr
    versions: Spanned[VersionRange] | None = None
    nullable_versions: Spanned[VersionRange] | None = None
    tagged_versions: Spanned[VersionRange] | None = None
    tag: Spanned[int] | None = None
    flexible_versions: Spanned[VersionRange] | None = None
    default: Spanned[Literal] | None = None
    enum: Spanned[str] | None = None
    ignorable: Spanned[bool] | None = None
    entity_type: Spanned[str] | None = None
    map_key: Spanned[bool] | None = None
    zero_copy: Spanned[bool] | None = None
    about: Spanned[str] | None = None
    struct_about: Spanned[str] | None = None
    aliases: tuple[Spanned[str], ...] = ()
    since: Spanned[str] | None = None
    fields: tuple[FieldDecl, ...] | None = None
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StructDecl:
    """A struct that several fields of a message share (``commonStructs``)."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    versions: Spanned[VersionRange] | None = None
    about: Spanned[str] | None = None
    fields: tuple[FieldDecl, ...] = ()
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderVersionsDecl:
    """Versions of a request or response and the version of their header: one entry of ``headerVersions``."""

    span: Span = field(compare=False, repr=False)
    versions: Spanned[VersionRange]
    header: Spanned[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDecl:
    """One message definition. ``comment`` is the text before it in its file, as it was written; ``comments`` are
    within the definition, or after it. ``dialect`` is that of its file."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    type: Spanned[str]
    api_key: Spanned[int] | None = None
    listeners: tuple[Spanned[str], ...] | None = None
    sent_to: Spanned[str] | None = None
    valid_versions: Spanned[VersionRange] | None = None
    flexible_versions: Spanned[VersionRange] | None = None
    header_versions: tuple[HeaderVersionsDecl, ...] | None = None
    deprecated_versions: Spanned[VersionRange] | None = None
    latest_version_unstable: Spanned[bool] | None = None
    about: Spanned[str] | None = None
    aliases: tuple[Spanned[str], ...] = ()
    fields: tuple[FieldDecl, ...] | None = None
    common_structs: tuple[StructDecl, ...] = ()
    module: str | None = None
    comment: str = ""
    comments: tuple[Comment, ...] = ()
    dialect: Dialect = field(default="json", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumValueDecl:
    """One named value of an enum."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    value: Spanned[int]
    about: Spanned[str] | None = None
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumDecl:
    """Names for the values of integer fields, in a definition of type ``enum``. ``comment`` is the text before it, as
    for messages."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    type: Spanned[str]
    value_type: Spanned[str]
    about: Spanned[str] | None = None
    values: tuple[EnumValueDecl, ...] = ()
    comment: str = ""
    comments: tuple[Comment, ...] = ()
    dialect: Dialect = field(default="json", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDecl:
    """One error code of ``errors.json``; ``since`` is the first release that has it."""

    span: Span = field(compare=False, repr=False)
    code: Spanned[int]
    name: Spanned[str]
    retriable: Spanned[bool]
    since: Spanned[str] | None = None
    about: Spanned[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStruct:
    """A struct that the messages of all files may use. ``build`` gives a message's copy of it, from the versions that
    its fields have if they say nothing, and the flexible versions of the message."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    is_flexible: bool
    franz_go: bool
    build: Callable[[VersionRange, VersionRange], StructDecl] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The messages and enums of one source: usually one of them, many in a ``.jsonl`` bundle.

    ``structs`` are not yet part of messages: ``link`` gives each message those that it uses.
    """

    source: Source = field(compare=False, repr=False)
    messages: tuple[MessageDecl, ...] = ()
    enums: tuple[EnumDecl, ...] = ()
    structs: tuple[NamedStruct, ...] = ()
    notation: str = "json"
    loose_comments: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    """Comments of the indentation notation that belong to what JSON has no place for."""

    @property
    def definitions(self) -> tuple[MessageDecl | EnumDecl, ...]:
        """Everything that JSON has a file for."""
        return (*self.messages, *self.enums)


Node = MessageDecl | StructDecl | FieldDecl | EnumDecl | EnumValueDecl
"""What a definition consists of: everything that has a name and attributes."""

NOUNS: Mapping[type, str] = {
    MessageDecl: "message",
    StructDecl: "struct",
    FieldDecl: "field",
    EnumDecl: "enum",
    EnumValueDecl: "enum value",
    ErrorDecl: "error",
}
"""What each node is called."""

ATTRIBUTES: Mapping[type, Mapping[str, str]] = {
    node: {
        re.sub("_(.)", lambda match: match[1].upper(), field.name): field.name
        for field in dataclasses.fields(node)
        if field.name not in ("span", "module", "comment", "comments", "dialect")
    }
    for node in NOUNS
}
"""The attributes of each node by their names in definitions, ``flexibleVersions`` → ``flexible_versions``."""

_RANGES = {
    node: [(name, attribute) for name, attribute in names.items() if attribute.endswith("versions")]
    for node, names in ATTRIBUTES.items()
}


def ranges(node: MessageDecl | StructDecl | FieldDecl) -> Iterator[tuple[str, Spanned[VersionRange]]]:
    """Every range of versions that was written on the node itself, with the name of its attribute in definitions."""
    for name, attribute in _RANGES[type(node)]:
        written = getattr(node, attribute)
        if isinstance(written, Spanned):
            yield name, written
        else:
            yield from ((name, entry.versions) for entry in written or ())


def walk_field_decls(fields: tuple[FieldDecl, ...] | None) -> Iterator[FieldDecl]:
    """All fields and their inline sub-fields, parents first."""
    for declaration in fields or ():
        yield declaration
        yield from walk_field_decls(declaration.fields)
