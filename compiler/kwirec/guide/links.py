"""Addresses of the guide: page and anchor of a version of a message, and the folder of a guide [docs/guide.md]."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from kwirec.emitters.modules import module_path
from kwirec.ir.schema import Message, MessageKind
from kwirec.naming import python_name

PARTS = {
    MessageKind.REQUEST: "request",
    MessageKind.RESPONSE: "response",
    MessageKind.COORDINATOR_KEY: "key",
    MessageKind.COORDINATOR_VALUE: "value",
}
"""The part of a page that a message is. Anchors begin with it: ``#request-v12.topics``."""

_URL = re.compile(r"[\w.~:/@!$&'()*+,;=%-]*", re.ASCII)


def part_of(message: Message) -> str:
    """What the anchors of a message begin with."""
    named = python_name(message.name) if message.kind is MessageKind.HEADER else "message"
    return PARTS.get(message.kind, named)


def page_of(module: str) -> str:
    """The page of a module's messages, from the folder of the guide: ``api/fetch.html``."""
    return f"{module.replace('.', '/')}.html"


def place_of(message: Message, version: int | None = None, before: int | None = None, *, field: str = "") -> str:
    """A message, in a version, or what it changed since version ``before``; and a field, by its names in snake case:
    ``api/fetch.html#request-v16-vs-11.topics.partitions``."""
    chosen = "" if version is None else f"-v{version}"
    other = "" if before is None else f"-vs-{before}"
    return f"{page_of(module_path(message))}#{part_of(message)}{chosen}{other}{f'.{field}' if field else ''}"


def guide_base(url: str) -> str:
    """The address of a guide, with a ``/`` at its end. Raises ``ValueError`` unless links may lead there."""
    parts = urlsplit(url)
    leads = {"http": bool(parts.netloc), "https": bool(parts.netloc), "file": True, "": not url.startswith("//")}
    if not url or not _URL.fullmatch(url) or not leads.get(parts.scheme, False):
        raise ValueError(
            f"`{url}` is not the address of a folder: use http, https, file or a relative path, "
            "with other characters as %XX and nothing after the path"
        )
    return f"{url.rstrip('/')}/"
