"""Opens an input by its name: a path of this machine, or ``-``."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from kwire_spark.folders import regular
from kwire_spark.storage.decompression import HEAD, is_compressed_head
from kwire_spark.storage.standard_input import STDIN, standard_input


def opened(path: str, *, peek: bool = False) -> BinaryIO:
    """A file to read from its beginning. ``OSError`` if that is not possible, also for pipes, sockets and devices.

    With ``peek``, the standard input can be read again afterwards, and ends early.
    """
    if path == STDIN:
        return standard_input().opened(peek)
    return regular(path).open("rb")


def size_of(path: str) -> int:
    """Bytes of a file as it is stored; 0 for the standard input, which does not say. ``OSError`` if it is gone."""
    return 0 if path == STDIN else Path(path).stat().st_size


def is_compressed(path: str) -> bool:
    """Whether a file is in one of the formats that are decompressed while it is read."""
    with opened(path, peek=True) as file:
        return is_compressed_head(file.read(HEAD))


def absolute(path: str) -> str:
    """The name of an input for other processes, which have another current folder."""
    return path if path == STDIN else str(Path(path).absolute())
