"""``kwirec schema``: editors accept what the parser accepts, and refuse what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from kwirec import catalogue
from kwirec.command import main
from kwirec.diagnostics.diagnostic import Diagnostic, Report
from kwirec.diagnostics.examples import ANOTHER_FILE, clock, enum, field, request, struct, value
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.frontend.json_lexer import Kind, tokenize
from kwirec.frontend.syntax import ATTRIBUTES, ErrorDecl
from kwirec.ir import resolve
from kwirec.json_schema import ABOUT, definitions_schema

ROOT = Path(__file__).parents[2]
VALIDATOR = jsonschema.Draft7Validator(definitions_schema())
FOLDERS = ("message_defs/kafka", "tests/data/definitions", "tests/data/clockwork")


def plain(text: str) -> Any:
    """The value of JSON without its comments and with plain numbers."""
    tokens = tokenize(Source("", text), Report(), [])
    return json.loads(" ".join(str(one.value) if one.kind is Kind.NUMBER else one.text for one in tokens))


def findings(text: str) -> list[Diagnostic]:
    report = Report()
    resolve([parse(Source("Clock.json", text), report)], report)
    return [one for one in report.diagnostics if one.code.number < "K1"]


def test_it_is_a_schema_and_the_command_prints_it() -> None:
    jsonschema.Draft7Validator.check_schema(definitions_schema())
    assert json.loads(CliRunner().invoke(main, ["schema"]).stdout) == definitions_schema()


def test_each_attribute_has_a_description() -> None:
    assert {node: [*rows] for node, rows in ATTRIBUTES.items() if node is not ErrorDecl} == {
        node: [key for key in ATTRIBUTES[node] if key in texts] for node, texts in ABOUT.items()
    }
    assert all(text.endswith(".") for texts in ABOUT.values() for text in texts.values())


@pytest.mark.slow
def test_all_definitions_are_valid() -> None:
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.json"))]
    texts = [path.read_text() for path in paths]
    texts += [one for code in catalogue.CODES for one in code.corrected.split(ANOTHER_FILE) if one.startswith('{ "')]
    texts = [text for text in texts if "ersions" in text and not findings(text)]
    assert len(texts) > 300
    found = [(text[:200], error.message) for text in texts for error in VALIDATOR.iter_errors(plain(text))]
    assert found == []


VALUES: list[Any] = [
    None,
    True,
    1,
    -1,
    1.5,
    "",
    "x",
    "0+",
    "1-2",
    "none",
    " 3 ",
    "true",
    "0x1F",
    "[]Zone",
    [],
    ["x"],
    [1],
]
VALUES += [{}, {"0+": 1}, {"0+": "x"}, {"x": 1}, [[]], "int8", "[]", "request", "enum", [None]]
LISTED = {"type": "request response header data metadata coordinator-key coordinator-value enum", "sentTo": ""}
LISTED["valueType"] = "int8 int16 uint16 int32 uint32 int64"
WHOLE = {
    "message": request(
        field("Zone", "Zone", fields=[field("Name", tag=0, taggedVersions="0+")]),
        commonStructs=[struct("Time", field("Millis", "int64"))],
        headerVersions={"0+": 1},
    ),
    "enum": enum(value("NEW", 0)),
}


def nodes(definition: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """The objects of a definition that have attributes, with their kinds."""
    yield definition, "enum" if definition["type"] == "enum" else "message"
    for name in ("fields", "commonStructs", "values"):
        for item in definition.get(name, ()):
            yield item, {"fields": "field", "commonStructs": "struct", "values": "enumValue"}[name]
            for inner in item.get("fields", ()):
                yield inner, "field"


@pytest.mark.long
@pytest.mark.parametrize("kind", WHOLE)
def test_wrong_attributes_and_values_are_refused_as_by_the_parser(kind: str) -> None:
    text, tried, refused = WHOLE[kind], 0, 0
    for number in range(len([*nodes(json.loads(text))])):
        _, name = [*nodes(json.loads(text))][number]
        for key in [*definitions_schema()["definitions"][name]["properties"], "unknown"]:
            for new in [*VALUES, ...]:
                definition = json.loads(text)
                node, _ = [*nodes(definition)][number]
                node.pop(key, None)
                node |= {} if new is ... else {key: new}
                if name in ("message", "enum") and key == "type" and (new == "enum") != (name == "enum"):
                    continue  # another kind of definition
                wrong = bool(findings(json.dumps(definition)))
                is_listed = key in LISTED and (name, key) != ("field", "type") and new is not ...
                wrong = wrong or (is_listed and str(new) not in LISTED[key].split())
                assert VALIDATOR.is_valid(definition) is not wrong, (name, key, new)
                tried, refused = tried + 1, refused + wrong
    assert (tried > 250, refused > tried / 3) == (True, True)


def test_definitions_without_versions_need_no_fields() -> None:
    reserved = json.loads(clock(validVersions="none"))
    del reserved["fields"]
    assert VALIDATOR.is_valid(reserved)
    assert not VALIDATOR.is_valid(reserved | {"validVersions": "0"})
