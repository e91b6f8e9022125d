"""Single lines of the indentation notation: what is found in them, and as which line a field is written."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from kwirec.convert import krammar_files
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import Node, enum, field, request, tagged, value
from kwirec.diagnostics.source import Source
from kwirec.frontend import FieldDecl, link, parse
from kwirec.frontend.krammar_fields import SWITCHED, THROTTLE, TIMEOUT
from kwirec.frontend.notation import Dialect

NO_PLACE = "franz-go's notation cannot express `"

FIELDS: list[tuple[Node, str, str, list[str]]] = [
    (field("A"), "A: string", "A: string", []),
    (field("A", versions="1+"), "A: string // v1+", "A: string // v1+", []),
    (field("A", versions="1-1"), "A: string // v1-v1", "A: string // v1-v1", []),
    (field("A", versions="none"), "A: string // versions none", "", ["fields that exist in no version"]),
    (field("A", nullableVersions="0+"), "A: nullable-string(empty)", "A: nullable-string", ["(empty)"]),
    (field("A", nullableVersions="0+", default="null"), "A: nullable-string", "A: nullable-string", []),
    (field("A", nullableVersions="1+"), "A: nullable-string-v1+", "A: nullable-string-v1+", []),
    (
        field("A", nullableVersions="0-1"),
        "A: nullable-string-v0-v1",
        "A: nullable-string",
        ["versions in which a field can be null"],
    ),
    (
        field("A", nullableVersions="1+", versions="1+"),
        "A: nullable-string(empty) // v1+",
        "A: nullable-string // v1+",
        ["(empty)"],
    ),
    (
        field("A", nullableVersions="0+", versions="1+"),
        "A: nullable-string-v0+(empty) // v1+",
        "A: nullable-string // v1+",
        ["(empty)"],
    ),
    (
        field("A", versions="0-1", nullableVersions="1+"),
        "A: nullable-string-v1+ // v0-v1",
        "A: nullable-string-v1+ // v0-v1",
        [],
    ),
    (field("A", "int8", default="0x10"), "A: int8(0x10)", "A: int8(0x10)", []),
    *(
        (field("A", kind, default="7"), f"A: {kind}(7)", f"A: {kind}(7)", [])
        for kind in ("int8", "int16", "uint16", "int32", "uint32", "int64")
    ),
    (field("A", "bool", default=True), "A: bool(true)", "A: bool(true)", []),
    (field("A", "bool", default="true"), "A: bool(true)", "A: bool(true)", []),
    (field("A", default="null"), "A: string(null)", "A: string(null)", []),
    (field("A", default="empty"), 'A: string("empty")', "A: string", ["defaults of strings, arrays and structs"]),
    (field("A", default="x"), 'A: string("x")', "A: string", ["defaults of strings, arrays and structs"]),
    (field("A", default=""), 'A: string("")', "A: string", ["defaults of strings, arrays and structs"]),
    (field("A", default="a b"), 'A: string("a b")', "A: string", ["defaults of strings, arrays and structs"]),
    (field("A", "float64", default="1.5"), "A: float64(1.5)", "A: float64(1.5)", []),
    (
        field("A", "uuid", default="AAAAAAAAAAAAAAAAAAAAAQ"),
        "A: uuid(AAAAAAAAAAAAAAAAAAAAAQ)",
        "A: uuid",
        ["defaults of strings, arrays and structs"],
    ),
    (field("A", "[]int8", nullableVersions="0+"), "A: nullable[int8](empty)", "A: nullable[int8]", ["(empty)"]),
    (field("A", "[]int8", nullableVersions="0+", default="null"), "A: nullable[int8]", "A: nullable[int8]", []),
    (field("A", "[]int8", nullableVersions="1+"), "A: nullable-v1+[int8]", "A: nullable-v1+[int8]", []),
    (
        field("A", "[]int8", versions="0-1", nullableVersions="1-1"),
        "A: nullable-v1-v1[int8] // v0-v1",
        "A: nullable-v1+[int8] // v0-v1",
        [],
    ),
    (
        field("A", "bytes", nullableVersions="1+"),
        "A: nullable-bytes-v1+",
        "A: nullable-bytes",
        ["versions in which a field can be null"],
    ),
    (
        field("A", "records", nullableVersions="0+"),
        "A: nullable-records(empty)",
        "A: nullable-bytes",
        ["(empty)", "records"],
    ),
    (field("A", "int8", ignorable=True), "A: int8 // ignorable", "A: int8", ["ignorable"]),
    (field("A", "int8", ignorable=False), "A: int8", "A: int8", []),
    (
        field("A", "int8", mapKey=True, entityType="topicName", aliases=["B", "c d", '"q"']),
        'A: int8 // map key, entity topicName, was B, was "c d", was "\\"q\\""',
        "A: int8",
        ["map key", "entity", "was"],
    ),
    (field("A", "int8", zeroCopy=False), "A: int8", "A: int8", []),
    (field("A", "int8", flexibleVersions="none"), "A: int8 // flexible none", "A: int8", ["flexible"]),
    (tagged("A", 0), "A: string // tag 0", "A: string // tag 0", []),
    (
        tagged("A", 0, versions="2+", taggedVersions="2+"),
        "A: string // v2+, tag 0",
        "A: string // tag 0",
        ["first tagged version"],
    ),
    (tagged("A", 0, versions="0+"), "A: string // tag 0, tagged v1+", "A: string // tag 0", ["tagged"]),
    (
        tagged("A", 0, versions="0+", taggedVersions="2+"),
        "A: string // tag 0, tagged v2+",
        "A: string // tag 0",
        ["tagged"],
    ),
    (field("A", tag=0, versions="1+"), "A: string // v1+, tag 0, tagged none", "A: string // v1+, tag 0", ["tagged"]),
    (field("A", "int8", enum="Phase"), "A: enum-Phase", "A: enum-Phase", []),
    (tagged("A", 0, "int8", enum="Phase"), "A: enum-Phase // tag 0", "A: int8 // tag 0", ["enums of tagged fields"]),
    (field("ThrottleMillis", "int32"), "ThrottleMillis: int32", "ThrottleMillis: int32", []),
    (field("TimeoutMillis", "int32", about=TIMEOUT, default="15000"), "TimeoutMillis", "TimeoutMillis", []),
    (field("TimeoutMillis", "int32", about=TIMEOUT, default="60"), "TimeoutMillis(60)", "TimeoutMillis(60)", []),
    (field("TimeoutMillis", "int32", about=TIMEOUT), "TimeoutMillis: int32", "TimeoutMillis: int32", []),
    (
        field("TimeoutMillis", "int32", about=TIMEOUT, default="15000", nullableVersions="0+"),
        "TimeoutMillis: nullable-int32(15000)",
        "TimeoutMillis: nullable-int32(15000)",
        [],
    ),
    (
        field("TimeoutMillis", "int32", about=TIMEOUT, default="15000", enum="Phase"),
        "TimeoutMillis: enum-Phase(15000)",
        "TimeoutMillis: enum-Phase(15000)",
        [],
    ),
    (field("ThrottleMillis", "int32", about=THROTTLE), "ThrottleMillis", "ThrottleMillis", []),
    (
        field("ThrottleMillis", "int32", about=THROTTLE, default="5"),
        "ThrottleMillis: int32(5)",
        "ThrottleMillis: int32(5)",
        [],
    ),
    (
        field("ThrottleMillis", "int32", about=f"{THROTTLE} {SWITCHED.format(3)}"),
        "ThrottleMillis(3)",
        "ThrottleMillis(3)",
        [],
    ),
    (
        field("ThrottleMillis", "int32", about=THROTTLE, ignorable=True, versions="1+"),
        "ThrottleMillis // v1+, ignorable",
        "ThrottleMillis // v1+",
        ["ignorable"],
    ),
    (field("Zones", "[]Zone", fields=[field("X", "int8")]), "Zones: [=>Zone]", "Zones: [=>Zone]", []),
    (field("Zones", "[]ClockRequestZone", fields=[field("X", "int8")]), "Zones: [=>]", "Zones: [=>]", []),
    (field("Bus", "[]ClockRequestBus", fields=[field("X", "int8")]), "Bus: [=>]", "Bus: [=>]", []),
    (field("Glasses", "[]ClockRequestGlass", fields=[field("X", "int8")]), "Glasses: [=>]", "Glasses: [=>]", []),
    *(
        (field(many, f"[]ClockRequest{one}", fields=[field("X", "int8")]), f"{many}: [=>]", f"{many}: [=>]", [])
        for many, one in (("Watches", "Watch"), ("Dishes", "Dish"), ("Topazes", "Topaz"))
    ),
    (field("Boxes", "[]ClockRequestBox", fields=[field("X", "int8")]), "Boxes: [=>]", "Boxes: [=>]", []),
    (field("Replies", "[]ClockRequestReply", fields=[field("X", "int8")]), "Replies: [=>]", "Replies: [=>]", []),
    (field("Zone", "ClockRequestZone", fields=[field("X", "int8")]), "Zone: =>", "Zone: =>", []),
    (field("Zone", "Zone", fields=[field("X", "int8")]), "Zone: =>Zone", "Zone: =>", ["names of single structs"]),
    (
        field("Zone", "ClockRequestZone", nullableVersions="0+", default="null", fields=[field("X", "int8")]),
        "Zone: nullable=>",
        "Zone: nullable=>",
        [],
    ),
]
"""Fields of a request with versions 0-2, flexible from 1 on: as a line, as one of franz-go, and what that loses."""


def written(node: Node, dialect: Dialect | None) -> tuple[str, list[str]]:
    report = Report()
    sources = [Source("ClockRequest.json", request(node)), Source("Phase.json", enum(value("NEW", 0)))]
    documents = link([parse(source, report) for source in sources], report)
    assert report.diagnostics == []
    definitions = [(PurePosixPath(), one) for document in documents for one in document.definitions]
    files = krammar_files(definitions, report, dialect=dialect)
    lines = [line for text in files.values() for line in text.splitlines() if line.startswith(f"  {node['name']}")]
    line = "".join(line.strip() for line in lines)
    lost = [one.message.removeprefix(NO_PLACE).partition("`")[0] for one in report.diagnostics]
    return line, lost


@pytest.mark.parametrize(("node", "line", "franz_go", "lost"), FIELDS)
def test_a_field_as_a_line(node: Node, line: str, franz_go: str, lost: list[str]) -> None:
    assert written(node, None) == (line, [])
    assert written(node, "franz-go") == (franz_go, lost)


def read(text: str) -> list[FieldDecl]:
    report = Report()
    [document] = link([parse(Source("Ask.krm", f"AskRequest => key 1, max version 2\n{text}"), report)], report)
    assert report.diagnostics == []
    return list(document.messages[0].fields or ())


@pytest.mark.parametrize(
    ("comment", "about"),
    [
        (["// One."], "One."),
        (["//One."], "One."),
        (["// One", "// line."], "One line."),
        (["// Items:", "//  indented"], "Items:\n indented"),
        (["// Items:", "// - first", "// - second"], "Items:\n- first\n- second"),
        (["// One.", "//", "// Two."], "One.\n\nTwo."),
        (["// One.", "//", "// int8: two"], "One.\n\nint8: two"),
        (['// "One\\ttab"'], "One\ttab"),
        (['// "One" two'], '"One" two'),
    ],
)
@pytest.mark.parametrize("name", ["A: int8", "B: string"])
def test_a_comment_is_the_description(comment: list[str], about: str, name: str) -> None:
    [one] = read("".join(f"  {line}\n" for line in comment) + f"  {name}\n")
    assert (one.about and one.about.value, one.struct_about) == (about, None)


def test_a_field_with_a_description_of_its_own_has_that() -> None:
    own, known = read("  // Mine.\n  TimeoutMillis(5)\n") + read("  TimeoutMillis(5)\n")
    assert (own.about and own.about.value, own.default and own.default.value) == ("Mine.", "5")
    assert (known.about and known.about.value, known.default and known.default.value) == (TIMEOUT, "5")


def test_no_version_is_tagged_where_the_line_says_so() -> None:
    [one] = read("  A: int8 // v1+, tag 0, tagged none\n")
    assert (str(one.versions and one.versions.value), one.tagged_versions) == ("1+", None)


@pytest.mark.parametrize(
    ("valid", "line", "franz_go", "lost"),
    [
        ("0-2", "max version 2", "max version 2", []),
        ("1-2", "max version 2, min version 1", "max version 2", ["min version"]),
        ("1+", "versions v1+", "", ["versions"]),
        ("5-4", "versions v5-v4", "", ["versions"]),
    ],
)
def test_versions_in_the_head_of_a_request(valid: str, line: str, franz_go: str, lost: list[str]) -> None:
    text = request(validVersions=valid, flexibleVersions="none", deprecatedVersions="none")
    document = parse(Source("ClockRequest.json", text), Report())
    told: list[tuple[Dialect | None, str, list[str]]] = [(None, line, []), ("franz-go", franz_go, lost)]
    for dialect, expected, losses in told:
        report = Report()
        files = krammar_files([(PurePosixPath(), document.messages[0])], report, dialect=dialect)
        heads = [text for text in "".join(files.values()).splitlines() if "=>" in text]
        assert heads == [", ".join(filter(None, ["ClockRequest => key 900", expected]))]
        assert [one.message.removeprefix(NO_PLACE).partition("`")[0] for one in report.diagnostics] == losses


@pytest.mark.parametrize(
    ("words", "sent_to"),
    [
        ("admin", "controller"),
        ("group coordinator", "group"),
        ("txn coordinator", "transaction"),
        ("share coordinator", "share"),
    ],
)
def test_words_for_the_broker_that_gets_a_request(words: str, sent_to: str) -> None:
    text = f"AskRequest => key 1, max version 0, {words}\n  A: int8\n"
    [message] = parse(Source("Ask.krm", text), Report()).messages
    assert message.sent_to is not None
    assert message.sent_to.value == sent_to


@pytest.mark.parametrize(
    ("field", "one"),
    [
        ("Topics", "Topic"),
        ("Batches", "Batch"),
        ("Brushes", "Brush"),
        ("Classes", "Class"),
        ("Boxes", "Box"),
        ("Waltzes", "Waltz"),
        ("Entries", "Entry"),
        ("Status", "Status"),
        ("Data", "Data"),
    ],
)
def test_entries_are_named_after_one_of_many(field: str, one: str) -> None:
    text = f"AskRequest => key 1, max version 0\n  {field}: [=>]\n    A: int8\n"
    [message] = parse(Source("Ask.krm", text), Report()).messages
    [found] = message.fields or ()
    assert found.type.name == f"AskRequest{one}"
    single = parse(Source("Ask.krm", text.replace("[=>]", "=>")), Report()).messages[0].fields or ()
    assert single[0].type.name == f"AskRequest{field}"
