"""Merging releases of a small protocol: what is kept, what is recorded, and when a merge is refused."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source
from kwirec.files import STAGE
from kwirec.frontend import parse
from kwirec.frontend.syntax import FieldDecl, MessageDecl, StructDecl
from kwirec.ir import resolve
from kwirec.merge import merge
from kwirec.merge.draft import draft_of
from kwirec.merge.writer import definition_text
from tests.merge.support import Definition, Union

CLOCKWORK = Path(__file__).parents[1] / "data" / "clockwork"


def field(name: str, type_: str = "int32", versions: str = "0+", **more: Any) -> Definition:
    return {"name": name, "type": type_, "versions": versions, **more}


def tagged(name: str, tag: int, versions: str = "1+", **more: Any) -> Definition:
    return field(name, versions=versions, taggedVersions=versions, tag=tag, **more)


def request(*fields: Definition, valid: str = "0-1", name: str = "ClockRequest", **more: Any) -> Definition:
    return {"apiKey": 7, "type": "request", "listeners": ["broker"], "name": name,
            "validVersions": valid, "flexibleVersions": "1+", "fields": list(fields)} | more  # fmt: skip


def data(*fields: Definition, name: str = "Clock", valid: str = "0") -> Definition:
    return {"type": "data", "name": name, "validVersions": valid, "flexibleVersions": "none", "fields": list(fields)}


ZONES = field("Zones", "[]Zone", fields=[field("Name", "string"), field("Offset", versions="1+")])


def test_first_release_is_written_as_definitions(union: Union, snapshot: Any) -> None:
    outcome = union.merge("1.0.0", request(field("Id"), ZONES, tagged("Extra", 0)), data(field("Time", "int64")))
    assert (outcome.added, outcome.changed, outcome.failed) == (["ClockRequest", "Clock"], [], False)
    assert union.files() == snapshot


def test_versions_of_both_releases_are_in_the_union(union: Union, snapshot: Any) -> None:
    union.merge("1.0.0", request(field("Old", versions="0"), field("Id"), valid="0-1"))
    outcome = union.merge("2.0.0", request(field("Id"), field("New", "string", "2+"), valid="1-2"))
    assert outcome.proof is not None
    assert (outcome.proof.proved, outcome.changed) == (4, ["ClockRequest"])
    assert union.definition("ClockRequest") == snapshot
    facts = json.loads((union.root / "releases.json").read_text())
    assert {release: facts[release]["apis"]["7"]["accepts"] for release in facts} == {"1.0.0": "0-1", "2.0.0": "1-2"}


def test_descriptions_and_comments_are_kept(union: Union) -> None:
    union.merge("1.0.0", request(field("Id"), ZONES))
    union.edit("ClockRequest", '"about": ""', '"about": "Asks for the time."')
    union.edit("ClockRequest", '"name": "Id",', '"name": "Id", "about": "Who asks.",')
    union.edit("ClockRequest", '{\n  "apiKey"', '// Our own words.\n{\n  "apiKey"')
    union.edit("ClockRequest", '  "validVersions"', '  // Of the versions.\n  "validVersions"')
    union.edit("ClockRequest", '    { "name": "Id"', '    // Of the id.\n    { "name": "Id"')
    theirs = request(field("Id", about="Their words."), ZONES, field("More", versions="2+"), valid="0-2")
    assert not union.merge("2.0.0", theirs | {"about": "Their words."}).failed
    text = union.definition("ClockRequest")
    assert '\n  // Of the versions.\n  "validVersions": "0-2",\n' in text
    assert '\n    // Of the id.\n    { "name": "Id",' in text
    assert text.startswith("// Our own words.\n")
    assert '"about": "Asks for the time."' in text
    assert '"about": "Who asks."' in text
    assert "Their words" not in text
    assert '"More"' in text


def test_comments_of_common_structs_are_kept(union: Union) -> None:
    zone = {"name": "Zone", "versions": "0+", "fields": [field("Id")]}
    shared = request(field("Here", "Zone"), field("There", "[]Zone"), commonStructs=[zone])
    union.merge("1.0.0", shared)
    union.edit("ClockRequest", '    { "name": "Zone"', '    // Of zones.\n    { "name": "Zone"')
    union.merge("2.0.0", shared)
    assert '\n    // Of zones.\n    { "name": "Zone",' in union.definition("ClockRequest")


def test_structs_that_contain_each_other_are_a_finding(union: Union) -> None:
    """Their layouts would have no end."""
    structs = [
        {"name": name, "versions": "0+", "fields": [field("All", f"[]{other}")]}
        for name, other in (("Outer", "Inner"), ("Inner", "Outer"))
    ]
    source = union.bundle("1.0.0", [request(field("First", "Outer"), commonStructs=structs)])
    outcome = merge(union.root, "1.0.0", [source], report := Report())
    assert (outcome.failed, union.root.exists()) == (True, False)
    assert [f"{one.code} {one.message}" for one in report.diagnostics] == ["K409 struct `Outer` contains itself"]


def test_enums_and_unusual_headers_are_kept(union: Union) -> None:
    """They are written by hand: releases have no enums, and old ones no header versions."""
    union.merge("1.0.0", request(field("Kind", "int8")))
    union.edit("ClockRequest", '"name": "Kind",', '"name": "Kind", "enum": "Phase",')
    union.edit("ClockRequest", '"flexibleVersions"', '"headerVersions": { "0+": "0" }, "flexibleVersions"')
    phase = '{ "type": "enum", "name": "Phase", "valueType": "int8", "values": [{ "name": "NEW", "value": 0 }] }'
    (union.root / "Phase.json").write_text(phase)
    assert not union.merge("2.0.0", request(field("Kind", "int8"), valid="0-2")).failed
    assert '"enum": "Phase"' in union.definition("ClockRequest")
    assert '"headerVersions": { "0-1": "0", "2+": "2" }' in union.definition("ClockRequest")
    assert not union.merge("0.9.0", request(field("Kind", "int8"), valid="0")).failed
    assert '"headerVersions": { "0-1": "0", "2+": "2" }' in union.definition("ClockRequest")
    assert union.definition("Phase") == phase


def test_descriptions_of_the_union_stay_at_fields_and_structs(union: Union) -> None:
    """Those of a struct are beside its field; a release says nothing of either."""
    inner = field("Inner", "Inner", fields=[field("Deep")])
    areas = field("Areas", "[]Area", fields=[field("Label", "string"), inner])
    union.merge("1.0.0", request(field("Id"), ZONES, areas))
    union.edit(
        "ClockRequest", '"name": "Zones",', '"name": "Zones", "about": "The zones.", "structAbout": "A zone.",'
    )
    union.edit("ClockRequest", '"name": "Areas",', '"name": "Areas", "structAbout": "An area.",')
    union.edit("ClockRequest", '"name": "Inner",', '"name": "Inner", "structAbout": "Within it.",')
    union.edit("ClockRequest", '"name": "Deep",', '"name": "Deep", "about": "Below.",')
    for release, valid in (("2.0.0", "0-2"), ("3.0.0", "1-3")):
        told = field("Zones", "[]Zone", fields=[*ZONES["fields"], field("New", versions="2+")], about="Other.")
        assert not union.merge(release, request(field("Id"), told, areas, valid=valid)).failed
        text = union.definition("ClockRequest")
        assert re.findall(r'"name": "(\w+)"|"((?:structA|a)bout)": "(.*?)"', text) == [
            *[("ClockRequest", "", ""), ("", "about", ""), ("Id", "", "")],
            *[("Zones", "", ""), ("", "about", "The zones."), ("", "structAbout", "A zone.")],
            *[("Name", "", ""), ("Offset", "", ""), ("New", "", "")],
            *[("Areas", "", ""), ("", "structAbout", "An area."), ("Label", "", "")],
            *[("Inner", "", ""), ("", "structAbout", "Within it."), ("Deep", "", ""), ("", "about", "Below.")],
        ]


EVERYTHING = """\
// Our own words.
{
  "apiKey": 7,
  "type": "request",
  "listeners": ["broker"],
  "sentTo": "group",
  "name": "ClockRequest",
  "aliases": ["WatchRequest"],
  "about": "Asks for the time.",
  // Of the versions.
  "validVersions": "0-3",
  "deprecatedVersions": "0",
  "latestVersionUnstable": true,
  "flexibleVersions": "1+",
  "headerVersions": { "0": "0", "1+": "2" },
  "fields": [
    // Of the zones.
    { "name": "Zones", "type": "[]Zone", "versions": "0-1", "nullableVersions": "1", "aliases": ["Areas"],
      "about": "The zones.", "structAbout": "A zone.", "fields": [
      { "name": "Name", "type": "string", "versions": "0-1", "flexibleVersions": "none", "mapKey": true,
        "entityType": "topicName", "about": "Its name." }
    ]},
    { "name": "Moon", "type": "int8", "versions": "1+", "default": "4", "enum": "Phase", "ignorable": true },
    { "name": "Data", "type": "bytes", "versions": "0+", "zeroCopy": true },
    { "name": "Extra", "type": "Hour", "taggedVersions": "1+", "tag": 0, "since": "1.5.0" },
    { "name": "Hours", "type": "[]Hour", "versions": "3+" }
  ],
  "commonStructs": [
    // Of hours.
    { "name": "Hour", "versions": "1+", "about": "An hour.", "fields": [
      { "name": "Number", "type": "int8", "versions": "1+" }
    ]}
  ]
}
"""
"""A definition of a union with every attribute."""
UNSAID = {"sentTo", "aliases", "about", "structAbout", "headerVersions", "mapKey", "entityType", "enum", "since"}
"""Attributes that releases need not have."""


def said(value: Any) -> Any:
    """What a release says of a definition."""
    if isinstance(value, list):
        return [said(item) for item in value]
    return {key: said(one) for key, one in value.items() if key not in UNSAID} if isinstance(value, dict) else value


def test_nothing_that_a_union_says_is_lost_in_a_merge(union: Union) -> None:
    definition = json.loads(re.sub(r"^ *//.*\n", "", EVERYTHING, flags=re.MULTILINE))
    assert {*re.findall(r'"(\w+)":', EVERYTHING)} >= {
        re.sub(r"_(\w)", lambda found: found[1].upper(), one.name)
        for declaration in (MessageDecl, StructDecl, FieldDecl)
        for one in fields(declaration)
        if one.name not in ("span", "module", "comment", "comments", "dialect")
    }
    union.merge("2.0.0", said(definition))
    (union.root / "apis" / "ClockRequest.json").write_text(EVERYTHING)
    phase = '{ "type": "enum", "name": "Phase", "valueType": "int8", "values": [{ "name": "NEW", "value": 4 }] }'
    (union.root / "Phase.json").write_text(phase)
    later = said(definition) | {"validVersions": "2-3", "fields": said(definition["fields"][1:])}
    del later["deprecatedVersions"]
    for release, told in (("3.0.0", definition), ("1.9.0", definition), ("2.0.0", definition), ("4.0.0", later)):
        assert not union.merge(release, said(told)).failed
        assert union.definition("ClockRequest") == EVERYTHING


def test_a_file_that_was_moved_stays_where_it_is(union: Union) -> None:
    union.merge("1.0.0", request(field("Id")))
    (union.root / "clocks").mkdir()
    (union.root / "apis" / "ClockRequest.json").rename(union.root / "clocks" / "ClockRequest.json")
    union.merge("2.0.0", request(field("Id"), field("More", versions="2+"), valid="0-2"))
    assert [name for name in union.files() if "Clock" in name] == ["clocks/ClockRequest.json"]


def test_renamed_messages_structs_and_fields_keep_their_names_as_aliases(union: Union, snapshot: Any) -> None:
    union.merge("1.0.0", request(field("Id"), ZONES, tagged("Extra", 0), name="WatchRequest"))
    renamed = field("Areas", "[]Area", fields=[field("Label", "string"), field("Offset", versions="1+")])
    outcome = union.merge("2.0.0", request(field("Number"), renamed, tagged("Spare", 0)))
    assert not outcome.failed
    assert [name for name in union.files() if "apis" in name] == ["apis/ClockRequest.json"]
    assert union.definition("ClockRequest") == snapshot
    assert "WatchRequest" not in (union.root / "layouts.json").read_text()


def test_an_older_release_brings_its_names_as_aliases_too(union: Union) -> None:
    union.merge("2.0.0", request(field("Number")))
    union.merge("1.0.0", request(field("Id"), name="WatchRequest"))
    text = union.definition("ClockRequest")
    assert '"aliases": ["WatchRequest"]' in text
    assert '"name": "Number", "type": "int32", "versions": "0+", "aliases": ["Id"]' in text
    union.merge("0.9.0", request(field("Id"), name="SandRequest"))
    assert '"aliases": ["WatchRequest", "SandRequest"]' in union.definition("ClockRequest")


def test_tags_that_come_to_an_existing_version_say_since_when(union: Union) -> None:
    union.merge("1.0.0", request(field("Id"), tagged("First", 0)))
    union.merge("3.0.0", request(field("Id"), tagged("First", 0), tagged("Second", 1)))
    assert '"tag": 1, "since": "3.0.0"' in union.definition("ClockRequest")
    assert union.definition("ClockRequest").count("since") == 1
    union.merge("2.0.0", request(field("Id"), tagged("First", 0), tagged("Second", 1)))
    assert '"tag": 1, "since": "2.0.0"' in union.definition("ClockRequest")
    assert (union.root / "exceptions.json").read_text() == "[]\n"


def test_each_release_may_bring_a_tag_to_one_version(union: Union) -> None:
    for number, release in enumerate(["1.0.0", "2.0.0", "3.0.0"]):
        outcome = union.merge(release, request(field("Id"), *(tagged(f"T{tag}", tag) for tag in range(number))))
        assert not outcome.failed
    assert union.definition("ClockRequest").count("since") == 2
    assert (union.root / "exceptions.json").read_text() == "[]\n"


def test_a_tag_that_is_taken_back_makes_exceptions_of_those_that_had_it(union: Union) -> None:
    """Releases before it have the bytes of the newest again, and are not listed."""
    union.merge("1.0.0", request(field("Id")))
    union.merge("1.1.0", request(field("Id"), tagged("First", 0)))
    outcome = union.merge("2.0.0", request(field("Id")))
    assert outcome.notes == ["ClockRequest version 1: different bytes in 1.1.0. Add the reason to exceptions.json"]
    assert outcome.proof is not None
    assert outcome.proof.mismatches == ()


def test_tags_in_a_struct_that_is_renamed_later_say_since_when(union: Union) -> None:
    def zones(name: str, *more: Definition) -> Definition:
        return request(field("Zones", f"[]{name}", fields=[field("Id"), *more]))

    union.merge("1.0.0", zones("Zone"))
    union.merge("3.0.0", zones("Area", tagged("Extra", 0)))
    assert not union.merge("2.0.0", zones("Zone", tagged("Extra", 0))).failed
    assert '"since": "2.0.0"' in union.definition("ClockRequest")


@pytest.mark.parametrize(
    "order",
    [("2.0.0", "3.0.0", "1.0.0"), ("1.0.0", "3.0.0", "2.0.0", "0.9.0"), ("1.0.0", "2.0.0", "4.0.0", "3.0.0")],
)
def test_the_release_that_brought_a_tag_does_not_depend_on_the_order(union: Union, order: tuple[str, ...]) -> None:
    for release in order:
        extra = [tagged("Extra", 0)] if release >= "2" else []
        assert not union.merge(release, request(field("Id"), *extra)).failed
    assert '"tag": 0, "since": "2.0.0"' in union.definition("ClockRequest")


def test_tags_may_come_to_what_is_tagged_itself(union: Union) -> None:
    def release(*more: Definition) -> Definition:
        return request(tagged("Extra", 0) | {"type": "Extra", "fields": [field("Id", versions="1+"), *more]})

    union.merge("1.0.0", release())
    union.merge("2.0.0", release(tagged("Late", 0)))
    outcome = union.merge("3.0.0", release(tagged("Late", 0)))
    assert outcome.proof is not None
    assert (outcome.failed, outcome.proof.proved, outcome.proof.excepted) == (False, 6, 0)


def test_tags_of_a_new_version_need_no_since(union: Union) -> None:
    union.merge("1.0.0", request(field("Id")))
    union.merge("2.0.0", request(field("Id"), tagged("Extra", 0, "2+"), valid="0-2"))
    assert "since" not in union.definition("ClockRequest")


@pytest.mark.parametrize("order", [*permutations(("1.0.0", "2.0.0", "3.0.0"))])
def test_the_newest_release_that_has_a_version_says_whether_it_is_deprecated(
    union: Union, order: tuple[str, ...]
) -> None:
    definitions = {
        "1.0.0": request(field("Id"), valid="0-1"),
        "2.0.0": request(field("Id"), valid="0-2", deprecatedVersions="0-1"),
        "3.0.0": request(field("Id"), valid="1-2"),
    }
    for release in order:
        union.merge(release, definitions[release])
    assert '"deprecatedVersions": "0",' in union.definition("ClockRequest")


@pytest.mark.parametrize(("old", "new"), [("1.0.0", "2.0.0"), ("3.9.1", "3.10.0")])
@pytest.mark.parametrize("newest_first", [False, True])
def test_changed_bytes_go_to_the_newer_release_and_are_listed(
    union: Union, old: str, new: str, newest_first: bool
) -> None:
    releases = [(old, data(field("Time", "int32"))), (new, data(field("Time", "int64")))]
    outcome = [union.merge(*release) for release in releases[:: -1 if newest_first else 1]][-1]
    assert outcome.proof is not None
    assert (outcome.proof.proved, outcome.proof.excepted, outcome.failed) == (1, 1, False)
    assert '"type": "int64"' in union.definition("Clock")
    [entry] = json.loads((union.root / "exceptions.json").read_text())
    assert entry == {"message": "Clock", "version": 0, "releases": old, "reason": ""}


def test_fields_that_came_to_an_existing_version_are_listed_too(union: Union) -> None:
    union.merge("1.0.0", request(field("Id")))
    assert not union.merge("2.0.0", request(field("Id"), field("More"))).failed
    entries = json.loads((union.root / "exceptions.json").read_text())
    assert [(entry["version"], entry["releases"]) for entry in entries] == [(0, "1.0.0"), (1, "1.0.0")]


@pytest.mark.parametrize(("flexible", "version"), [("0+", 0), ("none", 1)])
def test_a_version_that_became_flexible_or_ceased_to_be_is_listed(union: Union, flexible: str, version: int) -> None:
    union.merge("1.0.0", request(field("Id")))
    assert not union.merge("2.0.0", request(field("Id"), flexibleVersions=flexible)).failed
    entries = json.loads((union.root / "exceptions.json").read_text())
    assert [(entry["version"], entry["releases"]) for entry in entries] == [(version, "1.0.0")]


def test_exceptions_follow_their_message_to_its_new_name(union: Union) -> None:
    union.merge("1.0.0", request(field("Id"), valid="0", name="WatchRequest"), data(field("Time")))
    union.merge("2.0.0", request(field("Id", "int64"), valid="0", name="WatchRequest"), data(field("Time", "int64")))
    outcome = union.merge("3.0.0", request(field("Id", "int64"), valid="0"), data(field("Time", "int64")))
    assert outcome.proof is not None
    assert (outcome.proof.excepted, outcome.proof.mismatches) == (2, ())
    entries = json.loads((union.root / "exceptions.json").read_text())
    assert [(entry["message"], entry["releases"]) for entry in entries] == [
        ("Clock", "1.0.0"),
        ("ClockRequest", "1.0.0"),
    ]


def test_an_exception_that_names_the_wrong_version_does_not_pass_the_proof(union: Union) -> None:
    union.merge("1.0.0", data(field("Time", "int32"), valid="0-2"))
    union.merge("2.0.0", data(field("Time", "int64"), valid="0-2"))
    path = union.root / "exceptions.json"
    told = []
    for entry in (entries := json.loads(path.read_text())):
        entry["now"] = (entry["version"] + 1) % 3
        told.append(f"Clock version {entry['version']} of 1.0.0: not the bytes of version {entry['now']} either")
    path.write_text(json.dumps(entries))
    outcome = union.merge("3.0.0", data(field("Time", "int64"), valid="0-2"))
    assert outcome.proof is not None
    assert list(map(str, outcome.proof.mismatches)) == told


def test_an_exception_holds_for_the_releases_that_it_names_and_for_no_other(union: Union) -> None:
    for release, kind in (("1.0.0", "int32"), ("1.1.0", "int32"), ("2.0.0", "int64")):
        union.merge(release, data(field("Time", kind)))
    path = union.root / "exceptions.json"
    path.write_text(path.read_text().replace('"1.0.0..1.1.0"', '"1.0.0"'))
    outcome = union.merge("3.0.0", data(field("Time", "int64")))
    assert outcome.proof is not None
    assert list(map(str, outcome.proof.mismatches)) == ["Clock version 0 of 1.1.0: the bytes differ"]


def test_messages_of_a_module_that_was_not_published_are_noted_until_it_is(union: Union) -> None:
    def unpublished() -> list[str] | None:
        noted: list[str] | None = json.loads((union.root / "releases.json").read_text())["2.0.0"].get("unpublished")
        return noted

    both = [request(field("Id")), data(field("Time"))]
    union.merge("1.0.0", *both)
    outcome = merge(union.root, "2.0.0", [union.bundle("2.0.0", both[:1])], Report(), incomplete=True)
    assert not outcome.failed
    assert unpublished() == ["Clock"]
    merge(union.root, "3.0.0", [union.bundle("3.0.0", both[:1])], Report(), incomplete=True)
    assert json.loads((union.root / "releases.json").read_text())["3.0.0"]["unpublished"] == ["Clock"]
    union.merge("2.0.0", *both)
    assert unpublished() is None


@pytest.mark.parametrize(
    ("left", "shown"),
    [(2, "Clock0, Clock1, Clock2, Clock3, Clock4"), (1, "Clock0, Clock1, Clock2, Clock3, Clock4 and 1 more")],
)
def test_a_release_is_not_merged_again_with_fewer_of_its_modules(union: Union, left: int, shown: str) -> None:
    clocks = [data(field("Time"), name=f"Clock{number}") for number in range(7)]
    union.merge("1.0.0", *clocks)
    before = union.files()
    outcome = union.merge("1.0.0", *clocks[-left:])
    assert outcome.conflicts == [
        f"1.0.0 was merged with {shown}, which SOURCE lacks: pass the sources of all modules"
    ]
    assert union.files() == before


@pytest.mark.parametrize("releases", [("1.0.0", "1.1.0", "1.2.0"), ("0.9.0", "0.10.0", "0.11.0")])
def test_the_note_on_other_bytes_names_ranges_of_releases(union: Union, releases: tuple[str, ...]) -> None:
    for release in releases:
        union.merge(release, data(field("Time", "int32")))
    outcome = union.merge("2.0.0", data(field("Time", "int64")))
    named = f"{releases[0]}..{releases[2]}"
    assert outcome.notes == [f"Clock version 0: different bytes in {named}. Add the reason to exceptions.json"]
    assert f'"releases": "{named}"' in (union.root / "exceptions.json").read_text()


def test_the_release_before_is_that_with_the_next_lower_number(union: Union) -> None:
    """0.10 comes after 0.9: for what is advertised, and for what was not published."""
    for release, messages in (
        ("0.9.0", [request(field("Id"), valid="1")]),
        ("0.10.9", [request(field("Id"), valid="1")]),
        ("0.10.10", [request(field("Id"), valid="1"), data(field("Time"))]),
    ):
        union.merge(release, *messages)
    path = union.root / "releases.json"
    facts = json.loads(path.read_text())
    facts["0.10.10"]["apis"]["7"]["advertises"] = "none"
    path.write_text(json.dumps(facts))
    for release in ("0.10.11", "0.11.0"):
        source = union.bundle(release, [request(field("Id"), valid="1")])
        outcome = merge(union.root, release, [source], Report(), incomplete=True)
        before = "0.10.10" if release == "0.10.11" else "0.10.11"
        assert outcome.notes == [f"Clock: assumed not to be advertised, as in {before}"]
        assert json.loads(path.read_text())[release]["unpublished"] == ["Clock"]


def test_an_array_may_become_one_of_structs_with_that_field_alone(union: Union) -> None:
    """The bytes of classic versions stay the same, so there is nothing to except."""
    union.merge("1.0.0", data(field("Ticks", "[]int32")))
    outcome = union.merge("2.0.0", data(field("Ticks", "[]Tick", fields=[field("At")])))
    assert outcome.proof is not None
    assert (outcome.proof.proved, outcome.proof.excepted, outcome.failed) == (2, 0, False)


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_version_numbers_that_became_record_types(union: Union, order: tuple[str, str]) -> None:
    """As Kafka 4.1 did it with the keys of its coordinators [KAFKA-WIRE 39]."""
    old = data(field("Group", "string", "0+"), name="WindingKey", valid="0-1")
    key = {"apiKey": 1, "type": "coordinator-key", "name": "WindingKey", "validVersions": "0",
           "flexibleVersions": "none", "fields": [field("Group", "string", "0")]}  # fmt: skip
    for release in order:
        assert not union.merge(release, {"1.0.0": old, "2.0.0": key}[release]).failed
    [entry] = json.loads((union.root / "exceptions.json").read_text())
    assert (entry["version"], entry["now"]) == (1, 0)
    assert [name for name in union.files() if "Key" in name] == ["coordinators/WindingKey.json"]


def test_merging_a_release_again_changes_nothing(union: Union) -> None:
    first = (request(field("Id"), ZONES), data(field("Time", "int32")))
    second = (request(field("Number"), ZONES, tagged("Extra", 0)), data(field("Time", "int64")))
    union.merge("1.0.0", *first)
    union.merge("2.0.0", *second)
    before = union.files()
    for release, definitions in (("2.0.0", second), ("1.0.0", first), ("2.0.0", second)):
        outcome = union.merge(release, *definitions)
        assert (outcome.failed, outcome.written, outcome.changed, outcome.added) == (False, [], [], [])
        assert union.files() == before


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (data(field("B", versions="1"), field("A", versions="1"), valid="1"), "cannot be arranged in one order"),
        (data(field("A", versions="2"), field("B", versions="2"), valid="2"), "versions 0, 2 have gaps"),
        (data(field("A", "string", "1"), valid="1"), "has the name of a field with another type"),
    ],
)
def test_what_no_definition_can_say_is_refused_and_nothing_is_written(
    union: Union, second: Definition, reason: str
) -> None:
    union.merge("1.0.0", data(field("A"), field("B")))
    before = union.files()
    outcome = union.merge("2.0.0", second)
    assert outcome.failed
    assert any(reason in conflict and "Clock" in conflict for conflict in outcome.conflicts), outcome.conflicts
    assert outcome.written == []
    assert union.files() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"name": "Offset", "type": "int32"', '"name": "Offset", "type": "int64"'),
        ('"name": "Name", "type": "string", "versions": "0+"', '"name": "Name", "type": "string", "versions": "0"'),
        ('"flexibleVersions": "1+"', '"flexibleVersions": "none"'),
    ],
)
def test_a_union_that_was_changed_by_hand_does_not_pass_the_proof(union: Union, old: str, new: str) -> None:
    union.merge("1.0.0", request(ZONES))
    union.merge("1.1.0", request(ZONES))
    union.edit("ClockRequest", old, new)
    before = union.files()
    outcome = union.merge("2.0.0", data(field("Time")))
    assert outcome.proof is not None
    assert list(map(str, outcome.proof.mismatches)) == [
        "ClockRequest version 1 of 1.0.0: the bytes differ",
        "ClockRequest version 1 of 1.1.0: the bytes differ",
    ]
    assert union.files() == before


def test_a_version_that_was_lost_does_not_pass_the_proof(union: Union) -> None:
    union.merge("1.0.0", request(field("Id")))
    union.edit("ClockRequest", '"validVersions": "0-1"', '"validVersions": "1"')
    outcome = union.merge("2.0.0", data(field("Time")))
    assert outcome.proof is not None
    assert list(map(str, outcome.proof.mismatches)) == [
        "ClockRequest version 0 of 1.0.0: the union has no such version"
    ]


@pytest.mark.parametrize(("version", "release"), [(0, "1.0.0"), (5, "1.0.0"), (0, "1.1.0")])
def test_exceptions_that_are_none_do_not_pass_the_proof(union: Union, version: int, release: str) -> None:
    union.merge("1.0.0", request(field("Id")))
    union.merge("1.1.0", data(field("Time")))
    entry = {"message": "ClockRequest", "version": version, "releases": release, "reason": "a guess"}
    (union.root / "exceptions.json").write_text(json.dumps([entry]))
    outcome = union.merge("2.0.0", data(field("Time")))
    assert outcome.proof is not None
    assert list(map(str, outcome.proof.mismatches)) == [
        f"ClockRequest version {version} of {release}: listed as an exception, but equal"
    ]


def test_facts_noted_by_hand_survive_another_merge_of_their_release(union: Union) -> None:
    union.merge("1.0.0", data(field("Time", "int32")), request(field("Id")))
    union.merge("2.0.0", data(field("Time", "int64")), request(field("Id"), valid="1"))
    releases, exceptions = union.root / "releases.json", union.root / "exceptions.json"
    releases.write_text(releases.read_text().replace('"accepts": "1",', '"accepts": "1", "advertises": "0-1",'))
    exceptions.write_text(exceptions.read_text().replace('"reason": ""', '"reason": "wider"'))
    before = union.files()
    assert '"advertises": "0-1"' in before["releases.json"]
    assert not union.merge("2.0.0", data(field("Time", "int64")), request(field("Id"), valid="1")).failed
    assert not union.merge("1.0.0", data(field("Time", "int32")), request(field("Id"))).failed
    assert union.files() == before


def test_what_a_release_advertises_is_taken_to_go_on(union: Union) -> None:
    """Brokers of Kafka 4 advertise versions of Produce that they do not accept [KAFKA-18659]."""
    union.merge("1.0.0", request(field("Id"), valid="1"))
    releases = union.root / "releases.json"
    releases.write_text(releases.read_text().replace('"accepts": "1",', '"accepts": "1", "advertises": "0-1",'))
    outcome = union.merge("2.0.0", request(field("Id"), valid="1-2"))
    assert outcome.notes == ["Clock: assumed to be advertised from version 0, as in 1.0.0"]
    assert '"accepts": "1-2", "advertises": "0-2"' in releases.read_text()


@pytest.mark.parametrize(
    ("release", "notes"),
    [
        ("0.9.0", []),
        ("1.0.1", [f"{name}: assumed to be advertised from version 0, as in 1.0.0" for name in ("Clock", "Bell")]),
        ("1.1.2", [f"{name}: assumed not to be advertised, as in 1.1.1" for name in ("Clock", "Bell")]),
        ("2.0.0", [f"{name}: assumed not to be advertised, as in 1.1.1" for name in ("Clock", "Bell")]),
        ("3.0.1", []),
    ],
)
def test_what_a_release_advertises_is_taken_from_its_line_or_else_from_the_release_before(
    union: Union, release: str, notes: list[str]
) -> None:
    both = request(field("Id"), valid="1"), request(field("Id"), valid="1", name="BellRequest", apiKey=8)
    for known in ("1.0.0", "1.1.0", "1.1.1", "3.0.0"):
        union.merge(known, *both)
    path = union.root / "releases.json"
    facts = json.loads(path.read_text())
    for known, advertises in (("1.0.0", "0-1"), ("1.1.0", "0-1"), ("1.1.1", "none")):
        for api in facts[known]["apis"].values():
            api["advertises"] = advertises
    path.write_text(json.dumps(facts))
    assert union.merge(release, *both).notes == notes


def test_what_is_accepted_again_is_advertised_like_all_else(union: Union) -> None:
    union.merge("1.0.0", request(field("Id"), valid="1"))
    releases = union.root / "releases.json"
    releases.write_text(releases.read_text().replace('"accepts": "1",', '"accepts": "1", "advertises": "0-1",'))
    for release, valid in (("2.0.0", "0-2"), ("1.0.1", "0-1")):
        outcome = union.merge(release, request(field("Id"), valid=valid))
        assert outcome.notes == []
        assert json.loads(releases.read_text())[release]["apis"]["7"].get("advertises") is None
    releases.write_text(releases.read_text().replace('"advertises": "0-1"', '"advertises": "1"'))
    assert union.merge("1.0.2", request(field("Id"), valid="0-1")).notes == []


def test_trap_34_an_unstable_latest_version_is_one_of_the_api(union: Union) -> None:
    """Written on the request it holds for the response too, until a release calls it stable."""
    answer = request(field("Time", "int64"), name="ClockResponse") | {"type": "response"}
    del answer["listeners"]
    union.merge("1.0.0", request(field("Id"), latestVersionUnstable=True), answer)
    union.merge("2.0.0", request(field("Id")), answer)
    facts = json.loads((union.root / "releases.json").read_text())
    assert [facts[release]["apis"]["7"].get("unstable") for release in facts] == ["1", None]
    assert "latestVersionUnstable" not in union.definition("ClockRequest")


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_attributes_that_only_older_versions_need_are_kept(union: Union, order: tuple[str, str]) -> None:
    rich = field("Id", "string", ignorable=True, entityType="groupId", default="x", nullableVersions="0")
    definitions = {"1.0.0": request(rich, valid="0-1"), "2.0.0": request(field("Id", "string"), valid="1-2")}
    for release in order:
        assert not union.merge(release, definitions[release]).failed
    written = '"nullableVersions": "0", "default": "x", "ignorable": true, "entityType": "groupId"'
    assert written in " ".join(union.definition("ClockRequest").split())


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_a_default_that_the_newest_release_took_back_is_gone(union: Union, order: tuple[str, str]) -> None:
    zones = field("Zones", "[]string", nullableVersions="0+")
    definitions = {"1.0.0": request(zones | {"default": "null"}), "2.0.0": request(zones, valid="0-2")}
    for release in order:
        assert not union.merge(release, definitions[release]).failed
    assert '"default"' not in union.definition("ClockRequest")


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_a_default_that_only_the_newest_release_gives_is_kept(union: Union, order: tuple[str, str]) -> None:
    """Also if an older release had a version without the field, of which it said that it may be ignored."""
    old = request(field("Id"), field("Zone", versions="1+", ignorable=True))
    definitions = {
        "1.0.0": old,
        "2.0.0": request(field("Id"), field("Zone", versions="1+", default="7"), valid="1-2"),
    }
    for release in order:
        assert not union.merge(release, definitions[release]).failed
    assert '"default": "7", "ignorable": true' in " ".join(union.definition("ClockRequest").split())


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_what_the_newest_release_says_of_a_tagged_field_counts(union: Union, order: tuple[str, str]) -> None:
    definitions = {
        "1.0.0": request(field("Id"), tagged("Extra", 0, ignorable=True)),
        "2.0.0": request(field("Id"), tagged("Extra", 0), valid="1-2"),
    }
    for release in order:
        assert not union.merge(release, definitions[release]).failed
    assert "ignorable" not in union.definition("ClockRequest")


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_fields_of_old_versions_keep_their_order(union: Union, order: tuple[str, str]) -> None:
    """Also where no version has two of them."""
    old = [field("First", versions="0"), field("Second", versions="1"), field("Third", versions="2")]
    definitions = {"1.0.0": request(field("Id"), *old, valid="0-2"), "2.0.0": request(field("Id"), valid="3")}
    for release in order:
        assert not union.merge(release, definitions[release]).failed
    found = [one["name"] for one in json.loads(union.definition("ClockRequest"))["fields"]]
    assert found == ["Id", "First", "Second", "Third"]


def test_a_former_name_is_known_where_no_version_is_shared(union: Union) -> None:
    union.merge("2.0.0", request(field("Id"), valid="1"))
    union.merge("3.0.0", request(field("Number"), valid="1-2"))
    assert not union.merge("1.0.0", request(field("Id"), valid="0")).failed
    [one] = json.loads(union.definition("ClockRequest"))["fields"]
    assert (one["name"], one["versions"], one["aliases"]) == ("Number", "0+", ["Id"])


def test_a_name_that_was_given_to_another_field_is_a_field_of_its_own(union: Union) -> None:
    union.merge("1.0.0", data(field("B")))
    assert not union.merge("2.0.0", data(field("A", versions="0"), field("B", versions="1"), valid="0-1")).failed
    found = json.loads(union.definition("Clock"))["fields"]
    assert [(one["name"], one["versions"]) for one in found] == [("A", "0"), ("B", "1+")]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (tagged("Extra", 0), field("Extra", versions="2"), "`taggedVersions` of `Extra` has an upper bound"),
        (field("Hour"), field("Hour", nullableVersions="2+"), "field `Hour` cannot be null"),
    ],
)
def test_a_union_that_check_refuses_is_not_written(
    union: Union, old: Definition, new: Definition, finding: str
) -> None:
    """Such as a field that lost its tag, though no range contradicts another."""
    union.merge("1.0.0", request(old))
    before, report = union.files(), Report()
    outcome = merge(union.root, "2.0.0", [union.bundle("2.0.0", [request(new, valid="2")])], report)
    assert outcome.failed
    assert [one.message for one in report.diagnostics] == [finding]
    assert union.files() == before


def test_fields_that_no_version_has_both_of_have_no_order_to_keep(union: Union) -> None:
    first, second = field("First", versions="0"), field("Second", versions="1")
    union.merge("1.0.0", data(first, second, valid="0-1"))
    assert not union.merge("2.0.0", data(second, first, valid="0-1")).failed


def test_a_field_may_keep_its_classic_length_in_versions_of_both(union: Union) -> None:
    name = field("Name", "string", flexibleVersions="none")
    union.merge("1.0.0", request(name, valid="0-1"))
    outcome = union.merge("2.0.0", request(name, valid="2-3"))
    assert outcome.proof is not None
    assert (outcome.proof.proved, outcome.proof.mismatches) == (4, ())
    assert '"flexibleVersions": "none"' in union.definition("ClockRequest").partition('"fields"')[2]


def test_fields_of_old_versions_follow_their_struct_to_its_new_name(union: Union) -> None:
    def zones(name: str, *fields: Definition, valid: str) -> Definition:
        common = {"name": name, "versions": "0+", "fields": [field("Id")]}
        return request(field("Zones", f"[]{name}"), *fields, valid=valid, commonStructs=[common])

    union.merge("1.0.0", zones("Zone", field("Old", "[]Zone", "0"), valid="0-1"))
    assert not union.merge("2.0.0", zones("Area", valid="1-2")).failed
    found = {one["name"]: one["type"] for one in json.loads(union.definition("ClockRequest"))["fields"]}
    assert found == {"Zones": "[]Area", "Old": "[]Area"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            [field("X", versions="0"), field("Y"), field("Z", versions="1")],
            [field("A"), field("B")],
            "`A` is `X` in one version and `Y` in version 1",
        ),
        ([field("Y")], [field("A", versions="0"), field("B", versions="1")], "`Y` is both `A` and `B`"),
    ],
)
def test_releases_that_disagree_about_what_a_field_is_are_refused(
    union: Union, old: list[Definition], new: list[Definition], reason: str
) -> None:
    union.merge("1.0.0", data(*old, valid="0-1"))
    before = union.files()
    outcome = union.merge("2.0.0", data(*new, valid="0-1"))
    assert any(reason in conflict for conflict in outcome.conflicts), outcome.conflicts
    assert union.files() == before


def test_a_field_with_the_tag_of_another_is_not_the_one_of_its_name(union: Union) -> None:
    union.merge("1.0.0", request(field("X", versions="0"), tagged("Y", 0)))
    before = union.files()
    outcome = union.merge("2.0.0", request(tagged("X", 0), valid="1-2"))
    conflict = "ClockRequest: `ClockRequest.X` has the name of a field with another type"
    assert (outcome.conflicts, union.files()) == ([conflict], before)


def test_an_array_of_structs_and_one_struct_are_different_fields(union: Union) -> None:
    inner = [field("Name", "string")]
    union.merge("1.0.0", data(field("Zone", "[]Zone", "0", fields=inner)))
    outcome = union.merge("2.0.0", data(field("Zone", "Zone", "1", fields=inner), valid="1"))
    assert outcome.conflicts == ["Clock: `Clock.Zone` has the name of a field with another type"]


def record(name: str, *fields: Definition, key: int = 3) -> Definition:
    return {"apiKey": key, "type": "metadata", "name": name, "validVersions": "0", "flexibleVersions": "0+",
            "fields": list(fields)}  # fmt: skip


def test_a_record_is_known_by_its_number_and_most_of_its_fields(union: Union) -> None:
    a, b, c = field("A"), field("B"), field("C")
    before = record("TickRecord", a, b, c), record("OtherRecord", a, key=4), record("HalfRecord", a, b, key=5)
    after = (
        record("TockRecord", a, b, field("D")),
        record("AnotherRecord", field("X"), key=4),
        record("BetterHalfRecord", a, c, key=5),
    )
    union.merge("1.0.0", *before)
    union.merge("2.0.0", *after)
    assert [name for name in union.files() if "metadata/" in name] == [
        "metadata/AnotherRecord.json",
        "metadata/BetterHalfRecord.json",
        "metadata/HalfRecord.json",
        "metadata/OtherRecord.json",
        "metadata/TockRecord.json",
    ]
    assert '"aliases": ["TickRecord"]' in union.definition("TockRecord")


def test_what_was_not_published_is_noted_under_its_new_name(union: Union) -> None:
    others = request(field("Id")), record("ThirdRecord", field("Y"), key=5)
    union.merge("1.0.0", record("TickRecord", field("A")), *others)
    merge(union.root, "2.0.0", [union.bundle("2.0.0", others[:1])], Report(), incomplete=True)
    union.merge("3.0.0", record("TockRecord", field("A")), *others)
    noted = json.loads((union.root / "releases.json").read_text())["2.0.0"]["unpublished"]
    assert noted == ["ThirdRecord", "TockRecord"]


def test_a_message_without_a_number_is_known_by_a_former_name(union: Union) -> None:
    union.merge("2.0.0", data(field("Time")))
    union.edit("Clock", '"name": "Clock",', '"name": "Clock",\n  "aliases": ["Watch"],')
    before = union.definition("Clock")
    assert not union.merge("1.0.0", data(field("Time"), name="Watch")).failed
    assert (union.definition("Clock"), [name for name in union.files() if "/" in name]) == (
        before,
        ["data/Clock.json"],
    )


def test_a_record_that_is_still_there_was_not_renamed(union: Union) -> None:
    """Records of different logs have the same numbers."""
    tick = record("TickRecord", field("A"), field("B"))
    union.merge("1.0.0", tick)
    for release in ("2.0.0", "1.1.0"):
        assert not union.merge(release, record("TockRecord", field("A"), field("B")), tick).failed
    assert [name for name in union.files() if "metadata/" in name] == [
        "metadata/TickRecord.json",
        "metadata/TockRecord.json",
    ]
    assert "aliases" not in union.definition("TockRecord")


def test_what_became_one_version_has_the_names_of_the_newest(union: Union) -> None:
    fields = field("Old", "string", "0"), field("Group", "string", "1+")
    union.merge("1.0.0", data(*fields, name="WindingKey", valid="0-1"))
    key = {"apiKey": 1, "type": "coordinator-key", "name": "WindingKey", "validVersions": "0",
           "flexibleVersions": "none", "fields": [field("Group", "string", "0")]}  # fmt: skip
    assert not union.merge("2.0.0", key).failed
    assert "Old" not in union.definition("WindingKey")


def test_everything_a_definition_can_say_is_written(union: Union, snapshot: Any) -> None:
    """Our example protocol, merged as a release: its files without descriptions, in the writer's form."""
    outcome = union.merge("1.0.0", CLOCKWORK)
    assert outcome.proof is not None
    assert (len(outcome.added), outcome.proof.mismatches, outcome.conflicts) == (10, (), [])
    assert {name: text for name, text in union.files().items() if "/" in name} == snapshot


def test_definitions_with_findings_are_not_merged(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{ "type": "data" }')
    report = Report()
    outcome = merge(tmp_path / "union", "1.0.0", [tmp_path / "bad.json"], report)
    assert [found.code.number for found in report.diagnostics] == ["K013"]
    assert outcome.failed
    assert not (tmp_path / "union").exists()


@pytest.mark.parametrize("name", ["/{}/outside", "../../{}/outside", "a/b", "..", "Clock\n"])
def test_a_merge_writes_nothing_outside_of_the_union(union: Union, tmp_path: Path, name: str) -> None:
    union.merge("1.0.0", data(field("Time", "int64")))
    before = union.files()
    source = tmp_path / "hostile.jsonl"
    source.write_text(json.dumps(data(field("Time", "int64"), name=name.format(tmp_path.as_posix()[1:]))))
    report = Report()
    outcome = merge(union.root, "2.0.0", [source], report)
    assert (outcome.failed, outcome.written) == (True, [])
    assert [one.code.number for one in report.diagnostics] == ["K202"]
    assert union.files() == before
    assert not list(tmp_path.rglob("outside*"))


def test_a_union_whose_files_are_elsewhere_is_left_alone(union: Union, tmp_path: Path) -> None:
    union.merge("1.0.0", data(field("Time", "int64")))
    (union.root / "data").rename(tmp_path / "elsewhere")
    (union.root / "data").symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere" / "Clock.json").read_text()
    outcome = union.merge("2.0.0", data(field("Time", "int64"), valid="0-1"))
    (conflict,) = outcome.conflicts
    assert "data/Clock.json is not a file for one definition in" in conflict
    assert (tmp_path / "elsewhere" / "Clock.json").read_text() == before


def test_a_bundle_in_a_union_is_not_replaced_by_one_of_its_messages(union: Union) -> None:
    union.root.mkdir()
    bundle = "\n".join(map(json.dumps, [data(field("Time", "int64")), data(name="Alarm")]))
    (union.root / "all.jsonl").write_text(bundle)
    assert union.merge("1.0.0", data(field("Time", "int64"))).failed
    assert (union.root / "all.jsonl").read_text() == bundle


def test_a_merge_on_a_full_disk_changes_nothing(union: Union, monkeypatch: pytest.MonkeyPatch) -> None:
    union.merge("1.0.0", request(field("Id")), data(field("Time", "int64")))
    before = union.files()
    written: list[Path] = []

    def write_bytes(path: Path, text: bytes) -> int:
        written.append(path)
        if len(written) > 2:
            raise OSError("No space left on device")
        return len(text)

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(OSError, match="No space"):
        union.merge("2.0.0", request(field("Id"), field("New", versions="2+"), valid="0-2"))
    assert union.files() == before
    assert not (union.root / STAGE).exists()


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_a_struct_that_other_fields_have_in_other_versions_is_one(union: Union, order: tuple[str, str]) -> None:
    releases = {
        "1.0.0": request(field("Areas", "[]Zone", fields=[field("Name", "string")]), valid="0"),
        "2.0.0": request(field("Zones", "[]Zone", "1+", fields=[field("Name", "string", "1+")]), valid="1"),
    }
    for release in order:
        assert not union.merge(release, releases[release]).failed
    assert union.definition("ClockRequest").count('"name": "Zone"') == 1


@pytest.mark.parametrize("order", [("1.0.0", "2.0.0"), ("2.0.0", "1.0.0")])
def test_what_one_release_knows_of_a_field_is_kept(union: Union, order: tuple[str, str]) -> None:
    for release in order:
        more: Definition = {"mapKey": True, "entityType": "topicName"} if release == "1.0.0" else {}
        zones = field("Zones", "[]Zone", fields=[field("Name", "string", **more)])
        assert not union.merge(release, request(zones)).failed
    assert '"mapKey": true, "entityType": "topicName"' in union.definition("ClockRequest")


def test_fields_and_structs_that_no_version_has_are_left_out(union: Union) -> None:
    never = field("Never", "Lost", versions="5+", fields=[field("Deep", versions="5+")])
    union.merge("1.0.0", request(field("Id"), never), data(field("Time"), field("Late", versions="1+")))
    for name, kept in (("ClockRequest", "Id"), ("Clock", "Time")):
        assert re.findall(r'"name": "(\w+)"', union.definition(name)) == [name, kept]


@pytest.mark.parametrize("versions", [(0,), (0, 1), (1, 2), (2,), (3,)], ids=str)
def test_a_draft_of_fewer_versions_says_nothing_of_the_others(versions: tuple[int, ...], snapshot: Any) -> None:
    """Not the number of a tag either, which only the others have."""
    inner = field("Inner", "[]Inner", versions="2+", fields=[field("Deep"), field("Deeper", versions="3")])
    text = json.dumps(
        request(
            field("Id", "string", nullableVersions="3+"),
            field("Late", "string", taggedVersions="2+", tag=4, flexibleVersions="3+"),
            field("Early", versions="0-1", ignorable=True, default="7"),
            inner,
            valid="0-3",
            deprecatedVersions="0-2",
        )
    )
    [message] = resolve([parse(Source("ClockRequest.json", text), Report())], Report()).messages
    assert definition_text(draft_of(message).limited_to(frozenset(versions))) == snapshot


def test_a_struct_has_the_versions_in_which_it_is_reached() -> None:
    """A rehearsal takes fields out of a draft, here the one that has the struct in version 1."""
    zone = {"name": "Zone", "versions": "1+", "fields": [field("Offset", versions="1+"), field("Old", versions="1")]}
    text = request(field("Early", "Zone", "1+"), field("Late", "Zone", "2+"), valid="0-2", commonStructs=[zone])
    [message] = resolve([parse(Source("ClockRequest.json", json.dumps(text)), Report())], Report()).messages
    draft = draft_of(message)
    del draft.root.fields[0]
    draft.drop_unused_structs()
    assert {one.name: set(one.live) for one in draft.structs["Zone"].fields} == {"Offset": {2}}
