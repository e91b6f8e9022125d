"""Measures the compiler: generation from scratch, without changes, and after a change to a definition.

``python -m benchmarks.compiler [--rounds N] [--json FILE]``

The benchmark copies the definitions to a temporary folder and runs ``kwirec generate`` as a user would. The table
shows elapsed seconds, and the processor seconds of all processes. Processor seconds predict the time on a busy
machine or a single core.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.codecs import ROOT
from benchmarks.samples import PACKAGE
from benchmarks.timing import table

DEFINITIONS = ROOT / "message_defs" / "kafka"
TARGETS = {"cold": 60.0, "unchanged": 2.0, "one definition changed": 4.0}
SIZE_TARGET = 6_000_000
COMMAND = "import sys; from kwirec.command import main; sys.argv[0] = 'kwirec'; main()"


Seconds = tuple[float, float]
"""Elapsed seconds and processor seconds."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3, help="number of short runs (the fastest counts)")
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures, size = measure(Path(folder), given.rounds)
    rows = [
        [name, f"{clock:.2f} s", f"{processor:.2f} s", f"{TARGETS[name]:.0f} s"]
        for name, (clock, processor) in figures.items()
    ]
    print(table(["generation", "clock", "processor", "target"], rows))
    print(f"\n{size / 1e6:.2f} MB of generated Python, target {SIZE_TARGET / 1e6:.0f} MB")
    if given.json:
        given.json.write_text(json.dumps({"seconds": figures, "bytes": size}, indent=2) + "\n", "utf-8")
    sys.exit(size > SIZE_TARGET or any(clock > TARGETS[name] for name, (clock, _) in figures.items()))


def measure(folder: Path, rounds: int) -> tuple[dict[str, Seconds], int]:
    """Return the times by kind of generation, and the size of the generated Python files in bytes."""
    definitions, out = folder / "definitions", folder / "out"
    shutil.copytree(DEFINITIONS, definitions)
    cold = generate(definitions, out)
    unchanged = min(generate(definitions, out) for _ in range(rounds))
    changed = []
    for number in range(rounds):
        change_one(definitions, number)
        changed.append(generate(definitions, out))
    size = sum(path.stat().st_size for path in (out / PACKAGE).rglob("*.py"))
    return {"cold": cold, "unchanged": unchanged, "one definition changed": min(changed)}, size


def generate(definitions: Path, out: Path) -> Seconds:
    """Run ``kwirec generate`` once, and return its times."""
    command = [sys.executable, "-c", COMMAND, "generate", str(definitions), "--package", PACKAGE, "--out", str(out)]
    before, start = _processor(), time.perf_counter()
    subprocess.run([*command, "--quiet"], check=True, capture_output=True)
    return time.perf_counter() - start, _processor() - before


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def change_one(definitions: Path, number: int) -> None:
    """Change a description in the definition of the Fetch request, one of the largest messages."""
    path = next(definitions.rglob("FetchRequest.json"))
    text, changes = re.subn(r'("about": ")', rf"\g<1>Edit {number}. ", path.read_text("utf-8"), count=1)
    if not changes:
        sys.exit(f"{path.name} has no description to change")
    path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
