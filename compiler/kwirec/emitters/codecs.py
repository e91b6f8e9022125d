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
    """What only the class of a whole message has.

    ``headers`` are pairs of a test of the version, empty for the last, and a header version.
    """

    api_key: int | None
    valid: str
    deprecated: str
    headers: tuple[tuple[str, int], ...]
    halves: tuple[HalfView, ...]


@dataclass(frozen=True, kw_only=True)
class CodecView:
    """A class with the functions that belong to it."""

    cls: ClassView
    section: SectionView | None
    message: MessageView | None


def emit_module(group: ModuleGroup, halves: Halves) -> Artifact:
    """The text of one codec module."""
    codecs: list[CodecView] = []
    emitted = (source for source in group.classes() if source.message.name not in RUNTIME_HEADERS)
    for message, sources in groupby(emitted, key=lambda source: source.message):
        codecs += _codecs(message, list(sources), halves[message.name])
    text = CodeRenderer().render(
        "codec/module.jinja",
        title=f"{' and '.join(message.name for message in group.messages)}: classes and codecs for every version.",
        origin=origin_of(message.decl.span.source.name for message in group.messages),
        codecs=codecs,
        runtime_headers=[message.name for message in group.messages if message.name in RUNTIME_HEADERS],
        uuids=sorted(_uuids(codecs)),
    )
    return Artifact(path=group.file, text=text)


def _uuids(codecs: Iterable[CodecView]) -> Iterator[str]:
    """What annotations and defaults of a module need of ``kwire.uuids``."""
    fields = [one for codec in codecs for one in codec.cls.fields]
    if any(base_type(one.field.type) == PrimitiveType("uuid") for one in fields):
        yield "Uuid"
    if any(one.value == "ZERO_UUID" for one in fields):
        yield "ZERO_UUID"


def _codecs(message: Message, sources: Sequence[ClassSource], halves: Sequence[Half]) -> list[CodecView]:
    """The classes of a message, those first that others contain: constructors mention classes as defaults."""
    classes = {one.struct.name: _class(one) for one in sources}
    sections = {one.struct.name: _section(one, classes) for half in halves for one in half.sections}
    message_view = _message(message, [_half(half, classes) for half in halves])
    return [
        CodecView(
            cls=classes[name],
            section=sections.get(name),
            message=message_view if name == message.name else None,
        )
        for name in _contained_first(message)
        if name in classes
    ]


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
    notes = (f"Versions {message.valid}, flexible {message.flexible}.",) if source.is_message else ()
    fields = tuple(field_view(source, one) for one in source.fields)
    return ClassView(
        name=source.name,
        doc=docstring(source.doc, notes=notes),
        fields=fields,
        flexible=range_literal(message.flexible.intersect(message.valid)),
    )


def _section(section: StructCoding, classes: Mapping[str, ClassView]) -> SectionView:
    """The tagged fields of a struct, by their numbers."""
    view = classes[section.struct.name]
    tagged = sorted((one for one in section.fields if one.tagged), key=lambda one: one.field.tag or 0)
    names = Locals(path for one in tagged for path in (one.path, *_inlined(one.tagged, classes)))
    reader, writer = Reader(classes, names), Writer(classes, names)
    tags = []
    for one in tagged:
        test = condition([v for run in one.tagged for v in run.versions], section.versions)
        tags.append(
            TagView(
                number=one.field.tag or 0,
                field=view.field(one.field),
                condition="" if test == ALWAYS else test,
                local=names.of(one.path),
                read=reader.tagged(one, section, names.of(one.path)),
                write=writer.tagged(one, section, "self"),
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
    """The paths of the fields that are locals where the struct is inlined."""
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
    """The header versions, each with the test of the message's version that leads to it; the last needs none."""
    versions = header_versions(message)
    ordered = sorted(versions)
    for number in sorted(set(versions.values())):
        test = condition([v for v in ordered if versions[v] == number], ordered)
        yield ("" if number == max(versions.values()) else test), number
