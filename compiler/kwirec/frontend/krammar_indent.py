"""Text in the indentation notation with other indentation → the same with two spaces for each level.

A line that is indented more than the one before is a level below it: by tabs, any number of spaces, or both. One that
is indented less is on the level of a line above it.
"""

from __future__ import annotations

from kwirec.frontend.krammar_lexer import COMMENT, INDENT


def reindented(text: str) -> str | None:
    """Return the text, or ``None`` if a line is indented less than the line before and like no line above it."""
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
