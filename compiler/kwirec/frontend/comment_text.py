"""The texts of comments, and their notation."""

from __future__ import annotations


def comment_text(written: str) -> str:
    """Return the text of a comment of JSON, without its signs and the stars at the start of its lines."""
    if written.startswith("//"):
        return written[2:].removeprefix(" ").rstrip()
    lines = [line.strip() for line in written.removeprefix("/*").removesuffix("*/").split("\n")]
    lines = [line.removeprefix("*").removeprefix(" ") for line in lines]
    return "\n".join(lines).strip("\n")


def tidy(line: str, *signs: str) -> str:
    """Return a line that starts with one of these signs, with a space before its words; rows of signs stay as they
    are.
    """
    sign = next((sign for sign in signs if line.startswith(sign)), "")
    words = line[len(sign) :].rstrip()
    return f"{sign} {words}" if sign and words and words[0] not in " /#" else sign + words
