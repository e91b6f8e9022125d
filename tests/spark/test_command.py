"""What test_command.py states, with Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kwire.command import main as run
from kwire_spark import reading as read
from tests.inspect.test_command import DATA


@pytest.mark.slow
def test_a_folder_of_another_file_system_is_tried_before_anything_is_read(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(read, "read_exchanges", lambda *_, **__: pytest.fail("read"))
    monkeypatch.chdir(tmp_path)
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    for out, reason in (
        (f"file://{tmp_path}/file/out", "cannot write here: "),
        ("s3a://bucket/out", "Spark needs hadoop-aws to write there: "),
        ("what://is/this", "cannot write here: Spark has no file system for this address"),
    ):
        assert run(["clients", log, "--out", out, "-q"]) == 2
        (line,) = capfd.readouterr().err.splitlines()
        assert f"{out}: {reason}" in line


@pytest.mark.slow
def test_an_unknown_format_is_found_before_anything_is_read(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read, "read_exchanges", lambda *_, **__: pytest.fail("read"))
    log = str(DATA / "request_logs" / "3.9.1.log.gz")
    assert run(["clients", log, "--table-format", "parkett", "--out", str(tmp_path)]) == 2
    assert "--table-format parkett: not supported by Spark" in capfd.readouterr().err
