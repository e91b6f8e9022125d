"""The Spark job in ``examples`` reports what the local engine reports."""

from __future__ import annotations

import runpy
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_job_of_the_examples(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = runpy.run_path(str(ROOT / "examples" / "spark" / "submit_readiness.py"))["main"]
    code = main("4.4.0", str(tmp_path), str(ROOT / "tests" / "data" / "metrics" / "traffic.pcap.gz"))
    assert code == 1
    assert "refused" in capsys.readouterr().out
    assert {"clients", "problems"} <= {path.name for path in tmp_path.iterdir()}
    assert pq.read_table(tmp_path / "clients").num_rows > 0
