"""Drafts are messages in a form that can be joined.

A draft has plain sets of the valid versions in which each field is present, nullable or tagged. Ranges are written
from these sets, so they never contain a version that no release proves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from kwirec.frontend.syntax import Comment, StructDecl
from kwirec.ir.schema import Default, Field, Implicit, Message, MessageKind, StructType, Type, base_type, usage
from kwirec.lowering.coding import coding
from kwirec.lowering.headers import derived_header_versions, header_versions

D = TypeVar("D", "FieldDraft", "MessageDraft")
Versions = frozenset[int]


@dataclass
class FieldDraft:
    """A field and the versions to which each of its properties applies."""

    name: str
    type: Type
    live: Versions
    lacks: Versions
    """Versions in which the struct lacks the field. ``default`` and ``ignorable`` matter only in these versions."""
    nullable: Versions
    tagged: Versions
    tag: int | None
    classic: Versions
    """Flexible versions in which the field keeps the classic length."""
    default: Default | Implicit
    enum: str | None
    ignorable: bool
    entity_type: str | None
    map_key: bool
    zero_copy: bool
    doc: str
    aliases: tuple[str, ...]
    since: str | None
    comments: tuple[Comment, ...]

    @property
    def struct_name(self) -> str | None:
        base = base_type(self.type)
        return base.name if isinstance(base, StructType) else None

    def live_untagged(self, version: int) -> bool:
        return version in self.live and version not in self.tagged


@dataclass
class StructDraft:
    name: str
    doc: str
    fields: list[FieldDraft]
    comments: tuple[Comment, ...] = ()


@dataclass
class MessageDraft:
    """A message with sets of versions instead of ranges.

    ``structs`` are in definition order. The first is the root, which has the message's name.
    """

    name: str
    kind: MessageKind
    api_key: int | None
    listeners: tuple[str, ...]
    sent_to: str | None
    valid: Versions
    flexible: Versions
    deprecated: Versions
    latest_unstable: bool
    headers: dict[int, int]
    """Header versions by message version. A definition states them only if they differ from the derived versions."""
    unusual_headers: bool
    structs: dict[str, StructDraft]
    doc: str
    aliases: tuple[str, ...]
    comment: str
    comments: tuple[Comment, ...]

    @property
    def root(self) -> StructDraft:
        return self.structs[self.name]

    def limited_to(self, versions: Versions) -> MessageDraft:
        """Return the draft with only these versions and the fields and structs that exist in them."""
        draft = with_versions(versions.intersection, self)
        draft.structs = {
            name: replace(struct, fields=_limited(struct.fields, versions)) for name, struct in self.structs.items()
        }
        draft.drop_unused_structs()
        return draft

    def renumbered(self, number: int) -> MessageDraft:
        """Return the draft with all versions replaced by ``number``. All versions must be equal on the wire."""

        def only(versions: Versions) -> Versions:
            return frozenset({number}) if versions else versions

        newest = self.limited_to(frozenset({max(self.valid)}))
        for struct in newest.structs.values():
            struct.fields = [with_versions(only, field) for field in struct.fields]
        return with_versions(only, newest)

    def users(self, struct: str) -> Iterator[FieldDraft]:
        """Return an iterator over all fields whose type is ``struct`` or an array of it."""
        return (field for owner in self.structs.values() for field in owner.fields if field.struct_name == struct)

    def drop_unused_structs(self) -> None:
        """Remove unreachable structs, and limit the other structs to the versions in which the root reaches them."""
        usage = self.usage()
        self.structs = {name: struct for name, struct in self.structs.items() if name == self.name or usage[name]}
        for name, struct in self.structs.items():
            if name != self.name:
                struct.fields = _limited(struct.fields, usage[name])

    def usage(self) -> dict[str, Versions]:
        """Return the versions in which the message contains each struct, by struct name."""
        uses = {
            name: [(field.struct_name, field.live) for field in struct.fields if field.struct_name is not None]
            for name, struct in self.structs.items()
        }
        return usage(self.name, self.valid, uses)


def with_versions(change: Callable[..., Versions], draft: D, *others: D) -> D:
    """Return a copy of ``draft`` in which ``change`` computes each version set from the same set of all drafts."""
    sets: dict[str, Any] = {
        name: change(own, *(getattr(other, name) for other in others))
        for name, own in vars(draft).items()
        if isinstance(own, frozenset)
    }
    return replace(draft, **sets)


def _limited(fields: list[FieldDraft], versions: Versions) -> list[FieldDraft]:
    """Return the fields that exist in at least one of ``versions``, limited to these versions."""
    return [with_versions(versions.intersection, field) for field in fields if field.live & versions]


def draft_of(message: Message) -> MessageDraft:
    """Return the draft of a message, without fields or structs that no version uses."""
    valid = frozenset(message.valid)
    flexible = frozenset(message.valid.intersect(message.flexible))
    structs = {}
    for struct in message.structs:
        used = message.usage[struct.name]
        if used or struct is message.root:
            fields = (_field(field, used, flexible) for field in struct.fields)
            live_fields = [field for field in fields if field.live or not valid]
            comments = struct.decl.comments if isinstance(struct.decl, StructDecl) else ()
            structs[struct.name] = StructDraft(struct.name, struct.doc, live_fields, comments)
    return MessageDraft(
        name=message.name,
        kind=message.kind,
        api_key=message.api_key,
        listeners=message.listeners,
        sent_to=message.decl.sent_to.value if message.decl.sent_to else None,
        valid=valid,
        flexible=flexible,
        deprecated=frozenset(message.valid.intersect(message.deprecated)),
        latest_unstable=message.latest_unstable,
        headers=(headers := header_versions(message)),
        unusual_headers=headers != derived_header_versions(message),
        structs=structs,
        doc=message.doc,
        aliases=message.aliases,
        comment=message.decl.comment,
        comments=message.decl.comments,
    )


def _field(field: Field, used: Versions, flexible: Versions) -> FieldDraft:
    codings = {v: coded for v in used if (coded := coding(field, v, flexible=v in flexible)) is not None}
    live = frozenset(codings)
    tagged = frozenset(v for v, coded in codings.items() if coded.tagged)
    return FieldDraft(
        name=field.name,
        type=field.type,
        live=live,
        lacks=used - live,
        nullable=frozenset(v for v, coded in codings.items() if coded.nullable),
        tagged=tagged,
        tag=field.tag if tagged else None,
        classic=frozenset(v for v, coded in codings.items() if v in flexible and not coded.compact),
        default=field.default,
        enum=field.enum.name if field.enum else None,
        ignorable=field.ignorable,
        entity_type=field.entity_type,
        map_key=field.map_key,
        zero_copy=field.zero_copy,
        doc=field.doc,
        aliases=field.aliases,
        since=field.since,
        comments=field.decl.comments,
    )
