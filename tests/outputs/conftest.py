"""What the tests of this folder share: templates as texts, run on the small protocol."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kwirec import Emitted, Report, emit, load
from kwirec.diagnostics.render_text import render_text
from kwirec.outputs import Limits
from kwirec.outputs.child import Job, Renderer

CLOCKWORK = Path(__file__).parent.parent / "data" / "clockwork"

Run = Callable[..., "Result"]


class Result:
    """A run: its summary, its findings as text, and the files it left, without the manifest."""

    def __init__(self, emitted: Emitted | None, report: Report, out: Path, templates: Path) -> None:
        self.emitted = emitted
        self.found = [one.code.number for one in report.diagnostics]
        self.text = render_text(report.diagnostics).replace(f"{templates.as_posix()}/", "")
        paths = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name != "manifest.json")
        self.files = {path.relative_to(out).as_posix(): path.read_text() for path in paths}


class Here:
    """Renders in this process. What ends the process is left to tests of the real one."""

    def __init__(self, seconds: float) -> None:
        self._stream = io.BytesIO()

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *_: object) -> None: ...

    def send(self, job: Job) -> None:
        Renderer(pickle.loads(pickle.dumps(job)), self._stream).run()

    def events(self, most: int) -> Iterator[dict[str, Any]]:
        assert most >= len(self._stream.getvalue())
        yield from map(json.loads, self._stream.getvalue().splitlines())


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates of this test are rendered without a process of their own, which takes long to start."""
    monkeypatch.setattr("kwirec.outputs.process._Child", Here)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``run({"a.txt.jinja": "{{ schema }}"})`` → its result. ``definitions`` are the texts of definitions."""

    def run(files: Mapping[str, str], *, definitions: Mapping[str, str] | None = None, **options: Any) -> Result:
        templates, defs = tmp_path / "templates", CLOCKWORK
        write(templates, files)
        if definitions is not None:
            defs = tmp_path / "defs"
            write(defs, definitions)
        report = Report()
        loaded = load([defs], report)
        assert not report.diagnostics
        out = options.pop("out", tmp_path / "out")
        options.setdefault("limits", Limits(seconds=20))
        emitted = emit(loaded, [defs], templates, out=out, report=report, **options)
        return Result(emitted, report, out, templates)

    return run


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder hold these files and no others."""
    for path in sorted(folder.rglob("*"), reverse=True):
        path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
