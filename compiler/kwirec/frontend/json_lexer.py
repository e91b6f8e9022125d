"""JSON with comments → tokens, each with its span.

Comments are ``//`` to the end of the line and ``/* */``, wherever white space is allowed. Problems are
reported and skipped, so that one bad character does not hide the rest of the file.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Source, Span


class Kind(enum.Enum):
    """Kinds of tokens. A word is ``true``, ``false``, ``null`` or invalid.

    The text of the end is ``/*`` if an unterminated comment has swallowed the rest of the file.
    """

    PUNCTUATION = "punctuation"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"
    END = "end of file"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    value: str | int | float | None
    span: Span


_TOKEN = re.compile(
    r"""
      (?P<skip>[ \t\r\n]+ | //[^\n]* | /\*.*?\*/)
    | (?P<open_comment>/\*)
    | (?P<punctuation>[{}\[\]:,])
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<open_string>"(?:[^"\\\r\n]|\\[^\r\n])*\\?)
    | (?P<number>-?(?:0[xX][0-9a-fA-F]{1,99}|(?:0|[1-9][0-9]{0,99})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?)(?![\w.]))
    | (?P<word>[^\s{}\[\]:,"/]+ | .)
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)


def tokenize(source: Source, report: Report) -> Iterator[Token]:
    """All tokens of a source, the last of kind :attr:`Kind.END`."""
    text = source.text
    swallowed = ""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "skip":
            continue
        span = Span(source, match.start(), match.end())
        written = match.group()
        if kind == "punctuation":
            yield Token(Kind.PUNCTUATION, written, written, span)
        elif kind == "string":
            yield Token(Kind.STRING, written, _unescape(written, span, report), span)
        elif kind == "number":
            yield Token(Kind.NUMBER, written, _number(written), span)
        elif kind == "open_comment":
            report.add(codes.UNTERMINATED, "block comment is never closed", span, label="opened here")
            swallowed = written
            break
        elif kind == "open_string":
            report.add(codes.UNTERMINATED, "string is never closed", span, label="no closing quote on this line")
            yield Token(Kind.STRING, written, written[1:], span)
        else:
            yield Token(Kind.WORD, written, None, span)
    yield Token(Kind.END, swallowed, None, Span(source, len(text), len(text)))


def leading_comment(text: str) -> str:
    """The comment lines before the first token, as written."""
    position = 0
    while (match := _TOKEN.match(text, position)) and match.lastgroup == "skip":
        position = match.end()
    return text[:position].strip()


def _number(written: str) -> int | float:
    if "x" in written or "X" in written:
        return int(written, 16)
    return float(written) if any(c in written for c in ".eE") else int(written)


def _unescape(written: str, span: Span, report: Report) -> str:
    body = written[1:-1]
    if "\\" not in body:
        return body

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

    return _ESCAPE.sub(character, body)
