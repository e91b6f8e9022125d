"""Converts between comments and descriptions.

The lines of a paragraph become one line of the description. A line with only ``//`` separates paragraphs. A line that
starts with more than one space or looks like a list item remains a separate line. A description that these rules
cannot express is written as a JSON string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kwirec.frontend.krammar_types import quoted
from kwirec.json_text import json_line

WIDTH = 118
_OWN_LINE = re.compile(r"\s|[-*] ")


def read_doc(lines: Iterable[str]) -> str:
    """Return the description that comment lines contain. Callers pass the lines without ``//`` and the space after
    it.
    """
    texts = list(lines)
    while texts and not texts[-1]:
        texts.pop()
    if len(texts) == 1 and texts[0].startswith('"') and (value := quoted(texts[0])) is not None:
        return value
    parts: list[str] = []
    gap = ""
    for text in texts:
        if not text:
            gap = "\n\n" if parts else ""
        else:
            parts += [gap or ("" if not parts else "\n" if _OWN_LINE.match(text) else " "), text]
            gap = ""
    return "".join(parts)


def write_doc(text: str, width: int = WIDTH) -> list[str]:
    """Return a description as lines of about ``width`` characters, the inverse of :func:`read_doc`."""
    if not text:
        return []
    if text.replace("\n", "").isprintable() and not text.startswith('"'):
        lines = [
            line for paragraph in text.split("\n") for line in ([""] if not paragraph else _fill(paragraph, width))
        ]
        if read_doc(lines) == text and all(line == line.rstrip() for line in lines):
            return lines
    return [json_line(text)]


def _fill(text: str, width: int) -> Iterator[str]:
    """Yield the lines of ``text``. Break only at single spaces, and never where the next line would look like a list
    item.
    """
    start = 0
    while len(text) - start > width and (end := _line_end(text, start, width)):
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _line_end(text: str, start: int, width: int) -> int:
    """Return the last index within the width at which a line may end. If there is none, return the first such index
    after the width, or 0.
    """
    end = 0
    at = text.find(" ", start + 1)
    while at >= 0 and not (end and at > start + width):
        if text[at - 1] != " " and at + 1 < len(text) and not _OWN_LINE.match(text, at + 1):
            end = at
        at = text.find(" ", at + 1)
    return end


def split_struct_doc(lines: Sequence[str], struct: str) -> tuple[str, str | None]:
    """Return the descriptions of a field and of its struct.

    The struct's description is the last paragraph if it starts with the struct's name, otherwise ``None``.
    """
    start = max((number + 1 for number, line in enumerate(lines) if not line), default=0)
    if start < len(lines) and lines[start].startswith(f"{struct}:"):
        first = lines[start][len(struct) + 1 :].removeprefix(" ")
        return read_doc(lines[:start]), read_doc([first, *lines[start + 1 :]])
    return read_doc(lines), None


def join_struct_doc(doc: str, struct: str, struct_doc: str, width: int = WIDTH) -> list[str]:
    """Return the comment lines for both descriptions, the inverse of :func:`split_struct_doc`."""
    lines = write_doc(doc, width)
    if not struct_doc:
        is_clear = split_struct_doc(lines, struct)[1] is None
        return lines if is_clear else [*lines, "", f"{struct}:"]
    last = write_doc(f"{struct}: {struct_doc}", width)
    if split_struct_doc(last, struct) != ("", struct_doc):
        last = [f"{struct}: {json_line(struct_doc)}"]
    return [*lines, *([""] if lines else []), *last]
