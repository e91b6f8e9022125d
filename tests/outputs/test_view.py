"""The view: what it says of fields, versions and layouts, as values and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from jsonschema import Draft202012Validator
from syrupy.assertion import SnapshotAssertion

from clockwork_wire import PROTOCOL
from kwire.struct import Struct
from kwirec import Report, load
from kwirec.command import main
from kwirec.diagnostics.examples import clock, field
from kwirec.diagnostics.source import Source
from kwirec.emitters.compat import history_of
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.merge.history import History
from kwirec.view import Selection, model, view_of
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


def test_a_layout_has_the_tags_of_its_own_versions() -> None:
    view = view_of(load([CLOCKWORK], Report()).schema, (), History())
    (message,) = (one for one in view.messages if one.name == "Escapement")
    tags = {
        number: one.tag
        for layout in message.layouts
        for number in layout.versions
        for one in layout.fields
        if one.name == "Lift"
    }
    assert tags == {2: None, 3: None, 4: None, 5: 4}


def test_the_view_says_what_the_generated_classes_say() -> None:
    view = view_of(load([CLOCKWORK], Report()).schema, (), History())
    assert [one.name for one in view.messages] == [*PROTOCOL]
    for message in view.messages:
        cls, module = PROTOCOL[message.name], import_module(f"clockwork_wire.{message.python_module}")
        assert (message.api_key, *map(list, (message.valid, message.flexible, message.deprecated))) == (
            cls.API_KEY, *map(list, (cls.VALID_VERSIONS, cls.FLEXIBLE_VERSIONS, cls.DEPRECATED_VERSIONS))
        )  # fmt: skip
        headers = {one: cls.header_version(one) if cls.HEADER_VERSIONS else None for one in cls.VALID_VERSIONS}
        assert {one.number: one.header for one in message.versions} == headers
        for struct in message.structs:
            own = getattr(module, struct.python_class)
            assert [*viewed(message, struct)] == [*generated(own, cls.FLEXIBLE_VERSIONS, set(struct.versions))]


def viewed(message: model.Message, struct: model.Struct) -> Iterator[tuple[object, ...]]:
    """Yield all that the view says of each field, with classes for structs."""
    for one in struct.fields:
        base = one.type.base
        name = base.kind if base.struct is None else getattr(message.struct(base.struct), "python_class", None)
        sets = (one.versions, one.nullable, one.tagged, one.classic, one.flexible, one.compact)
        yield (
            one.python_name, one.name, str(one.type).replace(str(base), str(name)), one.tag, one.ignorable,
            one.aliases, one.enum and one.enum.name, one.default, *map(set, sets),
        )  # fmt: skip


def generated(cls: type[Struct], flexible: range, used: set[int]) -> Iterator[tuple[object, ...]]:
    new = cls()
    for one in cls.FIELDS:
        live = used & {*one.versions}
        value = getattr(new, one.name)
        default = () if isinstance(value, list | Struct) else value
        compact = live & {*flexible} & {*(flexible if one.flexible is None else one.flexible)}
        sets = (live, live & {*one.nullable}, live & {*one.tagged}, live - {*flexible}, live & {*flexible}, compact)
        tag = one.tag if live & {*one.tagged} else None
        shown = (
            one.name,
            one.defined_name,
            one.type,
            tag,
            one.ignorable,
            tuple(name[:1].upper() + name[1:] for name in one.former_names),
            one.enum or None,
            default,
        )
        if live:
            yield (*shown, *sets)


@pytest.mark.parametrize("only", ["*:1-2", "*:newest", "Clock*:3, Escapement:1, Escapement:4+", "*Request, Gear:0"])
def test_a_selection_is_a_part_of_the_whole_view(only: str) -> None:
    schema = load([CLOCKWORK], Report()).schema
    selection = Selection.parse(only, schema)
    whole, part = (dict(facts(view_of(schema, (), History(), one))) for one in (None, selection))
    chosen = {one.name: frozenset(selection.versions(one)) for one in schema.messages}
    expected = {}
    for (name, *place), versions in whole.items():
        left = versions & chosen[name]
        if left or (chosen[name] and len(place) == 1):  # all versions of the message
            expected[name, *place] = left
    assert {place: versions for place, versions in part.items() if versions or len(place) == 2} == {
        place: versions for place, versions in expected.items() if versions or len(place) == 2
    }


def facts(view: model.Schema) -> Iterator[tuple[tuple[str, ...], frozenset[int]]]:
    """Yield each set of versions with its place: message, attribute, or message, struct, field, attribute."""
    for message in view.messages:
        holders: list[tuple[tuple[str, ...], Any]] = [((message.name,), message)]
        for struct in message.structs:
            holders.append(((message.name, struct.name), struct))
            holders += [((message.name, struct.name, one.name), one) for one in struct.fields]
        for place, holder in holders:
            for name, value in vars(holder).items():
                if isinstance(value, model.Versions):
                    yield (*place, name), frozenset(value)
