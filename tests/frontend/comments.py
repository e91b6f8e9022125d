"""Comments at random places of definitions, and which node of the syntax tree has which."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.frontend.json_lexer import tokenize
from kwirec.frontend.json_writer import json_definition
from kwirec.frontend.krammar_writer import krammar_text
from kwirec.frontend.syntax import Document, Node
from tests.properties.test_any_schema import definitions

Comments = dict[str, list[str]]
"""The texts of the comments of each node, by its path."""


def comments_of(document: Document) -> Comments:
    """What each node of a document has, in alphabetical order; that before a definition is a comment of it, too."""
    found: Comments = {}
    for definition in document.definitions:
        _collect(definition, "", found)
        before = [
            re.sub(r"^(//|/\*)\s*|\s*\*/$", "", line.strip()).strip() for line in definition.comment.splitlines()
        ]
        found[definition.name.value] += [text for text in before if text]
    return {path: sorted(texts) for path, texts in found.items() if texts}


def _collect(node: Node, prefix: str, found: Comments) -> None:
    path = f"{prefix}{node.name.value}"
    lines = [line for comment in node.comments for line in comment.text.split("\n")]
    found.setdefault(path, []).extend(lines)
    for name in ("fields", "common_structs", "values"):
        for child in getattr(node, name, None) or ():
            _collect(child, f"{path}.", found)


def texts() -> Iterator[str]:
    """Texts of comments, all different."""
    number = 0
    while True:
        yield f'note {number}: {{ }} [ ] , " // é'
        number += 1


@st.composite
def commented_json(draw: st.DrawFn) -> tuple[str, int]:
    """A definition in JSON in some layout, with comments between its tokens, and how many of them."""
    text = json.dumps(draw(definitions()), indent=draw(st.sampled_from([None, 1, 3])))
    tokens = list(tokenize(Source("x.json", text), Report(), []))
    places = draw(st.lists(st.sampled_from([token.start for token in tokens]), max_size=8))
    numbered = texts()
    for place in sorted(places, reverse=True):
        note = next(numbered)
        written = draw(st.sampled_from([f"// {note}\n", f"\n  //{note}  \n", f"/* {note} */", f"\n/* {note} */\n"]))
        text = text[:place] + written + "\n" * (not place) + text[place:]
    return text, len(places)


@st.composite
def commented_krammar(draw: st.DrawFn) -> tuple[str, int]:
    """A definition in the indentation notation, with comments that describe nothing, and how many of them."""
    (definition,) = parse(Source("x.json", json.dumps(draw(definitions()))), Report()).definitions
    lines = krammar_text([definition], Report()).splitlines()
    places = draw(st.lists(st.integers(0, len(lines)), max_size=8))
    numbered = texts()
    for place in sorted(places, reverse=True):
        lines.insert(place, _remark(lines, place, next(numbered)))
    return "\n".join(lines) + "\n", len(places)


def _remark(lines: Sequence[str], place: int, note: str) -> str:
    """Comments at the margin end a struct: within one, they are indented."""
    heads = [number for number, line in enumerate(lines) if "=>" in line and not line.startswith((" ", "//"))]
    inside = any(number < place for number in heads)
    return f"{'  ' if inside else ''}//# {note}"


def read(name: str, text: str) -> Document:
    """The document of a file without any finding."""
    report = Report()
    document = parse(Source(name, text), report)
    assert [one.message for one in report.diagnostics] == []
    return document


def written(document: Document, notation: str) -> str:
    """The only definition of a document, in one of the notations."""
    report = Report()
    (definition,) = document.definitions
    text = json_definition(definition) if notation == "json" else krammar_text([definition], report)
    assert not report.diagnostics
    return text


def total(comments: Comments) -> int:
    return sum(map(len, comments.values()))
