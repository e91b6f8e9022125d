"""Whatever a file holds, reading it ends, raises nothing, and says something about every file that is no good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.render import FORMATS, render
from kwirec.diagnostics.source import Source
from kwirec.frontend import Document, parse
from kwirec.ir import Schema, resolve
from tests.support.kafka_releases import texts

DATA = Path(__file__).parents[1] / "data"


def _definitions() -> list[str]:
    """Short definitions of all kinds: ours, with their comments, and some of Kafka's."""
    *_, newest = texts().values()
    kafka = newest.splitlines()
    ours = [path.read_text() for path in sorted((DATA / "clockwork").iterdir())]
    return ours + [line for line in kafka if len(line) < 600]


DEFINITIONS = _definitions()
TOKENS = ["{", "}", "[", "]", ":", ",", '"', "\\", "//", "/*", "*/", "\n", "null", "true", "-1", "0x", "1e9", "none",
          '"fields"', '"type"', '"versions"', '"default"', "[]", "\ud7ff", "\0", "é", "9" * 50]  # fmt: skip


def read(text: str, name: str) -> tuple[Document, Schema, Report]:
    report = Report()
    document = parse(Source(name, text), report)
    schema = resolve([document], report)
    for format in FORMATS:
        render(report.diagnostics, format).encode()
    return document, schema, report


@given(st.text() | st.lists(st.sampled_from(TOKENS)).map("".join), st.sampled_from(["a.json", "a.jsonl"]))
def test_any_text(text: str, name: str) -> None:
    document, _, report = read(text, name)
    assert document.messages or document.enums or report.diagnostics


@st.composite
def mutated_from(draw: Any, definitions: list[str], tokens: list[str]) -> str:
    """A good definition with a few places deleted, doubled or replaced."""
    text: str = draw(st.sampled_from(definitions))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 40])))
        text = text[:start] + draw(st.sampled_from([*tokens, "", text[start:end] * 2])) + text[end:]
    return text


@pytest.mark.slow
@given(mutated_from(DEFINITIONS, TOKENS), st.sampled_from(["a.json", "a.jsonl"]))
def test_damaged_definitions(text: str, name: str) -> None:
    document, _, report = read(text, name)
    assert document.messages or document.enums or report.diagnostics


@given(st.sampled_from(DEFINITIONS), st.data())
def test_a_definition_that_breaks_off_is_never_taken_for_whole(text: str, data: st.DataObject) -> None:
    text = text.rstrip()
    end = data.draw(st.integers(0, len(text) - 1))
    report = Report()
    parse(Source("a.json", text[:end]), report)
    assert report.has_errors()


@pytest.mark.slow
def test_numbers_beyond_all_bounds() -> None:
    digits = "9" * 10_000
    for value in (digits, f'"{digits}"', f"1e{digits}", f'"0x{digits}"', f"0.{digits}", "1e999999999"):
        field = f'"name": "A", "type": "int8", "versions": {value}, "tag": {value}, "default": {value}'
        for type_ in ("int8", "int64", "float64", "uuid", "string", "bool"):
            typed = field.replace('"int8"', f'"{type_}"').replace(f'"versions": {value}', '"versions": "0"')
            for one in (field, typed):
                text = f'{{ "type": "data", "name": "A", "validVersions": "0", "fields": [ {{ {one} }} ] }}'
                assert read(text, "a.json")[2].has_errors() or type_ == "string"


@pytest.mark.long
def test_many_mistakes_take_no_more_than_linear_time() -> None:
    _, _, report = read('{ "fields": [ ' + '{ "nam": 1 ' * 3000, "a.json")
    assert len(report.diagnostics) > 50
