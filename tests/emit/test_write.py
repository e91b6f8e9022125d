"""Writing: only what changed, nothing that is stale, nothing that is not ours."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib.metadata import version
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import generate, load
from kwirec.emitters import write as writing
from kwirec.emitters.environment import Artifact
from kwirec.emitters.write import MANIFEST, OutputNotGeneratedError, write
from kwirec.files import locked, replace_files

CLOCKWORK = Path(__file__).parent.parent / "data" / "clockwork"


def artifacts(**texts: str) -> list[Artifact]:
    return [Artifact(path=f"{name}.py", text=text) for name, text in texts.items()]


def tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_python_is_formatted_and_other_files_are_not(tmp_path: Path) -> None:
    write([*artifacts(a="x=1"), Artifact(path="py.typed", text="x=1")], tmp_path, origin={})
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    assert (tmp_path / "py.typed").read_text() == "x=1"


def test_a_second_run_writes_nothing(tmp_path: Path) -> None:
    first = write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    before, manifest = tree(tmp_path), (tmp_path / MANIFEST).stat().st_ino
    second = write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    assert (tmp_path / MANIFEST).stat().st_ino == manifest
    assert first.written == ["a.py", "b.py", MANIFEST]
    assert (second.written, second.removed, second.unchanged) == ([], [], 3)  # with the manifest
    assert tree(tmp_path) == before


def test_only_what_changed_is_formatted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    formatted: list[str] = []
    original = writing.format_text

    def noted(one: Artifact) -> str:
        formatted.append(one.path)
        return original(one)

    monkeypatch.setattr(writing, "format_text", noted)
    outcome = write(artifacts(a="x=1", b="y=3"), tmp_path, origin={})
    assert formatted == ["b.py"]
    assert outcome.written == ["b.py", MANIFEST]


@pytest.mark.parametrize(("program", "formatted"), [("none", []), ("kwire", []), ("black", ["a.py", "b.py"])])
def test_another_version_of_black_formats_all_files_again(
    program: str, formatted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of kwire is noted, and so are other definitions."""
    found: list[str] = []
    original, numbers = writing.format_text, {program: "99"}

    def noted(one: Artifact) -> str:
        found.append(one.path)
        return original(one) + ("# other\n" if program == "black" and one.path == "b.py" else "")

    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={"definitions": "one"})
    monkeypatch.setattr(writing, "format_text", noted)
    monkeypatch.setattr("kwirec.emitters.write.version", lambda name: numbers.get(name) or version(name))
    expected = {"none": [], "kwire": [MANIFEST], "black": ["b.py", MANIFEST]}[program]
    assert write(artifacts(a="x=1", b="y=2"), tmp_path, origin={"definitions": "one"}).written == expected
    assert found == formatted
    origin = json.loads((tmp_path / MANIFEST).read_text())["origin"]
    assert origin == {
        "generator": f"kwirec {numbers.get('kwire') or version('kwire')}",
        "definitions": "one",
        "black": f"{numbers.get('black') or version('black')}, lines of 118",
    }
    assert write(artifacts(a="x=1", b="y=2"), tmp_path, origin={"definitions": "two"}).written == [MANIFEST]
    assert found == formatted


def test_an_edited_file_is_put_right(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    (tmp_path / "a.py").write_text("x = 2\n")
    assert write(artifacts(a="x=1"), tmp_path, origin={}).written == ["a.py"]
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_check_formats_again_and_believes_no_digest(tmp_path: Path) -> None:
    """Whoever edits a file can edit the manifest as well."""
    write(artifacts(a="x=1"), tmp_path, origin={})
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    write(artifacts(a="x=2"), tmp_path, origin={})
    forged = json.loads((tmp_path / MANIFEST).read_text())
    forged["files"]["a.py"]["source"] = manifest["files"]["a.py"]["source"]
    (tmp_path / MANIFEST).write_text(json.dumps(forged))
    assert "a.py" in write(artifacts(a="x=1"), tmp_path, origin={}, check=True).written


def test_stale_files_go_with_their_empty_folders(tmp_path: Path) -> None:
    write([Artifact(path="old/gone.py", text="x=1"), *artifacts(a="x=1")], tmp_path, origin={})
    outcome = write(artifacts(a="x=1"), tmp_path, origin={})
    assert outcome.removed == ["old/gone.py"]
    assert not (tmp_path / "old").exists()


@pytest.mark.parametrize("entry", [{}, [], {"file": None}, {"file": "0" * 16}])
def test_a_manifest_of_others_removes_no_file(tmp_path: Path, entry: Any) -> None:
    """Only a digest shows that kwirec wrote a file: anybody can write a manifest that lists it."""
    folder = tmp_path / "acme"
    folder.mkdir()
    (folder / "setup.py").write_text("mine")
    manifest = {"origin": {"generator": "kwirec 1"}, "files": {"setup.py": entry}}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    before = tree(tmp_path)
    for check in (True, False):
        with pytest.raises(
            OutputNotGeneratedError, match=r"were changed after kwirec wrote them: setup\.py\. Move or delete"
        ):
            write(artifacts(a="x=1"), folder, origin={}, check=check)
    assert tree(tmp_path) == before


def test_an_edited_file_is_not_removed(tmp_path: Path) -> None:
    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    (tmp_path / "b.py").write_text("mine")
    with pytest.raises(OutputNotGeneratedError, match=r"were changed after kwirec wrote them: b\.py"):
        write(artifacts(a="x=3"), tmp_path, origin={})
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    (tmp_path / "b.py").unlink()
    assert write(artifacts(a="x=3"), tmp_path, origin={}).written == ["a.py", MANIFEST]


@pytest.mark.parametrize("put", [lambda path: path.write_bytes(b"\xff"), lambda path: path.symlink_to("a.py")])
def test_what_replaced_a_file_and_is_no_text_is_not_removed(tmp_path: Path, put: Callable[[Path], None]) -> None:
    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    (tmp_path / "b.py").unlink()
    put(tmp_path / "b.py")
    with pytest.raises(OutputNotGeneratedError, match=r"were changed after kwirec wrote them: b\.py"):
        write(artifacts(a="x=3"), tmp_path, origin={})
    assert os.path.lexists(tmp_path / "b.py")


def test_the_native_build_of_a_package_stays(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    library = tmp_path / "a.cpython-311-x86_64-linux-gnu.so"
    library.write_bytes(b"native")
    assert write(artifacts(a="x=1"), tmp_path, origin={}, check=True).is_clean
    assert write(artifacts(a="x=2"), tmp_path, origin={}).written == ["a.py", MANIFEST]
    assert library.read_bytes() == b"native"


def test_check_says_what_differs_and_writes_nothing(tmp_path: Path) -> None:
    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    before = tree(tmp_path)
    outcome = write(artifacts(a="x=7"), tmp_path, origin={}, check=True)
    assert outcome.written == ["a.py", MANIFEST]
    assert outcome.removed == ["b.py"]
    assert not outcome.is_clean
    assert tree(tmp_path) == before


@pytest.mark.slow
def test_many_files_are_formatted_in_two_processes_with_the_same_result(tmp_path: Path) -> None:
    many = artifacts(**{f"m{number:02}": f"x={number}" for number in range(20)})
    seen: list[tuple[int, int]] = []
    write(many, tmp_path, origin={}, progress=lambda done, total: seen.append((done, total)))
    assert [(tmp_path / a.path).read_text() for a in many] == [f"x = {number}\n" for number in range(20)]
    assert seen == [(number, 20) for number in range(1, 21)]


GENERATOR = {"generator": "kwirec 0.1.0"}
NOT_OURS = {
    "of a browser extension": {"manifest_version": 3, "name": "x", "files": {}},
    "of another generator": {"origin": {"generator": "other 1.0"}, "files": {}},
    "without a generator": {"origin": [], "files": {}},
    "a list": ["origin", "files"],
    "files that are a list": {"origin": GENERATOR, "files": ["src/mine.txt"]},
    "a path to the parent": {"origin": GENERATOR, "files": {"../mine.py": {}}},
    "an absolute path": {"origin": GENERATOR, "files": {"/tmp/mine.py": {}}},
    "a path of git": {"origin": GENERATOR, "files": {".git/HEAD": {}}},
}


@pytest.mark.parametrize("manifest", NOT_OURS.values(), ids=NOT_OURS)
@pytest.mark.parametrize("check", [False, True])
def test_a_folder_of_another_program_is_left_alone_whatever_its_manifest(
    tmp_path: Path, manifest: Any, check: bool
) -> None:
    folder = tmp_path / "acme"
    for path in ("src/mine.txt", ".git/HEAD", "../mine.py"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("mine")
    (folder / MANIFEST).write_text(json.dumps(manifest))
    before = tree(tmp_path)
    with pytest.raises(OutputNotGeneratedError, match=r"\.git/HEAD, manifest\.json, src/mine\.txt"):
        write(artifacts(a="x=1"), folder, origin={}, check=check)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "", "\0", "<<<<<<< ours\n{}\n"])
def test_a_damaged_manifest_is_reported_and_can_be_deleted(tmp_path: Path, text: str) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    whole = tree(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(OutputNotGeneratedError, match="manifest"):
        write(artifacts(a="x=2"), tmp_path, origin={})
    (tmp_path / MANIFEST).unlink()
    assert write(artifacts(a="x=1"), tmp_path, origin={}).written == [MANIFEST]
    assert tree(tmp_path) == whole


def test_an_unlisted_file_is_reported_not_removed(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "b.py").write_text("mine")
    with pytest.raises(OutputNotGeneratedError, match=r"notes\.txt\. Move or delete"):
        write(artifacts(a="x=2", b="y=1"), tmp_path, origin={})
    (tmp_path / "notes.txt").unlink()
    with pytest.raises(OutputNotGeneratedError, match=r"b\.py\. Move or delete"):
        write(artifacts(a="x=2", b="y=1"), tmp_path, origin={})
    assert (tmp_path / "b.py").read_text() == "mine"
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(("files", "shown"), [(5, "f0, f1, f2, f3, f4"), (7, "f0, f1, f2, f3, f4 and 2 more")])
def test_the_first_five_of_many_files_are_named(files: int, shown: str, tmp_path: Path) -> None:
    for number in range(files):
        (tmp_path / f"f{number}").write_text("mine")
    with pytest.raises(OutputNotGeneratedError) as refused:
        write(artifacts(a="x=1"), tmp_path, origin={})
    why = "are not in a manifest.json of kwirec"
    rest = "Move or delete them, or choose another folder"
    assert str(refused.value) == f"{tmp_path.as_posix()} holds files that {why}: {shown}. {rest}"


def test_the_lines_of_all_files_are_counted_whether_they_are_written_or_not(tmp_path: Path) -> None:
    for _ in range(2):
        assert write(artifacts(a="x=1\ny=2", b="z=3"), tmp_path, origin={}).lines == 3


def test_caches_of_python_are_nobodys(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    cache = tmp_path / "__pycache__" / "a.pyc"
    cache.parent.mkdir()
    cache.write_text("")
    write(artifacts(a="x=2"), tmp_path, origin={})
    assert cache.exists()


def test_no_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder, outside = tmp_path / "acme", tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("mine")
    both = [Artifact(path="api/a.py", text="x=1"), *artifacts(b="y=1")]
    write(both, folder, origin={})
    (folder / "b.py").unlink()
    (outside / "b.py").write_text("y = 1\n")
    for target in ("a.py", "b.py"):
        (folder / "b.py").unlink(missing_ok=True)
        (folder / "b.py").symlink_to(outside / target)
        write(both, folder, origin={})
        assert not (folder / "b.py").is_symlink()
    (folder / "api" / "a.py").unlink()
    (folder / "api").rmdir()
    (folder / "api").symlink_to(outside, target_is_directory=True)
    with pytest.raises(OutputNotGeneratedError, match="api"):
        write(both, folder, origin={})
    with pytest.raises(OSError, match="symbolic link"):
        replace_files(folder, {"b.py": "", "api/a.py": ""})
    (tmp_path / "linked").symlink_to(outside, target_is_directory=True)
    with pytest.raises(OutputNotGeneratedError, match="symbolic link"):
        write(both, tmp_path / "linked", origin={})
    assert tree(outside) == {"a.py": b"mine", "b.py": b"y = 1\n"}
    assert (folder / "b.py").read_text() == "y = 1\n"


def test_a_pipe_in_place_of_a_file_is_replaced_and_not_read(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    (tmp_path / "a.py").unlink()
    os.mkfifo(tmp_path / "a.py")
    assert write(artifacts(a="x=1"), tmp_path, origin={}).written == ["a.py"]


def test_files_have_the_permissions_of_the_user(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write([Artifact(path="api/a.py", text="x=1")], tmp_path / "acme", origin={})
    finally:
        os.umask(before)
    assert (tmp_path / "acme" / "api" / "a.py").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "acme" / "api").stat().st_mode & 0o777 == 0o750


def text_files(number: int, *paths: str) -> list[Artifact]:
    return [Artifact(path=path, text=f"{path} {number}") for path in paths]


OLD = text_files(1, "a.json", "api/b.json", "gone/c.json", "py.typed")
NEW = text_files(2, "a.json", "api/b.json", "new/d.json", "py.typed")
STEPS = ("mkdir", "write_bytes", "replace", "unlink", "rmdir")
"""The methods of ``Path`` that change files."""


def whole(artifacts_: list[Artifact], folder: Path) -> dict[str, bytes]:
    write(artifacts_, folder, origin={})
    return tree(folder)


def interrupted(step: int, stop: Callable[[Any], None]) -> AbstractContextManager[None]:
    """Calls ``stop`` with the path before the change of files with this number."""
    patched = pytest.MonkeyPatch()
    steps = 0

    def stopping(real: Any) -> Any:
        def call(self: Path, *given: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps > step:
                stop(self)
            return real(self, *given, **named)

        return call

    @contextmanager
    def context() -> Iterator[None]:
        with patched.context() as patches:
            for name in STEPS:
                patches.setattr(Path, name, stopping(getattr(Path, name)))
            yield

    return context()


def killed(step: int, path: Path) -> bool:
    """Whether a process that writes ``NEW`` was killed before its change of files with this number."""
    child = os.fork()
    if not child:
        with interrupted(step, lambda path: os._exit(9)):
            write(NEW, path, origin={})
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.long
@pytest.mark.parametrize("before", [[], OLD], ids=["first", "later"])
def test_the_next_run_repairs_what_a_kill_at_any_step_leaves(tmp_path: Path, before: list[Artifact]) -> None:
    new, other = whole(NEW, tmp_path / "new"), whole(OLD, tmp_path / "other")
    steps = 0
    for repair, result in ((NEW, new), (OLD, other)):
        for step in count():
            folder = tmp_path / f"{len(repair[0].text)}{repair is NEW}{step}"
            if before:
                write(before, folder, origin={})
            if not killed(step, folder):
                break
            write(repair, folder, origin={})
            assert tree(folder) == result, step
            steps += 1
    assert steps > 30


def full(path: Path) -> None:
    raise OSError(errno.ENOSPC, "No space left on device", str(path))


@pytest.mark.slow
def test_on_a_full_disk_the_tree_stays_or_is_repaired_by_the_next_run(tmp_path: Path) -> None:
    old, new = whole(OLD, tmp_path / "old"), whole(NEW, tmp_path / "new")
    unchanged = 0
    for step in count():
        folder = tmp_path / str(step)
        write(OLD, folder, origin={})
        try:
            with interrupted(step, full):
                write(NEW, folder, origin={})
            break
        except OSError:
            unchanged += tree(folder) == old
        write(NEW, folder, origin={})
        assert tree(folder) == new, step
    assert unchanged > len(NEW)  # as long as new files are written, not only until the first


@pytest.mark.slow
def test_runs_at_the_same_time_leave_the_tree_of_one(tmp_path: Path) -> None:
    results = [whole(each, tmp_path / str(number)) for number, each in enumerate((OLD, NEW))]
    folder = tmp_path / "acme"
    children = []
    for each in (OLD, NEW, OLD, NEW):
        if not (child := os.fork()):
            for _ in range(20):
                write(each, folder, origin={})
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert tree(folder) in results


@pytest.mark.slow
@pytest.mark.long
def test_the_command_killed_at_random_is_repaired_by_the_next_run(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kwirec", "generate", "-q", str(CLOCKWORK), "--package", "acme", "--out"]
    started = time.monotonic()
    subprocess.run([*command, tmp_path / "whole"], check=True, capture_output=True)
    whole_run = time.monotonic() - started
    random = Random(7)
    for _ in range(2):
        running = subprocess.Popen([*command, tmp_path / "out"], stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            running.wait(random.uniform(0, whole_run))
        running.kill()
        running.wait()
    subprocess.run([*command, tmp_path / "out"], check=True, capture_output=True)
    assert tree(tmp_path / "out") == tree(tmp_path / "whole")


KILLS_ITSELF = """
import os, signal, sys
from pathlib import Path
from kwirec.emitters.environment import Artifact
from kwirec.emitters.write import write

def stop(done, total):
    os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    modules = [Artifact(path=f"module_{number}.py", text="x = [1,2]\\n" * 100) for number in range(40)]
    write(modules, Path(sys.argv[1]), origin={}, progress=stop)
"""


@pytest.mark.slow
def test_the_formatting_processes_of_a_killed_run_end(tmp_path: Path) -> None:
    (script := tmp_path / "kills_itself.py").write_text(KILLS_ITSELF)
    running = subprocess.Popen([sys.executable, script, tmp_path / "acme"], stdout=subprocess.PIPE)
    running.communicate(timeout=60)  # the output ends when the last process that inherited it does
    assert running.returncode == -signal.SIGKILL


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "acme" / "precious.txt"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    with pytest.raises(OutputNotGeneratedError):
        generate(load([CLOCKWORK], Report()), [CLOCKWORK], package="acme", out=tmp_path)
    assert foreign.read_text() == "mine"


def test_files_are_removed_with_the_folders_that_become_empty_and_never_through_a_link(tmp_path: Path) -> None:
    replace_files(tmp_path / "out", {"a/b/one.txt": "1", "two.txt": "2"})
    (tmp_path / "else").mkdir()
    (tmp_path / "else" / "mine.txt").touch()
    (tmp_path / "out" / "link").symlink_to(tmp_path / "else")
    with pytest.raises(OSError, match="out/link is a symbolic link: replace it with a folder"):
        replace_files(tmp_path / "out", {"new.txt": "n"}, ["link/mine.txt"])
    assert (tmp_path / "else" / "mine.txt").exists()
    (tmp_path / "out" / "link").unlink()
    replace_files(tmp_path / "out", {"new.txt": "n"}, ["a/b/one.txt"])
    assert [path.name for path in sorted((tmp_path / "out").iterdir())] == ["new.txt", "two.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be locked there")
def test_a_folder_is_of_one_run_at_a_time(tmp_path: Path) -> None:
    import fcntl

    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with locked(tmp_path), pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        os.close(handle)
