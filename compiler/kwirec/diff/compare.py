"""Finds the changes between two schemas, ordered by the names of messages and enums.

The layouts of individual versions are compared, not version ranges. A definition that is only written differently has
no changes. ``compare_fields`` finds the changes to fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diff import changes as c
from kwirec.diff.compare_enums import compare_enums
from kwirec.diff.compare_fields import compare_fields
from kwirec.diff.pairing import MessagePair, Pairing, pair_messages, unstable_versions
from kwirec.ir.schema import MessageKind, Schema
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.lowering import lower_message
from kwirec.lowering.headers import header_versions


def compare(old: Schema, new: Schema) -> list[c.Change]:
    """Return all changes from ``old`` to ``new``, sorted by name."""
    pairing = pair_messages(old, new)
    changes: list[c.Change] = [*_added_and_removed(pairing), *_numbers(pairing), *_ranges(old, new, pairing)]
    for pair in pairing.persisted:
        if not pair.old.message.valid or not pair.new.message.valid:
            continue
        changes += _message(pair)
        changes += _versions(pair)
        changes += _stability(pair, old, new)
        changes += compare_fields(pair)
    return sorted([*changes, *compare_enums(old, new)], key=lambda change: change.names[0])


def _added_and_removed(pairing: Pairing) -> Iterator[c.Change]:
    """Yield changes for messages with versions on only one side. A definition without versions only reserves an api
    key.
    """
    removed: list[tuple[MessageSite, MessageSite | None]] = [(site, None) for site in pairing.removed]
    removed += [(pair.old, pair.new) for pair in pairing.persisted if not pair.new.message.valid]
    for old, reserved in removed:
        if old.message.valid:
            yield c.MessageRemoved(old, reserved, frozenset(old.message.valid))
    for new in (*pairing.added, *(pair.new for pair in pairing.persisted if not pair.old.message.valid)):
        if new.message.valid:
            yield c.MessageAdded(None, new, frozenset(new.message.valid))


def _numbers(pairing: Pairing) -> Iterator[c.Change]:
    """Yield a change for each api key that another request now uses. Responses are not reported separately."""
    before = [*pairing.removed, *(pair.old for pair in pairing.persisted)]
    newly = [
        *pairing.added,
        *(pair.new for pair in pairing.persisted if pair.old.message.api_key != pair.new.message.api_key),
    ]
    for new in newly:
        for old in before:
            mine, theirs = old.message, new.message
            same_key = (mine.kind, mine.api_key) == (theirs.kind, theirs.api_key)
            if same_key and mine.kind is MessageKind.REQUEST and mine.name != theirs.name:
                yield c.ApiKeyReused(old, new)


def _ranges(old: Schema, new: Schema, pairing: Pairing) -> Iterator[c.Change]:
    """Yield a change for each request and response whose versions now differ but were equal before."""
    sites = {id(site.message): site for site in (*pairing.added, *(pair.new for pair in pairing.persisted))}
    agreed = {key: a.valid == b.valid for key, a, b in old.pairs() if a is not None and b is not None}
    for key, request, response in new.pairs():
        if request is not None and response is not None and request.valid != response.valid and agreed.get(key, True):
            yield c.RequestResponseVersionsDiverged(sites[id(request)], sites[id(response)])


def _message(pair: MessagePair) -> Iterator[c.Change]:
    old, new = pair.old.message, pair.new.message
    shared = pair.shared
    if old.name != new.name:
        yield c.MessageRenamed(pair.old, pair.new, shared)
    if old.kind is not new.kind:
        yield c.MessageKindChanged(pair.old, pair.new, shared)
    if old.api_key != new.api_key and None not in (old.api_key, new.api_key):
        yield c.ApiKeyChanged(pair.old, pair.new, shared)
    if set(old.listeners) != set(new.listeners):
        yield c.ListenersChanged(pair.old, pair.new, shared)
    for now in (True, False):
        if turned := frozenset(v for v in shared if (v in old.flexible, v in new.flexible) == (not now, now)):
            yield c.FlexibleVersionsChanged(pair.old, pair.new, turned, flexible=now)
        if marked := frozenset(v for v in shared if (v in old.deprecated, v in new.deprecated) == (not now, now)):
            yield c.DeprecatedVersionsChanged(pair.old, pair.new, marked, deprecated=now)
    yield from _headers(pair)


def _headers(pair: MessagePair) -> Iterator[c.Change]:
    old, new = pair.old.message, pair.new.message
    mine, theirs = header_versions(old), header_versions(new)
    changed: dict[tuple[int, int], set[int]] = {}
    for version in mine.keys() & theirs.keys():
        if mine[version] != theirs[version] and (version in old.flexible) == (version in new.flexible):
            changed.setdefault((mine[version], theirs[version]), set()).add(version)
    for (before, after), versions in sorted(changed.items()):
        yield c.HeaderVersionChanged(pair.old, pair.new, frozenset(versions), before=before, after=after)


def _versions(pair: MessagePair) -> Iterator[c.Change]:
    old, new = pair.old.message, pair.new.message
    removed, added = set(old.valid) - set(new.valid), set(new.valid) - set(old.valid)
    lowest = {v for v in removed if v < new.valid.low}
    undeprecated = old.kind is MessageKind.REQUEST and any(v not in old.deprecated for v in lowest)
    for versions, kind in (
        (lowest, c.VersionMinRaised),
        (lowest if undeprecated else set(), c.VersionMinRaisedUndeprecated),
        ({v for v in removed if v > new.valid.high}, c.VersionMaxLowered),
        ({v for v in added if v < old.valid.low}, c.VersionRestored),
    ):
        if versions:
            yield kind(pair.old, pair.new, frozenset(versions))
    for version in sorted(v for v in added if v > old.valid.high):
        yield _version_added(pair, version)


def _version_added(pair: MessagePair, version: int) -> c.VersionAdded:
    versions = frozenset({version})
    before = next((site for site in (pair.new, pair.old) if version - 1 in site.message.valid), None)
    if before is None:
        return c.VersionAdded(pair.old, pair.new, versions, before=None)
    there, here = _live(before, version - 1), _live(pair.new, version)
    same_bytes = lower_message(before.message, version - 1) == lower_message(pair.new.message, version)
    kind = c.VersionAddedSameBytes if same_bytes else c.VersionAdded
    return kind(
        pair.old,
        pair.new,
        versions,
        before=version - 1,
        added=tuple(site for path, site in here.items() if path not in there),
        removed=tuple(site for path, site in there.items() if path not in here),
        changed=tuple(
            site
            for path, site in here.items()
            if path in there and _how(site, version) != _how(there[path], version - 1)
        ),
    )


def _how(site: FieldSite, version: int) -> tuple[bool, bool]:
    return version in site.field.nullable, version in site.field.tagged


def _live(message: MessageSite, version: int) -> dict[str | None, FieldSite]:
    return {site.path: site for site in message.fields if version in site.live}


def _stability(pair: MessagePair, old: Schema, new: Schema) -> Iterator[c.Change]:
    before, after = unstable_versions(pair.old.message, old), unstable_versions(pair.new.message, new)
    if settled := (before - after) & pair.shared:
        yield c.VersionStabilized(pair.old, pair.new, settled)
    if unsettled := (after - before) & pair.shared:
        yield c.VersionDestabilized(pair.old, pair.new, unsettled)
