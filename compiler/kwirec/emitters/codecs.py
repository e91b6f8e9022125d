"""Messages → the text of codec modules: classes, and for each half of a message a reader and a writer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kwirec.emitters.artifact import Artifact
from kwirec.emitters.codec_body import Body, is_tagged, tag_mode
from kwirec.emitters.codec_reader import Reader
from kwirec.emitters.codec_writer import Writer
from kwirec.emitters.environment import render
from kwirec.emitters.modules import ModuleGroup, class_names, origin_of
from kwirec.emitters.ranges import ALWAYS, condition
from kwirec.emitters.views import ClassView, docstring, field_view, range_literal
from kwirec.ir.schema import Message, Struct, StructType, base_type
from kwirec.lowering.headers import header_versions
from kwirec.naming import snake_case

LIBRT = (
    "read_f64_be",
    "read_i16_be",
    "read_i32_be",
    "read_i64_be",
    "write_f64_be",
    "write_i16_be",
    "write_i32_be",
    "write_i64_be",
)
WIRE = (
    "fail",
    "read_i16s",
    "read_i32s",
    "read_i64s",
    "read_i8s",
    "read_length",
    "read_string_length",
    "read_tag",
    "read_tags",
    "read_u16",
    "read_u32",
    "read_uuids",
    "read_uvarint",
    "write_i8",
    "write_string_length",
    "write_tags",
    "write_u16",
    "write_u32",
    "write_uuid",
    "write_uvarint",
)
UUIDS = ("Uuid", "ZERO_UUID")
BASES = ("EMPTY", "FieldTags", "Message", "Struct")


@dataclass(frozen=True, kw_only=True)
class TagView:
    number: int
    condition: str
    read: str
    target: str
    slot: str
    write: str
    write_condition: str


@dataclass(frozen=True, kw_only=True)
class TagsView:
    declarations: tuple[str, ...]
    fields: tuple[TagView, ...]


@dataclass(frozen=True, kw_only=True)
class MessageView:
    api_key: int | None
    valid: str
    deprecated: str
    header: str
    read: str
    write: str


@dataclass(frozen=True, kw_only=True)
class BodyView:
    """One half of a message, as two functions."""

    name: str
    class_: str
    declarations: tuple[str, ...]
    target: str
    read: str
    write: str


def emit_module(group: ModuleGroup) -> Artifact:
    """The text of one codec module."""
    names = class_names(group.messages)
    classes: list[ClassView] = []
    bodies: list[BodyView] = []
    for message in group.messages:
        views, halves = _message(message, names)
        classes += views
        bodies += halves
    body = render("codec/body.jinja", classes=classes, bodies=bodies)
    called = set(re.findall(r"(\w+)\(", body))
    named = set(re.findall(r"\w+", body))
    module = {
        "title": f"{' and '.join(message.name for message in group.messages)}: classes and codecs for every version.",
        "origin": origin_of(message.decl.span.source.name for message in group.messages),
        "librt": [name for name in LIBRT if name in called],
        "wire": [name for name in WIRE if name in called],
        "uuids": [name for name in UUIDS if name in named],
        "bases": [name for name in BASES if name in named],
        "body": body,
    }
    return Artifact(path=group.file, text=render("codec/module.jinja", module=module))


def _message(message: Message, names: dict[tuple[str, str], str]) -> tuple[list[ClassView], list[BodyView]]:
    own = {struct.name: names[message.name, struct.name] for struct in message.structs}
    used = [struct for struct in message.structs if message.usage[struct.name] or struct is message.root]
    views = {struct.name: _class(message, struct, own) for struct in used}
    flexible = [v for v in message.valid if v in message.flexible]
    classic = [v for v in message.valid if v not in message.flexible]
    views = {name: _with_tags(message, view, views, flexible) for name, view in views.items()}
    halves = [
        _body(Body(message, views, versions, is_flexible), own[message.name])
        for versions, is_flexible in ((classic, False), (flexible, True))
        if versions
    ]
    root = views[message.name]
    views[message.name] = replace(root, message=_message_view(message, root.name, classic, flexible))
    return [views[struct.name] for struct in _dependencies_first(message, used)], halves


def _dependencies_first(message: Message, structs: Sequence[Struct]) -> list[Struct]:
    """Structs before those that contain them: constructors mention classes as defaults."""
    ordered: list[Struct] = []

    def visit(struct: Struct) -> None:
        if struct in ordered:
            return
        for one in struct.fields:
            base = base_type(one.type)
            if isinstance(base, StructType):
                visit(message.struct(base.name))
        ordered.append(struct)

    for struct in structs:
        visit(struct)
    return [struct for struct in ordered if struct in structs]


def _class(message: Message, struct: Struct, names: dict[str, str]) -> ClassView:
    live = message.usage[struct.name]
    fields = tuple(
        field_view(message, struct, one, names)
        for one in struct.fields
        if any(v in one.versions for v in live) or not message.valid
    )
    if struct is message.root:
        versions = f"Versions {message.valid}, flexible {message.flexible}."
        doc = docstring(struct.doc or message.doc, notes=(versions,))
    else:
        doc = docstring(struct.doc or f"One entry of {message.name}.")
    return ClassView(
        struct=struct,
        name=names[struct.name],
        doc=doc,
        fields=fields,
        made_from=tuple(view for view in fields if not view.tagged_only or view.sentinel),
        constants=tuple(f"{view.sentinel} = {view.value}" for view in fields if view.sentinel),
        slots=(*(view.slot for view in fields), "unknown_tags"),
        flexible=range_literal(message.flexible.intersect(message.valid)),
    )


def _with_tags(message: Message, view: ClassView, views: dict[str, ClassView], flexible: Sequence[int]) -> ClassView:
    used = [v for v in flexible if v in message.usage[view.struct.name]]
    body = Body(message, views, used, True)
    if not used or tag_mode(body, view.struct) != "known":
        return view
    writing = Body(message, views, used, True)
    reader, writer = Reader(body), Writer(writing)
    fields = []
    tagged_fields = (one for one in view.fields if is_tagged(body, one.field))
    for number, one in enumerate(sorted(tagged_fields, key=lambda one: one.field.tag or 0)):
        tagged = [v for v in used if v in one.field.tagged and v in one.field.versions]
        test = condition(tagged, used)
        differs = one.differs("self")
        target = f"{one.name}_value"
        fields.append(
            TagView(
                number=one.field.tag or 0,
                condition="" if test == ALWAYS else test,
                read=reader.tagged(one, target, used),
                target=target,
                slot=one.slot,
                write=writer.tagged(one, "self", 1000 + number, used),
                write_condition=differs if test == ALWAYS else f"{test} and {differs}",
            )
        )
    declarations = tuple(f"{name}: {type_}" for name, type_ in body.declarations.items())
    return replace(view, tags=TagsView(declarations=declarations, fields=tuple(fields)))


def _body(body: Body, class_name: str) -> BodyView:
    read = Reader(body).message("message")
    declarations = tuple(f"{name}: {type_}" for name, type_ in body.declarations.items())
    writing = Body(body.message, body.classes, body.versions, body.flexible)
    return BodyView(
        name=_half(body.message, flexible=body.flexible),
        class_=class_name,
        declarations=declarations,
        target="message",
        read=read,
        write=Writer(writing).message("message"),
    )


def _half(message: Message, *, flexible: bool) -> str:
    return f"{snake_case(message.name)}_{'flexible' if flexible else 'classic'}"


def _message_view(message: Message, name: str, classic: Sequence[int], flexible: Sequence[int]) -> MessageView:
    names = [(_half(message, flexible=False), classic), (_half(message, flexible=True), flexible)]
    present = [(half, versions) for half, versions in names if versions]
    read, write = [], []
    for half, versions in reversed(present):
        test = f"if {versions[0]} <= version <= {versions[-1]}:\n    "
        read.append(f"{test}return read_{half}(data, pos, version)")
        write.append(f"{test}return write_{half}(out, self, version)")
    read.append("fail()")
    write.append("fail()")
    return MessageView(
        api_key=message.api_key,
        valid=range_literal(message.valid),
        deprecated=range_literal(message.deprecated.intersect(message.valid)),
        header=_header(message),
        read="\n".join(read),
        write="\n".join(write),
    )


def _header(message: Message) -> str:
    """The body of ``header_version``: a chain of tests, or an error for what never has a header."""
    versions = header_versions(message)
    if not versions:
        return 'raise LookupError(f"{cls.__name__} has no header")'
    ordered = sorted(versions)
    numbers = sorted(set(versions.values()))
    lines = []
    for number in numbers[:-1]:
        test = condition([v for v in ordered if versions[v] == number], ordered)
        lines.append(f"if {test}:\n    return {number}")
    return "\n".join([*lines, f"return {numbers[-1]}"])
