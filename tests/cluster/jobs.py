"""A capture that keeps two workers busy, and jobs that read it, of which one loses a worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from tests.cluster.processes import children, descendants
from tests.cluster.standalone import Cluster
from tests.support.capture_files import merged, packets, recorded, write_pcap

JOB = Path(__file__).with_name("write_tables.py")
RECORDING = "kafka-python-on-3.9.1"
CLIENT = bytes([10, 0, 0, 1])
COPIES = 250
TASKS = 8
LONGEST = 600.0
"""Seconds that a job may take."""


def lose_a_worker(cluster: Cluster, job: subprocess.Popen[str], table: Path) -> None:
    """Kill a worker while it reads for the first ``table`` of a job, which ends as if nothing had happened."""
    executor = at_work(cluster.workers[0], job)
    assert not table.exists()
    cluster.workers[0].kill()
    kill_all(executor)
    code, output = finished(job)
    assert code == 0, output
    assert "Lost executor" in output
    assert re.search(r"Starting task \d+\.1 in stage 0\.0", output), "a task was at work there, and began anew"


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
