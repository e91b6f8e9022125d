"""Writing: only what changed, nothing that is stale, nothing that is not ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kwirec.diagnostics.diagnostic import Report
from kwirec.driver import OutputNotGeneratedError, generate, load
from kwirec.emitters import write as writing
from kwirec.emitters.environment import Artifact
from kwirec.emitters.write import MANIFEST, write

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
    before = tree(tmp_path)
    second = write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    assert first.written == ["a.py", "b.py", MANIFEST]
    assert (second.written, second.removed, second.unchanged) == ([], [], 2)
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


def test_an_edited_file_is_put_right(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    (tmp_path / "a.py").write_text("x = 2\n")
    assert write(artifacts(a="x=1"), tmp_path, origin={}).written == ["a.py"]
    assert (tmp_path / "a.py").read_text() == "x = 1\n"


def test_stale_files_go_with_their_empty_folders(tmp_path: Path) -> None:
    write([Artifact(path="old/gone.py", text="x=1"), *artifacts(a="x=1")], tmp_path, origin={})
    outcome = write(artifacts(a="x=1"), tmp_path, origin={})
    assert outcome.removed == ["old/gone.py"]
    assert not (tmp_path / "old").exists()


def test_check_says_what_differs_and_writes_nothing(tmp_path: Path) -> None:
    write(artifacts(a="x=1", b="y=2"), tmp_path, origin={})
    (tmp_path / "stray.py").write_text("")
    before = tree(tmp_path)
    outcome = write(artifacts(a="x=7"), tmp_path, origin={}, check=True)
    assert outcome.written == ["a.py", MANIFEST]
    assert outcome.removed == ["b.py", "stray.py"]
    assert not outcome.is_clean
    assert tree(tmp_path) == before


def test_a_damaged_manifest_costs_time_and_nothing_else(tmp_path: Path) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    (tmp_path / MANIFEST).write_text("{")
    outcome = write(artifacts(a="x=1"), tmp_path, origin={})
    assert outcome.written == [MANIFEST]
    assert json.loads((tmp_path / MANIFEST).read_text())["files"].keys() == {"a.py"}


@pytest.mark.parametrize(
    "text", ["[]", '{"origin": [], "files": []}', '{"origin": 7}', '{"files": "a.py"}', "[" * 9999]
)
def test_a_manifest_of_another_shape_is_as_good_as_none(tmp_path: Path, text: str) -> None:
    write(artifacts(a="x=1"), tmp_path, origin={})
    before = tree(tmp_path)
    (tmp_path / MANIFEST).write_text(text)
    assert write(artifacts(a="x=1"), tmp_path, origin={}).written == [MANIFEST]
    assert tree(tmp_path) == before


def test_many_files_are_formatted_in_two_processes_with_the_same_result(tmp_path: Path) -> None:
    many = artifacts(**{f"m{number:02}": f"x={number}" for number in range(20)})
    seen: list[tuple[int, int]] = []
    write(many, tmp_path, origin={}, progress=lambda done, total: seen.append((done, total)))
    assert [(tmp_path / a.path).read_text() for a in many] == [f"x = {number}\n" for number in range(20)]
    assert seen == [(number, 20) for number in range(1, 21)]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    foreign = tmp_path / "acme" / "precious.txt"
    foreign.parent.mkdir()
    foreign.write_text("mine")
    with pytest.raises(OutputNotGeneratedError):
        generate(load([CLOCKWORK], Report()), [CLOCKWORK], package="acme", out=tmp_path)
    assert foreign.read_text() == "mine"
