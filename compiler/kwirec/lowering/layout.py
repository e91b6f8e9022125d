"""A layout describes the bytes of one message version.

A layout has no version ranges, descriptions or other attributes that do not affect the bytes. Its names are only for
readers and are not compared, so two versions with equal layouts are equal on the wire. ``text`` is the layout as
text. ``fingerprint`` is a digest of this text, which is stable across runs and releases of kwire.

::

    i32 [c str16? ] t(0:cstr?=null)
    │   │  │        └ tagged fields of a flexible struct: number, kind, default
    │   │  └ nullable string with an int16 length
    │   └ array with a compact length
    └ int32, big-endian
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from kwire_rules import SIZES
from kwirec.ir.literals import default_literal
from kwirec.ir.schema import IMPLICIT, Default, Implicit


@dataclass(frozen=True)
class ScalarKind:
    """A kind of fixed-size value. ``text`` is the name of the kind in layouts, and ``width`` is the size in bytes."""

    text: str
    width: int


SCALARS = {
    kind: ScalarKind(kind.replace("uint", "u").replace("int", "i").replace("float", "f"), size)
    for kind, size in SIZES.items()
}
"""Fixed-size types by their names in definitions."""


@dataclass(frozen=True)
class BlobKind:
    """A string, bytes or records, encoded as a length and the bytes.

    The length of a string is an int16, and the length of bytes is an int32, with -1 for null. A compact length is an
    unsigned varint of length + 1, with 0 for null.
    """

    string: bool
    compact: bool
    nullable: bool
    records: bool = field(default=False, compare=False)

    @property
    def text(self) -> str:
        name = "str" if self.string else "bytes"
        length = "" if self.compact else ("16" if self.string else "32")
        return f"{'c' if self.compact else ''}{name}{length}{'?' if self.nullable else ''}"


@dataclass(frozen=True)
class ArrayKind:
    """A count followed by the elements. The count is an int32. A compact count is an unsigned varint of count + 1."""

    compact: bool
    nullable: bool
    element: Kind

    @property
    def text(self) -> str:
        return f"[{'c' if self.compact else 'n'}{'?' if self.nullable else ''} {self.element.text}]"


@dataclass(frozen=True)
class StructKind:
    """A sequence of fields. Flexible structs, whose ``tags`` is not ``None``, end with tagged fields.

    A null marker precedes a nullable struct. The marker is an int8 with -1 for null and 1 otherwise. In a tagged
    field, it is an unsigned varint with 0 for null and 1 otherwise [KIP-893].
    """

    name: str = field(compare=False)
    fields: tuple[FieldLayout, ...]
    tags: tuple[TagLayout, ...] | None
    nullable: bool = False

    @property
    def all_fields(self) -> tuple[FieldLayout | TagLayout, ...]:
        """The untagged fields, followed by the tagged fields."""
        return (*self.fields, *(self.tags or ()))

    @cached_property
    def text(self) -> str:
        parts = [one.kind.text for one in self.fields]
        if self.tags is not None:
            parts.append(f"t({' '.join(f'{one.tag}:{one.kind.text}={one.default_text}' for one in self.tags)})")
        body = " ".join(parts)
        return f"?({body})" if self.nullable else body


Kind = ScalarKind | BlobKind | ArrayKind | StructKind


@dataclass(frozen=True)
class FieldLayout:
    """One untagged field."""

    name: str = field(compare=False)
    kind: Kind


@dataclass(frozen=True)
class TagLayout:
    """One tagged field. Its default affects the bytes, because a field with the default value is not written."""

    name: str = field(compare=False)
    tag: int
    kind: Kind
    default: Default | Implicit
    since: str | None = field(default=None, compare=False)

    @property
    def default_text(self) -> str:
        if self.default is IMPLICIT:
            return "-"
        return repr(self.default) if isinstance(self.default, str) else str(default_literal(self.default))


@dataclass(frozen=True)
class MessageLayout:
    """The layout of one message version. Within a ``Layouts`` object, equal layouts of a message are the same
    object.
    """

    message: str = field(compare=False)
    body: StructKind

    @property
    def is_flexible(self) -> bool:
        return self.body.tags is not None

    @cached_property
    def fingerprint(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 digest of the layout's text."""
        return hashlib.sha256(self.body.text.encode()).hexdigest()[:16]


def innermost(kind: Kind) -> Kind:
    """Return the innermost element kind of nested arrays, or the kind itself."""
    while isinstance(kind, ArrayKind):
        kind = kind.element
    return kind


def walk(struct: StructKind, prefix: str = "") -> Iterator[tuple[str, FieldLayout | TagLayout]]:
    """Yield all fields of a struct, at any depth, with their paths. A field precedes the fields that it contains."""
    for part in struct.all_fields:
        path = prefix + part.name
        yield path, part
        if isinstance(inner := innermost(part.kind), StructKind):
            yield from walk(inner, f"{path}.")


def describe(struct: StructKind, indent: str = "  ") -> Iterator[str]:
    """Yield indented lines, each with the name and kind of a field."""
    for one in struct.fields:
        yield from _describe(one.name, one.kind, indent)
    for tag in struct.tags or ():
        yield from _describe(f"@{tag.tag} {tag.name}", tag.kind, indent, f" = {tag.default_text}")
    if struct.tags is not None:
        yield f"{indent}@*"


def _describe(name: str, kind: Kind, indent: str, suffix: str = "") -> Iterator[str]:
    arrays = ""
    while isinstance(kind, ArrayKind):
        arrays += f"[{'c' if kind.compact else 'n'}]{'?' if kind.nullable else ''}"
        kind = kind.element
    if isinstance(kind, StructKind):
        yield f"{indent}{name}: {arrays}{kind.name}{'?' if kind.nullable else ''}{suffix}"
        yield from describe(kind, indent + "  ")
    else:
        records = " records" if isinstance(kind, BlobKind) and kind.records else ""
        yield f"{indent}{name}: {arrays}{kind.text}{records}{suffix}"
