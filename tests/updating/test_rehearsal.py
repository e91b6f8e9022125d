"""The newest release can be given up: what is left is what was there before, and merging it gives all of it back."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kwirec.merge.history import RELEASES, history_files, read_history
from tests.merge.support import Union
from tests.updating.test_update import PHASE
from tools import UNION, enums, error_codes, facts, rehearsal
from tools.enum_classes import NumberedClass
from tools.error_codes import ErrorCode
from tools.maven import Jars
from tools.rehearsal import Numbers, describe, remove, remove_definitions


def data(name: str, valid: str, *fields: dict[str, Any], **more: Any) -> dict[str, Any]:
    versions = {"validVersions": valid, "flexibleVersions": "0+"}
    return {"type": "data", "name": name, **versions, **more, "fields": list(fields)}


def clock(valid: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return data("ClockRequest", valid, *fields, type="request", apiKey=1)


def field(name: str, type: str = "int32", versions: str = "0+", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "versions": versions, **more}


LATE = field("Late", "string", taggedVersions="0+", tag=0)
TIME, ZONE = field("Time"), field("Zone", versions="1+", default="1")
DAY = '"name": "Day", "type": "int8", "versions": "2+", "enum": "Phase", "about": "Of the moon."'
PREVIEW = data("Preview", "0")
OLD = (clock("0-1", TIME, ZONE), PREVIEW)
NEW = {
    "a message": (*OLD, data("Alarm", "0", TIME)),
    "a version": (clock("0-2", TIME, ZONE, field("Day", "int8", versions="2+")), PREVIEW),
    "a name": (clock("0-1", field("Instant"), ZONE), PREVIEW),
    "a message's name": (clock("0-1", TIME, ZONE) | {"name": "TimeRequest"}, PREVIEW),
    "a default": (clock("0-1", TIME, field("Zone", versions="1+", default="2")), PREVIEW),
    "a tag": (clock("0-1", TIME, ZONE, LATE), PREVIEW),
    "a tag with a struct": (
        clock("0-1", TIME, ZONE, LATE | {"type": "[]Inner", "fields": [field("Deep", "Deep", fields=[TIME])]}),
        PREVIEW,
    ),
    "other bytes": (OLD[0], data("Preview", "0", TIME)),
    "a message less": OLD[:1],
    "nothing": OLD,
}


@pytest.mark.parametrize("new", NEW.values(), ids=list(NEW))
def test_giving_up_the_newest_release_leaves_what_was_there_before(new: tuple[Any, ...], tmp_path: Path) -> None:
    union = Union(tmp_path)
    union.merge("1.0.0", *OLD)
    union.merge("1.1.0", *OLD)
    history = read_history(union.root)
    history.releases["1.1.0"][1].advertises = "none"  # as noted by hand
    (union.root / RELEASES).write_text(history_files(history)[RELEASES])
    before = union.files()
    assert not union.merge("1.2.0", *new).failed
    after = union.files()
    remove_definitions(union.root, (union.sources / "1.1.0.jsonl").read_text())
    assert union.files() == before
    union.merge("1.2.0", *new)
    assert union.files() == after


def test_tags_that_came_with_an_earlier_release_keep_it(tmp_path: Path) -> None:
    union, tag = Union(tmp_path), LATE | {"name": "Early", "tag": 1}
    union.merge("1.0.0", clock("0-1", TIME, ZONE))
    for release in ("1.1.0", "1.2.0"):
        union.merge(release, clock("0-1", TIME, ZONE, tag))
    before = union.files()
    assert '"since": "1.1.0"' in union.definition("ClockRequest")
    union.merge("1.3.0", clock("0-2", TIME, ZONE, tag, LATE))
    remove_definitions(union.root, (union.sources / "1.2.0.jsonl").read_text())
    assert union.files() == before


def test_what_no_release_defines_stays(tmp_path: Path) -> None:
    union = Union(tmp_path)
    for release in ("1.0.0", "1.1.0"):
        union.merge(release, *OLD)
    own = union.root / "Own.json"
    own.write_text("// In code alone.\n" + json.dumps(data("Own", "0", TIME)))
    assert not union.merge("1.2.0", *NEW["a version"]).failed
    remove_definitions(union.root, (union.sources / "1.1.0.jsonl").read_text())
    assert own.read_text().startswith("// In code alone.")


def test_the_newest_two_releases_are_those_with_definitions(tmp_path: Path) -> None:
    union = Union(tmp_path)
    for release in ("1.9.0", "1.10.0", "1.8.0"):
        union.merge(release, *OLD)
    history = read_history(union.root)
    for release in ("1.9.5", "2.0.0"):
        history.releases[release] = history.releases["1.9.0"]
    (union.root / RELEASES).write_text(history_files(history)[RELEASES])
    assert rehearsal.newest_two(union.root) == ("1.10.0", "1.9.0")


def test_definitions_that_do_not_fit_without_the_newest_release_end_a_rehearsal(tmp_path: Path) -> None:
    union = Union(tmp_path)
    for release in ("1.0.0", "1.1.0", "1.2.0"):
        union.merge(release, *OLD)
    with pytest.raises(ValueError, match=r"^1\.1\.0 does not fit the definitions without 1\.2\.0$"):
        remove_definitions(union.root, "{")


def test_steps_run_in_their_folder_and_end_a_rehearsal_if_they_fail(tmp_path: Path) -> None:
    assert rehearsal._output(tmp_path, "sh", "-c", "pwd; echo no >&2") == f"{tmp_path}\n"
    for number, step in enumerate((rehearsal._run, rehearsal._output)):
        with pytest.raises(subprocess.CalledProcessError):
            step(tmp_path, "sh", "-c", f"touch {number}; exit 3")
        assert (tmp_path / str(number)).exists()


def test_the_numbers_of_a_release_are_those_of_its_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = Jars("1.0.0", tmp_path, {}, tmp_path, ())
    moon = NumberedClass("common.ElectionType", "id", "int8", {"PREFERRED": 0})
    monkeypatch.setattr(error_codes, "error_codes", lambda given: [ErrorCode(1, given.release, True)])
    monkeypatch.setattr(enums, "classes_of", lambda folder: [moon] if folder == tmp_path else [])
    expected = Numbers([ErrorCode(1, "1.0.0", True)], {"ElectionType": {"PREFERRED": 0}})
    assert rehearsal.numbers_of(jars) == expected


@pytest.mark.parametrize("has_vectors", [True, False])
def test_error_codes_facts_and_vectors_go_too(has_vectors: bool, tmp_path: Path) -> None:
    union = Union(tmp_path)
    union.root = tmp_path / UNION.relative_to(UNION.parents[1])
    union.root.mkdir(parents=True)
    old, kept, new = ErrorCode(0, "NONE", False, "Fine."), ErrorCode(1, "LATE", True), ErrorCode(2, "EARLY", False)
    union.merge("1.0.0", *OLD)
    union.merge("1.1.0", *OLD)
    error_codes.write(union.root / "errors.json", [old, kept, new])
    phase = union.root / "enums" / "Phase.json"
    phase.parent.mkdir()
    phase.write_text(PHASE)
    archive = tmp_path / "tests" / "data" / "kafka_releases.zip"
    vectors = tmp_path / "tests" / "data" / "conformance" / "1.1.0.zip"
    vectors.parent.mkdir(parents=True)
    if has_vectors:
        vectors.touch()
    definitions = (union.sources / "1.0.0.jsonl").read_text()
    facts.store({"1.0.0": definitions, "1.1.0": definitions}, archive)
    # An error that a release before the last two had stays, and so does its description.
    there = Numbers([ErrorCode(1, "LATE", True), new], {"Phase": {"NEW": 0, "FULL": 2}, "Tide": {"LOW": 0}})
    gone = ErrorCode(9, "GONE", True)
    then = Numbers([ErrorCode(1, "LATE", False), gone], {"Phase": {"NEW": 0}, "Gone": {"OLD": 0}})
    remove(tmp_path, "1.1.0", there, then)
    assert [value["name"] for value in json.loads(phase.read_text())["values"]] == ["NEW"]
    assert error_codes.read(union.root / "errors.json") == [
        old, ErrorCode(1, "LATE", False), replace(gone, since="1.0.0")
    ]  # fmt: skip
    assert list(facts.stored(archive)) == ["1.0.0"]
    assert not vectors.exists()


def test_what_is_left_to_a_person_is_done_as_it_is_checked_in(tmp_path: Path) -> None:
    union = Union(tmp_path)
    for release in ("1.0.0", "1.1.0"):
        union.merge(release, *OLD)
    union.merge("1.2.0", NEW["a version"][0], NEW["a message"][-1], NEW["other bytes"][-1])
    error_codes.write(union.root / "errors.json", [ErrorCode(1, "LATE", True, "Too late.")])
    union.edit("ClockRequest", '"name": "Day", "type": "int8", "versions": "2+"', DAY)
    (union.root / "enums").mkdir()
    (union.root / "enums" / "Phase.json").write_text(PHASE)
    union.edit("exceptions", '"reason": ""', '"reason": "A preview."')
    union.edit("Alarm", '{\n  "type"', '// Rings.\n{\n  "type"')
    union.edit("Alarm", '"about": ""', '"about": "An alarm."')
    (union.root / "clocks").mkdir()
    (union.root / "data" / "Alarm.json").rename(union.root / "clocks" / "Alarm.json")
    described = union.files()
    shutil.copytree(union.root, tmp_path / "described")
    remove_definitions(union.root, (union.sources / "1.1.0.jsonl").read_text())
    union.merge("1.2.0", union.sources / "1.2.0.jsonl")
    error_codes.write(union.root / "errors.json", [ErrorCode(1, "LATE", True)])
    (union.root / "enums" / "Phase.json").write_text(PHASE.replace("All light.", ""))
    assert union.files() != described
    own = union.root / "Own.json"
    own.write_text(json.dumps(data("Own", "0", TIME)))
    describe(union.root, tmp_path / "described")
    assert json.loads(own.read_text()) == data("Own", "0", TIME)
    own.unlink()
    assert union.files() == described


@pytest.mark.parametrize(
    ("dirty", "differs", "code", "told"),
    [
        ("", "", 0, "1.2.0 was removed and added again, and all files are unchanged\n"),
        (
            "",
            "+ a line\n",
            1,
            "1 file changed\nfiles differ after removing and adding 1.2.0",
        ),
        (" M README.md\n", "", 2, "commit your changes first"),
        ("fails", "", 2, "Command 'git' returned non-zero exit status 128"),
    ],
)
def test_a_rehearsal_step_by_step(
    dirty: str,
    differs: str,
    code: int,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Everything happens in the clone, whose definitions are kept aside before the release is given up."""
    union, clone, steps = Union(tmp_path), tmp_path / "clone", list[str]()
    for release in ("1.0.0", "1.1.0", "1.2.0"):
        union.merge(release, *OLD)

    def run(folder: Path, *command: str) -> None:
        steps.append(f"{folder.name}: {' '.join(command).replace(str(tmp_path), '')}")
        if "clone" in command:
            assert not clone.exists()
            shutil.copytree(union.root, clone / "union")

    def output(folder: Path, *command: str) -> str:
        if dirty == "fails":
            raise subprocess.CalledProcessError(128, "git")
        if "status" in command:
            assert (folder, *command) == (tmp_path, "git", "status", "--porcelain", "--untracked-files=no")
        return dirty if "status" in command else "1 file changed" if "--stat" in command else differs

    def given_up(root: Path, release: str, there: str, then: str) -> None:
        steps.append(f"{root.name}: give up {release}, with {there} and {then}")
        (clone / "union" / "data" / "Preview.json").unlink()

    def described(union: Path, checked_in: Path) -> None:
        steps.append(f"{union.parent.name}: describe, Preview: {(checked_in / 'data' / 'Preview.json').exists()}")

    for name, value in (
        *(("ROOT", tmp_path), ("UNION", union.root), ("CLONE", clone), ("DIFFERENCES", tmp_path / "differences")),
        *(("_run", run), ("_output", output), ("remove", given_up), ("describe", described)),
        *(("bring", lambda releases: [f"jars of {one}" for one in releases]), ("numbers_of", str.upper)),
    ):
        monkeypatch.setattr(rehearsal, name, value)
    (clone / "left").mkdir(parents=True)
    assert rehearsal.main() == code
    printed = capsys.readouterr()
    assert (printed.err if code == 2 else printed.out).startswith(told)
    assert clone.exists() == (code > 0)
    expected = [
        f"{tmp_path.name}: git clone --quiet  /clone",
        "clone: give up 1.2.0, with JARS OF 1.2.0 and JARS OF 1.1.0",
        "clone: make generate docs",
        f"clone: {' '.join(rehearsal.COMMIT)} --message Give up 1.2.0",
        "clone: make update RELEASE=1.2.0",
        "clone: describe, Preview: True",
        "clone: make generate docs",
        "clone: git add --all",
    ]
    assert steps == (expected if code < 2 else [])
    if code < 2:
        assert (tmp_path / "differences").read_text() == differs
