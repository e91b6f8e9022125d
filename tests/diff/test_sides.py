"""What can be named as a side: paths, members of archives, revisions, releases of the union."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main
from kwirec.diagnostics.diagnostic import Report, Severity
from kwirec.diagnostics.examples import clock, field, krammar, request, response, struct, tagged
from kwirec.diff import Level, compare, judge
from kwirec.diff.markdown import render_markdown
from kwirec.diff.sides import Side, SideError, left_out, read_sides
from kwirec.driver import load
from kwirec.ir import Schema
from tests.support import kafka_releases
from tests.support.kafka_releases import ARCHIVE

ROOT = Path(__file__).parents[2]
UNION = ROOT / "message_defs" / "kafka"


def sides(old: str, new: str, union: Path = UNION) -> tuple[Side, Side]:
    report = Report()
    found = read_sides(old, new, union, report)
    assert report.diagnostics == []
    return found


def defined(release: str) -> Side:
    """A release by its own definitions."""
    return Side(release, kafka_releases.schema(release))


def names(old: Side, new: Side, level: Level = Level.POLICY) -> list[str]:
    found = judge(compare(old.schema, new.schema), level, old=old.schema).findings
    return [f"{one.rule.name} {one.change.names[0]}" for one in found]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits: ``defs/Clock.json`` with two fields, then without the second; the first has the tag v1."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet")
    (tmp_path / "defs").mkdir()
    for version, fields in (("v1", "AB"), ("v2", "A")):
        (tmp_path / "defs" / "Clock.json").write_text(clock(*map(field, fields)))
        git("add", "defs")
        git("commit", "--quiet", "--message", version)
        git("tag", version)
    return tmp_path


@pytest.fixture
def union(tmp_path: Path) -> Path:
    """A union of three releases; that of 1.1.0 is known by what its brokers accepted, without definitions."""

    def facts(**versions: str) -> dict[str, object]:
        return {"source": "definitions", "apis": {"900": {"name": "Clock", "accepts": "0", **versions}}}

    texts = {
        "ClockRequest.json": request(
            field("A", "int8", versions="0"),
            field("B", "Inner", fields=[field("X", "int8", versions="2+"), field("Y", "int8", versions="3+")]),
            tagged("C", 0, since="1.9.0"),
            tagged("D", 1, since="1.10.0"),
            validVersions="0-3",
            deprecatedVersions="0-1",
            latestVersionUnstable=True,
        ),
        "ClockResponse.json": response(field("A", "int8"), validVersions="0-3", latestVersionUnstable=True),
        "Zoo.json": clock(name="Zoo", aliases=["Ark"]),
        "Gone.json": clock(name="Gone"),
        "Late.json": clock(name="Late"),
        "releases.json": {
            "1.10.0": facts(accepts="2-3", unstable="2"),
            "1.9.0": facts(accepts="1-2", unstable="2", deprecated="1") | {"unpublished": ["Gone"]},
            "1.1.0": facts(accepts="1", unstable="1"),
        },
        "layouts.json": {
            "releases": ["1.9.0", "1.10.0"],
            "messages": {
                "ClockRequest": {"1": {"a": "1.9.0"}, "2": {"b": "1.9.0..1.10.0"}, "3": {"c": "1.10.0"}},
                "ClockResponse": {"1": {"a": "1.9.0"}, "2": {"b": "1.9.0..1.10.0"}, "3": {"c": "1.10.0"}},
                "Zoo": {"0": {"d": "1.9.0..1.10.0"}},
                "Gone": {"0": {"d": "1.10.0"}},
                "Late": {"0": {"e": "1.10.0"}},
            },
        },
        "exceptions.json": [{"message": "Zoo", "version": 0, "releases": "1.9.0", "reason": "wider"}],
    }
    folder = tmp_path / "union"
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text if isinstance(text, str) else json.dumps(text))
    return folder


def test_a_release_is_the_union_without_what_it_did_not_have(union: Path) -> None:
    def shown(side: Side) -> dict[str, tuple[str, str, bool, list[str]]]:
        return {
            one.name: (
                str(one.valid),
                str(one.deprecated),
                one.latest_unstable,
                [field.name for struct in one.structs for field in struct.fields],
            )
            for one in side.schema.messages
        }

    old, new = sides("release:1.9.0", "release:1.10.0", union)
    assert shown(old) == {
        "ClockRequest": ("1-2", "1", True, ["B", "C", "X"]),
        "ClockResponse": ("1-2", "none", False, ["A"]),
    }
    assert shown(new) == {
        "ClockRequest": ("2-3", "none", False, ["B", "C", "D", "X", "Y"]),
        "ClockResponse": ("2-3", "none", False, ["A"]),
        "Late": ("0", "none", False, []),
    }
    assert old.incomparable == {"Zoo"}
    assert old.unpublished == {"Gone"}
    assert new.incomparable == frozenset()
    (union / "Tick.json").write_text(clock(type="metadata", name="Tick", apiKey=900, validVersions="0-3"))
    oldest, _ = sides("release:1.1.0", "release:1.10.0", union)
    assert shown(oldest) == {
        "ClockRequest": ("1", "none", True, ["B"]),
        "ClockResponse": ("1", "none", False, ["A"]),
    }


def test_a_report_about_releases_says_what_it_leaves_out(union: Path, snapshot: SnapshotAssertion) -> None:
    arguments = ["diff", "release:1.9.0", "release:1.10.0", "--union", str(union), "--format", "markdown"]
    result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert f"{result.stdout}--- on stderr\n{result.stderr}--- exit code {result.exit_code}" == snapshot


def test_what_a_release_has_otherwise_is_not_compared_under_its_former_name(union: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    for name in ("Ark", "Bell"):
        (tmp_path / "new" / f"{name}.json").write_text(clock(name=name))
    _, new = sides("release:1.9.0", str(tmp_path / "new"), union)
    assert [one.name for one in new.schema.messages] == ["Bell"]


def test_an_unknown_release_is_told_those_that_there_are(union: Path) -> None:
    with pytest.raises(SideError) as caught:
        sides("release:1.9.1", "release:1.10.0", union)
    known = "1.1.0, 1.9.0, 1.10.0"
    assert str(caught.value) == f"unknown release `1.9.1`: the union in `{union.as_posix()}` has {known}"


def test_warnings_about_a_side_are_not_told(tmp_path: Path) -> None:
    path = tmp_path / "Clock.json"
    path.write_text(clock(field("A", versions="0-3"), validVersions="0-2"))
    report = Report()
    assert load([path], report)
    assert {one.severity for one in report.diagnostics} == {Severity.WARNING}
    assert names(*sides(str(path), str(path))) == []


@pytest.mark.parametrize("old", ["{0}", "git:HEAD:defs/Clock"])
def test_a_notation_is_that_of_files_whose_suffix_does_not_tell(repository: Path, old: str) -> None:
    path = repository / "defs" / "Clock"
    path.write_text(krammar())
    git("add", "defs")
    git("commit", "--quiet", "--message", "v3")
    report = Report()
    read_sides(old.format(path), "defs/Clock.json", UNION, report, "krammar")
    assert report.diagnostics == []
    read_sides(old.format(path), "defs/Clock.json", UNION, report, "json")
    assert report.has_errors()


def test_git_that_is_not_installed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(SideError, match=r"^git is not installed$"):
        sides("git:v1", "defs")


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_the_same_path_at_a_revision(repository: Path) -> None:
    old, new = sides("git:v1", "defs")
    assert names(old, new) == ["FIELD_REMOVED_FROM_VERSION Clock"]
    assert old.schema.messages[0].decl.span.source.name == "v1:defs/Clock.json"
    assert names(*sides("git:v2", "defs")) == []
    assert names(*sides("defs/Clock.json", "git:v1")) == ["FIELD_ADDED_TO_VERSION Clock"]


def test_a_path_of_its_own_at_a_revision(repository: Path) -> None:
    old, new = sides("git:v1:defs/Clock.json", "git:HEAD:defs")
    assert names(old, new) == ["FIELD_REMOVED_FROM_VERSION Clock"]
    assert old.schema.messages[0].decl.span.source.name == "v1:defs/Clock.json"
    assert (old.name, new.name) == ("git:v1:defs/Clock.json", "git:HEAD:defs")


def test_a_repository_that_replaces_zip(repository: Path) -> None:
    git("config", "tar.zip.command", "cat")
    with pytest.raises(SideError, match="did not produce a readable archive"):
        sides("git:v1", "defs")


def test_a_revision_seen_from_a_folder_below(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "defs")
    assert names(*sides("git:v1", "Clock.json")) == ["FIELD_REMOVED_FROM_VERSION Clock"]
    assert names(*sides("git:v1", ".")) == ["FIELD_REMOVED_FROM_VERSION Clock"]
    assert names(*sides("git:v1", str(repository / "defs"))) == ["FIELD_REMOVED_FROM_VERSION Clock"]


def test_later_commits_of_the_other_branch_do_not_count(repository: Path) -> None:
    """HEAD left ``main`` at v1, and ``main`` went on to v2."""
    git("branch", "--force", "theirs")
    git("checkout", "--quiet", "-b", "mine", "v1")
    assert names(*sides("git:theirs", "defs")) == ["FIELD_ADDED_TO_VERSION Clock"]
    assert names(*sides("git:theirs...", "defs")) == names(*sides("git:theirs...:defs", "git:v1:defs")) == []
    git("merge", "--quiet", "theirs")
    assert names(*sides("git:v1...", "defs")) == ["FIELD_REMOVED_FROM_VERSION Clock"]


def test_all_is_new_where_a_revision_has_no_definitions(repository: Path) -> None:
    git("mv", "defs", "messages")
    assert names(*sides("git:v1", "messages")) == ["MESSAGE_ADDED Clock"]
    git("checkout", "--quiet", "--orphan", "another")
    git("commit", "--quiet", "--message", "unrelated")
    with pytest.raises(SideError, match=r"^`v1` and HEAD have no commit in common: fetch the whole history$"):
        sides("git:v1...", "messages")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("git:nowhere", "defs", "run `git fetch origin nowhere`, and use `git:origin/nowhere`"),
        (
            "git:origin/x",
            "defs",
            "no revision `origin/x` here: if the checkout is shallow or has no such branch, run "
            "`git fetch origin x`, and use `git:origin/x`",
        ),
        ("git:nowhere...", "defs", "run `git fetch origin nowhere`, and use `git:origin/nowhere`"),
        ("git:-o...", "defs", "is not a revision"),
        ("git:v1:docs", "defs", "git archive failed: pathspec 'docs' did not match any files"),
        ("git:--output=x:defs", "defs", "is not a revision"),
        ("git:-o:defs", "defs", "`-o` is not a revision"),
        ("git:v1:--output=x", "defs", "git archive failed: pathspec '--output=x' did not match any files"),
        ("git:v1", "git:v2", "`git:v1` needs a path"),
        ("git:v1", "release:4.0.0", "`git:v1` needs a path"),
        ("git:v1:/elsewhere/defs", "defs", "git rev-parse failed: not a git repository"),
        ("release:9.9.9", "defs", "unknown release `9.9.9`"),
        (f"{ARCHIVE}!9.9.9.jsonl", "defs", "does not contain `9.9.9.jsonl`"),
    ],
)
def test_sides_that_cannot_be_had(repository: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(SideError) as caught:
        sides(old, new)
    assert reason in str(caught.value)
    assert not (repository / "x").exists()


def test_a_release_without_a_union_says_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / "Clock.json").write_text(clock())
    with pytest.raises(
        SideError, match=r"needs a union of releases, and .* is not a union: name a union with --union"
    ):
        read_sides("release:4.4.0", str(ARCHIVE) + "!4.0.0.jsonl", tmp_path, Report())


@pytest.mark.slow
def test_a_message_of_a_module_that_was_not_published_is_not_removed() -> None:
    old, new = sides("release:4.3.1", "release:4.4.0")
    assert new.unpublished == {"SubscriptionInfoData"}
    assert "SubscriptionInfoData" not in {message.name for message in old.schema.messages}
    assert left_out(old, new)[0] == "Not compared, because not published with 4.4.0: SubscriptionInfoData"


@pytest.mark.slow
def test_a_path_that_is_not_there_is_reported(tmp_path: Path) -> None:
    report = Report()
    read_sides(str(tmp_path / "nowhere"), str(ARCHIVE) + "!4.0.0.jsonl", UNION, report)
    assert [one.code.number for one in report.diagnostics] == ["K001"]


def test_definitions_that_cannot_be_compiled_are_reported(tmp_path: Path) -> None:
    """A struct that holds itself has no layout."""
    path = tmp_path / "Clock.json"
    path.write_text(clock(field("A", "T"), commonStructs=[struct("T", field("B", "[]T"))]))
    report = Report()
    read_sides(str(path), str(path), UNION, report)
    assert "K409" in {one.code.number for one in report.diagnostics}


def test_tags_that_cannot_be_told_apart_are_reported_and_nothing_is_compared(tmp_path: Path) -> None:
    wrong, right = tmp_path / "Clock.json", tmp_path / "Gear.json"
    wrong.write_text(clock(tagged("A", 0), tagged("B", 0)))
    right.write_text(clock(name="Gear"))
    report = Report()
    old, new = read_sides(str(wrong), str(right), UNION, report)
    assert [one.code.number for one in report.diagnostics] == ["K602"]
    assert [len(side.schema.messages) for side in (old, new)] == [0, 1]


def test_a_reason_of_git_is_its_first_line_in_any_encoding(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = repository / "bin" / "git"
    program.parent.mkdir()
    program.write_bytes(b"#!/bin/sh\nprintf 'fatal: caf\xe9 is closed\\nhint: open it\\n' >&2\nexit 128\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    with pytest.raises(SideError, match=r"^git rev-parse failed: caf\ufffd is closed$"):
        sides("git:v1", "defs")


def test_messages_that_are_left_out_are_named_by_side_and_reason() -> None:
    def side(name: str, incomparable: set[str], unpublished: set[str]) -> Side:
        return Side(name, Schema(messages=()), frozenset(incomparable), frozenset(unpublished))

    old, new = side("release:1.9.0", {"B", "A"}, {"D", "C"}), side("release:1.10.0", {"A", "E"}, {"F"})
    expected = [
        "Not compared, because not published with <1.9.0>: <C>, <D>",
        "Not compared, because not published with <1.10.0>: <F>",
        "Not compared, because their bytes differ from the union (see `exceptions.json`): <A>, <B>, <E>",
    ]
    assert left_out(old, new, "<{}>".format) == expected
    assert left_out(old, side("defs", set(), set())) == [
        "Not compared, because not published with 1.9.0: C, D",
        "Not compared, because their bytes differ from the union (see `exceptions.json`): A, B",
    ]
    assert left_out(side("defs", set(), set()), side("defs", set(), set())) == []


def test_what_is_wrong_between_messages_keeps_nobody_from_a_diff() -> None:
    """A request without its response, from the folder or alone."""
    path = (UNION / "apis" / "produce_fetch" / "FetchRequest.json").as_posix()
    old, new = sides(path, path)
    assert names(old, new) == []
    assert len(old.schema.messages) == 1


@pytest.mark.releases
@pytest.mark.parametrize(("old", "new"), [("3.9.1", "4.0.0"), ("2.8.2", "3.0.2")])
@pytest.mark.long
def test_releases_of_the_union_say_what_their_definitions_say_of_bytes(old: str, new: str) -> None:
    """Names are those of the newest release, so the wire is compared; some internal records are incomparable."""
    mine = sides(f"release:{old}", f"release:{new}")
    whole = defined(old), defined(new)
    incomparable = mine[0].incomparable | mine[1].incomparable
    newest = {alias: one.name for one in load([UNION], Report()).schema.messages for alias in one.aliases}

    def of(pair: tuple[Side, Side]) -> set[str]:
        found = (line.split() for line in names(*pair, Level.WIRE))
        return {
            f"{rule} {newest.get(name, name)}" for rule, name in found if newest.get(name, name) not in incomparable
        }

    assert of(mine) == of(whole)


@pytest.mark.long
@pytest.mark.releases
def test_a_release_has_only_the_tags_it_knew() -> None:
    found = names(*sides("release:3.6.2", "release:4.1.1"), Level.WIRE)
    assert any(line.startswith("TAG_ADDED") for line in found)


@pytest.mark.long
@pytest.mark.releases
def test_a_release_has_only_the_fields_of_its_versions() -> None:
    """Those that went with their versions are gone in the later release, as in its own definitions."""

    def removed(pair: tuple[Side, Side]) -> set[str | None]:
        found = judge(compare(pair[0].schema, pair[1].schema), Level.SOURCE, old=pair[0].schema).findings
        return {one.diagnostic.field_path for one in found if one.rule.name == "FIELD_REMOVED"}

    mine = removed(sides("release:3.9.1", "release:4.0.0"))
    assert mine == removed(sides(f"{ARCHIVE}!3.9.1.jsonl", f"{ARCHIVE}!4.0.0.jsonl"))
    assert "Topics.Partitions.MaxNumOffsets" in mine


@pytest.mark.slow
@pytest.mark.releases
def test_fields_before_and_after_are_those_of_the_release() -> None:
    """The definitions of the union speak of versions that a release does not have."""
    old, new = sides("release:4.0.1", "release:4.1.1")
    lines = render_markdown(judge(compare(old.schema, new.schema), old=old.schema), old, new).splitlines()
    assert "| `ProduceRequest.TopicData.TopicId` | – | `uuid`, version 13, ignorable, map key |" in lines
    name = "`string`, versions 3-12, ignorable, map key, entity topicName"
    assert f"| `ProduceRequest.TopicData.Name` | {name} | {name} (not in version 13) |" in lines
    records = "`ShareFetchResponse.Responses.Partitions.Records`"
    assert f"| {records} | `records`, version 0, nullable 0 | `records`, version 1 |" in lines
    assert any(
        line.startswith("Not compared, because their bytes") and "`ConsumerGroupMetadataKey`" in line
        for line in lines
    )


@pytest.mark.slow
@pytest.mark.releases
def test_messages_whose_bytes_the_union_does_not_know_are_left_out() -> None:
    old, new = sides("release:2.8.2", "release:3.0.2")
    assert "PartitionRecord" in old.incomparable
    assert old.schema.message("PartitionRecord") is None
    assert new.schema.message("PartitionRecord") is None


@pytest.mark.slow
@pytest.mark.releases
def test_releases_before_there_were_definitions_have_what_their_brokers_accepted() -> None:
    old, _ = sides("release:0.9.0", "release:2.2.2")
    fetch = old.schema.message("FetchRequest")
    facts: Any = json.loads((UNION / "releases.json").read_text())["0.9.0"]["apis"]
    assert fetch is not None
    assert str(fetch.valid) == facts["1"]["accepts"]
    assert {one.api_key for one in old.schema.messages} == {int(key) for key in facts}


def test_a_member_of_an_archive_that_is_not_there_is_reported_as_a_missing_path(tmp_path: Path) -> None:
    report = Report()
    read_sides(f"{tmp_path}/none.zip!A.json", f"{tmp_path}/none.zip!A.json", UNION, report)
    assert {one.code.number for one in report.diagnostics} == {"K001"}


@pytest.mark.parametrize("room", [0, -1])
def test_each_side_has_room_for_as_many_bytes_as_one_set_of_definitions(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = clock(field("A"))
    for name in ("old.json", "new.json"):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr("kwirec.diagnostics.reading.MAX_BYTES", len(text) + room)
    report = Report()
    found = read_sides(str(tmp_path / "old.json"), str(tmp_path / "new.json"), UNION, report)
    assert [one.code.number for one in report.diagnostics] == ["K001", "K001"] * -room
    assert [len(side.schema.messages) for side in found] == [1 + room] * 2
