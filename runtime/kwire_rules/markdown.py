"""Escapes untrusted text for GitHub Markdown, so that it cannot add links, mentions or HTML."""

from __future__ import annotations

import re
from urllib.parse import quote

_ACTIVE = re.compile(r"[$&*<>\[\\\]_`{|}~]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_NAMING = re.compile("@|(?<!&)#")
"""Matches ``@`` and ``#``, which refer to people or issues unless they are code."""
_URL = "/:?#@!$&'()*+,;=%"
"""Characters of URLs, in addition to letters and digits."""


def escaped(text: str) -> str:
    """Return Markdown that shows a single-line text literally.

    >>> escaped("*a* @b #1 | https://c")
    '&#42;a&#42; <code>@</code>b <code>#</code>1 &#124; https&#58;//c'
    """
    return _NAMING.sub(r"<code>\g<0></code>", _ACTIVE.sub(entity, text))


def entity(character: re.Match[str]) -> str:
    """Return a character as a numeric HTML entity."""
    return f"&#{ord(character[0])};"


def link(text: str, url: str) -> str:
    """Return a link that also works in tables. Invalid URL characters are percent-encoded. ``text`` is Markdown."""
    return f"[{text}](<{quote(url, safe=_URL).replace('&', '&amp;')}>)"
