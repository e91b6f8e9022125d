"""Captures packets on network interfaces with dumpcap or tcpdump, and writes files for a stream to read.

dumpcap and tcpdump can have the privilege to capture, which this process does not need. Each program writes to a
pipe, so that it needs no other privilege and ends when this process ends. The data from the pipe is divided into
files in a private folder.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from kwire.errors import KwireError
from kwire_inspect.live.ring import Cutter, NoCaptureError, Ring
from kwire_inspect.options import OptionError

PROGRAMS = ("dumpcap", "tcpdump")
"""Capture programs in order of preference. dumpcap comes first because, unlike tcpdump, it may have a capture
privilege that its user lacks.
"""
ANY = "any"
WHOLE = 262_144
"""Maximum snapshot length of both programs in bytes. With this length, packets are not truncated."""
KERNEL_MB = 32
"""Size of the kernel's packet buffer in megabytes."""
STARTING, STOPPING = 20.0, 10.0
ASKED_EVERY = 30.0
"""Interval, in seconds, at which tcpdump is asked for the number of dropped packets. dumpcap reports the number only
when it ends."""
READ_BYTES = 1 << 16
TICK = 0.25
"""Interval, in seconds, at which files are checked for completion while no packets arrive."""
TOLD_LINES = 40

_DROPPED = re.compile(r"received/dropped on interface '.*': \d+/(\d+) \(|(\d+) packets? dropped by kernel")
_IDLE_TALK = re.compile(r"Capturing on |File: |Packets|\d+ packets|tcpdump: (listening on|verbose|data link)")
_NO_RIGHT = re.compile(r"permission|not permitted|must be root", re.IGNORECASE)


class CaptureError(KwireError):
    """The capture cannot start or has ended. The message contains the reason and advice."""


def program() -> str:
    """Return the path of the first installed program among ``PROGRAMS``."""
    for name in PROGRAMS:
        if found := shutil.which(name):
            return found
    raise CaptureError(
        "neither dumpcap nor tcpdump is installed. Install wireshark-common (dumpcap) or tcpdump, "
        "or capture elsewhere and watch the folder with the files"
    )


def check_interfaces(names: Sequence[str]) -> None:
    """Raise ``OptionError`` for a name that is not a network interface.

    dumpcap and tcpdump would also accept pipes and the addresses of other machines.
    """
    known = [name for _, name in socket.if_nameindex()]
    for name in names:
        if name not in (*known, ANY):
            raise OptionError(f"no interface {name}, expected one of {', '.join([*known, ANY])}")


class InterfaceCapture:
    """Captures packets on interfaces during a ``with`` block. A stream can read the packets from ``folder``.

    ``pcap_filter`` is a libpcap filter. ``snap_length`` is the maximum number of bytes to keep of each packet.
    ``most`` is the maximum size of the folder in bytes. ``stop`` ends the capture early, after writing all captured
    packets to ``folder``.
    """

    def __init__(
        self, interfaces: Sequence[str], folder: Path, *, pcap_filter: str = "", snap_length: int = WHOLE, most: int
    ) -> None:
        check_interfaces(interfaces)
        found, self.folder = program(), folder
        ring = Ring(folder, most)
        self._captures = [
            _Capture(command(found, name, pcap_filter, snap_length), name, ring) for name in dict.fromkeys(interfaces)
        ]

    def __enter__(self) -> Self:
        try:
            for capture in self._captures:
                capture.start()
            for capture in self._captures:
                capture.wait_until_started()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self.stop()

    @property
    def dropped(self) -> int:
        """Number of dropped packets that the programs have reported."""
        return sum(capture.dropped for capture in self._captures)

    @property
    def problem(self) -> str:
        """Reason why a program ended before it was stopped, or an empty string while all programs run."""
        return next((problem for capture in self._captures if (problem := capture.problem)), "")

    def stop(self) -> None:
        """Terminate the programs and finish the files."""
        for capture in self._captures:
            capture.stop()


def command(program: str, interface: str, pcap_filter: str, snap_length: int) -> list[str]:
    """Return a command that captures on an interface and writes pcap to standard output. ``pcap_filter`` cannot
    inject options into the command.
    """
    common = [program, "-i", interface, "-s", str(snap_length), "-w", "-"]
    if Path(program).name == "dumpcap":
        chosen = ["-f", pcap_filter] if pcap_filter else []
        return [*common, "-q", "-P", "-B", str(KERNEL_MB), *chosen]
    return [*common, "-n", "-U", "-B", str(KERNEL_MB << 10), "--", *([pcap_filter] if pcap_filter else [])]


class _Capture:
    """A capture program for one interface, and threads that read its output and its messages."""

    def __init__(self, command: list[str], interface: str, ring: Ring) -> None:
        self._command, self._interface = command, interface
        self._name = Path(command[0]).name
        self._cutter = Cutter(ring, interface)
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        self._said: deque[str] = deque(maxlen=TOLD_LINES)
        self._began, self._stopped = threading.Event(), False
        self._failure = ""

    @property
    def dropped(self) -> int:
        return self._cutter.dropped

    @property
    def problem(self) -> str:
        if self._failure:
            return f"cannot continue the capture on {self._interface}: {self._failure}"
        if self._process is None or self._process.poll() is None or self._stopped:
            return ""
        said = self._complaint()
        ended = f"{self._name} on {self._interface} ended with exit code {self._process.returncode}"
        return f"{ended}: {said}" if said else ended

    def start(self) -> None:
        """Start the program in its own session, so that Ctrl-C in the terminal reaches only this process."""
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {"LC_ALL": "C"},
            )
        except OSError as error:
            raise CaptureError(f"{self._command[0]} cannot be run: {error.strerror or error}") from None
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._listen, self._copy)]
        for thread in self._threads:
            thread.start()

    def wait_until_started(self) -> None:
        """Wait until the program has written a pcap header. Raise ``OptionError`` if the program rejects the filter,
        or ``CaptureError`` if it cannot capture for another reason.
        """
        self._began.wait(STARTING)
        if self._cutter.begun:
            return
        self.stop()
        said = self._complaint() or f"it did not start within {STARTING:g} seconds"
        if _NO_RIGHT.search("\n".join(self._said)):
            raise CaptureError(
                f"{self._name} is not permitted to capture on {self._interface}: {said}\n"
                f"Grant the permission to this program only: sudo setcap cap_net_raw=ep {self._command[0]}"
            )
        kind = OptionError if "filter" in said else CaptureError
        raise kind(f"{self._name} cannot capture on {self._interface}: {said}")

    def stop(self) -> None:
        """Terminate the program, and wait until its output has been written to files."""
        self._stopped, process = True, self._process
        if process is None:
            return
        for end in (process.terminate, process.kill):
            end()
            for thread in self._threads:
                thread.join(STOPPING)
            try:
                process.wait(STOPPING)
                break
            except subprocess.TimeoutExpired:
                continue

    def _complaint(self) -> str:
        """Return the program's first message that reports a problem, or an empty string."""
        lines = [line for line in self._said if not _IDLE_TALK.match(line)]
        return lines[0].removeprefix(f"{self._name}: ") if lines else ""

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as told:
            for raw in told:
                for part in raw.decode(errors="replace").split("\r"):
                    if line := part.strip():
                        self._said.append(line)
                    if match := _DROPPED.search(line):
                        self._cutter.dropped_by_kernel(int(match[1] or match[2]))

    def _copy(self) -> None:
        """Copy the data from the pipe to files. Terminate the program if the files cannot be written."""
        assert self._process is not None
        assert self._process.stdout is not None
        asks = self._name == "tcpdump" and sys.platform == "linux"
        asked, cutter, process = time.monotonic(), self._cutter, self._process
        with self._process.stdout as pipe:
            try:
                while True:
                    if select.select([pipe], [], [], TICK)[0]:
                        if not (data := os.read(pipe.fileno(), READ_BYTES)):
                            break
                        cutter.add(data)
                        if cutter.begun:
                            self._began.set()
                    cutter.rotate()
                    if asks and cutter.begun and time.monotonic() > asked + ASKED_EVERY:
                        asked = time.monotonic()
                        process.send_signal(signal.SIGUSR1)
            except (OSError, NoCaptureError) as error:
                self._failure = str(error)
                process.terminate()
        self._threads[0].join(STOPPING)  # the last message of the program contains the number of dropped packets
        try:
            cutter.close()
        except OSError as error:
            self._failure = self._failure or str(error)
        self._began.set()
