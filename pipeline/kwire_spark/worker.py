"""What makes a Python worker of Spark as fast as it can be at making rows. No Spark."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from functools import cache

YOUNG = 100_000
"""Objects that are made, and not freed, before the garbage collector looks at them: rows are kept for a moment only,
and hold no cycles."""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc: man 3 mallopt
_KEPT = 64 << 20


@cache
def tune_worker() -> None:
    """Once in a process, before it makes rows: workers run task after task.

    The garbage collector is spared what the worker has imported: going through all of that, over and over, takes as
    long as making rows. And memory that a batch leaves behind, up to 64 MB, is kept for the next one: to give it back
    and ask for it again takes a third of the time of frames with much data.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 10)
    with suppress(OSError, AttributeError, TypeError):  # where there is no glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _KEPT // 2)
