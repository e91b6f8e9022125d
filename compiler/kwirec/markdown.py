"""Escapes untrusted text for GitHub Markdown, so that it is shown literally, without links, mentions or HTML."""

from __future__ import annotations

import re

from kwire_rules.markdown import entity, escaped
from kwirec.diagnostics.columns import printable

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def code(text: str) -> str:
    """Return a code span that also works in tables. Text that could end it becomes an HTML element with entities."""
    text = printable(text)
    if text and not re.search("[`|]", text):
        return f"`{text}`"
    return f"<code>{_PUNCTUATION.sub(entity, text)}</code>"


def prose(text: str) -> str:
    """Return a sentence as Markdown, with its parts in backticks as code.

    In code, ``@`` and ``#`` do not refer to people or issues.
    """
    *parts, last = printable(text).split("`")
    if len(parts) % 2:  # an unmatched backtick
        last = f"{parts.pop()}`{last}"
    return "".join(code(part) if index % 2 else escaped(part) for index, part in enumerate([*parts, last]))
