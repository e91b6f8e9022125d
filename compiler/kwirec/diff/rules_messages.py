"""Rules about messages: api key, flexible versions, header, name, type and listeners."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, rule
from kwirec.diff.rules_versions import place
from kwirec.validation.examples import ABSENT, clock, field, files, request, response
from kwirec.versions import in_words


@rule(c.ApiKeyChanged, Level.WIRE, before=request(), after=request(apiKey=901))
def api_key_changed(it: c.ApiKeyChanged) -> Finding | None:
    """The api key of a message changed.

    Messages are identified only by their api key on the wire.
    """
    old, new = it.old.decl, it.new.decl
    was, now = it.old.message.api_key, it.new.message.api_key
    return finding(
        f"the api key of `{it.message.name}` changed from {was} to {now}",
        (new.api_key or new.name).span,
        f"was {was}",
        others=[((old.api_key or old.name).span, "the old key")],
    )


@rule(
    c.ApiKeyReused,
    Level.WIRE,
    before=request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
    after=request(field("Volume", "int8"), name="AlarmRequest"),
)
def api_key_reused(it: c.ApiKeyReused) -> Finding | None:
    """The api key of a request is now used by another request.

    Peers with the old definition still send and expect the old request.
    """
    old, new = it.old.decl, it.new.decl
    return finding(
        f"api key {it.message.api_key} of `{it.message.name}` was the api key of `{it.old.message.name}`",
        (new.api_key or new.name).span,
        "was used before",
        others=[((old.api_key or old.name).span, f"by `{it.old.message.name}`")],
        helps=["use a key that was never used"],
    )


@rule(c.FlexibleVersionsChanged, Level.WIRE, before=clock(), after=clock(flexibleVersions="2+"))
def flexible_versions_changed(it: c.FlexibleVersionsChanged) -> Finding | None:
    """An existing version became flexible, or is no longer flexible.

    Every struct and the header gain or lose tagged fields, and lengths are encoded differently.
    """
    new, old = it.new.decl.flexible_versions, it.old.decl.flexible_versions
    verb = "became flexible" if it.flexible else "ceased to be flexible"
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
    """The header version of an existing version changed.

    Definitions do not contain the header version; it depends on the name, api key and flexible versions.
    """
    return finding(
        f"{in_words(it.versions)} of `{it.message.name}` changed from header version {it.before} to {it.after}",
        it.new.decl.name.span,
        "determines the header version",
        others=[(it.old.decl.name.span, f"had header version {it.before}")],
    )


@rule(
    c.MessageRenamed,
    Level.JSON,
    before=request(field("Zone")),
    after=request(field("Zone"), name="AlarmRequest"),
)
def message_renamed(it: c.MessageRenamed) -> Finding | None:
    """A message was renamed.

    Request logs, metrics and generated classes use its name. Former names listed in `aliases` can still be read.
    """
    old, new = it.old.message.name, it.new.message.name
    return finding(
        f"`{old}` was renamed to `{new}`",
        it.new.decl.name.span,
        "the new name",
        others=[(it.old.decl.name.span, "the old name")],
        helps=[] if old in it.new.message.aliases else [f'add `"aliases": ["{old}"]`'],
    )


@rule(c.MessageKindChanged, Level.SOURCE, before=clock(), after=clock(type="metadata", apiKey=9))
def message_kind_changed(it: c.MessageKindChanged) -> Finding | None:
    """The type of a message changed.

    Its bytes stay the same, but its header and the module of its class in the generated package can change.
    """
    old, new = it.old.decl.type, it.new.decl.type
    return finding(
        f"the type of `{it.message.name}` changed from `{old.value}` to `{new.value}`",
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
    """A request and its response no longer have the same versions.

    A response has the version of its request, so both need the same versions.
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
    """The listeners of a request changed.

    Servers reject the request on listeners that no longer serve it.
    """
    old, new = it.old.message.listeners, it.new.message.listeners
    removed, added = ([name for name in a if name not in b] for a, b in ((old, new), (new, old)))
    changed = [f"removed: {', '.join(removed)}"] if removed else []
    changed += [f"added: {', '.join(added)}"] if added else []
    return finding(
        f"`{it.message.name}` is served by {', '.join(new) or 'no listener'}",
        it.new.decl.name.span,
        "; ".join(changed),
    )
