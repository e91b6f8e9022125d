"""``python -m benchmarks.peers [--rounds N] [--out FOLDER]``: measure all peers, and write the results.

It writes ``peers.json``, ``peers.md`` and ``peers.svg`` to the folder. The exit code is 1 if a peer reads different
values or writes different bytes. ``--report`` only rewrites ``peers.md`` and ``peers.svg`` from ``peers.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import import_cost, records
from benchmarks.codecs import ROOT
from benchmarks.peers import report
from benchmarks.peers.cases import CASES, Case, records_facts
from benchmarks.peers.programs import BUILD, Program, programs
from benchmarks.samples import PACKAGE

OUT = ROOT / "docs" / "benchmarks"
SLICE = 30_000_000
"""Number of nanoseconds to repeat a call for in each round."""
WARM = 10
"""Number of slices before the first round. They give Java time to compile code that runs often."""
BUSY_LOAD, QUIET_SHARE = 0.5, 0.95
"""Maximum load of a quiet machine before the run, and minimum share of a core that a single-threaded program gets."""
COPIES = 10


class Failed(Exception):
    """A peer read different values or wrote different bytes."""


class Peer:
    """A running peer program."""

    def __init__(self, program: Program, process: subprocess.Popen[str]) -> None:
        self.program = program
        self._process = process
        self._clock = (~process.pid << 3) | 2  # Linux's number for the CPU clock of all threads of a process

    def ask(self, *words: object) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        if not answer:
            raise Failed(f"{self.program.name} ended at {words}")
        return answer

    def time(self, direction: str, case: str, repeats: int) -> tuple[float, float]:
        """Return elapsed nanoseconds per call, and CPU nanoseconds of all threads."""
        before = time.clock_gettime_ns(self._clock)
        taken = int(self.ask(direction, case, repeats).removeprefix("ns "))
        return taken / repeats, (time.clock_gettime_ns(self._clock) - before) / repeats

    def resident(self) -> int:
        return int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--out", type=Path, default=OUT)
    options.add_argument("--report", action="store_true", help="do not measure")
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    stored = given.out / "peers.json"
    if not given.report:
        stored.write_text(json.dumps(measure(given.rounds), indent=1) + "\n", "utf-8")
    results = json.loads(stored.read_text("utf-8"))
    (given.out / "peers.md").write_text(report.markdown(results), "utf-8")
    report.plot(results, given.out / "peers.svg")
    print(report.markdown(results))
    sys.exit("\n".join(results["failures"]) if results["failures"] else 0)


def measure(rounds: int) -> dict[str, Any]:
    load = os.getloadavg()[0]
    found, missing = programs()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        expected = {case.name: write(case, folder) for case in CASES}
        peers = [stack.enter_context(running(program, folder)) for program in found]
        failures: list[str] = []
        left_out: dict[str, list[str]] = {}
        notes: dict[str, str] = {}
        figures = []
        for case in CASES:
            taking_part = []
            for peer in peers:
                what = check(peer, case, expected[case.name], folder)
                if what in ("same", "bytes are equal except for base offset or leader epoch"):
                    taking_part.append(peer)
                    if what != "same":
                        notes[f"{peer.program.name} {case.name}"] = what
                elif what.startswith("no "):
                    left_out.setdefault(peer.program.name, []).append(case.name)
                else:
                    failures.append(f"{peer.program.name}, {case.name}: {what}")
            for direction in ("decode", "encode"):
                figures += interleaved(taking_part, direction, case, rounds, len(expected[case.name][0]))
        memory = [{"peer": peer.program.name, "bytes": kept_by(peer)} for peer in peers if peer.program.memory]
    return {
        "machine": machine(load, figures),
        "versions": {program.name: program.version for program in found if program.version},
        "peers": [program.name for program in found],
        "missing": missing,
        "left_out": left_out,
        "notes": notes,
        "failures": failures,
        "figures": figures,
        "memory": [row for row in memory if row["bytes"]],
        "imports": imports(),
    }


def write(case: Case, folder: Path) -> tuple[bytes, list[int]]:
    """Write the case's bytes to its file. Return the bytes, and the sums over their values."""
    from importlib import import_module

    if case.sample:
        assert case.facts
        message = case.sample.make(import_module(f"{PACKAGE}.{case.sample.module}"))
        data, facts = message.encode(case.sample.version), case.facts(message)
    else:
        rows = records.sample()
        data, facts = records.build(records.kwire(""), rows, case.per_batch, 0), records_facts(rows)
    (folder / f"{case.name}.bin").write_bytes(data)
    return data, facts


@contextmanager
def running(program: Program, folder: Path) -> Iterator[Peer]:
    with subprocess.Popen(
        [*program.command, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | program.environment,
    ) as process:
        yield Peer(program, process)


def check(peer: Peer, case: Case, expected: tuple[bytes, list[int]], folder: Path) -> str:
    """Return ``same`` if the peer reads the same values and writes the same bytes. Otherwise return the difference,
    or what is not supported.
    """
    target = folder / "written.bin"
    target.unlink(missing_ok=True)
    answer = peer.ask("check", case.name, target)
    if not answer.startswith("facts"):
        return answer
    data, facts = expected
    if [int(word) for word in answer.split()[1:]] != facts:
        return f"{answer}, not {facts}"
    if not target.exists():
        return "same"  # the peer only reads
    written = target.read_bytes()
    if written == data:
        return "same"
    if not case.sample and without_place(written) == without_place(data):
        return "bytes are equal except for base offset or leader epoch"
    return f"writes other bytes, {len(written)} of them"


def without_place(data: bytes) -> list[bytes]:
    """Return the batches without the fields that the broker assigns: base offset and leader epoch."""
    found, pos = [], 0
    while pos < len(data):
        size = 12 + int.from_bytes(data[pos + 8 : pos + 12], "big")
        found.append(data[pos + 8 : pos + 12] + data[pos + 16 : pos + size])
        pos += size
    return found


def interleaved(peers: Sequence[Peer], direction: str, case: Case, rounds: int, size: int) -> list[dict[str, Any]]:
    repeats = {peer: calibrated(peer, direction, case.name) for peer in peers}
    repeats = {peer: times for peer, times in repeats.items() if times}
    walls: dict[Peer, list[float]] = {peer: [] for peer in repeats}
    cpus: dict[Peer, list[float]] = {peer: [] for peer in repeats}
    for number in range(rounds):
        order = list(repeats)
        for peer in reversed(order) if number % 2 else order:
            wall, cpu = peer.time(direction, case.name, repeats[peer])
            walls[peer].append(wall)
            cpus[peer].append(cpu)
    return [
        {
            "case": case.name,
            "direction": direction,
            "peer": peer.program.name,
            "bytes": size,
            "median_ns": round(statistics.median(walls[peer])),
            "least_ns": round(min(walls[peer])),
            "cpu_ns": round(statistics.median(cpus[peer])),
            "noisy": statistics.median(walls[peer]) > 1.25 * min(walls[peer]),
        }
        for peer in repeats
    ]


def calibrated(peer: Peer, direction: str, case: str) -> int:
    """Warm up the call. Return how often it fits into a slice, or 0 if the peer does not support it."""
    repeats = 1
    while True:
        taken = peer.time(direction, case, repeats)[0] * repeats
        if not taken:
            return 0
        if taken >= SLICE / 4 or repeats >= 1 << 22:
            break
        repeats *= 2
    for _ in range(WARM):
        taken = peer.time(direction, case, repeats)[0] * repeats
    return max(1, round(repeats * SLICE / taken))


def kept_by(peer: Peer) -> int:
    """Return the memory that a large decoded Metadata response uses."""
    if not peer.ask("keep", "metadata_big", 1).startswith("ns"):
        return 0
    before = peer.resident()
    peer.ask("keep", "metadata_big", COPIES)
    return (peer.resident() - before) // COPIES


def imports() -> dict[str, float]:
    """Return the median time to the first decoded ApiVersions response, in milliseconds above a bare interpreter."""
    chosen = import_cost.programs(BUILD / "native")
    for program, folders in chosen.values():
        import_cost.run(program, folders)
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for _ in range(9):
        for name, (program, folders) in chosen.items():
            times[name].append(import_cost.run(program, folders))
    bare = statistics.median(times.pop("bare interpreter"))
    return {name: round(statistics.median(values) - bare, 1) for name, values in times.items()}


def machine(load: float, figures: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a description of the machine and whether it was busy. Single-threaded peers should get a whole core."""
    single = [row for row in figures if not row["peer"].startswith(("Go", "Java"))]
    share = statistics.median(row["cpu_ns"] / row["median_ns"] for row in single)
    return {
        "load": round(load, 2),
        "cpu_share": round(share, 2),
        "busy": load > BUSY_LOAD or share < QUIET_SHARE,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "processor": platform.machine(),
    }


if __name__ == "__main__":
    main()
