"""Converts Markdown to HTML, with GitHub's heading anchors, scrolling tables, and links to proposals (KIPs). HTML in
the Markdown is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from kwire_guide.drawings import DRAWINGS, words
from kwire_guide.kips import kip_address, split_at_kips
from kwire_guide.rendering import visible

PARSER = MarkdownIt("commonmark", {"html": False, "linkify": False, "xhtmlOut": False}).enable("table")

Follow = Callable[[str], str]
"""Maps the target of a link to an address on the site. An empty address turns the link into plain text."""


@dataclass(frozen=True)
class Heading:
    """A heading below the title: its anchor and text, and the text, code words and link addresses of its section. The
    text includes the drawings of bytes."""

    anchor: str
    title: str
    text: str
    names: tuple[str, ...]
    level: int = 2
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prose:
    """A page. ``about`` is the first sentence after the title. ``names`` lists the code before the first heading."""

    title: str
    about: str
    names: tuple[str, ...]
    body: Markup
    headings: tuple[Heading, ...]


def read_prose(markdown: str, follow: Follow = lambda target: target) -> Prose:
    """Return the page for ``markdown``. Raise ``ValueError`` if the text does not begin with a title."""
    tokens = PARSER.parse(visible(markdown.replace("\r\n", "\n")))
    if not tokens or tokens[0].tag != "h1":
        raise ValueError("begin with a title, such as `# Title`")
    _name_headings(tokens)
    _follow_links(tokens, follow)
    _link_proposals(tokens)
    about = next((token for token in tokens[3:] if token.type == "inline"), None)
    sections = list(_sections(tokens))
    return Prose(
        title=_plain(tokens[1]),
        about=re.split(r"(?<=\.)\s", _plain(about))[0] if about else "",
        names=sections[0].names,
        body=Markup(PARSER.renderer.render(_wide_tables(tokens), PARSER.options, {})),
        headings=tuple(sections[1:]),
    )


def slug(title: str) -> str:
    """Return GitHub's anchor for a heading: letters and digits of any script, ``_`` and ``-``."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") or "section"


def _name_headings(tokens: Sequence[Token]) -> None:
    taken: set[str] = set()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            name, number = slug(_plain(inline)), 0
            while (unique := f"{name}-{number}" if number else name) in taken:
                number += 1
            taken.add(unique)
            opening.attrSet("id", unique)


def _follow_links(tokens: Sequence[Token], follow: Follow) -> None:
    """Set the addresses of links and images. Links and images without an address become plain text."""
    for inline in (token for token in tokens if token.children):
        kept, dropped = [], False
        for child in inline.children or ():
            if child.type == "link_open":
                address = follow(str(child.attrGet("href")))
                child.attrSet("href", address)
                dropped = not address
            if child.type == "image":
                child.attrSet("src", follow(str(child.attrGet("src"))))
                child = child if child.attrGet("src") else Token("text", "", 0, content=child.content)
            if not (dropped and child.type in ("link_open", "link_close")):
                kept.append(child)
        inline.children = kept


def _link_proposals(tokens: Sequence[Token]) -> None:
    """Turn proposal names, such as KIP-848, into links, unless they are already within links."""
    for inline in (token for token in tokens if token.children):
        result: list[Token] = []
        depth = 0
        for child in inline.children or ():
            depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
            result += _linked(child.content) if child.type == "text" and not depth else [child]
        inline.children = result


def _linked(text: str) -> Iterator[Token]:
    for index, piece in enumerate(split_at_kips(text)):
        if index % 2:
            yield Token("link_open", "a", 1, attrs={"href": kip_address(int(piece))})
            yield Token("text", "", 0, content=f"KIP-{piece}")
            yield Token("link_close", "a", -1)
        else:
            yield Token("text", "", 0, content=piece)


def _sections(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Yield the title and every heading, each with the text up to the next heading."""
    opening = inline = tokens[0]
    texts: list[str] = []
    names: dict[str, None] = {}
    links: dict[str, None] = {}

    def section() -> Heading:
        level = int(opening.tag[1:])
        return Heading(str(opening.attrGet("id")), _plain(inline), " ".join(texts), tuple(names), level, tuple(links))

    for before, token in pairwise(tokens):
        if before.type == "heading_open":
            if before.tag != "h1":
                yield section()
            opening, inline, texts, names, links = before, token, [], {}, {}
        elif token.type == "inline":
            texts.append(_plain(token))
            children = token.children or ()
            names |= dict.fromkeys(child.content for child in children if child.type == "code_inline")
            links |= dict.fromkeys(str(child.attrGet("href")) for child in children if child.type == "link_open")
        elif token.type == "fence" and token.info.strip() == "bytes":
            texts.append(words(token.content))
    yield section()


def _wide_tables(tokens: Sequence[Token]) -> list[Token]:
    """Put every table into a box that scrolls on narrow screens, make code blocks focusable, and replace
    code blocks in drawing languages with drawings."""
    found: list[Token] = []
    number = 0
    for token in tokens:
        if token.type == "table_open":
            number += 1
            box = f'<div class="scroll" role="region" aria-label="Table {number}" tabindex="0">'
            found.append(Token("html_block", "", 0, content=box))
        if token.type in ("fence", "code_block"):
            draw = DRAWINGS.get(token.info.strip(), _code)
            token = Token("html_block", "", 0, content=draw(token.content))
        if token.attrs.pop("style", None) == "text-align:right":  # the pages' security policy forbids inline styles
            token.attrSet("class", "number")
        found.append(token)
        if token.type == "table_close":
            found.append(Token("html_block", "", 0, content="</div>"))
    return found


def _code(text: str) -> Markup:
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format(text)


def _plain(inline: Token) -> str:
    """Return the text without markup, on one line."""
    kinds = {"softbreak": " ", "hardbreak": " "}
    return "".join(
        kinds.get(child.type, child.content if child.type in ("text", "code_inline") else "")
        for child in inline.children or []
    )
