"""The messages, structs and fields of a schema as rules see them, each with its place and its live versions.

Takes a ``Schema`` and returns sites. A site has the address of findings about it, which waivers refer to:

- ``message_name`` is the name of the message.
- ``field_path`` is a path of field names, ``Topics.Partitions.ErrorCode``. A common struct can have several paths, so
  its fields start with its own name: ``Endpoint.Host``. A finding about a common struct has the struct's name, one
  about the message itself has no path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Unpack

from kwirec.diagnostics.diagnostic import Details, Finding, finding
from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import FieldDecl, MessageDecl, Spanned, StructDecl
from kwirec.ir.schema import Field, Message, PrimitiveType, Schema, Struct, StructType, base_type
from kwirec.versions import VersionRange


@dataclass(frozen=True, kw_only=True)
class Site:
    """A place in a message that findings can be about."""

    message: Message
    path: str | None

    @property
    def valid_label(self) -> list[tuple[Span, str]]:
        """A second place for findings that compare something with the valid versions."""
        written = self.message.decl.valid_versions
        return [(written.span, "the valid versions")] if written else []

    def finding(self, message: str, span: Span, label: str = "", **details: Unpack[Details]) -> Finding:
        """A finding about this site."""
        details |= {"message_name": self.message.name, "field_path": self.path}
        return finding(message, span, label, **details)


@dataclass(frozen=True, kw_only=True)
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

    @cached_property
    def reachable(self) -> frozenset[int]:
        """The valid versions in which the field's struct is used."""
        return self.message.usage[self.struct.name]

    @cached_property
    def live(self) -> frozenset[int]:
        """The valid versions that have the field."""
        return self.within(self.field.versions)

    @cached_property
    def live_tagged(self) -> frozenset[int]:
        return self.live & self.within(self.field.tagged)

    def within(self, versions: VersionRange) -> frozenset[int]:
        return frozenset(version for version in self.reachable if version in versions)

    @property
    def is_tagged(self) -> bool:
        return bool(self.field.tagged)

    @property
    def ranges(self) -> Iterator[tuple[str, Spanned[VersionRange]]]:
        """Every range that was written on the field, with the name of its attribute."""
        yield from _written(
            ("versions", self.decl.versions),
            ("nullableVersions", self.decl.nullable_versions),
            ("taggedVersions", self.decl.tagged_versions),
            ("flexibleVersions", self.decl.flexible_versions),
        )


@dataclass(frozen=True, kw_only=True)
class StructSite(Site):
    """One struct: the message's own (the root), an inline or a common one."""

    struct: Struct
    fields: tuple[FieldSite, ...]

    @property
    def is_root(self) -> bool:
        return self.struct is self.message.root

    @property
    def name_span(self) -> Span:
        decl = self.struct.decl
        return decl.type.name_span if isinstance(decl, FieldDecl) else decl.name.span

    @property
    def ranges(self) -> Iterator[tuple[str, Spanned[VersionRange]]]:
        """The range of a common struct; those of the others belong to their message or field."""
        if isinstance(self.struct.decl, StructDecl):
            yield from _written(("versions", self.struct.decl.versions))


@dataclass(frozen=True, kw_only=True)
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
    def ranges(self) -> Iterator[tuple[str, Spanned[VersionRange]]]:
        """Every range that was written on the message itself, with the name of its attribute."""
        yield from _written(
            ("validVersions", self.decl.valid_versions),
            ("flexibleVersions", self.decl.flexible_versions),
            ("deprecatedVersions", self.decl.deprecated_versions),
        )

    @property
    def all_ranges(self) -> Iterator[tuple[Site, str, Spanned[VersionRange]]]:
        """The ranges of the message and of everything below it."""
        owners: tuple[MessageSite | StructSite | FieldSite, ...] = (self, *self.structs, *self.fields)
        for owner in owners:
            for attribute, written in owner.ranges:
                yield owner, attribute, written


@dataclass(frozen=True)
class Sites:
    """All sites of a schema, built once for all rules."""

    schema: Schema
    messages: tuple[MessageSite, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(map(_message_site, self.schema.messages)))

    @property
    def structs(self) -> Iterator[StructSite]:
        for message in self.messages:
            yield from message.structs

    @property
    def fields(self) -> Iterator[FieldSite]:
        for message in self.messages:
            yield from message.fields


def _message_site(message: Message) -> MessageSite:
    """The root comes first and parents before children, so every prefix is known when it is needed."""
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


def _written(*ranges: tuple[str, Spanned[VersionRange] | None]) -> Iterator[tuple[str, Spanned[VersionRange]]]:
    for name, spanned in ranges:
        if spanned is not None:
            yield name, spanned
