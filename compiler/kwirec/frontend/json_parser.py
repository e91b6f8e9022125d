"""Parses tokens into a tree of JSON values with spans.

The docstring of each parsing method is its grammar production. After a mistake, the parser continues at the next
comma or bracket, so that one run finds all mistakes in a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report, Severity, did_you_mean, meant
from kwirec.diagnostics.edits import Fix, replaced
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.json_lexer import SKIPPED, Kind, Token, tokenize


class JsonScalar(NamedTuple):
    value: str | int | float | bool | None
    span: Span


@dataclass(frozen=True, slots=True)
class JsonWrong:
    """A placeholder for a missing or invalid value that has been reported."""

    span: Span


@dataclass(frozen=True, slots=True)
class JsonArray:
    items: tuple[JsonValue, ...]
    span: Span


class JsonMember(NamedTuple):
    key: str
    key_span: Span
    value: JsonValue


@dataclass(frozen=True, slots=True)
class JsonObject:
    members: tuple[JsonMember, ...]
    span: Span
    broken: bool = False
    """Whether members may have been lost to a mistake and must not be reported as missing."""


JsonValue = JsonScalar | JsonArray | JsonObject | JsonWrong

MAX_DEPTH = 100
"""The maximum nesting depth, as a guard against hostile input. Kafka's definitions have about ten levels."""

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}
_UNQUOTED = re.compile(r"(?P<quote>'?)(?P<text>[A-Za-z][A-Za-z0-9_+-]*)(?P=quote)")
_OTHER_LANGUAGES = frozenset({"None", "nil", "undefined", "NaN", "Infinity"})
"""Words of programming languages for values that JSON spells differently or lacks."""
_COLONS = re.compile(r":(?:[ \t]*:)*(?=[ \t]*[\"{\[0-9tfn-])")
_BRACKETS = re.compile(r"[\s}\],]*")


def describe(value: JsonValue) -> str:
    """Return a word for the kind of a value, for use in diagnostics."""
    match value:
        case JsonObject():
            return "an object"
        case JsonArray():
            return "a list"
        case JsonScalar(str()):
            return "a string"
        case JsonScalar(bool()):
            return "a boolean"
        case JsonScalar(int() | float()):
            return "a number"
        case _:
            return "null"


def parse_values(
    source: Source, report: Report, *, many: bool = False, comments: list[Span] | None = None
) -> list[JsonValue]:
    """Return the values of a source. If ``many`` is false, return only the first and warn about any text after it.

    The spans of comments are appended to ``comments`` in order.
    """
    errors_before = report.count(Severity.ERROR)
    parser = _Parser(source, report, [] if comments is None else comments)
    values: list[JsonValue] = []
    while parser.token.kind is not Kind.END:
        if values and not many:
            end = values[0].span.end
            is_only_brackets = _BRACKETS.fullmatch(source.text, end) is not None
            report.add(
                codes.TRAILING_TOKENS,
                "text after the end of the definition",
                parser.token.span,
                label="ignored from here",
                others=[(Span(source, end - 1, end), "the definition ends here")],
                fix=replaced(Span(source, end, len(source.text.rstrip())), "") if is_only_brackets else (),
            )
            break
        values.append(parser.root())
    if not values and report.count(Severity.ERROR) == errors_before:
        report.add(codes.EMPTY_FILE, "the file holds no definition", Span(source, 0, 0))
    return values


class _Parser:
    def __init__(self, source: Source, report: Report, comments: list[Span]) -> None:
        self._tokens = tokenize(source, report, comments)
        self._report = report
        self._depth = 0
        self._blamed: Token | None = None
        self._end = 0
        self.token = next(self._tokens)

    def _advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self._end = token.end
            self.token = next(self._tokens)
        return token

    def _at(self, punctuation: str) -> bool:
        return self.token.text == punctuation  # the text of a string includes its quotes

    def root(self) -> JsonValue:
        """Return the next value, and consume at least one token."""
        start = self.token
        value = self.value()
        if self.token is start:
            self._advance()
        return value

    def value(self, fix: Fix = ()) -> JsonValue:
        """value: object | array | STRING | NUMBER | "true" | "false" | "null" """
        token = self.token
        if token.kind in (Kind.STRING, Kind.NUMBER):
            self._advance()
            return JsonScalar(token.value, token.span)
        if self._at("{") or self._at("["):
            if self._depth == MAX_DEPTH:
                self._report.add(codes.UNEXPECTED_TOKEN, f"values nest deeper than {MAX_DEPTH} levels", token.span)
                self.token = self._blamed = Token(Kind.END, "", None, token.source, token.start)
                return JsonWrong(token.span)
            self._depth += 1
            nested = self.object() if self._at("{") else self.array()
            self._depth -= 1
            return nested
        if token.kind is Kind.WORD:
            self._advance()
            if token.text in _WORDS:
                return JsonScalar(_WORDS[token.text], token.span)
            self._report.add(
                codes.UNEXPECTED_TOKEN,
                f"`{_shortened(token.text)}` is not a JSON value",
                token.span,
                label="expected a value",
                helps=[did_you_mean(token.text, _WORDS) or "strings need double quotes"],
                fix=_word_fix(token),
            )
            return JsonWrong(token.span)
        colons = _COLONS.match(token.source.text, token.start)
        self._unexpected("a value", fix=fix if colons is None else replaced(Span(token.source, *colons.span()), ""))
        if not self._at(":"):
            return JsonWrong(token.span)
        while self._at(":"):  # extra colons before the value
            self._advance()
        self._blamed = self.token
        return self.value()

    def object(self) -> JsonObject:
        """object: "{" [member ("," member)* [","]] "}" """
        start = self._advance()
        members: list[JsonMember] = []
        broken = False
        while not self._at("}") and self.token.kind is not Kind.END:
            member = self.member()
            if member is not None:
                members.append(member)
            broken = broken or member is None
            blamed = self._blamed
            goes_on = not self._at("{") and self._separator("}", start)
            broken = broken or self._blamed is not blamed
            if not goes_on:
                break
        closed = self._at("}")
        span = start.span.to(self._close("}", start))
        return JsonObject(tuple(members), span, broken or not closed)

    def member(self) -> JsonMember | None:
        """member: STRING ":" value"""
        if self.token.kind is not Kind.STRING:
            self._unexpected("an attribute name in double quotes", fix=self._extra_comma() or self._name_fix())
        if self._at("{"):  # a closing brace is missing, and the next item of the enclosing list starts here
            return None
        if self.token.kind not in (Kind.STRING, Kind.WORD):
            self._skip_to_separator()
            return None
        key = self._advance()
        name = str(key.value) if key.kind is Kind.STRING else key.text.strip("'")
        if self._at(":"):
            self._advance()
            return JsonMember(name, key.span, self.value())
        if key.kind is Kind.WORD:
            self._skip_to_separator()
            return None
        self._unexpected("`:`", fix=self._colon_fix())
        if self._at(",") or self._at("}"):
            return JsonMember(name, key.span, JsonWrong(key.span))
        value = self.value()
        if self._at(":"):  # the supposed value is the name of the next attribute
            self._skip_to_separator()
            return None
        return JsonMember(name, key.span, value)

    def array(self) -> JsonArray:
        """array: "[" [value ("," value)* [","]] "]" """
        start = self._advance()
        items: list[JsonValue] = []
        while not self._at("]") and self.token.kind is not Kind.END:
            items.append(self.value(self._extra_comma()))
            if not self._separator("]", start):
                break
        return JsonArray(tuple(items), start.span.to(self._close("]", start)))

    def _separator(self, closing: str, start: Token) -> bool:
        """Skip a comma. Return ``False`` if the list ends here, even if the closing bracket is the wrong one."""
        if self._at(","):
            comma = self._advance()
            if self._at(closing) and comma is not self._blamed:
                self._report.add(
                    codes.UNEXPECTED_TOKEN,
                    f"comma before the closing `{closing}`",
                    comma.span,
                    helps=["remove the comma"],
                    fix=replaced(comma.span, ""),
                )
            return True
        if self._at(closing) or self.token.kind is Kind.END or self._at("}") or self._at("]"):
            return False
        goes_on = self.token.kind is Kind.STRING or self._at("{") or self._at("[")
        if self.token is not self._blamed:
            self._blamed = self.token
            self._report.add(
                codes.UNEXPECTED_TOKEN,
                f"expected `,` or `{closing}`, found {self._found()}",
                self.token.span,
                label="a comma is missing before this" if goes_on else "",
                others=[] if goes_on else [(start.span, "in the value that opens here")],
                fix=self._inserted(",") if goes_on and (closing == "]" or self._is_name()) else (),
            )
        if not goes_on:
            self._skip_to_separator()
            self._blamed = self.token
            if not self._at(","):
                return False
            self._advance()
        return True

    def _close(self, closing: str, start: Token) -> Span:
        if self._at(closing):
            return self._advance().span
        if self.token.kind is Kind.END:
            # Enclosing values or an unterminated comment may also end here. Only one of them is reported.
            if self.token is self._blamed or self.token.text:
                return self.token.span
            self._blamed = self.token
            self._report.add(
                codes.UNTERMINATED,
                f"`{start.text}` is never closed",
                start.span,
                label="opened here",
                others=[(self.token.span, f"`{closing}` expected before the end of the file")],
            )
        else:
            self._unexpected(f"`{closing}`", (start.span, "to close the value that opens here"))
        return self.token.span

    def _skip_to_separator(self) -> None:
        """Skip to the next comma or closing bracket on this level."""
        depth = 0
        while self.token.kind is not Kind.END:
            if self.token.kind is Kind.PUNCTUATION:
                if depth == 0 and self.token.text in ",}]":
                    return
                depth += (self.token.text in "{[") - (self.token.text in "}]")
            self._advance()

    def _found(self) -> str:
        return self.token.kind.value if self.token.kind is Kind.END else f"`{_shortened(self.token.text)}`"

    def _extra_comma(self) -> Fix:
        return replaced(self.token.span, "") if self._at(",") else ()

    def _name_fix(self) -> Fix:
        """Return the fix that puts an attribute name in quotes."""
        match = _UNQUOTED.fullmatch(self.token.text) if self.token.kind is Kind.WORD else None
        return replaced(self.token.span, f'"{match["text"]}"') if match is not None and self._is_name() else ()

    def _colon_fix(self) -> Fix:
        """Return the fix that inserts a colon after an attribute name if a value follows."""
        is_value = self.token.kind in (Kind.STRING, Kind.NUMBER) or self._at("{") or self._at("[")
        return self._inserted(":") if is_value and not self._is_name() else ()

    def _inserted(self, sign: str) -> Fix:
        """Return the fix that inserts ``sign`` after the previous token."""
        return replaced(Span(self.token.source, self._end, self._end), sign)

    def _is_name(self) -> bool:
        """Return whether a colon follows the current token."""
        match = SKIPPED.match(self.token.source.text, self.token.span.end)
        return match is not None and self.token.source.text.startswith(":", match.end())

    def _unexpected(self, wanted: str, *others: tuple[Span, str], fix: Fix = ()) -> None:
        """Report the current token, unless it was already reported."""
        if self.token is self._blamed or (self.token.kind is Kind.END and self.token.text):
            return
        self._blamed = self.token
        self._report.add(
            codes.UNEXPECTED_TOKEN,
            f"expected {wanted}, found {self._found()}",
            self.token.span,
            others=others,
            fix=fix,
        )


def _word_fix(word: Token) -> Fix:
    """Return the fix that replaces a word with the JSON literal it stands for, or puts the word in quotes."""
    if (known := meant(word.text, _WORDS)) is not None:
        return replaced(word.span, known)
    match = _UNQUOTED.fullmatch(word.text)
    is_text = match is not None and match["text"] not in _OTHER_LANGUAGES
    return replaced(word.span, f'"{match["text"]}"') if match is not None and is_text else ()


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
