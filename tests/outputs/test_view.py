"""The view: what it says of fields, versions and layouts, as values and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from kwirec import Report, load
from kwirec.command import main
from kwirec.diagnostics.examples import clock, field
from kwirec.diagnostics.source import Source
from kwirec.emitters.compat import history_of
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.merge.history import History
from kwirec.view import view_of
from kwirec.view.data import data_of, json_schema, json_schema_text
from tests.outputs.conftest import CLOCKWORK
from tests.properties.test_any_schema import definitions
from tests.support.effort import examples
from tests.view_reference import page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def closed(schema: Any) -> Any:
    """The JSON Schema without room for keys that it does not describe."""
    if isinstance(schema, dict):
        extra = {"additionalProperties": False} if "properties" in schema else {}
        return {key: closed(value) for key, value in schema.items()} | extra
    return [closed(item) for item in schema] if isinstance(schema, list) else schema


VALIDATOR = Draft202012Validator(closed(json_schema()))


def test_the_pages_are_up_to_date() -> None:
    """``make docs`` writes them."""
    assert (DOCS / "view.md").read_text() == page()
    assert (DOCS / "view.schema.json").read_text() == json_schema_text()


def test_the_json_schema_is_one() -> None:
    Draft202012Validator.check_schema(json_schema())


def test_a_small_protocol_as_json(snapshot: SnapshotAssertion) -> None:
    result = CliRunner().invoke(main, ["dump", "--format", "json", "--message", "WindingKey", str(CLOCKWORK)])
    assert json.loads(result.stdout) == snapshot


def test_json_of_definitions_with_errors_is_their_findings(tmp_path: Path) -> None:
    (tmp_path / "Clock.json").write_text('{"type": "data"}')
    result = CliRunner().invoke(main, ["dump", "--format", "json", str(tmp_path)])
    assert result.exit_code == 1
    assert {json.loads(line)["severity"] for line in result.stdout.splitlines()} == {"error"}


@pytest.mark.parametrize("folder", [CLOCKWORK, pytest.param(ROOT / "message_defs/kafka", marks=pytest.mark.long)])
def test_json_of_whole_protocols_is_valid(folder: Path) -> None:
    loaded = load([folder], Report())
    data = json.loads(json.dumps(data_of(view_of(loaded.schema, loaded.errors, history_of([folder])))))
    assert [problem.message for problem in VALIDATOR.iter_errors(data)] == []


@examples(0.2)
@given(definition=definitions())
def test_json_of_any_definition_is_valid_and_complete(definition: dict[str, Any]) -> None:
    """Each version has the fields of the definition, once, in a layout that says it has the version."""
    report = Report()
    schema = resolve([parse(Source("Drawn.json", json.dumps(definition)), report)], report)
    data = json.loads(json.dumps(data_of(view_of(schema, (), History()))))
    VALIDATOR.validate(data)
    (message,) = data["messages"]
    layouts = message["layouts"]
    for version in message["versions"]:
        number, layout = version["number"], layouts[version["layout"]]
        assert any(low <= number <= high for low, high in layout["versions"])
        having = [one["name"] for one in definition["fields"] if has(one["versions"], number)]
        assert sorted(one["name"] for one in layout["body"]["fields"]) == sorted(having)


def has(versions: str, number: int) -> bool:
    low, _, high = versions.replace("+", "-99").partition("-")
    return int(low) <= number <= int(high or low)


def test_versions_of_equal_bytes_keep_their_names() -> None:
    """Version 1 has another field of the same type: the fingerprint is the same, and the fields are not."""
    fields = [field("Zone", "int32", versions="0"), field("Offset", "int32", versions="1+")]
    schema = resolve([parse(Source("Clock.json", clock(*fields, flexibleVersions="none")), Report())], Report())
    (message,) = view_of(schema, (), History()).messages
    assert [(str(one.versions), [str(part) for part in one.fields]) for one in message.layouts] == [
        ("0", ["Zone"]),
        ("1-2", ["Offset"]),
    ]
    assert len({one.fingerprint for one in message.layouts}) == 1
