"""What `readiness` needs of a large capture, beside tshark, on one core and on two.

``python -m benchmarks.readiness [--mb 1000] [--rounds 3]``

The capture is half recorded traffic and half data, on many connections, as in :mod:`benchmarks.pipeline_scale`.
*Rows* are read from the file into the columns that `clients` needs, by a process that has read a smaller capture
before. *Two shares* are two such processes, each with half of the connections. *The command* is ``kwire
readiness``, from its start to its page, by the local engine and by Spark with Java and its workers. tshark, if it is
installed, prints addresses, API, version and client id of all frames.
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
from pathlib import Path

from benchmarks.garbage import read
from benchmarks.pipeline_scale import FOLDER, write_capture
from benchmarks.timing import table
from benchmarks.workers import Watch
from kwire import is_native
from kwire_inspect.readers import tune_worker

WARM = 20
"""MB of the capture that is read first, so that nothing is imported meanwhile."""
FIELDS = ("ip.src", "ip.dst", "kafka.api_key", "kafka.api_version", "kafka.client_id")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mb", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--share", type=int, nargs=2, help=argparse.SUPPRESS)
    options.add_argument("captures", nargs="*", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.share:
        read_when_told(*given.captures, share=tuple(given.share))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    warm, path = (write_capture(FOLDER / f"readiness-{mb}.pcap", mb) for mb in (WARM, given.mb))
    size = path.stat().st_size / 1e6
    measured: dict[str, list[tuple[float, float]]] = {}
    for _ in range(given.rounds):
        measured.setdefault("rows", []).append(shares(warm, path, 1))
        measured.setdefault("rows, two shares", []).append(shares(warm, path, 2))
        with tempfile.TemporaryDirectory() as out:
            words = ["-m", "kwire", "readiness", "--target", "4.4.0", str(path), "--out", out, "-q", "--engine"]
            measured.setdefault("the command", []).append(finished(sys.executable, *words, "local"))
            measured.setdefault("the command, by Spark", []).append(finished(sys.executable, *words, "spark"))
        if tshark := shutil.which("tshark"):
            asked = [word for field in FIELDS for word in ("-e", field)]
            measured.setdefault("tshark", []).append(
                finished(tshark, "-r", str(path), "-d", "tcp.port==9092,kafka", "-Y", "kafka", "-T", "fields", *asked)
            )
    rows = []
    for name, times in measured.items():
        cpu, clock = (sorted(each)[len(times) // 2] for each in zip(*times, strict=True))
        rows.append([name, f"{cpu:.2f}", f"{clock:.2f}", f"{size / cpu:.0f}", f"{size / clock:.0f}"])
    print(f"{size:.0f} MB, {'native' if is_native() else 'interpreted'}, load {os.getloadavg()[0]:.1f}, medians")
    print(table(["", "s of CPU", "s by the clock", "MB per s of CPU", "MB per s"], rows))


def finished(*words: str) -> tuple[float, float]:
    """Seconds of CPU and by the clock that a program takes, with all processes that it starts: by what the system
    adds up, or by watching them, since Spark leaves some without having waited for them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Watch(os.getpid(), "") as started:
        start = time.perf_counter()
        subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return max(started.cpu, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), clock


def shares(warm: Path, path: Path, of: int) -> tuple[float, float]:
    """Seconds of CPU of all shares, and by the clock until the last one is read, all begun at once."""
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
    return cpu, clock


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
