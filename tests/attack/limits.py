"""A limit of memory and of time for the work on one input. Linux only: elsewhere the memory is not limited."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

STATM = Path("/proc/self/statm")


class TimeLimitError(BaseException):
    """The work took too much CPU time. No handler of ``Exception`` catches it."""


@contextmanager
def limited(memory: int, seconds: float) -> Iterator[None]:
    """Whatever is done inside may add ``memory`` bytes to the address space and take ``seconds`` of CPU time.

    More raises :class:`MemoryError` or :class:`TimeLimitError`. Needs the main thread, because signals do.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        if STATM.exists():
            size = int(STATM.read_bytes().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + memory, hard))
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGVTALRM, handler)


def _give_up(number: int, frame: FrameType | None) -> NoReturn:
    raise TimeLimitError
