"""Whole reports of pairs of definitions that have two of every kind of change, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.examples import clock, enum, field, request, response, struct, tagged, value
from kwirec.diagnostics.source import Source
from kwirec.diff import Level, compare, judge
from kwirec.diff.layout_report import FORMATS as LAYOUT_FORMATS
from kwirec.diff.report import FORMATS, render_diff
from kwirec.diff.sides import Side
from kwirec.frontend import parse
from kwirec.ir import resolve

TWO = [field("Hour", "int8"), field("Minute", "int8")]
LENGTHS = [
    field("Zone"),
    field("Days", "[]int8"),
    field(
        "Bells",
        "[]Bell",
        nullableVersions="0+",
        fields=[field("Tone", "bytes"), tagged("Loud", 0, versions="3+", taggedVersions="3+")],
    ),
]
Definitions = dict[str, str]
"""The texts of files by their names."""


def pair(name: str, key: int, *fields: Mapping[str, object], answers: str = "", **more: object) -> Definitions:
    """A request with these fields and its response, which has its versions if not those of ``answers``."""
    shared = {name: text for name, text in more.items() if name in ("validVersions", "flexibleVersions")}
    shared |= {"validVersions": answers} if answers else {}
    return {
        f"{name}Request": request(*fields, name=f"{name}Request", apiKey=key, **more),
        f"{name}Response": response(field("Error", "int16"), name=f"{name}Response", apiKey=key, **shared),
    }


def data(name: str, *fields: Mapping[str, object], **more: object) -> Definitions:
    return {name: clock(*fields, name=name, **more)}


MESSAGES = (
    pair("Ask", 1, *TWO, listeners=["broker", "tool"])
    | pair("Bell", 2, *TWO, listeners=["broker"])
    | pair("Chime", 3, *TWO)
    | pair("Dial", 4, field("Zone"))
    | pair("Stop", 7, *TWO)
    | data("Gear", *TWO, type="metadata", apiKey=5)
    | data("Hand", *TWO, type="metadata", apiKey=6)
    | data("Iron", field("A"))
    | data("Jewel", field("A"), validVersions="1")
    | data("Lamp", field("B")),
    pair("Ask", 1, *TWO, listeners=["tool", "controller"])
    | pair("Bell", 9, *TWO)
    | pair("Chime", 3, validVersions="none")
    | pair("Echo", 2, field("Loud", "bool"))
    | pair("Face", 3, field("Size", "int8"))
    | pair("ControlledShutdown", 7, *TWO)
    | data("Wheel", *TWO, type="metadata", apiKey=5)
    | data("Hand", *TWO)
    | data("Iron", field("A"), aliases=["Jewel"])
    | data("Light", field("B"), aliases=["Lamp"])
    | data("Kettle", field("A"), validVersions="0-1"),
)
VERSIONS = (
    pair("Ask", 1, *TWO, *LENGTHS, validVersions="0-4", deprecatedVersions="0-1")
    | pair("Bell", 2, *TWO, validVersions="0-4", deprecatedVersions="0", latestVersionUnstable=True)
    | pair("Chime", 3, validVersions="0-1")
    | pair("Dial", 4, validVersions="0-3", answers="0-2")
    | data("Gear", field("Old"), field("Older", "int8"), *TWO, validVersions="2-3", flexibleVersions="3+")
    | data("Hand", *TWO, validVersions="2-4", flexibleVersions="none"),
    pair("Ask", 1, *TWO, *LENGTHS, validVersions="2-6", deprecatedVersions="2-3", flexibleVersions="3+")
    | pair("Bell", 2, *TWO, field("New", "int8", versions="5+"), validVersions="2-5", flexibleVersions="2+")
    | pair("Chime", 3, validVersions="0-1", answers="0-2")
    | pair("Dial", 4, validVersions="0-3", latestVersionUnstable=True)
    | data(
        "Gear",
        field("Old", versions="0-3"),
        field("Older", "int8", versions="0-3"),
        field("Hour", "int8"),
        field("Minute", "int8"),
        field("Zone", versions="4+", nullableVersions="5+"),
        tagged("Spare", 0, versions="5+", taggedVersions="5+"),
        validVersions="0-5",
        flexibleVersions="3+",
    )
    | data("Hand", *TWO, validVersions="4-6", flexibleVersions="5+"),
)
FIELDS = (
    data(
        "Gear",
        *(field(name, "int8") for name in ("First", "Second", "Third", "Fourth")),
        field("Zone"),
        field("Region", nullableVersions="2+"),
        field("Bytes", "bytes", nullableVersions="1+"),
        field("Left", "int64"),
        field("Right", "int64"),
        field("Near", "int16"),
        field("Away", versions="0"),
        field("Lost", "int8"),
        field("Note", "string", versions="1+", default="a", entityType="groupId"),
        field("Kind", "int8", versions="2+", default="3", ignorable=True),
        field("Long", "string", flexibleVersions="none"),
        field(
            "Wheels",
            "[]Wheel",
            fields=[field("Teeth", "int16", mapKey=True), field("Metal"), field("Price", "int32")],
        ),
    )
    | data("Hand", field("Part", "Part"), field("Parts", "[]Part"), commonStructs=[struct("Part", *TWO)]),
    data(
        "Gear",
        *(field(name, "int8") for name in ("Second", "First", "Fourth", "Third")),
        field("Area"),
        field("Place", nullableVersions="1+", aliases=["Region"]),
        field("Bytes", "bytes", nullableVersions="2+"),
        field("East", "int64", aliases=["Right"]),
        field("West", "int64", aliases=["Left"]),
        field("Away", "int16", aliases=["Near"]),
        field("Note", "string", versions="1+", default="b", entityType="topicName", ignorable=True),
        field("Kind", "int8", versions="2+", default="4"),
        field("Long", "string"),
        field(
            "Wheels",
            "[]Disc",
            fields=[field("Teeth", "uint16"), field("Metal", "bytes"), field("Cost", "int32", mapKey=True)],
        ),
        field("Late", "int8"),
        field("Later", "int8", versions="1-2"),
        validVersions="1-2",
    )
    | data("Hand", field("Part", "Piece"), field("Parts", "[]Piece"), commonStructs=[struct("Piece", TWO[0])]),
)
TAGS = (
    data(
        "Gear",
        tagged("Gone", 0),
        tagged("Lost", 1),
        tagged("One", 2, "int8", default="1"),
        tagged("Two", 3, default="b"),
        tagged("Three", 4),
        tagged("Four", 5),
        field("Five", versions="1+"),
        field("Six", versions="1+"),
        field("Seven", versions="1+", default="a"),
    ),
    data(
        "Gear",
        tagged("Taken", 0, "int8"),
        tagged("Used", 1, "int8"),
        tagged("One", 2, "int8", default="2"),
        tagged("Two", 3),
        tagged("Three", 6),
        tagged("Four", 7, versions="2+", taggedVersions="2+"),
        tagged("Five", 8),
        tagged("Six", 9, versions="1+", taggedVersions="2+"),
        tagged("Seven", 10, default="b"),
    ),
)
ENUMS = (
    {
        "Phase": enum(value("NEW", 0), value("HALF", 1), value("FULL", 2), value("DARK", 3), value("RED", 4)),
        "Tide": enum(value("LOW", 0), value("HIGH", 1), name="Tide", valueType="int16"),
        "Wind": enum(value("CALM", 0), name="Wind"),
        "Rain": enum(value("DRY", 0), name="Rain"),
    }
    | data("Gear", field("Moon", "int8", enum="Phase"), field("Sea", "int16"), field("Sky", "int8", enum="Wind")),
    {
        "Phase": enum(value("NEW", 0), value("GREY", 1), value("BRIGHT", 2), value("DARK", 5), value("BLUE", 6)),
        "Tide": enum(value("LOW", 1), value("HIGH", 0), name="Tide", valueType="int8"),
        "Snow": enum(value("DEEP", 0), name="Snow"),
        "Hail": enum(value("HARD", 0), name="Hail"),
    }
    | data("Gear", field("Moon", "int8"), field("Sea", "int8", enum="Tide"), field("Sky", "int8", enum="Snow")),
)
CASES = {"messages": MESSAGES, "versions": VERSIONS, "fields": FIELDS, "tags": TAGS, "enums": ENUMS}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def reported(sides: Sequence[Definitions], *options: str) -> str:
    """What ``kwirec diff old new`` prints, and its exit code."""
    for folder, definitions in zip(("old", "new"), sides, strict=True):
        Path(folder).mkdir()
        for name, text in definitions.items():
            Path(folder, f"{name}.json").write_text(text)
    arguments = ["diff", "old", "new", "--guide-url", "../site/", *options]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    return f"{result.stdout}--- on stderr\n{result.stderr}--- exit code {result.exit_code}"


@pytest.mark.parametrize("direction", [1, -1], ids=["forward", "backward"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["github", "markdown"])
def test_changes(form: str, case: str, direction: int, snapshot: SnapshotAssertion) -> None:
    assert reported(CASES[case][::direction], "--level", "policy", "--format", form) == snapshot


@pytest.mark.parametrize("case", ["messages", "fields", "tags"])
def test_layouts(case: str, snapshot: SnapshotAssertion) -> None:
    assert reported(CASES[case], "--layouts", "--format", "markdown") == snapshot


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_changed(form: str, snapshot: SnapshotAssertion) -> None:
    assert reported([TAGS[0]] * 2, "--format", form) == snapshot


@pytest.mark.parametrize("form", LAYOUT_FORMATS)
def test_no_layout_differs(form: str, snapshot: SnapshotAssertion) -> None:
    assert reported([TAGS[0]] * 2, "--layouts", "--format", form) == snapshot


@pytest.mark.slow
@given(st.sampled_from(list(CASES)), st.randoms(use_true_random=False))
def test_the_order_of_definitions_makes_no_difference(case: str, random: Random) -> None:
    def report(*sides: Iterable[str]) -> str:
        """All findings of a level with all of their attributes."""
        schemas = [resolve([parse(Source("Any.json", text), Report()) for text in side], Report()) for side in sides]
        old, new = (Side("any", schema) for schema in schemas)
        return render_diff(judge(compare(*schemas), Level.POLICY, old=schemas[0]), old, new, "json", guide="../")

    before, after = (list(side.values()) for side in CASES[case])
    expected = report(before, after)
    random.shuffle(before)
    random.shuffle(after)
    assert report(before, after) == expected
