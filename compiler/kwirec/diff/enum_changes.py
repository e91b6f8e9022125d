"""Kinds of changes of enums, and ``compare_enums``, which finds them.

Enums are paired by name. A value is what its name says: a name that stands for another number was renumbered, and a
number that has another name was renamed, unless the name was or is that of another number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.diff.changes import Change
from kwirec.ir.schema import Enum, EnumValue, Schema


@dataclass(frozen=True, eq=False)
class EnumChange(Change):
    """A change of an enum. A side is ``None`` if it does not have it."""

    old: Enum | None
    new: Enum | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(enum.name for enum in (self.new, self.old) if enum is not None)


@dataclass(frozen=True, eq=False)
class EnumAdded(EnumChange):
    """An enum that did not exist before."""

    new: Enum


@dataclass(frozen=True, eq=False)
class EnumRemoved(EnumChange):
    """An enum that no longer exists."""

    old: Enum


@dataclass(frozen=True, eq=False)
class EnumTypeChanged(EnumChange):
    """The values have another type."""

    old: Enum
    new: Enum


@dataclass(frozen=True, eq=False)
class ValueChange(EnumChange):
    """A change of one value."""

    old: Enum
    new: Enum
    before: EnumValue | None
    after: EnumValue | None

    @property
    def paths(self) -> tuple[str | None, ...]:
        return tuple(value.name for value in (self.after, self.before) if value is not None)


@dataclass(frozen=True, eq=False)
class ValueAdded(ValueChange):
    """A number that had no name."""

    after: EnumValue


@dataclass(frozen=True, eq=False)
class ValueRemoved(ValueChange):
    """A number that no longer has a name."""

    before: EnumValue


@dataclass(frozen=True, eq=False)
class ValueRenamed(ValueChange):
    """A number that has another name."""

    before: EnumValue
    after: EnumValue


@dataclass(frozen=True, eq=False)
class ValueRenumbered(ValueChange):
    """A name that stands for another number."""

    before: EnumValue
    after: EnumValue


def compare_enums(old: Schema, new: Schema) -> Iterator[EnumChange]:
    """Everything that changed in enums from ``old`` to ``new``."""
    theirs, mine = ({enum.name: enum for enum in schema.enums} for schema in (new, old))
    for name, enum in mine.items():
        if name not in theirs:
            yield EnumRemoved(enum, None)
        else:
            yield from _values(enum, theirs[name])
    yield from (EnumAdded(None, enum) for name, enum in theirs.items() if name not in mine)


def _values(old: Enum, new: Enum) -> Iterator[EnumChange]:
    if old.type != new.type:
        yield EnumTypeChanged(old, new)
    before, after = ({value.name: value for value in enum.values} for enum in (old, new))
    numbered = {value.value: value for value in new.values if value.name not in before}
    for name, value in before.items():
        if name in after:
            if after[name].value != value.value:
                yield ValueRenumbered(old, new, value, after[name])
        elif (renamed := numbered.pop(value.value, None)) is not None:
            yield ValueRenamed(old, new, value, renamed)
        else:
            yield ValueRemoved(old, new, value, None)
    yield from (ValueAdded(old, new, None, value) for value in numbered.values())
