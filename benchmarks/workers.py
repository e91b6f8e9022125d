"""Measures the processor time and memory of a process's descendants, from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

INTERVAL = 0.1
"""Number of seconds between samples."""

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watch:
    """Watches the descendants of ``root`` whose command contains ``mark`` during a ``with`` block.

    Afterwards, ``cpu`` is the total processor time of these descendants in seconds, and ``memory`` is the peak memory
    of a single one in bytes. Processes that end between samples are counted up to their last sample.
    """

    def __init__(self, root: int, mark: str) -> None:
        self.memory = 0
        self._root, self._mark = root, mark.encode()
        self._first: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._first = {pid: cpu for pid, cpu, _ in self._processes()}
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def cpu(self) -> float:
        return sum(cpu - self._first.get(pid, 0.0) for pid, cpu in self._last.items())

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            self._look()

    def _look(self) -> None:
        for pid, cpu, memory in self._processes():
            self._last[pid] = cpu
            self.memory = max(self.memory, memory)

    def _processes(self) -> Iterator[tuple[int, float, int]]:
        """Yield the process id, processor time and memory of each watched process."""
        children: dict[int, list[tuple[int, float, int]]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:  # the process has ended
                continue
            cpu = (int(fields[11]) + int(fields[12])) / TICK
            one = int(path.parent.name), cpu, int(fields[21]) * PAGE
            children.setdefault(int(fields[1]), []).append(one)
        waiting = [self._root]
        while waiting:
            for one in children.get(waiting.pop(), ()):
                waiting.append(one[0])
                if self._mark in _command(one[0]):
                    yield one


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
