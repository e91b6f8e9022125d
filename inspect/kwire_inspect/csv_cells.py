r"""Texts from the wire in CSV: spreadsheets evaluate cells that start like a formula, also after space and marks, and
terminals act on control characters."""

from __future__ import annotations

import re

from kwire.errors import printable

_INVISIBLE = (
    r"\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Space, and characters that no font shows [Unicode, Default_Ignorable_Code_Point]."""
_SIGNS = r"=+\-@\u207a-\u207c\u208a-\u208c\u2212\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20"
FORMULA = rf"^(?:[{_INVISIBLE}]*[{_SIGNS}]|[\t\r\n])"
"""The start of a text that a spreadsheet may evaluate, as an expression of both Python and Java."""
UNPRINTABLE = r"[\p{Cc}\p{Cf}\p{Co}\p{Z}&&[^ ]]"
"""A character that :func:`~kwire.errors.printable` escapes, as an expression of Java. Unassigned ones
stay, since they depend on the version of Unicode."""


def csv_cell(text: str) -> str:
    r"""Return ``text`` with escapes for characters on which a terminal acts, after a ``'`` if it may be a formula.

    >>> csv_cell("=1+1"), csv_cell("\n =1+1"), csv_cell("a=1")
    ("'=1+1", "'\\u000a =1+1", 'a=1')
    """
    return printable(f"'{text}" if re.match(FORMULA, text) else text)
