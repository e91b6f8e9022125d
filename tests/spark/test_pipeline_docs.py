"""The Python examples of docs/spark.md and docs/tables.md run as they stand there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.small_sample import left_behind

ROOT = Path(__file__).parents[2]
RUN = ("spark.md", "tables.md")
"""Pages whose examples run here, in this order."""
DATA = "/var/lib/kafka/data"


def blocks() -> list[str]:
    texts = [(ROOT / "docs" / name).read_text() for name in RUN]
    found = [code for text in texts for code in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)]
    assert len(found) >= len(RUN)
    return found


@pytest.mark.long
def test_the_examples_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left_behind(tmp_path)
    shutil.copyfile(ROOT / "tests" / "data" / "metrics" / "exporter.prom", tmp_path / "broker-1.prom")
    monkeypatch.chdir(tmp_path)  # though not for Spark, which runs already
    names: dict[str, Any] = {}
    for code in blocks():
        code = code.replace(DATA, "data").replace('"out"', f'"{tmp_path}/out"')
        code = code.replace('load("', f'load("{tmp_path}/')
        exec(compile(code, "docs/spark.md", "exec"), names)
    assert (tmp_path / "out" / "readiness.html").exists()
    assert list((tmp_path / "out" / "fetches").glob("date=*"))
    assert "client_id" in capsys.readouterr().out
    assert names["report"].table("clients").rows
