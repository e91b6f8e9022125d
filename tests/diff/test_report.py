"""What a diff prints: every format of one pair of small schemas, read whenever it changes; and the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from kwirec.diagnostics.examples import clock, field, files, request, response
from kwirec.diff import RULES, Level, compare, judge
from kwirec.diff.markdown import render_markdown
from kwirec.diff.report import FORMATS, rules_page
from kwirec.diff.rule import LEVELS
from kwirec.diff.sides import Side
from kwirec.markdown import prose
from tests.diff.support import Load
from tests.diff.test_sides import git

OLD = {
    "ClockRequest": request(field("Zone"), field("Hour", "int8", versions="0"), deprecatedVersions="0"),
    "ClockResponse": response(
        field("Ticks", "[]Tick", fields=[field("Millis", "int32"), field("Note", nullableVersions="0+")]),
        field("Leap", "bool", versions="1+"),
    ),
    "Alarm": clock(field("Volume", "int8"), name="Alarm"),
}
NEW = {
    "ClockRequest": request(
        field("Region"), field("Format", versions="3+", nullableVersions="3+", default="null"), validVersions="1-3"
    ),
    "ClockResponse": response(
        field("Leap", "bool", versions="1+"),
        field(
            "Ticks",
            "[]Tick",
            fields=[
                field("Millis", "int64"),
                field("Note", nullableVersions="0+"),
                field("Source", versions="1+", taggedVersions="1+", tag=0),
            ],
        ),
        validVersions="1-3",
    ),
}
WAIVER = """
[tool.kwirec.diff]
level = "json"

[[tool.kwirec.diff.waivers]]
rule = "MESSAGE_REMOVED"
message = "Alarm"
reason = "nobody was ever woken by it"
expires = 2999-12-31

[[tool.kwirec.diff.waivers]]
rule = "TAG_REUSED"
message = "Alarm"
reason = "no longer needed"
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, definitions in (("old", OLD), ("new", NEW)):
        Path(folder).mkdir()
        for name, text in definitions.items():
            Path(folder, f"{name}.json").write_text(text)


def kwirec(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


@pytest.mark.parametrize("form", FORMATS)
def test_format(form: str, snapshot: SnapshotAssertion) -> None:
    Path("pyproject.toml").write_text(WAIVER)
    result = kwirec("diff", "old", "new", "--format", form, "--level", "policy")
    assert result.exit_code == 1
    assert result.stdout == snapshot


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_links_to_the_guide(form: str) -> None:
    shown = kwirec("diff", "old", "new", "--format", form, "--guide-url", "../site").stdout
    assert "../site/api/clock.html#response-v2.ticks" in shown
    assert "../site" not in kwirec("diff", "old", "new", "--format", form).stdout


def test_exit_codes() -> None:
    assert kwirec("diff", "old", "old").exit_code == 0
    assert kwirec("diff", "old", "new").exit_code == 1
    Path("Zone.json").write_text(clock(field("Zone")))
    Path("Region.json").write_text(clock(field("Region")))
    assert kwirec("diff", "Zone.json", "Region.json").exit_code == 0
    assert kwirec("diff", "Zone.json", "Region.json", "--level", "json").exit_code == 1


def test_configuration_of_the_project() -> None:
    Path("pyproject.toml").write_text(WAIVER)
    result = kwirec("diff", "old", "new")
    assert "MESSAGE_REMOVED" not in result.stdout
    assert "FIELD_RENAMED" in result.stdout
    assert "FIELD_REMOVED]" not in result.stdout
    assert "the waiver of TAG_REUSED for `Alarm` matches no finding: remove it" in result.stderr
    assert result.stderr.endswith("at level json; 1 waived\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["git:nowhere", "new"], "git"),
        (["release:1.2.3.4", "new"], "no definitions|needs a union"),
        (["old", "nowhere"], "K001"),
        (["old", "Broken.json"], "K101"),
        (["old"], "Missing argument"),
        (["old", "new", "--level", "bytes"], "bytes"),
    ],
)
def test_wrong_usage_exits_2(arguments: list[str], reason: str) -> None:
    Path("Broken.json").write_text(clock(field("A", "strng")))
    result = kwirec("diff", *arguments)
    assert result.exit_code == 2
    assert any(word in result.stderr for word in reason.split("|"))
    assert result.stdout == ""


def test_a_configuration_with_mistakes_exits_2() -> None:
    Path("pyproject.toml").write_text("[tool.kwirec.diff]\nlevel = 3\n")
    result = kwirec("diff", "old", "new")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "level: `3` is not one of wire" in result.stderr


def test_lint_rules_lists_the_catalogue() -> None:
    assert "FIELD_REORDERED                     wire    error" in kwirec("lint-rules").stdout
    rules = [json.loads(line) for line in kwirec("lint-rules", "--format", "json").stdout.splitlines()]
    assert {"rule", "level", "severity", "purpose", "why"} == set(rules[0])


@pytest.mark.parametrize("level", LEVELS)
def test_the_command_knows_every_level(level: str) -> None:
    assert kwirec("diff", "old", "old", "--level", level).stderr == f"no findings at level {level}\n"


def test_the_page_lists_the_catalogue() -> None:
    """``make docs`` writes it."""
    page = (Path(__file__).parents[2] / "docs" / "rules" / "changes.md").read_text()
    assert page == rules_page()
    assert {rule.name for rule in RULES} == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def markdown(load: Load, before: str, after: str, *left_out: tuple[frozenset[str], ...]) -> list[str]:
    sides = load(before, "old"), load(after)
    found = judge(compare(*sides), Level.POLICY, old=sides[0])
    more = left_out or ((), ())
    old, new = (Side(name, side, *why) for name, side, why in zip(("old", "release:2.0"), sides, more, strict=True))
    return render_markdown(found, old, new).splitlines()


def test_sections_come_by_api_key_and_rows_name_attributes_that_matter(load: Load) -> None:
    shown = markdown(
        load,
        files(
            request(
                field("A", "int8"),
                field("B", nullableVersions="0+", flexibleVersions="none", ignorable=True),
                apiKey=7,
            ),
            response(field("X", "int8"), field("Late", "int8", versions="3+"), apiKey=7),
            request(field("Q", "int8"), name="AlarmRequest", apiKey=11),
            clock(field("K", mapKey=True, entityType="topicName", default="x|y"), field("M", "int8", versions="1+")),
        ),
        files(
            request(
                field("A", "int8"),
                field("B", versions="1+", nullableVersions="1+", ignorable=True),
                apiKey=7,
                validVersions="0-4",
            ),
            response(field("X", "int16"), field("Late", "int8", versions="3+"), apiKey=7, validVersions="1-3"),
            request(field("Q", "int16"), name="AlarmRequest", apiKey=11),
            clock(field("K", "bytes", mapKey=True, entityType="topicName"), field("N", "int8", versions="1+")),
        ),
        (frozenset({"Left"}),),
        (frozenset({"Right"}), frozenset({"Away"})),
    )
    assert [line for line in shown if line.startswith(("### ", "| `", "Not", "Other"))] == [
        "Not compared, because not published with `2.0`: `Away`.",
        "Not compared, because their bytes differ from the union (see `exceptions.json`): `Left`, `Right`.",
        "### Clock (api key 7)",
        "| `ClockRequest` | versions 0-2 | versions 0-4 |",
        "| `ClockRequest.B` | `string`, versions 0-2, nullable 0-2, flexible none, ignorable"
        " | `string`, versions 1-4, nullable 1-4, ignorable |",
        "| `ClockResponse` | versions 0-2 | versions 1-3 |",
        "| `ClockResponse.X` | `int8`, versions 0-2 | `int16`, versions 1-3 |",
        "| `ClockResponse.Late` | – | `int8`, version 3 |",
        "### Alarm (api key 11)",
        "| `AlarmRequest.Q` | `int8`, versions 0-2 | `int16`, versions 0-2 |",
        "### Clock",
        "| `Clock.K` | `string`, versions 0-2, default <code>x&#124;y</code>, map key, entity topicName"
        " | `bytes`, versions 0-2, map key, entity topicName |",
        "| `Clock.N` | `M`, `int8`, versions 1-2 | `N`, `int8`, versions 1-2 |",
    ]


def test_what_breaks_comes_first(load: Load) -> None:
    """Clock has the lower API key, and only notes."""
    before = request(field("A"), apiKey=7), response(apiKey=7), clock(field("Old"), name="Alarm")
    after = request(field("A"), apiKey=7, validVersions="0-3"), response(apiKey=7, validVersions="0-3")
    shown = markdown(load, files(*before), files(*after, clock(field("Old", "int8"), name="Alarm")))
    assert [line for line in shown if line.startswith("### ")] == ["### Alarm", "### Clock (api key 7)"]


def test_a_field_that_new_versions_left_is_not_said_to_be_as_before(load: Load) -> None:
    before = files(request(field("A", "int8", versions="0-2"), field("B", "int8", versions="2+")), response())
    after = request(field("A", "int8", versions="0-2"), field("B", "int8", versions="2+"), validVersions="0-4")
    shown = markdown(load, before, files(after, response(validVersions="0-4")))
    [row] = [line for line in shown if line.startswith("| `ClockRequest.A`")]
    assert row == "| `ClockRequest.A` | `int8`, versions 0-2 | `int8`, versions 0-2 (not in versions 3-4) |"


def test_a_backtick_without_its_pair_is_text() -> None:
    texts = ("`a` `b`", "a `b", "`a` `b")
    assert [*map(prose, texts)] == ["`a` `b`", "a &#96;b", "`a` &#96;b"]


def test_a_union_that_is_compared_as_a_whole_gives_a_hint() -> None:
    """Whoever compares definitions with a union wants one release of it."""
    hint = "hint: old contains all releases from 1.0.0 to 2.0.0"
    assert hint not in kwirec("diff", "old", "new").stderr
    releases = {name: {"source": "definitions", "apis": {}} for name in ("1.0.0", "2.0.0")}
    Path("old/releases.json").write_text(json.dumps(releases))
    told = kwirec("diff", "old", "new").stderr
    assert f"{hint}. To compare a single release, use `release:2.0.0` with `--union old`\n" in told
    Path("old/Alarm.json").unlink()
    lowest = kwirec("diff", "old", "new")
    assert ("MESSAGE_REMOVED" in lowest.stdout, hint in lowest.stderr) == (False, True)
    Path("new/ClockRequest.json").write_text(OLD["ClockRequest"])
    Path("new/ClockResponse.json").write_text(response(validVersions="0-1"))
    Path("old/ClockResponse.json").write_text(response())
    highest = kwirec("diff", "old", "new")
    assert ("VERSION_MAX_LOWERED" in highest.stdout, hint in highest.stderr) == (True, True)
    assert hint not in kwirec("diff", "old", "old").stderr
    Path("new/releases.json").write_text(json.dumps(releases))
    assert hint not in kwirec("diff", "old", "new").stderr
    for command in (["init", "--quiet"], ["add", "new"], ["commit", "--quiet", "--message", "all"]):
        git(*command)
    at_revision = kwirec("diff", "old", "git:HEAD:new")
    assert ("VERSION_MAX_LOWERED" in at_revision.stdout, hint in at_revision.stderr) == (True, False)


def test_only_what_the_new_side_has_is_linked() -> None:
    """Version 1, which the new version is compared with, and the reserved message have no place in the guide."""
    for folder, valid in (("old", "0-1"), ("new", "2")):
        Path(folder, "ClockRequest.json").write_text(request(field("A"), validVersions=valid))
    Path("new/Alarm.json").write_text('{"type": "data", "name": "Alarm", "about": "Rings.", "validVersions": "none"}')
    shown = kwirec("diff", "old", "new", "--format", "json", "--guide-url", "../site").stdout.splitlines()
    links = {
        one["rule"]: one.get("guide") for one in map(json.loads, shown) if one["message_name"] != "ClockResponse"
    }
    assert links["VERSION_ADDED_SAME_BYTES"] == "../site/api/clock.html#request-v2"
    assert links["MESSAGE_REMOVED"] is None


def test_versions_that_a_field_never_had_are_not_said_to_have_lost_it(load: Load) -> None:
    """Only the new versions are compared with those before."""
    fields = field("A", "int8", versions="1-2"), field("B", "int8", flexibleVersions="none")
    old, new = (request(fields[0], validVersions=valid) for valid in ("0-2", "0-3"))
    shown = markdown(load, files(old, response()), files(new, response(validVersions="0-3")))
    assert "| `ClockRequest.A` | `int8`, versions 1-2 | `int8`, versions 1-2 (not in version 3) |" in shown


def test_flexible_versions_of_a_field_are_those_of_the_message(load: Load) -> None:
    shown = markdown(load, clock(field("A")), clock(field("A", flexibleVersions="2+")))
    assert "| `Clock.A` | `string`, versions 0-2 | `string`, versions 0-2, flexible 2 |" in shown


def test_a_new_version_shows_what_can_be_null_now(load: Load) -> None:
    old, new = (request(field("A", nullableVersions="3+"), validVersions=valid) for valid in ("0-2", "0-3"))
    shown = markdown(load, files(old, response()), files(new, response(validVersions="0-3")))
    assert "| `ClockRequest.A` | `string`, versions 0-2 | `string`, versions 0-3, nullable 3 |" in shown


def test_numbers_of_records_are_no_api_keys(load: Load) -> None:
    before, after = (clock(field("A", kind), type="metadata", apiKey=3) for kind in ("int8", "int16"))
    assert [line for line in markdown(load, before, after) if line.startswith("### ")] == ["### Clock"]
