"""Measures the cost of imports, from a bare interpreter to the first decoded message.

``python -m benchmarks.import_cost [--runs N] [--json FILE]``

Each line shows the time of a separate process from start to exit, minus the time of a bare interpreter. Bytecode is
cached in a separate folder, as for an installed package. The programs take turns. The table shows the minimum and
the median of many runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.codecs import BUILT, ROOT
from benchmarks.timing import table

TARGET = 30.0
"""Maximum time to import kwire_kafka and decode a message, in milliseconds."""

API_VERSIONS = "0000" + "01" + "00000000" + "00"
"""Empty ApiVersions response of version 3, as hex."""

FOLDERS = (ROOT / "runtime", ROOT / "generated")
FIRST = "from kwire_kafka import ApiVersionsResponse; ApiVersionsResponse.decode(bytes.fromhex({!r}), 3)"
KAFKA_PYTHON = (
    "from kafka.protocol.metadata import ApiVersionsResponse; "
    "ApiVersionsResponse.decode(bytes.fromhex({!r}), version=3)"
)
KIO = (
    "from kio.serial import entity_reader; from kio.schema.api_versions.v3.response import ApiVersionsResponse; "
    "entity_reader(ApiVersionsResponse)(bytes.fromhex({!r}), 0)"
)


def programs(built: Path = BUILT) -> dict[str, tuple[str, Sequence[Path]]]:
    """Return the programs to run, by name, each with the folders from which it imports kwire."""
    found: dict[str, tuple[str, Sequence[Path]]] = {
        "bare interpreter": ("pass", FOLDERS),
        "import kwire_kafka": ("import kwire_kafka", FOLDERS),
        "kwire: import and first decode": (FIRST.format(API_VERSIONS), FOLDERS),
        "kafka-python: import and first decode": (KAFKA_PYTHON.format(API_VERSIONS), FOLDERS),
        "kio: import and first decode": (KIO.format(API_VERSIONS), FOLDERS),
    }
    if built.is_dir():
        found["kwire compiled: import and first decode"] = (FIRST.format(API_VERSIONS), (built,))
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=30)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["PYTHONPYCACHEPREFIX"] = cache
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        figures = measure(given.runs)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
    least = figures["kwire: import and first decode"][0]
    print(f"\n{least:.1f} ms to the first message, target {TARGET:.0f} ms")
    sys.exit(least > TARGET)


def measure(runs: int) -> dict[str, tuple[float, float]]:
    """Print the tables. Return the minimum and median time of each program beyond a bare interpreter, in ms."""
    chosen = programs()
    times: dict[str, list[float]] = {name: [] for name in chosen}
    for program, folders in chosen.values():
        run(program, folders)
    for _ in range(runs):
        for name, (program, folders) in chosen.items():
            times[name].append(run(program, folders))
    bare = times["bare interpreter"]
    figures = {
        name: (min(values) - min(bare), statistics.median(values) - statistics.median(bare))
        for name, values in times.items()
        if values is not bare
    }
    print(f"bare interpreter: {min(bare):.1f} ms\n")
    print(
        table(
            ["ms above it", "minimum", "median"], [[name, f"{a:.1f}", f"{b:.1f}"] for name, (a, b) in figures.items()]
        )
    )
    print("\ntime of kwire in µs, by module:")
    print(table(["module", "own", "with what it imports"], breakdown(FIRST.format(API_VERSIONS))))
    return figures


def run(program: str, folders: Sequence[Path]) -> float:
    """Run a process, and return its elapsed milliseconds."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=_environment(folders), check=True)
    return (time.perf_counter() - start) * 1e3


def breakdown(program: str) -> list[list[str]]:
    """Return the slowest imports of a program, slowest first: module, and own and total time in microseconds."""
    command = [sys.executable, "-X", "importtime", "-c"]
    seen = {row[0] for row in _import_times([*command, "pass"])}
    best: dict[str, tuple[int, int]] = {}
    for _ in range(5):
        for name, own, total in _import_times([*command, program]):
            if name not in seen:
                best[name] = min(best.get(name, (own, total)), (own, total))
    ordered = sorted(best.items(), key=lambda item: -item[1][0])
    return [[name, str(own), str(total)] for name, (own, total) in ordered[:12]]


def _import_times(command: Sequence[str]) -> list[tuple[str, int, int]]:
    done = subprocess.run(command, env=_environment(FOLDERS), check=True, capture_output=True, text=True)
    rows = re.findall(r"import time:\s+(\d+) \|\s+(\d+) \|\s+(\S+)", done.stderr)
    return [(name, int(own), int(total)) for own, total, name in rows]


def _environment(folders: Sequence[Path]) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, folders))}


if __name__ == "__main__":
    main()
