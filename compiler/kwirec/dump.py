"""Dumps any compiler stage as stable text, for ``kwirec dump --stage syntax|schema|layout`` and for tests.

The text contains everything in a stage that later passes use, and nothing that varies between runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import (
    ATTRIBUTES,
    NOUNS,
    Document,
    EnumDecl,
    EnumValueDecl,
    FieldDecl,
    HeaderVersionsDecl,
    MessageDecl,
    Node,
    Spanned,
    StructDecl,
    TypeExpr,
)
from kwirec.ir.literals import default_literal
from kwirec.ir.schema import Enum, Message, Schema, Struct
from kwirec.json_text import json_line
from kwirec.lowering.layout import MessageLayout, describe
from kwirec.lowering.lowering import Layouts
from kwirec.versions import VersionRange


def dump_syntax(documents: Iterable[Document]) -> str:
    """Return the syntax trees as text, one attribute per line in source order, preceded by its line and column."""
    return _text(line for document in documents for line in _document(document))


def dump_schema(schema: Schema) -> str:
    """Return all messages with their structs and fields as text, followed by the enums.

    Types are resolved, ranges are as declared, and defaults are typed.
    """
    lines = [line for message in schema.messages for line in _message(message)]
    return _text([*lines, *(line for enum in schema.enums for line in _enum(enum))])


def dump_layouts(schema: Schema, layouts: Layouts) -> str:
    """Return each message with its distinct layouts as text. Versions and a fingerprint precede each layout."""
    return _text(line for message in schema.messages for line in _layouts(message, layouts.by_message[message.name]))


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


# Syntax


_Line = tuple[Span, int, str]


def _document(document: Document) -> Iterator[str]:
    yield document.source.name
    roots: tuple[MessageDecl | EnumDecl, ...] = (*document.messages, *document.enums)
    for root in roots:
        for comment in root.comment.splitlines():
            yield f"{'':>9} {comment}"
        head, *inner = _node(root, 0)  # a response gets its key and versions from the request above it
        for span, depth, text in [head, *sorted(inner, key=lambda line: (line[0].start, line[1]))]:
            line, column = span.source.line_and_column(span.start)
            yield f"{f'{line}:{column}':>9} {'  ' * depth}{text}"


def _node(node: Node, depth: int) -> Iterator[_Line]:
    module = f" of {node.module}" if isinstance(node, MessageDecl) and node.module else ""
    yield node.span, depth, f"{NOUNS[type(node)]} {node.name.value}{module}"
    for comment in node.comments:
        yield comment.span, depth + 1, f"comment {json_line(comment.text)}"
    for name, attribute in ATTRIBUTES[type(node)].items():
        value = getattr(node, attribute.name)
        for item in value if isinstance(value, tuple) else [value]:
            match item:
                case Spanned(written, span):
                    shown = str(written) if isinstance(written, VersionRange) else json_line(written)
                    yield span, depth + 1, f"{name} = {shown}"
                case TypeExpr():
                    yield item.span, depth + 1, f"{name} = {item}"
                case HeaderVersionsDecl():
                    yield item.span, depth + 1, f"{name} {item.versions.value} = {item.header.value}"
                case StructDecl() | FieldDecl() | EnumValueDecl():
                    yield from _node(item, depth + 1)


# Schema


def _message(message: Message) -> Iterator[str]:
    key = "" if message.api_key is None else f" key={message.api_key}"
    facts = _facts(
        deprecated=message.deprecated,
        unstable=message.latest_unstable,
        headers=tuple(f"{versions}:{number}" for versions, number in message.headers),
        listeners=message.listeners,
        aliases=message.aliases,
    )
    ranges = f"valid={message.valid} flexible={message.flexible}"
    yield f"message {message.name}  {' '.join([message.kind.value + key, ranges, *facts])}"
    for struct in message.structs:
        if struct is not message.root:
            yield f"  {'common struct' if struct.common else 'struct'} {struct.name}  versions={struct.versions}"
        yield from _fields(struct)


def _enum(enum: Enum) -> Iterator[str]:
    yield f"enum {enum.name}  {enum.type}"
    yield from (f"    {one.name} = {one.value}" for one in enum.values)


def _fields(struct: Struct) -> Iterator[str]:
    names = max((len(field.name) for field in struct.fields), default=0)
    types = max((len(str(field.type)) for field in struct.fields), default=0)
    for field in struct.fields:
        facts = _facts(
            nullable=field.nullable,
            tagged=field.tagged,
            tag=None if field.tag is None else str(field.tag),
            flexible=None if field.flexible is None else str(field.flexible),
            default=json_line(field.default) if isinstance(field.default, str) else default_literal(field.default),
            enum=field.enum and field.enum.name,
            ignorable=field.ignorable,
            mapKey=field.map_key,
            zeroCopy=field.zero_copy,
            entityType=field.entity_type,
            aliases=field.aliases,
            since=field.since,
        )
        line = [f"{field.name:<{names}} ", f"{field.type!s:<{types}} ", f"versions={field.versions}", *facts]
        yield f"    {' '.join(line)}"


def _facts(**facts: object) -> Iterator[str]:
    """Yield attributes that have a value, and the names of flags that are set."""
    for name, value in facts.items():
        if value:
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            yield name if value is True else f"{name}={text}"


# Layouts


def _layouts(message: Message, by_version: Mapping[int, MessageLayout]) -> Iterator[str]:
    versions: dict[MessageLayout, list[int]] = {}
    for version, layout in sorted(by_version.items()):
        versions.setdefault(layout, []).append(version)
    if not versions:
        yield f"{message.name} none"
    for layout, having in versions.items():
        yield f"{message.name} v{','.join(map(str, VersionRange.runs(having)))} {layout.fingerprint}"
        yield from describe(layout.body)
