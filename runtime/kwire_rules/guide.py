"""Links to the protocol guide, the site that ``kwirec guide`` writes [docs/guide.md#links]."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_URL = re.compile(r"[\w.~:/@!$&'()*+,;=%-]*", re.ASCII)


def page_of(module: str) -> str:
    """Return the path of a module's page within the guide, such as ``api/fetch.html``."""
    return f"{module.replace('.', '/')}.html"


def message_place(
    module: str, part: str, version: int | None = None, before: int | None = None, field: str = ""
) -> str:
    """Return the link to a message or field, optionally in a version or with the changes since version ``before``.

    ``part`` is the prefix of the message's anchors on the page, as in ``api/fetch.html#request-v16-vs-11.topics``.
    """
    chosen = "" if version is None else f"-v{version}"
    other = "" if before is None else f"-vs-{before}"
    return f"{page_of(module)}#{part}{chosen}{other}{f'.{field}' if field else ''}"


def guide_base(url: str) -> str:
    """Return the URL of a guide with a final ``/``. Raise ``ValueError`` if pages must not link to this URL."""
    parts = urlsplit(url)
    leads = {"http": bool(parts.netloc), "https": bool(parts.netloc), "file": True, "": not url.startswith("//")}
    if "@" in parts.netloc:
        raise ValueError("a guide address must not contain a user or password, because pages show the address")
    if not url or not _URL.fullmatch(url) or not leads.get(parts.scheme, False):
        raise ValueError(
            f"`{url}` is not the address of a folder: use http, https, file or a relative path, "
            "with other characters as %XX and nothing after the path"
        )
    return f"{url.rstrip('/')}/"
