"""What is compiled, and how."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from kwirec.native import (
    INTERPRETED,
    MARKER,
    RUNTIME,
    SUFFIX,
    Build,
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
    assert "kwire_kafka/fetch.py does not exist: name modules such as api/fetch" in capsys.readouterr().err


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


class Tree:
    """Two packages to compile, with a stand-in for mypyc that makes a library or two for each module it is given."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("kwirec.native.RUNTIME", ("wire", "connection/decoder"))
        monkeypatch.setattr("kwirec.native.subprocess.run", self.compile)
        self.root, self.work = root, root / "made"
        self.runtime, self.package, self.inspect = (root / "src" / name for name in ("kwire", "wire", "inspect"))
        sources = [self.runtime / name for name in ("wire.py", "policy.py", "connection/decoder.py")]
        sources += [self.package / name for name in ("api/fetch.py", "api/produce.py", "head.py")]
        for path in [*sources, self.inspect / "rows.py"]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("LINE = 1\n" * 3)
        self.reused: list[bool] = []

    def compile(self, command: list[str], cwd: Path, **_: object) -> subprocess.CompletedProcess[str]:
        objects = self.work / "objects"
        self.reused.append(objects.exists())
        objects.mkdir(exist_ok=True)
        for name in re.findall(r"'([^']+)\.py'", (self.work / "setup.py").read_text()):
            for ending in ("", "__mypyc"):
                (cwd / f"{name}{ending}{SUFFIX}").write_bytes(b"12345")
        return subprocess.CompletedProcess(command, 0, "", "")

    def build(self, *modules: str, also: bool = False, level: int = 1) -> Build:
        more = {self.inspect: ["rows"]} if also else {}
        return compile_in_place(self.runtime, self.package, modules=modules, work=self.work, also=more, level=level)

    def libraries(self) -> set[str]:
        """The modules that have both libraries, and nothing else."""
        found = [path.relative_to(self.root / "src").as_posix() for path in libraries(self.root / "src")]
        assert len(found) == 2 * len({name.partition("__mypyc")[0].partition(".")[0] for name in found})
        return {name.removesuffix(SUFFIX) for name in found if "__mypyc" not in name}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    return Tree(tmp_path, monkeypatch)


ALWAYS = ("kwire/wire", "kwire/connection/decoder")
BUILDS = [(), ("head",), ("api/fetch",), ("api/produce", "head"), ("api/fetch", "api/produce", "head")]


@pytest.mark.parametrize("first", BUILDS, ids=str)
def test_a_build_leaves_its_own_libraries_and_removes_those_of_other_modules(
    first: Sequence[str], tree: Tree
) -> None:
    """Those for other Pythons are left alone, and so is all else."""
    others = [tree.package / "head.other-python.so", tree.package / "api" / "notes.txt"]
    for path in others:
        path.touch()
    for second in BUILDS:
        tree.build(*first)
        made = tree.build(*second)
        modules = (*ALWAYS, *(f"wire/{name}" for name in second))
        assert tree.libraries() == {*modules}
        assert made.modules == modules
        assert {*made.libraries} == {*libraries(tree.root / "src")}
        assert (made.folder, made.lines, made.size) == (tree.root / "src", 3 * len(modules), 10 * len(modules))
        assert outdated(tree.work) == []
    assert all(path.exists() for path in [*others, *(tree.package / f"{name}.py" for name in BUILDS[-1])])
    assert tree.reused == [False, *[True] * (2 * len(BUILDS) - 1)]


def test_libraries_of_a_module_that_is_gone_are_removed(tree: Tree) -> None:
    """In every package of the build: Python would import them."""
    tree.build("head", "api/fetch", also=True)
    assert tree.libraries() == {*ALWAYS, "wire/head", "wire/api/fetch", "inspect/rows"}
    (tree.package / "head.py").unlink()
    assert outdated(tree.work) == [tree.package / "head.py"]
    stray = tree.inspect / f"earlier{SUFFIX}"
    stray.touch()
    tree.build("api/fetch", also=True)
    assert tree.libraries() == {*ALWAYS, "wire/api/fetch", "inspect/rows"}
    assert outdated(tree.work) == []
    with (tree.inspect / "rows.py").open("a") as file:
        file.write("MORE = 2\n")
    assert outdated(tree.work) == [tree.inspect / "rows.py"]


@pytest.mark.parametrize("tool", ["level", "python", "mypy", "setuptools", "operations", "nothing"])
def test_what_other_tools_compiled_is_not_reused(tool: str, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.build("head")
    tree.build("head")
    version = importlib.metadata.version
    if tool == "python":
        monkeypatch.setattr("sys.version", "4.0")
    if tool == "operations":
        copy = shutil.copytree(ROOT / "compiler" / "kwirec", tree.root / "kwirec", ignore=SOURCES)
        (copy / "native_ops.py").write_text("# others\n")
        monkeypatch.setattr("kwirec.native.__file__", str(copy / "native.py"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99" if name == tool else version(name))
    level = 3 if tool == "level" else 1
    tree.build("head", level=level)
    tree.build("head", level=level)
    assert tree.reused == [False, True, tool == "nothing", True]
    assert f'opt_level="{level}"' in (tree.work / "setup.py").read_text()


@pytest.mark.parametrize("crashes", [0, 1, 2])
@pytest.mark.parametrize("has_cache", [True, False])
def test_mypyc_that_crashes_on_its_cache_is_asked_once_more_without(
    has_cache: bool, crashes: int, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.build("head")
    cache = tree.work / "mypy"
    cache.mkdir() if has_cache else None
    had: list[bool] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        had.append(cache.exists())
        assert options["check"] is False
        if len(had) <= crashes:
            return subprocess.CompletedProcess(command, 1, "", '  File "mypyc/ir/ops.py", line 1\nerror: crash')
        return tree.compile(command, **options)

    monkeypatch.setattr("kwirec.native.subprocess.run", run)
    if crashes > has_cache:
        with pytest.raises(BuildError, match="crash"):
            tree.build("api/fetch")
        assert tree.libraries() == {*ALWAYS, "wire/head"}  # as before
        assert outdated(tree.work) == []
    else:
        tree.build("api/fetch")
        assert tree.libraries() == {*ALWAYS, "wire/api/fetch"}
    assert had == ([True, False] if has_cache and crashes else [has_cache])


def test_a_copy_has_the_sources_of_now_and_no_libraries(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    target, rules = tree.root / "copy", tree.root / "src" / "kwire_rules"
    rules.mkdir()
    tree.work = target / "build"

    def built(*modules: str) -> set[str]:
        made = build_native(target, runtime=tree.runtime, package=tree.package, modules=modules)
        assert made.folder == target
        assert {path.relative_to(target).parts[0] for path in libraries(target)} <= {"kwire", "wire"}
        (target / "mine.txt").touch()
        return {path.relative_to(target).as_posix() for path in target.glob("wire/**/*.*")}

    for ending in (SUFFIX, ".other-python.so"):
        (tree.package / f"head{ending}").touch()
    sources = {"wire/head.py", "wire/api/fetch.py", "wire/api/produce.py"}
    assert built("api/fetch") == sources | {f"wire/api/fetch{ending}{SUFFIX}" for ending in ("", "__mypyc")}
    (tree.package / "head.py").unlink()
    assert built() == sources - {"wire/head.py"}
    assert tree.reused == [False, True]
    assert {path.name for path in target.iterdir()} == {"build", "kwire", "kwire_rules", "mine.txt", "wire", MARKER}


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_how_mypyc_and_the_c_compiler_are_called(
    platform: str, tree: Tree, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """Arguments, script and configuration; names of constructors come from all packages."""
    called: list[object] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        called.append((*command[1:], options["cwd"].name))
        assert (command[0], options["check"]) == (sys.executable, False)
        return tree.compile(command, **options)

    monkeypatch.setattr("kwirec.native.subprocess.run", run)
    (tree.package / "head.py").write_text(
        'new_Head = constructor(Head)\n\nnew_Tail = constructor(\n    Tail, without=("a", "b_c")\n)\n'
    )
    (tree.inspect / "rows.py").write_text('new_Row = constructor(Row, without=("x",))\n')
    with monkeypatch.context() as patch:
        patch.setattr("sys.platform", platform)
        compile_in_place(
            tree.runtime, tree.package, modules=["head", "api/fetch"], work=tree.work,
            also={tree.inspect: ["rows"]}, level=2, jobs=3,
        )  # fmt: skip
    files = [f"--- {name}\n{(tree.work / name).read_text()}" for name in ("setup.py", "mypy.ini")]
    shown = "\n".join([*map(str, called), *files])
    assert shown.replace(str(tree.root), "ROOT").replace(str(ROOT), "KWIRE") == snapshot


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
