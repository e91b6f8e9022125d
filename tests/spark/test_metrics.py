"""What test_metrics.py states, with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.inspect.test_metrics import SAMPLE, counts, made, readiness, truth


@pytest.mark.long
def test_spark_reads_the_same(spark: Any, tmp_path: Path) -> None:
    from kwire_spark import read_clients

    with pytest.raises(Exception, match="no DeprecatedRequestsPerSec"):
        read_clients(made(tmp_path), spark=spark, mode="failfast").table.collect()
    rows = [row.asDict() for row in read_clients(SAMPLE / "exporter.prom", spark=spark).table.collect()]
    assert counts(rows) == truth()
    options = ["--engine", "spark", SAMPLE / "traffic.pcap.gz", SAMPLE / "exporter.prom"]
    by_spark, local = (readiness(tmp_path / name, *more)[1] for name, more in (("s", options), ("l", options[2:])))
    assert by_spark["tables"] == local["tables"]
