"""Runs the user's formatting commands, which read text from standard input and write it to standard output."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from kwirec.emitters.environment import Artifact

MAX_SECONDS = 120


class FormatError(Exception):
    """Raised when a formatter rejects an output."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def run_formatter(command: Sequence[str], artifact: Artifact) -> str:
    """Return a text formatted by a command. Raises :class:`FormatError`."""
    try:
        done = subprocess.run(command, input=artifact.text.encode(), capture_output=True, timeout=MAX_SECONDS)
        if done.returncode == 0:
            return done.stdout.decode().replace("\r\n", "\n")
        reason = " ".join(done.stderr.decode(errors="replace").split()) or f"it ends with code {done.returncode}"
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired) as problem:
        reason = str(problem)
    raise FormatError(artifact.path, f"`{' '.join(command)}`: {reason}")
