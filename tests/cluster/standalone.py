"""A Spark cluster on loopback: a master and workers, each a process of its own, as ``spark-submit`` wants them.

::

    with Cluster(folder, workers=2) as cluster:
        cluster.submit("job.py", "argument")
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import pyspark

HOST = "127.0.0.1"
HOME = Path(pyspark.__file__).parent
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives for a minute: compile at once and not well."""
STARTING = 120.0
STOPPING = 20.0
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
ENVIRONMENT = {
    "SPARK_LOCAL_IP": HOST,
    "SPARK_MASTER_HOST": HOST,
    "SPARK_DAEMON_MEMORY": "256m",
    "SPARK_DAEMON_JAVA_OPTS": BRIEF,
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
}
QUIET = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.ui.enabled": "false",
    "spark.executor.memory": "1g",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": BRIEF,
    "spark.driver.extraJavaOptions": BRIEF,
    "spark.sql.shuffle.partitions": "4",
}
_REGISTERED = re.compile(r"(Successfully registered) with master")
_ADDRESS = re.compile(r"Starting Spark master at (spark://\S+)")


class ClusterFailed(Exception):
    """A process did not come up; the message ends with what it printed."""


class Cluster:
    """``workers`` processes of one core each. Entering starts them; leaving stops them by their process ids."""

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self.folder = folder
        self.master = ""
        self.workers: list[subprocess.Popen[bytes]] = []
        self._count = workers
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self._start("master", MASTER, "--host", HOST, "--port", "0", "--webui-port", "0")
            self.master = self._printed("master", _ADDRESS)
            names = [f"worker-{number}" for number in range(self._count)]
            self.workers = [self._worker(name) for name in names]
            for name in names:
                self._printed(name, _REGISTERED)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(STOPPING)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOPPING)

    def submit(self, *command: str, **settings: str) -> subprocess.Popen[str]:
        """``spark-submit`` of a program with its arguments; ``settings`` are Spark's, with ``_`` for ``.``."""
        chosen = QUIET | {name.replace("_", "."): value for name, value in settings.items()}
        options = [part for name, value in chosen.items() for part in ("--conf", f"{name}={value}")]
        return subprocess.Popen(
            [str(HOME / "bin/spark-submit"), "--master", self.master, *options, *command],
            env=os.environ | ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _worker(self, name: str) -> subprocess.Popen[bytes]:
        options = ["--host", HOST, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
        return self._start(name, WORKER, *options, "--work-dir", str(self.folder / name), self.master)

    def _start(self, name: str, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.txt").open("wb") as output:
            process = subprocess.Popen(
                [str(HOME / "bin/spark-class"), program, *arguments],
                env=os.environ | ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
            )
        self._processes.append(process)
        return process

    def _printed(self, name: str, pattern: re.Pattern[str]) -> str:
        path = self.folder / f"{name}.txt"
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline:
            if found := pattern.search(path.read_text(errors="replace")):
                return found[1]
            time.sleep(0.2)
        raise ClusterFailed(f"{name} did not start:\n{path.read_text(errors='replace')[-3000:]}")
