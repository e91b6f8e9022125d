"""The syntax tree, which represents text and positions but not meaning.

Every notation produces these nodes. A node has a span for each of its parts, so that diagnostics of later passes can
point at the part that is wrong. Names are resolved and ranges are compared later.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Generic, TypeVar

from kwirec.diagnostics.source import Source, Span
from kwirec.versions import NONE, VersionRange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spanned(Generic[T]):
    """A value and its place in the source."""

    value: T
    span: Span = field(compare=False, repr=False)


Dialect = typing.Literal["json", "krammar", "franz-go"]
"""JSON, or one of the two dialects of the indentation notation."""

Literal = str | int | float | bool | None
"""A default as written: a JSON string, number, boolean or ``null``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment that is not a description. ``text`` contains the lines of the comment without comment signs.

    ``attribute`` is the JSON attribute to which the comment belongs. It is ``None`` for a comment on the whole node,
    and empty for a comment at the end of the node.
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


@dataclass(frozen=True, slots=True)
class Word:
    """The word for an attribute in the indentation notation. The word is ``form``. If each JSON value has its own
    word, the words are the keys of ``values``.

    In a form, capitals and ``vN+`` stand for the value. ``NAME …`` stands for several names, and ``, …`` marks a word
    that can be repeated. ``franz_go`` is true if franz-go knows the word. ``code`` is true if the word needs special
    code because its meaning depends on other words. A ``silent`` value has no effect and is not written. Attributes
    without a word have their own syntax.
    """

    form: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    franz_go: bool = False
    code: bool = False
    silent: object = None

    @property
    def name(self) -> str:
        """The word without its value, such as ``entity`` for ``entity NAME``."""
        return " ".join(itertools.takewhile(re.compile("[a-z]+").fullmatch, self.form.split()))

    @property
    def repeats(self) -> bool:
        return self.form.endswith(", …")


def word(form: str = "", **details: Any) -> Any:
    """Return the metadata for an attribute that is written as a word."""
    return {"word": Word(form, **details)}


ROUTES = {
    "admin": "controller",
    "group coordinator": "group",
    "txn coordinator": "transaction",
    "share coordinator": "share",
}
"""Words for the broker that must receive a request, mapped to the corresponding values of ``sentTo``."""

_KINDS = ("header", "data", "metadata", "coordinator-key", "coordinator-value", "response")
KINDS = {kind.replace("-", " "): kind for kind in _KINDS}
"""Words for messages that are not requests, mapped to the corresponding values of ``type``."""

# The fields of the following classes are the attributes of definitions. Each has a name (in camel case in JSON), a
# type, which determines how each notation reads and writes it, and a word. Attributes are written in this order.


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDecl:
    """A field. Attributes that were not written are ``None``."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    type: TypeExpr
    versions: Spanned[VersionRange] | None = None
    tagged_versions: Spanned[VersionRange] | None = field(default=None, metadata=word("tagged vN+", code=True))
    tag: Spanned[int] | None = field(default=None, metadata=word("tag N", franz_go=True, code=True))
    nullable_versions: Spanned[VersionRange] | None = None
    flexible_versions: Spanned[VersionRange] | None = field(default=None, metadata=word("flexible vN+"))
    default: Spanned[Literal] | None = None
    enum: Spanned[str] | None = None
    ignorable: Spanned[bool] | None = field(default=None, metadata=word("ignorable"))
    map_key: Spanned[bool] | None = field(default=None, metadata=word("map key"))
    entity_type: Spanned[str] | None = field(default=None, metadata=word("entity NAME"))
    zero_copy: Spanned[bool] | None = field(default=None, metadata=word("zero copy"))
    aliases: tuple[Spanned[str], ...] = field(default=(), metadata=word("was NAME, …"))
    since: Spanned[str] | None = field(default=None, metadata=word("since RELEASE"))
    about: Spanned[str] | None = None
    struct_about: Spanned[str] | None = None
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
    """An entry of ``headerVersions``, which assigns a header version to versions of a request or response."""

    span: Span = field(compare=False, repr=False)
    versions: Spanned[VersionRange]
    header: Spanned[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDecl:
    """A message definition.

    ``comment`` is the comment before the definition, as written. ``comments`` are within the definition or after it.
    ``dialect`` is the dialect of the file.
    """

    span: Span = field(compare=False, repr=False)
    api_key: Spanned[int] | None = field(default=None, metadata=word("key N", franz_go=True, code=True))
    type: Spanned[str] = field(metadata=word(values=KINDS, code=True))
    listeners: tuple[Spanned[str], ...] | None = field(default=None, metadata=word("listeners NAME …"))
    sent_to: Spanned[str] | None = field(default=None, metadata=word(values=ROUTES, franz_go=True))
    name: Spanned[str]
    aliases: tuple[Spanned[str], ...] = field(default=(), metadata=word("was NAME, …"))
    about: Spanned[str] | None = None
    valid_versions: Spanned[VersionRange] | None = None
    deprecated_versions: Spanned[VersionRange] | None = field(
        default=None, metadata=word("deprecated vN+", silent=NONE)
    )
    latest_version_unstable: Spanned[bool] | None = field(default=None, metadata=word("unstable"))
    flexible_versions: Spanned[VersionRange] | None = field(
        default=None, metadata=word("flexible vN+", franz_go=True, code=True)
    )
    header_versions: tuple[HeaderVersionsDecl, ...] | None = field(
        default=None, metadata=word("header vH for vN+, …")
    )
    fields: tuple[FieldDecl, ...] | None = None
    common_structs: tuple[StructDecl, ...] = ()
    module: str | None = None
    comment: str = ""
    comments: tuple[Comment, ...] = ()
    dialect: Dialect = field(default="json", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumValueDecl:
    """A named value of an enum."""

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    value: Spanned[int]
    about: Spanned[str] | None = None
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumDecl:
    """A definition of type ``enum``, which names the values of integer fields. ``comment`` is the comment before it,
    as in :class:`MessageDecl`."""

    span: Span = field(compare=False, repr=False)
    type: Spanned[str]
    name: Spanned[str]
    value_type: Spanned[str]
    about: Spanned[str] | None = None
    values: tuple[EnumValueDecl, ...] = ()
    comment: str = ""
    comments: tuple[Comment, ...] = ()
    dialect: Dialect = field(default="json", compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDecl:
    """An error code in ``errors.json``. ``since`` is the first release that has the error. ``aliases`` are former
    names of the error and names of exceptions in libraries.
    """

    span: Span = field(compare=False, repr=False)
    code: Spanned[int]
    name: Spanned[str]
    retriable: Spanned[bool]
    since: Spanned[str] | None = None
    aliases: tuple[Spanned[str], ...] = ()
    about: Spanned[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStruct:
    """A struct that messages in any file may use. ``build`` returns a message's copy of the struct, given the default
    versions of its fields and the flexible versions of the message.
    """

    span: Span = field(compare=False, repr=False)
    name: Spanned[str]
    is_flexible: bool
    franz_go: bool
    build: Callable[[VersionRange, VersionRange], StructDecl] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The messages and enums of a source. Most sources have one definition, but a ``.jsonl`` bundle has many.

    ``structs`` contains structs that are not yet part of a message. ``link`` adds them to the messages that use them.
    """

    source: Source = field(compare=False, repr=False)
    messages: tuple[MessageDecl, ...] = ()
    enums: tuple[EnumDecl, ...] = ()
    structs: tuple[NamedStruct, ...] = ()
    notation: str = "json"
    loose_comments: tuple[Span, ...] = field(default=(), compare=False, repr=False)
    """Comments in the indentation notation on elements that JSON does not have."""

    @property
    def definitions(self) -> tuple[MessageDecl | EnumDecl, ...]:
        """The messages and enums. In JSON, each would have its own file."""
        return (*self.messages, *self.enums)


Node = MessageDecl | StructDecl | FieldDecl | EnumDecl | EnumValueDecl
"""A part of a definition that has a name and attributes."""

NOUNS: Mapping[type, str] = {
    MessageDecl: "message",
    StructDecl: "struct",
    FieldDecl: "field",
    EnumDecl: "enum",
    EnumValueDecl: "enum value",
    ErrorDecl: "error",
}
"""The noun for each kind of node."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A row of :data:`ATTRIBUTES`. ``name`` is the name in the syntax tree, and ``type`` is the type without
    ``None``.
    """

    name: str
    type: object
    word: Word | None


def _rows(node: type) -> Iterator[tuple[str, Attribute]]:
    types = typing.get_type_hints(node)
    for part in dataclasses.fields(node):
        if part.name not in ("span", "module", "comment", "comments", "dialect"):
            key = re.sub("_(.)", lambda match: match[1].upper(), part.name)
            type_ = types[part.name]
            written = typing.get_args(type_)[0] if NoneType in typing.get_args(type_) else type_
            yield key, Attribute(part.name, written, part.metadata.get("word"))


ATTRIBUTES: Mapping[type, Mapping[str, Attribute]] = {node: dict(_rows(node)) for node in NOUNS}
"""The attributes of each kind of node by JSON name, in the order in which they are written."""


_RANGES = {
    node: [(name, one.name) for name, one in attributes.items() if one.name.endswith("versions")]
    for node, attributes in ATTRIBUTES.items()
}
"""The attributes with version ranges, by JSON name."""


def ranges(node: MessageDecl | StructDecl | FieldDecl) -> Iterator[tuple[str, Spanned[VersionRange]]]:
    """Yield the version ranges written on the node itself, each with the JSON name of its attribute."""
    for name, attribute in _RANGES[type(node)]:
        written = getattr(node, attribute)
        if isinstance(written, Spanned):
            yield name, written
        else:
            yield from ((name, entry.versions) for entry in written or ())


def walk_field_decls(fields: tuple[FieldDecl, ...] | None) -> Iterator[FieldDecl]:
    """Yield all fields and their inline sub-fields, parents first."""
    for declaration in fields or ():
        yield declaration
        yield from walk_field_decls(declaration.fields)


def all_field_decls(fields: tuple[FieldDecl, ...] | None, structs: tuple[StructDecl, ...]) -> Iterator[FieldDecl]:
    """Yield all fields of a message, including the fields of its common structs."""
    yield from walk_field_decls(fields)
    for struct in structs:
        yield from walk_field_decls(struct.fields)
