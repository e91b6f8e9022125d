"""Inputs that are broken, foreign or not there: what a command makes of each, and what its report says is missing."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from kwire.command import main as run

SAMPLE = Path(__file__).parents[1] / "data" / "traffic" / "3.9.1"
CAPTURE = gzip.decompress((SAMPLE / "traffic.pcap.gz").read_bytes())


def readiness(*arguments: object) -> int:
    return run(["readiness", "--target", "4.1.1", "-q", *map(str, arguments)])


def missing(out: Path) -> dict[str, str]:
    """The table of what is missing: problem by name of the file."""
    with (out / "readiness-problems.csv").open(newline="") as file:
        return {Path(row["source"]).name: row["problem"] for row in csv.DictReader(file)}


def cut_packet(folder: Path) -> str:
    (folder / "cut.pcap").write_bytes(CAPTURE[: len(CAPTURE) // 2])
    return "cut.pcap"


def cut_stream(folder: Path) -> str:
    packed = gzip.compress(CAPTURE)
    (folder / "cut.pcap.gz").write_bytes(packed[: len(packed) // 2])
    return "cut.pcap.gz"


@pytest.mark.slow
@pytest.mark.parametrize("broken", [cut_packet, cut_stream])
def test_a_capture_that_is_cut_off_gives_the_rest_and_says_so(
    broken: Callable[[Path], str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, out = broken(tmp_path), tmp_path / "out"
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    assert readiness(tmp_path, "--out", out) == 1, "what was captured until then has clients that are refused"
    found = missing(out)
    assert set(found) == {name, "notes.txt"}
    assert found["notes.txt"].startswith("skipped: ")
    told = capsys.readouterr().out
    assert "Some input could not be read. The last table lists 1 reason." in told
    assert "Skipped 1 file." in told

    assert readiness(tmp_path, "--out", out, "--mode", "failfast") == 3
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert f"{name}, byte " in error[0]


@pytest.mark.parametrize("mode", ["permissive", "failfast"])
def test_nothing_of_a_cluster(mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "garbage").write_bytes(b"\x01\x00\xff" * 1000)
    for path, told in (
        ("empty", "no captures or broker logs"),
        ("garbage", "no captures or broker logs"),
        ("none", "no such file or folder"),
        ("*.pcap", "no file matches this pattern"),
    ):
        assert readiness(tmp_path / path, "--out", tmp_path / "out", "--mode", mode) == 2
        assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_cannot_be_opened_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, listed = tmp_path / "given", Path.iterdir
    (given / "locked").mkdir(parents=True)
    (given / "cut.pcap.gz").write_bytes(b"\x1f\x8b\xff\xff\xff")
    lines = (SAMPLE.parents[1] / "request_logs" / "4.1.1.log.gz").read_bytes()
    (given / "kafka-request.log.gz").write_bytes(lines)

    def iterdir(folder: Path) -> object:
        if folder.name == "locked":  # permissions do not keep out those who run tests as root
            raise PermissionError(13, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", iterdir)
    assert readiness(given, "--out", tmp_path / "out") == 0
    found = missing(tmp_path / "out")
    assert found["locked"] == "skipped: cannot list the folder"
    assert found["cut.pcap.gz"].startswith("skipped: ")
    capsys.readouterr()
    assert readiness(given, "--out", tmp_path / "out", "--mode", "failfast") == 3
    assert "cut.pcap.gz: " in capsys.readouterr().err
