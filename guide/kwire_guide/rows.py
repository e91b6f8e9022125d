"""A layout as rows, one per field in the order of the grammar. All views of a version use these rows.

A row identifies its field by a *place*, such as ``topics.partitions.fetch_offset``. A place lists the attributes of
generated classes from the message to the field, without indexes. A field has the same place in all versions. The
place is also the anchor of the field on the message's page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwirec.lowering.layout import (
    SCALARS,
    ArrayKind,
    BlobKind,
    FieldLayout,
    Kind,
    MessageLayout,
    ScalarKind,
    StructKind,
    TagLayout,
    innermost,
    walk,
)
from kwirec.naming import python_name, python_path

SCALAR_NAMES = {kind.text: "BOOLEAN" if name == "bool" else name.upper() for name, kind in SCALARS.items()}
TAG_BUFFER = "TAG_BUFFER"


@dataclass(frozen=True)
class Row:
    """A field of a layout. Fields with equal ``type``, tag and default have the same encoding.

    ``size`` is the number of bytes, followed by ``+`` if it is a minimum. ``parts`` lists the names of a struct's
    untagged fields. ``closed`` is true if a section of tagged fields ends the struct. ``default`` is ``None`` for a
    field without a tag, because only the defaults of tagged fields affect bytes.
    """

    place: str
    name: str
    depth: int
    type: str
    size: str
    tag: int | None
    default: str | None
    parts: tuple[str, ...]
    closed: bool

    @property
    def label(self) -> str:
        """The name in the grammar, such as ``cluster_id<tag 0>``."""
        return self.name if self.tag is None else f"{self.name}<tag {self.tag}>"

    @property
    def shown(self) -> str:
        """The type and, for a tagged field, the tag."""
        return self.type if self.tag is None else f"{self.type} · tag {self.tag}"

    @property
    def bytes(self) -> str:
        return f"{self.size} byte{'s' * (self.size != '1')}"


def rows(layout: MessageLayout) -> tuple[Row, ...]:
    """Return the fields of a layout. A struct precedes its fields, and tagged fields come last in their struct."""
    return tuple(_row(python_path(path), field) for path, field in walk(layout.body))


RowsOf = Mapping[MessageLayout, tuple[Row, ...]]


def all_rows(layouts: Mapping[int, MessageLayout]) -> RowsOf:
    """Return the rows of each layout of a message, in the order of the versions.

    Do not share them between messages. Layouts are equal if their bytes are, even if the names of fields differ.
    """
    return {one: rows(one) for one in dict.fromkeys(layouts.values())}


def _row(place: str, field: FieldLayout | TagLayout) -> Row:
    inner = innermost(field.kind)
    struct = inner if isinstance(inner, StructKind) else None
    return Row(
        place=place,
        name=python_name(field.name),
        depth=place.count("."),
        type=type_text(field.kind),
        size=size_text(field),
        tag=field.tag if isinstance(field, TagLayout) else None,
        default=field.default_text if isinstance(field, TagLayout) else None,
        parts=tuple(map(shown, struct.fields)) if struct else (),
        closed=bool(struct and struct.tags is not None),
    )


def shown(field: FieldLayout) -> str:
    """Return a field as shown in the line of its struct, with brackets around an array."""
    name = python_name(field.name)
    return f"[{name}]" if isinstance(field.kind, ArrayKind) else name


def type_text(kind: Kind) -> str:
    """Return the type in the grammar, such as ``COMPACT_NULLABLE_ARRAY of INT32``, or ``STRUCT`` for a struct."""
    match kind:
        case ScalarKind():
            return SCALAR_NAMES[kind.text]
        case BlobKind():
            name = "STRING" if kind.string else "RECORDS" if kind.records else "BYTES"
            return f"{'COMPACT_' if kind.compact else ''}{'NULLABLE_' if kind.nullable else ''}{name}"
        case ArrayKind():
            name = f"{'COMPACT_' if kind.compact else ''}{'NULLABLE_' if kind.nullable else ''}ARRAY"
            return name if isinstance(kind.element, StructKind) else f"{name} of {type_text(kind.element)}"
        case StructKind():
            return "NULLABLE_STRUCT" if kind.nullable else "STRUCT"


def size_text(field: FieldLayout | TagLayout) -> str:
    least, exact = size(field.kind)
    return str(least) if exact else f"{least}+"


def size(kind: Kind) -> tuple[int, bool]:
    """Return the size of the smallest value (null or empty) in bytes, and whether all values have this size."""
    match kind:
        case ScalarKind():
            return kind.width, True
        case BlobKind():
            return (1 if kind.compact else 2 if kind.string else 4), False
        case ArrayKind():
            return (1 if kind.compact else 4), False
        case StructKind():
            if kind.nullable:
                return 1, False
            sizes = [size(one.kind) for one in kind.fields]
            closing = int(kind.tags is not None)
            return sum(least for least, _ in sizes) + closing, not closing and all(exact for _, exact in sizes)
