"""Rules about enums. Integers are sent, not names: only a name that gets another number changes what bytes mean."""

from __future__ import annotations

from kwirec.diagnostics.diagnostic import Finding, Severity, finding
from kwirec.diagnostics.examples import enum, files, value
from kwirec.diff import enum_changes as c
from kwirec.diff.rule import Level, rule


@rule(
    Level.WIRE,
    before=enum(value("NEW", 0), value("FULL", 1)),
    after=enum(value("NEW", 0), value("FULL", 2)),
)
def enum_value_renumbered(change: c.ValueRenumbered) -> Finding:
    """A name of an enum stands for another number.

    Peers with the old definition still send and expect the old number.
    """
    text = f"`{change.new.name}.{change.after.name}` changed from {change.before.value} to {change.after.value}"
    old, new = change.before.decl.value.span, change.after.decl.value.span
    helps = ["give a new value a new name"]
    return finding(text, new, f"was {change.before.value}", others=[(old, "the old number")], helps=helps)


@rule(
    Level.SOURCE, before=files(enum(value("NEW", 0)), enum(value("LOW", 0), name="Tide")), after=enum(value("NEW", 0))
)
def enum_removed(change: c.EnumRemoved) -> Finding:
    """An enum was removed or renamed.

    The generated class is gone, and code that uses it breaks. Bytes do not change.
    """
    return finding(f"enum `{change.old.name}` was removed", change.old.decl.name.span, "the removed enum")


@rule(
    Level.SOURCE,
    before=enum(value("NEW", 0)),
    after=enum(value("NEW", 0), valueType="int16"),
    severity=Severity.NOTE,
)
def enum_type_changed(change: c.EnumTypeChanged) -> Finding:
    """The type of the values of an enum changed.

    It does not change bytes: the types of the fields do.
    """
    text = f"the values of `{change.new.name}` are {change.new.type}"
    old, new = change.old.decl.value_type.span, change.new.decl.value_type.span
    return finding(text, new, f"were {change.old.type}", others=[(old, "the old type")])


@rule(Level.SOURCE, before=enum(value("NEW", 0), value("FULL", 1)), after=enum(value("NEW", 0)))
def enum_value_removed(change: c.ValueRemoved) -> Finding:
    """A value of an enum lost its name.

    Code that uses the member breaks, and peers that still send the value are shown without its name.
    """
    text = f"`{change.old.name}.{change.before.name}` ({change.before.value}) was removed"
    others = [(change.before.decl.name.span, "the removed value")]
    return finding(text, change.new.decl.name.span, "has no name for it", others=others)


@rule(Level.SOURCE, before=enum(value("NEW", 0)), after=enum(value("DARK", 0)))
def enum_value_renamed(change: c.ValueRenamed) -> Finding:
    """A value of an enum was renamed.

    The member of the generated class is renamed too, and code that uses it breaks. Bytes do not change.
    """
    text = f"`{change.old.name}.{change.before.name}` ({change.before.value}) was renamed to `{change.after.name}`"
    old, new = change.before.decl.name.span, change.after.decl.name.span
    return finding(text, new, "the new name", others=[(old, "the old name")])


@rule(
    Level.SOURCE,
    before=enum(value("NEW", 0)),
    after=enum(value("NEW", 0), value("FULL", 1)),
    severity=Severity.NOTE,
)
def enum_value_added(change: c.ValueAdded) -> Finding:
    """A value of an enum got a name.

    This is safe: values without a name are kept as they are.
    """
    text = f"`{change.new.name}.{change.after.name}` ({change.after.value}) is new"
    return finding(text, change.after.decl.name.span, "a new value")
