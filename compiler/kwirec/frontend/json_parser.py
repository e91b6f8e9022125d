"""Tokens → a tree of spanned JSON values.

Every method's docstring is its grammar production. The parser recovers: after a mistake it goes on behind the
next comma or bracket, so that all mistakes of a file are found in one run.
"""

from __future__ import annotations

from dataclasses import dataclass

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report, did_you_mean
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.json_lexer import Kind, Token, tokenize


@dataclass(frozen=True)
class JsonScalar:
    value: str | int | float | bool | None
    span: Span


@dataclass(frozen=True)
class JsonArray:
    items: tuple[JsonValue, ...]
    span: Span


@dataclass(frozen=True)
class JsonMember:
    key: str
    key_span: Span
    value: JsonValue


@dataclass(frozen=True)
class JsonObject:
    members: tuple[JsonMember, ...]
    span: Span


JsonValue = JsonScalar | JsonArray | JsonObject

_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def describe(value: JsonValue) -> str:
    """What a value is, in the words of a diagnostic."""
    match value:
        case JsonObject():
            return "an object"
        case JsonArray():
            return "a list"
        case JsonScalar(value=str()):
            return "a string"
        case JsonScalar(value=bool()):
            return "a boolean"
        case JsonScalar(value=None):
            return "null"
        case _:
            return "a number"


def parse_values(source: Source, report: Report, *, many: bool = False) -> list[JsonValue]:
    """``document: value*`` with ``many``, else ``document: value`` where anything behind it is a warning."""
    parser = _Parser(source, report)
    values: list[JsonValue] = []
    while parser.token.kind is not Kind.END:
        if values and not many:
            report.add(
                codes.TRAILING_TOKENS,
                "text after the end of the definition",
                parser.token.span,
                label="ignored from here",
                others=[(Span(source, values[0].span.end - 1, values[0].span.end), "the definition ends here")],
            )
            break
        values.append(parser.value())
    if not values and not report.has_errors():
        report.add(codes.EMPTY_FILE, "the file holds no definition", Span(source, 0, 0))
    return values


class _Parser:
    def __init__(self, source: Source, report: Report) -> None:
        self._tokens = tokenize(source, report)
        self._report = report
        self.token = next(self._tokens)

    def _advance(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.token = next(self._tokens)
        return token

    def _at(self, punctuation: str) -> bool:
        return self.token.kind is Kind.PUNCTUATION and self.token.text == punctuation

    def value(self) -> JsonValue:
        """value: object | array | STRING | NUMBER | "true" | "false" | "null" """
        if self._at("{"):
            return self.object()
        if self._at("["):
            return self.array()
        token = self.token
        if token.kind in (Kind.STRING, Kind.NUMBER):
            self._advance()
            return JsonScalar(token.value, token.span)
        if token.kind is Kind.WORD:
            self._advance()
            if token.text not in _WORDS:
                self._report.add(
                    codes.UNEXPECTED_TOKEN,
                    f"`{token.text}` is not a JSON value",
                    token.span,
                    label="expected a value",
                    helps=[did_you_mean(token.text, _WORDS) or "strings need double quotes"],
                )
            return JsonScalar(_WORDS.get(token.text, token.text), token.span)
        self._unexpected("a value")
        if token.kind is Kind.PUNCTUATION and token.text == ":":
            self._advance()
        return JsonScalar(None, token.span)

    def object(self) -> JsonObject:
        """object: "{" [member ("," member)* [","]] "}" """
        start = self._advance()
        members: list[JsonMember] = []
        while not self._at("}") and self.token.kind is not Kind.END:
            if (member := self.member()) is not None:
                members.append(member)
            if not self._separator("}", start):
                break
        return JsonObject(tuple(members), start.span.to(self._close("}", start)))

    def member(self) -> JsonMember | None:
        """member: STRING ":" value"""
        if self.token.kind is not Kind.STRING:
            self._unexpected("an attribute name in double quotes")
            self._skip_to_separator()
            return None
        key = self._advance()
        if self._at(":"):
            self._advance()
        else:
            self._unexpected("`:`")
            if self._at(",") or self._at("}"):
                return None
        return JsonMember(str(key.value), key.span, self.value())

    def array(self) -> JsonArray:
        """array: "[" [value ("," value)* [","]] "]" """
        start = self._advance()
        items: list[JsonValue] = []
        while not self._at("]") and self.token.kind is not Kind.END:
            items.append(self.value())
            if not self._separator("]", start):
                break
        return JsonArray(tuple(items), start.span.to(self._close("]", start)))

    def _separator(self, closing: str, start: Token) -> bool:
        """Step over a comma. False when the list ends here, be it for a wrong closing bracket."""
        if self._at(","):
            comma = self._advance()
            if self._at(closing):
                self._report.add(
                    codes.UNEXPECTED_TOKEN,
                    f"comma before the closing `{closing}`",
                    comma.span,
                    helps=["remove the comma"],
                )
            return True
        if self._at(closing) or self.token.kind is Kind.END or self._at("}") or self._at("]"):
            return False
        self._report.add(
            codes.UNEXPECTED_TOKEN,
            f"expected `,` or `{closing}`, found {self._found()}",
            self.token.span,
            label="a comma is missing before this" if self.token.kind is Kind.STRING or self._at("{") else "",
            others=[(start.span, "in what opens here")],
        )
        if self.token.kind is not Kind.STRING and not self._at("{") and not self._at("["):
            self._skip_to_separator()
            if self._at(","):
                self._advance()
        return True

    def _close(self, closing: str, start: Token) -> Span:
        if self._at(closing):
            return self._advance().span
        if self.token.kind is Kind.END:
            self._report.add(
                codes.UNTERMINATED,
                f"`{start.text}` is never closed",
                start.span,
                label="opened here",
                others=[(self.token.span, f"`{closing}` expected before the end of the file")],
            )
        else:
            self._unexpected(f"`{closing}`", (start.span, "to close what opens here"))
        return self.token.span

    def _skip_to_separator(self) -> None:
        """Go to the next comma or closing bracket of this level."""
        depth = 0
        while self.token.kind is not Kind.END:
            if self.token.kind is Kind.PUNCTUATION:
                if self.token.text in "{[":
                    depth += 1
                elif self.token.text in "}]":
                    if depth == 0:
                        return
                    depth -= 1
                elif self.token.text == "," and depth == 0:
                    return
            self._advance()

    def _found(self) -> str:
        return self.token.kind.value if self.token.kind is Kind.END else f"`{self.token.text}`"

    def _unexpected(self, wanted: str, *others: tuple[Span, str]) -> None:
        self._report.add(
            codes.UNEXPECTED_TOKEN, f"expected {wanted}, found {self._found()}", self.token.span, others=others
        )
