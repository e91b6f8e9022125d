"""Proves the union: every version of every message of every merged release has its bytes in the union.

The evidence is the fingerprints in ``layouts.json``. Tagged fields that came to an existing version later
(``since``) are left out when the union is seen as of an older release; growth of that kind is what tags are for
[KIP-482]. Numbers whose bytes did change must be listed in ``exceptions.json``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kwirec.ir.schema import Schema
from kwirec.lowering.layout import ArrayKind, FieldLayout, Kind, MessageLayout, StructKind
from kwirec.lowering.lowering import Layouts
from kwirec.merge.history import History, release_key


@dataclass(frozen=True)
class Mismatch:
    """One number of one release whose bytes the union does not have."""

    message: str
    version: int
    release: str
    reason: str

    def __str__(self) -> str:
        return f"{self.message} version {self.version} of {self.release}: {self.reason}"


@dataclass(frozen=True)
class Proof:
    """The outcome: how many (release, message, version) hold, hold as listed exceptions, or do not."""

    proved: int
    excepted: int
    mismatches: tuple[Mismatch, ...]


def prove(schema: Schema, layouts: Layouts, history: History) -> Proof:
    """Compare the union with the fingerprints of all merged releases."""
    proved = excepted = 0
    mismatches: list[Mismatch] = []
    as_of = _AsOf(layouts)
    for message, version, fingerprint, release in _evidence(history):
        if as_of.fingerprint(message, version, release) == fingerprint:
            proved += 1
            continue
        entry = history.excepted(message, version, release)
        if entry is None:
            known = version in layouts.by_message.get(message, {})
            reason = "the bytes differ" if known else "the union has no such version"
            mismatches.append(Mismatch(message, version, release, reason))
        elif entry.now is not None and as_of.fingerprint(message, entry.now, release) != fingerprint:
            mismatches.append(Mismatch(message, version, release, f"not the bytes of version {entry.now} either"))
        else:
            excepted += 1
    mismatches += _unused(history, as_of)
    return Proof(proved, excepted, tuple(mismatches))


def _evidence(history: History) -> Iterator[tuple[str, int, str, str]]:
    for message, versions in history.layouts.items():
        for version, prints in versions.items():
            for fingerprint, releases in prints.items():
                for release in releases:
                    yield message, version, fingerprint, release


def _unused(history: History, as_of: _AsOf) -> Iterator[Mismatch]:
    """Exceptions that are none: the list must stay as short as it can be."""
    evidence = {(m, v, r): print_ for m, v, print_, r in _evidence(history)}
    for entry in history.exceptions:
        for release in entry.releases:
            print_ = evidence.get((entry.message, entry.version, release))
            if print_ is None or print_ == as_of.fingerprint(entry.message, entry.version, release):
                yield Mismatch(entry.message, entry.version, release, "listed as an exception without need")


class _AsOf:
    """Fingerprints of the union as an older release knew it, each computed once."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._known: dict[tuple[str, int, str], str | None] = {}

    def fingerprint(self, message: str, version: int, release: str) -> str | None:
        key = (message, version, release)
        if key not in self._known:
            layout = self._layouts.by_message.get(message, {}).get(version)
            self._known[key] = None if layout is None else as_of(layout, release).fingerprint
        return self._known[key]


def as_of(layout: MessageLayout, release: str) -> MessageLayout:
    """The layout without the tagged fields that came after ``release``."""
    at = release_key(release)

    def struct(one: StructKind) -> StructKind:
        tags = one.tags
        if tags is not None:
            tags = tuple(
                replace(tag, kind=kind(tag.kind)) for tag in tags if tag.since is None or release_key(tag.since) <= at
            )
        return replace(one, fields=tuple(FieldLayout(f.name, kind(f.kind)) for f in one.fields), tags=tags)

    def kind(one: Kind) -> Kind:
        if isinstance(one, StructKind):
            return struct(one)
        return replace(one, element=kind(one.element)) if isinstance(one, ArrayKind) else one

    return replace(layout, body=struct(layout.body))


def grew_by_tags(old: MessageLayout, new: MessageLayout) -> bool:
    """Whether ``new`` is ``old`` with tagged fields added, anywhere in it."""
    return _pruned(new.body, old.body) == old.body


def _pruned(new: Kind, old: Kind) -> Kind:
    """``new`` without the tagged fields that ``old`` lacks."""
    if isinstance(new, ArrayKind) and isinstance(old, ArrayKind):
        return replace(new, element=_pruned(new.element, old.element))
    if isinstance(new, StructKind) and isinstance(old, StructKind) and len(new.fields) == len(old.fields):
        fields = tuple(
            FieldLayout(a.name, _pruned(a.kind, b.kind)) for a, b in zip(new.fields, old.fields, strict=True)
        )
        tags = new.tags
        if tags is not None and old.tags is not None:
            theirs = {tag.tag: tag for tag in old.tags}
            tags = tuple(
                replace(tag, kind=_pruned(tag.kind, theirs[tag.tag].kind)) for tag in tags if tag.tag in theirs
            )
        return replace(new, fields=fields, tags=tags)
    return new
