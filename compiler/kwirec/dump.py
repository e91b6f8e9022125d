"""Any stage of the compiler as stable text, for ``kwirec dump --stage syntax|schema|layout`` and for tests.

Takes what a pass gives and returns lines that say everything later passes see of it, and nothing that changes
from run to run. One fact more in a stage is one line more here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import Document, FieldDecl, MessageDecl, Spanned, StructDecl
from kwirec.ir.literals import default_literal
from kwirec.ir.schema import Default, Field, Implicit, Message, Schema, Struct
from kwirec.lowering.layout import MessageLayout, describe
from kwirec.lowering.lowering import Layouts
from kwirec.versions import VersionRange


def dump_syntax(documents: Iterable[Document]) -> str:
    """The trees as written: an attribute a line, in the order of the text, each behind its line and column."""
    return _text(line for document in documents for line in _document(document))


def dump_schema(schema: Schema) -> str:
    """Every message with its structs and fields: types resolved, ranges as declared, defaults typed."""
    return _text(line for message in schema.messages for line in _message(message))


def dump_layouts(schema: Schema, layouts: Layouts) -> str:
    """Every message with its layouts, each once, behind the versions that have it and its fingerprint."""
    return _text(line for message in schema.messages for line in _layouts(message, layouts.by_message[message.name]))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# Syntax


_Line = tuple[Span, int, str]


def _document(document: Document) -> Iterator[str]:
    yield document.source.name
    for message in document.messages:
        for comment in message.comment.splitlines():
            yield f"{'':>9} {comment}"
        for span, depth, text in sorted(_message_decl(message), key=lambda line: (line[0].start, line[1])):
            line, column = span.source.line_and_column(span.start)
            yield f"{f'{line}:{column}':>9} {'  ' * depth}{text}"


def _message_decl(decl: MessageDecl) -> Iterator[_Line]:
    origin = f" of {decl.module}" if decl.module else ""
    yield decl.span, 0, f"message {decl.name.value}{origin}"
    yield from _attributes(
        1,
        name=decl.name,
        type=decl.type,
        apiKey=decl.api_key,
        validVersions=decl.valid_versions,
        flexibleVersions=decl.flexible_versions,
        deprecatedVersions=decl.deprecated_versions,
        latestVersionUnstable=decl.latest_version_unstable,
        about=decl.about,
    )
    yield from _each(1, listeners=decl.listeners, aliases=decl.aliases)
    for field in decl.fields or ():
        yield from _field_decl(field, 1)
    for struct in decl.common_structs:
        yield from _struct_decl(struct)


def _struct_decl(decl: StructDecl) -> Iterator[_Line]:
    yield decl.span, 1, f"struct {decl.name.value}"
    yield from _attributes(2, name=decl.name, versions=decl.versions, about=decl.about)
    for field in decl.fields:
        yield from _field_decl(field, 2)


def _field_decl(decl: FieldDecl, depth: int) -> Iterator[_Line]:
    yield decl.span, depth, f"field {decl.name.value}"
    yield decl.type.span, depth + 1, f"type = {decl.type}"
    yield from _attributes(
        depth + 1,
        name=decl.name,
        versions=decl.versions,
        nullableVersions=decl.nullable_versions,
        taggedVersions=decl.tagged_versions,
        tag=decl.tag,
        flexibleVersions=decl.flexible_versions,
        default=decl.default,
        ignorable=decl.ignorable,
        entityType=decl.entity_type,
        mapKey=decl.map_key,
        zeroCopy=decl.zero_copy,
        about=decl.about,
        structAbout=decl.struct_about,
        since=decl.since,
    )
    yield from _each(depth + 1, aliases=decl.aliases)
    for field in decl.fields or ():
        yield from _field_decl(field, depth + 1)


def _attributes(depth: int, **attributes: Spanned[Any] | None) -> Iterator[_Line]:
    for name, written in attributes.items():
        if written is not None:
            value = written.value
            shown = str(value) if isinstance(value, VersionRange) else json.dumps(value, ensure_ascii=False)
            yield written.span, depth, f"{name} = {shown}"


def _each(depth: int, **attributes: tuple[Spanned[str], ...] | None) -> Iterator[_Line]:
    for name, items in attributes.items():
        for item in items or ():
            yield from _attributes(depth, **{name: item})


# Schema


def _message(message: Message) -> Iterator[str]:
    facts = [message.kind.value]
    if message.api_key is not None:
        facts.append(f"key={message.api_key}")
    facts += [f"valid={message.valid}", f"flexible={message.flexible}"]
    if message.deprecated:
        facts.append(f"deprecated={message.deprecated}")
    facts += ["unstable"] if message.latest_unstable else []
    facts += [f"{name}={','.join(items)}" for name, items in _lists(message) if items]
    yield f"message {message.name}  {' '.join(facts)}"
    for struct in message.structs:
        if struct is not message.root:
            yield f"  {'common struct' if struct.common else 'struct'} {struct.name}  versions={struct.versions}"
        yield from _fields(struct)


def _lists(message: Message) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ("listeners", message.listeners), ("aliases", message.aliases)


def _fields(struct: Struct) -> Iterator[str]:
    names = max((len(one.name) for one in struct.fields), default=0)
    types = max((len(str(one.type)) for one in struct.fields), default=0)
    for one in struct.fields:
        yield f"    {one.name:<{names}}  {one.type!s:<{types}}  {' '.join(_facts(one))}"


def _facts(one: Field) -> Iterator[str]:
    yield f"versions={one.versions}"
    if one.nullable:
        yield f"nullable={one.nullable}"
    if one.tagged:
        yield f"tagged={one.tagged}"
    if one.tag is not None:
        yield f"tag={one.tag}"
    if one.flexible is not None:
        yield f"flexible={one.flexible}"
    if not isinstance(one.default, Implicit):
        yield f"default={_default(one.default)}"
    for name, flag in (("ignorable", one.ignorable), ("mapKey", one.map_key), ("zeroCopy", one.zero_copy)):
        if flag:
            yield name
    if one.entity_type is not None:
        yield f"entityType={one.entity_type}"
    if one.aliases:
        yield f"aliases={','.join(one.aliases)}"
    if one.since is not None:
        yield f"since={one.since}"


def _default(value: Default) -> str | None:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else default_literal(value)


# Layouts


def _layouts(message: Message, by_version: Mapping[int, MessageLayout]) -> Iterator[str]:
    versions: dict[MessageLayout, list[int]] = {}
    for version, layout in sorted(by_version.items()):
        versions.setdefault(layout, []).append(version)
    if not versions:
        yield f"{message.name} none"
    for layout, having in versions.items():
        yield f"{message.name} v{','.join(map(str, VersionRange.runs(having)))} {layout.fingerprint}"
        yield from describe(layout)
