"""Layouts, spelled out: what every construct amounts to in classic and in flexible versions.

The notation is that of ``kwirec.lowering.layout``; what the bytes must be is in section 3 of Kafka's protocol
notes, numbers in brackets.
"""

from __future__ import annotations

from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, field, request, response
from kwirec.diagnostics.source import Source
from kwirec.frontend import parse
from kwirec.ir import resolve
from kwirec.lowering import lower
from kwirec.lowering.headers import header_versions

ALWAYS = '"versions": "0+"'
NULLABLE = '"versions": "0+", "nullableVersions": "0+"'


def tagged(tag: int = 0, versions: str = "2+") -> str:
    return f'"versions": "{versions}", "taggedVersions": "{versions}", "tag": {tag}'


@pytest.mark.parametrize(
    ("type_", "classic", "flexible"),
    [
        ("bool", "bool", "bool"),
        ("int8", "i8", "i8"),
        ("int16", "i16", "i16"),
        ("uint16", "u16", "u16"),
        ("int32", "i32", "i32"),
        ("uint32", "u32", "u32"),
        ("int64", "i64", "i64"),
        ("float64", "f64", "f64"),
        ("uuid", "uuid", "uuid"),
        ("string", "str16", "cstr"),
        ("bytes", "bytes32", "cbytes"),
        ("records", "bytes32", "cbytes"),
        ("[]int32", "[n i32]", "[c i32]"),
        ("[]string", "[n str16]", "[c cstr]"),
    ],
)
def test_types(lowered: Any, type_: str, classic: str, flexible: str) -> None:
    layouts = lowered(f'{{ "name": "A", "type": "{type_}", {ALWAYS} }}')
    assert [layouts.spelled(version) for version in range(4)] == [classic] * 2 + [f"{flexible} t()"] * 2
    assert [layouts.by_version[version].is_flexible for version in range(4)] == [False, False, True, True]
    assert layouts.layouts.count == 4
    assert layouts.layouts.distinct == 2
    assert layouts.by_version[0] is layouts.by_version[1]


@pytest.mark.parametrize(
    ("type_", "classic", "flexible"),
    [
        ("string", "str16?", "cstr?"),
        ("bytes", "bytes32?", "cbytes?"),
        ("records", "bytes32?", "cbytes?"),
        ("[]string", "[n? str16]", "[c? cstr]"),
    ],
)
def test_nullable_is_the_outermost_type_only(lowered: Any, type_: str, classic: str, flexible: str) -> None:
    """[15] elements of arrays are never null"""
    layouts = lowered(f'{{ "name": "A", "type": "{type_}", {NULLABLE} }}')
    assert (layouts.spelled(0), layouts.spelled(2)) == (classic, f"{flexible} t()")


@pytest.mark.parametrize(
    ("type_", "zero", "other"),
    [
        ("int8", '"0"', '"1"'),
        ("bool", '"false"', '"true"'),
        ("float64", '"0.0"', '"0.5"'),
        ("string", '""', '"x"'),
        ("uuid", '"AAAAAAAAAAAAAAAAAAAAAA"', '"AAAAAAAAAAAAAAAAAAAAAQ"'),
    ],
)
def test_a_zero_that_is_written_as_default_changes_no_layout(lowered: Any, type_: str, zero: str, other: str) -> None:
    none, spelled, changed = (
        lowered(f'{{ "name": "A", "type": "{type_}", {tagged()}{default} }}').fingerprints()
        for default in ("", f', "default": {zero}', f', "default": {other}')
    )
    assert none == spelled
    assert (none[0], none[2] == changed[2]) == (changed[0], False)


def test_nullable_and_flexible_versions_count_where_the_field_is(lowered: Any) -> None:
    """[32] nullable versions may start before the field's own, or after"""
    layouts = lowered(
        '{ "name": "A", "type": "string", "versions": "1+", "nullableVersions": "0+" },'
        '{ "name": "B", "type": "string", "versions": "0+", "nullableVersions": "3+" }'
    )
    assert [layouts.spelled(v) for v in range(4)] == ["str16", "str16? str16", "cstr? cstr t()", "cstr? cstr? t()"]


@pytest.mark.parametrize("type_", ["string", "bytes"])
def test_flexible_versions_of_a_field_change_its_length_and_nothing_else(lowered: Any, type_: str) -> None:
    """[4] as the client id of request header 2: the struct still ends with tags"""
    classic = {"string": "str16", "bytes": "bytes32"}[type_]
    layouts = lowered(f'{{ "name": "A", "type": "{type_}", {ALWAYS}, "flexibleVersions": "none" }}')
    assert layouts.spelled(2) == f"{classic} t()"
    layouts = lowered(f'{{ "name": "A", "type": "{type_}", {ALWAYS}, "flexibleVersions": "3+" }}')
    assert (layouts.spelled(2), layouts.spelled(3)) == (f"{classic} t()", f"c{type_[:5].replace('strin', 'str')} t()")


def test_a_half_has_a_run_for_each_way_to_code_a_field(lowered: Any) -> None:
    """Null is a matter of the run's versions, except for structs, which it gives a mark [25]."""
    inner = f'"fields": [ {{ "name": "X", "type": "int8", {ALWAYS} }} ]'
    layouts = lowered(
        '{ "name": "Text", "type": "string", "versions": "1+", "nullableVersions": "3+", "flexibleVersions": "3+" },'
        f'{{ "name": "Old", "type": "int8", "versions": "0-1" }},'
        f'{{ "name": "Spot", "type": "Spot", {ALWAYS}, "nullableVersions": "1+", {inner} }},'
        f'{{ "name": "Tag", "type": "[]Item", "versions": "0+", "taggedVersions": "3+", "tag": 0, {inner} }}'
    )
    found = {}
    for half in layouts.layouts.halves["Clock"]:
        for one in half.root.fields:
            runs = [(run.versions, run.tagged, run.compact, run.nullable) for run in one.runs]
            found[half.flexible, one.path] = runs
    assert found == {
        (False, "text"): [((1,), False, False, ())],
        (False, "old"): [((0, 1), False, False, ())],
        (False, "spot"): [((0,), False, False, ()), ((1,), False, False, (1,))],
        (False, "tag"): [((0, 1), False, False, ())],
        (True, "text"): [((2,), False, False, ()), ((3,), False, True, (3,))],
        (True, "old"): [],
        (True, "spot"): [((2, 3), False, True, (2, 3))],
        (True, "tag"): [((2,), False, True, ()), ((3,), True, True, ())],
    }
    _, flexible = layouts.layouts.halves["Clock"]
    assert [one.path for one, _ in flexible.root.at(3)] == ["text", "spot", "spot.x", "tag", "tag[].x"]
    assert [section.struct.name for section in flexible.sections] == ["Clock"]


def test_structs(lowered: Any) -> None:
    """[17] every struct of a flexible version ends with its tags, also one without fields"""
    layouts = lowered(
        f'{{ "name": "A", "type": "A", {ALWAYS}, "fields": [ {{ "name": "X", "type": "int8", {ALWAYS} }} ] }},'
        f'{{ "name": "B", "type": "[]B", {ALWAYS}, "fields": [] }}'
    )
    assert (layouts.spelled(0), layouts.spelled(2)) == ("i8 [n ]", "i8 t() [c t()] t()")


def test_nullable_struct(lowered: Any) -> None:
    """[25] a mark before the struct, in classic and flexible versions"""
    layouts = lowered(
        f'{{ "name": "A", "type": "A", {NULLABLE}, "fields": [ {{ "name": "X", "type": "int8", {ALWAYS} }} ] }}'
    )
    assert (layouts.spelled(0), layouts.spelled(2)) == ("?(i8)", "?(i8 t()) t()")


def test_tagged_fields(lowered: Any) -> None:
    """[19] in ascending order, [23] their defaults are part of the bytes, as a value equal to it is not written"""
    layouts = lowered(
        f'{{ "name": "B", "type": "int32", {tagged(1)}, "default": "-1" }},'
        f'{{ "name": "C", "type": "string", {tagged(2, "3+")}, "default": "x y" }},'
        f'{{ "name": "A", "type": "[]int8", {tagged(0)} }},'
        f'{{ "name": "Plain", "type": "int8", {ALWAYS} }}'
    )
    assert [layouts.spelled(version) for version in range(4)] == [
        "i8",
        "i8",
        "i8 t(0:[c i8]=- 1:i32=-1)",
        "i8 t(0:[c i8]=- 1:i32=-1 2:cstr='x y')",
    ]


def test_tagged_structs(lowered: Any) -> None:
    """[17] [25] [26] with tags of their own; null in a struct, and null as the default"""
    fields = f'"fields": [ {{ "name": "X", "type": "bytes", {tagged()}, "nullableVersions": "2+" }} ]'
    layouts = lowered(
        f'{{ "name": "A", "type": "A", {tagged(0)}, {fields} }},'
        f'{{ "name": "B", "type": "B", {tagged(1)}, "nullableVersions": "2+", "default": "null", {fields} }}'
    )
    inner = "t(0:cbytes?=-)"
    assert layouts.spelled(2) == f"t(0:{inner}=- 1:?({inner})=null)"


def test_a_field_tagged_later_than_it_came_is_first_a_plain_one(lowered: Any) -> None:
    layouts = lowered('{ "name": "A", "type": "int8", "versions": "0+", "taggedVersions": "3+", "tag": 0 }')
    assert [layouts.spelled(version) for version in (1, 2, 3)] == ["i8", "i8 t()", "t(0:i8=-)"]


def test_common_structs_are_filtered_by_the_version_of_the_message(lowered: Any) -> None:
    """[35]"""
    layouts = lowered(
        f'{{ "name": "First", "type": "Zone", {ALWAYS} }}, {{ "name": "More", "type": "[]Zone", "versions": "1+" }}',
        f'{{ "name": "Zone", "versions": "0+", "fields": [ {{ "name": "X", "type": "int8", {ALWAYS} }},'
        ' { "name": "Y", "type": "int16", "versions": "1-2" } ] }',
    )
    assert [layouts.spelled(version) for version in range(4)] == [
        "i8",
        "i8 i16 [n i8 i16]",
        "i8 i16 t() [c i8 i16 t()] t()",
        "i8 t() [c i8 t()] t()",
    ]


def test_trap_37_what_has_no_effect_on_the_bytes_is_not_in_the_layout(lowered: Any) -> None:
    """[36] map keys too, and names"""
    plain = lowered(f'{{ "name": "A", "type": "bytes", {ALWAYS} }}')
    rich = lowered(
        f'{{ "name": "B", "type": "bytes", {ALWAYS}, "about": "x", "zeroCopy": true, "ignorable": true,'
        ' "mapKey": true, "aliases": ["A"], "entityType": "groupId", "default": "" }'
    )
    assert plain.fingerprints() == rich.fingerprints()
    assert plain.by_version[0] == rich.by_version[0]


def test_records_are_the_same_bytes_as_bytes(lowered: Any) -> None:
    """[28]"""
    raw = lowered(f'{{ "name": "A", "type": "bytes", {NULLABLE} }}')
    records = lowered(f'{{ "name": "A", "type": "records", {NULLABLE} }}')
    assert dict(raw.by_version) == dict(records.by_version)
    assert raw.fingerprints() == records.fingerprints()
    assert "records" in records.text
    assert "records" not in raw.text


def test_an_array_of_a_struct_with_one_field_is_the_array_of_that_field_until_there_are_tags(lowered: Any) -> None:
    plain = lowered(f'{{ "name": "A", "type": "[]int32", {ALWAYS} }}')
    struct = lowered(
        f'{{ "name": "A", "type": "[]A", {ALWAYS}, "fields": [ {{ "name": "X", "type": "int32", {ALWAYS} }} ] }}'
    )
    assert [a == b for a, b in zip(plain.fingerprints(), struct.fingerprints(), strict=True)] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    "change",
    [
        ('"type": "int32"', '"type": "uint32"'),
        ('"nullableVersions": "0+"', '"nullableVersions": "none"'),
        ('"tag": 0', '"tag": 1'),
        ('"default": "7"', '"default": "8"'),
        ('"flexibleVersions": "none"', '"flexibleVersions": "2+"'),
        ('"name": "X", "type": "int8"', '"name": "X", "type": "int16"'),
    ],
)
def test_what_has_an_effect_on_the_bytes_is(lowered: Any, change: tuple[str, str]) -> None:
    fields = (
        f'{{ "name": "A", "type": "int32", {tagged()}, "default": "7" }},'
        f'{{ "name": "B", "type": "string", {NULLABLE}, "flexibleVersions": "none" }},'
        f'{{ "name": "C", "type": "[]C", {ALWAYS}, "fields": [ {{ "name": "X", "type": "int8", {ALWAYS} }} ] }}'
    )
    assert fields.count(change[0]) == 1
    before, after = lowered(fields), lowered(fields.replace(*change))
    assert before.fingerprints()[2] != after.fingerprints()[2]
    assert before.by_version[2] != after.by_version[2]


def test_fingerprints_never_change(lowered: Any) -> None:
    """They are kept in ``layouts.json``: another digest of the same bytes would void all that evidence."""
    layouts = lowered(
        f'{{ "name": "A", "type": "string", {NULLABLE} }}, {{ "name": "B", "type": "[]uuid", {ALWAYS} }},'
        f'{{ "name": "C", "type": "float64", {tagged(0)}, "default": "1.5" }},'
        f'{{ "name": "D", "type": "uuid", {tagged(1)}, "default": "AAAAAAAAAAAAAAAAAAAAAQ" }},'
        f'{{ "name": "E", "type": "bool", {tagged(2, "3+")}, "default": true }}'
    )
    assert layouts.spelled(3) == "cstr? [c uuid] t(0:f64=1.5 1:uuid=AAAAAAAAAAAAAAAAAAAAAQ 2:bool=true)"
    assert layouts.fingerprints() == ["b8bd56e4c4337748", "b8bd56e4c4337748", "ec4be025ea6c52cb", "74a382fa56e2fdf5"]


def test_described_with_names(lowered: Any, snapshot: Any) -> None:
    layouts = lowered(
        f'{{ "name": "Zones", "type": "[]Zone", {NULLABLE}, "fields": ['
        f' {{ "name": "Name", "type": "string", {ALWAYS} }}, {{ "name": "Raw", "type": "records", {NULLABLE} }} ] }},'
        f'{{ "name": "Master", "type": "Master", {tagged()}, "nullableVersions": "2+", "fields": ['
        f' {{ "name": "Ids", "type": "[]int32", {tagged()}, "nullableVersions": "2+", "default": "null" }} ] }}'
    )
    assert layouts.text == snapshot


def headers(text: str) -> dict[int, int]:
    report = Report()
    [message] = resolve([parse(Source("Clock.json", text), report)], report).messages
    assert report.diagnostics == []
    return header_versions(message)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (request(), {0: 1, 1: 2, 2: 2}),
        (response(), {0: 0, 1: 1, 2: 1}),
        (clock(), {}),
        (request(validVersions="1-2", flexibleVersions="none"), {1: 1, 2: 1}),
        (request(headerVersions={"0-1": "1", "2+": "2"}), {0: 1, 1: 1, 2: 2}),
        (request(validVersions="1-2", headerVersions={"0-1": "1", "2+": "2"}), {1: 1, 2: 2}),
        (request(name="ControlledShutdownRequest", apiKey=7), {0: 0, 1: 2, 2: 2}),
        (request(name="ControlledShutdownRequest", apiKey=7, validVersions="1-2"), {1: 2, 2: 2}),
        (request(name="ControlledShutdownRequest"), {0: 1, 1: 2, 2: 2}),
        (response(name="ApiVersionsResponse", apiKey=18), {0: 0, 1: 0, 2: 0}),
        (response(name="ApiVersionsResponse"), {0: 0, 1: 1, 2: 1}),
    ],
)
def test_header_versions(text: str, expected: dict[int, int]) -> None:
    assert headers(text) == expected


def test_a_layout_that_two_messages_have_counts_once() -> None:
    report = Report()
    texts = clock(field("A")), clock(field("B"), name="Alarm")
    layouts = lower(
        resolve([parse(Source(f"{number}.json", text), report) for number, text in enumerate(texts)], report)
    )
    assert (layouts.count, layouts.distinct) == (6, 2)
