"""What is compiled, and how."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kwirec.native import (
    INTERPRETED,
    RUNTIME,
    BuildError,
    build_native,
    codec_modules,
    compile_in_place,
    libraries,
    outdated,
)
from tools import native

ROOT = Path(__file__).resolve().parent.parent.parent
RUNTIME_FOLDER = ROOT / "runtime" / "kwire"
PACKAGE = ROOT / "generated" / "kwire_kafka"
MODULES = ("api/fetch", "coordinator/offset_commit")
SOURCES = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")

on_demand = pytest.mark.skipif(
    os.environ.get("KWIRE_NATIVE") != "1", reason="needs a C compiler and half a minute: make test-native"
)


def test_every_runtime_module_is_compiled_or_says_why_not() -> None:
    present = {path.stem for path in RUNTIME_FOLDER.glob("*.py")}
    present |= {path.parent.name for path in RUNTIME_FOLDER.glob("*/__init__.py")}
    assert {name for name in RUNTIME if "/" not in name} | set(INTERPRETED) == present
    assert all((RUNTIME_FOLDER / f"{name}.py").is_file() for name in RUNTIME)
    assert not set(RUNTIME) & set(INTERPRETED)


def test_codec_modules_are_found_largest_first() -> None:
    found = codec_modules(PACKAGE)
    sizes = [(PACKAGE / f"{name}.py").stat().st_size for name in found]
    assert set(MODULES) < set(found)
    assert sizes == sorted(sizes, reverse=True)
    assert {"api/fetch", "headers"} - set(found) == {"headers"}


def test_an_empty_folder_is_as_good_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kwirec.native.compile_in_place", lambda *folders, **_: folders)
    made: object = build_native(tmp_path, runtime=RUNTIME_FOLDER, package=PACKAGE, modules=MODULES)
    assert made == (tmp_path / "kwire", tmp_path / "kwire_kafka")


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / RUNTIME_FOLDER.name).mkdir()
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(BuildError, match="is not empty"):
        build_native(tmp_path, runtime=RUNTIME_FOLDER, package=PACKAGE, modules=MODULES)
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_module_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        native.main(["--modules", "api/fetch", "fetch"])
    assert "kwire_kafka/fetch.py does not exist: give modules like api/fetch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("gcc -c a.c -o error\na.c:1: error: no\nmake: stopped", "a.c:1: error: no"),
        ("\n".join(map(str, range(40))), "\n".join(map(str, range(10, 40)))),
    ],
)
@pytest.mark.parametrize("has_archive", [True, False])
def test_a_build_that_fails_tells_why_and_starts_anew_without_its_archive(
    has_archive: bool, printed: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mypyc names the sources of its own runtime in the first build alone."""

    def failed(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        (tmp_path / "archive").mkdir() if has_archive else None
        return subprocess.CompletedProcess(command, 1, printed, "")

    monkeypatch.setattr("kwirec.native.subprocess.run", failed)
    with pytest.raises(BuildError) as raised:
        compile_in_place(RUNTIME_FOLDER, PACKAGE, modules=MODULES, work=tmp_path)
    assert str(raised.value) == told
    assert (tmp_path / "tools.txt").exists() is has_archive


@on_demand
def test_only_what_changed_is_compiled_again(tmp_path: Path) -> None:
    runtime, package = (
        shutil.copytree(path, tmp_path / path.name, ignore=SOURCES) for path in (RUNTIME_FOLDER, PACKAGE)
    )
    work, heartbeat = tmp_path / "work", package / "api" / "heartbeat.py"

    def built(*modules: str) -> dict[Path, int]:
        compile_in_place(runtime, package, modules=modules, work=work)
        return {path: path.stat().st_mtime_ns for folder in (runtime, package) for path in libraries(folder)}

    first = built("api/heartbeat", "api/leave_group")
    assert len(first) == 2 * (len(RUNTIME) + 2)
    assert outdated(work) == []
    heartbeat.write_text(heartbeat.read_text() + "\nLATER = 1\n")
    assert outdated(work) == [heartbeat]
    second = built("api/heartbeat", "api/leave_group")
    changed = {path.name.partition(".")[0] for path in first if first[path] != second[path]}
    assert changed == {"heartbeat__mypyc"}
    assert set(built("api/heartbeat")) == {path for path in first if "leave_group" not in path.name}
