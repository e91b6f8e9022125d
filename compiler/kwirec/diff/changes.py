"""Kinds of changes between two schemas.

A change of a message has the message on both sides, the affected versions (shared versions, unless versions were
added or removed) and, if it affects a field, the field on both sides. Changes of enums are in ``enum_changes``. Rules
decide whether a change is breaking.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.frontend.syntax import FieldDecl, MessageDecl
from kwirec.ir.schema import Message
from kwirec.ir.sites import FieldSite, MessageSite, StructSite


class Change:
    """A change of a message or of an enum."""

    versions: frozenset[int] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the message or enum, that of the new side first, without a side that does not have it."""
        raise NotImplementedError

    @property
    def paths(self) -> tuple[str | None, ...]:
        """The same for the field or value that changed; empty for a change of the whole."""
        return ()


@dataclass(frozen=True, eq=False)
class AnyMessageChange(Change):
    """A change of a message. A side is ``None`` if it does not have the message."""

    old: MessageSite | None
    new: MessageSite | None
    versions: frozenset[int] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(site.message.name for site in (self.new, self.old) if site is not None)

    @property
    def message(self) -> Message:
        """The message of the new side, else of the old side."""
        site = self.new or self.old
        assert site is not None
        return site.message


@dataclass(frozen=True, eq=False)
class MessageChange(AnyMessageChange):
    """A change of a message that both sides have."""

    old: MessageSite
    new: MessageSite

    @property
    def decls(self) -> tuple[MessageDecl, MessageDecl] | tuple[FieldDecl, FieldDecl]:
        """The declarations of what changed, on the old side and on the new side."""
        return self.old.decl, self.new.decl


@dataclass(frozen=True, eq=False)
class MessageAdded(AnyMessageChange):
    """A message that had no versions before."""

    new: MessageSite


@dataclass(frozen=True, eq=False)
class MessageRemoved(AnyMessageChange):
    """A message that no longer has versions; ``new`` is set if its definition still reserves the api key."""

    old: MessageSite


class MessageRenamed(MessageChange):
    """A message was renamed."""


class MessageKindChanged(MessageChange):
    """The type of a message changed."""


class ApiKeyChanged(MessageChange):
    """The api key of a message changed."""


class ApiKeyReused(MessageChange):
    """The api key of a message is now used by another message."""


class VersionMinRaised(MessageChange):
    """The lowest versions were removed."""


class VersionMaxLowered(MessageChange):
    """The highest versions were removed."""


class VersionRestored(MessageChange):
    """Versions below the lowest old version were added."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionAdded(MessageChange):
    """A new highest version. ``before`` is the previous version, ``None`` if neither side has it.

    ``added``, ``removed`` and ``changed`` (nullability or tagging) are the differences from the previous version.
    """

    before: int | None
    same_bytes: bool = False
    added: tuple[FieldSite, ...] = ()
    removed: tuple[FieldSite, ...] = ()
    changed: tuple[FieldSite, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class FlexibleVersionsChanged(MessageChange):
    """Versions became flexible, or ceased to be if ``flexible`` is false."""

    flexible: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class HeaderVersionChanged(MessageChange):
    """The header version changed although flexibility did not."""

    before: int
    after: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DeprecatedVersionsChanged(MessageChange):
    """Versions became deprecated, or ceased to be if ``deprecated`` is false."""

    deprecated: bool


class VersionStabilized(MessageChange):
    """An unstable version became stable."""


class VersionDestabilized(MessageChange):
    """A stable version became unstable."""


class ListenersChanged(MessageChange):
    """The listeners of a request changed."""


class RequestResponseVersionsDiverged(MessageChange):
    """Request (``old``) and response (``new``), both of the new side, have different valid versions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldChange(MessageChange):
    """A change of a field."""

    before: FieldSite | None
    after: FieldSite | None

    @property
    def paths(self) -> tuple[str | None, ...]:
        return tuple(site.path for site in (self.after, self.before) if site is not None)

    @property
    def path(self) -> str:
        return str(self.paths[0])

    @property
    def subject(self) -> str:
        """The message and the path of the field: ``FetchRequest.Topics.Partitions``."""
        return f"{self.message.name}.{self.path}"


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAddedToVersion(FieldChange):
    """An untagged field was added to versions. ``struct`` is its struct on the old side."""

    after: FieldSite
    struct: StructSite


class TagAdded(FieldAddedToVersion):
    """A tagged field was added to versions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldRemovedFromVersion(FieldChange):
    """An untagged field was removed from versions; ``after`` is set if other versions still have it.

    ``struct`` is its struct on the new side.
    """

    before: FieldSite
    struct: StructSite


class TagRemoved(FieldRemovedFromVersion):
    """A tagged field was removed from versions."""


class FieldRemoved(FieldRemovedFromVersion):
    """A field was removed together with all versions that had it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldPersists(FieldChange):
    """A change of a field that both sides have."""

    before: FieldSite
    after: FieldSite

    @property
    def decls(self) -> tuple[FieldDecl, FieldDecl]:
        return self.before.decl, self.after.decl


class FieldReordered(FieldPersists):
    """The position of a field changed."""


class FieldRenamed(FieldPersists):
    """A field was renamed."""


class StructRenamed(FieldPersists):
    """The struct of a field was renamed."""


class FieldTypeChanged(FieldPersists):
    """The type and encoding of a field changed."""


class FieldTypeChangedSameBytes(FieldPersists):
    """The type of a field changed but not its encoding."""


class FieldNullabilityWidened(FieldPersists):
    """A field became nullable."""


class FieldNullabilityNarrowed(FieldPersists):
    """A field ceased to be nullable."""


class FieldLengthCodingChanged(FieldPersists):
    """The length encoding of a string or bytes field changed although the flexibility of the message did not."""


class FieldTaggingChanged(FieldPersists):
    """A field became tagged or untagged."""


class TagNumberChanged(FieldPersists):
    """The tag of a field changed."""


class TagDefaultChanged(FieldPersists):
    """The default of a tagged field changed."""


class TagReused(FieldPersists):
    """The tag of one field (``before``) is now used by another (``after``)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAttributeChanged(FieldPersists):
    """``default``, ``enum``, ``ignorable``, ``entityType`` or ``mapKey`` changed; values are as in definitions."""

    attribute: str
    was: str
    now: str
