"""``make native``: what it compiles, what it removes, and how it says that libraries are out of date."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kwirec.native import SUFFIX, Build, BuildError
from tools import native


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree with a module of codecs, and a library in each of its packages."""
    for name in ("RUNTIME", "PACKAGE", "INSPECT"):
        folder = tmp_path / name.lower()
        folder.mkdir()
        (folder / f"made{SUFFIX}").touch()
        monkeypatch.setattr(native, name, folder)
    for name in ("tide", "clock"):
        (tmp_path / "package" / f"{name}.py").write_text(f"new_{name} = constructor({name})")
    monkeypatch.setattr(native, "ROOT", tmp_path)
    monkeypatch.setattr(native, "WORK", tmp_path / "work")
    (tmp_path / "work").mkdir()
    return tmp_path


def test_what_is_asked_for_is_compiled_and_nothing_else(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Any] = []

    def compiled(runtime: Path, package: Path, **options: Any) -> Build:
        asked.append((runtime, package, options))
        return Build(folder=tree, modules=("a", "b"), libraries=(), lines=9, size=2_500_000, seconds=7.4)

    monkeypatch.setattr(native, "compile_in_place", compiled)
    assert native.main(["--jobs", "3"]) == 0
    assert native.main(["--modules", "tide", "--jobs", "1"]) == 0
    always = {"also": {tree / "inspect": native.HOT}, "work": tree / "work"}
    assert asked == [
        (tree / "runtime", tree / "package", {"modules": modules, "jobs": jobs, **always})
        for modules, jobs in ((["clock", "tide"], 3), (["tide"], 1))
    ]
    assert capsys.readouterr().out == "2 modules (2.5 MB) compiled in 7 s\n" * 2
    with pytest.raises(SystemExit, match="2"):
        native.main(["--modules", "tdie"])
    assert "package/tdie.py does not exist: name modules such as api/fetch" in capsys.readouterr().err
    assert len(asked) == 2


def test_sources_that_do_not_compile_fail(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Path, **__: Any) -> Build:
        raise BuildError("clock.py:1: error: no")

    monkeypatch.setattr(native, "compile_in_place", broken)
    assert native.main([]) == 1
    assert capsys.readouterr().err == "the sources do not compile:\nclock.py:1: error: no\n"


def test_cleaning_removes_all_libraries_and_compiles_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "build", None)
    for _ in range(2):
        assert native.main(["--clean"]) == 0
    assert [path.name for path in sorted(tree.rglob("*")) if path.is_file()] == ["clock.py", "tide.py"]
    assert not (tree / "work").exists()


def test_sources_that_changed_after_they_were_compiled_are_named(tree: Path) -> None:
    """Nothing is stale in a tree without libraries."""
    paths = [tree / "runtime" / f"{name}.py" for name in "abcd"]
    for path in paths:
        path.touch()
    (tree / "work" / "sources.json").write_text(json.dumps({str(path): "another" for path in paths}))
    names = ", ".join(str(Path("runtime", f"{name}.py")) for name in "abc")
    assert native.stale() == f"{names} changed after it was compiled: make native or make native-clean"
    paths[0].unlink()
    (tree / "work" / "sources.json").write_text(json.dumps({str(paths[0]): "gone"}))
    assert native.stale().startswith(f"{Path('runtime', 'a.py')} changed")
    (tree / "work" / "sources.json").write_text("{}")
    assert native.stale() == ""
    (tree / "work" / "sources.json").write_text(json.dumps({str(paths[0]): "another"}))
    (tree / "runtime" / f"made{SUFFIX}").unlink()
    assert native.stale() == ""


def test_native_wheels_are_built_where_only_the_compiler_is_found() -> None:
    """As the hook of the build does: without installed packages, with two folders on the path."""
    root = Path(native.__file__).parents[1]
    script = f"import sys; sys.path[:0] = {[str(root), str(root / 'compiler')]}; import tools.native"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)
