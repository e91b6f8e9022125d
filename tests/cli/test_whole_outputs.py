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
from zipfile import ZipFile

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
    "a file of franz-go": ("protocol", "check defs/12_ping --format short"),
    "a file of franz-go in the other dialect": ("protocol", "check defs/12_ping --dialect kwire --format short"),
    "a file without a suffix": ("protocol", "check defs/12_ping --notation json --format short"),
    "a notation for a file that has another": ("protocol", "check defs/log.jsonl --notation krammar --format short"),
    "text that cannot be read": ("syntax", "check defs"),
    "text that cannot be converted": ("syntax", "convert defs --to json --out out --format short"),
    "names that mean nothing": ("names", "check defs"),
    "names that mean nothing, for programs": (
        "names", "check defs/A.json defs/C.krm --format json --guide-url ../site"
    ),
    "names that mean nothing, for a package": ("names", "generate defs --package zone --out out --format short"),
    "names that mean nothing, for layouts": ("names", "dump defs/A.json --stage layout --format short"),
    "rules that are broken": ("rules", "check defs"),
    "rules that are broken, for GitHub": ("rules", "check defs --format github --guide-url https://guide.example/x"),
    "rules that are broken, as tests": ("rules", "check defs/B.krm --format junit"),
    "warnings and notes": ("notes", "check defs"),
    "warnings and notes, with other settings": ("notes", "check defs --format short --config other.toml"),
    "warnings for code": ("notes", "generate defs/B.krm --package zone --out out --check --quiet --format short"),
    "other layouts": ("messy", "fmt defs"),
    "other layouts that are only checked": ("messy", "fmt --check defs"),
    "layouts that are as they should be": ("messy", "fmt defs/A.json ; fmt --check --diff defs/A.json defs/D.krm"),
    "layouts that would change": ("messy", "fmt --diff defs/B.krm defs/D.krm"),
    "files with several mistakes each": ("syntax", "fmt --check defs"),
    "other layouts to be changed": ("messy", "fmt --check --diff defs/B.krm defs/D.krm defs/E.json"),
    "settings": ("settings", "check defs --config right.toml"),
    "settings with mistakes": ("settings", "check defs --config wrong.toml"),
    "settings of a comparison with mistakes": ("settings", "diff defs defs --config wrong.toml"),
    "no settings": ("settings", "check defs --format short"),
    "a filter": ("messy", "fmt - < defs/B.krm"),
    "a filter of JSON that shows what changes": ("messy", "fmt --diff --check --notation json - < defs/E.json"),
    "a filter of what cannot be read": ("messy", "fmt - < defs/C.json"),
    "places": ("places", "check defs defs/franz alone.txt --format short"),
    "places, in full": ("places", "check defs/latin.json defs/marked.krm defs/all.jar"),
    "a place formatted": ("places", "fmt defs alone.txt --notation json"),
    "a place converted": ("places", "convert defs/all.jar defs/franz defs/marked.krm --to json --out out"),
    "a folder with an archive and a bundle converted": (
        "places", "rm defs/latin.json ; convert defs --to krammar --out out --format short ; convert defs --to json"
        " --out out --check --format short"
    ),
    "an explanation": ("messy", "explain k603"),
    "an explanation of a rule of diff": ("messy", "explain tag_reused"),
    "a new protocol": ("messy", "new bell"),
    "a new protocol in the other notation": ("messy", "new bell here --notation krammar"),
    "a package": ("notes", "generate defs --package zone --out out --config other.toml"),
    "a package of other definitions": (
        "protocol", "generate defs --package zone --out out ; rm defs/api/Ask.krm ; generate defs --package"
        " zone --out out --check ; generate defs --package zone --out out -q ; generate defs --package zone --out out"
        " --check -q"
    ),
    "a protocol converted again": (
        "protocol", "convert defs/log defs/log.jsonl --to krammar --out out ; rm out/BellKey.krm ; convert defs/log"
        " defs/log.jsonl --to krammar --out out --check ; convert defs/log defs/log.jsonl --to krammar --out out ;"
        " convert defs/log defs/log.jsonl --to krammar --out out"
    ),
    "a guide of other definitions": (
        "protocol", "guide defs --out site ; rm defs/api/Ask.krm ; guide defs --out site --check -q ; guide defs"
        " --out site ; guide defs --out site --check -q ; guide defs --out site --check -q --title Bells"
    ),
    "one message of definitions with mistakes": ("names", "dump defs --message A --format json"),
    "a package with findings for programs": (
        "notes", "generate defs/B.krm --package zone --out out --format json --guide-url https://guide.example -q"
    ),
    "a release with mistakes": ("names", "merge defs --release 1.0.0 --into union --format short"),
    "a part of a protocol compared with all of it": (
        "protocol", "diff defs/api defs ; diff defs defs/api --level source --format github ; diff defs/api defs"
        " --layouts ; diff defs defs/api --layouts --format json ; diff defs defs/api --layouts --format markdown"
    ),
    "a release merged again": (
        "protocol", "merge defs --release 1.0.0 --into union ; merge defs --release 1.0.0 --into union ; merge"
        " defs/api defs/log --release 1.1.0 --into union --format short ; diff release:1.0.0 union --union union ;"
        " diff union release:1.1.0 --union union --level policy --format markdown"
    ),
    "no files": ("messy", "check nowhere.json absent"),
    "no files, for programs": ("messy", "check nowhere.json absent --format json ; check absent --format github"),
    "a file twice, and a folder": ("notes", "check defs/B.krm defs ./defs/B.krm --format short"),
    "wrong usage": (
        "notes", "dump defs --format json --stage syntax ; convert defs --to json --dialect franz-go --out out ;"
        " convert defs --to krammar --out other.toml/out ; check defs --guide-url ftp://clock ; merge defs --release"
        " 1.x ; diff defs defs --layouts --format junit ; generate defs --package 9 ; new a_ ; new é ; new a --ci"
        " github --templates ; new a other.toml/a ; fmt - defs ; diff git:HEAD release:1.0 ; diff other.toml!a defs"
    ),
    "wrong options of templates": (
        "notes", "emit pydantic defs/B.krm -q --out out --set package ; emit pydantic defs/B.krm -q --out out"
        " --format-with .py= ; emit pydantic defs/B.krm -q --out out --only Nobody:1"
    ),
    "new templates, and a workflow for a protocol that is there": (
        "notes", "new bell --templates ; new bell --templates ; new clock . --ci github ; new clock . --ci github"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_a_command_prints_and_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    folder, command = CASES[name]
    if (DATA / folder).exists():
        shutil.copytree(DATA / folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    PREPARATIONS.get(folder, lambda: None)()
    before = files()
    shown = [line for one in command.split(" ; ") for line in run(one)]
    for path, text in sorted(files().items()):
        if before.get(path) != text:
            shown.append(f"=== {path}\n{text if command.startswith(('convert', 'fmt')) else ''}".rstrip("\n"))
    text = re.sub(r"\d+\.\d(?= s\b)|\d+(?= lines in)", "N", "\n".join(shown)).replace("\r", "␍")
    assert text.replace(" -h' for help", " --help' for help") == snapshot  # click before 8.4 names the first option


def run(command: str) -> list[str]:
    """What a command prints, in whole lines, and its exit code. ``rm`` removes a file."""
    arguments, _, given = command.partition(" < ")
    if arguments.startswith("rm "):
        Path(arguments.removeprefix("rm ")).unlink()
        return [f"$ {command}"]
    read = Path(given).read_bytes() if given else None
    result = CliRunner().invoke(main, shlex.split(arguments), input=read, catch_exceptions=False)
    assert all(float(seconds) < 200 for seconds in re.findall(r"; ([\d.]+) s$", result.stderr, re.MULTILINE))
    for printed in (result.stdout, result.stderr):
        assert printed == "" or (printed[-1:] == "\n" and printed[-2:] != "\n\n")
    return [
        f"$ kwirec {command}",
        result.stdout.rstrip("\n"),
        "---",
        result.stderr.rstrip("\n"),
        f"exit code {result.exit_code}",
    ]


def with_ends_of_windows() -> None:
    path = Path("defs/E.json")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def at_many_places() -> None:
    """Definitions in archives, behind links, with a byte order mark, in another encoding, and files beside them."""
    text = '{ "type": "data", "name": "%s", "validVersions": "0", "flexibleVersions": "none", "fields": [] }\n'
    ping = "Ping => data, max version 0, flexible v0+\n"
    for path, content in {
        "defs/marked.krm": "\ufeff" + ping,
        "defs/.hidden.json": "{",
        "defs/errors.json": "{",
        "defs/notes.txt": "{",
        "defs/franz/misc": "Pong => not top level, with version field\n  Version: int16\n  A: int8 // v1+\n",
        "defs/franz/enums": "// Kinds.\nKind int8 (\n  // One.\n  1: ONE\n)\n",
        "defs/franz/12_ask": "AskRequest => key 12, max version 0\n\nAskResponse =>\n  Kind: enum-Kind\n",
        "other/12_ask": "{",
        "alone.txt": text % "Alone",
    }.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content)
    Path("defs/latin.json").write_bytes((text % "Caf\xe9").encode("latin-1"))
    Path("defs/linked.json").symlink_to("../alone.txt")
    with ZipFile("defs/all.jar", "w") as jar:
        for name in ("b/Two", "a/One"):
            jar.writestr(f"{name}.json", text % name[2:])
        jar.writestr("a/manifest.json", "{}")
        jar.writestr("Three.krm", ping.replace("Ping", "Three"))
        jar.writestr("errors.json", text % "Error")


PREPARATIONS = {"messy": with_ends_of_windows, "places": at_many_places}


def files() -> dict[str, str]:
    """The text of each file here, but for locks."""
    found = (path for path in Path().rglob("*") if path.is_file() and "lock" not in path.name)
    return {path.as_posix(): path.read_bytes().decode(errors="replace") for path in found}
