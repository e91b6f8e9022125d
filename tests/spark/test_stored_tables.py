"""What test_stored_tables.py states, with Spark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from kwire_inspect.inputs import find
from kwire_inspect.schemas import EXCHANGES, PROBLEMS
from kwire_inspect.stored import Origin
from kwire_spark.reading import read_clients, read_exchanges
from tests.inspect.test_stored_tables import some, written
from tests.support.report_rows import client, exchange, write_rows


@pytest.mark.slow
def test_spark_reads_clients_with_what_their_folder_says(spark: SparkSession, tmp_path: Path) -> None:
    folder, origin = tmp_path / "a[b]{c}*", Origin("2 captures", (("a.pcap", "empty file"),), "today")
    written(folder, "clients", some(client(), client(1)), origin)
    unread = {"problem": "cut off", "places": 1, "connections": 0, "unread": 5, "source": "a", "position": 7}
    write_rows([pa.RecordBatch.from_pylist([unread], PROBLEMS)], PROBLEMS, str(folder), "problems", origin=origin)
    written(folder, "exchanges", pa.Table.from_pylist([exchange()] * 3, EXCHANGES), origin)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "a.prom").touch()
    seen = read_clients(find([folder]), spark=spark)
    assert (seen.table.count(), [row.unread for row in seen.problems.collect()]) == (2, [5])
    assert (seen.origin.inputs, seen.origin.skipped, seen.complete) == (origin.inputs, origin.skipped, True)
    both = read_clients(find([folder]), find([tmp_path / "b"]), spark=spark)
    assert both.origin.skipped == ((f"{tmp_path}/b/a.prom", "empty file"), *origin.skipped)
    assert both.origin.inputs == "2 captures; no inputs"
    shutil.rmtree(folder / "problems")
    assert not read_clients(find([folder]), spark=spark).complete
    with pytest.raises(ValueError, match="unknown column nothing, expected one of source, "):
        read_exchanges(columns=["api", "nothing"], spark=spark)
