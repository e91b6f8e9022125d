"""Changes to versions: added, removed, deprecated and unstable versions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import ABSENT, clock, field, files, request, response
from kwirec.diff.changes.change import AnyMessageChange, MessageChange, rule, span_of
from kwirec.diff.rule import Level
from kwirec.ir.schema import Message, MessageKind
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.versions import in_words

GONE = {"validVersions": "none", "flexibleVersions": ABSENT, "fields": ABSENT}

WORDS = {MessageKind.DATA: "message", MessageKind.METADATA: "metadata record"}


def named(message: Message) -> str:
    """Return the name of a message with its type and api key, such as ``request `FetchRequest` (api key 1)``."""
    key = "" if message.api_key is None else f" (api key {message.api_key})"
    return f"{WORDS.get(message.kind, message.kind.value.replace('-', ' '))} `{message.name}`{key}"


@rule(Level.WIRE, before=files(request(), response()), after=files(request(**GONE), response(**GONE)))
@dataclass(frozen=True, eq=False)
class MessageRemoved(AnyMessageChange):
    """A message was removed, or no longer has any versions.

    Peers that use the message are no longer understood. To keep the api key reserved, keep a definition without
    versions.
    """

    old: MessageSite

    def describe(self) -> Finding:
        text = f"{named(self.old.message)} with {in_words(self.versions)} was removed"
        if self.new is None:
            return finding(text, self.old.decl.name.span, "was defined here")
        old, new = (span_of(site.decl, "valid_versions") for site in (self.old, self.new))
        return finding(text, new, "has no versions", others=[(old, "the old versions")])


@rule(Level.WIRE, before=clock(), after=files(clock(), clock(name="Alarm")), severity=Severity.NOTE)
@dataclass(frozen=True, eq=False)
class MessageAdded(AnyMessageChange):
    """A message was added.

    This breaks nothing because the message is not used yet.
    """

    new: MessageSite

    def describe(self) -> Finding:
        text = f"{named(self.new.message)} was added with {in_words(self.versions)}"
        return finding(text, self.new.decl.name.span, "new message")


@rule(Level.WIRE, before=request(), after=request(validVersions="1-2"))
class VersionMinRaised(MessageChange):
    """The lowest versions of a message were removed.

    Peers that support only these versions are no longer understood. In Kafka, such a removal requires a KIP.
    """

    def describe(self) -> Finding:
        return _range_changed(self, f"`{self.message.name}` no longer has {in_words(self.versions)}")


@rule(Level.WIRE, before=request(), after=request(validVersions="0-1"))
class VersionMaxLowered(MessageChange):
    """The highest versions of a message were removed.

    Data that peers send or store in these versions can no longer be read. Released versions must not be removed.
    """

    def describe(self) -> Finding:
        return _range_changed(self, f"`{self.message.name}` no longer has its highest {in_words(self.versions)}")


@rule(Level.WIRE, before=request(validVersions="1-2"), after=request(), severity=Severity.NOTE)
class VersionRestored(MessageChange):
    """Versions below the lowest version were added, usually because a removal was reverted.

    Peers that support only these versions are understood again. Other peers are not affected.
    """

    def describe(self) -> Finding:
        return _range_changed(self, f"`{self.message.name}` regained {in_words(self.versions)}")


def _range_changed(change: MessageChange, text: str) -> Finding:
    now, was = change.new.message.valid, change.old.message.valid
    return change.contrast("valid_versions", text, f"is {now} now", f"was {was}")


@rule(
    Level.WIRE,
    before=request(),
    after=request(field("Zone", versions="3+", ignorable=True), validVersions="0-3"),
    severity=Severity.NOTE,
)
@dataclass(frozen=True, kw_only=True, eq=False)
class VersionAdded(MessageChange):
    """A message has a new version with a new layout.

    This breaks nothing because the version is not used yet. The finding lists the fields that differ.
    """

    before: int | None
    """The previous version, or ``None`` if neither side has it."""
    added: tuple[FieldSite, ...] = ()
    removed: tuple[FieldSite, ...] = ()
    changed: tuple[FieldSite, ...] = ()
    """Fields whose nullability or tagging differs from the previous version."""

    def describe(self) -> Finding:
        text = f"`{self.message.name}` has the new {in_words(self.versions)}"
        return finding(text, span_of(self.new.decl, "valid_versions"), "new version", notes=self._differences())

    def _differences(self) -> Iterator[str]:
        """Yield the differences from the previous version."""
        flexible = self.new.message.flexible
        is_flexible = any(version in flexible for version in self.versions)
        if is_flexible and self.before is not None and self.before not in flexible:
            yield "this is the first flexible version"
        for words, sites in (
            ("added:", self.added),
            ("removed:", self.removed),
            ("changed nullability or tagging:", self.changed),
        ):
            if sites:
                yield f"{words} {', '.join(f'`{site.path}`' for site in sites)}"


@rule(Level.WIRE, before=request(), after=request(validVersions="0-3"), severity=Severity.NOTE)
class VersionAddedSameBytes(VersionAdded):
    """A message has a new version with the same layout as the previous version.

    Only the meaning of the new version differs, which is not part of the definition. See the description of the API.
    """

    def describe(self) -> Finding:
        text = f"`{self.message.name}` has the new {in_words(self.versions)} with an unchanged layout"
        note = f"the layout is the same as in version {self.before}"
        return finding(text, span_of(self.new.decl, "valid_versions"), "new version", notes=[note])


@rule(Level.POLICY, before=request(deprecatedVersions="0"), after=request(validVersions="2"))
class VersionMinRaisedUndeprecated(VersionMinRaised):
    """The lowest versions of a request were removed without having been deprecated.

    Operators had no chance to find users of these versions before the upgrade.
    """

    def describe(self) -> Finding:
        undeprecated = {version for version in self.versions if version not in self.old.message.deprecated}
        decl = self.old.decl
        words = (
            "does not include all of these versions" if decl.deprecated_versions else "none of these was deprecated"
        )
        return finding(
            f"`{self.message.name}` lost {in_words(undeprecated)} without a deprecation",
            span_of(self.new.decl, "valid_versions"),
            f"is {self.new.message.valid} now",
            others=[(span_of(decl, "deprecated_versions", "valid_versions"), words)],
        )


@rule(Level.POLICY, before=request(), after=request(latestVersionUnstable=True))
class VersionDestabilized(MessageChange):
    """A stable version became unstable.

    Brokers no longer offer the version by default, although peers may already use it.
    """

    def describe(self) -> Finding:
        text = f"{in_words(self.versions)} of `{self.message.name}` became unstable"
        return self.contrast("valid_versions", text, "the highest of these versions", "was stable")


@rule(Level.POLICY, before=request(latestVersionUnstable=True), after=request(), severity=Severity.NOTE)
class VersionStabilized(MessageChange):
    """An unstable version became stable.

    The layout of the version must no longer change, and brokers now offer the version by default.
    """

    def describe(self) -> Finding:
        text = f"{in_words(self.versions)} of `{self.message.name}` became stable"
        return self.contrast("valid_versions", text, "the highest of these versions", "was unstable")


@rule(Level.POLICY, before=request(), after=request(deprecatedVersions="0"), severity=Severity.NOTE)
@dataclass(frozen=True, kw_only=True, eq=False)
class DeprecatedVersionsChanged(MessageChange):
    """Versions became deprecated, or are no longer deprecated.

    Deprecated versions still work. Brokers count and log their use, and the next major release can remove them.
    """

    deprecated: bool
    """Whether the versions became deprecated."""

    def describe(self) -> Finding:
        verb = "became deprecated" if self.deprecated else "ceased to be deprecated"
        old, new = self.old.decl, self.new.decl
        was = [(span_of(old, "deprecated_versions"), f"was {self.old.message.deprecated}")]
        return finding(
            f"{in_words(self.versions)} of `{self.message.name}` {verb}",
            span_of(new, "deprecated_versions", "valid_versions"),
            f"is {self.new.message.deprecated} now" if new.deprecated_versions else "none of these is deprecated now",
            others=was if old.deprecated_versions else (),
        )
