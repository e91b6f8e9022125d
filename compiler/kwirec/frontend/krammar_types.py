"""Parses the type of a field: its name, array depth, nullability and default."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.edits import Fix, replaced
from kwirec.diagnostics.source import Span
from kwirec.frontend.syntax import Literal, Spanned
from kwirec.versions import MAX_VERSION, NONE, VersionRange

RANGE = r"v[0-9]{1,9}(?:\+|-v[0-9]{1,9})"
_BOUNDS = re.compile(r"v(?P<low>[0-9]{1,9})(?:(?P<open>\+)|-v(?P<high>[0-9]{1,9}))")
_MARK = re.compile(rf"(?P<mark>nullable|varint)(?:-(?P<versions>{RANGE}))?(?=\[|=>)")
_OPENED = re.compile(r"\[*")
_CLOSED = re.compile(r"\]*")
_INLINE = re.compile(r"=>(?P<hint>[A-Za-z0-9_]*)")
_WORD = re.compile(
    r"(?P<nullable>nullable-)?(?P<name>enum-[A-Za-z0-9_]+|varint-(?:string|bytes)|[A-Za-z][A-Za-z0-9_]*)"
    rf"(?:-(?P<versions>{RANGE}))?(?![A-Za-z0-9_+-])"
)
_DEFAULT = re.compile(r'\((?P<value>"(?:[^"\\]|\\.)*"|[^()"]*)\)')
_ARRAYS = (
    re.compile(r"(?P<element>[A-Za-z][A-Za-z0-9_]*)\[\]"),
    re.compile(r"\[\](?P<element>[A-Za-z][A-Za-z0-9_]*)"),
    re.compile(r"\[(?P<element>=>)\] *(?P<name>[A-Za-z][A-Za-z0-9_]*)"),
)
"""Patterns for arrays in the style of other notations, and for a struct name after the brackets of an array."""
_LENGTH = re.compile(r"length-field-minus => [A-Za-z0-9_]+ - [0-9]+")

ENUM = "enum-"
EMPTY = "empty"
"""The default that makes a nullable field empty instead of null."""


@dataclass(frozen=True, slots=True)
class Context:
    """The report for findings and the dialect of the file. In franz-go's dialect, every extension is a finding."""

    report: Report
    franz_go: bool

    def extension(self, span: Span, what: str, help: str = "") -> None:
        """If the file is in franz-go's dialect, report that franz-go does not know ``what``."""
        if self.franz_go:
            self.report.add(codes.NOT_FRANZ_GO, f"franz-go does not know {what}", span, helps=[help])


@dataclass(slots=True)
class WrittenType:
    """A parsed type, including its nullability and default.

    ``name`` is the name of a primitive, an enum or a struct. It is empty for an unnamed inline struct. ``nullable``
    is the range as written. If it is ``None`` and ``is_nullable`` is true, all versions of the field are nullable.
    """

    span: Span
    name: str
    name_span: Span
    depth: int = 0
    is_inline: bool = False
    is_nullable: bool = False
    nullable: VersionRange | None = None
    default: Spanned[Literal] | None = None
    is_empty: bool = False


def read_range(text: str) -> VersionRange | None:
    """versions: "v" INT "+" | "v" INT "-v" INT"""
    match = _BOUNDS.fullmatch(text)
    if match is None:
        return None
    low, high = int(match["low"]), MAX_VERSION if match["open"] else int(match["high"])
    return VersionRange(low, high) if max(low, high) <= MAX_VERSION else None


def range_text(versions: VersionRange) -> str:
    """Return a range as text: ``v3+``, ``v0-v3`` or ``none``."""
    if versions == NONE:
        return "none"
    return f"v{versions.low}+" if versions.high == MAX_VERSION else f"v{versions.low}-v{versions.high}"


def quoted(text: str) -> str | None:
    """Return the value of a JSON string, or ``None`` if the text is not a valid JSON string."""
    try:
        value = json.loads(text)
        value.encode()
    except (ValueError, AttributeError, RecursionError):
        return None
    return value if isinstance(value, str) else None


def read_type(written: Spanned[str], context: Context) -> WrittenType | None:
    """type: [mark] "["* element "]"* ["(" default ")"] | "length-field-minus => " NAME " - " INT"""
    if _LENGTH.fullmatch(written.value):
        return WrittenType(written.span, "length-field-minus", written.span)
    return _TypeReader(written, context).type()


class _TypeReader:
    def __init__(self, written: Spanned[str], context: Context) -> None:
        self._text = written.value
        self._span = written.span
        self._context = context
        self._at = 0

    def type(self) -> WrittenType | None:
        """type: [mark] "["* element "]"* ["(" default ")"]"""
        mark = self._take(_MARK)
        opened = self._take(_OPENED)
        depth = len(opened[0]) if opened else 0
        found = self.element(depth)
        if found is None:
            return None
        found.depth = depth
        closed = self._take(_CLOSED)
        if not self._brackets(depth, len(closed[0]) if closed else 0):
            return None
        if mark is not None:
            self._marked(found, mark)
        if self._text.startswith("(", self._at):
            self.default(found)
        if self._at < len(self._text):
            self._rest(found)
        return found

    def element(self, depth: int) -> WrittenType | None:
        """element: "=>" [NAME] | ["nullable-"] (PRIMITIVE | NAME | "enum-" NAME) ["-" versions]"""
        if (inline := self._take(_INLINE)) is not None:
            hint = inline["hint"]
            at = self._part(*inline.span("hint")) if hint else self._part(*inline.span())
            if hint and not depth:
                self._context.extension(at, "the name of a single struct", "write only `=>`")
            return WrittenType(self._span, hint, at, is_inline=True)
        word = self._take(_WORD)
        if word is None:
            self._no_type()
            return None
        name = word["name"]
        found = WrittenType(self._span, name, self._part(*word.span("name")))
        if word["nullable"]:
            if depth:
                self._wrong("elements of arrays are never null", found.name_span)
            self._nullable_word(found, word)
        elif word["versions"]:
            self._wrong("only nullable types have versions", self._part(*word.span("versions")))
        elif name == "records":
            self._context.extension(found.name_span, "the type `records`", "`nullable-bytes` has the same bytes")
        return found

    def default(self, found: WrittenType) -> None:
        """default: INT | FLOAT | "true" | "false" | "null" | "empty" | STRING"""
        match = self._take(_DEFAULT)
        if match is None:
            bracket = self._part(self._at, self._at + 1)
            self._context.report.add(codes.UNTERMINATED, "`(` is never closed", bracket, "opened here")
            self._at = len(self._text)
            return
        text, span = match["value"], self._part(*match.span("value"))
        value = quoted(text) if text.startswith('"') else text
        if value is None:
            self._context.report.add(codes.BAD_ESCAPE, f"`{text}` is not a valid JSON string", span)
        elif text == EMPTY:
            found.is_empty = True
            self._context.extension(span, "the default `(empty)`")
        else:
            found.default = Spanned(value, span)
            if text.startswith('"') or text == "":
                self._context.extension(span, "defaults of strings")
            elif text == "null" and (found.depth or found.is_inline):
                self._context.extension(span, "`(null)` here", "the field is null unless it is set")

    def _nullable_word(self, found: WrittenType, word: re.Match[str]) -> None:
        found.is_nullable = True
        at = self._part(*word.span())
        if word["versions"]:
            found.nullable = self._range(word["versions"], self._part(*word.span("versions")))
            if found.name != "string" or not word["versions"].endswith("+"):
                self._context.extension(at, f"the type `{word[0]}`")
        elif found.name not in ("string", "bytes"):
            self._context.extension(at, f"the type `{word[0]}`")

    def _marked(self, found: WrittenType, mark: re.Match[str]) -> None:
        if mark["mark"] == "varint":
            found.name, found.is_inline = "varint-array", False
            return
        if found.is_nullable:
            self._wrong("elements of arrays are never null", found.name_span)
        found.is_nullable = True
        if mark["versions"]:
            span = self._part(*mark.span("versions"))
            found.nullable = self._range(mark["versions"], span)
            if not found.depth or not mark["versions"].endswith("+"):
                self._context.extension(span, "these versions of `nullable`")

    def _brackets(self, opened: int, closed: int) -> bool:
        if opened == closed:
            return True
        if closed < opened:
            bracket = self._part(self._at - closed, self._at) if closed else self._part(self._at, self._at + 1)
            start = self._text.index("[")
            self._context.report.add(
                codes.UNTERMINATED,
                "`[` is never closed",
                self._part(start, start + 1),
                "opened here",
                others=[(bracket, "expected `]`")] if closed or self._at < len(self._text) else (),
                helps=(
                    [f"close it: `{self._text[: self._at]}{']' * (opened - closed)}`"] if len(self._text) < 80 else ()
                ),
            )
            return False
        element = self._text[: self._at].strip("[]")
        helps = [f"write an array as `[{element}]`"] if not opened else []
        self._wrong("`]` closes nothing", self._part(self._at - 1, self._at), helps)
        return False

    def _rest(self, found: WrittenType) -> None:
        rest = self._text[self._at :]
        at = self._part(self._at, len(self._text))
        if found.is_inline and found.depth:
            self._wrong(
                "text after an array", at, [f"write the entry's name inside the brackets: `[=>{rest.strip()}]`"]
            )
        elif rest == "[]":
            self._wrong("brackets after a type", at, [f"write an array as `[{self._text[: self._at]}]`"])
        else:
            what = f"text after the type `{self._text[: self._at]}`"
            helps = ["write versions and tags after ` // `"]
            self._context.report.add(codes.UNEXPECTED_TOKEN, what, at, helps=helps)

    def _no_type(self) -> None:
        rest = self._text[self._at :]
        element = self._text.replace("[", "").replace("]", "")
        if rest.startswith("]"):
            helps = [f"an array of `{element}` is written `[{element}]`"] if element else ["such as `[int32]`"]
            self._wrong("`[]` needs an element type", self._part(self._at - 1, self._at + 1), helps)
        elif self._text:
            self._wrong("not a type", self._part(self._at, len(self._text)))

    def _range(self, text: str, span: Span) -> VersionRange | None:
        if (found := read_range(text)) is None:
            label = f"versions are int16, so the largest is {MAX_VERSION}"
            self._context.report.add(codes.BAD_VERSION_RANGE, f"`{text}` is not a range of versions", span, label)
        return found

    def _wrong(self, label: str, span: Span, helps: Iterable[str] = ()) -> None:
        what = f"`{self._text}` is not a valid type"
        self._context.report.add(codes.BAD_TYPE, what, span, label, helps=helps, fix=self._array())

    def _array(self) -> Fix:
        """Return the fix for an array written as in another notation."""
        for form in _ARRAYS:
            if (match := form.fullmatch(self._text)) is not None:
                return replaced(self._part(0, len(self._text)), f"[{''.join(match.groups())}]")
        return ()

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        if (match := pattern.match(self._text, self._at)) is not None:
            self._at = match.end()
        return match

    def _part(self, start: int, end: int) -> Span:
        return self._span.within(start, end)
