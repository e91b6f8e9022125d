"""Layouts: the bytes of one message at one version, and nothing else.

A layout has no versions, no descriptions and no attributes without effect on the wire. Names are for people and are
not compared: two versions with equal layouts are the same on the wire. ``text`` is a layout as text and
``fingerprint`` its digest, stable across runs and releases of kwire.

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
    """A value of fixed size: its name in layouts, and the number of its bytes."""

    text: str
    width: int


SCALARS = {
    kind: ScalarKind(kind.replace("uint", "u").replace("int", "i").replace("float", "f"), size)
    for kind, size in SIZES.items()
}
"""The types of fixed size by their names in definitions."""


@dataclass(frozen=True)
class BlobKind:
    """A string or bytes: a length and that many bytes. ``records`` are bytes with a known content.

    The length is an int16 (string) or int32 (bytes), -1 for null. A compact length is an unsigned varint of length +
    1, 0 for null.
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
    """A count and that many elements. The count is an int32, compact: an unsigned varint of count + 1."""

    compact: bool
    nullable: bool
    element: Kind

    @property
    def text(self) -> str:
        return f"[{'c' if self.compact else 'n'}{'?' if self.nullable else ''} {self.element.text}]"


@dataclass(frozen=True)
class StructKind:
    """Fields one after the other, closed by tagged fields when flexible (``tags`` is not ``None``).

    A nullable struct has a mark before it: an int8 (-1 null, 1 present), inside a tagged field an unsigned varint
    (0 null, 1 present) [KIP-893].
    """

    name: str = field(compare=False)
    fields: tuple[FieldLayout, ...]
    tags: tuple[TagLayout, ...] | None
    nullable: bool = False

    @property
    def all_fields(self) -> tuple[FieldLayout | TagLayout, ...]:
        """The untagged fields, then the tagged ones."""
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
    """One tagged field. The default is part of the bytes: a field equal to it is not written."""

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
    """The layout of one version of a message; equal layouts are one object within a ``Layouts``."""

    message: str = field(compare=False)
    body: StructKind

    @property
    def is_flexible(self) -> bool:
        return self.body.tags is not None

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits of the SHA-256 of the layout's text."""
        return hashlib.sha256(self.body.text.encode()).hexdigest()[:16]


def innermost(kind: Kind) -> Kind:
    """Return the kind within all arrays."""
    while isinstance(kind, ArrayKind):
        kind = kind.element
    return kind


def walk(struct: StructKind, prefix: str = "") -> Iterator[tuple[str, FieldLayout | TagLayout]]:
    """Yield all fields of a struct with their paths. A field precedes the fields of its own struct."""
    for part in struct.all_fields:
        path = prefix + part.name
        yield path, part
        if isinstance(inner := innermost(part.kind), StructKind):
            yield from walk(inner, f"{path}.")


def describe(struct: StructKind, indent: str = "  ") -> Iterator[str]:
    """Yield a layout as indented lines, one for each field, with names."""
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
