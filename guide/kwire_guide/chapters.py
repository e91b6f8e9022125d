"""Chapters in prose: ``guide/*.md`` in a folder of definitions, in the order of their names.

A file is named ``10-framing.md``: the number orders chapters and the rest is the name of the page. It begins with a
heading of the first level, its title; the paragraph after it is shown where chapters are listed. HTML is text.
``index.md`` is no chapter: the start page begins with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kwire_guide.prose import Prose, read_prose
from kwirec.files import read_regular

_NAME = re.compile(r"(?:\d+-)?([a-z0-9-]+)\.md")


@dataclass(frozen=True)
class Chapter:
    """One page of prose."""

    path: str
    prose: Prose


INDEX = "index.md"


class ChapterError(OSError):
    """A file of a chapter is not one."""


def read_chapters(paths: Iterable[Path]) -> list[Chapter]:
    """Return the chapters of all folders. Raises :class:`ChapterError`."""
    files = (file for path in paths for file in sorted((path / "guide").glob("*.md")))
    return [_chapter(file) for file in files if file.name != INDEX]


def read_start(paths: Iterable[Path]) -> Prose | None:
    """Return the beginning of the start page, if a folder has one. Raises :class:`ChapterError`."""
    for file in (path / "guide" / INDEX for path in paths):
        if file.is_file():
            try:
                return read_prose(read_regular(file).decode("utf-8", "replace"))
            except ValueError as problem:
                raise ChapterError(f"{file.as_posix()}: {problem}") from problem
    return None


def _chapter(file: Path) -> Chapter:
    named = _NAME.fullmatch(file.name)
    if not named:
        raise ChapterError(f"{file.as_posix()}: name it NUMBER-WORDS.md, in lower-case letters, digits and hyphens")
    try:
        return Chapter(f"guide/{named[1]}.html", read_prose(read_regular(file).decode("utf-8", "replace")))
    except ValueError as problem:
        raise ChapterError(f"{file.as_posix()}: {problem}") from problem
