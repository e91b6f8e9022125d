"""What kwire says when it is run as a user runs it, and the tables that it leaves."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

LONGEST = 600.0
SPOKEN = ("client_id", "software_name", "software_version", "principal", "api", "version")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "kwire", *arguments]


def run(*arguments: str, allowed: Sequence[int] = (0,)) -> str:
    """What a command prints, on both outputs."""
    done = subprocess.run(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LONGEST, check=False
    )
    assert done.returncode in allowed, done.stdout
    return done.stdout


def requests(folder: Path) -> Counter[tuple[object, ...]]:
    """How many requests of each client, API and version the table ``clients`` in a folder has."""
    found: Counter[tuple[object, ...]] = Counter()
    for row in pq.read_table(folder / "clients").to_pylist():
        found[tuple(row[name] for name in SPOKEN)] += row["requests"]
    return found


def problems(folder: Path) -> Counter[str]:
    """Return the number of places of each problem in the table ``problems`` of a folder."""
    found: Counter[str] = Counter()
    for row in pq.read_table(folder / "problems").to_pylist():
        found[row["problem"]] += row["places"]
    return found
