"""Reading files that contain settings, passwords, tokens or certificates."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

MAX_FILE = 4 << 20
"""Maximum size of a file in bytes. The largest files in practice are certificate bundles of a quarter of a
megabyte."""


def read_small(path: str | Path, most: int = MAX_FILE) -> bytes:
    """Return the contents of a file, or of a pipe such as one from a password manager.

    Raise ``OSError`` if ``path`` is a device or contains more than ``most`` bytes.
    """
    with Path(path).open("rb") as file:
        if not stat.S_ISREG(mode := os.fstat(file.fileno()).st_mode) and not stat.S_ISFIFO(mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"more than {most >> 20} MiB", str(path))
    return content
