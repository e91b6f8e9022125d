"""Chapters in prose: ``guide/*.md`` in a folder of definitions, in the order of their names.

A file is named ``10-framing.md``: the number orders chapters and the rest is the name of the page. It begins with a
heading of the first level, its title; the paragraph after it is shown where chapters are listed. HTML is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from kwirec.files import read_regular
from kwirec.guide.page import anchor, visible

_NAME = re.compile(r"(?:\d+-)?([a-z0-9-]+)\.md")


@dataclass(frozen=True)
class Chapter:
    """One page of prose. ``headings`` are those below the title, with their anchors."""

    path: str
    title: str
    about: str
    body: Markup
    headings: tuple[tuple[str, str], ...]


class ChapterError(OSError):
    """A file of a chapter is not one."""


def read_chapters(paths: Iterable[Path]) -> list[Chapter]:
    """The chapters of all folders. Raises :class:`ChapterError`."""
    files = (file for path in paths for file in sorted((path / "guide").glob("*.md")))
    return [_chapter(file) for file in files]


def _chapter(file: Path) -> Chapter:
    named = _NAME.fullmatch(file.name)
    if not named:
        raise ChapterError(f"{file.as_posix()}: name it NUMBER-WORDS.md, in lower-case letters, digits and hyphens")
    text = visible(read_regular(file).decode("utf-8", "replace").replace("\r\n", "\n"))
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table")
    tokens = parser.parse(text)
    if not tokens or tokens[0].tag != "h1":
        raise ChapterError(f"{file.as_posix()}: begin with the title, as `# Title`")
    headings = tuple(_anchors(tokens))
    about = next((token.content for token in tokens[3:] if token.type == "inline"), "")
    body = Markup(parser.renderer.render(_wide_tables(tokens), parser.options, {}))
    return Chapter(f"guide/{named[1]}.html", _plain(tokens[1]), _plain_text(about), body, headings)


def _anchors(tokens: list[Token]) -> Iterator[tuple[str, str]]:
    """Give every heading its anchor."""
    taken: set[str] = set()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            title = _plain(inline)
            name = anchor(title.lower())
            while name in taken:
                name += "-"
            taken.add(name)
            opening.attrSet("id", name)
            if opening.tag != "h1":
                yield name, title


def _wide_tables(tokens: list[Token]) -> list[Token]:
    """Put every table into a box of its own, which scrolls on narrow screens."""
    found: list[Token] = []
    for token in tokens:
        if token.type == "table_open":
            found.append(
                Token(
                    "html_block", "", 0, content='<div class="scroll" role="region" aria-label="Table" tabindex="0">'
                )
            )
        if token.attrs.pop("style", None) == "text-align:right":  # pages allow no styles of elements
            token.attrSet("class", "number")
        found.append(token)
        if token.type == "table_close":
            found.append(Token("html_block", "", 0, content="</div>"))
    return found


def _plain(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))


def _plain_text(markdown: str) -> str:
    """The first sentence of a paragraph, without its marks."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(markdown.split())).replace("`", "").replace("*", "")
    return re.split(r"(?<=\.)\s", text)[0]
