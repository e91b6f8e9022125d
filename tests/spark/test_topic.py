"""What test_topic.py states, with Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kwire.command import main as run


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--topic needs --bootstrap-server"),
        (["--bootstrap-server", "a:1", "--link-type", "77"], "unknown --link-type 77"),
        (["--bootstrap-server", "a:1", "--topic-config", "missing"], "--topic-config missing: "),
        (["--bootstrap-server", "a:1", "--connector", "."], "this folder contains no jar"),
        (["--bootstrap-server", "a:1"], "Use --connector to specify a folder with its jars"),
    ],
)
def test_wrong_usage(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["watch", "--topic", "packets", *arguments]) == 2
    assert told in capsys.readouterr().err
