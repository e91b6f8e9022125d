"""Every token of a small definition is missing, doubled or another in turn: what is found, and what is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.frontend import FieldDecl, parse
from kwirec.frontend.syntax import EnumDecl
from tests.support.findings import told

TOKENS = {
    "json": re.compile(r'"[^"]*"|[{}\[\]:,]|\w+'),
    "krm": re.compile(r'"[^"]*"|\n\n|\n +|//|=>|[^\W_]+|[\[\](),:+=-]'),
}

JSON = """\
{ "type": "data", "name": "Clock", "validVersions": "0-2", "flexibleVersions": "none", "fields": [
    { "name": "A", "type": "[]B", "versions": "0+", "fields": [ { "name": "C", "type": "int8", "versions": "1+" } ] },
    { "name": "D", "type": "bool", "versions": "0+", "default": true, "aliases": [ "X", "Y" ] } ] }
"""

KRAMMAR = """\
Kind int8 (
  1: ONE
  2: TWO
)

AskRequest => key 7, max version 2, flexible v1+
  A: [=>B]
    C: nullable-string("x") // v1+, ignorable
  D: enum-Kind(1)

AskResponse =>
  ThrottleMillis(2)
  E: int8
"""

OTHERS: Mapping[str, Mapping[str, str]] = {
    "json": {"{": "[", "}": "]", "[": "{", "]": "}", ":": ",", ",": ":", "true": "yes"},
    "krm": {"(": "[", "[": "(", "]": ")", ")": "]", ":": "=", ",": ".", "+": "-", "-": "+", "//": "/", "=>": "="},
}


def cases(text: str, notation: str) -> Iterator[tuple[str, str]]:
    """Each change in words, and the text with it. The first line of JSON, which is like those below it, stays."""
    for match in TOKENS[notation].finditer(text, text.index("\n") if notation == "json" else 0):
        token, line = match[0], text.count("\n", 0, match.start())
        before, after = text[: match.start()], text[match.end() :]
        changes = {"without": "", "twice": f"{token}{' ' * token.isalnum()}{token}"}
        for change, new in changes.items() if notation == "krm" or not token.startswith('"') else [("without", "")]:
            yield f"{line + 1} {change} {token}".replace("\n", "⏎"), before + new + after
        if other := OTHERS[notation].get(token):
            yield f"{line + 1} {other} for {token}", before + other + after


def names(fields: tuple[FieldDecl, ...] | None) -> str:
    """The names of fields with their types, and what is in them."""
    inner = (f"{one.name.value}:{one.type}{f'({names(one.fields)})' if one.fields else ''}" for one in fields or ())
    return " ".join(inner)


def outcome(name: str, text: str) -> tuple[str, dict[str, str]]:
    """What is found in a text, a line each, and what is read of it: the fields or values of each definition."""
    document = parse(Source(name, text), report := Report())
    read = {
        one.name.value: (
            " ".join(f"{value.name.value}={value.value.value}" for value in one.values)
            if isinstance(one, EnumDecl)
            else names(one.fields)
        )
        for one in document.definitions
    }
    return told(report.diagnostics), read


COMMENTED = """\
// Of Kind.
Kind int8 (
  // Of ONE.
  1: ONE
)

//# a note
AskRequest => key 7, max version 2
  A: =>
    // Of C.
    C: int8
  B: enum-Kind

// the end
"""
SPACES: Mapping[str, tuple[str, str]] = {
    "a space after": ("$", " "), "a tab after": ("$", "\t"), "Windows at": ("$", "\r"), "a space before": ("^", " "),
    "two spaces before": ("^", "  "), "a tab before": ("^", "\t"), "one space less before": ("^ ", ""),
    "two spaces less before": ("^  ", ""), "a tab for two spaces in": ("^  ", "\t"),
    "an empty line before": ("^", "\n"), "spaces on a line before": ("^", "  \n"),
    "nothing but a comment sign in": (".+", "//"),
}  # fmt: skip


def spacings() -> Iterator[tuple[str, str]]:
    """The text with other white space at each line, in words."""
    lines = COMMENTED.split("\n")
    for change, (pattern, new) in SPACES.items():
        for number, line in enumerate(lines):
            if re.search(pattern, line):
                changed = [*lines[:number], re.sub(pattern, new, line, count=1), *lines[number + 1 :]]
                yield f"{change} {number + 1}", "\n".join(changed)


@pytest.mark.parametrize(("notation", "text"), [("json", JSON), ("krm", KRAMMAR)], ids=["json", "krm"])
def test_what_is_said_about_each_token(notation: str, text: str, snapshot: SnapshotAssertion) -> None:
    """Below each change are its findings, and after an arrow what is read otherwise than without the change."""
    assert table(f"Clock.{notation}", text, cases(text, notation)) == snapshot


def test_what_is_said_about_white_space_at_each_line(snapshot: SnapshotAssertion) -> None:
    assert table("Clock.krm", COMMENTED, spacings()) == snapshot


def table(name: str, text: str, changes: Iterable[tuple[str, str]]) -> str:
    found, whole = outcome(name, text)
    assert found == ""
    rows: dict[str, list[str]] = {}
    for change, changed in changes:
        found, read = outcome(name, changed)
        lines = [*found.splitlines(), *(f"→ no {name}" for name in whole.keys() - read.keys())]
        lines += [f"→ {name} {inner}" for name, inner in read.items() if whole.get(name) != inner]
        rows.setdefault("".join(f"\n    {line}" for line in lines), []).append(change)
    return "\n".join("; ".join(changes) + said for said, changes in rows.items())
