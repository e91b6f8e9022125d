"""Changes to enums. Peers send numbers, not names, so only a new number for a name changes the meaning of bytes."""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import enum, files, value
from kwirec.diff.changes.change import EnumChange, ValueChange, rule
from kwirec.diff.rule import Level
from kwirec.ir.schema import Enum, EnumValue


@rule(
    Level.WIRE,
    before=enum(value("NEW", 0), value("FULL", 1)),
    after=enum(value("NEW", 0), value("FULL", 2)),
)
@dataclass(frozen=True, eq=False)
class EnumValueRenumbered(ValueChange):
    """A value of an enum has another number.

    Peers with the old definition still send and expect the old number.
    """

    before: EnumValue
    after: EnumValue

    def describe(self) -> Finding:
        text = f"`{self.new.name}.{self.after.name}` changed from {self.before.value} to {self.after.value}"
        old, new = self.before.decl.value.span, self.after.decl.value.span
        helps = ["give a new value a new name"]
        return finding(text, new, f"was {self.before.value}", others=[(old, "the old number")], helps=helps)


@dataclass(frozen=True, eq=False)
class EnumAdded(EnumChange):
    """An enum was added. No rule reports an added enum, because the fields that use it are reported."""

    new: Enum


@rule(
    Level.SOURCE, before=files(enum(value("NEW", 0)), enum(value("LOW", 0), name="Tide")), after=enum(value("NEW", 0))
)
@dataclass(frozen=True, eq=False)
class EnumRemoved(EnumChange):
    """An enum was removed or renamed.

    The generated class is gone, and code that uses it breaks. Bytes do not change.
    """

    old: Enum

    def describe(self) -> Finding:
        return finding(f"enum `{self.old.name}` was removed", self.old.decl.name.span, "the removed enum")


@rule(
    Level.SOURCE,
    before=enum(value("NEW", 0)),
    after=enum(value("NEW", 0), valueType="int16"),
    severity=Severity.NOTE,
)
@dataclass(frozen=True, eq=False)
class EnumTypeChanged(EnumChange):
    """The type of the values of an enum changed.

    Bytes do not change, because they depend only on the types of fields.
    """

    old: Enum
    new: Enum

    def describe(self) -> Finding:
        text = f"the values of `{self.new.name}` are {self.new.type}"
        old, new = self.old.decl.value_type.span, self.new.decl.value_type.span
        return finding(text, new, f"were {self.old.type}", others=[(old, "the old type")])


@rule(Level.SOURCE, before=enum(value("NEW", 0), value("FULL", 1)), after=enum(value("NEW", 0)))
@dataclass(frozen=True, eq=False)
class EnumValueRemoved(ValueChange):
    """A value was removed from an enum.

    Code that uses the member breaks. If peers still send the value, it is shown without a name.
    """

    before: EnumValue

    def describe(self) -> Finding:
        text = f"`{self.old.name}.{self.before.name}` ({self.before.value}) was removed"
        others = [(self.before.decl.name.span, "the removed value")]
        return finding(text, self.new.decl.name.span, "no longer names this value", others=others)


@rule(Level.SOURCE, before=enum(value("NEW", 0)), after=enum(value("DARK", 0)))
@dataclass(frozen=True, eq=False)
class EnumValueRenamed(ValueChange):
    """A value of an enum was renamed.

    The member of the generated class is renamed too, and code that uses it breaks. Bytes do not change.
    """

    before: EnumValue
    after: EnumValue

    def describe(self) -> Finding:
        text = f"`{self.old.name}.{self.before.name}` ({self.before.value}) was renamed to `{self.after.name}`"
        old, new = self.before.decl.name.span, self.after.decl.name.span
        return finding(text, new, "the new name", others=[(old, "the old name")])


@rule(
    Level.SOURCE,
    before=enum(value("NEW", 0)),
    after=enum(value("NEW", 0), value("FULL", 1)),
    severity=Severity.NOTE,
)
@dataclass(frozen=True, eq=False)
class EnumValueAdded(ValueChange):
    """A value was added to an enum.

    This is safe because values without a name are read and written unchanged.
    """

    after: EnumValue

    def describe(self) -> Finding:
        text = f"`{self.new.name}.{self.after.name}` ({self.after.value}) is new"
        return finding(text, self.after.decl.name.span, "a new value")
