"""Finds the changes to the fields of one message.

Versions that both sides have are compared one by one. The same change in several versions is reported once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diff import changes as c
from kwirec.diff.matching import Entry
from kwirec.diff.pairing import FieldPair, MessagePair, StructPair
from kwirec.ir.literals import default_text
from kwirec.ir.schema import Implicit, StructType, base_type
from kwirec.lowering.layout import ArrayKind, BlobKind, Kind, ScalarKind, StructKind

TWINS = ({"i16", "u16"}, {"i32", "u32"}, {"i8", "bool"})
"""Pairs of types of the same size. Each type can read the values of the other type that are in its own range."""


def compare_fields(pair: MessagePair) -> Iterator[c.Change]:
    """Yield all changes to the fields of a message and its structs."""
    renamed = set()
    for struct in pair.structs:
        yield from _removed(pair, struct)
        yield from _added(pair, struct)
        yield from _reused_tags(pair, struct)
        for field in struct.fields.values():
            for change in _in_versions(pair, field):
                if isinstance(change, c.StructRenamed):
                    structs = change.before.base, change.after.base
                    if structs in renamed:
                        continue
                    renamed.add(structs)
                yield change
            yield from _attributes(pair, field)


def _removed(pair: MessagePair, struct: StructPair) -> Iterator[c.Change]:
    paired = {old for old, _ in struct.fields}
    for site in struct.old.fields:
        entries = struct.removed.get(site.field.name, {})
        for kind in (c.FieldRemovedFromVersion, c.TagRemoved):
            if versions := frozenset(v for v, entry in entries.items() if (kind is c.TagRemoved) == bool(entry.tag)):
                after = struct.successor(site)
                yield kind(pair.old, pair.new, versions, before=site, after=after, struct=struct.new)
        if site.live and not entries and site.field.name not in paired:
            yield c.FieldRemoved(pair.old, pair.new, site.live, before=site, after=None, struct=struct.new)


def _added(pair: MessagePair, struct: StructPair) -> Iterator[c.Change]:
    before = {both.new.field.name: both.old for both in struct.fields.values()}
    for site in struct.new.fields:
        entries = struct.added.get(site.field.name, {})
        for kind in (c.FieldAddedToVersion, c.TagAdded):
            if versions := frozenset(v for v, entry in entries.items() if (kind is c.TagAdded) == bool(entry.tag)):
                was = before.get(site.field.name)
                yield kind(pair.old, pair.new, versions, before=was, after=site, struct=struct.old)


def _reused_tags(pair: MessagePair, struct: StructPair) -> Iterator[c.Change]:
    """Yield a change for each tag that a different field now uses in any version."""
    before = {site.field.tag: site for site in struct.old.fields if site.live_tagged}
    same = {(id(both.old), id(both.new)) for both in struct.fields.values()}
    for site in struct.new.fields:
        first = before.get(site.field.tag)
        if site.live_tagged and first is not None and (id(first), id(site)) not in same:
            yield c.TagReused(pair.old, pair.new, site.live_tagged, before=first, after=site)


def _in_versions(pair: MessagePair, field: FieldPair) -> Iterator[c.FieldPersists]:
    """Yield the changes to one field in the layouts of shared versions, grouped by kind."""
    facts: dict[type[c.FieldPersists], set[int]] = {}
    for version, (before, after) in field.entries.items():
        same_coding = (version in pair.old.message.flexible) == (version in pair.new.message.flexible)
        for fact in _facts(before, after, same_coding):
            facts.setdefault(fact, set()).add(version)
    if field.moved:
        facts[c.FieldReordered] = field.moved
    for fact, versions in facts.items():
        yield fact(pair.old, pair.new, frozenset(versions), before=field.old, after=field.new)


def _facts(before: Entry, after: Entry, same_coding: bool) -> Iterator[type[c.FieldPersists]]:
    if before.name != after.name:
        yield c.FieldRenamed
    names = [base_type(entry.site.field.type) for entry in (before, after)]
    if all(isinstance(name, StructType) for name in names) and names[0] != names[1]:
        yield c.StructRenamed
    if before.tag is not None and after.tag is not None:
        if before.tag.tag != after.tag.tag:
            yield c.TagNumberChanged
        if before.tag.default != after.tag.default:
            yield c.TagDefaultChanged
    elif before.tag is not after.tag and same_coding:
        yield c.FieldTaggingChanged
    yield from _kinds(before.kind, after.kind, same_coding)


def _kinds(before: Kind, after: Kind, same_coding: bool) -> Iterator[type[c.FieldPersists]]:
    match before, after:
        case ArrayKind(), ArrayKind():
            yield from _nullability(before.nullable, after.nullable)
            yield from _kinds(before.element, after.element, same_coding)
        case StructKind(), StructKind():
            yield from _nullability(before.nullable, after.nullable)
        case (BlobKind(), BlobKind()) if (before.string, before.records) == (after.string, after.records):
            yield from _nullability(before.nullable, after.nullable)
            if before.compact != after.compact and same_coding:
                yield c.FieldLengthCodingChanged
        case (ScalarKind(a), ScalarKind(b)) if a == b:
            pass
        case _:
            yield c.FieldTypeChangedSameBytes if _same_bytes(before, after) else c.FieldTypeChanged


def _nullability(before: bool, after: bool) -> Iterator[type[c.FieldPersists]]:
    if before != after:
        yield c.FieldNullabilityWidened if after else c.FieldNullabilityNarrowed


def _same_bytes(before: Kind, after: Kind) -> bool:
    """Return whether two kinds have the same encoding, if :data:`TWINS` count as the same type."""
    match before, after:
        case BlobKind(), BlobKind():
            same = (before.compact, before.nullable) == (after.compact, after.nullable)
            return same and (before.compact or before.string == after.string)
        case ScalarKind(a), ScalarKind(b) if any({a, b} <= twins for twins in TWINS):
            return True
        case _:
            return before.text == after.text


def _attributes(pair: MessagePair, field: FieldPair) -> Iterator[c.Change]:
    """Yield changes to attributes that do not affect the encoding. The default of a tagged field does affect the
    encoding.
    """
    both = field.old.field, field.new.field
    tagged = any(before.tag and after.tag for before, after in field.entries.values())
    implicit = all(isinstance(side.default, Implicit) for side in both)
    # A change to `ignorable` only matters if both sides have versions without the field.
    lacking = (field.old.reachable - field.old.live) & (field.new.reachable - field.new.live)
    for kind, (was, now) in {
        c.FieldDefaultChanged: ["", ""] if tagged or implicit else [default_text(side) for side in both],
        c.FieldEnumChanged: [side.enum.name if side.enum else "none" for side in both],
        c.FieldIgnorableChanged: [str(side.ignorable).lower() for side in both] if lacking else ["", ""],
        c.FieldEntityTypeChanged: [side.entity_type or "none" for side in both],
        c.FieldMapKeyChanged: [str(side.map_key).lower() for side in both],
    }.items():
        if was != now:
            yield kind(pair.old, pair.new, field.new.live, before=field.old, after=field.new, was=was, now=now)
