"""Formats definitions in the indentation notation. Blocks, words and comments keep their order.

One space separates words, and an empty line separates blocks. A comment is indented like the line after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend.comment_text import tidy
from kwirec.frontend.krammar_lexer import COMMENT, INDENT, REMARK, Line
from kwirec.frontend.krammar_parser import Block, WrittenEnum, WrittenField, WrittenStruct, parse_blocks


def format_krammar(source: Source) -> str:
    """Return the formatted text of a file that was read without errors."""
    blocks = ["\n".join(_block(block)) for block in parse_blocks(source, Report())]
    return "\n\n".join(blocks) + "\n"


def _block(block: Block) -> Iterator[str]:
    yield from _comments(block.banner, 0)
    yield from _comments(block.comment, 0)
    yield from _struct(block) if isinstance(block, WrittenStruct) else _enum(block)
    if block.after:
        yield ""
        lines = list(_comments(block.after, 0))
        yield from lines if lines[-1] else lines[:-1]


def _struct(block: WrittenStruct) -> Iterator[str]:
    modifiers = ", ".join(modifier.value for modifier in block.modifiers)
    yield f"{block.name.value} => {modifiers}".rstrip(" ")
    yield from _fields(block.fields, 1)
    yield from _comments(block.trailing, 1)


def _fields(fields: Iterable[WrittenField], level: int) -> Iterator[str]:
    indent = INDENT * level
    for one in fields:
        yield from _comments(one.comment, level)
        head = f"{one.name.value}: {one.type.value}"
        if one.is_special:
            head = f"{one.name.value}({one.type.value})" if one.type.value else one.name.value
        items = ", ".join(item.value for item in one.items)
        yield f"{indent}{head} {COMMENT} {items}" if items else indent + head
        yield from _fields(one.fields, level + 1)


def _enum(block: WrittenEnum) -> Iterator[str]:
    yield f"{block.name.value} {block.type.value}{' camelcase' if block.is_camelcase else ''} ("
    for value in block.values:
        yield from _comments(value.comment, 1)
        yield f"{INDENT}{value.value.span.text}: {value.name.value}"
    yield from _comments(block.trailing, 1)
    yield ")"


def _comments(lines: Iterable[Line], level: int) -> Iterator[str]:
    return (f"{INDENT * level}{tidy(line.text, REMARK, COMMENT)}" if line.text else "" for line in lines)
