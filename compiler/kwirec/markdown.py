"""Untrusted text → Markdown as GitHub renders it: shown as it is, on one line, without links, mentions or HTML."""

from __future__ import annotations

import re

from kwire_rules.markdown import entity, escaped
from kwirec.diagnostics.columns import printable

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def code(text: str) -> str:
    """Return a code span, also in tables. Text that could end it becomes an element of entities instead."""
    text = printable(text)
    if text and not re.search("[`|]", text):
        return f"`{text}`"
    return f"<code>{_PUNCTUATION.sub(entity, text)}</code>"


def prose(text: str) -> str:
    """Return a sentence with its parts in backticks as code. In code, ``@`` and ``#`` refer to no person and no
    issue.
    """
    *parts, last = printable(text).split("`")
    if len(parts) % 2:  # a backtick without its partner
        last = f"{parts.pop()}`{last}"
    return "".join(code(part) if index % 2 else escaped(part) for index, part in enumerate([*parts, last]))
