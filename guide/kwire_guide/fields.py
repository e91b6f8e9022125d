"""The fields of all versions of a message, as the tree that its page shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.guide import field_places
from kwirec.ir.literals import default_literal
from kwirec.ir.schema import IMPLICIT, Enum, Field, Message, StructType, base_type
from kwirec.naming import python_name
from kwirec.versions import VersionRange


@dataclass(frozen=True)
class FieldRow:
    """One field with the facts that do not depend on the version.

    ``chips`` are short notes, such as ``ignorable``. ``former`` are its former names. ``enum`` names its values.
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
    """Return the fields that some version has, in the order of the definition, structs before their fields."""
    return [_row(message, place, field, live) for place, field, live in field_places(message)]


def _row(message: Message, place: str, field: Field, live: VersionRange) -> FieldRow:
    base = base_type(field.type)
    struct = message.struct(base.name) if isinstance(base, StructType) else None
    return FieldRow(
        place=place,
        name=python_name(field.name),
        depth=place.count("."),
        versions=live.text_within(message.valid),
        default="" if field.default is IMPLICIT else str(default_literal(field.default)),
        doc=field.doc,
        struct_doc=struct.doc if struct and struct.doc != field.doc else "",
        chips=tuple(_chips(field)),
        former=tuple(map(python_name, field.aliases)),
        enum=field.enum,
    )


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
