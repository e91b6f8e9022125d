"""Untrusted text → Markdown as GitHub renders it: shown as it is, on one line, without links, mentions or HTML.

:func:`link` alone makes links, from addresses.
"""

from __future__ import annotations

import re
from urllib.parse import quote

from kwirec.diagnostics.columns import printable

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_URL = "/:?#@!$&'()*+,;=%"
_ACTIVE = re.compile(r"[$&*<>\[\\\]_`{|}~]|:(?=//)|(?<=www)\.", re.IGNORECASE)


def code(text: str) -> str:
    """A code span, also in tables. Text that could end it becomes an element of entities instead."""
    text = printable(text)
    if text and not re.search("[`|]", text):
        return f"`{text}`"
    return f"<code>{_PUNCTUATION.sub(_entity, text)}</code>"


def prose(text: str) -> str:
    """A sentence, of which the parts in backticks are code. ``@`` and ``#`` refer to nobody and nothing in code."""
    *parts, last = printable(text).split("`")
    if len(parts) % 2:  # a backtick without its partner
        last = f"{parts.pop()}`{last}"
    return "".join(code(part) if index % 2 else _plain(part) for index, part in enumerate([*parts, last]))


def link(text: str, url: str) -> str:
    """A link, also in tables. What a URL cannot have is percent-encoded; ``text`` is Markdown."""
    return f"[{text}](<{quote(url, safe=_URL).replace('&', '&amp;')}>)"


def _plain(text: str) -> str:
    return re.sub("@|(?<!&)#", r"<code>\g<0></code>", _ACTIVE.sub(_entity, text))


def _entity(character: re.Match[str]) -> str:
    return f"&#{ord(character[0])};"
