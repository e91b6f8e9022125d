"""A release is taken in by one call: merged, its error codes and facts stored, and what is left is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tools import enum_classes, error_codes, facts, pages, update
from tools.enum_classes import NumberedClass, draft
from tools.error_codes import ErrorCode, updated
from tools.maven import Jars, MavenError
from tools.update import NotMergedError, compared_with_java, left_to_do, main, missing, report, take_in

CLOCK = """\
// Licensed to nobody.
{{ "apiKey": 1, "type": "request", "name": "ClockRequest", "validVersions": "{valid}", "flexibleVersions": "none",
  "about": "Prose.", "fields": [
    {{ "name": "Time", "type": "{type}", "versions": "0+", "default": "5", "about": "More // prose." }}] }}
"""
DATA = """\
{{ "type": "data", "name": "{}", "validVersions": "0", "flexibleVersions": "none", "fields": [] }}
"""
PHASE = """\
{
  "type": "enum",
  "name": "Phase",
  "valueType": "int8",
  "about": "Of a moon.",
  "values": [
    { "name": "NEW", "value": 0, "about": "No light." },
    { "name": "FULL", "value": 2, "about": "All light." }
  ]
}
"""
ERRORS = [ErrorCode(0, "NONE", False, "Fine."), ErrorCode(1, "LATE", False, "Too late.")]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty union, and a release's errors that no Java tells."""
    union = tmp_path / "union"
    union.mkdir()
    monkeypatch.setattr(update, "ROOT", tmp_path)
    monkeypatch.setattr(update, "UNION", union)
    monkeypatch.setattr(update, "ERRORS", union / "errors.json")
    stored, store, archive = facts.stored, facts.store, tmp_path / "facts.zip"
    monkeypatch.setattr(facts, "stored", lambda: stored(archive))
    monkeypatch.setattr(facts, "store", lambda bundles: store(bundles, archive))
    monkeypatch.setattr(error_codes, "error_codes", lambda jars: [ERRORS[0], ErrorCode(1, "TOO_LATE", True), *NEW])
    monkeypatch.setattr(enum_classes, "SOURCES", {"Phase": ["common.Phase"], "Sea": ["common.Sea"]})
    monkeypatch.setattr(enum_classes, "classes_of", lambda folder: [PHASES, *ENUMS])
    monkeypatch.setattr(sys.modules[__name__], "ENUMS", [])
    (union / "enums").mkdir()
    (union / "enums" / "Phase.json").write_text(PHASE)
    error_codes.write(union / "errors.json", ERRORS)
    store({}, archive)
    return tmp_path


NEW = [ErrorCode(2, "TOO_EARLY", False)]
PHASES = NumberedClass("common.Phase", "id", "int8", {"FULL": 2, "WANING": -1, "NONE": 0})
TIDE = NumberedClass("common.moon.Tide", "id", "int8", {"HIGH": 5, "LOW": 0})
RANK = NumberedClass("common.moon.Tide$Rank", "rank", "int32", {"FIRST": 1, "LAST": 9})
ENUMS: list[NumberedClass] = []
"""Other classes of the release."""


def jars(root: Path, release: str, **values: Any) -> Jars:
    """A release with one module, of one message."""
    folder = root / release
    folder.mkdir()
    path = folder / f"kafka-clients-{release}.jar"
    with zipfile.ZipFile(path, "w") as jar:
        jar.writestr("common/message/ClockRequest.json", CLOCK.format(**{"valid": "0", "type": "int64", **values}))
        jar.writestr("other.json", "{}")
        for name in ("errors/RetriableException", "moved/Errors"):
            jar.writestr(f"org/apache/kafka/common/{name}.class", "")
    return Jars(release, folder, {"clients": path}, path, ("kafka-streams",))


def test_a_release_is_merged_with_its_errors_and_facts(root: Path) -> None:
    take_in(jars(root, "1.0.0"))
    done = take_in(jars(root, "1.1.0", valid="0-1"))
    assert '"validVersions": "0-1"' in (root / "union" / "apis" / "ClockRequest.json").read_text()
    assert error_codes.read(root / "union" / "errors.json") == [
        ErrorCode(0, "NONE", False, "Fine."),
        ErrorCode(1, "TOO_LATE", True, "Too late."),
        ErrorCode(2, "TOO_EARLY", False, "", "1.0.0"),
    ]
    assert list(facts.stored()) == ["1.0.0", "1.1.0"]
    assert missing(["1.0.0", "1.2.0"]) == ["1.2.0"]
    known = root / "union" / "releases.json"
    by_hand = {"1.2.0": {"source": "by hand", "apis": {}}}
    known.write_text(json.dumps(json.loads(known.read_text()) | by_hand))
    assert missing(["1.0.0", "1.2.0"]) == ["1.2.0"]
    assert (done.new_errors, done.new_values) == ((), ())


def test_values_that_an_enum_lacks_are_added_in_their_place(root: Path) -> None:
    """A number that is there under another name stays: it is a difference, not a new value."""
    done = take_in(jars(root, "1.0.0"))
    assert done.new_values == ("Phase.WANING",)
    before = '  "values": [\n'
    added = before + '    { "name": "WANING", "value": -1, "about": "" },\n'
    assert (root / "union" / "enums" / "Phase.json").read_text() == PHASE.replace(before, added)
    assert "new values of enums Phase.WANING" in "\n".join(report([done], []))
    assert any("value `WANING`" in line for line in left_to_do([done]))


def test_an_enum_that_is_new_is_drafted_and_left_to_do(root: Path) -> None:
    ENUMS[:] = [TIDE, RANK]
    done = take_in(jars(root, "1.0.0"))
    assert json.loads((root / "union" / "enums" / "Tide.json").read_text()) == draft(TIDE)
    assert [path.stem for path in sorted((root / "union" / "enums").iterdir())] == ["Phase", "Tide"]
    left = list(left_to_do([done]))
    assert "`enums/Tide.json` is a draft from `common.moon.Tide`. Describe the enum, name it in " in "\n".join(left)
    assert any(line.startswith("`common.moon.Tide$Rank` contains numbers (FIRST 1, LAST 9). Define") for line in left)
    assert any("`union/enums/Tide.json`: describe enum `Tide`, value `LOW`, value `HIGH`" in line for line in left)
    assert "new enums Tide" in "\n".join(report([done], []))


def test_an_enum_that_is_new_in_the_second_of_two_releases_is_left_to_do(root: Path) -> None:
    done = [take_in(jars(root, "1.0.0"))]
    ENUMS[:] = [TIDE]
    done.append(take_in(jars(root, "1.1.0")))
    assert [line for line in left_to_do(done) if "is a draft from" in line] == list(map(str, done[1].new_enums))
    assert len(done[1].new_enums) == 1


def test_a_draft_is_kept_and_gets_new_values(root: Path) -> None:
    ENUMS[:] = [TIDE]
    take_in(jars(root, "1.0.0"))
    path = root / "union" / "enums" / "Tide.json"
    path.write_text(path.read_text().replace('"about": ""', '"about": "Of the sea."'))
    described = path.read_text()
    ENUMS[:] = [replace(TIDE, values={**TIDE.values, "SPRING": 9})]
    done = take_in(jars(root, "1.1.0"))
    assert path.read_text().replace(',\n    { "name": "SPRING", "value": 9, "about": "" }', "") == described
    assert [str(one).partition(". ")[0] for one in done.new_enums] == [
        "`enums/Tide.json` is a draft from `common.moon.Tide`"
    ]


@pytest.mark.parametrize("name", ["other.Phase", "other.Sea"])
def test_no_draft_takes_the_place_of_another_enum(root: Path, name: str) -> None:
    ENUMS[:] = [NumberedClass(name, "id", "int8", {"ROUGH": 7})]
    done = take_in(jars(root, "1.0.0"))
    assert [one.drafted for one in done.new_enums] == [False]
    assert [path.stem for path in (root / "union" / "enums").iterdir()] == ["Phase"]


@pytest.mark.slow
def test_the_report_says_what_is_left_to_do(root: Path) -> None:
    first = take_in(jars(root, "1.0.0"))
    assert first.new_errors == tuple(NEW)
    done = [take_in(jars(root, "1.1.0", valid="0-1"))]
    text = "\n".join(report(done, [*left_to_do(done), "Kafka's classes differ: <b>_"]))
    for line in (
        "- `union/apis/ClockRequest.json`: request `ClockRequest` has no response; "
        "no message and no struct is described; describe field `Time`",
        "- `errors.json`: error 2 (`TOO_EARLY`) has no description",
        "- `union/apis/ClockRequest.json`: move the file to a subfolder or to a neighbouring folder",
        "- 1.1.0: Maven lacks kafka-streams. Merge the release again when Maven has them",
        "- Kafka's classes differ: &#60;b&#62;&#95;",
        "- Kafka 1.1.0: new versions ClockRequest 1.",
    ):
        assert line in text.splitlines(), text


@pytest.mark.parametrize("lacks", [(), ("kafka-streams",)])
def test_a_check_names_releases_that_lack_modules(
    lacks: tuple[str, ...], root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    take_in(jars(root, "1.0.0"))
    later = replace(jars(root, "1.1.0"), missing=lacks)
    with zipfile.ZipFile(later.modules["clients"], "w") as jar:
        other = CLOCK.format(valid="0", type="int8").replace("Clock", "Tide").replace('"apiKey": 1', '"apiKey": 2')
        jar.writestr("common/message/TideRequest.json", other)
    take_in(later)
    monkeypatch.setattr(update, "releases", lambda: ["1.0.0", "1.1.0"])
    assert main(["--check"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ("1.1.0 is incomplete: Maven lacked the modules with ClockRequest\n" if lacks else "")
    assert printed.out == "no release is missing\n"


def test_the_exit_code_says_what_failed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(update, "releases", lambda: ["9.1.0", "10.0.0"])
    assert main(["--check"]) == 1
    assert capsys.readouterr().out == "9.1.0\n10.0.0\n"
    for failure, code in (
        (MavenError("no \x1b route"), 2),
        (NotMergedError("other bytes"), 1),
        (subprocess.CalledProcessError(3, "make"), 2),
    ):

        def bring(wanted: list[str], failure: Exception = failure) -> list[Jars]:
            assert wanted == ["9.1.0", "10.0.0"]
            raise failure

        monkeypatch.setattr(update, "bring", bring)
        assert main(["10.0.0", "9.1.0"]) == code
        assert capsys.readouterr().err == f"{failure}\n".replace("\x1b", "\u241b")


@pytest.mark.slow
def test_two_releases_are_taken_in_and_all_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    take_in(jars(root, "1.0.0"))
    second, third = jars(root, "1.1.0", valid="0-2"), jars(root, "1.2.0", valid="0-3", type="int32")
    for brought, names in ((second, ("Gear", "Wheel")), (third, ("Gear", "Wheel", "Hand"))):
        with zipfile.ZipFile(brought.modules["clients"], "a") as jar:
            for name in names:
                jar.writestr(f"common/message/{name}.json", DATA.format(name))
    codes = {"1.1.0": [*ERRORS, *NEW, ErrorCode(3, "NEVER", True)], "1.2.0": [*ERRORS, ErrorCode(4, "ONCE", False)]}
    classes = {"1.1.0": [replace(PHASES, values={"FULL": 2, "WAXING": 1})], "1.2.0": [PHASES, TIDE, RANK]}
    differences: list[str] = []
    for module, name, value in (
        (update, "bring", lambda wanted: [second, third]),
        (update, "REPORT", root / "update.md"),
        (update, "compared_with_java", lambda wanted: differences),
        (error_codes, "error_codes", lambda jars: codes[jars.release]),
        (enum_classes, "classes_of", lambda folder: classes[folder.name]),
    ):
        monkeypatch.setattr(module, name, value)
    make = root / "bin" / "make"
    make.parent.mkdir()
    make.write_text(f"#!/bin/sh\necho $* >> {root}/made\n")
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{make.parent}{os.pathsep}{os.environ['PATH']}")
    assert main(["1.2.0", "1.1.0"]) == 0
    assert (root / "made").read_text() == "--silent generate docs\n"
    assert capsys.readouterr().out == snapshot(name="printed")
    assert (root / "update.md").read_text() == snapshot(name="report")
    differences += ["Kafka's classes differ: bytes", "Kafka's classes differ: names"]
    assert main(["1.1.0", "1.2.0"]) == 1
    left = "- Kafka's classes differ: bytes\n- Kafka's classes differ: names\n\n# Draft for the changelog\n"
    assert left in (root / "update.md").read_text()


def test_nothing_is_taken_in_if_nothing_is_missing_and_a_command_that_fails_ends_an_update(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    take_in(jars(root, "1.0.0"))
    monkeypatch.setattr(update, "releases", lambda: ["1.0.0"])
    monkeypatch.setattr(update, "bring", lambda wanted: [])
    make = root / "bin" / "make"
    make.parent.mkdir()
    make.write_text("#!/bin/sh\nexit 3\n")
    make.chmod(0o755)
    monkeypatch.setenv("PATH", str(make.parent))
    for arguments, code, out, err in (
        ([], 0, "no release is missing\n", ""),
        (["--check"], 0, "no release is missing\n", ""),
        (["1.1.0"], 2, "", "Command '['make', '--silent', 'generate', 'docs']' returned non-zero exit status 3.\n"),
    ):
        assert main(arguments) == code
        assert capsys.readouterr() == (out, err)


@pytest.mark.slow
def test_the_draft_for_the_changelog_names_what_users_get(root: Path) -> None:
    """Not what is gone or otherwise. A release that brings nothing is named too."""
    first, second = jars(root, "1.0.0"), jars(root, "1.1.0", valid="0-2")
    third = jars(root, "1.2.0", valid="0-2")
    for brought, names in (
        (first, ("Gear", "Hand")),
        (second, ("Wheel", "Gear", "Dial")),
        (third, ("Wheel", "Dial")),
    ):
        with zipfile.ZipFile(brought.modules["clients"], "a") as jar:
            for name in names:
                jar.writestr(f"common/message/{name}.json", DATA.format(name))
    take_in(first)
    lines = list(report([take_in(second), take_in(third)], []))
    assert [line for line in lines if line.startswith("- Kafka")] == [
        "- Kafka 1.1.0: new messages Dial, Wheel; new versions ClockRequest 2.",
        "- Kafka 1.2.0: the same messages and versions as the previous release.",
    ]


def test_files_in_folders_that_others_share_are_left_to_be_moved(root: Path) -> None:
    for place in ("apis/A", "apis/fetch/B", "coordinators/C", "coordinators/D", "data/E", "headers/F", "metadata/G"):
        path = root / "union" / f"{place}.json"
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(DATA.format(path.stem))
    moved = [line.partition(":")[0] for line in left_to_do([]) if line.endswith("neighbouring folder")]
    assert moved == [f"`union/{place}.json`" for place in ("apis/A", "coordinators/C", "coordinators/D", "data/E")]


def test_what_is_no_release_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["4."])
    assert "'4.' is not a release such as 4.5.0" in capsys.readouterr().err


def test_an_older_release_changes_no_name(root: Path) -> None:
    take_in(jars(root, "2.0.0"))
    error_codes.write(root / "union" / "errors.json", ERRORS)
    (root / "union" / "enums" / "Phase.json").write_text(PHASE)
    take_in(jars(root, "1.0.0"))
    assert error_codes.read(root / "union" / "errors.json") == ERRORS
    assert (root / "union" / "enums" / "Phase.json").read_text() == PHASE


def test_a_release_that_contradicts_the_union_changes_nothing(root: Path) -> None:
    take_in(jars(root, "1.0.0"))
    before = {path: path.read_bytes() for path in (root / "union").rglob("*.json")}
    with pytest.raises(NotMergedError) as told:
        take_in(jars(root, "1.1.0", type="wrong"))
    assert str(told.value) == "1.1.0 was not merged\nthere is no type `wrong`"
    assert {path: path.read_bytes() for path in (root / "union").rglob("*.json")} == before
    assert list(facts.stored()) == ["1.0.0"]


def test_what_keeps_a_release_from_being_merged_is_told_line_by_line(root: Path) -> None:
    """A union that was changed by hand has not the bytes that its releases had."""
    take_in(jars(root, "1.0.0"))
    path = root / "union" / "apis" / "ClockRequest.json"
    path.write_text(path.read_text().replace("int64", "int32"))
    later = jars(root, "1.1.0", valid="1", type="int32")
    with pytest.raises(NotMergedError) as told:
        take_in(later)
    assert str(told.value) == "1.1.0 was not merged\nClockRequest version 0 of 1.0.0: the bytes differ"


@pytest.mark.parametrize(
    ("left", "shown"),
    [([], "\n  nothing"), (["\x1b[31mred", "twice"], "\n  \u241b[31mred\n  twice")],
)
def test_what_is_left_to_do_is_printed_as_it_is_or_as_nothing(
    left: list[str], shown: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (
        ("bring", lambda wanted: []),
        ("REPORT", root / "update.md"),
        ("left_to_do", lambda done: iter(left)),
        ("compared_with_java", lambda wanted: []),
    ):
        monkeypatch.setattr(update, name, value)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, "No more."))
    assert main(["1.0.0"]) == 0
    end = "\nthe changes and a draft for the changelog are in update.md\n"
    assert capsys.readouterr().out == f"\nLeft to do:{shown}{end}"
    head, _, tail = (root / "update.md").read_text().partition("# Draft")
    assert head.count("\n- ") == len(left)
    assert tail == " for the changelog\n\n# What changed here\n\nNo more.\n"


@pytest.mark.slow
def test_the_report_has_what_changed_since_the_last_commit(root: Path) -> None:
    take_in(jars(root, "1.0.0"))
    for command in (["init", "--quiet", "-b", "work"], ["add", "union"], ["commit", "--quiet", "--message", "One"]):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=n@localhost", *command], cwd=root, check=True)
    done = [take_in(jars(root, "1.1.0", valid="0-2"))]
    assert "\n".join(report(done, [])).partition("# What changed here\n\n")[2].splitlines()[:5] == [
        "## Protocol changes: `git:HEAD` → `union`",
        "",
        "**Not breaking**: 2 notes.",
        "",
        "### Clock (api key 1)",
    ]


def test_facts_have_a_line_for_each_definition_of_all_modules(root: Path) -> None:
    """By module and file. Modules may have no definitions."""
    brought = jars(root, "1.0.0")
    others = {name: root / f"{name}.jar" for name in ("tools", "broker")}
    for path, files in zip(others.values(), ((), ("Gear", "Dial")), strict=True):
        with zipfile.ZipFile(path, "w") as jar:
            for name in files:
                jar.writestr(f"common/message/{name}.json", DATA.format(name))
    text = facts.facts_of(replace(brought, modules={"tools": others["tools"], **brought.modules, **others}))
    data = (
        '{{"module":"broker","file":"{0}.json","schema":{{"type":"data","name":"{0}","validVersions":"0",'
        '"flexibleVersions":"none","fields":[]}}}}\n'
    )
    clock = '{"module":"clients","file":"ClockRequest.json","schema":{"apiKey":1,"type":"request",' \
        '"name":"ClockRequest","validVersions":"0","flexibleVersions":"none","fields":[{"name":"Time",' \
        '"type":"int64","versions":"0+","default":"5"}]}}\n'  # fmt: skip
    assert text == data.format("Dial") + data.format("Gear") + clock


def test_facts_are_without_prose(root: Path) -> None:
    found = json.loads(facts.facts_of(jars(root, "1.0.0")))
    assert found == {
        "module": "clients",
        "file": "ClockRequest.json",
        "schema": {
            "apiKey": 1, "type": "request", "name": "ClockRequest", "validVersions": "0", "flexibleVersions": "none",
            "fields": [{"name": "Time", "type": "int64", "versions": "0+", "default": "5"}],
        },
    }  # fmt: skip


def test_other_bytes_without_a_reason_are_left_to_do(root: Path) -> None:
    take_in(jars(root, "1.0.0"))
    done = take_in(jars(root, "1.1.0", type="int32"))
    told = "`exceptions.json`: add the reason why ClockRequest 0 has different bytes in 1.0.0"
    assert told in left_to_do([done])
    path = root / "union" / "exceptions.json"
    path.write_text(path.read_text().replace('"reason": ""', '"reason": "A preview."'))
    assert told not in left_to_do([done])


def test_a_value_comes_last_in_an_enum_that_has_an_order_of_its_own(root: Path) -> None:
    path = root / "union" / "enums" / "Phase.json"
    values = json.loads(PHASE)["values"]
    path.write_text(json.dumps({**json.loads(PHASE), "values": values[::-1]}))
    take_in(jars(root, "1.0.0"))
    assert [one["name"] for one in json.loads(path.read_text())["values"]] == ["FULL", "NEW", "WANING"]


def test_definitions_with_mistakes_are_no_facts(root: Path) -> None:
    with pytest.raises(ValueError, match=r"the definitions of 1\.0\.0 have findings: attribute|unknown escape"):
        facts.facts_of(jars(root, "1.0.0", type=r"int\q"))


def test_the_first_release_of_an_error_is_asked_from_all(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines without releases of their own are asked for their last one; the first two had no class of errors."""
    asked: list[str] = []

    def clients(versions: list[str], folder: Path) -> dict[str, str]:
        asked.extend(versions)
        return {version: version for version in versions}

    said = {"0.8.2.2": [0, 14, 20], "2.2.0": [0, 20, 70], "10.0.0": [70, 71]}
    names = type("", (), {"names": ["0.8.0", "0.8.1", "0.8.2", "2.2.0", "10.0.0"]})
    monkeypatch.setattr(error_codes, "read_history", lambda union: names)
    monkeypatch.setattr(error_codes, "clients", clients)
    monkeypatch.setattr(error_codes, "error_codes", lambda jars: [ErrorCode(code, "X", True) for code in said[jars]])
    found = error_codes.first_releases()
    assert asked == ["0.8.2.2", "2.2.0", "10.0.0"]
    assert found == error_codes.BEFORE | {20: "0.8.2", 70: "2.2.0", 71: "10.0.0"}
    path = root / "union" / "errors.json"
    known = [ErrorCode(20, "TWENTY", True, "Of all.", "9.9.9"), ErrorCode(70, "SEVENTY", False)]
    error_codes.write(path, known)
    monkeypatch.setattr(error_codes, "ERRORS", path)
    error_codes.main()
    expected = zip(known, ("0.8.2", "2.2.0"), strict=True)
    assert error_codes.read(path) == [replace(one, since=since) for one, since in expected]


def test_equal_releases_are_stored_once(tmp_path: Path) -> None:
    bundles = {"1.10.0": "b\n", "1.0.0": "a\n", "1.9.0": "b\n"}
    facts.store(bundles, tmp_path / "one.zip")
    facts.store(dict(sorted(bundles.items())), tmp_path / "other.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()
    assert zipfile.ZipFile(tmp_path / "one.zip").namelist() == ["1.0.0.jsonl", "1.9.0.jsonl", "same.json"]
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.read("same.json").decode() == '{\n "1.10.0": "1.9.0"\n}\n'
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_DEFLATED}
    assert list(facts.stored(tmp_path / "one.zip").items()) == [("1.0.0", "a\n"), ("1.9.0", "b\n"), ("1.10.0", "b\n")]


def test_errors_are_written_in_order_with_their_letters(tmp_path: Path) -> None:
    later = ErrorCode(1, "LATE", False, 'Zu spät — "leider".', "1.0.0")
    error_codes.write(tmp_path / "errors.json", [later, ErrorCode(-1, "EARLY", True)])
    assert (tmp_path / "errors.json").read_text() == (
        '[\n{"code": -1, "name": "EARLY", "retriable": true, "about": ""},\n{"code": 1, "name": "LATE", '
        '"retriable": false, "since": "1.0.0", "about": "Zu spät — \\"leider\\"."}\n]\n'
    )


def test_errors_that_a_release_dropped_stay() -> None:
    assert updated(ERRORS, [], "9.0.0") == ERRORS


def test_what_java_says_about_errors_is_not_trusted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    java = root / "bin" / "java"
    java.parent.mkdir()
    monkeypatch.setenv("PATH", f"{java.parent}{os.pathsep}{os.environ['PATH']}")
    brought = jars(root, "1.0.0")
    for line, good in (("-1 UNKNOWN true", True), ('0 NONE"] true', False), ("99999999 X true", False)):
        found = f"printf '7 SEVENTH false\n{line}\n'"
        java.write_text(f"#!/bin/sh\ngrep -q 'import org.apache.kafka.common.moved.Errors;' $3 && {found}\n")
        java.chmod(0o755)
        if good:
            codes = [ErrorCode(-1, "UNKNOWN", True), ErrorCode(7, "SEVENTH", False)]
            assert error_codes.error_codes(brought) == codes
        else:
            with pytest.raises(ValueError, match="unexpected form"):
                error_codes.error_codes(brought)
    java.write_text("#!/bin/sh\necho 'no class' >&2\nexit 1\n")
    with pytest.raises(ValueError, match=r"the error codes of 1\.0\.0 cannot be read: no class"):
        error_codes.error_codes(brought)


CONFORMANCE = """\
import sys
from pathlib import Path
Path({asked!r}).write_text(" ".join(sys.argv[1:]))
if {found} is not None:
    Path({path!r}).write_text("".join(f"{{line}}\\n" for line in {found}))
sys.exit({code})
"""


@pytest.mark.parametrize(
    ("found", "code", "told"),
    [
        ([], 0, []),
        (["error codes, 7: A is B in Java"], 1, ["Kafka's classes differ: error codes, 7: A is B in Java"]),
        (["x" * 601] * 20, 1, [f"Kafka's classes differ: {'x' * 600}"] * 20),
        (["x" * 1000] * 22, 1, [*[f"Kafka's classes differ: {'x' * 600}"] * 20, "and 2 more, see differences.txt"]),
        (None, 2, ["Kafka's classes could not be compared: run `make conformance` for details"]),
    ],
)
def test_what_differs_from_the_classes_of_a_release_is_left_to_do(
    found: list[str] | None, code: int, told: list[str], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked = root / "differences.txt", root / "asked"
    path.write_text("from an earlier run\n")
    monkeypatch.setattr(update, "DIFFERENCES", path)
    program = root / "tests" / "conformance" / "__main__.py"
    program.parent.mkdir(parents=True)
    program.write_text(CONFORMANCE.format(found=found, path=str(path), code=code, asked=str(asked)))
    assert compared_with_java(["9.1.0", "9.2.0"]) == told
    assert asked.read_text() == "--update-vectors --release=9.1.0 --release=9.2.0"


@pytest.mark.slow
def test_pages_name_the_newest_release_where_they_mean_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other releases stay, and so do pages without any."""
    union = tmp_path / "message_defs" / "kafka"
    union.mkdir(parents=True)
    releases = {name: {"source": "definitions", "apis": {}} for name in ("10.0.0", "9.9.0")}
    (union / "releases.json").write_text(json.dumps(releases))
    (tmp_path / "docs").mkdir()
    text = "Kafka {0}, not 3.9.1: from 0.8.0 to {0}, from 2.2.0 to {0}, from 3.0.0 to 9.9.0. `--target {0}`\n"
    places = [tmp_path / "README.md", tmp_path / "docs" / "a.md", tmp_path / "docs" / "b.md"]
    for path, page in zip(places, (text, text, "None.\n"), strict=True):
        path.write_text(page.format("9.9.0"))
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    pages.main()
    expected = text.format("10.0.0").replace("Kafka 10.0.0", "Kafka 9.9.0")
    assert [path.read_text() for path in places] == [expected, expected, "None.\n"]
