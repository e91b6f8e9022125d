"""Synonyms for the search, from ``guide/search.txt`` in a folder of definitions.

With a line ``exactly once = transactions``, a search for the words on the left also finds the words on the
right. Empty lines and lines that begin with ``#`` are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from kwirec.files import read_regular

FILE = "search.txt"

Synonyms = Mapping[str, str]


def read_synonyms(paths: Iterable[Path]) -> Synonyms:
    """Return the synonyms of all folders. Raise ``ValueError`` with the file name and number of an invalid line."""
    found: dict[str, str] = {}
    for file in (path / "guide" / FILE for path in paths if (path / "guide" / FILE).is_file()):
        for number, line in enumerate(read_regular(file).decode("utf-8", "replace").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            left, sign, right = (part.strip() for part in line.partition("="))
            if not (left and sign and right):
                raise ValueError(f"{file.as_posix()}, line {number}: write `words = other words`")
            found[left.lower()] = right
    return found
