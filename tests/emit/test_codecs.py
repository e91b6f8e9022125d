"""The emitted text of a small protocol that uses every feature, and how the classes behave."""

from __future__ import annotations

import ast
import importlib
import io
import json
import tokenize
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import clockwork_wire
from kwire.errors import DecodeError, EncodeError
from kwire.struct import Struct
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field
from kwirec.diagnostics.source import Source
from kwirec.driver import generate, load
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.environment import Artifact, docstring
from kwirec.emitters.modules import class_names, group_modules
from kwirec.emitters.views import described
from kwirec.emitters.write import WriteOutcome
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from tests.properties.test_any_schema import disturb
from tests.properties.values import exact
from tests.support.effort import peak
from tests.support.packages import compiled

CLOCKWORK = Path(__file__).parent.parent / "data" / "clockwork"
GENERATED = Path(__file__).parent.parent / "generated"


@pytest.mark.long
def test_what_is_checked_in_is_what_is_emitted() -> None:
    """The package of the small protocol is there to be read: ``make generate`` rewrites it."""
    found = generate(load([CLOCKWORK], Report()), [CLOCKWORK], package="clockwork_wire", out=GENERATED, check=True)
    same_black = (
        f'"black": "{metadata.version("black")},' in (GENERATED / "clockwork_wire" / "manifest.json").read_text()
    )
    assert (found.outcome.written, found.outcome.removed) == ([] if same_black else ["manifest.json"], [])
    assert found.outcome.unchanged > 30


def test_emission_does_not_depend_on_the_order_of_files() -> None:
    paths = sorted(CLOCKWORK.rglob("*.json"))
    forwards = load(paths, Report()).schema
    backwards = load(paths[::-1], Report()).schema
    assert [emit_module(group, lower(forwards).halves) for group in group_modules(forwards)] == [
        emit_module(group, lower(backwards).halves) for group in group_modules(backwards)
    ]


@pytest.mark.slow
def test_what_is_emitted_is_what_is_checked_in_before_black_lays_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Formatting must not repair anything: the emitted text has the same tree and the same comments."""
    artifacts: list[Artifact] = []

    def kept(found: list[Artifact], folder: Path, **_: object) -> WriteOutcome:
        artifacts.extend(found)
        return WriteOutcome()

    def parts(text: str) -> tuple[str, list[str]]:
        found = tokenize.generate_tokens(io.StringIO(text).readline)
        return ast.dump(ast.parse(text)), [token.string for token in found if token.type == tokenize.COMMENT]

    monkeypatch.setattr("kwirec.driver.write", kept)
    generate(load([CLOCKWORK], Report()), [CLOCKWORK], package="clockwork_wire", out=GENERATED)
    assert len(artifacts) > 30
    for one in artifacts:
        there = (GENERATED / "clockwork_wire" / one.path).read_text()
        assert (parts(one.text) == parts(there)) if one.path.endswith(".py") else one.text == there, one.path


def test_structs_of_one_name_carry_the_name_of_their_message() -> None:
    kafka = load([Path("message_defs/kafka/apis/quorum")], Report()).schema
    vote = [kafka.message("VoteRequest"), kafka.message("VoteResponse")]
    names = class_names([message for message in vote if message is not None])
    assert names["VoteRequest", "TopicData"] == "VoteRequestTopicData"
    assert names["VoteResponse", "TopicData"] == "VoteResponseTopicData"
    assert names["VoteResponse", "NodeEndpoint"] == "NodeEndpoint"


def test_index_finds_classes_by_key_and_name() -> None:
    protocol = clockwork_wire.PROTOCOL
    for key in protocol.api_keys:
        request, response = protocol.request(key), protocol.response(key)
        assert (key, key) == (request.API_KEY, response.API_KEY)
        assert getattr(clockwork_wire, request.__name__) is request
    with pytest.raises(AttributeError):
        getattr(clockwork_wire, "NoSuchMessage")  # noqa: B009  # type checkers refuse the attribute


def test_what_is_done_to_an_object_changes_no_default() -> None:
    """Also where two classes have a field of one struct, which is not null unless it is set."""
    modules = [importlib.import_module(f"clockwork_wire.{path}") for path in set(clockwork_wire.MODULES.values())]
    found = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    own = [one for one in found if issubclass(one, Struct) and one.__module__.startswith("clockwork_wire")]
    before = [exact(cls()) for cls in own]
    for cls in own:
        disturb(cls())
    assert [exact(cls()) for cls in own] == before
    assert len(own) > 15


def test_every_message_starts_with_its_defaults() -> None:
    for name in clockwork_wire.MODULES:
        cls = getattr(clockwork_wire, name)
        for version in cls.VALID_VERSIONS:
            message = cls()
            try:
                data = message.encode(version)
            except EncodeError:  # a default of null below a nullable version
                with pytest.raises(EncodeError, match="null is not allowed"):
                    message.encode(version)
                continue
            assert cls.decode(data, version) == message


def test_a_field_that_became_tagged_is_in_the_tags_of_later_versions_only(packages: Path, tmp_path: Path) -> None:
    zone = {"name": "Zone", "type": "string", "versions": "0+", "taggedVersions": "1+", "tag": 0, "about": "One."}
    definition = {"type": "data", "name": "Dial", "validVersions": "0-1", "flexibleVersions": "0+", "about": "All."}
    (tmp_path / "Dial.json").write_text(json.dumps(definition | {"fields": [zone]}))
    package: Any = compiled(tmp_path, "tagged_later", packages)
    dial = package.Dial(zone="a")
    assert dial.encode(0).hex(" ") == "02 61 00"  # the string, no tags
    assert dial.encode(1).hex(" ") == "01 00 02 02 61"  # one tag: number 0, two bytes, the string
    assert [package.Dial.decode(dial.encode(version), version) for version in (0, 1)] == [dial, dial]
    models = (packages / "tagged_later" / "models" / "data" / "dial.py").read_text()
    assert "zone: str = OPTIONAL" in models


def test_json_with_a_former_name_of_a_field_is_read(packages: Path, tmp_path: Path) -> None:
    """JSON has names of fields in camel case, also those of several words."""
    (tmp_path / "Clock.json").write_text(clock(field("Topic", aliases=["TopicName"])))
    package: Any = compiled(tmp_path, "formerly_named", packages)
    assert package.Clock.from_json({"topicName": "a"}, 0) == package.Clock(topic="a")


@pytest.mark.parametrize("indent", [4, 8])
def test_descriptions_are_broken_where_the_line_ends(indent: int) -> None:
    longest = "ab " * 30 + "c" * (118 - indent - 6 - 90)
    assert docstring(longest, indent=indent) == f'"""{longest}"""'
    broken = docstring(longest + "c", indent=indent).split("\n")
    assert (len(broken), broken[-1]) == (2, " " * indent + '"""')
    assert "".join(broken).replace(" ", "") == f'"""{longest}c"""'.replace(" ", "")
    for size in range(80, 240):
        lines = (" " * indent + docstring("ab " * (size // 3) + "c" * (size % 3), indent=indent)).split("\n")
        assert max(map(len, lines)) <= 118


def test_a_class_is_called_otherwise_where_the_module_needs_its_name() -> None:
    inner = [field("A", "Field", fields=[field("X", "int8")]), field("B", "ClockField", fields=[field("X", "int8")])]
    [message] = resolve([parse(Source("Clock.json", clock(*inner)), Report())], Report()).messages
    names = class_names([message])
    assert names["Clock", "Field"] == "ClockFieldStruct"
    assert names["Clock", "ClockField"] == "ClockField"


def test_headers_are_classes_of_the_runtime_and_not_emitted() -> None:
    schema = load([Path("message_defs/kafka/headers/RequestHeader.json")], Report()).schema
    text = emit_module(group_modules(schema)[0], lower(schema).halves).text
    assert "from kwire.headers import RequestHeader as RequestHeader" in text
    assert not [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]


def test_what_is_not_described_or_not_valid_is_said_so_in_a_module() -> None:
    zones = field("Zones", "[]Zone", structAbout="", fields=[field("Name")])
    text = clock(zones, deprecatedVersions="1+")
    schema = resolve([parse(Source("defs\\time\\Clock.json", text), Report())], Report())
    [group] = group_modules(schema)
    code = emit_module(group, lower(schema).halves).text
    assert "Generated by kwirec from Clock.json. Do not edit." in code
    assert '"""One entry of Clock."""' in code
    assert "DEPRECATED_VERSIONS: ClassVar[range] = range(1, 3)" in code


@pytest.mark.parametrize("classic_first", [False, True])
def test_a_length_that_is_sometimes_of_fixed_size_is_no_native_number(classic_first: bool) -> None:
    """mypyc does not widen what an int16 was read into."""
    fields = field("A"), field("B", flexibleVersions="none")
    text = clock(*(fields[::-1] if classic_first else fields), flexibleVersions="0+")
    schema = resolve([parse(Source("Clock.json", text), Report())], Report())
    [group] = group_modules(schema)
    code = emit_module(group, lower(schema).halves).text
    assert ("n: int\n" in code, "n: i64\n" in code) == (True, False)


@pytest.mark.parametrize(
    ("versions", "told"), [("0-9", ""), ("1-2", "1+"), ("1-9", "1+"), ("2+", "2+"), ("0-1", "0-1"), ("1", "1")]
)
def test_a_description_says_which_versions_have_a_field(versions: str, told: str) -> None:
    [message] = resolve(
        [parse(Source("x.json", clock(field("A", versions=versions, about="A."))), Report())], Report()
    ).messages
    assert described(message, message.root.fields[0]) == (f"A. Versions {told}." if told else "A.")


def array_of(*fields: Mapping[str, Any], valid: str = "0-2", flexible: str = "2+") -> dict[str, Any]:
    items = field("Items", "[]Item", fields=list(fields), about="All.")
    return {"type": "data", "validVersions": valid, "flexibleVersions": flexible, "about": "A.", "fields": [items]}


def inner(*fields: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
    return field("In", "Inner", fields=list(fields), about="In.", **more)


UUID, NEVER = field("Id", "uuid", about="Id."), "none"
FROM_1 = field("Number", "int32", versions="1+", about="N.")
SHAPES = {
    "Always": array_of(UUID, flexible=NEVER),
    "AtFirst": array_of(UUID, FROM_1),
    "Later": array_of(UUID, field("Number", "int32", versions="0", about="N.")),
    "NotAtLast": array_of(field("A", "int8", versions="2+", about="A."), UUID, flexible=NEVER),
    "Two": array_of(
        UUID, field("Other", "uuid", versions="1+", about="O."), field("C", "int8", versions="2+", about="C.")
    ),
    "Inside": array_of(inner(UUID, FROM_1)),
    "InsideLater": array_of(UUID, inner(UUID, FROM_1, versions="1+"), flexible=NEVER),
    "Numbers": array_of({**FROM_1, "versions": "0+"}),
    "Texts": array_of(field("Text", "string", about="T.")),
}
"""Arrays of structs that have nothing but uuids, in some versions or in all. Reading a uuid beyond the end of the
data does not fail."""


def test_a_count_alone_makes_no_elements(packages: Path, tmp_path: Path) -> None:
    """Whatever the elements are, the array is refused before there are any, in every version."""
    for name, shape in SHAPES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(shape | {"name": name}))
    package = compiled(tmp_path, "counts_wire", packages)
    for name in SHAPES:
        cls = getattr(package, name)
        for version in cls.VALID_VERSIONS:
            count = b"\xa1\x8d\x06" if version in cls.FLEXIBLE_VERSIONS else (100_000).to_bytes(4, "big")

            def read(cls: Any = cls, version: int = version, data: bytes = count + bytes(40)) -> None:
                with pytest.raises(DecodeError):
                    cls.decode(data, version)

            assert peak(read) < 100_000, f"{name} v{version}"
