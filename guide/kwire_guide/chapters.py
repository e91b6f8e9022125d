"""Chapters, from ``guide/*.md`` in a folder of definitions, sorted by file name.

In a name such as ``10-framing.md``, the number orders the chapters, and the rest names the page. A file begins with
its title, a first-level heading. The first sentence after the title describes the page to search engines. HTML in a
chapter is escaped. ``index.md`` is not a chapter, but the top of the start page.
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
    """A chapter, with the path of its page."""

    path: str
    prose: Prose


INDEX = "index.md"


class ChapterError(OSError):
    """A chapter's file is invalid."""


def read_chapters(paths: Iterable[Path]) -> list[Chapter]:
    """Return the chapters of all folders. Raise :class:`ChapterError` for an invalid file."""
    files = (file for path in paths for file in sorted((path / "guide").glob("*.md")))
    return [_chapter(file) for file in files if file.name != INDEX]


def read_start(paths: Iterable[Path]) -> Prose | None:
    """Return the top of the start page from the first ``index.md``, or ``None`` if there is no such file. Raise
    :class:`ChapterError` for an invalid file.
    """
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
        raise ChapterError(
            f"{file.as_posix()}: name the file NUMBER-WORDS.md, with lower-case letters, digits and hyphens"
        )
    try:
        return Chapter(f"guide/{named[1]}.html", read_prose(read_regular(file).decode("utf-8", "replace")))
    except ValueError as problem:
        raise ChapterError(f"{file.as_posix()}: {problem}") from problem
