"""Untrusted text in Markdown as GitHub renders it: without links, mentions or HTML of its own."""

from __future__ import annotations

import re
from urllib.parse import quote

_ACTIVE = re.compile(r"[$&*<>\[\\\]_`{|}~]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_NAMING = re.compile("@|(?<!&)#")
"""``@`` and ``#`` refer to somebody or something, unless they are code."""
_URL = "/:?#@!$&'()*+,;=%"
"""Characters of addresses, beside letters and digits."""


def escaped(text: str) -> str:
    """Return Markdown that shows a text of one line as it is.

    >>> escaped("*a* @b #1 | https://c")
    '&#42;a&#42; <code>@</code>b <code>#</code>1 &#124; https&#58;//c'
    """
    return _NAMING.sub(r"<code>\g<0></code>", _ACTIVE.sub(entity, text))


def entity(character: re.Match[str]) -> str:
    """Return the numeric entity of a character."""
    return f"&#{ord(character[0])};"


def link(text: str, url: str) -> str:
    """Return a link, also for tables. Invalid characters of the URL are percent-encoded. ``text`` is Markdown."""
    return f"[{text}](<{quote(url, safe=_URL).replace('&', '&amp;')}>)"
