"""The enums of the union are those of Kafka's own classes, as two releases gave them: ``tests/data/enums.json``.

``make conformance`` asks the classes themselves.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import load
from tests.merge.support import Union
from tools import UNION, enum_classes, enums
from tools.enum_classes import ELSEWHERE, SOURCES, NumberedClass, classes_in, classes_of, draft, of_the_union, unknown
from tools.maven import Jars

RECORDED: dict[str, dict[str, dict[str, int]]] = json.loads(
    (Path(__file__).parents[1] / "data" / "enums.json").read_text()
)
JAVA = RECORDED["4.4.0"]


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return {name: dict(values) for name, values in enums.numbers_in(load([UNION], Report()).schema).items()}


def classes(numbers: Mapping[str, Mapping[str, int]]) -> list[NumberedClass]:
    """The classes that keep these numbers, each the newest of its enum."""
    return [NumberedClass(SOURCES[name][0], "id", "int8", dict(values)) for name, values in numbers.items()]


@pytest.mark.slow
@pytest.mark.parametrize("release", RECORDED)
def test_the_union_has_the_names_and_numbers_of_java(ours: dict[str, Any], release: str) -> None:
    assert list(enums.differences(ours, classes(RECORDED[release]), newest=release == "4.4.0")) == []
    assert len(RECORDED[release]) > 25


@pytest.mark.slow
def test_every_enum_has_a_class_or_is_known_to_have_none(ours: dict[str, Any]) -> None:
    assert set(ours) - set(SOURCES) == {"Acks", "ConsumerMemberType"}
    assert set(SOURCES) == {*JAVA, *enums.REMOVED}


@pytest.mark.slow
def test_what_differs_is_named(ours: dict[str, Any]) -> None:
    theirs = classes(JAVA | {"ElectionType": {"PREFERRED": 0, "UNCLEAN": 2, "FORCED": 3}})
    ours = ours | {"IsolationLevel": ours["IsolationLevel"] | {"READ_ABORTED": 2}}
    new = NumberedClass("common.Tide", "id", "int8", {"LOW": 0, "HIGH": 1})
    assert list(enums.differences(ours, [*theirs, new], newest=True)) == [
        "ElectionType.UNCLEAN is 2 in Java, 1 here",
        "ElectionType.FORCED is 3 in Java, missing here",
        "IsolationLevel.READ_ABORTED is not in Java",
        "common.Tide contains numbers, but is neither in SOURCES nor in ELSEWHERE of tools/enum_classes.py",
    ]
    assert not [line for line in enums.differences(ours, [new], newest=False) if "Tide" in line]


def test_an_enum_has_the_numbers_of_its_newest_class() -> None:
    newest, before = SOURCES["IsolationLevel"]
    said = f"{before} id byte OLD 0\n{newest} id byte NEW 0\n"
    assert of_the_union(classes_in(said)) == {"IsolationLevel": {"NEW": 0}}
    assert of_the_union(classes_in(said.splitlines()[0])) == {"IsolationLevel": {"OLD": 0}}


CONSTANTS = """\
common.A static byte TIDE_LEVEL_LOW 0
common.A static byte TIDE_LEVEL_HIGH 1
common.A static byte TIDES 9
common.A static byte MASK 7
common.A static short SEA_OLD 1
common.A static short SEA_NEW 2
common.B static byte CALM_A 3
common.B static byte CALM_B 3
common.requests.ListOffsetsRequest static long LATEST_TIMESTAMP -1
common.requests.ListOffsetsRequest static long EARLIEST_TIMESTAMP -2
common.requests.ListOffsetsRequest static int CONSUMER_REPLICA_ID -1
"""


def test_constants_are_an_enum_if_they_are_bytes_whose_names_begin_alike_or_if_we_ask() -> None:
    found = classes_in(CONSTANTS)
    assert found == [
        NumberedClass("common.A#TIDE_LEVEL_(.*)", "static", "int8", {"LOW": 0, "HIGH": 1}),
        NumberedClass(SOURCES["ListOffsetsTimestamp"][0], "static", "int64", {"LATEST": -1, "EARLIEST": -2}),
    ]
    assert [one.short_name for one in unknown(found)] == ["TideLevel"]


@pytest.mark.parametrize("said", ["a.B id byte X", "a.B id byte X 1 2", "a.B id boolean X 1", 'a.B id byte "X" 1'])
def test_what_java_says_about_enums_is_not_trusted(said: str) -> None:
    with pytest.raises(ValueError, match=r"^Java printed a number of an unexpected form: "):
        classes_in(said)


def test_a_line_of_java_is_told_up_to_its_hundredth_character() -> None:
    with pytest.raises(ValueError, match=r"unexpected form: 'x{100}'$"):
        classes_in("x" * 101)


def test_a_draft_has_what_the_class_says() -> None:
    one = NumberedClass("common.requests.TideResponse$Status", "code", "int16", {"HIGH": 1, "UNKNOWN": -1})
    assert draft(one) == {
        "type": "enum", "name": "TideResponseStatus", "valueType": "int16", "about": "",
        "values": [{"name": "UNKNOWN", "value": -1, "about": ""}, {"name": "HIGH", "value": 1, "about": ""}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "keeps", "values"),
    [
        ("common.Tide", "priority", {"LOW": 0}),
        ("common.Tide", "id", {"LOW": 0, "EBB": 0}),
        ("common.Tide$1", "id", {"LOW": 0}),
        ("common.Tide", "id", {"LOW$": 0}),
        ("common.Tide", "id", {"LOW": 0, "3": 1}),
    ],
)
def test_a_class_that_says_too_little_is_only_named(name: str, keeps: str, values: dict[str, int]) -> None:
    assert draft(NumberedClass(name, keeps, "int8", values)) is None


def test_two_new_classes_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    first, second = (
        NumberedClass(f"server.{package}.Tide", "id", "int8", {"NONE": 0, name: 1})
        for package, name in (("a", "LOW"), ("b", "HIGH"))
    )
    one, other = enums.take_new(tmp_path, [first, second])
    assert (one.drafted, other.drafted) == (True, False)
    assert "HIGH 1" in str(other)


@pytest.mark.parametrize("ascending", [True, False])
def test_values_are_added_unless_their_name_or_number_is_there(ascending: bool, tmp_path: Path) -> None:
    """In the order of their numbers, if the others have it. A number with another name stays as it is."""
    low, high = ({"name": name, "value": number, "about": "Ours."} for name, number in (("LOW", 0), ("HIGH", 5)))
    before = {"type": "enum", "name": "Tide", "values": [low, high] if ascending else [high, low]}
    (tmp_path / "enums").mkdir()
    path = tmp_path / "enums" / "Tide.json"
    path.write_text(json.dumps(before))
    theirs = {"Tide": {"EBB": 0, "HIGH": 6, "SPRING": 7, "NEAP": 3}, "Sea": {"CALM": 1}}
    assert enums.take(tmp_path, theirs) == ["Tide.SPRING", "Tide.NEAP"]
    spring, neap = ({"name": name, "value": number, "about": ""} for name, number in (("SPRING", 7), ("NEAP", 3)))
    expected = [low, neap, high, spring] if ascending else [high, low, spring, neap]
    assert json.loads(path.read_text()) == before | {"values": expected}


@pytest.mark.parametrize(("number", "drafted"), [(0, True), (7, False)])
def test_a_draft_with_other_numbers_is_left_alone(number: int, drafted: bool, tmp_path: Path) -> None:
    (tmp_path / "enums").mkdir()
    path = tmp_path / "enums" / "Tide.json"
    before = {"type": "enum", "name": "Tide", "values": [{"name": "LOW", "value": number, "about": "Ebb."}]}
    path.write_text(json.dumps(before))
    [found] = enums.take_new(tmp_path, [NumberedClass("a.Tide", "id", "int8", {"LOW": 0, "HIGH": 5})])
    assert found.drafted is drafted
    high = [{"name": "HIGH", "value": 5, "about": ""}] if drafted else []
    assert json.loads(path.read_text()) == before | {"values": [*before["values"], *high]}


def test_values_have_the_descriptions_of_the_other_union_or_none(tmp_path: Path) -> None:
    def union(name: str, *about: str) -> Path:
        (tmp_path / name / "enums").mkdir(parents=True)
        for enum in ("Sea", "Tide"):
            values = [{"name": f"V{number}", "value": number, "about": text} for number, text in enumerate(about)]
            (tmp_path / name / "enums" / f"{enum}.json").write_text(json.dumps({"name": enum, "values": values}))
        return tmp_path / name

    ours, theirs = union("ours", "Mine.", "Also mine.", "Mine alone."), union("theirs", "Theirs.", "")
    enums.describe(ours, theirs)
    for enum in ("Sea", "Tide"):
        values = json.loads((ours / "enums" / f"{enum}.json").read_text())["values"]
        assert [value["about"] for value in values] == ["Theirs.", "", ""]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("common.Tide", "Tide"),
        ("common.Sea$Tide", "Tide"),
        ("common.Sea$Tide$Type", "SeaTideType"),
        ("common.Sea$Bay$Kind", "SeaBayKind"),
        ("common.Sea$Typed", "Typed"),
        ("common.Sea#HIGH_TIDE_(.*)", "HighTide"),
    ],
)
def test_the_name_of_an_enum_is_that_of_its_class_with_its_outer_class_if_it_is_vague(name: str, short: str) -> None:
    assert NumberedClass(name, "id", "int8", {}).short_name == short


def test_java_is_asked_about_kafkas_jars_with_all_others_on_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java, jars = tmp_path / "java", tmp_path / "1.0.0"
    jars.mkdir()
    for name in ("kafka_2.13-1.0.0.jar", "kafka-clients-1.0.0.jar", "slf4j-api-1.7.36.jar", "kafka.txt"):
        (jars / name).touch()
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0".asked\necho common.Tide id byte LOW 0\n')
    java.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert classes_of(jars) == [NumberedClass("common.Tide", "id", "int8", {"LOW": 0})]
    assert (tmp_path / "java.asked").read_text().splitlines() == [
        "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", str(enum_classes.PROGRAM),
        f"{jars}/kafka-clients-1.0.0.jar", f"{jars}/kafka_2.13-1.0.0.jar",
    ]  # fmt: skip
    java.write_text("#!/bin/sh\nprintf 'early%01995dlate!' 0 >&2\nexit 1\n")
    with pytest.raises(ValueError, match=r"^the enums in 1\.0\.0 cannot be read: 0{1995}late!$"):
        classes_of(jars)


def test_no_class_of_an_enum_is_elsewhere() -> None:
    assert not unknown([NumberedClass(one, "id", "int8", {}) for names in SOURCES.values() for one in names])
    assert all(ELSEWHERE.values())


def test_a_class_whose_name_begins_like_one_that_is_elsewhere_is_new() -> None:
    names = ("metadata.BrokerState", "metadata.BrokerStateReason")
    found = unknown([NumberedClass(name, "id", "int8", {"NONE": 0}) for name in names])
    assert [one.name for one in found] == ["metadata.BrokerStateReason"]


TIDE = """\
package org.apache.kafka.common;
public enum Tide {
    LOW((byte) 0), HIGH((byte) 5);
    private final byte id;
    private final String word = "";
    Tide(byte id) { this.id = id; }
    enum Silent { A, B }
    enum Ranked { FIRST(1); final int rank; Ranked(int rank) { this.rank = rank; } }
    enum Vague { A; final int one = 1; final int two = 2; }
    static class Codes { static final byte SEA_CALM = 1; static final byte SEA_ROUGH = 2; static byte changing = 3; }
    static class Broken { static final byte A = fail(), B = 1; static byte fail() { throw new RuntimeException(); } }
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("javac"), reason="needs a JDK")
def test_java_tells_the_numbers_of_all_classes_of_a_release(tmp_path: Path) -> None:
    source, jars = tmp_path / "Tide.java", tmp_path / "jars"
    source.write_text(TIDE)
    subprocess.run(["javac", "-d", tmp_path / "classes", source], check=True)
    jars.mkdir()
    with zipfile.ZipFile(jars / "kafka-clients-9.0.0.jar", "w") as jar:
        for path in sorted((tmp_path / "classes").rglob("*.class")):
            jar.write(path, path.relative_to(tmp_path / "classes"))
        jar.write(source, "org/apache/kafka/NoClass.class")
    assert classes_of(jars) == [
        NumberedClass("common.Tide$Ranked", "rank", "int32", {"FIRST": 1}),
        NumberedClass("common.Tide", "id", "int8", {"LOW": 0, "HIGH": 5}),
        NumberedClass("common.Tide$Codes#SEA_(.*)", "static", "int8", {"CALM": 1, "ROUGH": 2}),
    ]
    with pytest.raises(ValueError, match="has no jars of Kafka"):
        classes_of(tmp_path)


def test_what_older_releases_are_known_to_have_said_is_no_difference() -> None:
    ours = {"ConfigSource": {"UNKNOWN": 0}}
    older = classes({"ConfigSource": {"UNKNOWN_CONFIG": 0}})
    assert list(enums.differences(ours, older, newest=False)) == []
    other = classes({"ConfigSource": {"UNKNOWN_CONFIG": 1}})
    assert list(enums.differences(ours, other, newest=False)) == [
        "ConfigSource.UNKNOWN_CONFIG is 1 in Java, missing here"
    ]


def test_the_command_tells_what_differs_in_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By default in the newest one, which alone has to have all that the union has."""
    union = Union(tmp_path)
    for release in ("9.0.0", "10.0.0"):
        union.merge(release, {"type": "data", "name": "A", "validVersions": "0", "flexibleVersions": "none",
                              "fields": [{"name": "Tide", "type": "int8", "versions": "0"}]})  # fmt: skip
    values = [{"name": "LOW", "value": 0}, {"name": "HIGH", "value": 1}]
    tide = {"type": "enum", "name": "Tide", "valueType": "int8", "values": values}
    (union.root / "Tide.json").write_text(json.dumps(tide))
    said = {"9.0.0": {"LOW": 0}, "10.0.0": {"LOW": 2, "EBB": 1}}
    monkeypatch.setattr(enums, "UNION", union.root)
    monkeypatch.setattr(enums, "bring", lambda asked: [Jars(one, tmp_path / one, {}, tmp_path, ()) for one in asked])
    monkeypatch.setattr(enum_classes, "SOURCES", {"Tide": ["common.Tide"]})
    monkeypatch.setattr(
        enums, "classes_of", lambda folder: [NumberedClass("common.Tide", "id", "int8", said[folder.name])]
    )
    newest = "Tide.LOW is 2 in Java, 0 here\nTide.EBB is 1 in Java, missing here\nTide.HIGH is not in Java\n"
    for arguments, code, told in (([], 1, newest), (["9.0.0"], 0, "the enums match those of 9.0.0\n")):
        assert (enums.main(arguments), capsys.readouterr().out) == (code, told)
