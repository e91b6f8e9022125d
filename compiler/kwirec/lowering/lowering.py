"""Lowers a ``Schema`` to halves and layouts.

The schema must have passed validation. Lowering cannot fail. An example in the notation of ``kwirec dump``::

    Topics     []Topic  versions=0+ nullable=1+        v2, not flexible:   Topics: [n]?Topic
      Name     string   versions=0+             →                           Name: str16
      Offset   int64    versions=3+
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kwirec.ir.literals import ZEROES
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
    base_type,
)
from kwirec.lowering.coding import FieldCoding, Half, Run, StructCoding, Versions, coding
from kwirec.lowering.layout import (
    SCALARS,
    ArrayKind,
    BlobKind,
    FieldLayout,
    Kind,
    MessageLayout,
    StructKind,
    TagLayout,
)
from kwirec.naming import python_name
from kwirec.versions import runs_by


@dataclass(frozen=True)
class Layouts:
    """All layouts of a schema by message name and version, and the halves from which they were derived."""

    by_message: Mapping[str, Mapping[int, MessageLayout]]
    halves: Mapping[str, tuple[Half, ...]]

    @property
    def distinct(self) -> int:
        """The number of distinct layouts of all message versions."""
        return len({layout for versions in self.by_message.values() for layout in versions.values()})

    @property
    def count(self) -> int:
        """The number of message versions."""
        return sum(len(versions) for versions in self.by_message.values())


def lower(schema: Schema) -> Layouts:
    """Return the halves of each message and the layouts of its valid versions."""
    halves = {message.name: tuple(_halves(message)) for message in schema.messages}
    by_message: dict[str, dict[int, MessageLayout]] = {}
    for name, both in halves.items():
        shared: dict[MessageLayout, MessageLayout] = {}
        layouts = {version: _layout(half.root, version) for half in both for version in half.versions}
        by_message[name] = {v: shared.setdefault(layout, layout) for v, layout in sorted(layouts.items())}
    return Layouts(by_message, halves)


def lower_message(message: Message, version: int) -> MessageLayout:
    """Return the layout of one message version."""
    flexible = version in message.flexible
    return _layout(_struct(message, message.root, (version,), flexible=flexible), version)


def _halves(message: Message) -> Iterator[Half]:
    """Yield the halves of a message that are not empty, the classic half first."""
    for flexible in (False, True):
        versions = tuple(version for version in message.valid if (version in message.flexible) == flexible)
        if versions:
            root = _struct(message, message.root, versions, flexible=flexible)
            yield Half(message, root, tuple(_sections(message, versions)) if flexible else ())


def _sections(message: Message, versions: Versions) -> Iterator[StructCoding]:
    for struct in message.structs:
        used = tuple(version for version in versions if version in message.usage[struct.name])
        section = _struct(message, struct, used, flexible=True)
        if any(one.tagged for one in section.fields):
            yield section


def _struct(message: Message, struct: Struct, versions: Versions, path: str = "", *, flexible: bool) -> StructCoding:
    prefix = f"{path}." if path else ""
    fields = []
    for one in struct.fields:
        if any(version in one.versions for version in message.usage[struct.name]):
            place = prefix + python_name(one.name)
            fields.append(FieldCoding(one, place, tuple(_runs(message, one, versions, place, flexible=flexible))))
    return StructCoding(struct, path, versions, flexible, tuple(fields))


def _runs(message: Message, one: Field, versions: Versions, path: str, *, flexible: bool) -> Iterator[Run]:
    """Yield runs of ``versions`` that code a field in the same way. A struct's null marker is part of its coding."""
    codings = {version: coding(one, version, flexible=flexible) for version in versions}
    marked = isinstance(one.type, StructType)

    def alike(version: int) -> object:
        found = codings[version]
        return found and (found.tagged, found.compact, marked and found.nullable)

    base = base_type(one.type)
    inner = f"{path}[]" if isinstance(one.type, ArrayType) else path
    for run in runs_by(versions, alike):
        first = codings[run[0]]
        if first is not None:
            nullable = tuple(version for version in run if (found := codings[version]) and found.nullable)
            struct = None
            if isinstance(base, StructType):
                struct = _struct(message, message.struct(base.name), run, inner, flexible=flexible)
            yield Run(run, first.tagged, first.compact, nullable, struct)


def _layout(root: StructCoding, version: int) -> MessageLayout:
    return MessageLayout(root.struct.name, _struct_kind(root, version, nullable=False))


def _struct_kind(struct: StructCoding, version: int, *, nullable: bool) -> StructKind:
    fields: list[FieldLayout] = []
    tags: list[TagLayout] = []
    for field, run in ((coded.field, run) for coded in struct.fields if (run := coded.at(version))):
        kind = _kind(field.type, run, version, nullable=version in run.nullable)
        if run.tagged and field.tag is not None:
            tags.append(TagLayout(field.name, field.tag, kind, _default(field), field.since))
        else:
            fields.append(FieldLayout(field.name, kind))
    ordered = tuple(sorted(tags, key=lambda tag: tag.tag)) if struct.flexible else None
    return StructKind(struct.struct.name, tuple(fields), ordered, nullable)


def _default(one: Field) -> Default | Implicit:
    """Return the default. A zero becomes the implicit default, because it does not change the bytes."""
    return IMPLICIT if one.default in ZEROES else one.default


def _kind(type_: Type, run: Run, version: int, *, nullable: bool) -> Kind:
    """Return the kind of a type. Only the outermost level can be null, because array elements are never null
    [KAFKA-WIRE 15].
    """
    match type_:
        case ArrayType(element):
            return ArrayKind(run.compact, nullable, _kind(element, run, version, nullable=False))
        case StructType():
            assert run.struct is not None
            return _struct_kind(run.struct, version, nullable=nullable)
        case PrimitiveType(name) if name in SCALARS:
            return SCALARS[name]
        case PrimitiveType(name):
            return BlobKind(name == "string", run.compact, nullable, records=name == "records")
