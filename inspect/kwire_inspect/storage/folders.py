"""Private output folders, each written by one process at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def private_folder(path: str | Path) -> Path:
    """Create a folder and its parents, accessible only to this user. Leave existing folders unchanged."""
    path = Path(path)
    for folder in (*reversed(path.parents), path):
        folder.mkdir(0o700, exist_ok=True)
    return path


@contextmanager
def claimed(folder: Path) -> Iterator[bool | None]:
    """Claim a folder for the duration of a ``with`` block. Yield false if another process or block holds the folder.

    Yield ``None`` if the operating system or file system cannot lock folders.
    """
    if sys.platform == "win32":
        yield None
        return
    import fcntl

    handle, is_ours = os.open(folder, os.O_RDONLY | os.O_DIRECTORY), None
    try:
        with suppress(OSError):
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            except BlockingIOError:
                is_ours = False
        yield is_ours
    finally:
        os.close(handle)
