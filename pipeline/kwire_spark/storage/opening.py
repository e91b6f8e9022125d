"""Opens an input by its name."""

from __future__ import annotations

from typing import BinaryIO

from kwire_spark.storage.decompression import HEAD, is_compressed_head
from kwire_spark.storage.places import place


def opened(path: str, *, peek: bool = False) -> BinaryIO:
    """A file to read from its beginning: see :meth:`~kwire_spark.storage.places.Place.opened`."""
    return place(path).opened(peek)


def size_of(path: str) -> int:
    """Bytes of a file as it is stored; 0 for the standard input, which does not say. ``OSError`` if it is gone."""
    return place(path).size()


def is_compressed(path: str) -> bool:
    """Whether a file is in one of the formats that are decompressed while it is read."""
    with opened(path, peek=True) as file:
        return is_compressed_head(file.read(HEAD))


def absolute(path: str) -> str:
    """The name of an input for other processes, which have another current folder."""
    return place(path).absolute()
