"""Jobs that ``spark-submit`` runs on a standalone cluster of two workers: as on one machine, whatever dies.

Needs KWIRE_CLUSTER=1, as ``make cluster`` sets it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire_inspect.capture import read_pieces
from kwire_inspect.connections import frame_batches
from kwire_inspect.schemas import EXCHANGES
from tests.cluster.jobs import JOB, LONGEST, TASKS, finished, lose_a_worker, many_clients
from tests.cluster.standalone import Cluster

pytestmark = pytest.mark.skipif(not os.environ.get("KWIRE_CLUSTER"), reason="needs KWIRE_CLUSTER=1: make cluster")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/spark/submit_readiness.py"
TRAFFIC = ROOT / "tests/data/traffic/3.9.1"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path / "cluster") as running:
        yield running


def test_readiness_on_a_cluster_is_that_of_one_machine_and_that_of_a_second_run(
    cluster: Cluster, tmp_path: Path
) -> None:
    inputs = [str(path) for path in sorted(TRAFFIC.glob("*.gz"))]
    here = subprocess.run([sys.executable, EXAMPLE, "4.0.0", tmp_path / "here", *inputs], timeout=LONGEST)
    there = [finished(cluster.submit(str(EXAMPLE), "4.0.0", str(tmp_path / "there"), *inputs))]
    first = results(tmp_path / "there")
    there.append(finished(cluster.submit(str(EXAMPLE), "4.0.0", str(tmp_path / "there"), *inputs)))
    assert first == results(tmp_path / "here")
    assert first == results(tmp_path / "there")
    assert b"JoinGroup" in first["readiness-refused.csv"]
    assert first["problems"] == []
    assert {code for code, _ in there} == {here.returncode} == {1}, "some are refused"
    assert all(list((cluster.folder / f"worker-{number}").glob("app-*")) for number in range(2)), "both had work"


def test_a_worker_that_is_killed_loses_and_doubles_nothing(cluster: Cluster, tmp_path: Path) -> None:
    capture = many_clients(tmp_path / "large.pcap")
    job = cluster.submit(str(JOB), str(TASKS), str(tmp_path), str(capture))
    lose_a_worker(cluster, job, tmp_path / "exchanges")
    expected = pa.Table.from_batches(frame_batches(read_pieces([str(capture)]), EXCHANGES, table="exchanges"))
    found = pq.read_table(tmp_path / "exchanges")
    assert in_order(found).equals(in_order(expected))


def results(folder: Path) -> dict[str, Any]:
    """The tables of the example, in an order that does not depend on which task was first."""
    made: dict[str, Any] = {path.name: path.read_bytes() for path in folder.glob("readiness-*.csv")}
    for name in ("clients", "problems"):
        made[name] = sorted(pq.read_table(folder / name).to_pylist(), key=repr)
    return made


def in_order(table: pa.Table) -> pa.Table:
    """With the columns of EXCHANGES alone, without the date by which it is in folders."""
    columns = table.select(EXCHANGES.names).cast(pa.schema([pa.field(one.name, one.type) for one in EXCHANGES]))
    return columns.sort_by([("connection", "ascending"), ("number", "ascending")]).combine_chunks()
