"""Sites, which are the messages, structs and fields of a ``Schema`` with the positions and versions that rules need.

A finding about a site has an address, which waivers use:

- ``message_name`` is the name of the message.
- ``field_path`` is a path of field names, such as ``Topics.Partitions.ErrorCode``. A common struct can have several
  paths, so the paths of its fields begin with the struct's name: ``Endpoint.Host``. A finding about a common struct
  has the struct's name as its path. A finding about a whole message has no path.

In a finding about an enum, ``message_name`` is the enum's name, and ``field_path`` is the name of one of its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

from kwirec.diagnostics.diagnostic import Details, Finding, finding
from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import Dialect, EnumDecl, FieldDecl, MessageDecl, Spanned, StructDecl, ranges
from kwirec.ir.schema import (
    Enum,
    EnumValue,
    Field,
    Message,
    PrimitiveType,
    Schema,
    Struct,
    StructType,
    base_type,
    within,
)
from kwirec.versions import VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A place in a message that findings can refer to."""

    message: Message
    path: str | None

    @property
    def dialect(self) -> Dialect:
        """The dialect of the message's file."""
        return self.message.decl.dialect

    @property
    def valid_label(self) -> list[tuple[Span, str]]:
        """A secondary label for findings that compare something with the valid versions."""
        written = self.message.decl.valid_versions
        return [(written.span, "the valid versions")] if written else []

    def finding(self, message: str, span: Span, label: str = "", **details: Unpack[Details]) -> Finding:
        """Return a finding about this site."""
        details |= {"message_name": self.message.name, "field_path": self.path}
        return finding(message, span, label, **details)


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSite(Site):
    """One field of one struct."""

    struct: Struct
    field: Field

    @property
    def decl(self) -> FieldDecl:
        return self.field.decl

    @property
    def base(self) -> PrimitiveType | StructType:
        """The innermost element type of nested arrays, or the field's type."""
        return base_type(self.field.type)

    @property
    def reachable(self) -> frozenset[int]:
        """The valid versions in which the message uses the field's struct."""
        return self.message.usage[self.struct.name]

    @property
    def live(self) -> frozenset[int]:
        """The valid versions that contain the field."""
        return self.within(self.field.versions)

    @property
    def live_tagged(self) -> frozenset[int]:
        return self.live & self.within(self.field.tagged)

    def within(self, versions: VersionRange) -> frozenset[int]:
        return within(self.reachable, versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructSite(Site):
    """A root, inline or common struct of a message."""

    struct: Struct
    fields: tuple[FieldSite, ...]

    @property
    def decl(self) -> MessageDecl | StructDecl | FieldDecl:
        return self.struct.decl

    @property
    def is_root(self) -> bool:
        return self.struct is self.message.root

    @property
    def name_span(self) -> Span:
        return self.decl.type.name_span if isinstance(self.decl, FieldDecl) else self.decl.name.span


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSite(Site):
    """One message with all its structs and fields."""

    structs: tuple[StructSite, ...]

    @property
    def decl(self) -> MessageDecl:
        return self.message.decl

    @property
    def fields(self) -> Iterator[FieldSite]:
        for struct in self.structs:
            yield from struct.fields

    @property
    def all_ranges(self) -> Iterator[tuple[Site, str, Spanned[VersionRange]]]:
        """The version ranges of the message, its structs and its fields, with the names of their attributes."""
        common = (site for site in self.structs if site.struct.common)
        owners: tuple[MessageSite | StructSite | FieldSite, ...] = (self, *common, *self.fields)
        for owner in owners:
            for attribute, written in ranges(owner.decl):
                yield owner, attribute, written


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumSite:
    """One enum with its values."""

    enum: Enum

    @property
    def decl(self) -> EnumDecl:
        return self.enum.decl

    def finding(
        self, message: str, span: Span, label: str = "", *, value: EnumValue | None = None, **details: Unpack[Details]
    ) -> Finding:
        """Return a finding about the enum or one of its values."""
        details |= {"message_name": self.enum.name, "field_path": value.name if value else None}
        return finding(message, span, label, **details)


Sites = tuple[MessageSite, ...]


def sites_of(schema: Schema) -> Sites:
    """Return the sites of a schema, one per message."""
    return tuple(map(_message_site, schema.messages))


def _message_site(message: Message) -> MessageSite:
    """Return the site of a message. Parents precede their children, so the prefix of each path is already known."""
    prefixes: dict[str, str] = {message.root.name: ""}
    structs = []
    for struct in message.structs:
        prefix = prefixes.get(struct.name, f"{struct.name}.")
        fields = []
        for one in struct.fields:
            path = prefix + one.name
            base = base_type(one.type)
            if one.decl.fields is not None and isinstance(base, StructType):
                prefixes.setdefault(base.name, f"{path}.")
            fields.append(FieldSite(message=message, path=path, struct=struct, field=one))
        path_here = prefix.removesuffix(".") or None
        structs.append(StructSite(message=message, path=path_here, struct=struct, fields=tuple(fields)))
    return MessageSite(message=message, path=None, structs=tuple(structs))
