"""The changes between two schemas themselves, in their order, before rules choose among them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kwirec.diagnostics.examples import ABSENT, Node, clock, enum, field, files, request, response, tagged, value
from kwirec.diff import changes as c
from kwirec.diff import compare
from kwirec.diff.addresses import address_of
from kwirec.diff.changes.versions import named
from tests.diff.support import Load

RESERVED = request(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT)
RESERVED_PAIR = files(RESERVED, response(validVersions="none", flexibleVersions=ABSENT, fields=ABSENT))
A, B, C, D, E, F, G = (field(name, "int8") for name in "ABCDEFG")

CASES: dict[str, tuple[str, str, list[str]]] = {
    # Messages
    "a reserved number is used": (RESERVED, request(A), ["MessageAdded ClockRequest - 0,1,2"]),
    "a used number is only reserved": (request(A), RESERVED, ["MessageRemoved ClockRequest ClockRequest - 0,1,2"]),
    "a number is reserved": ("", RESERVED, []),
    "messages that only reserve a number are not those of it": (
        files(request(A), response(A)),
        files(request(A), response(A), RESERVED_PAIR.replace("Clock", "Zoo")),
        ["ApiKeyReused ZooRequest ClockRequest -"],
    ),
    "messages that only reserved a number were not those of it": (
        files(request(A), response(A), RESERVED_PAIR.replace("Clock", "Zoo")),
        files(request(A), response(A, validVersions="0-1")),
        [
            "RequestResponseVersionsDiverged ClockResponse ClockRequest -",
            "VersionMaxLowered ClockResponse ClockResponse - 2",
        ],
    ),
    "messages come in the order of their new names": (
        files(clock(A, name="Alarm"), clock(A, name="Bell")),
        files(clock(A, name="Zoo", aliases=["Alarm"]), clock(B, name="Bell")),
        ["FieldRenamed Bell Bell B A 0,1,2", "MessageRenamed Zoo Alarm - 0,1,2"],
    ),
    "a former name on the old side is the name again": (
        clock(A, name="Zoo", aliases=["Alarm"]),
        clock(A, name="Alarm"),
        ["MessageRenamed Alarm Zoo - 0,1,2"],
    ),
    "one message takes the place of two": (
        files(clock(A, name="Alarm"), clock(B, name="Bell")),
        clock(A, name="Zoo", aliases=["Alarm", "Bell"]),
        ["MessageRemoved Bell - 0,1,2", "MessageRenamed Zoo Alarm - 0,1,2"],
    ),
    "a former name of another kind is another message": (
        clock(A, name="Alarm"),
        clock(A, name="Zoo", type="metadata", apiKey=3, aliases=["Alarm"]),
        ["MessageRemoved Alarm - 0,1,2", "MessageAdded Zoo - 0,1,2"],
    ),
    "messages without a number are not paired by what they contain": (
        clock(A, name="Alarm"),
        clock(A, name="Bell"),
        ["MessageRemoved Alarm - 0,1,2", "MessageAdded Bell - 0,1,2"],
    ),
    "records of a number are paired if they contain most of the same": (
        clock(field("A", "int64"), B, C, name="Alarm", type="metadata", apiKey=3),
        clock(field("A", "int32"), B, C, name="Bell", type="metadata", apiKey=3),
        ["MessageRenamed Bell Alarm - 0,1,2", "FieldTypeChanged Bell Alarm A 0,1,2"],
    ),
    "records of a number are paired if they share three of five names": (
        clock(A, B, C, D, E, name="Alarm", type="metadata", apiKey=3, validVersions="0"),
        clock(C, B, A, F, G, name="Bell", type="metadata", apiKey=3, validVersions="1"),
        [
            "MessageRenamed Bell Alarm -",
            "VersionMinRaised Bell Alarm - 0",
            "VersionAdded Bell Alarm - 1",
            "FieldRemoved Bell Alarm D 0",
            "FieldRemoved Bell Alarm E 0",
        ],
    ),
    "records of a number that share half of their names are two": (
        clock(field("A", "int64"), B, name="Alarm", type="metadata", apiKey=3),
        clock(field("A", "int32"), C, name="Bell", type="metadata", apiKey=3),
        ["MessageRemoved Alarm - 0,1,2", "MessageAdded Bell - 0,1,2"],
    ),
    "records of a number without fields are two": (
        clock(name="Alarm", type="metadata", apiKey=3),
        clock(name="Bell", type="metadata", apiKey=3),
        ["MessageRemoved Alarm - 0,1,2", "MessageAdded Bell - 0,1,2"],
    ),
    "requests of a number that have nothing in common are two, and so are their responses": (
        files(request(A, B), response(field("X", "int64"))),
        files(request(field("P", "int64"), name="BellRequest"), response(field("X", "int64"), name="BellResponse")),
        [
            "MessageAdded BellRequest - 0,1,2",
            "ApiKeyReused BellRequest ClockRequest -",
            "MessageAdded BellResponse - 0,1,2",
            "MessageRemoved ClockRequest - 0,1,2",
            "MessageRemoved ClockResponse - 0,1,2",
        ],
    ),
    "responses decide where requests have no fields": (
        files(request(), response(field("X", "int64"))),
        files(request(name="BellRequest"), response(field("X", "int64"), name="BellResponse")),
        [
            "MessageRenamed BellRequest ClockRequest - 0,1,2",
            "MessageRenamed BellResponse ClockResponse - 0,1,2",
        ],
    ),
    # Stability
    "an unstable version settles": (
        request(A, latestVersionUnstable=True), request(A), ["VersionStabilized ClockRequest ClockRequest - 2"]
    ),
    "an unstable version goes": (
        request(A, latestVersionUnstable=True),
        request(A, validVersions="0-1"),
        ["VersionMaxLowered ClockRequest ClockRequest - 2"],
    ),
    "a stable version becomes unstable": (
        request(A), request(A, latestVersionUnstable=True), ["VersionDestabilized ClockRequest ClockRequest - 2"]
    ),
    "a new version is unstable": (
        request(A),
        request(A, validVersions="0-3", latestVersionUnstable=True),
        ["VersionAddedSameBytes ClockRequest ClockRequest - 3"],
    ),
    # Fields
    "a struct that no shared version has is the same by its name": (
        clock(A, field("Many", "[]One", versions="0", fields=[field("X", "int8", default="1")]), validVersions="0-1"),
        clock(
            A,
            field("Many", "[]One", versions="2", fields=[field("X", "int8", default="2")]),
            validVersions="1-2",
        ),
        [
            "VersionMinRaised Clock Clock - 0",
            "VersionAdded Clock Clock - 2",
            "FieldDefaultChanged Clock Clock Many.X 2",
        ],
    ),
    "elements of an array that becomes nullable change too": (
        clock(field("Many", "[]string")),
        clock(field("Many", "[]bytes", nullableVersions="0+")),
        [
            "FieldNullabilityWidened Clock Clock Many 0,1,2",
            "FieldTypeChanged Clock Clock Many 0",
            "FieldTypeChangedSameBytes Clock Clock Many 1,2",
        ],
    ),
    "a tag that no version had is not used again": (
        clock(tagged("A", 0, versions="3+", taggedVersions="3+"), B),
        clock(B, tagged("C", 0)),
        ["TagAdded Clock Clock C 1,2"],
    ),
    "tagging that comes with flexible versions is no change of its own": (
        clock(tagged("A", 0, "int8", versions="0+"), flexibleVersions="1+"),
        clock(tagged("A", 0, "int8", versions="0+", taggedVersions="2+"), flexibleVersions="2+"),
        ["FlexibleVersionsChanged Clock Clock - 1"],
    ),
    "the default of a tagged field is told once": (
        clock(tagged("A", 0, "int8", default="1")),
        clock(tagged("A", 0, "int8", default="2")),
        ["TagDefaultChanged Clock Clock A 1,2"],
    ),
    "tag and default of a tagged field are told both": (
        clock(tagged("A", 0, "int8", default="1")),
        clock(tagged("A", 1, "int8", default="2")),
        ["TagNumberChanged Clock Clock A 1,2", "TagDefaultChanged Clock Clock A 1,2"],
    ),
    "a default that is only spelled out": (clock(A), clock(field("A", "int8", default="0")), []),
    "one field takes the place of two": (
        clock(A, field("B", "int16")),
        clock(field("X", "int8", aliases=["A", "B"])),
        ["FieldRemovedFromVersion Clock Clock B 0,1,2", "FieldRenamed Clock Clock X A 0,1,2"],
    ),
    "a former name that another field has still": (
        clock(A, B), clock(field("B", "int8", aliases=["A"])), ["FieldRemovedFromVersion Clock Clock A 0,1,2"]
    ),
    "a struct that shares half of its fields was renamed": (
        clock(field("Many", "[]One", fields=[A, B])),
        clock(field("Most", "[]Two", fields=[A, field("D", "int16")])),
        [
            "FieldRenamed Clock Clock Most Many 0,1,2",
            "StructRenamed Clock Clock Most Many 0,1,2",
            "FieldRemovedFromVersion Clock Clock Many.B 0,1,2",
            "FieldAddedToVersion Clock Clock Most.D 0,1,2",
        ],
    ),
    "a struct that shares a third of its fields is another": (
        clock(field("Many", "[]One", fields=[A, B, C])),
        clock(field("Most", "[]Two", fields=[A, field("D", "int16"), field("E", "int16")])),
        ["FieldRemovedFromVersion Clock Clock Many 0,1,2", "FieldAddedToVersion Clock Clock Most 0,1,2"],
    ),
    # Enums
    "an enum comes": ("", enum(value("NEW", 0)), ["EnumAdded Phase -"]),
    "an enum goes": (enum(value("NEW", 0)), "", ["EnumRemoved Phase -"]),
    "the values of an enum have another type": (
        enum(value("NEW", 0)), enum(value("NEW", 0), valueType="int16"), ["EnumTypeChanged Phase Phase -"]
    ),
    "a value of an enum is renamed and is not new": (
        enum(value("NEW", 0), value("FULL", 1)),
        enum(value("DARK", 0), value("FULL", 1)),
        ["EnumValueRenamed Phase Phase DARK NEW"],
    ),
    "a value of an enum is renumbered to that of one that goes": (
        enum(value("NEW", 0), value("FULL", 1)),
        enum(value("NEW", 1)),
        ["EnumValueRenumbered Phase Phase NEW NEW", "EnumValueRemoved Phase Phase FULL"],
    ),
    "values of an enum exchange their numbers": (
        enum(value("NEW", 0), value("FULL", 1)),
        enum(value("NEW", 1), value("FULL", 0)),
        ["EnumValueRenumbered Phase Phase NEW NEW", "EnumValueRenumbered Phase Phase FULL FULL"],
    ),
    "values of an enum come and go": (
        enum(value("NEW", 0), value("FULL", 1)),
        enum(value("NEW", 0), value("HALF", 2)),
        ["EnumValueRemoved Phase Phase FULL", "EnumValueAdded Phase Phase HALF"],
    ),
    "enums and messages are ordered together": (
        files(enum(value("NEW", 0)), clock(A, name="Zoo"), clock(A, name="Alarm")),
        "",
        ["MessageRemoved Alarm - 0,1,2", "EnumRemoved Phase -", "MessageRemoved Zoo - 0,1,2"],
    ),
}  # fmt: skip


def told(change: c.Change) -> str:
    """The kind, the names and fields of both sides, the new one first, and the versions."""
    paths = [path for path in change.paths if path]
    if isinstance(change, c.AnyMessageChange):
        paths = list(dict.fromkeys(paths))
    versions = [",".join(map(str, sorted(change.versions)))] if change.versions else []
    return " ".join((type(change).__name__, *change.names, *(paths or ["-"]), *versions))


@pytest.mark.parametrize("case", CASES)
def test_changes(load: Load, case: str) -> None:
    before, after, expected = CASES[case]
    assert [told(change) for change in compare(load(before, "old"), load(after))] == expected


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (("a", "a"), ["MessageRenamed Bell Alarm - 0,1,2"]),
        ((None, "a"), ["MessageRenamed Bell Alarm - 0,1,2"]),
        (("a", "b"), ["MessageRemoved Alarm - 0,1,2", "MessageAdded Bell - 0,1,2"]),
    ],
)
def test_records_of_a_number_are_two_in_different_modules(
    load: Load, modules: tuple[str | None, str], expected: list[str]
) -> None:
    schemas = [load(clock(A, B, name=name, type="metadata", apiKey=3), name) for name in ("Alarm", "Bell")]
    old, new = (
        replace(schema, messages=(replace(schema.messages[0], module=module),))
        for schema, module in zip(schemas, modules, strict=True)
    )
    assert [told(change) for change in compare(old, new)] == expected


def test_a_new_version_names_the_fields_that_can_be_null_or_are_tagged_only_now(load: Load) -> None:
    before = clock(A, B, tagged("C", 0, "int8", versions="0+", taggedVersions="3+"), validVersions="0-2")
    after = clock(
        A,
        field("B", "int8", versions="0-2"),
        tagged("C", 0, "int8", versions="0+", taggedVersions="3+"),
        field("D", "string", versions="3+"),
        validVersions="0-3",
    )
    [added] = compare(load(before, "old"), load(after))
    assert isinstance(added, c.VersionAdded)
    assert not isinstance(added, c.VersionAddedSameBytes)
    assert added.before == 2
    found = [[site.path for site in sites] for sites in (added.added, added.removed, added.changed)]
    assert found == [["D"], ["B"], ["C"]]


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (field("A", "int8"), field("A", "int8", default="0x10"), ("0", "16")),
        (field("A", "bool", default="true"), field("A", "bool"), ("true", "false")),
        (field("A", "float64", default="1.5"), field("A", "float64", default="0"), ("1.5", "0.0")),
        (field("A", "string"), field("A", "string", default="x"), ('""', "x")),
        (
            field("A", "uuid"),
            field("A", "uuid", default="AAAAAAAAAAAAAAAAAAAAAQ"),
            ("zero", "AAAAAAAAAAAAAAAAAAAAAQ"),
        ),
        (
            field("A", "[]int8", nullableVersions="0+", default="null"),
            field("A", "[]int8", nullableVersions="0+"),
            ("null", "empty"),
        ),
        (
            field("A", "records", nullableVersions="0+"),
            field("A", "records", nullableVersions="0+", default="null"),
            None,
        ),
    ],
)
def test_defaults_are_told_as_definitions_spell_them(
    load: Load, before: Node, after: Node, texts: tuple[str, str] | None
) -> None:
    found = compare(load(clock(before), "old"), load(clock(after)))
    told = [(one.attribute, one.was, one.now) for one in found if isinstance(one, c.FieldAttributeChanged)]
    assert told == ([("default", *texts)] if texts else [])


@pytest.mark.parametrize(
    ("deprecated", "lost", "words"),
    [
        ({}, "versions 0-2", "none of these was deprecated"),
        ({"deprecatedVersions": "0"}, "versions 1-2", "does not include all of these versions"),
        ({"deprecatedVersions": "0-1"}, "version 2", "does not include all of these versions"),
    ],
)
def test_only_versions_that_were_not_deprecated_are_lost_without_a_deprecation(
    load: Load, deprecated: dict[str, str], lost: str, words: str
) -> None:
    before, after = request(A, validVersions="0-3", **deprecated), request(A, validVersions="3")
    [found] = [
        one for one in compare(load(before, "old"), load(after)) if isinstance(one, c.VersionMinRaisedUndeprecated)
    ]
    told = found.describe()
    assert told.message == f"`ClockRequest` lost {lost} without a deprecation"
    assert [one.text for one in told.others] == [words]


@pytest.mark.parametrize(
    ("valid", "address"),
    [("0-3", "v3-vs-2"), ("2-3", "v3-vs-2"), ("3", "v3"), ("3-4", "v4-vs-3")],
)
def test_an_address_names_the_version_before_only_if_the_new_side_has_it(
    load: Load, valid: str, address: str
) -> None:
    schemas = load(request(A), "old"), load(request(A, field("D", versions="3+"), validVersions=valid))
    found = [address_of(one) for one in compare(*schemas) if isinstance(one, c.VersionAdded)]
    assert found[-1] == f"api/clock.html#request-{address}"


@pytest.mark.parametrize(
    ("kind", "key", "text"),
    [
        ("request", 0, "request `M` (api key 0)"),
        ("response", 18, "response `M` (api key 18)"),
        ("data", None, "message `M`"),
        ("metadata", 0, "metadata record `M` (api key 0)"),
        ("coordinator-key", 0, "coordinator key `M` (api key 0)"),
    ],
)
def test_a_message_is_named_with_its_type_and_its_api_key(load: Load, kind: str, key: int | None, text: str) -> None:
    versions = {"validVersions": "0", "flexibleVersions": "none"}
    definition = ({} if key is None else {"apiKey": key}) | {"type": kind, "name": "M", **versions, "fields": []}
    (message,) = load(json.dumps(definition)).messages
    assert named(message) == text
