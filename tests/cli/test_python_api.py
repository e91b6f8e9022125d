"""The names that ``kwirec`` exports: imported on first use, and enough to check, generate and compare definitions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kwirec
from kwirec import Report, load
from kwirec.diagnostics.examples import clock, enum, field, value
from kwirec.driver import digest


@pytest.fixture
def definitions(tmp_path: Path) -> Path:
    folder = tmp_path / "defs"
    folder.mkdir()
    (folder / "Clock.json").write_text(clock(field("Hour", "int8")))
    return folder


def test_every_exported_name_can_be_imported() -> None:
    assert dir(kwirec) == sorted(kwirec.__all__)
    for name in kwirec.__all__:
        assert getattr(kwirec, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'kwirec' has no attribute 'chek'"):
        kwirec.chek  # noqa: B018


def test_importing_the_package_imports_no_pass() -> None:
    code = "import kwirec, sys; print([name for name in sys.modules if name.startswith('kwirec.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_load_generate_and_check(definitions: Path, tmp_path: Path) -> None:
    hour = field("Hour", "int8", versions="1+")
    (definitions / "Alarm.json").write_text(clock(hour, name="Alarm", validVersions="0-1"))
    seen: list[tuple[str, int, int]] = []
    loaded = kwirec.load([definitions], report := kwirec.Report(), lambda *progress: seen.append(progress))
    assert (report.diagnostics, loaded.validated) == ([], True)
    assert seen == [("parse", 1, 2), ("parse", 2, 2), ("check", 0, 2), ("check", 2, 2)]
    checked = kwirec.generate(loaded, [definitions], package="acme", out=tmp_path, check=True)
    assert not (tmp_path / "acme").exists()
    assert not checked.outcome.is_clean
    seen.clear()
    generated = kwirec.generate(
        loaded, [definitions], package="acme", out=tmp_path, phase=lambda *progress: seen.append(progress)
    )
    assert seen[:2] == [("emit", 1, 2), ("emit", 2, 2)]
    total = seen[-1][2]
    assert seen[2:] == [("format", done, total) for done in range(total - len(seen) + 3, total + 1)]
    assert (generated.messages, generated.versions, generated.layouts) == (2, 5, 3)
    assert "data/clock.py" in generated.outcome.written
    assert kwirec.generate(loaded, [definitions], package="acme", out=tmp_path, check=True).outcome.is_clean


def test_errors_are_in_the_report(definitions: Path) -> None:
    (definitions / "Clock.json").write_text(clock(field("Hour", "int9")))
    assert not kwirec.load([definitions], report := kwirec.Report()).validated
    assert [diagnostic.code.number for diagnostic in report.diagnostics] == ["K101"]
    assert "error[K101]" in kwirec.render(report.diagnostics)
    assert '"K101"' in kwirec.render(report.diagnostics, "json")


def test_compare_and_judge(definitions: Path) -> None:
    old = kwirec.load([definitions], kwirec.Report()).schema
    (definitions / "Clock.json").write_text(clock(field("Minute", "int8")))
    changes = kwirec.compare(old, kwirec.load([definitions], kwirec.Report()).schema)
    assert not kwirec.judge(changes, old=old).breaking
    judgement = kwirec.judge(changes, kwirec.Level.JSON, old=old)
    assert [judged.rule.name for judged in judgement.findings] == ["FIELD_RENAMED"]


def test_the_digest_of_definitions_depends_on_their_texts_alone(tmp_path: Path) -> None:
    def digest_of(**texts: str) -> str:
        shutil.rmtree(tmp_path / "defs", ignore_errors=True)
        (tmp_path / "defs").mkdir()
        for name, text in texts.items():
            (tmp_path / "defs" / f"{name}.json").write_text(text)
        return digest(load([tmp_path / "defs"], Report()))

    one, other, phase = clock(), clock(name="Alarm"), enum(value("NEW", 0))
    assert digest_of(a=one, b=other, c=phase) == digest_of(c=one, a=other, b=phase)
    assert digest_of(a=one, c=phase) != digest_of(a=one) != digest_of(a=other)
    assert digest_of(a=one, c=phase) != digest_of(a=one, c=enum(value("FULL", 0)))


def test_errors_of_all_folders_are_read(tmp_path: Path) -> None:
    for code, name in enumerate(("ONE", "TWO")):
        (tmp_path / name).mkdir()
        error = {"code": code, "name": name, "retriable": False, "about": "An error."}
        (tmp_path / name / "errors.json").write_text(json.dumps([error]))
        (tmp_path / name / f"Clock{code}.json").write_text(clock(name=f"Clock{code}"))
    report = Report()
    loaded = load([tmp_path / "ONE", tmp_path / "TWO"], report)
    assert (report.diagnostics, [error.name.value for error in loaded.errors]) == ([], ["ONE", "TWO"])
