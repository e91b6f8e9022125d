"""Handling of Ctrl-C for commands that read from a pipe. The terminal sends the signal to both ends of the pipe."""

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
    """Let the first SIGINT end the writer of the standard input, and not this process.

    This applies if the standard input is among ``paths``. The process then reads the rest and reports on it. A second
    SIGINT ends this process.
    """
    if STDIN not in paths or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.getsignal(signal.SIGINT)

    def interrupted(*_: object) -> None:
        signal.signal(signal.SIGINT, previous)
        progress.print("interrupted: reporting what was captured; interrupt again to stop", highlight=False)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
