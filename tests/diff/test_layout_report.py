"""``kwirec diff --layouts``: what it prints, between any two notations, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from kwirec.diagnostics.examples import clock, field, files, request
from kwirec.diff.layout_report import FORMATS, render_layouts
from kwirec.diff.layouts import LayoutComparison, Parting
from tests.diff.support import Load

ROOT = Path(__file__).parents[2]
KRAMMAR = """\
AskClockRequest => key 900, max version 2, flexible v1+
  Zone: string
  Hour: int16 // v0-v0

Alarm => data, max version 1, flexible v1+
  Volume: int8

Bell => data, max version 0
  Tone: int8
"""


@pytest.fixture(autouse=True)
def sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same protocol with a few differences: as JSON in ``old``, in the indentation notation in ``new.krm``."""
    monkeypatch.chdir(tmp_path)
    Path("old").mkdir()
    hours = field("Hour", "int8", versions="0")
    Path("old/ClockRequest.json").write_text(request(field("Region"), hours, validVersions="0-3"))
    Path("old/Alarm.json").write_text(
        clock(field("Volume", "int8"), field("Kind", "int8", versions="1"), name="Alarm")
    )
    Path("new.krm").write_text(KRAMMAR)


def kwirec(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["diff", *arguments], catch_exceptions=False)


@pytest.mark.parametrize("form", FORMATS)
def test_format(form: str, snapshot: SnapshotAssertion) -> None:
    result = kwirec("--layouts", "old", "new.krm", "--format", form)
    assert result.exit_code == 1
    assert result.stdout == snapshot


def test_versions_link_to_the_guide_of_the_new_side() -> None:
    shown = kwirec("--layouts", "old", "new.krm", "--format", "markdown", "--guide-url", "https://a.example").stdout
    assert "| [version 0](<https://a.example/api/ask_clock.html#request-v0>) |" in shown
    assert "- `Bell`: [version 0](<https://a.example/data/bell.html#message-v0>)" in shown
    assert "- `ClockRequest`: version 3\n" in shown


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_links_to_the_guide(form: str) -> None:
    shown = kwirec("--layouts", "old", "new.krm", "--format", form, "--guide-url", "https://a.example").stdout
    assert "https://a.example/api/ask_clock.html#request-v0" in shown


def test_versions_of_one_side_are_no_difference() -> None:
    Path("old/Alarm.json").unlink()
    Path("old/Bell.json").write_text(clock(field("Tone"), name="Bell"))
    result = kwirec("--layouts", "old", "old/ClockRequest.json")
    assert (result.exit_code, result.stdout) == (0, "Bell, versions 0-2: only in old\n")
    assert result.stderr == "4 versions are equal, 0 differ, 3 only in old, 0 only in old/ClockRequest.json\n"


def test_long_kinds_are_cut_in_texts_but_not_in_json() -> None:
    many = [field(f"F{number}", "int32") for number in range(40)]
    Path("Few.json").write_text(clock(field("A")))
    Path("Many.json").write_text(clock(field("A"), field("B", "[]B", fields=many)))
    assert len(max(kwirec("--layouts", "Few.json", "Many.json").stdout.splitlines(), key=len)) < 130
    shown = kwirec("--layouts", "Few.json", "Many.json", "--format", "json").stdout.splitlines()
    assert [json.loads(line)["new"].count("i32") for line in shown] == [40, 40]


@pytest.mark.slow
def test_releases_are_sides() -> None:
    union = str(ROOT / "message_defs" / "kafka")
    found = kwirec("--layouts", "release:4.1.0", "release:4.1.1", "--union", union, "--format", "json")
    assert (found.exit_code, found.stdout) == (0, "")


@pytest.mark.parametrize("options", [["--format", "junit"], ["--format", "github"], ["--level", "json"]])
def test_options_of_rules_are_wrong_usage(options: list[str]) -> None:
    result = kwirec("--layouts", "old", "new.krm", *options)
    assert (result.exit_code, result.stdout) == (2, "")


def test_hostile_names_of_sides_are_escaped() -> None:
    Path("a|<b>`\x1b.json").write_text(clock(field("A")))
    shown = kwirec("--layouts", "a|<b>`\x1b.json", "new.krm", "--format", "markdown").stdout
    assert "<b>" not in shown
    assert "\x1b" not in shown


X = "x" * 80


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("i8", "i16", "i8 → i16"),
        (X, f"{X}y", f"{X} → {X}…"),
        (f"y{X}", X, f"y{X[1:]}… → {X}"),
        (f"{X}y", f"{X}z", f"{X}y → {X}z"),
    ],
)
def test_kinds_are_cut_unless_they_would_look_alike(load: Load, left: str, right: str, shown: str) -> None:
    [message] = load(clock()).messages
    found = LayoutComparison((), (Parting(message, message, 1, "A", left, right),), (), ())
    assert render_layouts(found, "old", "new") == f"Clock, version 1: A is {shown}\n"


def test_several_versions_link_to_the_newest(load: Load) -> None:
    [message] = load(clock()).messages
    parting = tuple(Parting(message, message, version, "A", "i8", "i16") for version in (2, 0))
    shown = render_layouts(LayoutComparison((), parting, (), ()), "old", "new", guide="../")
    assert shown == "Clock, versions 0 and 2: A is i8 → i16\n  ../data/clock.html#message-v2\n"


def test_records_come_after_all_requests(load: Load) -> None:
    names = load(
        files(
            clock(name="Alarm", type="metadata", apiKey=0),
            request(name="BellRequest", apiKey=7),
            request(name="ZoneRequest", apiKey=3),
        )
    ).messages
    found = LayoutComparison((), (), tuple((message, 0) for message in names), ())
    shown = render_layouts(found, "old", "new").splitlines()
    assert [line.partition(",")[0] for line in shown] == ["ZoneRequest", "BellRequest", "Alarm"]
