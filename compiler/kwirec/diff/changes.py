"""Kinds of change between two schemas: facts, without any judgement.

A change names the message on both sides, the versions it is about (those that both sides have, unless the change
is about versions coming and going) and, below the message, the field on both sides. Whether it is good, bad or of
no interest is for the rules.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.ir.schema import Message
from kwirec.ir.sites import FieldSite, MessageSite, StructSite


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """One fact. A side is ``None`` where there is no such message."""

    old: MessageSite | None
    new: MessageSite | None
    versions: frozenset[int] = frozenset()

    @property
    def message(self) -> Message:
        """The message, as the new side has it if it does."""
        site = self.new or self.old
        assert site is not None
        return site.message


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageChange(Change):
    """A change of a message that both sides have."""

    old: MessageSite
    new: MessageSite


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageAdded(Change):
    """A message that had no versions before."""

    new: MessageSite


@dataclass(frozen=True, kw_only=True, eq=False)
class MessageRemoved(Change):
    """A message that has no versions any more: ``new`` is left where only its number stays reserved."""

    old: MessageSite


class MessageRenamed(MessageChange):
    """The same message under another name."""


class MessageKindChanged(MessageChange):
    """The ``type`` of a message is another one."""


class ApiKeyChanged(MessageChange):
    """The same message under another number."""


class ApiKeyReused(MessageChange):
    """The number of one message now belongs to another."""


class VersionMinRaised(MessageChange):
    """The lowest versions are gone."""


class VersionMaxLowered(MessageChange):
    """The highest versions are gone."""


class VersionRestored(MessageChange):
    """Versions are there that are lower than what the old side had."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionAdded(MessageChange):
    """A new highest version. ``before`` is the version it follows, ``None`` if neither side has that.

    ``added``, ``removed`` and ``changed`` (nullable or tagged, or no longer) are its fields compared with that one.
    """

    before: int | None
    same_bytes: bool = False
    added: tuple[FieldSite, ...] = ()
    removed: tuple[FieldSite, ...] = ()
    changed: tuple[FieldSite, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class FlexibleVersionsChanged(MessageChange):
    """Versions became flexible or stopped being so, ``flexible`` says which."""

    flexible: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class HeaderVersionChanged(MessageChange):
    """Another header stands before versions that are as flexible as they were."""

    before: int
    after: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DeprecatedVersionsChanged(MessageChange):
    """Versions became deprecated or stopped being so, ``deprecated`` says which."""

    deprecated: bool


class VersionStabilized(MessageChange):
    """An unstable version is stable now."""


class VersionDestabilized(MessageChange):
    """A stable version is unstable now."""


class ListenersChanged(MessageChange):
    """Other listeners serve the request."""


class RequestResponseVersionsDiverged(MessageChange):
    """Request (``old``) and response (``new``), both of the new side, have different valid versions."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldChange(MessageChange):
    """A change of one field. For one that is new or gone, ``struct`` is the struct on the side that lacks it."""

    before: FieldSite | None
    after: FieldSite | None
    struct: StructSite

    @property
    def path(self) -> str:
        site = self.after or self.before
        assert site is not None
        return str(site.path)


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAddedToVersion(FieldChange):
    """Versions have an untagged field that they did not have."""

    after: FieldSite


class TagAdded(FieldAddedToVersion):
    """Versions have a tagged field that they did not have."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldRemovedFromVersion(FieldChange):
    """Versions lack an untagged field that they had. ``after`` is left where other versions still have it."""

    before: FieldSite


class TagRemoved(FieldRemovedFromVersion):
    """Versions lack a tagged field that they had."""


class FieldRemoved(FieldRemovedFromVersion):
    """A field is gone together with the last versions that had it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldPersists(FieldChange):
    """A change of a field that both sides have."""

    before: FieldSite
    after: FieldSite


class FieldReordered(FieldPersists):
    """A field stands at another place among the others."""


class FieldRenamed(FieldPersists):
    """The same field under another name."""


class StructRenamed(FieldPersists):
    """The struct of a field has another name."""


class FieldTypeChanged(FieldPersists):
    """A field has another type with other bytes."""


class FieldTypeChangedSameBytes(FieldPersists):
    """A field has another type with the same bytes: what was written as one can be read as the other."""


class FieldNullabilityWidened(FieldPersists):
    """A field may be null where it could not be."""


class FieldNullabilityNarrowed(FieldPersists):
    """A field cannot be null where it could be."""


class FieldLengthCodingChanged(FieldPersists):
    """A string or bytes field codes its length in another way although its message is as flexible as it was."""


class FieldTaggingChanged(FieldPersists):
    """A field moved from its place among the others into the tagged fields, or the other way round."""


class TagNumberChanged(FieldPersists):
    """A tagged field has another number."""


class TagDefaultChanged(FieldPersists):
    """A tagged field is left out for another value than before."""


class TagReused(FieldPersists):
    """The number of one tagged field (``before``) now belongs to another (``after``)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FieldAttributeChanged(FieldPersists):
    """``default``, ``ignorable``, ``entityType`` or ``mapKey`` as the definition spells them, before and after."""

    attribute: str
    was: str
    now: str
