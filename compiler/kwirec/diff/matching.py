"""Pairs the fields of one struct in one version, and finds moved, renamed, removed and added fields.

::

    old   A  B  C  D  @0 T             pairs  A–A  B–X (renamed)  C–C (moved)  T–T
    new   C  A  X  E  E2  @0 T         removed   D        added  E  E2
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kwirec.ir.schema import name_overlap
from kwirec.ir.sites import FieldSite
from kwirec.lowering.layout import ArrayKind, Kind, StructKind, TagLayout


@dataclass(frozen=True, eq=False)
class Entry:
    """A field in one version. ``tag`` is set for tagged fields."""

    site: FieldSite
    kind: Kind
    tag: TagLayout | None = None

    @property
    def name(self) -> str:
        return self.site.field.name


Pair = tuple[Entry, Entry]


@dataclass(frozen=True)
class Matching:
    """Paired, removed and added fields. ``moved`` contains the pairs whose positions differ."""

    pairs: list[Pair]
    moved: list[Pair]
    removed: list[Entry]
    added: list[Entry]


def match(old: Sequence[Entry], new: Sequence[Entry]) -> Matching:
    """Pair fields by name, then by former name, then by position or tag."""
    pairs = _by_name(old, new)
    plain = [pair for pair in pairs if pair[0].tag is None and pair[1].tag is None]
    places = [new.index(after) for _, after in plain]
    steady = [plain[index] for index in _longest_increasing(places)]
    pairs += _by_place(old, new, pairs, steady)
    pairs += _by_tag(_unpaired(old, pairs), _unpaired(new, pairs))
    moved = [pair for pair in plain if pair not in steady]
    return Matching(pairs=pairs, moved=moved, removed=_unpaired(old, pairs), added=_unpaired(new, pairs))


def _by_name(old: Sequence[Entry], new: Sequence[Entry]) -> list[Pair]:
    """Return pairs in the order of ``old``. Current names take precedence over former names."""
    theirs = {entry.name: entry for entry in new}
    mine = {entry.name for entry in old}
    partners: dict[str, Entry] = {name: theirs[name] for name in mine if name in theirs}
    for before in old:
        for after in new:
            known = before.name in after.site.field.aliases or after.name in before.site.field.aliases
            if known and before.name not in theirs and after.name not in mine and after not in partners.values():
                partners.setdefault(before.name, after)
    return [(before, partners[before.name]) for before in old if before.name in partners]


def _by_place(old: Sequence[Entry], new: Sequence[Entry], pairs: list[Pair], steady: list[Pair]) -> list[Pair]:
    """Return renamed fields. These are unpaired fields between the same neighbours, if both sides have equally many
    of them.
    """
    renamed: list[Pair] = []
    starts = (-1, -1)
    for ends in [*((old.index(a), new.index(b)) for a, b in steady), (len(old), len(new))]:
        left, right = (
            [entry for entry in _unpaired(side[start + 1 : end], pairs) if entry.tag is None]
            for side, start, end in zip((old, new), starts, ends, strict=True)
        )
        if len(left) == len(right):
            renamed += [(a, b) for a, b in zip(left, right, strict=True) if _same_shape(a.kind, b.kind)]
        starts = ends
    return renamed


def _by_tag(old: Sequence[Entry], new: Sequence[Entry]) -> list[Pair]:
    """Return renamed tagged fields, which have the same tag and encoding."""
    theirs = {entry.tag: entry for entry in new if entry.tag}
    return [(entry, theirs[entry.tag]) for entry in old if entry.tag in theirs]


def _same_shape(a: Kind, b: Kind) -> bool:
    """Return whether two kinds have the same encoding or are structs that share at least half of their fields."""
    if isinstance(a, ArrayKind) and isinstance(b, ArrayKind):
        return _same_shape(a.element, b.element)
    if isinstance(a, StructKind) and isinstance(b, StructKind):
        return a.text == b.text or name_overlap(a.fields, b.fields) >= 0.5
    return a.text == b.text


def _unpaired(entries: Sequence[Entry], pairs: Sequence[Pair]) -> list[Entry]:
    paired = {entry for pair in pairs for entry in pair}
    return [entry for entry in entries if entry not in paired]


def _longest_increasing(numbers: Sequence[int]) -> list[int]:
    """Return the indexes of a longest increasing subsequence, whose elements were not moved."""

    def best(chains: Iterable[list[int]]) -> list[int]:
        """Return the longest chain. If several are equally long, return the one whose last number is smallest."""
        return max(chains, key=lambda chain: (len(chain), -numbers[chain[-1]]), default=[])

    chains: list[list[int]] = []
    for index, number in enumerate(numbers):
        chains.append([*best(chain for chain in chains if numbers[chain[-1]] < number), index])
    return best(chains)
