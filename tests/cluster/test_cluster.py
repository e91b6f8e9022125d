"""Jobs that ``spark-submit`` runs on a standalone cluster of two workers: as on one machine, whatever dies.

Needs KWIRE_CLUSTER=1, as ``make cluster`` sets it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kwire_spark.capture import read_pieces
from kwire_spark.columns import EXCHANGES
from kwire_spark.frames import frame_batches
from tests.cluster.processes import children, descendants
from tests.cluster.standalone import Cluster
from tests.pipeline.capture_files import merged, packets, recorded, write_pcap

pytestmark = pytest.mark.skipif(not os.environ.get("KWIRE_CLUSTER"), reason="needs KWIRE_CLUSTER=1: make cluster")

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/submit_readiness.py"
WRITING = Path(__file__).with_name("write_exchanges.py")
TRAFFIC = ROOT / "tests/data/traffic/3.9.1"
RECORDING = "kafka-python-on-3.9.1"
CLIENT = bytes([10, 0, 0, 1])
COPIES = 250
TASKS = 8
LONGEST = 600.0
"""Seconds that a job may take."""


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
    job = cluster.submit(str(WRITING), str(TASKS), str(tmp_path), str(capture))
    executor = at_work(cluster.workers[0], job)
    assert not (tmp_path / "exchanges").exists()
    cluster.workers[0].kill()
    kill_all(executor)
    code, output = finished(job)
    assert code == 0, output
    assert "Lost executor" in output
    assert re.search(r"Starting task \d+\.1 in stage 0\.0", output), "a task was at work there, and began anew"
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


def many_clients(path: Path) -> Path:
    """The connections of a recording over and over, each time from another address."""
    write_pcap(path, merged(packets(one) for one in recorded(RECORDING)))
    header, once = path.read_bytes()[:24], path.read_bytes()[24:]
    with path.open("wb") as file:
        file.write(header)
        for number in range(COPIES):
            file.write(once.replace(CLIENT, bytes([10, 1, *divmod(number, 256)])))
    return path


def at_work(worker: subprocess.Popen[bytes], job: subprocess.Popen[str]) -> int:
    """The process id of the worker's executor, when Python reads the capture in it."""
    deadline = time.monotonic() + LONGEST
    while time.monotonic() < deadline and job.poll() is None:
        for executor in children(worker.pid):
            if any(children(daemon) for daemon in children(executor)):
                time.sleep(1.0)
                return executor
        time.sleep(0.05)
    raise AssertionError("the worker was given nothing to do")


def kill_all(executor: int) -> None:
    for process in [executor, *descendants(executor)]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue


def finished(job: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code and what it printed."""
    try:
        output, _ = job.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        job.kill()
        raise
    return job.returncode, output
