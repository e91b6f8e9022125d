"""Splits JSON with comments into tokens, each with its span.

Comments extend from ``//`` to the end of the line or are enclosed in ``/* */``, wherever white space is allowed.
Invalid characters are reported and skipped, so that the rest of the file is still read.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span


class Kind(enum.Enum):
    """Kinds of tokens. A word is ``true``, ``false``, ``null`` or invalid.

    The text of the end token is ``/*`` if an unterminated comment has swallowed the rest of the file.
    """

    PUNCTUATION = "punctuation"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"
    END = "end of file"


class Token(NamedTuple):
    """A token. Its span is created on demand, because a file has thousands of tokens, mostly commas and brackets."""

    kind: Kind
    text: str
    value: str | int | float | None
    source: Source
    start: int

    @property
    def end(self) -> int:
        return self.start if self.kind is Kind.END else self.start + len(self.text)

    @property
    def span(self) -> Span:
        return Span(self.source, self.start, self.end)


_TOKEN = re.compile(
    r"""
    [ \t\r\n]*+ (?:
      (?P<punctuation>[{}\[\]:,])
    | (?P<string>"(?:[^"\\\n]++|\\[^\n])*+")
    | (?P<open_string>"(?:[^"\\\r\n]++|\\[^\r\n])*+\\?)
    | (?P<number>-?(?:0[xX][0-9a-fA-F]{1,99}|(?:0|[1-9][0-9]{0,99})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?)(?![\w.]))
    | (?P<comment>//[^\n]* | /\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<word>[^\s{}\[\]:,"/]+ | .)
    | (?P<end>\Z)
    )
    """,
    re.VERBOSE | re.DOTALL,
)

SKIPPED = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
"""Pattern for white space and comments between two tokens."""

_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)


def tokenize(source: Source, report: Report, comments: list[Span]) -> Iterator[Token]:
    """Yield all tokens of a source, ending with :attr:`Kind.END`. Append the spans of comments to ``comments``."""
    text = source.text
    swallowed = ""
    for match in report.until_full(_TOKEN.finditer(text)):
        kind = match.lastgroup
        assert kind is not None
        written, start = match[kind], match.start(kind)
        if kind == "punctuation":
            yield Token(Kind.PUNCTUATION, written, written, source, start)
        elif kind == "string":
            value = _unescape(written, Span(source, start, match.end()), report) if "\\" in written else written[1:-1]
            yield Token(Kind.STRING, written, value, source, start)
        elif kind == "number":
            yield Token(Kind.NUMBER, written, _number(written), source, start)
        elif kind == "comment":
            comments.append(Span(source, start, match.end()))
        elif kind == "end":
            continue
        elif kind == "open_comment":
            span = Span(source, start, match.end())
            report.add(codes.UNTERMINATED, "block comment is never closed", span, label="opened here")
            swallowed = written
            break
        elif kind == "open_string":
            token = Token(Kind.STRING, written, written[1:], source, start)
            report.add(
                codes.UNTERMINATED, "string is never closed", token.span, label="no closing quote on this line"
            )
            yield token
        else:
            yield Token(Kind.WORD, written, None, source, start)
    yield Token(Kind.END, swallowed, None, source, len(text))


def leading_comment(text: str) -> str:
    """Return the comment lines before the first token, without trailing white space."""
    match = SKIPPED.match(text)
    return "\n".join(line.rstrip() for line in match[0].strip().split("\n")) if match is not None else ""


def _number(written: str) -> int | float:
    if "x" in written or "X" in written:
        return int(written, 16)
    return float(written) if any(c in written for c in ".eE") else int(written)


def _unescape(written: str, span: Span, report: Report) -> str:
    def character(match: re.Match[str]) -> str:
        at = span.within(1 + match.start(), 1 + match.end())
        try:
            text: str = json.loads(f'"{match[0]}"')
        except ValueError:
            report.add(codes.BAD_ESCAPE, f"unknown escape `{match[0]}` in a string", at)
            return match[0][1:]
        if "\ud800" <= text < "\ue000":
            report.add(codes.BAD_ESCAPE, f"`{match[0]}` is half a character", at, label="its other half is missing")
            return "\N{REPLACEMENT CHARACTER}"
        return text

    return _ESCAPE.sub(character, written[1:-1])
