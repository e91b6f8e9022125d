"""Replaces files in a folder. No file is left half-written if a run is killed or the disk is full.

New files are first written to :data:`STAGE` in the folder and then renamed, so a full disk does not change any file.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

STAGE = ".kwirec-stage"


MAX_FILE = 16 << 20
"""Maximum size, in bytes, of files other than definitions. Kafka's ``releases.json`` is 0.4 MB."""


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises ``OSError`` if the file is larger than ``MAX_FILE``, or is a pipe, socket or device, which may never end.
    """
    if path.exists() and not path.is_file():
        raise OSError(f"{path.as_posix()} is not a regular file")
    with path.open("rb") as file:
        data = file.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise OSError(f"{path.as_posix()} is larger than {MAX_FILE >> 20} MiB")
    return data


def holds(path: Path, text: str) -> bool:
    """Return whether the file exists and contains exactly this text."""
    return path.exists() and read_regular(path) == text.encode()


def repository(folder: Path) -> Path | None:
    """Return the root of the Git repository that contains the absolute path ``folder``, or ``None``."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Create ``folder``, wait until no other run writes to it, and remove the stage of a killed run.

    On systems and file systems that cannot lock folders, only the stage protects against simultaneous runs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if sys.platform != "win32":
            import fcntl

            stack.callback(os.close, handle := os.open(folder, os.O_RDONLY))
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
        shutil.rmtree(folder / STAGE, ignore_errors=True)
        yield


def replace_files(folder: Path, texts: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Write ``texts`` by path, in this order, then remove ``removed`` and all folders that become empty.

    Paths are relative to ``folder`` and use ``/``. Raises ``OSError``. If the disk is full or a path leads through a
    symbolic link, no file is changed.
    """
    for path in (*texts, *removed):
        for parent in PurePosixPath(path).parents[:-1]:
            if (folder / parent).is_symlink():
                raise OSError(f"{(folder / parent).as_posix()} is a symbolic link: replace it with a folder")
    stage = folder / STAGE
    try:
        stage.mkdir(parents=True)
        for number, text in enumerate(texts.values()):
            (stage / str(number)).write_bytes(text.encode())
        for number, path in enumerate(texts):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # a new file has no permissions to preserve
                shutil.copymode(folder / path, stage / str(number))
            (stage / str(number)).replace(folder / path)
        for path in removed:
            (folder / path).unlink()
            with suppress(OSError):  # not empty, such as the folder itself, which contains the stage
                os.removedirs((folder / path).parent)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
