"""Rules about messages and versions that come, go, age and settle."""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.source import Span
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, Rule, rule
from kwirec.frontend.syntax import Spanned
from kwirec.ir.schema import Message, MessageKind
from kwirec.ir.sites import FieldSite, MessageSite
from kwirec.validation.examples import ABSENT, clock, field, files, request, response
from kwirec.versions import VersionRange, in_words

GONE = {"validVersions": "none", "flexibleVersions": ABSENT, "fields": ABSENT}

WORDS = {MessageKind.DATA: "message", MessageKind.METADATA: "metadata record"}


def named(message: Message) -> str:
    """``request `FetchRequest` (api key 1)``"""
    key = "" if message.api_key is None else f" (api key {message.api_key})"
    return f"{WORDS.get(message.kind, message.kind.value.replace('-', ' '))} `{message.name}`{key}"


def place(site: MessageSite, written: Spanned[VersionRange] | None = None) -> Span:
    """Where a range is written, else the name of the message."""
    return written.span if written else site.decl.name.span


@rule(
    c.MessageRemoved, Level.WIRE, before=files(request(), response()), after=files(request(**GONE), response(**GONE))
)
def message_removed(it: c.MessageRemoved) -> Finding | None:
    """A message has no version any more.

    Whoever speaks one of its versions is no longer understood. A definition without versions keeps the number
    reserved.
    """
    text = f"{named(it.old.message)} with {in_words(it.versions)} is gone"
    old = place(it.old, it.old.decl.valid_versions)
    if it.new is None:
        return finding(text, it.old.decl.name.span, "was defined here")
    return finding(text, place(it.new, it.new.decl.valid_versions), "has no versions", others=[(old, "had these")])


@rule(c.MessageAdded, Level.WIRE, before=clock(), after=files(clock(), clock(name="Alarm")), severity=Severity.NOTE)
def message_added(it: c.MessageAdded) -> Finding | None:
    """A message is new.

    Nobody speaks it yet, so it breaks nobody.
    """
    text = f"{named(it.new.message)} is new, with {in_words(it.versions)}"
    return finding(text, it.new.decl.name.span, "is new")


@rule(c.VersionMinRaised, Level.WIRE, before=request(), after=request(validVersions="1-2"))
def version_min_raised(it: c.VersionMinRaised) -> Finding | None:
    """The lowest versions of a message are gone.

    Peers that speak nothing newer are no longer understood; of Kafka's own APIs it takes a KIP.
    """
    return _range_changed(it, f"`{it.message.name}` no longer has {in_words(it.versions)}")


@rule(c.VersionMaxLowered, Level.WIRE, before=request(), after=request(validVersions="0-1"))
def version_max_lowered(it: c.VersionMaxLowered) -> Finding | None:
    """The highest versions of a message are gone.

    A released version stays: peers that have agreed on it, or data that was stored with it, can no longer be read.
    """
    return _range_changed(it, f"`{it.message.name}` no longer has {in_words(it.versions)}, its newest")


@rule(
    c.VersionRestored,
    Level.WIRE,
    before=request(validVersions="1-2"),
    after=request(),
    severity=Severity.NOTE,
)
def version_restored(it: c.VersionRestored) -> Finding | None:
    """Versions are there that are lower than the lowest before: as a rule they were removed once and came back.

    Peers that speak nothing newer are understood again, and nobody else is concerned.
    """
    return _range_changed(it, f"`{it.message.name}` has {in_words(it.versions)} again, below its lowest so far")


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
    """A message has a new version with bytes of its own.

    Nobody speaks it yet, so it breaks nobody. The finding says which fields are in it and which are not.
    """
    if it.same_bytes:
        return None
    text = f"`{it.message.name}` has the new {in_words(it.versions)}"
    return finding(text, place(it.new, it.new.decl.valid_versions), "new version", notes=_news(it))


def _news(it: c.VersionAdded) -> Iterator[str]:
    """What is in the version that was not in the one before, and the other way round."""
    flexible = it.new.message.flexible
    if it.before is not None and any(version in flexible for version in it.versions) and it.before not in flexible:
        yield "it is the first that is flexible"
    for words, sites in (
        ("it has", it.added),
        ("it lacks", it.removed),
        ("nullable or tagged, or no longer:", it.changed),
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
    """A message has a new version without any change on the wire.

    Only the meaning is another one, which the definition does not tell: look for it in the description of the API.
    """
    if not it.same_bytes:
        return None
    text = f"`{it.message.name}` has the new {in_words(it.versions)}: no wire change"
    note = f"its bytes are those of version {it.before}"
    return finding(text, place(it.new, it.new.decl.valid_versions), "new version", notes=[note])


@rule(
    c.VersionMinRaised,
    Level.POLICY,
    before=request(deprecatedVersions="0"),
    after=request(validVersions="2"),
)
def version_min_raised_undeprecated(it: c.VersionMinRaised) -> Finding | None:
    """The lowest versions of a request are gone without having been deprecated.

    Operators look for users of deprecated versions before they upgrade; for these there was nothing to look for.
    """
    old = it.old.message
    silent = {version for version in it.versions if version not in old.deprecated}
    if old.kind is not MessageKind.REQUEST or not silent:
        return None
    return finding(
        f"{in_words(silent)} of `{it.message.name}` went without having been deprecated",
        place(it.new, it.new.decl.valid_versions),
        f"is {it.new.message.valid} now",
        others=[
            (
                (place(it.old, it.old.decl.deprecated_versions or it.old.decl.valid_versions), "not all deprecated")
                if it.old.decl.deprecated_versions
                else (place(it.old, it.old.decl.valid_versions), "none of these was deprecated")
            )
        ],
    )


@rule(
    c.VersionDestabilized,
    Level.POLICY,
    before=request(),
    after=request(latestVersionUnstable=True),
)
def version_destabilized(it: c.VersionDestabilized) -> Finding | None:
    """A stable version is marked as unstable.

    Brokers stop offering it, although peers may rely on it already.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` is marked as unstable",
        place(it.new, it.new.decl.valid_versions),
        "newest of these",
        others=[(place(it.old, it.old.decl.valid_versions), "was stable here")],
    )


@rule(
    c.VersionStabilized,
    Level.POLICY,
    before=request(latestVersionUnstable=True),
    after=request(),
    severity=Severity.NOTE,
)
def version_stabilized(it: c.VersionStabilized) -> Finding | None:
    """An unstable version is stable now.

    From here on its bytes are frozen, and brokers offer it without being asked to.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` is stable now",
        place(it.new, it.new.decl.valid_versions),
        "newest of these",
        others=[(place(it.old, it.old.decl.valid_versions), "was unstable here")],
    )


@rule(
    c.DeprecatedVersionsChanged,
    Level.POLICY,
    before=request(),
    after=request(deprecatedVersions="0"),
    severity=Severity.NOTE,
)
def deprecated_versions_changed(it: c.DeprecatedVersionsChanged) -> Finding | None:
    """Versions became deprecated, or are no longer.

    A deprecated version still works; brokers count and log who uses it, and it may go in the next major release.
    """
    verb = "became deprecated" if it.deprecated else "no longer deprecated"
    old, new = it.old.decl, it.new.decl
    was = [(place(it.old, old.deprecated_versions), f"was {it.old.message.deprecated}")]
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` {verb}",
        place(it.new, new.deprecated_versions or new.valid_versions),
        f"is {it.new.message.deprecated} now" if new.deprecated_versions else "none of these is now",
        others=was if old.deprecated_versions else (),
    )


RULES: tuple[Rule, ...] = (
    message_removed,
    message_added,
    version_min_raised,
    version_max_lowered,
    version_restored,
    version_added,
    version_added_same_bytes,
    version_min_raised_undeprecated,
    version_destabilized,
    version_stabilized,
    deprecated_versions_changed,
)
