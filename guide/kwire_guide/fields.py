"""The fields of all versions of a message, as the tree that its page shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.ir.literals import default_literal
from kwirec.ir.schema import IMPLICIT, Enum, Field, Message, StructType, base_type
from kwirec.naming import python_name
from kwirec.versions import VersionRange


@dataclass(frozen=True)
class FieldRow:
    """One field with what does not depend on the version.

    ``chips`` are short notes, such as ``ignorable``; ``former`` are names that it had; ``enum`` names its values.
    """

    place: str
    name: str
    depth: int
    versions: str
    default: str
    doc: str
    struct_doc: str
    chips: tuple[str, ...]
    former: tuple[str, ...]
    enum: Enum | None


def field_rows(message: Message) -> list[FieldRow]:
    """The fields that some version has, in the order of the definition, structs before their fields."""
    return list(_rows(message, message.root.name, message.valid, "", 0))


def _rows(message: Message, struct: str, versions: VersionRange, prefix: str, depth: int) -> Iterator[FieldRow]:
    for one in message.struct(struct).fields:
        live = one.versions.intersect(versions)
        if not live:
            continue
        name = python_name(one.name)
        base = base_type(one.type)
        below = message.struct(base.name) if isinstance(base, StructType) else None
        yield FieldRow(
            place=f"{prefix}{name}",
            name=name,
            depth=depth,
            versions=f"{live.low}+" if live.high == message.valid.high else str(live),
            default="" if one.default is IMPLICIT else str(default_literal(one.default)),
            doc=one.doc,
            struct_doc=below.doc if below and below.doc != one.doc else "",
            chips=tuple(_chips(one)),
            former=tuple(map(python_name, one.aliases)),
            enum=one.enum,
        )
        if below:
            yield from _rows(message, below.name, live, f"{prefix}{name}.", depth + 1)


def _chips(field: Field) -> Iterator[str]:
    yield from (f"was {python_name(alias)}" for alias in field.aliases)
    if field.entity_type:
        yield field.entity_type
    if field.ignorable:
        yield "ignorable"
    if field.map_key:
        yield "map key"
    if field.since:
        yield f"since {field.since}"
