"""Changes to the api key, flexible versions, header, name, type or listeners of a message."""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import ABSENT, clock, field, files, request, response
from kwirec.diff.changes.change import MessageChange, rule
from kwirec.diff.rule import Level
from kwirec.versions import in_words


@rule(Level.WIRE, before=request(), after=request(apiKey=901))
class ApiKeyChanged(MessageChange):
    """The api key of a message changed.

    On the wire, the api key is the only thing that identifies a message.
    """

    def describe(self) -> Finding:
        was, now = self.old.message.api_key, self.new.message.api_key
        text = f"the api key of `{self.message.name}` changed from {was} to {now}"
        return self.contrast("api_key", text, f"was {was}", "the old key")


@rule(
    Level.WIRE,
    before=request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
    after=request(field("Volume", "int8"), name="AlarmRequest"),
)
class ApiKeyReused(MessageChange):
    """The api key of a request is now used by another request.

    Peers with the old definition still send and expect the old request.
    """

    def describe(self) -> Finding:
        new, old = self.message, self.old.message
        text = f"api key {new.api_key} of `{new.name}` was the api key of `{old.name}`"
        helps = ["use a key that has never been used"]
        return self.contrast("api_key", text, "was used before", f"by `{old.name}`", helps=helps)


@rule(Level.WIRE, before=clock(), after=clock(flexibleVersions="2+"))
@dataclass(frozen=True, kw_only=True, eq=False)
class FlexibleVersionsChanged(MessageChange):
    """An existing version became flexible, or is no longer flexible.

    Every struct and the header gain or lose tagged fields, and lengths are encoded differently.
    """

    flexible: bool
    """Whether the versions became flexible."""

    def describe(self) -> Finding:
        verb = "became flexible" if self.flexible else "ceased to be flexible"
        text = f"{in_words(self.versions)} of `{self.message.name}` {verb}"
        now, was = self.new.message.flexible, self.old.message.flexible
        return self.contrast("flexible_versions", text, f"is {now} now", f"was {was}")


@rule(
    Level.WIRE,
    before=request(field("BrokerId", "int32"), name="ControlledShutdownRequest", apiKey=7),
    after=request(field("BrokerId", "int32"), name="StopRequest", apiKey=7),
)
@dataclass(frozen=True, kw_only=True, eq=False)
class HeaderVersionChanged(MessageChange):
    """The header version of an existing version changed.

    Without `headerVersions`, the header version depends on the name, api key and flexible versions.
    """

    before: int
    after: int

    def describe(self) -> Finding:
        before, after = self.before, self.after
        text = f"{in_words(self.versions)} of `{self.message.name}` changed from header version {before} to {after}"
        return self.contrast("name", text, "determines the header version", f"had header version {before}")


@rule(Level.JSON, before=request(field("Zone")), after=request(field("Zone"), name="AlarmRequest"))
class MessageRenamed(MessageChange):
    """A message was renamed.

    Request logs, metrics and generated classes use the name of the message. Former names listed in `aliases` can
    still be read.
    """

    def describe(self) -> Finding:
        old, new = self.old.message.name, self.new.message.name
        text = f"`{old}` was renamed to `{new}`"
        helps = [] if old in self.new.message.aliases else [f'add `"aliases": ["{old}"]`']
        return self.contrast("name", text, "the new name", "the old name", helps=helps)


@rule(Level.SOURCE, before=clock(), after=clock(type="metadata", apiKey=9))
class MessageKindChanged(MessageChange):
    """The type of a message changed.

    The bytes of the message stay the same, but its header and the module of its generated class can change.
    """

    def describe(self) -> Finding:
        was, now = self.old.decl.type.value, self.new.decl.type.value
        text = f"the type of `{self.message.name}` changed from `{was}` to `{now}`"
        return self.contrast("type", text, f"was `{was}`", "the old type")


@rule(Level.POLICY, before=files(request(), response()), after=files(request(), response(validVersions="0-1")))
class RequestResponseVersionsDiverged(MessageChange):
    """A request and its response no longer have the same versions.

    A response has the version of its request, so both need the same versions.
    """

    def describe(self) -> Finding:
        asked, answered = self.old.message, self.new.message
        text = f"`{asked.name}` has versions {asked.valid}, but `{answered.name}` has {answered.valid}"
        return self.contrast("valid_versions", text, "differs from its request", "versions of the request")


@rule(
    Level.POLICY,
    before=request(listeners=["broker"]),
    after=request(listeners=["broker", "controller"]),
    severity=Severity.NOTE,
)
class ListenersChanged(MessageChange):
    """The listeners of a request changed.

    Servers reject the request on listeners that no longer serve it.
    """

    def describe(self) -> Finding:
        old, new = self.old.message.listeners, self.new.message.listeners
        removed, added = ([name for name in a if name not in b] for a, b in ((old, new), (new, old)))
        changed = [f"removed: {', '.join(removed)}"] if removed else []
        changed += [f"added: {', '.join(added)}"] if added else []
        text = f"`{self.message.name}` is served by {', '.join(f'`{name}`' for name in new) or 'no listener'}"
        return finding(text, self.new.decl.name.span, "; ".join(changed))
