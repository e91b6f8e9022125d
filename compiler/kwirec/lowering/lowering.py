"""``Schema`` → ``Layout``s: the last place where versions are asked about.

Takes a schema that passed validation and cannot fail. Before and after, in ``dump`` notation::

    Topics     []Topic  versions=0+ nullable=1+        v2, not flexible:   Topics: [n]?Topic
      Name     string   versions=0+             →                           Name: str16
      Offset   int64    versions=3+
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kwirec.ir.schema import (
    IMPLICIT,
    ArrayType,
    Default,
    Field,
    Implicit,
    Message,
    PrimitiveType,
    Schema,
    Struct,
    StructType,
    Type,
)
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
)


@dataclass(frozen=True)
class Layouts:
    """All layouts of a schema by message name and version."""

    by_message: Mapping[str, Mapping[int, MessageLayout]]

    def of(self, message: str, version: int) -> MessageLayout:
        return self.by_message[message][version]

    @property
    def distinct(self) -> int:
        """How many different layouts there are among all messages and versions."""
        return len({layout for versions in self.by_message.values() for layout in versions.values()})

    @property
    def count(self) -> int:
        """How many pairs of message and version there are."""
        return sum(len(versions) for versions in self.by_message.values())


def lower(schema: Schema) -> Layouts:
    """The layouts of every valid version of every message."""
    by_message: dict[str, dict[int, MessageLayout]] = {}
    for message in schema.messages:
        shared: dict[MessageLayout, MessageLayout] = {}
        versions = by_message[message.name] = {}
        for version in message.valid:
            layout = lower_message(message, version)
            versions[version] = shared.setdefault(layout, layout)
    return Layouts(by_message)


def lower_message(message: Message, version: int) -> MessageLayout:
    """The layout of one message at one version."""
    return MessageLayout(message.name, _struct(message, message.root, version, nullable=False))


def _struct(message: Message, struct: Struct, version: int, *, nullable: bool) -> StructKind:
    flexible = version in message.flexible
    fields: list[FieldLayout] = []
    tags: list[TagLayout] = []
    for one in struct.fields:
        if version not in one.versions:
            continue
        kind = _kind(message, one, one.type, version, nullable=version in one.nullable)
        if flexible and one.tag is not None and version in one.tagged:
            tags.append(TagLayout(one.name, one.tag, kind, _default(one), one.since))
        else:
            fields.append(FieldLayout(one.name, kind))
    ordered = tuple(sorted(tags, key=lambda tag: tag.tag)) if flexible else None
    return StructKind(struct.name, tuple(fields), ordered, nullable)


def _default(one: Field) -> Default | Implicit:
    """The default, where it is not what a field has anyway: a zero that is written down changes no byte."""
    zeroes: tuple[object, ...] = (0, False, 0.0, "", bytes(16))
    return IMPLICIT if one.default in zeroes else one.default


def _kind(message: Message, field: Field, type_: Type, version: int, *, nullable: bool) -> Kind:
    """Nullability belongs to the outermost type: elements of arrays are never null [KAFKA-WIRE 15]."""
    compact = version in message.flexible
    match type_:
        case ArrayType(element):
            return ArrayKind(compact, nullable, _kind(message, field, element, version, nullable=False))
        case StructType(name):
            return _struct(message, message.struct(name), version, nullable=nullable)
        case PrimitiveType(name) if name in SCALARS:
            return ScalarKind(name)
        case PrimitiveType(name):
            # A field's own flexible versions change how its length is coded and nothing else [KAFKA-WIRE 4].
            compact = compact and (field.flexible is None or version in field.flexible)
            return BlobKind(name == "string", compact, nullable, records=name == "records")
