"""Emits codec modules. They contain classes, and a reading and a writing function for each half of a message.

The halves are the classic and the flexible versions. Their functions inline all structs, and test ``if version >= n``
where versions differ. docs/decisions/codecs.md contains measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kwirec.emitters.codec_names import Locals
from kwirec.emitters.codec_nodes import DefineClass, DefineHalf, DefineSection, DefineTag, Node, condition
from kwirec.emitters.codec_reader import Reader
from kwirec.emitters.codec_writer import Writer
from kwirec.emitters.environment import Artifact, CodeRenderer
from kwirec.emitters.modules import RUNTIME_HEADERS, ClassSource, ModuleGroup
from kwirec.emitters.views import ClassView, class_view, range_literal, sentinel_of
from kwirec.ir.schema import Message, PrimitiveType, StructType, base_type
from kwirec.lowering import Half
from kwirec.lowering.coding import Run, StructCoding
from kwirec.lowering.headers import header_versions
from kwirec.versions import VersionRange, runs_by

Halves = Mapping[str, tuple[Half, ...]]
"""The halves of each message, by message name."""


def emit_module(group: ModuleGroup, halves: Halves) -> Artifact:
    """Return the text of one codec module."""
    classes: list[DefineClass] = []
    emitted = (source for source in group.classes() if source.message.name not in RUNTIME_HEADERS)
    for message, sources in groupby(emitted, key=lambda source: source.message):
        classes += _classes(message, sources, halves[message.name])
    fields = [field for node in classes for field in node.view.fields.values()]
    text = CodeRenderer().render(
        "codec/module.jinja",
        title=f"{group.title}: classes and codecs for every version.",
        origin=group.origin,
        classes=classes,
        runtime_headers=[message.name for message in group.messages if message.name in RUNTIME_HEADERS],
        uuid=any(base_type(view.field.type) == PrimitiveType("uuid") for view in fields),
        zero_uuid=any(view.value == "ZERO_UUID" for view in fields),
    )
    return Artifact(path=group.file, text=text)


def _classes(message: Message, sources: Iterable[ClassSource], halves: Sequence[Half]) -> Iterator[DefineClass]:
    """Yield the classes of a message. Nested classes come first, because constructors use them for defaults."""
    views = {one.struct.name: class_view(one) for one in sources}
    sections = {one.struct.name: _section(one, views) for half in halves for one in half.sections}
    sentinels = {field.unset for view in views.values() for field in view.fields.values()}
    for name in _contained_first(message):
        if name in views:
            sentinel = sentinel_of(views[name].name)
            codec: list[Node] = [sections[name]] if name in sections else []
            constants = None
            if name == message.name:
                codec += _halves(halves, views)
                constants = {
                    "api_key": message.api_key,
                    "valid": range_literal(message.valid),
                    "deprecated": range_literal(message.deprecated.intersect(message.valid)),
                    "headers": _headers(message),
                }
            yield DefineClass(
                view=views[name],
                message=constants,
                codec=codec,
                sentinel=sentinel if sentinel in sentinels else "",
            )


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


def _section(section: StructCoding, classes: Mapping[str, ClassView]) -> Node:
    """Return the node for the tagged section of a struct, with the tagged fields in tag order."""
    view = classes[section.struct.name]
    tagged = sorted((one for one in section.fields if one.tagged), key=lambda one: one.field.tag or 0)
    names = Locals(path for one in tagged for path in (one.path, *_inlined(one.tagged, classes)))
    reader, writer = Reader(classes, names), Writer(classes, names)
    tags = [
        DefineTag(
            field=view.fields[coded.field.name],
            condition=condition(coded.tagged_versions, section.versions),
            local=names.of(coded.path),
            read=reader.tagged(coded, section, names.of(coded.path)),
            write=writer.tagged(coded, section, "self"),
        )
        for coded in tagged
    ]
    return DefineSection(cls=view.name, declarations=reader.declarations, tags=tags)


def _halves(halves: Sequence[Half], classes: Mapping[str, ClassView]) -> Iterator[Node]:
    """Yield the methods for each half of a message, starting with the newer half."""
    suffixes = ["", "_classic"][: len(halves)]
    for half, suffix, older in zip(reversed(halves), suffixes, [*suffixes[1:], ""], strict=True):
        names = Locals(_untagged(half.root, classes))
        reader = Reader(classes, names)
        read = reader.message(half.root, "message")
        yield DefineHalf(
            suffix=suffix,
            older=older,
            is_only=len(halves) == 1,
            cls=classes[half.message.name].name,
            versions=VersionRange.covering(half.versions),
            declarations=reader.declarations,
            read=read,
            write=Writer(classes, names).message(half.root, "self"),
        )


def _untagged(struct: StructCoding, classes: Mapping[str, ClassView]) -> Iterator[str]:
    """Yield the paths of all fields that become local variables when the struct is inlined."""
    view = classes[struct.struct.name]
    for one in struct.fields:
        if view.fields[one.field.name].is_read:
            yield one.path
            yield from _inlined(one.untagged, classes)


def _inlined(runs: Iterable[Run], classes: Mapping[str, ClassView]) -> Iterator[str]:
    for run in runs:
        if run.struct is not None:
            yield from _untagged(run.struct, classes)


def _headers(message: Message) -> dict[int, int]:
    """Return the header versions, keyed by the first message version that uses them."""
    versions = header_versions(message)
    return {run[0]: versions[run[0]] for run in runs_by(sorted(versions), versions.__getitem__)}
