"""Settings that make a process faster at making rows, such as a Python worker of Spark. Needs no Spark."""

from __future__ import annotations

import atexit
import ctypes
import gc
import sys
from contextlib import suppress
from functools import cache
from importlib.abc import MetaPathFinder

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
    atexit.register(gc.unfreeze)  # DuckDB complains about objects that are left at the end
    gc.set_threshold(100_000, 10, 10)
    with suppress(OSError, AttributeError, TypeError):  # without glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)
        libc.mallopt(_M_MMAP_THRESHOLD, _OWN)


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def leave_out_pandas() -> None:
    """Have pyarrow not import pandas with the first array, which takes as long as everything else that a small input
    needs. What converts to pandas imports it all the same."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    sys.meta_path.insert(0, hiding := _NoPandas())
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(hiding)
