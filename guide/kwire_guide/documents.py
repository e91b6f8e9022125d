"""The documentation of a project as pages of its guide. Markdown files keep their folders below ``project/``.

Links between files become links between pages. Pictures are embedded. Links to other files become plain text.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from kwire_guide.prose import Prose, read_prose
from kwirec.files import read_regular

FOLDER = "project"
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
MAX_PICTURE = 150_000
"""Maximum size of an embedded picture, in bytes."""

_NAME = re.compile(r"[\w.-]+", re.ASCII)


@dataclass(frozen=True)
class Document:
    """A document. ``folder`` is the subfolder with its file, or empty for a file that is not in a subfolder."""

    path: str
    folder: str
    prose: Prose


class DocumentError(OSError):
    """A documentation file cannot become a page."""


def read_documents(paths: Iterable[Path]) -> list[Document]:
    """Return the Markdown files in ``paths`` and their subfolders, with the ``README.md`` of each folder first. Raise
    :class:`DocumentError` for a file that cannot become a page.
    """
    files = {file: depth for path in paths for file, depth in _files(path.resolve())}
    if not files:
        return []
    root = Path(os.path.commonpath([file.parents[depth] for file, depth in files.items()]))
    names = {file: file.relative_to(root).as_posix() for file in files}
    pages = {name: _page(name) for name in names.values()}
    return [
        Document(pages[names[file]], PurePosixPath(names[file]).parent.as_posix() if depth > 1 else "", prose)
        for file, depth in files.items()
        for prose in [_read(file, names[file], pages, root)]
    ]


def _files(path: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files of a path, each with its depth: 0 for the path itself, and 1 for files directly in the path."""
    if not path.is_dir():
        yield path, 0
        return
    found = (file for file in path.rglob("*.md") if not file.is_symlink())
    for file in sorted(found, key=lambda one: (one.parent, one.name != "README.md", one.name)):
        yield file, len(file.relative_to(path).parts)


def _page(name: str) -> str:
    if not all(_NAME.fullmatch(part) for part in name.split("/")):
        raise DocumentError(f"{name}: use only letters, digits, `.`, `_` and `-` in document names")
    return f"{FOLDER}/{name.removesuffix('.md')}.html"


def _read(file: Path, name: str, pages: dict[str, str], root: Path) -> Prose:
    def follow(target: str) -> str:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc or not parts.path:
            return target
        other = normpath(f"{PurePosixPath(name).parent}/{unquote(parts.path)}")
        if other in pages:
            to = os.path.relpath(pages[other], PurePosixPath(pages[name]).parent).replace(os.sep, "/")
            return f"{to}#{parts.fragment}" if parts.fragment else to
        return "" if other.startswith("../") else _picture(root / other)

    try:
        return read_prose(read_regular(file).decode("utf-8", "replace"), follow)
    except ValueError as problem:
        raise DocumentError(f"{file.as_posix()}: {problem}") from problem


def _picture(file: Path) -> str:
    """Return a picture as a ``data:`` address, in which scripts do not run. Return an empty string for other files
    and large pictures.
    """
    kind = PICTURES.get(file.suffix)
    if not kind or not file.is_file() or file.stat().st_size > MAX_PICTURE:
        return ""
    return f"data:{kind};base64,{b64encode(read_regular(file)).decode()}"
