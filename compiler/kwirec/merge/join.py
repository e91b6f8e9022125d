"""Two drafts of one message → one that has all versions of both.

Where both have a version with different bytes one of them must win it beforehand (see ``merge``); here every
shared version is equal, apart from tagged fields that only the newer one knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kwirec.ir.schema import IMPLICIT
from kwirec.merge.align import Alignment, align
from kwirec.merge.draft import FieldDraft, MessageDraft, StructDraft

SinceOf = Callable[[FieldDraft, frozenset[int]], str | None]
"""For a tagged field that one draft lacks in some shared versions: the release that brought it."""


def join(preferred: MessageDraft, other: MessageDraft, since_of: SinceOf) -> tuple[MessageDraft, list[str]]:
    """The joined draft in the names of ``preferred``, and the contradictions found on the way."""
    shared = preferred.valid & other.valid
    alignment = align(preferred, other, shared)
    joiner = _Joiner(preferred, other, shared, alignment, since_of)
    draft = replace(
        preferred,
        valid=preferred.valid | other.valid,
        flexible=preferred.flexible | other.flexible,
        structs=joiner.structs(),
        doc=preferred.doc or other.doc,
        aliases=_aliases(preferred.name, preferred.aliases, other.name, other.aliases),
    )
    draft.drop_unused_structs()
    return draft, alignment.conflicts


class _Joiner:
    def __init__(
        self,
        preferred: MessageDraft,
        other: MessageDraft,
        shared: frozenset[int],
        alignment: Alignment,
        since_of: SinceOf,
    ) -> None:
        self._preferred = preferred
        self._other = other
        self._shared = shared
        self._alignment = alignment
        self._since_of = since_of

    def structs(self) -> dict[str, StructDraft]:
        joined: dict[str, StructDraft] = {}
        for name, struct in self._preferred.structs.items():
            result = StructDraft(name, struct.doc, list(struct.fields))
            for (mine, theirs), names in self._alignment.structs.items():
                if mine == name:
                    other = self._other.structs[theirs]
                    result = StructDraft(name, result.doc or other.doc, self._fields(result.fields, other, names))
            joined[name] = result
        for name, struct in self._other.structs.items():
            if self._alignment.partner_of(name) is None:
                joined[name] = StructDraft(name, struct.doc, [self._adopted(one) for one in struct.fields])
        self._mark_tags(joined)
        return joined

    def _fields(self, mine: list[FieldDraft], other: StructDraft, names: dict[str, str]) -> list[FieldDraft]:
        """My fields in my order; theirs that I lack go behind the one they follow in their struct."""
        by_their_name = {theirs: my for my, theirs in names.items()}
        theirs = {one.name: one for one in other.fields}
        result = [self._both(one, theirs[names[one.name]]) if one.name in names else one for one in mine]
        at = 0
        for one in other.fields:
            if one.name in by_their_name:
                at = self._index(result, by_their_name[one.name]) + 1
            else:
                if any(f.name == one.name for f in result):
                    self._alignment.conflicts.append(
                        f"`{other.name}.{one.name}` has the name of a field of another type"
                    )
                result.insert(at, self._adopted(one))
                at += 1
        theirs_here = [by_their_name.get(f.name, f.name) for f in other.fields]
        return self._ordered(result, before_mine=mine, before_theirs=(theirs_here, other))

    def _ordered(
        self, fields: list[FieldDraft], *, before_mine: list[FieldDraft], before_theirs: tuple[list[str], StructDraft]
    ) -> list[FieldDraft]:
        """``fields`` so that any two that share a version of either draft stand as they do there."""
        after: dict[str, set[str]] = {one.name: set() for one in fields}
        names, other = before_theirs
        for order, lives in (
            ([f.name for f in before_mine], [f.live for f in before_mine]),
            (names, [f.live for f in other.fields]),
        ):
            for i, first in enumerate(order):
                for j in range(i + 1, len(order)):
                    if lives[i] & lives[j]:
                        after[order[j]].add(first)
        result: list[FieldDraft] = []
        placed: set[str] = set()
        rest = list(fields)
        while rest:
            ready = next((one for one in rest if after[one.name] <= placed), None)
            if ready is None:
                self._alignment.conflicts.append(f"the fields of `{other.name}` cannot be put into one order")
                return fields
            rest.remove(ready)
            placed.add(ready.name)
            result.append(ready)
        return result

    @staticmethod
    def _index(fields: list[FieldDraft], name: str) -> int:
        return next(index for index, one in enumerate(fields) if one.name == name)

    def _both(self, mine: FieldDraft, theirs: FieldDraft) -> FieldDraft:
        # A release that dropped old versions also dropped what only those needed: a default, ignorable. So the word
        # of the preferred draft counts if it still has a version without the field.
        telling = mine if mine.lacks or mine.tagged else theirs
        return replace(
            mine,
            live=mine.live | theirs.live,
            nullable=mine.nullable | theirs.nullable,
            tagged=mine.tagged | theirs.tagged,
            tag=mine.tag if mine.tag is not None else theirs.tag,
            classic=mine.classic | theirs.classic,
            lacks=mine.lacks | theirs.lacks,
            default=telling.default if mine.default is IMPLICIT else mine.default,
            ignorable=telling.ignorable,
            entity_type=mine.entity_type or theirs.entity_type,
            map_key=mine.map_key or theirs.map_key,
            doc=mine.doc or theirs.doc,
            aliases=_aliases(mine.name, mine.aliases, theirs.name, theirs.aliases),
            since=mine.since or theirs.since,
        )

    def _adopted(self, one: FieldDraft) -> FieldDraft:
        """A field of the other draft with its struct named as here."""
        if one.struct_name is None:
            return one
        partner = self._alignment.partner_of(one.struct_name)
        return one.with_struct(partner) if partner is not None else one

    def _mark_tags(self, joined: dict[str, StructDraft]) -> None:
        """Note the release of tagged fields that came to a version which was there before."""
        for (mine, theirs), names in self._alignment.structs.items():
            by_their_name = {their: my for my, their in names.items()}
            new = [f for f in self._preferred.structs[mine].fields if f.name not in names]
            new += [f for f in self._other.structs[theirs].fields if f.name not in by_their_name]
            for one in new:
                grown = one.tagged & self._shared
                target = joined[mine].field_named(one.name)
                if grown and target is not None and target.since is None:
                    target_index = joined[mine].fields.index(target)
                    joined[mine].fields[target_index] = replace(target, since=self._since_of(one, grown))


def _aliases(name: str, aliases: tuple[str, ...], other_name: str, other_aliases: tuple[str, ...]) -> tuple[str, ...]:
    """All former names, newest first, without the present one."""
    return tuple(dict.fromkeys(a for a in (*aliases, other_name, *other_aliases) if a != name))
