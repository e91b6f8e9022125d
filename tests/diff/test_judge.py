"""Levels, warnings for what was unstable, and waivers."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kwirec.config import ConfigError
from kwirec.diagnostics.diagnostic import Severity, Waiver
from kwirec.diagnostics.examples import clock, field, request, struct
from kwirec.diff import Level
from kwirec.diff.config import load_diff_config
from kwirec.diff.judge import JudgedChange
from kwirec.versions import VersionRange
from tests.diff.support import Diff

BEFORE = request(field("A", "int8"), field("B"), field("C", versions="1+", default="x"), deprecatedVersions="0")
AFTER = request(field("A", "int16"), field("X"), field("C", versions="1+", default="y"), validVersions="1-2")
JUNE = datetime.date(2026, 6, 1)


def names(findings: Iterable[JudgedChange]) -> set[str]:
    return {one.rule.name for one in findings}


def test_each_level_includes_those_before_it(diff: Diff) -> None:
    found = [names(diff(BEFORE, AFTER, level).findings) for level in Level]
    wire = {"FIELD_TYPE_CHANGED", "VERSION_MIN_RAISED"}
    json = wire | {"FIELD_RENAMED"}
    source = json | {"FIELD_DEFAULT_CHANGED"}
    assert found == [wire, json, source, source]
    assert names(diff(request(), request(validVersions="1-2"), Level.POLICY).findings) == {
        "VERSION_MIN_RAISED",
        "VERSION_MIN_RAISED_UNDEPRECATED",
    }


def test_notes_do_not_break(diff: Diff) -> None:
    assert diff(clock(), clock(validVersions="0-3")).findings
    assert not diff(clock(), clock(validVersions="0-3")).breaking
    assert diff(clock(), clock(validVersions="0-1")).breaking


def test_what_was_unstable_breaks_nobody(diff: Diff) -> None:
    before = request(field("A"), field("B", "int8", versions="2+"), latestVersionUnstable=True)
    judgement = diff(before, request(field("A"), field("B", "int16", versions="2+")), Level.SOURCE)
    [one] = judgement.findings
    assert (one.rule.name, one.severity) == ("FIELD_TYPE_CHANGED", Severity.WARNING)
    assert one.diagnostic.notes == ("version 2 was unstable",)
    assert not judgement.breaking


def test_a_change_of_stable_versions_too_stays_an_error(diff: Diff) -> None:
    before = request(field("A"), field("B", "int8", versions="1+"), latestVersionUnstable=True)
    assert diff(before, request(field("A"), field("B", "int16", versions="1+"))).breaking


def test_an_unstable_version_of_the_new_side_excuses_nothing(diff: Diff) -> None:
    before = request(field("A", "int8", versions="2+"))
    assert diff(before, request(field("A", "int16", versions="2+"), latestVersionUnstable=True), Level.WIRE).breaking


def waiver(**changes: Any) -> Waiver:
    return Waiver(**{"code": "FIELD_TYPE_CHANGED", "message": "ClockRequest", "reason": "never used", **changes})


@pytest.mark.parametrize(
    ("accepts", "changes"),
    [
        (True, {}),
        (True, {"message": "*"}),
        (True, {"field": "A"}),
        (True, {"versions": VersionRange(1, 2)}),
        (True, {"expires": JUNE}),
        (False, {"code": "FIELD_RENAMED"}),
        (False, {"message": "Clock"}),
        (False, {"field": "B"}),
        (False, {"versions": VersionRange(1, 1)}),
        (False, {"expires": JUNE - datetime.timedelta(1)}),
    ],
)
def test_waiver(diff: Diff, accepts: bool, changes: dict[str, Any]) -> None:
    judgement = diff(BEFORE, AFTER, Level.WIRE, [waiver(**changes)], JUNE)
    assert ("FIELD_TYPE_CHANGED" in names(judgement.waived)) is accepts
    assert ("FIELD_TYPE_CHANGED" in names(judgement.findings)) is not accepts


def test_a_renamed_field_is_waived_by_either_name(diff: Diff) -> None:
    for name in ("B", "X"):
        judgement = diff(BEFORE, AFTER, Level.JSON, [waiver(code="FIELD_RENAMED", field=name)])
        assert names(judgement.waived) == {"FIELD_RENAMED"}


def test_waived_findings_do_not_break(diff: Diff) -> None:
    judgement = diff(clock(), clock(validVersions="0-1"), waivers=[waiver(code="VERSION_MAX_LOWERED", message="*")])
    assert not judgement.breaking
    assert [one.waiver.reason for one in judgement.waived if one.waiver] == ["never used"]


def test_a_note_needs_no_waiver_and_stays(diff: Diff) -> None:
    note = waiver(code="VERSION_ADDED", message="*", expires=JUNE)
    for day in (JUNE, JUNE + datetime.timedelta(1)):
        judgement = diff(clock(field("A")), clock(field("A"), field("B", versions="3+"), validVersions="0-3"),
                         waivers=[note], today=day)  # fmt: skip
        assert (names(judgement.findings), judgement.waived, judgement.unused) == ({"VERSION_ADDED"}, (), ())
        assert not any("expired" in text for one in judgement.findings for text in one.diagnostic.notes)


def test_an_expired_waiver_is_said_so(diff: Diff) -> None:
    expired = waiver(expires=JUNE)
    judgement = diff(BEFORE, AFTER, Level.WIRE, [expired], JUNE + datetime.timedelta(1))
    [one] = [one for one in judgement.findings if one.rule.name == "FIELD_TYPE_CHANGED"]
    assert one.diagnostic.notes == ("the waiver for this finding expired on 2026-06-01: never used",)
    assert judgement.unused == ()


def test_a_waiver_that_covers_nothing_is_named_unless_its_level_was_not_looked_at(diff: Diff) -> None:
    idle, beyond = waiver(field="B"), waiver(code="FIELD_RENAMED", message="Nothing")
    assert diff(BEFORE, AFTER, Level.WIRE, [idle, beyond]).unused == (idle,)
    assert diff(BEFORE, AFTER, Level.JSON, [idle, beyond]).unused == (idle, beyond)
    assert diff(BEFORE, AFTER, Level.WIRE, [waiver(), idle]).unused == (idle,)


CONFIG = """
[tool.kwirec.diff]
level = "source"

[[tool.kwirec.diff.waivers]]
rule = "version-min-raised"
message = "AlarmRequest"
versions = "0-1"
reason = "no client ever used them"
expires = 2027-01-31
"""


def test_configuration(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(CONFIG)
    config = load_diff_config(path)
    assert config.level is Level.SOURCE
    assert config.waivers == (
        waiver(
            code="VERSION_MIN_RAISED",
            message="AlarmRequest",
            versions=VersionRange(0, 1),
            reason="no client ever used them",
            expires=datetime.date(2027, 1, 31),
        ),
    )


def test_no_configuration_is_the_default(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.kwirec]\n")
    assert load_diff_config(path) == load_diff_config(None)
    assert load_diff_config(None).level is Level.WIRE


def test_all_mistakes_in_a_configuration_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[tool.kwirec.diff]\nlevel = "wires"\nwaiver = []\n'
        "[[tool.kwirec.diff.waivers]]\n"
        'rule = "FIELD_RENAMES"\nmessage = "A"\nversions = "0..1"\nexpires = "2027-01-31"\nmesage = "B"\nfield = 1\n'
    )
    with pytest.raises(ConfigError) as caught:
        load_diff_config(path)
    assert caught.value.problems == (
        "[tool.kwirec.diff] has no `waiver`; the keys are level, waivers",
        "level: `wires` is not one of wire, json, source, policy",
        "waiver 1: `expires` must be a date such as 2027-01-31, without quotes",
        "waiver 1: unknown key `mesage`; did you mean `message`?",
        "waiver 1: `field` must be a string",
        "waiver 1: `reason` is missing",
        "waiver 1: unknown rule `FIELD_RENAMES`; did you mean `FIELD_RENAMED`?",
        "waiver 1: versions: expected `N`, `N-M`, `N+` or `none`",
    )
    for text in (
        CONFIG.replace("2027-01-31", "2027-01-31T12:00:00"),
        "[tool.kwirec]\ndiff = 1\n",
        "[tool]\nkwirec = 1\n",
        "[tool.kwirec.diff]\nwaivers = 3\n",
        "tool = 1\n",
    ):
        path.write_text(text)
        with pytest.raises(ConfigError):
            load_diff_config(path)


def test_what_was_unstable_breaks_nobody_under_a_new_name_either(diff: Diff) -> None:
    before = clock(field("A", "int8", versions="2+"), latestVersionUnstable=True)
    after = clock(field("A", "int16", versions="2+"), name="Watch", aliases=["Clock"])
    found = {one.rule.name: one.severity for one in diff(before, after, Level.WIRE).findings}
    assert found["FIELD_TYPE_CHANGED"] is Severity.WARNING


def test_a_finding_names_the_message_and_field_of_the_new_side(diff: Diff) -> None:
    found = diff(clock(field("A")), clock(field("B"), name="Watch", aliases=["Clock"]), Level.JSON).findings
    assert [(one.diagnostic.message_name, one.diagnostic.field_path) for one in found] == [
        ("Watch", None),
        ("Watch", "B"),
    ]


def test_another_former_name_is_no_reason_to_leave_out_the_last_one(diff: Diff) -> None:
    """Old request logs have the old name."""
    before = request(field("Zone"))
    for aliases, helps in ((["OldRequest"], ('add `"aliases": ["ClockRequest"]`',)), (["ClockRequest"], ())):
        after = request(field("Zone"), name="AlarmRequest", aliases=aliases)
        [found] = [one for one in diff(before, after).findings if one.rule.name == "MESSAGE_RENAMED"]
        assert found.diagnostic.helps == helps
    for aliases, helps in ((["Old"], ('add `"aliases": ["Zone"]`',)), (["Zone"], ())):
        [found] = diff(clock(field("Zone")), clock(field("Region", aliases=aliases))).findings
        assert found.diagnostic.helps == helps


def test_a_field_that_ceased_to_be_tagged_in_one_version_is_not_said_to_have_become_so(diff: Diff) -> None:
    def clock_since(version: int) -> str:
        return clock(field("Zone", versions="0+", taggedVersions=f"{version}+", tag=0))

    for before, after, verb in ((1, 2, "is no longer"), (2, 1, "became")):
        [found] = diff(clock_since(before), clock_since(after)).findings
        assert found.diagnostic.message == f"`Clock.Zone` {verb} tagged in version 1"


def test_a_field_that_moved_to_another_version_is_shown_where_it_is_now(diff: Diff) -> None:
    before = clock(field("Zone", versions="0"), field("Hour", "int8"))
    found = diff(before, clock(field("Zone", versions="1+"), field("Hour", "int8"))).findings
    [removed] = [one.diagnostic for one in found if one.rule.name == "FIELD_REMOVED_FROM_VERSION"]
    assert removed.primary.text == "other versions still have it"


def test_a_struct_that_became_two_was_renamed_twice(diff: Diff) -> None:
    def two(first: str, second: str) -> str:
        structs = [struct(name, field("City")) for name in dict.fromkeys((first, second))]
        return clock(field("A", first), field("B", second), commonStructs=structs)

    found = diff(two("Zone", "Zone"), two("Region", "Area")).findings
    assert [one.diagnostic.field_path for one in found if one.rule.name == "STRUCT_RENAMED"] == ["A", "B"]
