"""What whole commands take, other than a worker alone: the process of the command, and Spark's workers.

``python -m tests.attack.command PEAK kwire clients FILE`` runs a command as its script does. To the file
``PEAK`` it writes the most resident memory that its process has taken, and its processor time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.attack.worker import high_water

MAX_SECONDS = 600


@dataclass(frozen=True)
class Taken:
    """Bytes of memory of the process of a command and of the largest Python worker of Spark, processor time of the
    former, exit code and the last line of what it printed."""

    process: int
    worker: int
    seconds: float
    code: int
    said: str


def taken(command: Sequence[str], folder: Path) -> Taken:
    """Runs a command with ``folder`` as its working directory."""
    peak, worker = folder / "peak", 0
    args = [sys.executable, "-m", __name__, str(peak), *command]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            args, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=folder, env=_environment()
        ) as process,
    ):
        until = time.monotonic() + MAX_SECONDS
        while process.poll() is None:
            worker = max([worker, *map(high_water, _workers(process.pid))])
            time.sleep(0.1)
            if time.monotonic() > until:
                process.kill()
        said.seek(max(0, said.seek(0, os.SEEK_END) - 1000))
        lines = said.read().decode(errors="replace").strip().splitlines()
    own, seconds = peak.read_text().split() if peak.exists() else (0, MAX_SECONDS)
    return Taken(int(own), worker, float(seconds), process.returncode, lines[-1] if lines else "")


def _environment() -> dict[str, str]:
    found = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])}
    return {name: value for name, value in found.items() if not name.startswith("SPARK_")}


def _workers(process: int) -> Iterator[int]:
    """Processes of Python below a process."""
    parents: dict[int, tuple[int, str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
                parents[int(folder.name)] = int(rest.split()[1]), name
    below = {process}
    for _ in range(6):
        below |= {number for number, (parent, _) in parents.items() if parent in below}
    yield from (number for number in below - {process} if "python" in parents[number][1])


def _main() -> None:
    peak, sys.argv = sys.argv[1], sys.argv[2:]
    module = {"kwire": "kwire.command", "kwirec": "kwirec.__main__"}[sys.argv[0]]
    try:
        sys.exit(import_module(module).main())
    finally:
        Path(peak).write_text(f"{high_water(os.getpid())} {time.process_time()}")


if __name__ == "__main__":
    _main()
