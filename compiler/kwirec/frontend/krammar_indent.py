"""Reindents text in the indentation notation with two spaces per level.

A line that is indented further than the line before it, by tabs, spaces or both, is one level deeper. A line that is
indented less returns to the level of an earlier line.
"""

from __future__ import annotations

from kwirec.frontend.krammar_lexer import COMMENT, INDENT


def reindented(text: str) -> str | None:
    """Return the reindented text, or ``None`` if the indentation of a line matches no earlier level."""
    lines: list[str] = []
    levels = [""]
    for line in text.split("\n"):
        words = line.lstrip(" \t")
        indent = line[: len(line) - len(words)]
        level = min(len(indent), 1)
        if not words.strip():
            levels = [""]
        elif not words.startswith(COMMENT):
            if indent != levels[-1] and indent.startswith(levels[-1]):
                levels.append(indent)
            elif indent in levels:
                del levels[levels.index(indent) + 1 :]
            else:
                return None
            level = len(levels) - 1
        lines.append(INDENT * level + words)
    return "\n".join(lines)
