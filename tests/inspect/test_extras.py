"""What is installed with an extra suffices for what the extra is for: everything else is hidden."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.small_sample import left_behind

CLOCKWORK = Path(__file__).parents[1] / "data" / "clockwork"
COMMANDS = ("tables", "clients", "readiness --target 4.4.0", "census", "latency", "offsets")
LEFT = {
    "captures": COMMANDS[:5],
    "kafka-request.log": COMMANDS[:5],
    "server.log": COMMANDS[:1],
    "data": ("tables", "offsets"),
    "metrics.prom": COMMANDS[:3],
}
"""The commands that have something to say about each input."""


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    left_behind(folder)
    (folder / "metrics.prom").write_bytes(
        (Path(__file__).parents[1] / "data" / "metrics" / "exporter.prom").read_bytes()
    )
    return folder


def call(extra: str, *arguments: str, program: str = "kwire") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.support.only_extra", extra, program, *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "command"), [(given, command) for given, known in LEFT.items() for command in known]
)
@pytest.mark.long
def test_every_report_needs_its_extra_alone(sample: Path, tmp_path: Path, given: str, command: str) -> None:
    ran = call("inspect", *command.split(), str(sample / given), "--out", str(tmp_path / "out"), "-q")
    assert (ran.returncode in (0, 1, 4), ran.stderr) == (True, "")


@pytest.mark.slow
@pytest.mark.long
def test_tables_of_an_earlier_run_need_no_more(sample: Path, tmp_path: Path) -> None:
    tables = str(tmp_path / "tables")
    assert call("inspect", "tables", str(sample / "captures"), "--out", tables, "-q").returncode in (0, 4)
    for command in COMMANDS[1:5]:
        ran = call("inspect", *command.split(), tables, "--out", str(tmp_path / "out"), "-q")
        assert (ran.returncode in (0, 1, 4), ran.stderr) == (True, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "arguments", "problem"),
    [
        ("", "readiness --target 4.4.0 FILE", "kwire: readiness needs rich: pip install 'kwire[inspect]'"),
        ("inspect", "watch FOLDER", "kwire: watch needs pyspark: pip install 'kwire[spark]'"),
        ("inspect", "clients FILE --engine spark", "kwire: --engine spark needs Spark: pip install 'kwire[spark]'"),
        ("inspect", "clients FILE --out s3://a/b", "kwire: --out s3://a/b needs Spark: pip install 'kwire[spark]'"),
    ],
)
def test_what_to_install_is_said(sample: Path, tmp_path: Path, extra: str, arguments: str, problem: str) -> None:
    given = arguments.replace("FILE", str(sample / "kafka-request.log")).replace("FOLDER", str(sample / "captures"))
    out = [] if "--out" in given else ["--out", str(tmp_path / "out")]
    ran = call(extra, *given.split(), *out)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (2, problem)


@pytest.mark.slow
def test_frames_are_decoded_without_any_extra() -> None:
    assert call("", "describe", "HeartbeatRequest").returncode == 0
    assert call("", "decode", "0012 0004 00000005 0005 6b77697265 00 066b77697265 04302e31 00").returncode == 0


@pytest.mark.long
def test_the_compiler_needs_neither_runtime_nor_guide(tmp_path: Path) -> None:
    for arguments in (["check"], ["generate", "--package", "clocks", "--out", str(tmp_path / "out")]):
        ran = call("compiler", *arguments, str(CLOCKWORK), program="kwirec")
        assert ran.returncode == 0, ran.stderr
    assert (
        "guide needs kwire_guide: pip install 'kwire[guide]'" in call("compiler", "--help", program="kwirec").stdout
    )


@pytest.mark.slow
def test_the_guide_needs_its_extra_alone(tmp_path: Path) -> None:
    ran = call("guide", "guide", str(CLOCKWORK), "--out", str(tmp_path / "site"), program="kwirec")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "site" / "index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "command", "problem"),
    [
        ("", "check", "kwirec needs jinja2: pip install 'kwire[compiler]'"),
        ("", "guide", "Error: guide needs jinja2: pip install 'kwire[guide]'"),
        ("compiler", "guide", "Error: guide needs kwire_guide: pip install 'kwire[guide]'"),
    ],
)
def test_what_to_install_for_definitions_is_said(extra: str, command: str, problem: str) -> None:
    ran = call(extra, command, str(CLOCKWORK), program="kwirec")
    assert ran.stderr.splitlines()[-1] == problem
