"""Handles Ctrl-C in commands that read from a pipe. The terminal sends the signal to both ends of the pipe."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kwire_inspect.storage import STDIN

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def forward_sigint_to_writer(paths: Sequence[str], progress: Console) -> Iterator[None]:
    """If standard input is among ``paths``, let the first SIGINT end only the process that writes to it.

    After the first SIGINT, this process reads the remaining bytes and reports on them. A second SIGINT ends this
    process too.
    """
    if STDIN not in paths or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, previous)
        progress.print("interrupted: reporting what was captured. Interrupt again to stop", highlight=False)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
