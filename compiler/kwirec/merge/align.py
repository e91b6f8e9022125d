"""Matches the fields and structs of two drafts of one message.

Shared versions are considered first, because their bytes are equal in both drafts. Two untagged fields match if they
have the same position in the same struct of a shared version, and two tagged fields if they have the same tag. The
remaining fields are matched by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kwirec.merge.draft import FieldDraft, MessageDraft


@dataclass
class Alignment:
    """Pairs of matching structs ``(preferred, other)``. Each pair maps field names in the preferred draft to field
    names in the other draft.
    """

    structs: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)

    def partner_of(self, other_struct: str) -> str | None:
        """Return the preferred draft's name for a struct of the other draft, or ``None``."""
        return next((mine for mine, theirs in self.structs if theirs == other_struct), None)


def align(preferred: MessageDraft, other: MessageDraft) -> Alignment:
    """Match the fields and structs of two drafts. The result lists contradictions in ``conflicts``."""
    alignment = Alignment()
    shared = preferred.valid & other.valid
    pending = [(preferred.name, other.name)]
    while pending:
        pair = pending.pop()
        if pair in alignment.structs:
            continue
        mine, theirs = preferred.structs[pair[0]], other.structs[pair[1]]
        names = _by_position(mine.fields, theirs.fields, shared, alignment.conflicts)
        _by_name(mine.fields, theirs.fields, names)
        alignment.structs[pair] = names
        my_structs, their_structs = ({f.name: f.struct_name for f in struct.fields} for struct in (mine, theirs))
        for my_name, their_name in names.items():
            my_struct, their_struct = my_structs[my_name], their_structs[their_name]
            if my_struct is not None and their_struct is not None:
                pending.append((my_struct, their_struct))
    for name in other.structs:
        if alignment.partner_of(name) is None and name in preferred.structs:
            names = {}
            _by_name(preferred.structs[name].fields, other.structs[name].fields, names)
            alignment.structs[(name, name)] = names
    return alignment


def _by_position(
    mine: list[FieldDraft], theirs: list[FieldDraft], shared: frozenset[int], conflicts: list[str]
) -> dict[str, str]:
    names: dict[str, str] = {}
    for version in sorted(shared):
        for a, b in _pairs(mine, theirs, version):
            if names.setdefault(a.name, b.name) != b.name:
                conflicts.append(
                    f"`{a.name}` is `{names[a.name]}` in one version and `{b.name}` in version {version}"
                )
    backwards: dict[str, str] = {}
    for mine_name, their_name in names.items():
        if (first := backwards.setdefault(their_name, mine_name)) != mine_name:
            conflicts.append(f"`{their_name}` is both `{first}` and `{mine_name}`")
    return names


def _pairs(mine: list[FieldDraft], theirs: list[FieldDraft], version: int) -> Iterable[tuple[FieldDraft, FieldDraft]]:
    yield from zip(
        (f for f in mine if f.live_untagged(version)), (f for f in theirs if f.live_untagged(version)), strict=False
    )
    by_tag = {f.tag: f for f in theirs if version in f.tagged}
    for draft in mine:
        if version in draft.tagged and draft.tag in by_tag:
            yield draft, by_tag[draft.tag]


def _by_name(mine: list[FieldDraft], theirs: list[FieldDraft], names: dict[str, str]) -> None:
    """Match the remaining fields by name or by former names of the fields in ``mine``."""
    taken = set(names.values())
    rest = {f.name: f for f in theirs if f.name not in taken}
    for draft in mine:
        if draft.name in names:
            continue
        for name in (draft.name, *draft.aliases):
            if name in rest and _same_shape(draft, rest[name]):
                names[draft.name] = rest.pop(name).name
                break


def _same_shape(a: FieldDraft, b: FieldDraft) -> bool:
    if a.struct_name is not None and b.struct_name is not None:
        return str(a.type).count("[]") == str(b.type).count("[]")
    return str(a.type) == str(b.type)
