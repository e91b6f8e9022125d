"""Files and folders on this machine: regular files alone are read; folders for results are private, and one process
at a time writes to them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def regular(path: str | Path) -> Path:
    """The path of a file to open. Raises ``OSError`` for a pipe, socket or device, which may never end."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise OSError(0, "not a regular file", str(path))
    return path


def private_folder(path: str | Path) -> Path:
    """Create a folder, and those it is in, for this user alone; those that exist stay as they are."""
    path = Path(path)
    for folder in (*reversed(path.parents), path):
        folder.mkdir(0o700, exist_ok=True)
    return path


@contextmanager
def claimed(folder: Path) -> Iterator[bool | None]:
    """Claim a folder within a ``with`` block: false if another process, or block, has claimed it.

    ``None`` on systems and file systems that cannot lock a folder.
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
