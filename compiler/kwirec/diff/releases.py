"""Derives the schema of a single Kafka release from the union of releases.

The union has the layouts of all versions of all releases, but only the newest release's names and attributes. A
release is the union without the versions, fields and tagged fields that the release did not have. Renames between
releases are not reconstructed. To see renames, compare the original definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from kwirec.ir.schema import Message, MessageKind, Schema
from kwirec.merge.history import ApiFacts, History, read_history, release_key
from kwirec.versions import NONE, VersionRange


class UnknownReleaseError(LookupError):
    """Raised when the union does not contain a release."""


def release_schema(union: Schema, root: Path, release: str) -> tuple[Schema, frozenset[str], frozenset[str]]:
    """Return the schema of a release and two sets of names of messages that cannot be compared.

    Messages in the first set have layouts that differ from the union. The modules of messages in the second set were
    not published with the release.
    """
    history = read_history(root)
    if release not in history.releases:
        if not history.releases:
            raise UnknownReleaseError(
                f"`release:{release}` needs a union of releases, and `{root.as_posix()}` is not a "
                "union: name a union with --union"
            )
        known = ", ".join(sorted(history.releases, key=release_key))
        raise UnknownReleaseError(f"unknown release `{release}`: the union in `{root.as_posix()}` has {known}")
    versions = _versions(union, history, release)
    messages = (_as_of(message, versions.get(message.name, NONE), history, release) for message in union.messages)
    incomparable = frozenset(entry.message for entry in history.exceptions if release in entry.releases)
    schema = replace(union, messages=tuple(message for message in messages if message.valid))
    return schema, incomparable, frozenset(history.unpublished.get(release, ()))


def _versions(union: Schema, history: History, release: str) -> Mapping[str, VersionRange]:
    """Return each message's versions in a release, or the versions that brokers accept if its layouts are unknown."""
    proved: dict[str, set[int]] = {}
    for message, version in history.evidence_of(release):
        proved.setdefault(message, set()).add(version)
    if not proved:
        facts = history.releases[release]
        return {
            message.name: VersionRange.parse(facts[message.api_key].accepts)
            for message in union.messages
            if message.is_rpc and message.api_key in facts
        }
    return {name: VersionRange(min(versions), max(versions)) for name, versions in proved.items()}


def _as_of(message: Message, versions: VersionRange, history: History, release: str) -> Message:
    valid = message.valid.intersect(versions)
    facts = ApiFacts(name="", accepts="")
    if message.kind is MessageKind.REQUEST and message.api_key is not None:
        facts = history.releases[release].get(message.api_key, facts)
    at = release_key(release)
    structs = []
    for struct in message.structs:
        known = (field for field in struct.fields if field.since is None or release_key(field.since) <= at)
        fields = (field for field in known if field.versions.intersect(valid))
        structs.append(replace(struct, fields=tuple(fields)))
    return replace(
        message,
        valid=valid,
        deprecated=VersionRange.parse(facts.deprecated or "none"),
        latest_unstable=valid.high in VersionRange.parse(facts.unstable or "none"),
        structs=tuple(structs),
    )
