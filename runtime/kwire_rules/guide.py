"""Addresses in the protocol guide, the site that ``kwirec guide`` writes [docs/guide.md#links]."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_URL = re.compile(r"[\w.~:/@!$&'()*+,;=%-]*", re.ASCII)


def page_of(module: str) -> str:
    """Return the page of a module's messages, from the folder of the guide: ``api/fetch.html``."""
    return f"{module.replace('.', '/')}.html"


def message_place(
    module: str, part: str, version: int | None = None, before: int | None = None, field: str = ""
) -> str:
    """Return the place of a message, in a version, or what it changed since version ``before``; and of a field.

    ``part`` is the part of the module's page that the message is: ``api/fetch.html#request-v16-vs-11.topics``.
    """
    chosen = "" if version is None else f"-v{version}"
    other = "" if before is None else f"-vs-{before}"
    return f"{page_of(module)}#{part}{chosen}{other}{f'.{field}' if field else ''}"


def guide_base(url: str) -> str:
    """Return the address of a guide, with a ``/`` at its end. Raise ``ValueError`` unless links may lead there."""
    parts = urlsplit(url)
    leads = {"http": bool(parts.netloc), "https": bool(parts.netloc), "file": True, "": not url.startswith("//")}
    if "@" in parts.netloc:
        raise ValueError("the address of a guide with a user or password cannot be given: pages show it")
    if not url or not _URL.fullmatch(url) or not leads.get(parts.scheme, False):
        raise ValueError(
            f"`{url}` is not the address of a folder: use http, https, file or a relative path, "
            "with other characters as %XX and nothing after the path"
        )
    return f"{url.rstrip('/')}/"
