"""Rules about messages: api key, flexible versions, header, name, type and listeners."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import ABSENT, clock, field, files, request, response
from kwirec.diff import changes as c
from kwirec.diff.rule import Level, contrast, rule
from kwirec.versions import in_words


@rule(Level.WIRE, before=request(), after=request(apiKey=901))
def api_key_changed(change: c.ApiKeyChanged) -> Finding:
    """The api key of a message changed.

    Messages are identified only by their api key on the wire.
    """
    was, now = change.old.message.api_key, change.new.message.api_key
    text = f"the api key of `{change.message.name}` changed from {was} to {now}"
    return contrast(change, "api_key", text, f"was {was}", "the old key")


@rule(
    Level.WIRE,
    before=request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
    after=request(field("Volume", "int8"), name="AlarmRequest"),
)
def api_key_reused(change: c.ApiKeyReused) -> Finding:
    """The api key of a request is now used by another request.

    Peers with the old definition still send and expect the old request.
    """
    new, old = change.message, change.old.message
    text = f"api key {new.api_key} of `{new.name}` was the api key of `{old.name}`"
    helps = ["use a key that was never used"]
    return contrast(change, "api_key", text, "was used before", f"by `{old.name}`", helps=helps)


@rule(Level.WIRE, before=clock(), after=clock(flexibleVersions="2+"))
def flexible_versions_changed(change: c.FlexibleVersionsChanged) -> Finding:
    """An existing version became flexible, or is no longer flexible.

    Every struct and the header gain or lose tagged fields, and lengths are encoded differently.
    """
    verb = "became flexible" if change.flexible else "ceased to be flexible"
    text = f"{in_words(change.versions)} of `{change.message.name}` {verb}"
    now, was = change.new.message.flexible, change.old.message.flexible
    return contrast(change, "flexible_versions", text, f"is {now} now", f"was {was}")


@rule(
    Level.WIRE,
    before=request(field("BrokerId", "int32"), name="ControlledShutdownRequest", apiKey=7),
    after=request(field("BrokerId", "int32"), name="StopRequest", apiKey=7),
)
def header_version_changed(change: c.HeaderVersionChanged) -> Finding:
    """The header version of an existing version changed.

    Definitions do not contain the header version; it depends on the name, api key and flexible versions.
    """
    before, after = change.before, change.after
    text = f"{in_words(change.versions)} of `{change.message.name}` changed from header version {before} to {after}"
    return contrast(change, "name", text, "determines the header version", f"had header version {before}")


@rule(Level.JSON, before=request(field("Zone")), after=request(field("Zone"), name="AlarmRequest"))
def message_renamed(change: c.MessageRenamed) -> Finding:
    """A message was renamed.

    Request logs, metrics and generated classes use its name. Former names listed in `aliases` can still be read.
    """
    old, new = change.old.message.name, change.new.message.name
    text = f"`{old}` was renamed to `{new}`"
    helps = [] if old in change.new.message.aliases else [f'add `"aliases": ["{old}"]`']
    return contrast(change, "name", text, "the new name", "the old name", helps=helps)


@rule(Level.SOURCE, before=clock(), after=clock(type="metadata", apiKey=9))
def message_kind_changed(change: c.MessageKindChanged) -> Finding:
    """The type of a message changed.

    Its bytes stay the same, but its header and the module of its class in the generated package can change.
    """
    was, now = change.old.decl.type.value, change.new.decl.type.value
    text = f"the type of `{change.message.name}` changed from `{was}` to `{now}`"
    return contrast(change, "type", text, f"was `{was}`", "the old type")


@rule(Level.POLICY, before=files(request(), response()), after=files(request(), response(validVersions="0-1")))
def request_response_versions_diverged(change: c.RequestResponseVersionsDiverged) -> Finding:
    """A request and its response no longer have the same versions.

    A response has the version of its request, so both need the same versions.
    """
    asked, answered = change.old.message, change.new.message
    text = f"`{asked.name}` has versions {asked.valid}, `{answered.name}` has {answered.valid}"
    return contrast(change, "valid_versions", text, "differs from its request", "versions of the request")


@rule(
    Level.POLICY,
    before=request(listeners=["broker"]),
    after=request(listeners=["broker", "controller"]),
    severity=Severity.NOTE,
)
def listeners_changed(change: c.ListenersChanged) -> Finding:
    """The listeners of a request changed.

    Servers reject the request on listeners that no longer serve it.
    """
    old, new = change.old.message.listeners, change.new.message.listeners
    removed, added = ([name for name in a if name not in b] for a, b in ((old, new), (new, old)))
    changed = [f"removed: {', '.join(removed)}"] if removed else []
    changed += [f"added: {', '.join(added)}"] if added else []
    text = f"`{change.message.name}` is served by {', '.join(f'`{name}`' for name in new) or 'no listener'}"
    return finding(text, change.new.decl.name.span, "; ".join(changed))
