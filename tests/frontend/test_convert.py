"""Definitions through both notations and back: nothing is lost between them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.convert import convert, json_files, krammar_files
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field, request
from kwirec.diagnostics.reading import read_sources
from kwirec.diagnostics.source import Source
from kwirec.diff.layouts import compare_layouts
from kwirec.emitters.codecs import emit_module
from kwirec.emitters.compat import emit_compatibility, history_of
from kwirec.emitters.models import emit_models
from kwirec.emitters.modules import group_modules
from kwirec.emitters.package import emit_package
from kwirec.frontend import Document, link, parse
from kwirec.frontend.notation import Dialect, Notation
from kwirec.frontend.syntax import EnumDecl, MessageDecl
from kwirec.ir import Schema, resolve
from kwirec.lowering import lower
from tests.frontend.test_krammar import SAMPLE
from tests.properties.test_any_schema import definitions
from tests.support.effort import examples
from tests.support.kafka_releases import distinct, texts

ROOT = Path(__file__).parents[2]
UNION = ROOT / "message_defs" / "kafka"
HERE = PurePosixPath()


def parsed(files: dict[str, str]) -> tuple[Document, ...]:
    """The documents of files without any finding, linked."""
    report = Report()
    documents = link([parse(Source(name, text), report) for name, text in files.items()], report)
    assert [one.message for one in report.diagnostics] == []
    return documents


def all_of(documents: tuple[Document, ...]) -> list[tuple[PurePosixPath, MessageDecl | EnumDecl]]:
    return [(HERE, one) for document in documents for one in document.definitions]


def there(documents: tuple[Document, ...], dialect: Dialect | None = None) -> dict[str, str]:
    report = Report()
    files = krammar_files(all_of(documents), report, dialect=dialect)
    assert dialect or report.diagnostics == []
    return files


def there_and_back(files: dict[str, str]) -> dict[str, str]:
    """JSON files → krammar → JSON."""
    return json_files(all_of(parsed(there(parsed(files)))))


@cache
def union() -> dict[str, str]:
    sources = read_sources([UNION], Report())
    return {PurePosixPath(source.name).name: source.text for source in sources}


@pytest.mark.slow
def test_the_union_survives_byte_for_byte() -> None:
    assert there_and_back(union()) == union()


@pytest.mark.slow
def test_json_definitions_are_laid_out_in_one_way() -> None:
    assert json_files(all_of(parsed(union()))) == union()


def normal(value: Any) -> Any:
    """A JSON definition without what says nothing, and with one spelling of what can be written in several ways."""
    if isinstance(value, list):
        return [normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: normal(item) for key, item in value.items() if item is not None}
    for key, item in list(found.items()):
        text = str(item).strip()
        flag = key in ("ignorable", "mapKey", "zeroCopy", "latestVersionUnstable")
        if (flag and text.lower() != "true") or (item in ([], "", {}) and key not in ("fields", "default")):
            del found[key]
        elif flag:
            found[key] = True
        elif key == "default":
            found[key] = text.lower() if isinstance(item, bool) else str(item)
        elif key.lower().endswith("versions") and not isinstance(item, dict):
            low, dash, high = text.partition("-")
            found[key] = low if dash and low == high else text
            if text == "none" and key not in ("validVersions", "versions", "flexibleVersions"):
                del found[key]
        elif key in ("tag", "apiKey"):
            found[key] = int(item)
        elif key == "type" and isinstance(item, str):
            found[key] = item.replace(" ", "")
    if "taggedVersions" in found and found.get("versions") == found["taggedVersions"]:
        del found["versions"]
    if "validVersions" in found:
        found.setdefault("flexibleVersions", "none")
        found.setdefault("fields", [])
    return found


@pytest.mark.releases
@pytest.mark.parametrize("release", distinct())
@pytest.mark.long
def test_releases_survive_in_a_normal_form(release: str) -> None:
    lines = texts()[release].splitlines()
    schemas = [json.loads(line) for line in lines if line]
    schemas = [one.get("schema", one) for one in schemas]
    files = {f"{one['name']}.json": json.dumps(one) for one in schemas}
    back = there_and_back(files)
    for name, text in files.items():
        expected, found = normal(json.loads(text)), normal(json.loads(back[name]))
        assert found == expected, name


@pytest.mark.slow
@given(definitions())
def test_drawn_definitions_survive(definition: dict[str, Any]) -> None:
    (back,) = there_and_back({"Drawn.json": json.dumps(definition)}).values()
    assert normal(json.loads(back)) == normal(definition)


ENTITIES = ("topicName", "groupId", "brokerId", "transactionalId", "producerId")
HEADS: dict[str, list[dict[str, Any]]] = {
    "request": [
        {"apiKey": 7}, {"apiKey": 0, "listeners": ["broker"], "latestVersionUnstable": True},
        {"apiKey": 32767, "listeners": ["zkBroker", "controller"], "sentTo": "controller"},
        {"apiKey": 1, "sentTo": "group", "headerVersions": {"0-1": "1", "2+": "2"}},
        {"apiKey": 2, "sentTo": "transaction", "headerVersions": {"0+": "0"}},
    ],
    "metadata": [{"apiKey": 0}, {"apiKey": 9}],
    "coordinator-key": [{"apiKey": 3}], "coordinator-value": [{"apiKey": 3}],
    "data": [{}], "header": [{}],
}  # fmt: skip


@st.composite
def with_everything(draw: st.DrawFn) -> dict[str, Any]:
    """A definition of any kind, with attributes and structs that no codec needs."""
    plain = draw(definitions())
    kind = draw(st.sampled_from([*HEADS]))
    message = plain | {"type": kind, **draw(st.sampled_from(HEADS[kind]))}
    names = {"aliases": st.lists(st.sampled_from(("Old", "Older", "V1Name")), unique=True, max_size=2)}
    low, high = (int(text) for text in (plain["validVersions"].split("-") * 2)[:2])
    message |= draw(st.fixed_dictionaries({}, optional=names))
    if draw(st.booleans()):
        message["deprecatedVersions"] = draw(st.sampled_from((str(low), f"{low}-{high}", "none")))
    common: dict[str, Any] = {}
    seen: list[dict[str, Any]] = []

    def decorate(fields: list[dict[str, Any]]) -> None:
        for one in fields:
            seen.append(one)
            base = one["type"].strip("[]")
            options: dict[str, Any] = {**names, "entityType": st.sampled_from(ENTITIES)}
            options |= {"zeroCopy": st.just(True)} if base == "bytes" else {}
            options |= {"mapKey": st.just(True)} if base in ("string", "int32") else {}
            options |= {"since": st.sampled_from(("4.0", "3.10.1"))} if "tag" in one else {}
            one |= draw(st.fixed_dictionaries({}, optional=options))
            if one["type"] == base and not base[0].isupper() and draw(st.integers(0, 3)) == 0:
                one["type"] = f"[]{'[]' * draw(st.integers(0, 1))}{base}"
                for name in ("default", "flexibleVersions", "zeroCopy"):
                    one.pop(name, None)
            if "fields" in one:
                decorate(one["fields"])
                if draw(st.booleans()):
                    versions = draw(st.sampled_from(("0+", f"{low}-{high}", one["versions"])))
                    about = {"about": one.pop("structAbout")}
                    common[base] = {"name": base, "versions": versions, **about, "fields": one.pop("fields")}

    decorate(message["fields"])
    for one in seen:
        if common and one["type"] == "string" and "default" not in one and draw(st.integers(0, 2)) == 0:
            one["type"] = draw(st.sampled_from(("", "[]"))) + draw(st.sampled_from([*common]))
            for name in ("flexibleVersions", "mapKey", "zeroCopy"):
                one.pop(name, None)
    return message | ({"commonStructs": [*common.values()]} if common else {})


@pytest.mark.slow
@examples(0.5)
@given(with_everything())
def test_drawn_definitions_with_everything_survive(definition: dict[str, Any]) -> None:
    """Also in the reverse order of attributes, and once more."""
    text = json.dumps(definition)
    (back,) = there_and_back({"Drawn.json": text}).values()
    assert normal(json.loads(back)) == normal(definition)
    assert there_and_back({"Drawn.json": back}) == {"Drawn.json": back}


def test_the_sample_of_every_word_survives() -> None:
    documents = parsed({"Clock.krm": SAMPLE.read_text()})
    again = parsed(there(documents))
    assert json_files(all_of(again)) == json_files(all_of(documents))
    assert there(again) == there(documents)


def schema(files: dict[str, str]) -> Schema:
    return resolve([parse(Source(name, text), Report()) for name, text in files.items()], Report())


@pytest.mark.long
def test_the_dialect_of_franz_go_keeps_what_it_can_say() -> None:
    report = Report()
    files = krammar_files(all_of(parsed(union())), report, dialect="franz-go")
    assert {one.code.number for one in report.diagnostics} == {"K027"}
    plain = Report()
    rewritten = resolve([parse(Source(name, text), plain) for name, text in files.items()], plain)
    assert not plain.diagnostics
    assert "  -1:" not in files["enums"]  # franz-go's generator stops there
    both = compare_layouts(schema(union()), rewritten)
    assert len(both.equal) > 700
    assert len(both.parting) < 25


def test_requests_and_responses_share_a_file_and_folders_stay(tmp_path: Path) -> None:
    report = Report()
    result = convert([ROOT / "tests/data/clockwork"], report, to="krammar", out=tmp_path)
    assert result is not None
    assert not report.has_errors()
    assert "Clock.krm" in result.changed
    assert {path.name for path in tmp_path.iterdir()} == set(result.texts)
    again = convert([tmp_path], report, to="krammar", out=tmp_path, check=True)
    assert again is not None
    assert again.changed == ()


def test_nothing_is_written_for_definitions_with_errors(tmp_path: Path) -> None:
    (tmp_path / "A.krm").write_text("ARequest => key 1, max version 1\n  A: [int8\n")
    report = Report()
    assert convert([tmp_path], report, to="json", out=tmp_path / "out") is None
    assert report.has_errors()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("to", ["json", "krammar"])
@pytest.mark.parametrize(
    "text",
    [
        '{"type": "data", "name": "../Out", "validVersions": "0", "flexibleVersions": "none", "fields": []}',
        '{"type": "enum", "name": "/Out", "valueType": "int8", "values": []}',
    ],
)
def test_names_lead_to_no_other_folder(text: str, to: Notation, tmp_path: Path) -> None:
    definitions = tmp_path / "definitions"
    definitions.mkdir()
    (definitions / "a.json").write_text(text)
    report = Report()
    assert convert([definitions], report, to=to, out=tmp_path / "to" / "out") is None
    assert [one.code.number for one in report.diagnostics] == ["K202" if "data" in text else "K801"]
    assert [*tmp_path.iterdir()] == [definitions]


@pytest.mark.long
def test_layouts_of_both_notations_are_the_same() -> None:
    mine, other = schema(union()), schema(there(parsed(union())))
    assert {name: set(one.values()) for name, one in lower(mine).by_message.items()} == {
        name: set(one.values()) for name, one in lower(other).by_message.items()
    }


def test_the_example_of_the_page_is_the_same_in_both_notations() -> None:
    page = (ROOT / "docs" / "definitions.md").read_text()
    written = page.split("```jsonc\n")[1].split("```")[0]
    other = page.split("```text\n")[1].split("```")[0]
    assert there(parsed({"OrderRequest.json": written})) == {"Order.krm": other}
    assert json_files(all_of(parsed({"Order.krm": other}))) == {"OrderRequest.json": written}


def emitted(found: Schema) -> dict[str, str]:
    """All modules of a package, unformatted, without the line that says what they come from."""
    layouts, groups = lower(found), group_modules(found)
    artifacts = [emit_module(group, layouts.halves) for group in groups]
    artifacts += [*emit_package(groups, name="package", errors=(), enums=found.enums)]
    artifacts += emit_compatibility(layouts, groups, history_of([UNION]), package="package")
    artifacts += [emit_models(group, package="package") for group in groups]
    return {str(one.path): re.sub(r".*Generated by kwirec from .*\n", "", one.text) for one in artifacts}


@pytest.mark.slow
@pytest.mark.long
def test_packages_from_both_notations_are_the_same() -> None:
    mine, other = emitted(schema(union())), emitted(schema(there(parsed(union()))))
    assert mine.keys() == other.keys()
    assert [path for path, text in mine.items() if other[path] != text] == []


def test_members_of_archives_have_no_folder(tmp_path: Path) -> None:
    given, out = tmp_path / "given", tmp_path / "out"
    (given / "apis").mkdir(parents=True)
    with ZipFile(given / "archive.zip", "w") as archive:
        archive.writestr("deep/Clock.json", clock(field("A")))
    (given / "apis" / "Alarm.json").write_text(clock(field("A"), name="Alarm"))
    result = convert([given], Report(), to="krammar", out=out)
    assert result is not None
    assert sorted(result.texts) == ["Clock.krm", "apis/Alarm.krm"]


def test_names_of_files() -> None:
    kinds = {"FooRequest": "request", "FooResponse": "response", "FooData": "data", "FooHeader": "header"}
    files = {
        name: clock(
            field("A"), name=name, type=kind, **({"apiKey": 9} if name[3:] in ("Request", "Response") else {})
        )
        for name, kind in kinds.items()
    }
    assert list(there(parsed(files))) == ["Foo.krm", "FooData.krm", "FooHeader.krm"]
    pairs = {
        f"{name}{kind}": clock(field("A"), name=f"{name}{kind}", type=kind.lower(), apiKey=key)
        for name, key in (("One", 1), ("Nine", 9), ("Many", 18))
        for kind in ("Request", "Response")
    }
    assert list(there(parsed(pairs), "franz-go")) == ["01_one", "09_nine", "18_many"]


def test_files_without_anything_that_the_dialect_can_say_are_not_written() -> None:
    header = clock(field("A"), name="ClockHeader", type="header")
    assert there(parsed({"ClockHeader.json": header}), "franz-go") == {}


@pytest.mark.parametrize("type_", ["string", "[]int8"])
@pytest.mark.parametrize(("nullable", "lost"), [("2-5", True), ("2+", False)])
def test_null_that_ends_is_lost_in_the_dialect_of_franz_go(type_: str, nullable: str, lost: bool) -> None:
    text = clock(field("A", type_, nullableVersions=nullable), validVersions="0-9")
    report = Report()
    (written,) = krammar_files(all_of(parsed({"Clock.json": text})), report, dialect="franz-go").values()
    assert [one.code.number for one in report.diagnostics] == (["K027"] if lost else [])
    assert ("nullable-string-v2+" in written or "nullable-v2+" in written) == (not lost)


def test_a_broker_without_a_word_is_lost() -> None:
    report = Report()
    document = parse(Source("ClockRequest.json", request(sentTo="nearest")), report)
    [text] = krammar_files([(PurePosixPath(), one) for one in document.definitions], report).values()
    assert "nearest" not in text
    assert [one.message for one in report.diagnostics] == [
        "the indentation notation cannot express `nearest`, which `ClockRequest` has"
    ]


def test_a_message_of_no_version_is_left_out_for_franz_go() -> None:
    """There it would have all versions."""
    report = Report()
    document = parse(Source("ClockRequest.json", request(validVersions="none")), report)
    definitions = [(PurePosixPath(), one) for one in document.definitions]
    assert krammar_files(definitions, report, dialect="franz-go") == {}
    [told] = report.diagnostics
    assert told.message == "franz-go's notation cannot express `ClockRequest`, which has no versions"
    assert list(krammar_files(definitions, report)) == ["Clock.krm"]
