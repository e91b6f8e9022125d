"""Rules about added, removed, deprecated and unstable versions."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import ABSENT, clock, field, files, request, response
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, contrast, rule, span_of
from kwirec.ir.schema import Message, MessageKind
from kwirec.versions import in_words

GONE = {"validVersions": "none", "flexibleVersions": ABSENT, "fields": ABSENT}

WORDS = {MessageKind.DATA: "message", MessageKind.METADATA: "metadata record"}


def named(message: Message) -> str:
    """The message with its type and api key: ``request `FetchRequest` (api key 1)``."""
    key = "" if message.api_key is None else f" (api key {message.api_key})"
    return f"{WORDS.get(message.kind, message.kind.value.replace('-', ' '))} `{message.name}`{key}"


@rule(Level.WIRE, before=files(request(), response()), after=files(request(**GONE), response(**GONE)))
def message_removed(change: c.MessageRemoved) -> Finding:
    """A message was removed, or no longer has any versions.

    Peers that use it are no longer understood. A definition without versions keeps the api key reserved.
    """
    text = f"{named(change.old.message)} with {in_words(change.versions)} was removed"
    if change.new is None:
        return finding(text, change.old.decl.name.span, "was defined here")
    old, new = (span_of(site.decl, "valid_versions") for site in (change.old, change.new))
    return finding(text, new, "has no versions", others=[(old, "the old versions")])


@rule(Level.WIRE, before=clock(), after=files(clock(), clock(name="Alarm")), severity=Severity.NOTE)
def message_added(change: c.MessageAdded) -> Finding:
    """A message was added.

    This breaks nothing because the message is not used yet.
    """
    text = f"{named(change.new.message)} was added with {in_words(change.versions)}"
    return finding(text, change.new.decl.name.span, "new message")


@rule(Level.WIRE, before=request(), after=request(validVersions="1-2"))
def version_min_raised(change: c.VersionMinRaised) -> Finding:
    """The lowest versions of a message were removed.

    Peers that support only these versions are no longer understood. In Kafka, this requires a KIP.
    """
    return _range_changed(change, f"`{change.message.name}` no longer has {in_words(change.versions)}")


@rule(Level.WIRE, before=request(), after=request(validVersions="0-1"))
def version_max_lowered(change: c.VersionMaxLowered) -> Finding:
    """The highest versions of a message were removed.

    Peers that use them, and data stored in them, can no longer be read. Released versions must not be removed.
    """
    return _range_changed(change, f"`{change.message.name}` no longer has {in_words(change.versions)}, its highest")


@rule(Level.WIRE, before=request(validVersions="1-2"), after=request(), severity=Severity.NOTE)
def version_restored(change: c.VersionRestored) -> Finding:
    """Versions below the lowest version were added, usually because a removal was reverted.

    Peers that support only these versions are understood again; others are not affected.
    """
    return _range_changed(change, f"`{change.message.name}` regained {in_words(change.versions)}")


def _range_changed(change: c.MessageChange, text: str) -> Finding:
    now, was = change.new.message.valid, change.old.message.valid
    return contrast(change, "valid_versions", text, f"is {now} now", f"was {was}")


@rule(
    Level.WIRE,
    before=request(),
    after=request(field("Zone", versions="3+", ignorable=True), validVersions="0-3"),
    severity=Severity.NOTE,
)
def version_added(change: c.VersionAdded) -> Finding | None:
    """A message has a new version with a new layout.

    This breaks nothing because the version is not used yet. The finding lists the fields that differ.
    """
    if change.same_bytes:
        return None
    text = f"`{change.message.name}` has the new {in_words(change.versions)}"
    return finding(text, span_of(change.new.decl, "valid_versions"), "new version", notes=_news(change))


def _news(change: c.VersionAdded) -> Iterator[str]:
    """The differences from the previous version."""
    flexible = change.new.message.flexible
    is_flexible = any(version in flexible for version in change.versions)
    if is_flexible and change.before is not None and change.before not in flexible:
        yield "it is the first flexible version"
    for words, sites in (
        ("added:", change.added),
        ("removed:", change.removed),
        ("changed nullability or tagging:", change.changed),
    ):
        if sites:
            yield f"{words} {', '.join(f'`{site.path}`' for site in sites)}"


@rule(Level.WIRE, before=request(), after=request(validVersions="0-3"), severity=Severity.NOTE)
def version_added_same_bytes(change: c.VersionAdded) -> Finding | None:
    """A message has a new version with the layout of the previous one.

    Only its meaning differs, which is not part of the definition: see the description of the API.
    """
    if not change.same_bytes:
        return None
    text = f"`{change.message.name}` has the new {in_words(change.versions)} with an unchanged layout"
    note = f"its layout is that of version {change.before}"
    return finding(text, span_of(change.new.decl, "valid_versions"), "new version", notes=[note])


@rule(Level.POLICY, before=request(deprecatedVersions="0"), after=request(validVersions="2"))
def version_min_raised_undeprecated(change: c.VersionMinRaised) -> Finding | None:
    """The lowest versions of a request were removed without having been deprecated.

    Operators could not look for users of these versions before the upgrade.
    """
    old = change.old.message
    undeprecated = {version for version in change.versions if version not in old.deprecated}
    if old.kind is not MessageKind.REQUEST or not undeprecated:
        return None
    decl = change.old.decl
    words = "does not include all of them" if decl.deprecated_versions else "none of these was deprecated"
    return finding(
        f"`{change.message.name}` lost {in_words(undeprecated)} without a deprecation",
        span_of(change.new.decl, "valid_versions"),
        f"is {change.new.message.valid} now",
        others=[(span_of(decl, "deprecated_versions", "valid_versions"), words)],
    )


@rule(Level.POLICY, before=request(), after=request(latestVersionUnstable=True))
def version_destabilized(change: c.VersionDestabilized) -> Finding:
    """A stable version became unstable.

    Brokers no longer offer it by default, although peers may already use it.
    """
    text = f"{in_words(change.versions)} of `{change.message.name}` became unstable"
    return contrast(change, "valid_versions", text, "the highest of these versions", "was stable")


@rule(Level.POLICY, before=request(latestVersionUnstable=True), after=request(), severity=Severity.NOTE)
def version_stabilized(change: c.VersionStabilized) -> Finding:
    """An unstable version became stable.

    From now on its layout must not change, and brokers offer it by default.
    """
    text = f"{in_words(change.versions)} of `{change.message.name}` became stable"
    return contrast(change, "valid_versions", text, "the highest of these versions", "was unstable")


@rule(Level.POLICY, before=request(), after=request(deprecatedVersions="0"), severity=Severity.NOTE)
def deprecated_versions_changed(change: c.DeprecatedVersionsChanged) -> Finding:
    """Versions became deprecated, or are no longer deprecated.

    Deprecated versions still work. Brokers count and log their use, and the next major release can remove them.
    """
    verb = "became deprecated" if change.deprecated else "ceased to be deprecated"
    old, new = change.old.decl, change.new.decl
    was = [(span_of(old, "deprecated_versions"), f"was {change.old.message.deprecated}")]
    return finding(
        f"{in_words(change.versions)} of `{change.message.name}` {verb}",
        span_of(new, "deprecated_versions", "valid_versions"),
        f"is {change.new.message.deprecated} now" if new.deprecated_versions else "none of these is deprecated now",
        others=was if old.deprecated_versions else (),
    )
