"""Drafts: messages taken apart so that two of them can be joined.

A draft says of every field in exactly which valid versions it is there, nullable or tagged, as plain sets. Ranges
are written anew from these sets, so they never claim more than some release proves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kwirec.ir.schema import (
    ArrayType,
    Default,
    Field,
    Implicit,
    Message,
    MessageKind,
    StructType,
    Type,
    base_type,
)
from kwirec.lowering.coding import coding
from kwirec.versions import VersionRange


@dataclass
class FieldDraft:
    """A field and the versions in which it has each of its properties."""

    name: str
    type: Type
    live: frozenset[int]
    lacks: frozenset[int]
    """Versions in which its struct is there without it: only for these do default and ignorable mean anything."""
    nullable: frozenset[int]
    tagged: frozenset[int]
    tag: int | None
    classic: frozenset[int]
    """Flexible versions in which the field keeps the classic length all the same."""
    default: Default | Implicit
    ignorable: bool
    entity_type: str | None
    map_key: bool
    zero_copy: bool
    doc: str
    aliases: tuple[str, ...]
    since: str | None

    @property
    def struct_name(self) -> str | None:
        base = base_type(self.type)
        return base.name if isinstance(base, StructType) else None

    def with_struct(self, name: str) -> FieldDraft:
        """The same field with another struct below its arrays."""

        def renamed(type_: Type) -> Type:
            return ArrayType(renamed(type_.element)) if isinstance(type_, ArrayType) else StructType(name)

        return replace(self, type=renamed(self.type))

    def limited_to(self, versions: frozenset[int]) -> FieldDraft:
        return replace(
            self,
            live=self.live & versions,
            lacks=self.lacks & versions,
            nullable=self.nullable & versions,
            tagged=self.tagged & versions,
            classic=self.classic & versions,
        )

    def live_untagged(self, version: int) -> bool:
        return version in self.live and version not in self.tagged


@dataclass
class StructDraft:
    name: str
    doc: str
    fields: list[FieldDraft]

    def field_named(self, name: str) -> FieldDraft | None:
        return next((one for one in self.fields if one.name == name), None)


@dataclass
class MessageDraft:
    """A message with sets for ranges. ``structs`` are in definition order, the root (named as the message) first."""

    name: str
    kind: MessageKind
    api_key: int | None
    listeners: tuple[str, ...]
    valid: frozenset[int]
    flexible: frozenset[int]
    deprecated: frozenset[int]
    latest_unstable: bool
    structs: dict[str, StructDraft]
    module: str | None
    doc: str
    aliases: tuple[str, ...] = ()
    comment: str = field(default="")

    @property
    def root(self) -> StructDraft:
        return self.structs[self.name]

    def limited_to(self, versions: frozenset[int]) -> MessageDraft:
        """The draft without all other versions, and without the fields and structs that only those had."""
        structs = {}
        for name, struct in self.structs.items():
            fields = [limited for one in struct.fields if (limited := one.limited_to(versions)).live]
            structs[name] = StructDraft(name, struct.doc, fields)
        draft = replace(
            self,
            valid=self.valid & versions,
            flexible=self.flexible & versions,
            deprecated=self.deprecated & versions,
            structs=structs,
        )
        draft.drop_unused_structs()
        return draft

    def renumbered(self, number: int) -> MessageDraft:
        """All versions become the one ``number``; they must be the same on the wire."""

        def only(versions: frozenset[int]) -> frozenset[int]:
            return frozenset({number}) if versions else frozenset()

        newest = self.limited_to(frozenset({max(self.valid)}))
        for struct in newest.structs.values():
            struct.fields = [
                replace(
                    f, live=only(f.live), nullable=only(f.nullable), tagged=only(f.tagged), classic=only(f.classic)
                )
                for f in struct.fields
            ]
        return replace(
            newest,
            valid=only(newest.valid),
            flexible=only(newest.flexible),
            deprecated=only(newest.deprecated),
        )

    def users(self, struct: str) -> Iterator[FieldDraft]:
        """All fields whose type is ``struct`` or an array of it."""
        for owner in self.structs.values():
            for one in owner.fields:
                if one.struct_name == struct:
                    yield one

    def drop_unused_structs(self) -> None:
        """Remove the structs that no field reaches from the root, and versions in which none does."""
        usage = self.usage()
        self.structs = {name: struct for name, struct in self.structs.items() if name == self.name or usage[name]}
        for name, struct in self.structs.items():
            if name != self.name:
                limited = (one.limited_to(usage[name]) for one in struct.fields)
                struct.fields = [one for one in limited if one.live]

    def usage(self) -> dict[str, frozenset[int]]:
        """For every struct the versions in which the message contains it."""
        used: dict[str, frozenset[int]] = {name: frozenset() for name in self.structs}

        def visit(name: str, versions: frozenset[int]) -> None:
            if versions <= used[name]:
                return
            used[name] |= versions
            for one in self.structs[name].fields:
                if one.struct_name in self.structs:
                    visit(str(one.struct_name), versions & one.live)

        visit(self.name, self.valid)
        return used


def draft_of(message: Message) -> MessageDraft:
    """Take a resolved message apart."""
    valid = frozenset(message.valid)
    flexible = frozenset(v for v in valid if v in message.flexible)
    return MessageDraft(
        name=message.name,
        kind=message.kind,
        api_key=message.api_key,
        listeners=message.listeners,
        valid=valid,
        flexible=flexible,
        deprecated=frozenset(v for v in valid if v in message.deprecated),
        latest_unstable=message.latest_unstable,
        structs={
            struct.name: StructDraft(
                struct.name,
                struct.doc,
                [
                    one
                    for f in struct.fields
                    if (one := _field(f, message.usage[struct.name], flexible)).live or not valid
                ],
            )
            for struct in message.structs
            if message.usage[struct.name] or struct is message.root
        },
        module=message.module,
        doc=message.doc,
        aliases=message.aliases,
        comment=message.decl.comment,
    )


def _field(one: Field, used: frozenset[int], flexible: frozenset[int]) -> FieldDraft:
    codings = {v: coded for v in used if (coded := coding(one, v, flexible=v in flexible)) is not None}
    live = frozenset(codings)
    tagged = frozenset(v for v, coded in codings.items() if coded.tagged)
    return FieldDraft(
        name=one.name,
        type=one.type,
        live=live,
        lacks=used - live,
        nullable=frozenset(v for v, coded in codings.items() if coded.nullable),
        tagged=tagged,
        tag=one.tag if tagged else None,
        classic=frozenset(v for v, coded in codings.items() if v in flexible and not coded.compact),
        default=one.default,
        ignorable=one.ignorable,
        entity_type=one.entity_type,
        map_key=one.map_key,
        zero_copy=one.zero_copy,
        doc=one.doc,
        aliases=one.aliases,
        since=one.since,
    )


def range_of(versions: frozenset[int], top: int) -> VersionRange:
    """The range of exactly these versions, open when it reaches ``top``, the newest version of the message."""
    return VersionRange.covering(versions, open_at=top)
