"""A comment at every place of a small definition in turn: whose it is, and where both notations have it written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.formatting import format_bytes
from kwirec.frontend import link, parse
from kwirec.frontend.json_writer import json_definition
from kwirec.frontend.krammar_writer import krammar_text
from kwirec.frontend.notation import Notation
from kwirec.frontend.syntax import Document, Node
from tests.frontend.test_every_token import TOKENS

JSON = """\
{ "type": "data", "name": "Clock", "validVersions": "0",
  "fields": [
    { "name": "A", "type": "[]B", "versions": "0", "fields": [
      { "name": "C", "type": "int8", "versions": "0" } ] },
    { "name": "D", "type": "S", "versions": "0", "aliases": [ "X", "Y" ] } ],
  "commonStructs": [ { "name": "S", "versions": "0", "fields": [
      { "name": "E", "type": "int8", "versions": "0" } ] } ] }
"""

KRAMMAR = """\
Kind int8 (
  1: ONE
  2: TWO
)

S => not top level
  // Of E.
  E: int8

Clock => data, max version 0
  A: [=>]
    C: enum-Kind
  D: S

Later => data, max version 1
  F: S
"""

NOTE = "note"


def owners(document: Document) -> Iterator[str]:
    """The nodes that have the comment, with the attribute that it stands with, and the place before a definition."""
    for one in document.definitions:
        yield from (f"before {one.name.value}" for _ in range(one.comment.count(NOTE)))
        yield from _owners(one, one.name.value)
    yield from ("nothing" for _ in document.loose_comments)


def _owners(node: Node, path: str) -> Iterator[str]:
    for comment in node.comments:
        yield path + {None: "", "": " end"}.get(comment.attribute, f" {comment.attribute}")
    for described in ("about", "struct_about"):
        if NOTE in str(getattr(node, described, "")):
            yield f"{path} {described}"
    for name in ("fields", "common_structs", "values"):
        for child in getattr(node, name, None) or ():
            yield from _owners(child, f"{path}.{child.name.value}")


def outcomes(name: str, text: str) -> dict[str, str]:
    """What each writer makes of a text."""
    report = Report()
    (document,) = link([parse(Source(name, text), report)], report)
    notation: Notation = "json" if name.endswith("json") else "krammar"
    formatted = format_bytes(text.encode(), Report(), notation=notation)
    definitions = document.definitions
    return {
        "of": ", ".join(owners(document)) or "nobody",
        "fmt": formatted.text if formatted else "",
        "json": "".join(map(json_definition, definitions)),
        "krm": krammar_text(definitions, report),
        "franz-go": krammar_text(definitions, Report(), franz_go=True),
        "found": "\n".join(one.message for one in report.diagnostics),
    }


def rows(name: str, text: str, changed: str) -> Iterator[str]:
    """The owner of the comment, and the lines that each writer writes otherwise because of it."""
    plain, noted = outcomes(name, text), outcomes(name, changed)
    yield noted.pop("of")
    for writer, after in noted.items():
        old, new = plain[writer].split("\n"), after.split("\n")
        for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if kind != "equal":
                lines = " ⏎ ".join(line if len(line) < 50 else f"…{line[-40:]}" for line in new[start:end])
                yield f"    {writer} {start + 1}: {lines}".rstrip()


def json_places() -> Iterator[tuple[str, str]]:
    """Comments of one line and those in stars in turn, and some around everything."""
    for number, match in enumerate(TOKENS["json"].finditer(JSON, 1)):
        line, at = JSON.count("\n", 0, match.start()) + 1, match.start()
        comment = f"/* {NOTE} */ " if number % 2 else f"// {NOTE}\n"
        yield f"{line} {comment.strip()} {match[0]}", JSON[:at] + comment + JSON[at:]
    for before, after in (
        (f"// {NOTE}\n", ""),
        (f"// {NOTE}\n\n", ""),
        (f"/* {NOTE}\n * b */", ""),
        ("", f"// {NOTE}\n// {NOTE}"),
        (f"// {NOTE}\n", f"/* {NOTE} */"),
    ):
        yield f"{before}…{after}".replace("\n", "⏎"), before + JSON + after


def krammar_places() -> Iterator[tuple[str, str]]:
    lines = KRAMMAR.split("\n")
    for number, line in enumerate(lines):
        indents = {"", "  ", line[: len(line) - len(line.lstrip())]}
        for comment in (f"{indent}//{sign} {NOTE}" for indent in sorted(indents) for sign in ("", "#")):
            yield f"{number + 1} {comment}⏎{line}", "\n".join([*lines[:number], comment, *lines[number:]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "places"),
    [("Clock.json", JSON, json_places), ("Clock.krm", KRAMMAR, krammar_places)],
    ids=["json", "krm"],
)
def test_where_a_comment_at_each_place_goes(
    name: str, text: str, places: Callable[[], Iterator[tuple[str, str]]], snapshot: SnapshotAssertion
) -> None:
    found: dict[str, list[str]] = {}
    for place, changed in places():
        found.setdefault("\n".join(rows(name, text, changed)), []).append(place)
    assert "\n".join(f"{'; '.join(places)}: {said}" for said, places in found.items()) == snapshot
