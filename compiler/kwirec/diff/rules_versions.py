"""Rules about added, removed, deprecated and unstable versions."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, rule
from kwirec.frontend.syntax import Spanned
from kwirec.ir.schema import Message, MessageKind
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.validation.examples import ABSENT, clock, field, files, request, response
from kwirec.versions import VersionRange, in_words

GONE = {"validVersions": "none", "flexibleVersions": ABSENT, "fields": ABSENT}

WORDS = {MessageKind.DATA: "message", MessageKind.METADATA: "metadata record"}


def named(message: Message) -> str:
    """The message with its type and api key: ``request `FetchRequest` (api key 1)``."""
    key = "" if message.api_key is None else f" (api key {message.api_key})"
    return f"{WORDS.get(message.kind, message.kind.value.replace('-', ' '))} `{message.name}`{key}"


def place(site: MessageSite, written: Spanned[VersionRange] | None = None) -> Span:
    """The span of a range, or of the name of the message if the range is missing."""
    return written.span if written else site.decl.name.span


@rule(
    c.MessageRemoved, Level.WIRE, before=files(request(), response()), after=files(request(**GONE), response(**GONE))
)
def message_removed(it: c.MessageRemoved) -> Finding | None:
    """A message was removed, or no longer has any versions.

    Peers that use it are no longer understood. A definition without versions keeps the api key reserved.
    """
    text = f"{named(it.old.message)} with {in_words(it.versions)} was removed"
    old = place(it.old, it.old.decl.valid_versions)
    if it.new is None:
        return finding(text, it.old.decl.name.span, "was defined here")
    return finding(
        text, place(it.new, it.new.decl.valid_versions), "has no versions", others=[(old, "the old versions")]
    )


@rule(c.MessageAdded, Level.WIRE, before=clock(), after=files(clock(), clock(name="Alarm")), severity=Severity.NOTE)
def message_added(it: c.MessageAdded) -> Finding | None:
    """A message was added.

    This breaks nothing because the message is not used yet.
    """
    text = f"{named(it.new.message)} was added with {in_words(it.versions)}"
    return finding(text, it.new.decl.name.span, "new message")


@rule(c.VersionMinRaised, Level.WIRE, before=request(), after=request(validVersions="1-2"))
def version_min_raised(it: c.VersionMinRaised) -> Finding | None:
    """The lowest versions of a message were removed.

    Peers that support only these versions are no longer understood. In Kafka, this requires a KIP.
    """
    return _range_changed(it, f"`{it.message.name}` no longer has {in_words(it.versions)}")


@rule(c.VersionMaxLowered, Level.WIRE, before=request(), after=request(validVersions="0-1"))
def version_max_lowered(it: c.VersionMaxLowered) -> Finding | None:
    """The highest versions of a message were removed.

    Peers that use them, and data stored in them, can no longer be read. Released versions must not be removed.
    """
    return _range_changed(it, f"`{it.message.name}` no longer has {in_words(it.versions)}, its highest")


@rule(
    c.VersionRestored,
    Level.WIRE,
    before=request(validVersions="1-2"),
    after=request(),
    severity=Severity.NOTE,
)
def version_restored(it: c.VersionRestored) -> Finding | None:
    """Versions below the lowest version were added, usually because a removal was reverted.

    Peers that support only these versions are understood again; others are not affected.
    """
    return _range_changed(it, f"`{it.message.name}` regained {in_words(it.versions)}")


def _range_changed(it: c.MessageChange, text: str) -> Finding:
    new, old = it.new.decl.valid_versions, it.old.decl.valid_versions
    was = f"was {it.old.message.valid}"
    return finding(text, place(it.new, new), f"is {it.new.message.valid} now", others=[(place(it.old, old), was)])


@rule(
    c.VersionAdded,
    Level.WIRE,
    before=request(),
    after=request(field("Zone", versions="3+", ignorable=True), validVersions="0-3"),
    severity=Severity.NOTE,
)
def version_added(it: c.VersionAdded) -> Finding | None:
    """A message has a new version with a new layout.

    This breaks nothing because the version is not used yet. The finding lists the fields that differ.
    """
    if it.same_bytes:
        return None
    text = f"`{it.message.name}` has the new {in_words(it.versions)}"
    return finding(text, place(it.new, it.new.decl.valid_versions), "new version", notes=_news(it))


def _news(it: c.VersionAdded) -> Iterator[str]:
    """The differences from the previous version."""
    flexible = it.new.message.flexible
    if it.before is not None and any(version in flexible for version in it.versions) and it.before not in flexible:
        yield "it is the first flexible version"
    for words, sites in (
        ("added:", it.added),
        ("removed:", it.removed),
        ("changed nullability or tagging:", it.changed),
    ):
        if sites:
            yield f"{words} {_listed(sites)}"


def _listed(sites: tuple[FieldSite, ...]) -> str:
    return ", ".join(f"`{site.path}`" for site in sites)


@rule(
    c.VersionAdded,
    Level.WIRE,
    before=request(),
    after=request(validVersions="0-3"),
    severity=Severity.NOTE,
)
def version_added_same_bytes(it: c.VersionAdded) -> Finding | None:
    """A message has a new version with the layout of the previous one.

    Only its meaning differs, which is not part of the definition: see the description of the API.
    """
    if not it.same_bytes:
        return None
    text = f"`{it.message.name}` has the new {in_words(it.versions)} with an unchanged layout"
    note = f"its layout is that of version {it.before}"
    return finding(text, place(it.new, it.new.decl.valid_versions), "new version", notes=[note])


@rule(
    c.VersionMinRaised,
    Level.POLICY,
    before=request(deprecatedVersions="0"),
    after=request(validVersions="2"),
)
def version_min_raised_undeprecated(it: c.VersionMinRaised) -> Finding | None:
    """The lowest versions of a request were removed without having been deprecated.

    Operators could not look for users of these versions before the upgrade.
    """
    old = it.old.message
    undeprecated = {version for version in it.versions if version not in old.deprecated}
    if old.kind is not MessageKind.REQUEST or not undeprecated:
        return None
    decl = it.old.decl
    words = "does not include all of them" if decl.deprecated_versions else "none of these was deprecated"
    return finding(
        f"`{it.message.name}` lost {in_words(undeprecated)} without a deprecation",
        place(it.new, it.new.decl.valid_versions),
        f"is {it.new.message.valid} now",
        others=[(place(it.old, decl.deprecated_versions or decl.valid_versions), words)],
    )


@rule(
    c.VersionDestabilized,
    Level.POLICY,
    before=request(),
    after=request(latestVersionUnstable=True),
)
def version_destabilized(it: c.VersionDestabilized) -> Finding | None:
    """A stable version became unstable.

    Brokers no longer offer it by default, although peers may already use it.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` became unstable",
        place(it.new, it.new.decl.valid_versions),
        "the highest of these versions",
        others=[(place(it.old, it.old.decl.valid_versions), "was stable")],
    )


@rule(
    c.VersionStabilized,
    Level.POLICY,
    before=request(latestVersionUnstable=True),
    after=request(),
    severity=Severity.NOTE,
)
def version_stabilized(it: c.VersionStabilized) -> Finding | None:
    """An unstable version became stable.

    From now on its layout must not change, and brokers offer it by default.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` became stable",
        place(it.new, it.new.decl.valid_versions),
        "the highest of these versions",
        others=[(place(it.old, it.old.decl.valid_versions), "was unstable")],
    )


@rule(
    c.DeprecatedVersionsChanged,
    Level.POLICY,
    before=request(),
    after=request(deprecatedVersions="0"),
    severity=Severity.NOTE,
)
def deprecated_versions_changed(it: c.DeprecatedVersionsChanged) -> Finding | None:
    """Versions became deprecated, or are no longer deprecated.

    Deprecated versions still work. Brokers count and log their use, and the next major release can remove them.
    """
    verb = "became deprecated" if it.deprecated else "ceased to be deprecated"
    old, new = it.old.decl, it.new.decl
    was = [(place(it.old, old.deprecated_versions), f"was {it.old.message.deprecated}")]
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` {verb}",
        place(it.new, new.deprecated_versions or new.valid_versions),
        f"is {it.new.message.deprecated} now" if new.deprecated_versions else "none of these is deprecated now",
        others=was if old.deprecated_versions else (),
    )
