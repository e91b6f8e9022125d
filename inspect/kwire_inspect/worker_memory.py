"""Settings that make a Python worker of Spark faster at making rows. Needs no Spark."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress
from functools import cache

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc: man 3 mallopt
_KEPT = 64 << 20
_OWN = 1 << 20
"""Memory of this size or more is mapped by itself, and given back when it is freed. In the heap, the first bytes that
are kept of large unfinished frames would keep all of it: each leaves a hole that is too small for the next frame."""


@cache
def tune_worker() -> None:
    """Called before each task; has effect once per process, since workers are reused.

    The garbage collector skips imported modules and runs rarely: rows are short-lived and without cycles, and
    scanning the modules again and again would take as long as making rows. Up to 64 MB of freed memory stay in the
    process for the next batch: returning them to the system takes a third of the time of frames with much data.
    """
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)
    with suppress(OSError, AttributeError, TypeError):  # without glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _OWN)
