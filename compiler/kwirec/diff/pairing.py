"""Pairs the messages, structs and fields of two schemas before they are compared.

Messages are paired by name, then by former name, then by api key. Fields are paired in the layouts of each shared
version, by name, then by former name, then by position between two paired neighbours. A field paired by position was
renamed, and a field with the same name at another position was moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

from kwirec.diff.matching import Entry, match
from kwirec.ir.schema import Message, MessageKind, Schema, name_overlap
from kwirec.ir.sites import FieldSite, MessageSite, StructSite, sites_of
from kwirec.lowering import lower_message
from kwirec.lowering.layout import StructKind, innermost

RpcPairs = Mapping[int, tuple[Message | None, Message | None]]
"""Requests and responses by api key."""


@dataclass(eq=False)
class FieldPair:
    """A field on both sides. ``entries`` has the field's entries on the old and the new side for each version in
    which both sides have it. ``moved`` contains the versions in which the position differs.
    """

    old: FieldSite
    new: FieldSite
    entries: dict[int, tuple[Entry, Entry]] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)


@dataclass(eq=False)
class StructPair:
    """A struct that both sides use in ``versions``.

    ``removed`` and ``added`` contain the fields that exist on only one side, by name and version.
    """

    old: StructSite
    new: StructSite
    versions: set[int] = field(default_factory=set)
    fields: dict[tuple[str, str], FieldPair] = field(default_factory=dict)
    removed: dict[str, dict[int, Entry]] = field(default_factory=dict)
    added: dict[str, dict[int, Entry]] = field(default_factory=dict)

    def successor(self, old: FieldSite) -> FieldSite | None:
        """Return the field paired with ``old``, or the new field of the same name if none is paired."""
        paired = next((pair.new for pair in self.fields.values() if pair.old is old), None)
        return paired or _named(self.new, old.field.name)


@dataclass(eq=False)
class MessagePair:
    """A message that both sides have."""

    old: MessageSite
    new: MessageSite

    @cached_property
    def shared(self) -> frozenset[int]:
        """The versions that both sides have."""
        return frozenset(self.old.message.valid).intersection(self.new.message.valid)

    @cached_property
    def structs(self) -> list[StructPair]:
        """The pairs of structs, starting with the root structs."""
        return list(_Walk(self).run().values())


@dataclass(frozen=True)
class Pairing:
    """The messages of two schemas that were removed, were added, or exist on both sides."""

    removed: tuple[MessageSite, ...]
    added: tuple[MessageSite, ...]
    persisted: tuple[MessagePair, ...]


def pair_messages(old: Schema, new: Schema) -> Pairing:
    """Pair the messages of two schemas."""
    theirs = {site.message.name: site for site in sites_of(new)}
    mine = {site.message.name: site for site in sites_of(old)}
    partners: dict[str, str] = {name: name for name in mine if name in theirs}
    taken = set(partners)
    same_number = partial(_same_number, _pairs(old), _pairs(new))
    for keys, is_same in ((_all_names, _once_named), (_number, same_number)):
        rest: dict[object, list[MessageSite]] = {}
        for site in theirs.values():
            for key in keys(site.message) if site.message.name not in taken else ():
                rest.setdefault(key, []).append(site)
        for name, site in mine.items():
            candidates = (
                [other for key in keys(site.message) for other in rest.get(key, ())] if name not in partners else []
            )
            for other in candidates:
                if other.message.name not in taken and is_same(site.message, other.message):
                    partners[name] = other.message.name
                    taken.add(other.message.name)
                    break
    return Pairing(
        removed=tuple(site for name, site in mine.items() if name not in partners),
        added=tuple(site for name, site in theirs.items() if name not in taken),
        persisted=tuple(MessagePair(mine[a], theirs[b]) for a, b in partners.items()),
    )


def _all_names(message: Message) -> tuple[object, ...]:
    return (message.name, *message.aliases)


def _number(message: Message) -> tuple[object, ...]:
    return () if message.api_key is None else (message.api_key,)


def _once_named(old: Message, new: Message) -> bool:
    return old.kind is new.kind and (old.name in new.aliases or new.name in old.aliases)


def _pairs(schema: Schema) -> RpcPairs:
    return {key: (request, response) for key, request, response in schema.pairs()}


def _same_number(old_pairs: RpcPairs, new_pairs: RpcPairs, old: Message, new: Message) -> bool:
    """Return whether messages of the same kind and api key with different names are the same message.

    The result for a request also applies to its response, unless the request has no fields to compare.
    """
    if old.api_key is None or old.kind is not new.kind:
        return False
    if not old.is_rpc:
        elsewhere = old.module and new.module and old.module != new.module
        return not elsewhere and _alike(old, new)
    halves = zip(old_pairs[old.api_key], new_pairs[old.api_key], strict=True)
    decisive = ((a, b) for a, b in halves if a and b and a.root.fields and b.root.fields)
    return next((_alike(a, b) for a, b in decisive), False)


def _alike(old: Message, new: Message) -> bool:
    """Return whether two messages share the layout of a version or the names of most fields."""
    shared = set(old.valid) & set(new.valid)
    if any(lower_message(old, v).body.fields and lower_message(old, v) == lower_message(new, v) for v in shared):
        return True
    return name_overlap(old.root.fields, new.root.fields) > 0.5


class _Walk:
    """Pairs structs and fields in the layouts of all versions that both sides have."""

    def __init__(self, pair: MessagePair) -> None:
        self._pair = pair
        self._old = {site.struct.name: site for site in pair.old.structs}
        self._new = {site.struct.name: site for site in pair.new.structs}
        self._found: dict[tuple[str, str], StructPair] = {}

    def run(self) -> dict[tuple[str, str], StructPair]:
        old, new = self._pair.old.message, self._pair.new.message
        self._struct(old.root.name, new.root.name)
        for version in sorted(self._pair.shared):
            self._visit(version, lower_message(old, version).body, lower_message(new, version).body)
        self._rest()
        return self._found

    def _struct(self, old: str, new: str) -> StructPair:
        return self._found.setdefault((old, new), StructPair(self._old[old], self._new[new]))

    def _visit(self, version: int, old: StructKind, new: StructKind) -> None:
        pair = self._struct(old.name, new.name)
        if version in pair.versions:
            return
        pair.versions.add(version)
        matching = match(_entries(pair.old, old), _entries(pair.new, new))
        for before, after in matching.pairs:
            key = (before.name, after.name)
            fields = pair.fields.setdefault(key, FieldPair(before.site, after.site))
            fields.entries[version] = before, after
            if (before, after) in matching.moved:
                fields.moved.add(version)
            below, theirs = innermost(before.kind), innermost(after.kind)
            if isinstance(below, StructKind) and isinstance(theirs, StructKind):
                self._visit(version, below, theirs)
        for entry in matching.removed:
            pair.removed.setdefault(entry.name, {})[version] = entry
        for entry in matching.added:
            pair.added.setdefault(entry.name, {})[version] = entry

    def _rest(self) -> None:
        """Pair the remaining structs and fields, which are in no shared version, by name."""
        paired = {old for old, _ in self._found}, {new for _, new in self._found}
        for name in self._old:
            if name in self._new and name not in paired[0] and name not in paired[1]:
                self._struct(name, name)
        for pair in self._found.values():
            taken = {old for old, _ in pair.fields}, {new for _, new in pair.fields}
            for site in pair.old.fields:
                name = site.field.name
                partner = _named(pair.new, name)
                if partner is not None and name not in taken[0] and name not in taken[1]:
                    pair.fields[name, name] = FieldPair(site, partner)


def _entries(struct: StructSite, kind: StructKind) -> list[Entry]:
    """Return the fields of a struct in one version. Tagged fields come last."""
    sites = {site.field.name: site for site in struct.fields}
    plain = [Entry(sites[layout.name], layout.kind) for layout in kind.fields]
    return plain + [Entry(sites[tag.name], tag.kind, tag) for tag in kind.tags or ()]


def _named(struct: StructSite, name: str) -> FieldSite | None:
    return next((site for site in struct.fields if site.field.name == name), None)


def unstable_versions(message: Message, schema: Schema) -> frozenset[int]:
    """Return the unstable version of a message as a set, which can be empty. A response has the unstable version of
    its request [KAFKA-WIRE 34].
    """
    request: Iterable[Message] = (message,)
    if message.kind is MessageKind.RESPONSE:
        request = (m for m in schema.messages if (m.kind, m.api_key) == (MessageKind.REQUEST, message.api_key))
    flagged = any(candidate.latest_unstable for candidate in request)
    return frozenset({message.valid.high}) if flagged and message.valid else frozenset()
