"""Renders pages.

All texts come from definitions or recorded bytes and are untrusted. Jinja escapes HTML. In the finished page,
characters that a browser would interpret or hide, such as control and direction characters, are replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache

import jinja2
from markupsafe import Markup, escape

from kwire_guide.kips import kip_address, split_at_kips
from kwirec.diagnostics.columns import printable
from kwirec.emitters.environment import FOLDERS
from kwirec.guide import anchor


def visible(text: str) -> str:
    """Return a text with all invisible characters except line breaks made visible."""
    return "\n".join(map(printable, text.split("\n")))


def embedded(text: str) -> Markup:
    """Return JSON for a ``script`` element, escaped so that it cannot end the element."""
    json.loads(text)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@lru_cache(4096)
def breakable(name: str, width: int = 12) -> Markup:
    """Return a name. If the name is longer than ``width``, browsers may break it between its words."""
    words = re.split(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[_.])", name) if len(name) > width else [name]
    return Markup("<wbr>").join(words)


def coded(text: str) -> Markup:
    """Return a description in which words between backticks are code and proposal names are links."""
    pieces = enumerate(re.split(r"`([^`\n]+)`", text))
    code = Markup("<code>{}</code>")
    return Markup().join(code.format(breakable(piece, 30)) if at % 2 else _linked(piece) for at, piece in pieces)


def _linked(text: str) -> Markup:
    link = Markup('<a href="{}">KIP-{}</a>')
    pieces = enumerate(split_at_kips(text))
    return Markup().join(link.format(kip_address(int(piece)), piece) if at % 2 else piece for at, piece in pieces)


def named(pieces: Iterable[tuple[str, str, str]]) -> Markup:
    """Return the pieces of a description (:meth:`kwire_guide.fields.Names.pieces`) with links to the fields."""
    return Markup().join(_named(*piece) for piece in pieces)


def _named(text: str, place: str, code: str) -> Markup:
    shown = Markup(f"<code>{escape(text)}</code>") if code else escape(text)
    return Markup(f'<a href="#{escape(place)}">{shown}</a>') if place else shown


def literal(text: str) -> Markup:
    """Return a long text for use in an element, without escaping quotation marks."""
    return Markup(text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;"))


ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(FOLDERS),
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=True,
    auto_reload=False,
)
ENVIRONMENT.filters |= {
    "anchor": anchor,
    "breakable": breakable,
    "coded": coded,
    "embedded": embedded,
    "kip_address": kip_address,
    "literal": literal,
    "named": named,
}


def render(template: str, **context: object) -> str:
    """Return the rendered text of ``templates/guide/TEMPLATE``."""
    return visible(ENVIRONMENT.get_template(f"guide/{template}").render(**context))
