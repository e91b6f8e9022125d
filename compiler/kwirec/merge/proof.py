"""Proves that the union preserves the bytes of each message version in all merged releases.

The proof compares the union with the fingerprints in ``layouts.json``. For an older release, it first removes the
tagged fields that were added to existing versions later (``since``), which KIP-482 allows. Versions whose
bytes really changed must be listed in ``exceptions.json``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kwirec.ir.schema import Schema
from kwirec.lowering.layout import ArrayKind, FieldLayout, Kind, MessageLayout, StructKind, TagLayout, walk
from kwirec.lowering.lowering import Layouts
from kwirec.merge.history import History, release_key


@dataclass(frozen=True)
class Mismatch:
    """A message version whose bytes in a release differ from its bytes in the union."""

    message: str
    version: int
    release: str
    reason: str

    def __str__(self) -> str:
        return f"{self.message} version {self.version} of {self.release}: {self.reason}"


@dataclass(frozen=True)
class Proof:
    """The result of a proof: numbers of triples (release, message, version) that agree or are listed as exceptions,
    and the mismatches.
    """

    proved: int
    excepted: int
    mismatches: tuple[Mismatch, ...]


def prove(schema: Schema, layouts: Layouts, history: History) -> Proof:
    """Compare the union with the fingerprints of all merged releases, and return the result."""

    @functools.cache
    def print_at(message: str, version: int, since: str) -> str:
        return as_of(layouts.by_message[message][version], since).fingerprint

    late = {
        (message, version): sorted((since for _, _, since in late_tags(layout)), key=release_key)
        for message, versions in layouts.by_message.items()
        for version, layout in versions.items()
    }

    def print_of(message: str, version: int, release: str) -> str | None:
        """Return the fingerprint of a version as of a release, or ``None`` if the union lacks the version.

        Releases between two additions of tags share a cached fingerprint.
        """
        if (message, version) not in late:
            return None
        came = [since for since in late[message, version] if release_key(since) <= release_key(release)]
        return print_at(message, version, came[-1] if came else "0")

    proved = excepted = 0
    mismatches: list[Mismatch] = []
    for message, version, release, fingerprint in history.evidence():
        if print_of(message, version, release) == fingerprint:
            proved += 1
            continue
        entry = history.excepted(message, version, release)
        if entry is None:
            known = version in layouts.by_message.get(message, {})
            reason = "the bytes differ" if known else "the union has no such version"
            mismatches.append(Mismatch(message, version, release, reason))
        elif entry.now is not None and print_of(message, entry.now, release) != fingerprint:
            mismatches.append(Mismatch(message, version, release, f"not the bytes of version {entry.now} either"))
        else:
            excepted += 1
    for entry in history.exceptions:
        for release in entry.releases:
            evidence = history.prints(entry.message, entry.version).get(release)
            if evidence in (None, print_of(entry.message, entry.version, release)):
                reason = "listed as an exception, but equal"
                mismatches.append(Mismatch(entry.message, entry.version, release, reason))
    return Proof(proved, excepted, tuple(mismatches))


def late_tags(layout: MessageLayout) -> Iterator[tuple[str, TagLayout, str]]:
    """Yield the path, field and release of each tagged field that was added to an existing layout."""
    for path, field in walk(layout.body):
        if isinstance(field, TagLayout) and field.since is not None:
            yield path, field, field.since


def as_of(layout: MessageLayout, release: str) -> MessageLayout:
    """Return the layout without the tagged fields that were added after ``release``."""
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
    """Return whether ``new`` differs from ``old`` only by additional tagged fields at any depth."""
    return _pruned(new.body, old.body) == old.body


def _pruned(new: Kind, old: Kind) -> Kind:
    """Return ``new`` without the tagged fields that ``old`` lacks."""
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
