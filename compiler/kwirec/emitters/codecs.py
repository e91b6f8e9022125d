"""Messages → the text of codec modules: classes, and for each half of a message a reader and a writer.

A message has two bodies each way, for its classic and its flexible versions, with structs inlined and
``if version >= n`` where versions differ (docs/decisions/codec-shape.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.codec_names import Locals
from kwirec.emitters.codec_nodes import Nodes
from kwirec.emitters.codec_reader import Reader
from kwirec.emitters.codec_writer import Writer
from kwirec.emitters.environment import CodeRenderer
from kwirec.emitters.modules import RUNTIME_HEADERS, ClassSource, ModuleGroup, origin_of
from kwirec.emitters.ranges import ALWAYS, condition
from kwirec.emitters.views import ClassView, FieldView, docstring, field_view, range_literal
from kwirec.ir.schema import Message, PrimitiveType, StructType, base_type
from kwirec.lowering import Half
from kwirec.lowering.coding import Run, StructCoding
from kwirec.lowering.headers import header_versions
from kwirec.naming import snake_case
from kwirec.versions import VersionRange

Halves = Mapping[str, tuple[Half, ...]]
"""The halves of every message, by its name."""


@dataclass(frozen=True, kw_only=True)
class TagView:
    """One tagged field of a section. ``condition`` is empty if all versions of the section have it."""

    number: int
    field: FieldView
    condition: str
    local: str
    read: Nodes
    write: Nodes


@dataclass(frozen=True, kw_only=True)
class SectionView:
    """The functions for the tagged section of one struct."""

    cls: str
    declarations: tuple[tuple[str, str], ...]
    tags: tuple[TagView, ...]


@dataclass(frozen=True, kw_only=True)
class HalfView:
    """The functions for one half of a message."""

    name: str
    cls: str
    versions: VersionRange
    declarations: tuple[tuple[str, str], ...]
    read: Nodes
    write: Nodes


@dataclass(frozen=True, kw_only=True)
class MessageView:
    """The parts that only the class of a whole message has.

    ``headers`` are pairs of a test of the version, empty for the last, and a header version.
    """

    api_key: int | None
    valid: str
    deprecated: str
    headers: tuple[tuple[str, int], ...]
    halves: tuple[HalfView, ...]


Codec = tuple[ClassView, SectionView | None, MessageView | None]
"""A class with the functions for its tagged section and for a whole message."""


def emit_module(group: ModuleGroup, halves: Halves) -> Artifact:
    """The text of one codec module."""
    codecs: list[Codec] = []
    emitted = (source for source in group.classes() if source.message.name not in RUNTIME_HEADERS)
    for message, sources in groupby(emitted, key=lambda source: source.message):
        codecs += _codecs(message, list(sources), halves[message.name])
    fields = [view for cls, _, _ in codecs for view in cls.fields]
    uuids = {
        "Uuid": any(base_type(view.field.type) == PrimitiveType("uuid") for view in fields),
        "ZERO_UUID": any(view.value == "ZERO_UUID" for view in fields),
    }
    text = CodeRenderer().render(
        "codec/module.jinja",
        title=f"{' and '.join(message.name for message in group.messages)}: classes and codecs for every version.",
        origin=origin_of(message.decl.span.source.name for message in group.messages),
        codecs=codecs,
        runtime_headers=[message.name for message in group.messages if message.name in RUNTIME_HEADERS],
        uuids=sorted(name for name, used in uuids.items() if used),
    )
    return Artifact(path=group.file, text=text)


def _codecs(message: Message, sources: Sequence[ClassSource], halves: Sequence[Half]) -> list[Codec]:
    """The classes of a message, contained ones first: constructors mention classes as defaults."""
    classes = {one.struct.name: _class(one) for one in sources}
    sections = {one.struct.name: _section(one, classes) for half in halves for one in half.sections}
    whole = _message(message, [_half(half, classes) for half in halves])
    names = [name for name in _contained_first(message) if name in classes]
    return [(classes[name], sections.get(name), whole if name == message.name else None) for name in names]


def _contained_first(message: Message) -> list[str]:
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in ordered:
            for one in message.struct(name).fields:
                base = base_type(one.type)
                if isinstance(base, StructType):
                    visit(base.name)
            ordered[name] = None

    for struct in message.structs:
        visit(struct.name)
    return list(ordered)


def _class(source: ClassSource) -> ClassView:
    message = source.message
    note = f"Versions {message.valid}, flexible {message.flexible}." if source.is_message else ""
    fields = tuple(field_view(source, one) for one in source.fields)
    return ClassView(
        name=source.name,
        doc=docstring(source.doc, note=note),
        fields=fields,
        flexible=range_literal(message.flexible.intersect(message.valid)),
    )


def _section(section: StructCoding, classes: Mapping[str, ClassView]) -> SectionView:
    """The tagged fields of a struct, in the order of their tags."""
    view = classes[section.struct.name]
    tagged = sorted((one for one in section.fields if one.tagged), key=lambda one: one.field.tag or 0)
    names = Locals(path for one in tagged for path in (one.path, *_inlined(one.tagged, classes)))
    reader, writer = Reader(classes, names), Writer(classes, names)
    tags = []
    for coded in tagged:
        test = condition(coded.tagged_versions, section.versions)
        tags.append(
            TagView(
                number=coded.field.tag or 0,
                field=view.field(coded.field),
                condition="" if test == ALWAYS else test,
                local=names.of(coded.path),
                read=reader.tagged(coded, section, names.of(coded.path)),
                write=writer.tagged(coded, section, "self"),
            )
        )
    return SectionView(cls=view.name, declarations=reader.declarations, tags=tuple(tags))


def _half(half: Half, classes: Mapping[str, ClassView]) -> HalfView:
    names = Locals(_untagged(half.root, classes))
    reader = Reader(classes, names)
    read = reader.message(half.root, "message")
    return HalfView(
        name=f"{snake_case(half.message.name)}_{'flexible' if half.flexible else 'classic'}",
        cls=classes[half.message.name].name,
        versions=VersionRange.covering(half.versions),
        declarations=reader.declarations,
        read=read,
        write=Writer(classes, names).message(half.root, "message"),
    )


def _untagged(struct: StructCoding, classes: Mapping[str, ClassView]) -> Iterator[str]:
    """The paths of the fields that become locals where the struct is inlined."""
    view = classes[struct.struct.name]
    for one in struct.fields:
        if view.is_read(one.field):
            yield one.path
            yield from _inlined(one.untagged, classes)


def _inlined(runs: Iterable[Run], classes: Mapping[str, ClassView]) -> Iterator[str]:
    for run in runs:
        if run.struct is not None:
            yield from _untagged(run.struct, classes)


def _message(message: Message, halves: Sequence[HalfView]) -> MessageView:
    return MessageView(
        api_key=message.api_key,
        valid=range_literal(message.valid),
        deprecated=range_literal(message.deprecated.intersect(message.valid)),
        headers=tuple(_headers(message)),
        halves=tuple(halves),
    )


def _headers(message: Message) -> Iterator[tuple[str, int]]:
    """The header versions, each with the test of the message's version that selects it; the last has no test."""
    versions = header_versions(message)
    ordered = sorted(versions)
    for number in sorted(set(versions.values())):
        test = condition([v for v in ordered if versions[v] == number], ordered)
        yield ("" if number == max(versions.values()) else test), number
