"""Compares the time that `readiness` and tshark need for large captures: in total, to start, and per further GB.

``python -m benchmarks.readiness [--mb 1000 4000] [--rounds 3]``

The captures are made as in :mod:`benchmarks.pipeline_scale`. For *rows*, a process that has already read a smaller
capture reads the columns that `clients` needs. For *two shares*, two such processes each read half of the
connections. *The command* is ``kwire readiness``, from its start to its page: with the local engine in one and in two
processes, and with Spark in Java and two workers. tshark, if installed, prints the addresses, API, version and client
id of all frames.

The time for each further GB is calculated from the difference between two sizes. The rest is the time to start.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.garbage import read
from benchmarks.pipeline_scale import FOLDER, write_capture
from benchmarks.timing import table
from benchmarks.workers import Watch
from kwire import is_native
from kwire_inspect.readers import tune_worker

WARM = 20
"""Size of the capture to read before the measurement, in MB, so that all modules have been imported."""
FIELDS = ("ip.src", "ip.dst", "kafka.api_key", "kafka.api_version", "kafka.client_id")


class Times(NamedTuple):
    """CPU seconds of all processes, and elapsed seconds."""

    cpu: float
    clock: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mb", type=int, nargs="+", default=[1000])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--share", type=int, nargs=2, help=argparse.SUPPRESS)
    options.add_argument("captures", nargs="*", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.share:
        read_when_told(*given.captures, share=tuple(given.share))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    warm, *paths = (write_capture(FOLDER / f"readiness-{mb}.pcap", mb) for mb in (WARM, *sorted(given.mb)))
    sizes = [path.stat().st_size / 1e9 for path in paths]
    measured = [medians([ways(warm, path) for _ in range(given.rounds)]) for path in paths]
    kind = "native" if is_native() else "interpreted"
    print(f"{kind}, load {os.getloadavg()[0]:.1f}, medians, CPU s / elapsed s")
    header = ["", *(f"{size:.2f} GB" for size in sizes)]
    if len(sizes) > 1:
        header += ["at the start", "each further GB"]
    print(table(header, [[name, *cells([each[name] for each in measured], sizes)] for name in measured[0]]))


def ways(warm: Path, path: Path) -> dict[str, Times]:
    """Return the times to read a capture in different ways, by name."""
    found = {"rows": shares(warm, path, 1), "rows, two shares": shares(warm, path, 2)}
    engines = {
        "the command": ["local", "--processes", "1"],
        "the command, two processes": ["local", "--processes", "2"],
        "the command, by Spark": ["spark", "--master", "local[2]"],
    }
    for name, engine in engines.items():
        with tempfile.TemporaryDirectory() as out:
            words = ["-m", "kwire", "readiness", "--target", "4.4.0", str(path), "--out", out, "-q", "--engine"]
            found[name] = finished(sys.executable, *words, *engine)
    if tshark := shutil.which("tshark"):
        fields = [word for field in FIELDS for word in ("-e", field)]
        words = ["-r", str(path), "-d", "tcp.port==9092,kafka", "-Y", "kafka", "-T", "fields", *fields]
        found["tshark"] = finished(tshark, *words)
    return found


def medians(rounds: Sequence[dict[str, Times]]) -> dict[str, Times]:
    """Return the median CPU time and, independently, the median elapsed time."""
    return {
        name: Times(*(median(times) for times in zip(*(found[name] for found in rounds), strict=True)))
        for name in rounds[0]
    }


def cells(times: Sequence[Times], sizes: Sequence[float]) -> list[str]:
    """Return the times for all sizes, followed by the times to start and for each further GB if there are several."""
    shown = [*times]
    if len(times) > 1:
        further = [(last - first) / (sizes[-1] - sizes[0]) for first, last in zip(times[0], times[-1], strict=True)]
        start = [first - each * sizes[0] for first, each in zip(times[0], further, strict=True)]
        shown += [Times(*start), Times(*further)]
    return [f"{cpu:.1f} / {clock:.1f}" for cpu, clock in shown]


def finished(*words: str) -> Times:
    """Run a program, and return the CPU seconds of all its processes and the elapsed seconds.

    The operating system does not count processes for which Spark does not wait, so all processes are also sampled.
    The higher value counts.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Watch(os.getpid(), "") as started:
        start = time.perf_counter()
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Times(max(started.cpu, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), clock)


def shares(warm: Path, path: Path, of: int) -> Times:
    """Read a capture in ``of`` processes. Return the CPU seconds of all, and the elapsed seconds of the slowest."""
    words = [sys.executable, "-m", "benchmarks.readiness", str(warm), str(path), "--share"]
    begun = [
        subprocess.Popen([*words, str(one), str(of)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for one in range(of)
    ]
    pipes = [(one.stdin, one.stdout) for one in begun if one.stdin and one.stdout]
    for _, said in pipes:
        said.readline()
    start = time.perf_counter()
    for told, _ in pipes:
        told.write("\n")
        told.flush()
    cpu = sum(float(said.readline()) for _, said in pipes)
    clock = time.perf_counter() - start
    for one in begun:
        one.wait()
    return Times(cpu, clock)


def read_when_told(warm: Path, path: Path, *, share: tuple[int, int]) -> None:
    tune_worker()
    read(warm)
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.process_time()
    read(path, share)
    print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main()
