"""Reads and tidies the text of comments."""

from __future__ import annotations


def comment_text(written: str) -> str:
    """Return the text of a JSON comment, without delimiters or asterisks at the start of lines."""
    if written.startswith("//"):
        return written[2:].removeprefix(" ").rstrip()
    lines = [line.strip() for line in written.removeprefix("/*").removesuffix("*/").split("\n")]
    lines = [line.removeprefix("*").removeprefix(" ") for line in lines]
    return "\n".join(lines).strip("\n")


def tidy(line: str, *signs: str) -> str:
    """Return a comment line with a space after the comment sign. A line without other text stays unchanged."""
    sign = next((sign for sign in signs if line.startswith(sign)), "")
    words = line[len(sign) :].rstrip()
    return f"{sign} {words}" if sign and words and words[0] not in " /#" else sign + words
