"""What pages tell of made up definitions and releases: fields, changes of versions, and how releases treat them."""

from __future__ import annotations

from kwire_guide.changes import VersionChange, changes
from kwire_guide.fields import Names, field_rows
from kwire_guide.releases import Releases
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import Node, clock, field, request, tagged
from kwirec.diagnostics.source import Source
from kwirec.emitters.compat_matrix import message_matrix
from kwirec.frontend import parse
from kwirec.ir import Schema, resolve
from kwirec.lowering import lower
from kwirec.merge.history import ApiFacts, History


def schema(text: str) -> Schema:
    report = Report()
    found = resolve([parse(Source("Clock.json", text), report)], report)
    assert report.diagnostics == []
    return found


def test_fields_that_some_version_has_with_what_is_known_of_them() -> None:
    inner: list[Node] = [field("X", "int8", about="One."), field("Gone", "int8", versions="0")]
    [message] = schema(
        clock(
            field("A", "int8", default="3", ignorable=True),
            field("B", "int8", versions="1-1", aliases=["OldB"]),
            field("Late", "int8", versions="3+"),
            field("Same", "[]Same", about="Twice.", structAbout="Twice.", versions="1+", fields=inner),
            field("Other", "[]Other", about="Many.", structAbout="Single.", versions="1+", fields=inner),
            field("Short", "[]Short", about="Twice.", structAbout="Twice as much.", fields=inner[:1]),
            field("Long", "[]Long", about="Twice as much.", structAbout="Twice.", fields=inner[:1]),
            tagged("T", 0, since="3.0.0", mapKey=True, entityType="topicName"),
        )
    ).messages
    assert [
        (row.place, row.depth, row.versions, row.default, row.struct_doc, [note for note, _ in row.notes], row.former)
        for row in field_rows(message)
    ] == [
        ("a", 0, "0+", "3", "", ["ignorable"], ()),
        ("b", 0, "1", "", "", ["formerly old_b"], ("old_b",)),
        ("same", 0, "1+", "", "", [], ()),
        ("same.x", 1, "1+", "", "", [], ()),
        ("other", 0, "1+", "", "Single.", [], ()),
        ("other.x", 1, "1+", "", "", [], ()),
        ("short", 0, "0+", "", "", [], ()),
        ("short.x", 1, "0+", "", "", [], ()),
        ("long", 0, "0+", "", "", [], ()),
        ("long.x", 1, "0+", "", "", [], ()),
        ("t", 0, "1+", '""', "", ["name of a topic", "map key", "since 3.0.0"], ()),
    ]


def test_fields_are_in_the_order_of_the_wire_and_say_since_when_they_are_null() -> None:
    [message] = schema(
        clock(
            tagged("Late", 1, "int32"),
            tagged("Early", 0, "[]int8", aliases=["Soon"]),
            field("A", nullableVersions="1+"),
            field("B", nullableVersions="0-1"),
            field("C", nullableVersions="0+"),
            field("GroupId", entityType="groupId", about="Id.", aliases=["group_id"]),
        )
    ).messages
    assert [(row.place, row.nullable, row.default, row.notes) for row in field_rows(message)] == [
        ("a", "null since 1", "", ()),
        ("b", "null in 0-1", "", ()),
        ("c", "", "", ()),
        ("group_id", "", "", ()),
        ("early", "", "empty", (("formerly soon", "formerly"),)),
        ("late", "", "0", ()),
    ]


def test_texts_name_the_nearest_field_and_only_fields_become_links() -> None:
    inner = [field("MinBytes", "int8"), field("MaxBytes", "int8")]
    [message] = schema(
        clock(field("MinBytes", "int8"), field("Parts", "[]Part", fields=inner), field("OldTime", aliases=["TimeMs"]))
    ).messages
    names = Names({"request": message})
    text = "Until MinBytes of `TimeMs`, not `acks` or OtherName."
    assert list(names.pieces(text, "request", "parts.max_bytes")) == [
        ("Until ", "", ""),
        ("min_bytes", "request.parts.min_bytes", "code"),
        (" of ", "", ""),
        ("old_time", "request.old_time", "code"),
        (", not ", "", ""),
        ("acks", "", "code"),
        (" or OtherName.", "", ""),
    ]
    assert list(names.pieces("MinBytes", "request"))[1] == ("min_bytes", "request.min_bytes", "code")
    assert list(names.pieces("MinBytes", "request", "min_bytes"))[1] == ("min_bytes", "", "code")  # of itself


def told(*fields: Node, valid: str = "0-3") -> list[VersionChange]:
    layouts = lower(schema(clock(*fields, validVersions=valid))).by_message["Clock"]
    return changes(layouts)


def test_changes_of_versions() -> None:
    inner = [field("X", "int8"), field("Y", "int8", versions="3+")]
    assert told(
        field("A", nullableVersions="2-2"),
        tagged("T", 0, versions="1+"),
        field("Many", "[]One", versions="2+", fields=inner),
    ) == [
        VersionChange(0, None),
        VersionChange(1, 0, flexible=True, compact=True, added=("t",)),
        VersionChange(2, 1, compact=True, added=("many",), nullable=("a",)),
        VersionChange(3, 2, compact=True, added=("many.y",), required=("a",)),
    ]
    assert told(field("A", "int8")) == [
        VersionChange(0, None),
        VersionChange(1, 0, flexible=True),
        VersionChange(2, 1, same=True),
        VersionChange(3, 2, same=True),
    ]


def test_releases_in_a_row_that_treat_a_version_alike_are_one_cell_and_all_versions_alike_one_column() -> None:
    history = History(
        releases={
            "1.0.0": {900: ApiFacts("Clock", "0-1", unstable="2")},
            "1.1.0": {900: ApiFacts("Clock", "0-2", unstable="2")},
            "2.0.0": {900: ApiFacts("Clock", "0-2", deprecated="0")},
            "3.0.0": {900: ApiFacts("Clock", "1-2", advertises="0-2")},
            "4.0.0": {},
        }
    )
    found = schema(request(field("A", "int8")))
    grid = Releases(history).grid(message_matrix(found.messages[0], lower(found)))
    assert grid.columns == ["1.0.0", "2.0.0", "3.0.0", "4.0.0"]
    assert {version: [(cell.span, cell.width, cell.status) for cell in cells] for version, cells in grid.rows} == {
        0: [
            ("1.0.0 to 1.1.0", 1, "accepted"),
            ("2.0.0", 1, "deprecated"),
            ("3.0.0", 1, "refused"),
            ("4.0.0", 1, "none"),
        ],
        1: [("1.0.0 to 3.0.0", 3, "accepted"), ("4.0.0", 1, "none")],
        2: [("1.0.0 to 1.1.0", 1, "unstable"), ("2.0.0 to 3.0.0", 2, "accepted"), ("4.0.0", 1, "none")],
    }
