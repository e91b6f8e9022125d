"""Everything that a command prints and writes, for protocols of several files in both notations.

A snapshot has what goes to standard output, after ``---`` what goes to standard error, the exit code, and the files
that the command wrote.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from kwirec.command import main

DATA = Path(__file__).parents[1] / "data" / "definitions"

CASES: Mapping[str, tuple[str, str]] = {
    "a protocol": ("protocol", "check defs"),
    "a protocol, as syntax": ("protocol", "dump defs --stage syntax"),
    "a protocol, as a schema": ("protocol", "dump defs"),
    "a protocol, as layouts": ("protocol", "dump defs --stage layout"),
    "one message": ("protocol", "dump defs --message TellResponse --stage syntax"),
    "a protocol as JSON": ("protocol", "convert defs --to json --out out"),
    "a protocol in the indentation notation": ("protocol", "convert defs --to krammar --out out"),
    "a protocol for franz-go": ("protocol", "convert defs --to krammar --dialect franz-go --out out --format short"),
    "a protocol to be converted": ("protocol", "convert defs --to krammar --out defs --check"),
    "a protocol formatted": ("protocol", "fmt defs defs/12_ping"),
    "the dialect of another": ("protocol", "check defs/api --dialect franz-go --format short"),
    "text that cannot be read": ("syntax", "check defs"),
    "text that cannot be converted": ("syntax", "convert defs --to json --out out --format short"),
    "names that mean nothing": ("names", "check defs"),
    "names that mean nothing, for programs": ("names", "check defs/A.json defs/C.krm --format json"),
    "names that mean nothing, for a package": ("names", "generate defs --package zone --out out --format short"),
    "names that mean nothing, for layouts": ("names", "dump defs/A.json --stage layout --format short"),
    "rules that are broken": ("rules", "check defs"),
    "rules that are broken, for GitHub": ("rules", "check defs --format github --guide-url https://guide.example/x"),
    "rules that are broken, as tests": ("rules", "check defs/B.krm --format junit"),
    "warnings and notes": ("notes", "check defs"),
    "warnings and notes, with other settings": ("notes", "check defs --format short --config other.toml"),
    "warnings for code": ("notes", "generate defs/B.krm --package zone --out out --check --quiet --format short"),
    "other layouts": ("messy", "fmt defs"),
    "other layouts to be changed": ("messy", "fmt --check --diff defs/B.krm defs/D.krm defs/E.json"),
    "no files": ("messy", "check nowhere.json absent"),
    "a file twice, and a folder": ("notes", "check defs/B.krm defs ./defs/B.krm --format short"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_command_prints_and_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    folder, command = CASES[name]
    shutil.copytree(DATA / folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    windows = Path("defs/E.json")  # which has the ends of lines of Windows
    if folder == "messy":
        windows.write_bytes(windows.read_bytes().replace(b"\n", b"\r\n"))
    before = files()
    result = CliRunner().invoke(main, shlex.split(command), catch_exceptions=False)
    shown = [f"$ kwirec {command}", result.stdout.rstrip("\n"), "---", result.stderr.rstrip("\n")]
    shown.append(f"exit code {result.exit_code}")
    shown += [f"=== {path}\n{text}" for path, text in sorted(files().items()) if before.get(path) != text]
    assert re.sub(r"\d+\.\d(?= s\b)|\d+(?= lines in)", "N", "\n".join(shown)).replace("\r", "␍") == snapshot


def files() -> dict[str, str]:
    """The text of each file here, but for locks."""
    found = (path for path in Path().rglob("*") if path.is_file() and "lock" not in path.name)
    return {path.as_posix(): path.read_bytes().decode() for path in found}
