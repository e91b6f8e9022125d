"""Every span of a parsed document is the text of what it stands for."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend import Document, TypeExpr, parse
from kwirec.frontend.syntax import HeaderVersionsDecl, Node, Spanned
from kwirec.versions import VersionRange
from tests.support.kafka_releases import texts

DATA = Path(__file__).parents[1] / "data"

Part = Node | HeaderVersionsDecl | TypeExpr | Spanned[object]


def nodes(node: object) -> Iterator[Part]:
    """All nodes of a tree, whatever attribute they hang from."""
    if isinstance(node, tuple):
        for item in node:
            yield from nodes(item)
    elif dataclasses.is_dataclass(node) and not isinstance(node, Source | Span | VersionRange | type):
        if isinstance(node, Node | HeaderVersionsDecl | TypeExpr | Spanned):
            yield node
        for field in dataclasses.fields(node):
            yield from nodes(getattr(node, field.name))


def claimed(node: Part) -> object:
    """What the text of a node's span says, read by another JSON reader."""
    text = node.span.text
    if isinstance(node, Node):
        assert (text[0], text[-1]) == ("{", "}")
        name = node.name.span
        assert node.span.start < name.start < name.end < node.span.end
        return None
    if isinstance(node, HeaderVersionsDecl):
        assert json.loads(f"{{{text}}}") == {str(node.versions.value): str(node.header.value)}
        return None
    return json.loads(text) if not text.startswith("0x") else int(text, 16)


def check(document: Document) -> int:
    found = list(nodes((*document.messages, *document.enums)))
    for node in found:
        value = claimed(node)
        if isinstance(node, TypeExpr):
            assert value == str(node)
            assert node.name_span.text == node.name
        elif isinstance(node, Spanned) and isinstance(node.value, VersionRange):
            assert VersionRange.parse(str(value)) == node.value
        elif isinstance(node, Spanned):
            assert str(value).lower() == str(node.value).lower()
    return len(found)


def sources() -> list[Source]:
    paths = sorted((DATA / "clockwork").iterdir())
    found = read_sources(paths, Report())
    oldest, *_, newest = texts()
    return found + [Source(f"{release}.jsonl", texts()[release]) for release in (oldest, "2.8.2", newest)]


@pytest.mark.parametrize("source", sources(), ids=lambda source: source.stem if "/" in source.name else source.name)
def test_every_span_is_the_text_of_its_node(source: Source) -> None:
    report = Report()
    document = parse(source, report)
    assert report.diagnostics == []
    assert check(document) > (len(document.messages) + len(document.enums)) * 3
