"""The messages, structs and fields of a schema as rules see them, each with its place and its live versions.

Takes a ``Schema`` and returns sites. A site has the address of findings about it, which waivers refer to:

- ``message_name`` is the name of the message.
- ``field_path`` is a path of field names, ``Topics.Partitions.ErrorCode``. A common struct can have several paths, so
  its fields start with its own name: ``Endpoint.Host``. A finding about a common struct has the struct's name, one
  about the message itself has no path.

For a finding about an enum, ``message_name`` is the name of the enum and ``field_path`` the name of the value.
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
    """A place in a message that findings can be about."""

    message: Message
    path: str | None

    @property
    def dialect(self) -> Dialect:
        """The dialect of the message's file."""
        return self.message.decl.dialect

    @property
    def valid_label(self) -> list[tuple[Span, str]]:
        """A second place for findings that compare something with the valid versions."""
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
        """The type below all arrays."""
        return base_type(self.field.type)

    @property
    def reachable(self) -> frozenset[int]:
        """The valid versions in which the field's struct is used."""
        return self.message.usage[self.struct.name]

    @property
    def live(self) -> frozenset[int]:
        """The valid versions that have the field."""
        return self.within(self.field.versions)

    @property
    def live_tagged(self) -> frozenset[int]:
        return self.live & self.within(self.field.tagged)

    def within(self, versions: VersionRange) -> frozenset[int]:
        return within(self.reachable, versions)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructSite(Site):
    """One struct: the message's own (the root), an inline or a common one."""

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
    """One message with everything below it."""

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
        """The ranges of the message and of everything below it, with the names of their attributes."""
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
        """Return a finding about the enum, or about one of its values."""
        details |= {"message_name": self.enum.name, "field_path": value.name if value else None}
        return finding(message, span, label, **details)


Sites = tuple[MessageSite, ...]


def sites_of(schema: Schema) -> Sites:
    """Return all sites of a schema, by message."""
    return tuple(map(_message_site, schema.messages))


def _message_site(message: Message) -> MessageSite:
    """Return the root comes first and parents before children, so every prefix is known when it is needed."""
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
