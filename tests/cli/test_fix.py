"""``kwirec check --fix`` and ``--diff``: files on the disk, what is printed, and exit codes."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from codecs import BOM_UTF8
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kwirec.command import main
from kwirec.diagnostics.examples import clock, field, krammar

WRONG = clock(field("Zone", "strng", zeroCopy=True), field("Hour", "int8", nullableVersions="0+"))
MENDED = WRONG.replace("strng", "string").replace(' "zeroCopy": true,', "")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Clock.json").write_text(WRONG)


def check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["check", *arguments], catch_exceptions=False)


def test_what_is_left_is_printed_and_counted() -> None:
    assert check("Clock.json").stderr.endswith(
        "1 message checked: 1 error; later checks were not run; --fix corrects 1\n"
    )
    done = check("Clock.json", "--fix")
    assert done.exit_code == 1
    assert done.stderr.startswith("error[K402]: field `Hour` cannot be null\n")
    assert done.stderr.endswith("\n1 message checked: fixed 2; 1 error left\n")
    assert Path("Clock.json").read_text() == MENDED
    assert check("Clock.json", "--fix").stderr.endswith("fixed 0; 1 error left\n")
    Path("Clock.json").write_text(clock(field("Zone", "strng")))
    assert check("Clock.json", "--fix").exit_code == 0


def test_what_reading_finds_is_left_once_however_many_rounds_there_are() -> None:
    Path("Watch.json").write_bytes(b"\xff")
    Path("Clock.json").write_text(clock(field("Zone", "strng")).replace("[\n", "[ ,\n"))
    unread = (
        "error[K001]: cannot read `Alarm.json`\n"
        " --> Alarm.json\n"
        "  = note: no such file or folder\n\n"
        "error[K002]: the file is not UTF-8\n"
        " --> Watch.json:1:1\n"
        "  |\n"
        "1 | \ufffd\n"
        "  | ^ invalid start byte\n"
    )
    first = "1 message checked: "
    for option, shown in (("--diff", f"{first}would fix 2"), ("--fix", f"{unread}{first}fixed 2")):
        done = check("Clock.json", "Alarm.json", "Watch.json", option)
        assert (done.exit_code, done.stderr) == (2, f"{shown}; 2 errors left; later checks were not run\n")
    assert Path("Clock.json").read_text() == clock(field("Zone", "string")).replace("[\n", "[ \n")


def test_a_diff_writes_nothing() -> None:
    for options in (["--diff"], ["--fix", "--diff"]):
        done = check("Clock.json", *options)
        assert done.exit_code == 1
        assert Path("Clock.json").read_text() == WRONG
        assert done.stdout.startswith("--- Clock.json\n+++ Clock.json\n@@ ")
        assert [line for line in done.stdout.split("\n")[3:] if line.startswith(("-", "+"))] == [
            f"{sign}{line}"
            for sign, text in (("-", WRONG), ("+", MENDED))
            for line in text.split("\n")
            if "Zone" in line
        ]
        assert done.stderr == "1 message checked: would fix 2; 1 error left\n"
    Path("Clock.json").write_text(clock(field("Zone", "strng")))
    assert check("Clock.json", "--diff").exit_code == 1
    Path("Clock.json").write_text(clock())
    assert (check("Clock.json", "--diff").exit_code, check("Clock.json", "--diff").stdout) == (0, "")


def test_programs_get_the_edits() -> None:
    (found,) = map(json.loads, check("Clock.json", "--format", "json").stdout.splitlines())
    place = {"file": "Clock.json", "line": 3, "column": 30, "end_line": 3, "end_column": 35}
    assert found["fix"] == [{**place, "text": "string"}]
    (left,) = map(json.loads, check("Clock.json", "--format", "json", "--fix").stdout.splitlines())
    assert (left["code"], "fix" in left) == ("K402", False)


@pytest.mark.parametrize(
    ("name", "wrong", "mended"),
    [
        ("Clock.json", WRONG, MENDED),
        ("Clock.krm", *(krammar(f"  Hour: int8 // v1+,{comma} ignorable\n") for comma in (",", ""))),
    ],
)
def test_marks_of_editors_line_ends_and_permissions_stay(name: str, wrong: str, mended: str) -> None:
    Path(name).write_bytes(BOM_UTF8 + wrong.replace("\n", "\r\n").encode())
    Path(name).chmod(0o640)
    check(name, "--fix")
    assert Path(name).read_bytes() == BOM_UTF8 + mended.replace("\n", "\r\n").encode()
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o640


def test_error_codes_are_mended_and_archives_and_bundles_are_not() -> None:
    Path("errors.json").write_text('[{ "code": 1, "name": "Too late", "retriable": false, "about": "Late." }]')
    with zipfile.ZipFile("all.zip", "w") as archive:
        archive.writestr("Watch.json", WRONG.replace("Clock", "Watch"))
    Path("all.jsonl").write_text(WRONG.replace("Clock", "Alarm").replace("\n", " "))
    kept = {path: Path(path).read_bytes() for path in ("all.zip", "all.jsonl")}
    assert check(".", "--fix").stderr.endswith(
        "3 messages checked: fixed 2; 2 errors left; later checks were not run\n"
    )
    assert {path: Path(path).read_bytes() for path in kept} == kept
    assert '"TOO_LATE"' in Path("errors.json").read_text()
    assert Path("Clock.json").read_text() == WRONG.replace("strng", "string")


def test_what_a_project_waives_or_turns_off_is_not_mended() -> None:
    Path("Clock.json").write_text(text := clock(field("Owner", "int32", entityType="brokerID")))
    Path("pyproject.toml").write_text('[tool.kwirec]\nseverity = { K403 = "off" }\n')
    assert check("Clock.json", "--fix").exit_code == 0
    assert Path("Clock.json").read_text() == text
    waiver = '[[tool.kwirec.waivers]]\ncode = "K403"\nmessage = "Clock"\nreason = "ours"\n'
    Path("pyproject.toml").write_text(waiver)
    assert check("Clock.json", "--fix").stderr == "1 message checked: fixed 0; no findings left\n"
    assert Path("Clock.json").read_text() == text


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        done = check("Clock.json", "--fix")
    finally:
        tmp_path.chmod(0o700)
    assert done.exit_code == 2
    assert "Permission denied" in done.stderr
