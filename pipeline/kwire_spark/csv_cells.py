"""Texts from the wire in CSV: spreadsheets evaluate cells that start like a formula, also after space and marks."""

from __future__ import annotations

import re

FORMULA = (
    r"^(?:[\x00-\x20\x7f-\xa0\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*"
    r"[=+\-@\uff0b\uff0d\uff1d\uff20]|[\t\r\n])"
)
"""The start of such a text, as an expression of both Python and Java."""


def csv_cell(text: str) -> str:
    """``text``, after a ``'`` if a spreadsheet would evaluate it.

    >>> csv_cell("=1+1"), csv_cell("\\n =1+1"), csv_cell("a=1")
    ("'=1+1", "'\\n =1+1", 'a=1')
    """
    return f"'{text}" if re.match(FORMULA, text) else text
