"""Loopback, as tcpdump sees it.

::

    with Capture(folder / "traffic.pcap", ports):
        ...
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from tests.real_kafka.broker import end

STARTING = 10.0
SETTLING = 1.0
BUFFER_KIB = 1 << 16


class CaptureFailed(Exception):
    """Nothing could be captured, or not all: the message is what tcpdump said, or how to get it."""


class Capture:
    """Writes what is sent to and from some ports of this machine, while it is entered. Needs the right to do so."""

    def __init__(self, path: Path, ports: Iterable[int], *, interface: str = "lo") -> None:
        """On the interface ``any`` packets have the header of Linux cooked captures."""
        self._path = path
        self._said = path.with_suffix(".txt")
        self._filter = " or ".join(f"tcp port {port}" for port in ports)
        self._interface = interface

    def __enter__(self) -> Self:
        program = shutil.which("tcpdump")
        if program is None:
            raise CaptureFailed("there is no tcpdump here: install it (apt-get install tcpdump)")
        command = [program, "-i", self._interface, "-w", str(self._path), "-U", "--immediate-mode", "-s", "0", "-n"]
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*command, "-B", str(BUFFER_KIB), self._filter], stdout=subprocess.DEVNULL, stderr=said
            )
        deadline = time.monotonic() + STARTING
        while "listening on" not in self._said.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                end(self._process)
                raise CaptureFailed(self._said.read_text())
            time.sleep(0.05)
        return self

    def __exit__(self, *problem: object) -> None:
        """Wait until everything is written; it is an error if the kernel had to drop anything."""
        time.sleep(SETTLING)
        end(self._process)
        dropped = re.search(r"(\d+) packets? dropped by kernel", self._said.read_text())
        if problem[0] is None and (dropped is None or int(dropped[1])):
            raise CaptureFailed(self._said.read_text())
