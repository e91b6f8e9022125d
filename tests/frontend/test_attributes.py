"""The table of attributes: each row is read and written in both notations, and ``docs/definitions.md`` has it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.examples import field, request
from kwirec.frontend.syntax import (
    ATTRIBUTES,
    Attribute,
    FieldDecl,
    HeaderVersionsDecl,
    MessageDecl,
    Spanned,
    StructDecl,
)
from kwirec.versions import VersionRange
from tests.frontend.test_convert import parsed, there, there_and_back

PAGE = Path(__file__).parents[2] / "docs" / "definitions.md"
PLACES = {MessageDecl: "Messages", FieldDecl: "Fields"}
ROWS = [(node, key, row) for node in PLACES for key, row in ATTRIBUTES[node].items()]
WORDS = [(node, key, row) for node, key, row in ROWS if row.word is not None]
VALUES: dict[object, Any] = {
    Spanned[bool]: True,
    Spanned[int]: 7,
    Spanned[str]: "two words",
    Spanned[VersionRange]: "1",
    tuple[Spanned[str], ...]: ["One", "two words"],
    tuple[HeaderVersionsDecl, ...]: {"0-1": "1", "2": "2"},
}
AROUND: dict[str, dict[str, Any]] = {"tag": {"taggedVersions": "1+"}, "taggedVersions": {"tag": 0}}
"""What an attribute cannot be without."""


def word_of(row: Attribute) -> list[str]:
    """The words that an attribute has, without their values."""
    assert row.word is not None
    return [*row.word.values] or [row.word.name]


def id_of(value: object) -> str:
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(("node", "key", "row"), WORDS, ids=id_of)
def test_a_row_is_read_and_written_in_both_notations(node: type, key: str, row: Attribute) -> None:
    assert row.word is not None
    for value, word in zip([*row.word.values.values()] or [VALUES[row.type]], word_of(row), strict=True):
        attribute = {key: value} | AROUND.get(key, {})
        text = request(
            field("A", **(attribute if node is FieldDecl else {})), **(attribute if node is MessageDecl else {})
        )
        files = {"ClockRequest.json": text}
        [written] = there(parsed(files)).values()
        assert re.search(rf"(=>|//|,) {word}\b", written), written
        [back] = there_and_back(files).values()
        assert json.loads(back) == json.loads(text)


def documented(title: str) -> dict[str, str]:
    """The attributes that a table of the page has, with its cell for the indentation notation."""
    [section] = re.findall(rf"^## {title}\b.*?(?=^## )", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    lines = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name: cells[1] for cells in lines for name in re.findall(r"`(\w+)`", cells[0])}


@pytest.mark.parametrize("node", PLACES)
def test_the_page_has_a_row_for_each_attribute_and_no_other(node: type) -> None:
    assert documented(PLACES[node]).keys() == ATTRIBUTES[node].keys()


@pytest.mark.parametrize(("node", "key", "row"), WORDS, ids=id_of)
def test_the_page_has_each_word_and_says_whether_franz_go_knows_it(node: type, key: str, row: Attribute) -> None:
    assert row.word is not None
    shown = re.findall(r"`([^`]*)`( \+)?", documented(PLACES[node])[key])
    for word in word_of(row):
        marks = [mark for text, mark in shown if re.search(rf"(^|[ ,]){word}\b", text)]
        assert ("" in marks) == row.word.franz_go, marks
        assert marks


def test_structs_of_several_fields_have_the_attributes_that_the_page_names() -> None:
    [cells] = [line for line in PAGE.read_text().splitlines() if line.startswith("| `commonStructs`")]
    assert re.findall(r"`(\w+)`", cells)[-len(ATTRIBUTES[StructDecl]) :] == [*ATTRIBUTES[StructDecl]]
