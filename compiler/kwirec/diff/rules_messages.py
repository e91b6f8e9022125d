"""Rules about the message itself: its number, its name, what stands before its bytes and who serves it."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, Rule, rule
from kwirec.diff.rules_versions import place
from kwirec.validation.examples import ABSENT, clock, field, files, request, response
from kwirec.versions import in_words


@rule(c.ApiKeyChanged, Level.WIRE, before=request(), after=request(apiKey=901))
def api_key_changed(it: c.ApiKeyChanged) -> Finding | None:
    """A message has another api key.

    The number on the wire is all that says which message follows.
    """
    old, new = it.old.decl, it.new.decl
    was, now = it.old.message.api_key, it.new.message.api_key
    return finding(
        f"`{it.message.name}` has the api key {now} and no longer {was}",
        (new.api_key or new.name).span,
        f"was {was}",
        others=[((old.api_key or old.name).span, "the old number")],
    )


@rule(
    c.ApiKeyReused,
    Level.WIRE,
    before=request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
    after=request(field("Volume", "int8"), name="AlarmRequest"),
)
def api_key_reused(it: c.ApiKeyReused) -> Finding | None:
    """The api key of one request now belongs to another.

    Peers that know the number from before send and expect something else under it, for good.
    """
    old, new = it.old.decl, it.new.decl
    return finding(
        f"api key {it.message.api_key} was that of `{it.old.message.name}` and is now that of `{it.message.name}`",
        (new.api_key or new.name).span,
        "taken before",
        others=[((old.api_key or old.name).span, f"by `{it.old.message.name}`")],
        helps=["take a number that was never used"],
    )


@rule(c.FlexibleVersionsChanged, Level.WIRE, before=clock(), after=clock(flexibleVersions="2+"))
def flexible_versions_changed(it: c.FlexibleVersionsChanged) -> Finding | None:
    """Versions became flexible, or stopped being so, that existed before.

    Lengths are coded in another way and tagged fields come or go, in every struct and in the header.
    """
    new, old = it.new.decl.flexible_versions, it.old.decl.flexible_versions
    verb = "became flexible" if it.flexible else "stopped being flexible"
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` {verb}",
        place(it.new, new),
        f"is {it.new.message.flexible} now",
        others=[(place(it.old, old), f"was {it.old.message.flexible}")],
    )


@rule(
    c.HeaderVersionChanged,
    Level.WIRE,
    before=request(field("BrokerId", "int32"), name="ControlledShutdownRequest", apiKey=7),
    after=request(field("BrokerId", "int32"), name="StopRequest", apiKey=7),
)
def header_version_changed(it: c.HeaderVersionChanged) -> Finding | None:
    """Another header stands before versions that existed before.

    No definition says which header a message has; it follows from name, api key and flexible versions.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` has header {it.after} and no longer {it.before}",
        it.new.decl.name.span,
        "its header follows from this",
        others=[(it.old.decl.name.span, f"had header {it.before}")],
    )


@rule(
    c.MessageRenamed,
    Level.JSON,
    before=request(field("Zone")),
    after=request(field("Zone"), name="AlarmRequest"),
)
def message_renamed(it: c.MessageRenamed) -> Finding | None:
    """A message has another name.

    Request logs, metrics and generated classes are known by it. `aliases` keeps a former name understood.
    """
    old, new = it.old.message.name, it.new.message.name
    return finding(
        f"`{old}` is named `{new}` now",
        it.new.decl.name.span,
        "the new name",
        others=[(it.old.decl.name.span, "the old name")],
        helps=[] if old in it.new.message.aliases else [f'add `"aliases": ["{old}"]`'],
    )


@rule(c.MessageKindChanged, Level.SOURCE, before=clock(), after=clock(type="metadata", apiKey=9))
def message_kind_changed(it: c.MessageKindChanged) -> Finding | None:
    """A message has another type.

    Its bytes are the same, but not what stands around them, nor the place of its class in the generated package.
    """
    old, new = it.old.decl.type, it.new.decl.type
    return finding(
        f"`{it.message.name}` is of type `{new.value}` and no longer `{old.value}`",
        new.span,
        f"was `{old.value}`",
        others=[(old.span, "the old type")],
    )


@rule(
    c.RequestResponseVersionsDiverged,
    Level.POLICY,
    before=files(request(), response()),
    after=files(request(), response(validVersions="0-1")),
)
def request_response_versions_diverged(it: c.RequestResponseVersionsDiverged) -> Finding | None:
    """A request and its response, whose versions were the same, have different ones now.

    The response is written in the version of its request, so both need all versions.
    """
    request_, response_ = it.old, it.new
    return finding(
        f"`{request_.message.name}` has versions {request_.message.valid}, "
        f"`{response_.message.name}` has {response_.message.valid}",
        place(response_, response_.decl.valid_versions),
        "differs from its request",
        others=[(place(request_, request_.decl.valid_versions), "versions of the request")],
    )


@rule(
    c.ListenersChanged,
    Level.POLICY,
    before=request(listeners=["broker"]),
    after=request(listeners=["broker", "controller"]),
    severity=Severity.NOTE,
)
def listeners_changed(it: c.ListenersChanged) -> Finding | None:
    """A request is served by other listeners.

    Where a listener stops serving it, clients that ask there are turned away.
    """
    old, new = it.old.message.listeners, it.new.message.listeners
    changed = [f"gone: {', '.join(gone)}"] if (gone := [one for one in old if one not in new]) else []
    changed += [f"new: {', '.join(added)}"] if (added := [one for one in new if one not in old]) else []
    return finding(
        f"`{it.message.name}` is served by {', '.join(new) or 'no listener'}",
        it.new.decl.name.span,
        "; ".join(changed),
    )


RULES: tuple[Rule, ...] = (
    api_key_changed,
    api_key_reused,
    flexible_versions_changed,
    header_version_changed,
    message_renamed,
    message_kind_changed,
    request_response_versions_diverged,
    listeners_changed,
)
