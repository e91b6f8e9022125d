"""Finds the changes to enums.

Enums and their values are paired by name. A name whose number differs was renumbered. A number whose name differs was
renamed, unless one of the names belongs to another number on the other side.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.diff import changes as c
from kwirec.ir.schema import Enum, Schema


def compare_enums(old: Schema, new: Schema) -> Iterator[c.EnumChange]:
    """Yield all changes to enums from ``old`` to ``new``."""
    theirs, mine = ({enum.name: enum for enum in schema.enums} for schema in (new, old))
    for name, enum in mine.items():
        if name not in theirs:
            yield c.EnumRemoved(enum, None)
        else:
            yield from _values(enum, theirs[name])
    yield from (c.EnumAdded(None, enum) for name, enum in theirs.items() if name not in mine)


def _values(old: Enum, new: Enum) -> Iterator[c.EnumChange]:
    if old.type != new.type:
        yield c.EnumTypeChanged(old, new)
    before, after = ({value.name: value for value in enum.values} for enum in (old, new))
    numbered = {value.value: value for value in new.values if value.name not in before}
    for name, value in before.items():
        if name in after:
            if after[name].value != value.value:
                yield c.EnumValueRenumbered(old, new, value, after[name])
        elif (renamed := numbered.pop(value.value, None)) is not None:
            yield c.EnumValueRenamed(old, new, value, renamed)
        else:
            yield c.EnumValueRemoved(old, new, value, None)
    yield from (c.EnumValueAdded(old, new, None, value) for value in numbered.values())
