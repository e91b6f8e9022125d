"""Joins two drafts of one message into a draft with the versions of both.

If the bytes of a version differ, ``merge`` has already removed the version from one draft. All shared versions are
therefore equal, except for tagged fields that only the newer draft has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from kwirec.ir.schema import IMPLICIT, StructType, with_base
from kwirec.merge.align import Alignment, align
from kwirec.merge.draft import FieldDraft, MessageDraft, StructDraft, with_versions

SinceOf = Callable[[frozenset[int]], str]
"""A function that returns the release that added a tagged field to existing versions."""


def join(preferred: MessageDraft, other: MessageDraft, since_of: SinceOf) -> tuple[MessageDraft, list[str]]:
    """Return the joined draft, with the names in ``preferred``, and the contradictions between the drafts."""
    alignment = align(preferred, other)
    joiner = _Joiner(preferred, other, alignment, since_of)
    draft = replace(
        with_versions(frozenset.union, preferred, other),
        structs=joiner.structs(),
        sent_to=preferred.sent_to or other.sent_to,
        headers=_headers(preferred, other),
        unusual_headers=preferred.unusual_headers or other.unusual_headers,
        doc=preferred.doc or other.doc,
        aliases=_aliases(preferred.name, preferred.aliases, other.name, other.aliases),
    )
    draft.drop_unused_structs()
    return draft, alignment.conflicts


def _headers(preferred: MessageDraft, other: MessageDraft) -> dict[int, int]:
    """Return the header version of each message version. Stated header versions take precedence over derived ones."""
    derived, given = sorted((other, preferred), key=lambda draft: draft.unusual_headers)
    return derived.headers | given.headers


@dataclass
class _Joiner:
    preferred: MessageDraft
    other: MessageDraft
    alignment: Alignment
    since_of: SinceOf

    def structs(self) -> dict[str, StructDraft]:
        joined: dict[str, StructDraft] = {}
        for name, struct in self.preferred.structs.items():
            result = replace(struct, fields=list(struct.fields))
            for (mine, theirs), names in self.alignment.structs.items():
                if mine == name:
                    other = self.other.structs[theirs]
                    fields = self._fields(result.fields, other, names)
                    comments = result.comments or other.comments
                    result = StructDraft(name, result.doc or other.doc, fields, comments)
            joined[name] = result
        for name, struct in self.other.structs.items():
            if self.alignment.partner_of(name) is None:
                joined[name] = replace(struct, fields=[self._adopted(field) for field in struct.fields])
        self._mark_tags(joined)
        return joined

    def _fields(self, mine: list[FieldDraft], other: StructDraft, names: dict[str, str]) -> list[FieldDraft]:
        """Return the fields in the order of ``mine``. A field that only ``other`` has follows the field that precedes
        it in ``other``.
        """
        by_their_name = {theirs: my for my, theirs in names.items()}
        theirs = {field.name: field for field in other.fields}
        result = [self._both(field, theirs[names[field.name]]) if field.name in names else field for field in mine]
        at = 0
        for field in other.fields:
            if field.name in by_their_name:
                at = [known.name for known in result].index(by_their_name[field.name]) + 1
            else:
                if any(known.name == field.name for known in result):
                    self.alignment.conflicts.append(
                        f"`{other.name}.{field.name}` has the name of a field with another type"
                    )
                result.insert(at, self._adopted(field))
                at += 1
        theirs_here = [replace(field, name=by_their_name.get(field.name, field.name)) for field in other.fields]
        ordered = _ordered(result, mine, theirs_here)
        if ordered is None:
            self.alignment.conflicts.append(f"the fields of `{other.name}` cannot be arranged in one order")
        return ordered or result

    def _both(self, mine: FieldDraft, theirs: FieldDraft) -> FieldDraft:
        # A release that dropped old versions also dropped the default and ignorable that only those versions needed.
        # The preferred draft is therefore used only if some of its versions lack the field, or if it has all versions
        # of the other draft and so dropped the attributes on purpose.
        has_all = theirs.live | theirs.lacks <= mine.live | mine.lacks
        decisive = mine if mine.lacks or mine.tagged or has_all else theirs
        return replace(
            with_versions(frozenset.union, mine, theirs),
            tag=mine.tag if mine.tag is not None else theirs.tag,
            default=decisive.default if mine.default is IMPLICIT else mine.default,
            enum=mine.enum or theirs.enum,
            ignorable=decisive.ignorable,
            entity_type=mine.entity_type or theirs.entity_type,
            map_key=mine.map_key or theirs.map_key,
            doc=mine.doc or theirs.doc,
            aliases=_aliases(mine.name, mine.aliases, theirs.name, theirs.aliases),
            since=mine.since or theirs.since,
            comments=mine.comments or theirs.comments,
        )

    def _adopted(self, field: FieldDraft) -> FieldDraft:
        """Return a field of the other draft, whose type uses the preferred draft's struct name."""
        partner = None if field.struct_name is None else self.alignment.partner_of(field.struct_name)
        return field if partner is None else replace(field, type=with_base(field.type, StructType(partner)))

    def _mark_tags(self, joined: dict[str, StructDraft]) -> None:
        """Record the release that added each tagged field to existing versions."""
        shared = self.preferred.valid & self.other.valid
        for (mine, theirs), names in self.alignment.structs.items():
            new = [f for f in self.preferred.structs[mine].fields if f.name not in names]
            new += [f for f in self.other.structs[theirs].fields if f.name not in names.values()]
            late = {f.name: grown for f in new if (grown := f.tagged & shared)}
            joined[mine].fields = [
                replace(f, since=self.since_of(late[f.name])) if f.name in late and f.since is None else f
                for f in joined[mine].fields
            ]


def _ordered(fields: list[FieldDraft], *drafts: list[FieldDraft]) -> list[FieldDraft] | None:
    """Return ``fields`` sorted so that fields sharing a version keep the order of each draft, or ``None`` if there is
    no such order.
    """
    after: dict[str, set[str]] = {field.name: set() for field in fields}
    for draft in drafts:
        for first, second in combinations(draft, 2):
            if first.live & second.live:
                after[second.name].add(first.name)
    result: list[FieldDraft] = []
    rest = list(fields)
    while rest:
        placed = {field.name for field in result}
        ready = next((field for field in rest if after[field.name] <= placed), None)
        if ready is None:
            return None
        rest.remove(ready)
        result.append(ready)
    return result


def _aliases(name: str, aliases: tuple[str, ...], other_name: str, other_aliases: tuple[str, ...]) -> tuple[str, ...]:
    """Return all former names without the current name, newest first."""
    return tuple(dict.fromkeys(a for a in (*aliases, other_name, *other_aliases) if a != name))
