"""What is told apart, and what Kafka's own checker of definitions gets wrong.

A finding is compared as rule, path and versions; notes only where a case is about them.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diagnostics.examples import ABSENT, Node, clock, field, files, request, response, struct
from kwirec.diagnostics.source import Source
from kwirec.diff import Judgement, compare
from kwirec.diff import changes as c
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from kwirec.lowering import lower_message
from kwirec.lowering.layout import describe
from tests.diff.support import Diff, Load

TAG = {"versions": "1+", "taggedVersions": "1+"}
FROM_2 = {"flexibleVersions": "2+"}


def facts(judgement: Judgement, *, notes: bool = False) -> list[str]:
    """``RULE path versions`` of all findings, without those that are mere notes."""
    return [
        f"{one.rule.name} {one.diagnostic.field_path or '-'} {','.join(map(str, sorted(one.change.versions)))}"
        for one in judgement.findings
        if notes or one.severity is not Severity.NOTE
    ]


def zones(*fields: Node, name: str = "Zones", type_: str = "[]Zone") -> Node:
    return field(name, type_, fields=list(fields))


CASES: dict[str, tuple[str, str, list[str]]] = {
    # Renames, reorderings, retypings
    "two fields of a type change places": (
        clock(field("A", "int8"), field("B", "int8")),
        clock(field("B", "int8"), field("A", "int8")),
        ["FIELD_REORDERED A 0,1,2"],
    ),
    "one field is renamed among others of its type": (
        clock(field("A", "int8"), field("B", "int8"), field("C", "int8")),
        clock(field("A", "int8"), field("X", "int8"), field("C", "int8")),
        ["FIELD_RENAMED X 0,1,2"],
    ),
    "all fields are renamed": (
        clock(field("A", "int8"), field("B", "int16")),
        clock(field("X", "int8"), field("Y", "int16")),
        ["FIELD_RENAMED X 0,1,2", "FIELD_RENAMED Y 0,1,2"],
    ),
    "a former name is known wherever the field stands": (
        clock(field("A", "int8"), field("B")),
        clock(field("B"), field("X", "int8", aliases=["A"])),
        ["FIELD_RENAMED X 0,1,2", "FIELD_REORDERED X 0,1,2"],
    ),
    "a former name is known on either side": (
        clock(field("A", "int8", aliases=["X"]), field("B")),
        clock(field("B"), field("X", "int8")),
        ["FIELD_RENAMED X 0,1,2", "FIELD_REORDERED X 0,1,2"],
    ),
    "a tagged field that ends where a plain one comes is no rename": (
        clock(field("B", "int8"), field("T", **TAG, tag=0), flexibleVersions="1+"),
        clock(field("B", "int8"), field("X"), flexibleVersions="1+"),
        ["FIELD_ADDED_TO_VERSION X 0,1,2", "TAG_REMOVED T 1,2"],
    ),
    "another name and another type is another field": (
        clock(field("A", "int8")),
        clock(field("X", "int16")),
        ["FIELD_REMOVED_FROM_VERSION A 0,1,2", "FIELD_ADDED_TO_VERSION X 0,1,2"],
    ),
    "a field that goes before another and one that comes after it are two": (
        clock(field("A", "int8"), field("P", "int16")),
        clock(field("P", "int16"), field("X", "int8")),
        ["FIELD_REMOVED_FROM_VERSION A 0,1,2", "FIELD_ADDED_TO_VERSION X 0,1,2"],
    ),
    "a field moves to the front": (
        clock(field("A"), field("B"), field("C"), field("D")),
        clock(field("D"), field("A"), field("B"), field("C")),
        ["FIELD_REORDERED D 0,1,2"],
    ),
    "a struct is renamed and a field in it": (
        clock(zones(field("Name"))),
        clock(zones(field("City"), type_="[]Region", name="Regions")),
        ["FIELD_RENAMED Regions 0,1,2", "STRUCT_RENAMED Regions 0,1,2", "FIELD_RENAMED Regions.City 0,1,2"],
    ),
    "a struct for several fields is renamed once": (
        clock(field("A", "T"), field("B", "T"), commonStructs=[struct("T", field("Millis", "int64"))]),
        clock(field("A", "U"), field("B", "U"), commonStructs=[struct("U", field("Millis", "int64"))]),
        ["STRUCT_RENAMED A 0,1,2"],
    ),
    "a field in a common struct changes once": (
        clock(field("A", "T"), field("B", "[]T"), commonStructs=[struct("T", field("Millis", "int64"))]),
        clock(field("A", "T"), field("B", "[]T"), commonStructs=[struct("T", field("Millis", "int32"))]),
        ["FIELD_TYPE_CHANGED T.Millis 0,1,2"],
    ),
    "inline and common structs are the same": (
        clock(field("A", "T", fields=[field("Millis", "int64")])),
        clock(field("A", "T"), commonStructs=[struct("T", field("Millis", "int64"))]),
        [],
    ),
    # Types
    "same width": (
        clock(field("A", "int32"), field("B", "[]int16"), field("C", "int8")),
        clock(field("A", "uint32"), field("B", "[]uint16"), field("C", "bool")),
        [f"FIELD_TYPE_CHANGED_SAME_BYTES {name} 0,1,2" for name in "ABC"],
    ),
    "another width": (
        clock(field("A", "int32"), field("B", "[]uint16"), field("C", "bool"), field("D", "int64")),
        clock(field("A", "uint16"), field("B", "[]uint32"), field("C", "uint16"), field("D", "float64")),
        [f"FIELD_TYPE_CHANGED {name} 0,1,2" for name in "ABCD"],
    ),
    "string and bytes agree where lengths are compact": (
        clock(field("A", "string")),
        clock(field("A", "bytes")),
        ["FIELD_TYPE_CHANGED A 0", "FIELD_TYPE_CHANGED_SAME_BYTES A 1,2"],
    ),
    "array of a primitive becomes one of structs: flexible structs have tags": (
        clock(field("A", "[]int32")),
        clock(zones(field("Id", "int32"), name="A")),
        ["FIELD_TYPE_CHANGED_SAME_BYTES A 0", "FIELD_TYPE_CHANGED A 1,2"],
    ),
    "array of a primitive becomes one of larger structs": (
        clock(field("A", "[]int32"), flexibleVersions="none"),
        clock(zones(field("Id", "int32"), field("Name"), name="A"), flexibleVersions="none"),
        ["FIELD_TYPE_CHANGED A 0,1,2"],
    ),
    "array becomes its element": (
        clock(field("A", "[]int32")),
        clock(field("A", "int32")),
        ["FIELD_TYPE_CHANGED A 0,1,2"],
    ),
    "records are bytes": (
        clock(field("A", "bytes", nullableVersions="0+", default="null")),
        clock(field("A", "records", nullableVersions="0+")),
        ["FIELD_TYPE_CHANGED_SAME_BYTES A 0,1,2"],
    ),
    "nullable struct, array and bytes": (
        clock(field("A", "T", fields=[field("B")]), field("C", "[]int8"), field("D", "bytes")),
        clock(
            field("A", "T", fields=[field("B")], nullableVersions="2+"),
            field("C", "[]int8", nullableVersions="2+"),
            field("D", "bytes", nullableVersions="2+"),
        ),
        [f"FIELD_NULLABILITY_WIDENED {name} 2" for name in "ACD"],
    ),
    # Versions
    "a range that says the same in other words": (
        clock(field("A", versions="0+", nullableVersions="0+"), flexibleVersions="3+"),
        clock(field("A", versions="0-2", nullableVersions="0-2"), flexibleVersions="none"),
        [],
    ),
    "a field is in a new version only": (
        clock(field("A")),
        clock(field("New", "int8", versions="3+"), field("A"), validVersions="0-3"),
        [],
    ),
    "a field ends with a new version": (
        clock(field("A")),
        clock(field("A", versions="0-2"), validVersions="0-3"),
        [],
    ),
    "a field is taken out of the newest version": (
        clock(field("A"), field("B")),
        clock(field("A"), field("B", versions="0-1")),
        ["FIELD_REMOVED_FROM_VERSION B 2"],
    ),
    "a field comes to older versions": (
        clock(field("A"), field("B", versions="2+")),
        clock(field("A"), field("B", versions="1+")),
        ["FIELD_ADDED_TO_VERSION B 1"],
    ),
    "becoming flexible changes everything and is said once": (
        clock(field("A"), field("B", **TAG, tag=0), zones(field("C")), flexibleVersions="1+"),
        clock(field("A"), field("B", versions="1+", taggedVersions="2+", tag=0), zones(field("C")), **FROM_2),
        ["FLEXIBLE_VERSIONS_CHANGED - 1"],
    ),
    "a header follows its flexible versions without a word": (
        request(field("A")),
        request(field("A"), flexibleVersions="2+"),
        ["FLEXIBLE_VERSIONS_CHANGED - 1"],
    ),
    "all versions are replaced": (
        request(field("A"), validVersions="0"),
        request(field("A"), validVersions="1"),
        ["VERSION_MIN_RAISED - 0", "VERSION_MIN_RAISED_UNDEPRECATED - 0"],
    ),
    "a reserved number stays reserved": (
        request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
        request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT),
        [],
    ),
    "a reserved number is forgotten": (request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT), "", []),
    "deprecated versions go": (
        request(field("A"), deprecatedVersions="0"),
        request(field("A"), validVersions="1-2"),
        ["VERSION_MIN_RAISED - 0"],
    ),
    # Attributes
    "whether a field may be left out counts where both sides have versions without it": (
        clock(field("A", versions="1+"), field("B", versions="1+"), field("C"), field("D", "int8")),
        clock(
            field("A", versions="1+", ignorable=True),
            field("B", ignorable=True),
            field("C", ignorable=True),
            field("D", "int8", versions="1+", ignorable=True),
        ),
        ["FIELD_REMOVED_FROM_VERSION D 0", "FIELD_IGNORABLE_CHANGED A 1,2", "FIELD_ADDED_TO_VERSION B 0"],
    ),
    "a string becomes bytes that may be null": (
        clock(field("A", "string")),
        clock(field("A", "bytes", nullableVersions="0+")),
        ["FIELD_TYPE_CHANGED A 0,1,2"],
    ),
    # Tags
    "tagged fields change their order in the file": (
        clock(field("A", **TAG, tag=0), field("B", **TAG, tag=1)),
        clock(field("B", **TAG, tag=1), field("A", **TAG, tag=0)),
        [],
    ),
    "tagged fields exchange their numbers": (
        clock(field("A", **TAG, tag=0), field("B", **TAG, tag=1)),
        clock(field("A", **TAG, tag=1), field("B", **TAG, tag=0)),
        [
            "TAG_REUSED A 1,2", "TAG_REUSED B 1,2", "TAG_NUMBER_CHANGED A 1,2", "TAG_NUMBER_CHANGED B 1,2"
        ],
    ),
    "a tagged field is renamed": (
        clock(field("A", **TAG, tag=0)),
        clock(field("B", **TAG, tag=0)),
        ["FIELD_RENAMED B 1,2"],
    ),
    "a number is taken again in a new version": (
        clock(field("A", **TAG, tag=0)),
        clock(field("B", versions="3+", taggedVersions="3+", tag=0), validVersions="0-3"),
        ["TAG_REMOVED A 1,2", "TAG_REUSED B 3"],
    ),
    "a tag keeps a default that is only spelled out": (
        clock(field("A", "int8", **TAG, tag=0)),
        clock(field("A", "int8", **TAG, tag=0, default="0")),
        [],
    ),
    # Messages
    "a message becomes one of another kind, which has a number": (
        clock(field("A")),
        clock(field("A"), type="metadata", apiKey=5),
        ["MESSAGE_KIND_CHANGED - 0,1,2"],
    ),
    "a number is another one": (
        clock(type="metadata", apiKey=5),
        clock(type="metadata", apiKey=7),
        ["API_KEY_CHANGED - 0,1,2"],
    ),
    "a number is gone, which older definitions of records never had": (
        files(clock(type="metadata", apiKey=5), clock(name="Alarm", type="metadata")),
        files(clock(type="metadata"), clock(name="Alarm", type="metadata", apiKey=6)),
        [],
    ),
    "a message with a number becomes one of another kind, which has none": (
        clock(type="metadata", apiKey=6),
        clock(),
        ["MESSAGE_KIND_CHANGED - 0,1,2"],
    ),
    "a new request and its response differ in their versions": (
        clock(),
        files(clock(), request(validVersions="0-1"), response()),
        ["REQUEST_RESPONSE_VERSIONS_DIVERGED - "],
    ),
    "a request and its response differed in their versions before": (
        files(request(validVersions="0-1"), response()),
        files(request(), response(validVersions="0-3")),
        [],
    ),
    "a request and its response get another name": (
        files(request(), response(field("A"))),
        files(request(name="AlarmRequest"), response(field("A"), name="AlarmResponse")),
        ["MESSAGE_RENAMED - 0,1,2", "MESSAGE_RENAMED - 0,1,2"],
    ),
    "an api key goes from one request to another": (
        files(request(field("A")), request(field("B", "int8"), name="AlarmRequest", apiKey=901)),
        request(field("B", "int8"), name="AlarmRequest"),
        ["API_KEY_REUSED - ", "API_KEY_CHANGED - 0,1,2", "MESSAGE_REMOVED - 0,1,2"],
    ),
    "descriptions and listeners of no effect": (
        request(field("A"), about="One."),
        request(field("A", about="Two."), about="Three."),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_facts(diff: Diff, case: str) -> None:
    before, after, expected = CASES[case]
    assert sorted(facts(diff(before, after))) == sorted(expected)


def test_the_order_of_listeners_is_no_change(load: Load) -> None:
    before, after = (load(request(listeners=names)) for names in (["broker", "controller"], ["controller", "broker"]))
    assert compare(before, after) == []
    assert [type(one) for one in compare(before, load(request(listeners=["broker"])))] == [c.ListenersChanged]


def test_what_is_new_in_a_version(diff: Diff) -> None:
    before = clock(field("A"), field("B", nullableVersions="0+"), validVersions="0-1", flexibleVersions="2+")
    after = clock(
        field("A", versions="0-1"),
        field("B", nullableVersions="0-1"),
        field("C", "int8", versions="2+"),
        validVersions="0-3",
        flexibleVersions="2+",
    )
    two, three = diff(before, after).findings
    assert two.diagnostic.notes == (
        "this is the first flexible version",
        "added: `C`",
        "removed: `A`",
        "changed nullability or tagging: `B`",
    )
    assert three.diagnostic.message == "`Clock` has the new version 3 with an unchanged layout"


def test_trap_47_a_version_with_the_same_bytes_is_no_wire_change(diff: Diff) -> None:
    before, after = request(field("A", versions="0-1")), request(field("A", versions="0-1"), validVersions="0-3")
    [one] = diff(before, after).findings
    assert (one.rule.name, one.diagnostic.notes) == (
        "VERSION_ADDED_SAME_BYTES",
        ("the layout is the same as in version 2",),
    )


def test_trap_34_a_response_is_as_unstable_as_its_request(diff: Diff) -> None:
    unstable = request(field("A"), field("B"), latestVersionUnstable=True)
    before = files(unstable, response(field("A"), field("B")))
    after = files(request(field("A"), field("B", versions="0-1")), response(field("A"), field("B", versions="0-1")))
    found = {(one.rule.name, one.change.names[0]): one.severity for one in diff(before, after).findings}
    for name in ("ClockRequest", "ClockResponse"):
        assert found["FIELD_REMOVED_FROM_VERSION", name] is Severity.WARNING
    stable = files(
        request(field("A"), field("B")), response(field("A"), field("B"), latestVersionUnstable=True)  # means nothing
    )
    assert {one.severity for one in diff(stable, after).findings} == {Severity.ERROR}


class TestDefectsOfKafkasChecker:
    """Section by section what `metadata-schema-checker` is known to get wrong."""

    def test_a_dropped_trailing_field_ends_and_is_found(self, diff: Diff) -> None:
        """KAFKA-18955: looped for ever, then (before PR 22946) said nothing."""
        before = clock(zones(field("A"), field("B")), field("C"))
        assert facts(diff(before, clock(zones(field("A")), field("C")))) == [
            "FIELD_REMOVED_FROM_VERSION Zones.B 0,1,2"
        ]

    def test_the_direction_is_old_to_new(self, diff: Diff) -> None:
        short, long = clock(validVersions="0-1"), clock(validVersions="0-2")
        assert facts(diff(short, long)) == []
        assert facts(diff(long, short)) == ["VERSION_MAX_LOWERED - 2"]

    def test_versions_may_come_back(self, diff: Diff) -> None:
        judgement = diff(request(validVersions="2-9"), request(validVersions="0-9"))
        assert facts(judgement, notes=True) == ["VERSION_RESTORED - 0,1"]
        assert not judgement.breaking

    def test_ranges_of_the_two_sides_are_not_mixed(self, diff: Diff) -> None:
        before = clock(field("A", nullableVersions="0+"), validVersions="0-2")
        after = clock(field("A", nullableVersions="0+", versions="1+"), validVersions="1-2")
        assert facts(diff(before, after)) == ["VERSION_MIN_RAISED - 0"]

    def test_a_rename_is_no_error_on_the_wire(self, diff: Diff) -> None:
        [one] = diff(clock(field("A")), clock(field("B"))).findings
        assert one.rule.level.word == "json"


def schema_of(*fields: Node) -> Schema:
    return resolve([parse(Source("Clock.json", clock(*fields)), Report())], Report())


TYPES = ("int8", "int16", "uint16", "string", "bytes", "[]int8", "[]string", "uuid")


@st.composite
def nodes(draw: st.DrawFn, depth: int = 1) -> list[Node]:
    """Up to five fields with names of a small alphabet, some tagged, some with fields of their own."""
    drawn: list[Node] = []
    for name in draw(st.lists(st.sampled_from("ABCDEF"), unique=True, max_size=5)):
        attributes: dict[str, object] = {"versions": draw(st.sampled_from(("0+", "1+", "0-1", "2+")))}
        type_ = draw(st.sampled_from(TYPES))
        if draw(st.integers(0, 4)) == 0:
            attributes |= {"versions": "1+", "taggedVersions": "1+", "tag": len(drawn)}
        elif type_ in ("string", "bytes", "[]int8") and draw(st.booleans()):
            attributes["nullableVersions"] = draw(st.sampled_from(("0+", "1+")))
        if depth and draw(st.integers(0, 4)) == 0:
            type_, attributes["fields"] = f"[]S{name}", draw(nodes(depth - 1)) or [field("Z")]
            attributes.pop("nullableVersions", None)
        drawn.append(field(name, type_, **attributes))
    return drawn


@pytest.mark.slow
@given(nodes(), nodes())
def test_whatever_differs_is_found_in_its_versions(mine: list[Node], theirs: list[Node]) -> None:
    """Where nothing is said about a version it is the same in both; where bytes differ, more is said than names."""
    old, new = schema_of(*mine), schema_of(*theirs)
    found = compare(old, new)
    for version in old.messages[0].valid:
        before, after = (lower_message(schema.messages[0], version) for schema in (old, new))
        about = [change for change in found if version in change.versions]
        if before != after:
            names = (c.FieldRenamed, c.StructRenamed, c.FieldAttributeChanged)
            assert not all(isinstance(change, names) for change in about)
        if not about:
            assert list(describe(before.body)) == list(describe(after.body))


@pytest.mark.slow
@given(nodes())
def test_a_schema_is_no_different_from_itself(drawn: list[Node]) -> None:
    assert compare(schema_of(*drawn), schema_of(*drawn)) == []


@pytest.mark.slow
@given(nodes())
def test_new_names_are_renames_and_nothing_else(drawn: list[Node]) -> None:
    def renamed(node: Node) -> Node:
        inner = node.get("fields")
        more = {"fields": [renamed(one) for one in inner]} if isinstance(inner, list) else {}
        return {**node, "name": f"{node['name']}New", **more}

    found = compare(schema_of(*drawn), schema_of(*map(renamed, drawn)))
    assert {type(change) for change in found} <= {c.FieldRenamed}
