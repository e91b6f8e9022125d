"""The command line as a user meets it: what is printed where, and the exit codes 0, 1 and 2."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from kwire_rules.commands import Commands
from kwirec.__main__ import main as program
from kwirec.command import main
from kwirec.terminal import phases

DATA = Path(__file__).parent.parent / "data"
TYPO = """{
  "type": "data", "name": "Clock", "about": "A time.", "validVersions": "0", "flexibleVersions": "0+",
  "fields": [ { "name": "Zone", "type": "strng", "versions": "0+", "about": "Name of the zone." } ]
}
"""
CLOCK = TYPO.replace("strng", "string")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA / "clockwork", tmp_path / "defs")


def kwirec(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


def test_clean_definitions_exit_0() -> None:
    result = kwirec("check", "defs")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "messages checked: no findings" in result.stderr


def test_a_typo_is_shown_with_carets_and_a_suggestion(snapshot: SnapshotAssertion) -> None:
    Path("Clock.json").write_text(TYPO)
    result = kwirec("check", "Clock.json")
    assert result.exit_code == 1
    assert result.stderr == snapshot


UNDESCRIBED = CLOCK.replace(
    '"fields": [',
    "\n".join(['"fields": [', *(f'{{"name": "X{n}", "type": "int8", "versions": "0+"}},' for n in range(3))]),
)


def test_errors_come_last_and_warnings_with_the_same_advice_once() -> None:
    Path("Clock.json").write_text(
        UNDESCRIBED.replace('"versions": "0+"}', '"versions": "0+", "nullableVersions": "0+"}', 1)
    )
    shown = kwirec("check", "Clock.json").stderr
    assert [line[:11] for line in shown.splitlines() if "[K" in line] == ["warning[K20", "error[K402]"]
    assert "  = note: the same 2 more times in lines 5, 6; `--format short` lists each" in shown
    assert shown.splitlines()[-1] == "1 message checked: 1 error, 3 warnings"


def test_in_a_workflow_github_annotations_name_files_from_the_top_of_the_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files outside of a repository keep their names."""
    Path("proto/defs").mkdir(parents=True)
    Path("proto/defs/Clock.json").write_text(TYPO)
    Path("outside").mkdir()
    shutil.copy("proto/defs/Clock.json", "outside")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert kwirec("check", "--format", "github", "proto/../outside").stdout.startswith(
        "::error file=proto/../outside/Clock.json,"
    )
    Path("proto/.git").mkdir()
    monkeypatch.chdir("proto")
    assert kwirec("check", "--format", "github", "../outside").stdout.startswith(
        "::error file=../outside/Clock.json,"
    )
    Path(".git").rename("../.git")
    for path in ("defs", "../proto/defs", str(Path("defs").resolve())):
        assert kwirec("check", "--format", "github", path).stdout.startswith("::error file=proto/defs/Clock.json,")
    monkeypatch.delenv("GITHUB_ACTIONS")
    assert kwirec("check", "--format", "github", "defs").stdout.startswith("::error file=defs/Clock.json,")


def test_a_missing_path_exits_2() -> None:
    result = kwirec("check", "nowhere")
    assert result.exit_code == 2
    assert "K001" in result.stderr


def test_a_file_that_is_not_utf8_exits_2() -> None:
    Path("Clock.json").write_bytes(TYPO.encode().replace(b"A time.", b"\xff"))
    result = kwirec("check", "Clock.json")
    assert result.exit_code == 2
    assert "K002" in result.stderr


def test_a_path_without_definitions_exits_2() -> None:
    Path("empty").mkdir()
    for command in (("check", "empty"), ("dump", "empty"), ("generate", "empty", "--package", "clock")):
        result = kwirec(*command)
        assert result.exit_code == 2
        assert "no definitions in `empty`" in result.stderr
        assert "= help: in folders, kwirec reads only files that end in .json, .jsonl or .krm" in result.stderr


def test_a_folder_that_cannot_be_read_is_not_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(top: Path, onerror: Callable[[OSError], None]) -> list[tuple[str, list[str], list[str]]]:
        onerror(PermissionError(13, "Permission denied", f"{top}/secret"))
        return [(str(top), [], ["Gear.json"])]

    monkeypatch.setattr("kwirec.diagnostics.reading.os.walk", walk)
    result = kwirec("check", "defs")
    assert result.exit_code == 2
    assert "cannot read `defs/secret`" in result.stderr


def test_only_reserved_messages_give_an_empty_package() -> None:
    Path("None.json").write_text(
        '{ "type": "data", "name": "Gone", "about": "Was here.", "validVersions": "none", "fields": [] }'
    )
    assert kwirec("generate", "None.json", "--package", "gone", "--out", "out").exit_code == 0


@pytest.mark.parametrize("package", ["class", "kwire", "json", "no-name", "__init__", "__pycache__", "__"])
def test_a_package_cannot_have_every_name(package: str) -> None:
    assert kwirec("generate", "defs", "--package", package, "--out", "out").exit_code == 2
    assert not Path("out").exists()


def test_a_package_may_be_private() -> None:
    Path("Clock.json").write_text(CLOCK)
    assert kwirec("generate", "Clock.json", "--package", "__clock", "--out", "out").exit_code == 0


def test_merging_again_with_less_is_refused() -> None:
    assert kwirec("merge", "--release", "1.0.0", "defs", "--into", "union").exit_code == 0
    before = {p: p.read_bytes() for p in Path("union").rglob("*.json")}
    result = kwirec("merge", "--release", "1.0.0", "defs/Gear.json", "--into", "union")
    assert result.exit_code == 1
    assert "which SOURCE lacks" in result.stderr
    assert {p: p.read_bytes() for p in Path("union").rglob("*.json")} == before


@pytest.mark.parametrize("arguments", [("check",), ("chekc", "defs"), ("explain", "nothing"), ("generate", "defs")])
def test_wrong_usage_exits_2(arguments: tuple[str, ...]) -> None:
    assert kwirec(*arguments).exit_code == 2


def test_severities_and_waivers_come_from_pyproject() -> None:
    definition = Path("defs/Gear.json")
    definition.write_text(definition.read_text().replace('"about": ', '"about": "", "structAbout": ', 1))
    Path("Plain.json").write_text(TYPO.replace("strng", "string").replace("Name of the zone.", ""))
    assert kwirec("check", "Plain.json").exit_code == 1
    Path("pyproject.toml").write_text('[tool.kwirec]\nseverity = { K207 = "off" }\n')
    assert kwirec("check", "Plain.json").exit_code == 0
    Path("pyproject.toml").write_text(
        '[[tool.kwirec.waivers]]\ncode = "K207"\nmessage = "Clock"\nfield = "Zone"\nreason = "obvious"\n'
    )
    assert kwirec("check", "Plain.json").exit_code == 0
    assert "the waiver of K207 for `Clock.Zone` matches no finding" in kwirec("check", "defs").stderr
    Path("pyproject.toml").write_text('[[tool.kwirec.waivers]]\ncode = "K207"\nmessage = "Clock"\nreason = ""\n')
    result = kwirec("check", "Plain.json")
    assert result.exit_code == 2
    assert "reason" in result.stderr


def test_generate_prints_a_line_for_each_phase_and_a_summary() -> None:
    Path("Clock.json").write_text(CLOCK)
    result = kwirec("generate", "Clock.json", "--package", "clock", "--out", "out")
    assert result.exit_code == 0, result.stderr
    lines = result.stderr.splitlines()
    assert [line.split(":")[0] for line in lines[:4]] == ["reading definitions", "checking", "emitting", "formatting"]
    for word in ("messages", "versions", "distinct layouts", "lines in", "written", "removed"):
        assert word in lines[-1]
    assert Path("out/clock/__init__.py").exists()


def test_generate_quietly_prints_only_the_summary() -> None:
    Path("Clock.json").write_text(CLOCK)
    result = kwirec("generate", "Clock.json", "--package", "clock", "--out", "out", "--quiet")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.slow
def test_generate_check_fails_until_the_tree_is_right() -> None:
    Path("Clock.json").write_text(CLOCK)
    arguments = ("generate", "Clock.json", "--package", "clock", "--out", "out", "--quiet")
    assert kwirec(*arguments, "--check").exit_code == 1
    assert not Path("out").exists()
    assert kwirec(*arguments).exit_code == 0
    assert kwirec(*arguments, "--check").exit_code == 0
    Path("out/clock/index.py").write_text("edited")
    shutil.copyfile("defs/Gear.json", "Gear.json")
    assert kwirec(*arguments, "Gear.json").exit_code == 0
    Path("out/clock/index.py").write_text("edited")
    result = kwirec(*arguments, "--check")
    assert result.exit_code == 1
    outdated = re.findall("out/clock/(.*) is out of date: run `kwirec generate`", result.stderr)
    assert {"index.py", "data/gear.py"} <= {*outdated}


def test_generate_succeeds_with_warnings_which_fail_a_check() -> None:
    Path("Clock.json").write_text(CLOCK.replace(', "about": "Name of the zone."', ""))
    arguments = ("Clock.json", "--package", "clock", "--out", "out")
    assert kwirec("check", "Clock.json").exit_code == 1
    result = kwirec("generate", *arguments)
    assert result.exit_code == 0
    assert "warning[K207]" not in result.stderr
    assert "\n1 warning: run `kwirec check` to see them\n" in result.stderr
    checked = kwirec("generate", "--check", *arguments)
    assert checked.exit_code == 0
    files = len([path for path in Path("out").rglob("*") if path.is_file()])
    assert [f" {files} files, " in one.stderr for one in (result, checked)] == [True, True]


def test_an_entity_type_of_ones_own_is_kept_everywhere() -> None:
    Path("clock").mkdir()
    Path("clock/Clock.json").write_text(CLOCK.replace('"about": "Name', '"entityType": "streamId", "about": "Name'))
    Path("pyproject.toml").write_text('[tool.kwirec]\nseverity = { K403 = "off" }\n')
    assert kwirec("check", "clock").exit_code == 0
    assert "entityType=streamId" in kwirec("dump", "clock").stdout
    assert kwirec("generate", "clock", "--package", "clock_wire", "--out", "out").exit_code == 0
    assert runpy.run_path("out/clock_wire/entity_types.py")["FIELDS"] == {"streamId": (("Clock", "Clock", "zone"),)}
    assert kwirec("merge", "clock", "--release", "1.0.0", "--into", "union").exit_code == 0
    assert '"entityType": "streamId"' in next(Path("union").rglob("Clock.json")).read_text()
    assert kwirec("convert", "clock", "--to", "krammar", "--out", "krammar").exit_code == 0
    assert kwirec("diff", "clock", "krammar", "--level", "policy").stdout == ""


def test_a_pipe_in_place_of_settings_is_not_read() -> None:
    os.mkfifo("pyproject.toml")
    result = kwirec("check", "defs")
    assert result.exit_code == 2
    assert "not a regular file" in result.stderr


def test_rule_pages_removes_pages_of_codes_alone() -> None:
    for name in ("K999.md", "A1.md", "K1 notes.md"):
        Path(name).write_text("")
    assert kwirec("rule-pages", ".").exit_code == 0
    assert [Path(name).exists() for name in ("K999.md", "A1.md", "K1 notes.md")] == [False, True, True]


def test_generate_stops_before_writing_when_definitions_are_wrong() -> None:
    Path("defs/Clock.json").write_text(TYPO)
    result = kwirec("generate", "defs", "--package", "clock", "--out", "out")
    assert result.exit_code == 1
    assert "K101" in result.stderr
    assert not Path("out").exists()


def test_a_failed_generate_ends_with_its_counts_and_what_was_written() -> None:
    Path("Clock.json").write_text(TYPO)
    for quiet in ((), ("--quiet",)):
        result = kwirec("generate", "Clock.json", "--package", "clock", "--out", "out", *quiet)
        assert "K101" in result.stderr
        assert result.stderr.splitlines()[-1] == "1 error; later checks were not run; nothing was written"


def test_a_quiet_generate_that_succeeds_prints_no_warnings() -> None:
    Path("Clock.json").write_text(CLOCK.replace(', "about": "Name of the zone."', ""))
    arguments = ("generate", "Clock.json", "--package", "clock", "--out", "out")
    assert "warning" in kwirec(*arguments).stderr
    assert "warning" not in kwirec(*arguments, "--quiet").stderr
    found = json.loads(kwirec(*arguments, "--quiet", "--format", "json", "--guide-url", "../site").stdout)
    assert (found["code"], found["guide"]) == ("K207", "../site/data/clock.html#message.zone")


def test_generate_refuses_a_folder_of_somebody_else_and_a_name_that_is_none() -> None:
    Path("out/clock").mkdir(parents=True)
    Path("out/clock/mine.txt").write_text("")
    assert kwirec("generate", "defs", "--package", "clock", "--out", "out").exit_code == 2
    assert kwirec("generate", "defs", "--package", "no-name", "--out", "out").exit_code == 2


@pytest.mark.parametrize("stage", ["syntax", "schema", "layout"])
def test_dump_prints_one_message_of_many(stage: str) -> None:
    shown = kwirec("dump", "--stage", stage, "defs", "--message", "ClockRequest")
    assert shown.exit_code == 0
    assert "ClockRequest" in shown.stdout
    assert "ClockResponse" not in shown.stdout
    assert "did you mean `ClockRequest`?" in kwirec("dump", "defs", "--message", "ClockReqest").stderr


def test_dump_of_one_message_leaves_out_all_else_and_tells_its_errors() -> None:
    Path("Clock.krm").write_text(
        "Phase int8 (\n  0: NEW\n)\n\nClockRequest => key 1, max version 0\n  Phase: enum-Phase\n"
    )
    for stage in ("syntax", "schema"):
        shown = kwirec("dump", "--stage", stage, "Clock.krm", "--message", "ClockRequest")
        assert ("ClockRequest" in shown.stdout, "NEW" in shown.stdout) == (True, False)
    Path("Clock.json").write_text(TYPO)
    assert kwirec("dump", "Clock.json", "defs", "--stage", "layout").stdout == ""
    broken = kwirec("dump", "Clock.json", "--message", "Clock")
    assert (broken.exit_code, "there is no type `strng`" in broken.stderr) == (1, True)


def test_a_map_type_is_answered_with_an_array_of_structs() -> None:
    Path("Clock.json").write_text(TYPO.replace("strng", "map<string,int32>"))
    assert "= help: a map is an array of structs, `[]Entry`, with a field for" in kwirec("check", "Clock.json").stderr


def test_explain_takes_numbers_and_names() -> None:
    by_number = kwirec("explain", "K602")
    assert by_number.exit_code == 0
    assert "tag" in by_number.stdout
    assert kwirec("explain", "duplicate-tag").stdout == by_number.stdout
    assert "did you mean" in kwirec("explain", "duplicate-tga").stderr


def test_explain_knows_the_rules_of_diff() -> None:
    shown = kwirec("explain", "FIELD_ADDED_TO_VERSION")
    assert shown.exit_code == 0
    assert shown.stdout.startswith(
        "FIELD_ADDED_TO_VERSION (wire, error)\n\nA field was added to an existing version."
    )
    assert '"name": "Hour"' in shown.stdout.partition("After:")[2]
    assert kwirec("explain", " field-added-to-version ").stdout == shown.stdout
    assert "did you mean `FIELD_REORDERED`?" in kwirec("explain", "FIELD_REORDRED").stderr


def test_merge_reports_and_is_repeatable() -> None:
    result = kwirec("merge", "--release", "1.0.0", "defs", "--into", "union")
    assert result.exit_code == 0, result.stderr
    assert "0 mismatches" in result.stderr
    before = {p: p.read_bytes() for p in Path("union").rglob("*.json")}
    assert kwirec("merge", "--release", "1.0.0", "defs", "--into", "union").exit_code == 0
    assert {p: p.read_bytes() for p in Path("union").rglob("*.json")} == before
    assert kwirec("merge", "--release", "newest", "defs", "--into", "union").exit_code == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("check",),
        ("check", "--fix"),
        ("fmt",),
        ("generate", "--package", "clock_wire"),
        ("guide",),
        ("dump",),
        ("convert", "--to", "krammar", "--out", "out"),
        ("emit", "templates", "--out", "out"),
        ("diff", "Clock.txt"),
    ],
)
def test_a_notation_is_said_for_files_whose_suffix_does_not_tell(command: tuple[str, ...]) -> None:
    Path("Clock.txt").write_text(CLOCK)
    Path("templates").mkdir()
    Path("templates/a.txt.jinja").write_text("{{ schema }}")
    assert kwirec(*command, "Clock.txt", "--notation", "json").exit_code == 0
    assert kwirec(*command, "Clock.txt", "--notation", "krammar").exit_code == (2 if command[0] == "diff" else 1)


def test_a_dialect_is_said_for_files_whose_suffix_means_another() -> None:
    Path("Clock.krm").write_text("Clock => key 1, max version 0, unstable\n")
    for fix in ([], ["--fix"]):
        assert "K022" not in kwirec("check", "Clock.krm", *fix).stderr
        told = kwirec("check", "Clock.krm", "--dialect", "franz-go", *fix).stderr
        assert "franz-go does not know `unstable`" in told


MERGE = ("merge", "--release", "1.0.0", "--into", "union")
GEAR = "1 messages, 3 versions"
GENERATE = ("generate", "defs/Gear.json", "--package", "gear", "--out", "out", "--quiet")
GUIDE = ("guide", "defs/Gear.json", "--out", "site", "--quiet")
CONVERT = ("convert", "defs/Gear.json", "--to", "krammar", "--out", "out")
TOLD: list[tuple[tuple[str, ...], int, str]] = [
    (("check", "defs"), 0, "10 messages checked: no findings"),
    (
        (*MERGE, "defs"),
        0,
        "26 (release, message, version) verified, 0 exceptions, 0 mismatches\n"
        "1.0.0 merged: 10 new messages, 0 changed, N files written",
    ),
    (
        (*MERGE, "defs/Gear.json"),
        1,
        "conflict: 1.0.0 was merged with ClockHeader, ClockRequest, ClockResponse, Escapement, PendulumRecord and 2 "
        "more, which SOURCE lacks: pass the sources of all modules\n1.0.0 was not merged; no files were written",
    ),
    ((*MERGE, "nowhere"), 2, "1.0.0 was not merged; no files were written"),
    ((*MERGE[:2], "1.0.0\n", "defs"), 2, r"Error: invalid release '1.0.0\n': expected numbers separated by dots"),
    (GENERATE, 0, f"{GEAR}, 3 distinct layouts; N lines in N files, N written, 0 removed; N s"),
    ((*GENERATE, "--check"), 0, f"{GEAR}, 3 distinct layouts; N lines in N files, 0 differ, 0 obsolete; N s"),
    ((*GUIDE, "--check"), 1, f"{GEAR}; N files, 12 differ, 0 obsolete; N s"),
    (GUIDE, 0, f"{GEAR}; N files, N written, 0 removed; N s\nopen site/index.html"),
    ((*GUIDE, "--check"), 0, f"{GEAR}; N files, 0 differ, 0 obsolete; N s"),
    ((*CONVERT, "--check"), 1, "1 files, 1 differ\nout/Gear.krm is out of date: run `kwirec convert`"),
    (CONVERT, 0, "1 files, 1 written"),
    ((*CONVERT, "--check"), 0, "1 files, 0 differ"),
    ((*CONVERT, "--to", "json", "--dialect", "franz-go"), 2, "Error: --dialect is only valid with --to krammar"),
    (("explain", "nothing"), 2, "Error: unknown code 'nothing'."),
    (("explain", "K6O2"), 2, "Error: unknown code 'K6O2'. did you mean `K602`?"),
    (("explain", "K602 "), 0, ""),
    (("diff", "defs", "defs", "--layouts", "--level", "wire"), 2,
        "Error: --layouts is not valid with --level, and supports only the formats text, markdown, json"),
    (("diff", "defs", "defs", "--layouts"), 0, "26 versions are equal, 0 differ, 0 only in defs, 0 only in defs"),
    (("dump", "defs", "--message", "Ger"), 2, "Error: there is no message `Ger`. did you mean `Gear`?"),
    ((*GENERATE, "--package", "json"), 2, "Error: 'json' would shadow an existing package: choose another name"),
    ((*GENERATE, "--package", "kwirec"), 2, "Error: 'kwirec' would shadow an existing package: choose another name"),
    (("guide", "defs", "--package", "no-name"), 2, "Error: 'no-name' is not a valid package name"),
]  # fmt: skip


@pytest.mark.slow
def test_what_commands_say_at_the_end() -> None:
    for arguments, code, told in TOLD:
        result = kwirec(*arguments)
        lines = result.stderr.rstrip().splitlines()[-len(told.splitlines()) :]
        shown = re.sub(r"\b\d{2,}(?= lines| files| written)|[\d.]+(?= s$)", "N", "\n".join(lines), flags=re.M)
        assert (result.exit_code, shown) == (code, told), arguments


def test_the_program_says_what_the_system_refuses_and_what_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**_: str) -> None:
        raise OSError(28, "No space left on \x1b[31mdevice")

    with monkeypatch.context() as patch:
        patch.setattr("kwirec.command.main", full)
        with pytest.raises(SystemExit) as ended:
            program()
    assert (ended.value.code, capsys.readouterr().err) == (
        2,
        "kwirec: [Errno 28] No space left on \u241b[31mdevice\n",
    )
    for lacking in ("black", "jinja2", "rich"):  # imported later, by the commands that use them

        def without(name: str = lacking, **_: str) -> None:
            raise ModuleNotFoundError(name=name)

        with monkeypatch.context() as patch:
            patch.setattr("kwirec.command.main", without)
            with pytest.raises(SystemExit, match=f"kwirec needs {lacking}: "):
                program()
    monkeypatch.delitem(sys.modules, "kwirec.command")
    for lacking, ending, told in (
        ("click", SystemExit, "kwirec needs click: pip install 'kwire[compiler]'"),
        ("kwirec.command", ModuleNotFoundError, "import of kwirec.command halted"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, lacking, None)
            with pytest.raises(ending, match=re.escape(told)):
                program()


def test_settings_are_those_of_the_nearest_folder_unless_others_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("Plain.json").write_text(CLOCK.replace("Name of the zone.", ""))
    Path("off.toml").write_text('[tool.kwirec]\nseverity = { K207 = "off" }\n')
    Path("pyproject.toml").write_text('[tool.kwirec]\nseverity = { K207 = "note" }\n')
    Path("below/deep").mkdir(parents=True)
    monkeypatch.chdir("below/deep")
    assert "note[K207]" in kwirec("check", "../../Plain.json").stderr
    assert "K207" not in kwirec("check", "../../Plain.json", "--config", "../../off.toml").stderr
    Path("../pyproject.toml").write_text("")
    assert "warning[K207]" in kwirec("check", "../../Plain.json").stderr
    assert kwirec("check", "../../Plain.json", "--config", "nowhere.toml").exit_code == 2


@pytest.mark.slow
def test_a_guide_is_named_after_the_folder_unless_it_has_a_title(monkeypatch: pytest.MonkeyPatch) -> None:
    assert kwirec(*GUIDE[:2], "--out", "one", "--quiet").exit_code == 0
    assert "<h1>Gear protocol</h1>" in Path("one/index.html").read_text()
    Path("docs").mkdir()
    Path("docs/teeth.md").write_text("# Teeth")
    assert kwirec("guide", "defs", "--out", "two", "--title", "Of clocks", "--docs", "docs", "--quiet").exit_code == 0
    assert "<h1>Of clocks</h1>" in Path("two/index.html").read_text()
    assert Path("two/project/docs/teeth.html").exists()
    monkeypatch.chdir("defs")
    assert kwirec("guide", ".", "--out", "../three", "--quiet").exit_code == 0
    assert "<h1>defs protocol</h1>" in Path("../three/index.html").read_text()


def test_a_folder_whose_chapters_are_none_is_wrong_usage() -> None:
    Path("defs/guide").mkdir()
    Path("defs/guide/Wrong Name.md").write_text("# T")
    result = kwirec("guide", "defs", "--out", "site")
    assert result.exit_code == 2
    assert "Wrong Name.md: name the file NUMBER-WORDS.md" in result.stderr


def test_fmt_formats_in_place() -> None:
    Path("Clock.json").write_text(CLOCK)
    Path("Clock.json").chmod(0o640)
    result = kwirec("fmt", "Clock.json")
    assert result.exit_code == 0
    assert result.stderr == "formatted Clock.json\n1 file formatted, 0 unchanged\n"
    assert '\n  "type": "data",\n  "name": "Clock",\n' in Path("Clock.json").read_text()
    assert Path("Clock.json").stat().st_mode & 0o777 == 0o640
    assert kwirec("fmt", "Clock.json").stderr == "0 files formatted, 1 unchanged\n"


def test_fmt_leaves_files_with_mistakes_and_formats_the_others() -> None:
    Path("defs/Bad.json").write_text('{ "one": 1, "two": 2')
    Path("defs/Clock.json").write_text(CLOCK)
    Path("defs/all.jsonl").write_text(CLOCK.replace("\n", " ").replace("Clock", "Other") + "\n")
    before = Path("defs/all.jsonl").read_text()
    result = kwirec("fmt", "defs")
    assert result.exit_code == 1
    assert "error[K003]" in result.stderr
    assert result.stderr.endswith(", 1 skipped because of mistakes\n")
    assert Path("defs/Bad.json").read_text() == '{ "one": 1, "two": 2'
    assert Path("defs/Clock.json").read_text() != CLOCK
    assert Path("defs/all.jsonl").read_text() == before
    assert kwirec("fmt", "nowhere").exit_code == 2


def test_fmt_is_a_filter() -> None:
    def filtered(text: str, *options: str) -> Result:
        return CliRunner().invoke(main, ["fmt", *options, "-"], input=text, catch_exceptions=False)

    assert filtered("A =>  key 1,max version 0\n").stdout == "A => key 1, max version 0\n"
    assert filtered("A =>  key 1, max version 0\r\n").stdout_bytes == b"A => key 1, max version 0\r\n"
    assert filtered(CLOCK, "--check").exit_code == 1
    assert filtered(CLOCK, "--notation", "krammar").exit_code == 1
    broken = filtered("{")
    assert (broken.exit_code, broken.stdout) == (1, "")
    assert "standard input:1:1" in broken.stderr


def test_fmt_follows_links_to_files() -> None:
    Path("real").mkdir()
    Path("real/Clock.json").write_text(CLOCK)
    Path("Link.json").symlink_to("real/Clock.json")
    assert kwirec("fmt", "Link.json").exit_code == 0
    assert Path("Link.json").is_symlink()
    assert Path("real/Clock.json").read_text() != CLOCK


def test_fmt_refuses_standard_input_beside_files_and_more_than_a_file_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert kwirec("fmt", "-", "defs").exit_code == 2
    monkeypatch.setattr("kwirec.diagnostics.reading.MAX_BYTES", len(CLOCK))
    monkeypatch.setattr("kwirec.formatting.MAX_BYTES", len(CLOCK))
    for text, code in ((CLOCK, 0), (f"{CLOCK}\n", 2)):
        assert CliRunner().invoke(main, ["fmt", "-"], input=text).exit_code == code


def test_any_dialect_is_refused_only_where_it_says_what_json_cannot() -> None:
    for dialect, code in (("kwire", 0), ("franz-go", 2)):
        assert kwirec("convert", "defs", "--to", "json", "--dialect", dialect, "--out", "out").exit_code == code


def test_commands_of_other_packages_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"absent": "kwire_absent.command:absent", "broken": "kwire_guide.absent:broken"}
    points = [EntryPoint(name, place, "some.commands") for name, place in places.items()]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == "some.commands" else [])
    own = {"describe": "kwire.command.describe:describe", "gone": "nowhere.command:gone"}
    group = Commands(own=own, others="some.commands")
    run = CliRunner().invoke
    assert group.list_commands(click.Context(group)) == ["describe", "gone", "absent", "broken"]
    for arguments in (["absent"], ["absent", "--help"], ["absent", "--option", "FILE"]):
        result = run(group, arguments)
        assert (result.exit_code, result.output.splitlines()[-1]) == (
            2,
            "Error: absent needs kwire_absent: pip install 'kwire[absent]'",
        )
    for mistake in ("broken", "gone"):  # of ours: nothing that a user could install
        assert isinstance(run(group, [mistake]).exception, ModuleNotFoundError)
    assert "No such command 'descr'. Did you mean 'describe'?" in run(group, ["descr"]).output
    assert "No such command 'x'." in run(group, ["x"]).output


@pytest.mark.parametrize("terminal", [False, True])
def test_only_a_terminal_gets_colours_and_no_control_characters(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file, a pipe and programs get neither colours nor other characters than the definitions have."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda stream: terminal)
    Path("Clock.json").write_text(TYPO)
    Path("Hour.json").write_text(CLOCK)
    Path("Day.json").write_text(CLOCK.replace("string", "int8"))

    def run(*arguments: str, given: str = "") -> Result:
        return CliRunner().invoke(main, list(arguments), input=given, color=True, catch_exceptions=False)

    red = "\x1b[1;31merror["
    assert run("check", "Clock.json").stderr.startswith(red) is terminal
    assert run("diff", "Hour.json", "Day.json").stdout.startswith(red) is terminal
    for form in ("short", "json", "github", "junit"):
        assert "\x1b" not in run("check", "Clock.json", "--format", form).output
    for form in ("markdown", "json", "github", "junit"):
        assert "\x1b" not in run("diff", "Hour.json", "Day.json", "--format", form).output
    filtered = run("fmt", "-", given="// \x1b[31m red\nA => key 1, max version 0\n").stdout
    escape = "\u241b" if terminal else "\x1b"
    assert filtered == f"// {escape}[31m red\nA => key 1, max version 0\n"


@pytest.mark.parametrize(
    ("terminal", "quiet", "shown"),
    [
        (False, True, []),
        (False, False, ["reading definitions: 2", "checking: 0", "emitting: 3", "formatting: 3"]),
        (True, True, []),
        (True, False, ["reading definitions 2/2", "checking 0/0", "emitting 3/3", "formatting 3/3"]),
    ],
)
def test_progress_is_a_line_for_each_phase_that_ends_or_a_bar_for_each_that_begins(
    terminal: bool, quiet: bool, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = StringIO()

    def console(*, stderr: bool, quiet: bool) -> Console:
        assert stderr
        return Console(file=out, force_terminal=terminal, quiet=quiet, width=90, color_system=None)

    monkeypatch.setattr("kwirec.terminal.Console", console)
    with phases(quiet=quiet) as show:
        for phase, done, total in (
            *(("parse", 1, 2), ("parse", 2, 2), ("check", 0, 0), ("emit", 1, 3), ("emit", 3, 3)),
            *(("format", 1, 3), ("format", 3, 3)),
        ):
            show(phase, done, total)
    last = out.getvalue().rpartition("\r")[2] if terminal else out.getvalue()
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in last.splitlines()]
    found = [re.sub(r"[━╸╺ ]+", " ", line).rpartition(" 0:00:0")[0] if terminal else line for line in lines]
    assert [line for line in found if line] == shown
