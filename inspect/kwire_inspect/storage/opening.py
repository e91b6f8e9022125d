"""Opens an input by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar

from kwire_inspect.storage.decompression import HEAD, is_compressed_head
from kwire_inspect.storage.places import RemotePlace, place
from kwire_inspect.storage.remote import SCHEME

Made = TypeVar("Made")

AT_ONCE = 16
"""Requests to a store."""


def opened(path: str, *, peek: bool = False, expected: str = "") -> BinaryIO:
    """A file to read from its beginning: see :meth:`~kwire_inspect.storage.places.Place.opened`."""
    return place(path).opened(peek, expected)


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


def written(path: Path) -> str:
    """The name of an input that was made into a path, which has one slash where an address has two.

    Names of files that look like this are absolute, so that no folder is taken for a store.
    """
    scheme, colon, rest = str(path).partition(":/")
    return f"{scheme}://{rest}" if colon and SCHEME.fullmatch(f"{scheme}://{rest}") else str(path)


def is_remote(path: str) -> bool:
    """Whether a name is an address of a store."""
    return SCHEME.fullmatch(path) is not None


def each(function: Callable[[str], Made], paths: Sequence[str]) -> list[Made]:
    """What a function makes of each input: of several objects at a time, since each waits for its store."""
    if sum(isinstance(place(path), RemotePlace) for path in paths) < 2:
        return [function(path) for path in paths]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(function, paths))
