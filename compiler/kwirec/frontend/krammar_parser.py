"""Parses lines into blocks: structs with their modifiers and fields, and enums.

The docstring of each parsing method is its grammar production. ``INDENT`` is two spaces per level, and ``COMMENT`` is
a line that starts with ``//``. The parser recovers at the next line, so that one run finds all mistakes in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kwire_rules import NUMBERS
from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.edits import Fix, replaced
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.krammar_lexer import Line, LineKind, read_lines
from kwirec.frontend.syntax import Spanned

MAX_DEPTH = 100
"""The maximum nesting depth of fields, as a guard against hostile input."""

MAX_PIECES = 100
"""The maximum number of modifiers or items on a line, as a guard against hostile input."""

SPECIAL = ("ThrottleMillis", "TimeoutMillis")
"""Names of fields that are written without a type."""

NAME = "[A-Za-z_][A-Za-z0-9_]*"
_STRUCT = re.compile(rf"(?P<name>{NAME})(?P<space> *)=>(?P<modifiers>.*)")
_ENUM = re.compile(rf"(?P<name>{NAME})(?P<space> +)(?P<type>[a-z][a-z0-9]*)(?P<style> +camelcase)?(?P<end> *)\(")
FRANZ_GO_VALUE = re.compile("[A-Z_a-z]+")
"""The pattern of enum value names that franz-go accepts. franz-go also rejects negative values."""
_VALUE = re.compile(r"(?P<value>-?(?:0x[0-9a-fA-F]{1,99}|[0-9]{1,99})): *(?P<name>[A-Za-z_][A-Za-z0-9_]*)")
_FIELD = re.compile(rf"(?P<name>{NAME})(?P<colon>[ :]+)")
_TYPE_AND_ITEMS = re.compile(
    r"(?:(?:nullable|enum-|\[|=>)[^\s:]*|"
    rf"(?:{'|'.join(NUMBERS)}|string|uuid|bytes|records)(?:\([^\s:]*\))?)(?: *//.*)?"
)
"""Pattern for the text after a field name if the text starts with a type."""
_SPECIAL = re.compile(rf"(?P<name>{'|'.join(SPECIAL)})(?:\((?P<value>[0-9]{{1,9}})\))?(?= *(?://|$))")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|$)')
_PIECE = re.compile(r'(?:"(?:[^"\\]++|\\.)*+(?:"|$)|[^",]++)++')


@dataclass(slots=True)
class WrittenField:
    """A field. ``type`` is the text between name and items, or the number of a special field."""

    span: Span
    name: Spanned[str]
    type: Spanned[str]
    items: list[Spanned[str]]
    comment: list[Line]
    is_special: bool = False
    fields: list[WrittenField] = field(default_factory=list)


@dataclass(slots=True)
class WrittenStruct:
    """A block with fields. ``banner`` contains comments that an empty line separates from the block, ``trailing``
    contains comments after the last field, and ``after`` contains comments after the last block of a file.
    """

    span: Span
    name: Spanned[str]
    modifiers: list[Spanned[str]]
    comment: list[Line]
    banner: list[Line]
    fields: list[WrittenField] = field(default_factory=list)
    trailing: list[Line] = field(default_factory=list)
    after: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class WrittenValue:
    span: Span
    value: Spanned[int]
    name: Spanned[str]
    comment: list[Line]


@dataclass(slots=True)
class WrittenEnum:
    """A block of named values, with the same kinds of comments as a struct."""

    span: Span
    name: Spanned[str]
    type: Spanned[str]
    comment: list[Line]
    banner: list[Line]
    is_camelcase: bool
    values: list[WrittenValue] = field(default_factory=list)
    trailing: list[Line] = field(default_factory=list)
    after: list[Line] = field(default_factory=list)


Block = WrittenStruct | WrittenEnum


def parse_blocks(source: Source, report: Report) -> list[Block]:
    """file: (BLANK | COMMENT | struct | enum)*"""
    return _Parser(source, report).file()


class _Parser:
    def __init__(self, source: Source, report: Report) -> None:
        self._source = source
        self._report = report
        self._lines = read_lines(source, report)
        self._comment: list[Line] = []
        self._line = next(self._lines, None)

    def file(self) -> list[Block]:
        """file: (BLANK | COMMENT | struct | enum)*"""
        blocks: list[Block] = []
        banner: list[Line] = []
        while (line := self._line) is not None:
            if line.kind is LineKind.COMMENT:
                self._comment.append(line)
                self._advance()
            elif line.kind is LineKind.BLANK:
                if self._comment:
                    banner += [*self._comment, line]
                self._comment = []
                self._advance()
            elif line.level:
                self._stray(line, blocks)
            elif (block := self._block(line, banner)) is not None:
                blocks.append(block)
                banner = []
        if blocks:
            blocks[-1].after = [*banner, *self._take_comment()]
        return blocks

    def _block(self, line: Line, banner: list[Line]) -> Block | None:
        if (head := _STRUCT.match(line.text)) is not None:
            return self.struct(line, head, banner)
        if (head := _ENUM.match(line.text)) is not None:
            return self.enum(line, head, banner)
        self._advance()
        self._take_comment()
        if line.text == ")":
            self._unexpected(line.span(self._source), "`)` closes nothing")
        elif re.fullmatch(rf"{NAME} +[a-z0-9]+( +camelcase)?", line.text):
            label = "start an enum with `Name type (`, and a struct with `Name =>`"
            self._unexpected(line.span(self._source), "the head of a block without `(` or `=>`", label)
        else:
            helps = ["start a block with `Name =>`, and indent its fields by two spaces"]
            self._unexpected(line.span(self._source), "expected a struct or an enum", helps=helps)
        if self._line is not None and self._line.level:  # the fields below the unreadable head
            self.fields(1)
        return None

    def _stray(self, line: Line, blocks: list[Block]) -> None:
        """Report an indented line outside a struct. Fields after an empty line are added to the preceding struct."""
        last = blocks[-1] if blocks else None
        others = [(last.name.span, "an empty line ended this block")] if last is not None else []
        self._report.add(
            codes.BAD_INDENTATION,
            "an indented line outside of a struct",
            line.span(self._source),
            others=others,
            helps=["remove the empty line before it" if last is not None else "start a struct with `Name =>`"],
        )
        fields = self.fields(1)
        if isinstance(last, WrittenStruct):
            last.fields += fields

    def struct(self, line: Line, head: re.Match[str], banner: list[Line]) -> WrittenStruct:
        """struct: NAME " =>" [" " modifier (", " modifier)*] NL fields(1)"""
        name = Spanned(head["name"], line.span(self._source, 0, head.end("name")))
        self._one_space(line, *head.span("space"))
        comment = self._take_comment()
        self._advance()
        modifiers = self.pieces(line, head.start("modifiers"))
        fields = self.fields(1)
        end = fields[-1].span if fields else line.span(self._source)
        trailing = self._take_comment()
        return WrittenStruct(line.span(self._source).to(end), name, modifiers, comment, banner, fields, trailing)

    def fields(self, level: int) -> list[WrittenField]:
        """fields(n): (COMMENT | field(n))*, up to an empty line or a line of a lower level"""
        fields: list[WrittenField] = []
        while (line := self._line) is not None and line.kind is not LineKind.BLANK:
            if line.kind is LineKind.COMMENT:
                if (
                    not line.level and level
                ):  # franz-go ends a struct here, and an unindented comment belongs to the next block
                    break
                self._comment.append(line)
                self._advance()
            elif line.level < level:
                break
            else:
                if line.level > level and not line.is_reported:
                    self._too_deep(line, level, fields)
                if (one := self.field(line, level)) is not None:
                    fields.append(one)
        return fields

    def _too_deep(self, line: Line, level: int, fields: list[WrittenField]) -> None:
        span = Span(self._source, line.start - 2 * (line.level - level), line.start)
        label = f"expected {2 * level} spaces"
        others = [(fields[-1].span, "this field has no fields of its own")] if fields else []
        helps = ["a field with fields of its own has the type `=>`, `[=>]` or `nullable=>`"] if fields else []
        self._report.add(codes.BAD_INDENTATION, "indented too far", span, label, others=others, helps=helps)

    def field(self, line: Line, level: int) -> WrittenField | None:
        """field(n): INDENT(n) NAME ": " type [" // " items] NL [fields(n + 1)]"""
        comment = self._take_comment()
        self._advance()
        written = self._special(line, comment) or self._typed(line, comment)
        if written is None or "=>" in written.type.value:
            inner = self.fields(level + 1) if level < MAX_DEPTH else self._skipped(level, line)
            if written is not None:
                written.fields = inner
                if inner:
                    written.span = written.span.to(inner[-1].span)
        return written

    def _skipped(self, level: int, line: Line) -> list[WrittenField]:
        if self._line is not None and self._line.kind is LineKind.TEXT and self._line.level > level:
            what = f"fields nest more than {MAX_DEPTH} levels deep"
            self._report.add(codes.BAD_INDENTATION, what, line.span(self._source))
        while self._line is not None and self._line.level > level:
            self._advance()
        return []

    def _special(self, line: Line, comment: list[Line]) -> WrittenField | None:
        """special: ("ThrottleMillis" | "TimeoutMillis") ["(" INT ")"] [" // " items]"""
        match = _SPECIAL.match(line.text)
        if match is None:
            return None
        name = Spanned(match["name"], line.span(self._source, 0, match.end("name")))
        type_ = Spanned(match["value"] or "", line.span(self._source, 0, match.end()))
        return WrittenField(line.span(self._source), name, type_, self._items(line, match.end()), comment, True)

    def _typed(self, line: Line, comment: list[Line]) -> WrittenField | None:
        head = _FIELD.match(line.text)
        if head is None or ":" not in head["colon"]:
            at = line.span(self._source)
            fix: Fix = ()
            if head is not None:
                at = line.span(self._source, head.end("name"), max(head.end(), head.end("name") + 1))
                is_type = _TYPE_AND_ITEMS.fullmatch(line.text, head.end()) is not None
                fix = replaced(line.span(self._source, *head.span("colon")), ": ") if is_type else ()
            self._unexpected(at, "expected a field", "write a field as `Name: type`", fix=fix)
            return None
        name = Spanned(head["name"], line.span(self._source, 0, head.end("name")))
        end = self._items_start(line.text, head.end())
        written = line.text[head.end() : end].rstrip(" ")
        if not written:
            self._unexpected(name.span, f"field `{name.value}` has no type", "expected a type after the name")
        elif head["colon"] != ": ":
            colon = line.span(self._source, *head.span("colon"))
            self._spacing(colon, "separate the name and type with `: `", replaced(colon, ": "))
        elif end < len(line.text) and end - head.end() - len(written) != 1:
            space = line.span(self._source, head.end() + len(written), end)
            self._spacing(space, "separate the type and `//` with one space", replaced(space, " "))
        type_ = Spanned(written, line.span(self._source, head.end(), head.end() + len(written)))
        return WrittenField(line.span(self._source), name, type_, self._items(line, end), comment)

    def _items_start(self, text: str, start: int) -> int:
        """Return the index of the ``//`` before the items, or the end. A quoted default may also contain ``//``."""
        end, quote = text.find("//", start), text.find('"', start)
        if 0 <= quote < end and (string := _STRING.match(text, quote)) is not None:
            end = text.find("//", string.end())
        return len(text) if end < 0 else end

    def _items(self, line: Line, start: int) -> list[Spanned[str]]:
        """items: item (", " item)*"""
        at = line.text.find("//", start)
        if at < 0:
            return []
        items = self.pieces(line, at + 2)
        if not items:
            start = len(line.text[:at].rstrip(" "))
            self._unexpected(
                line.span(self._source, at),
                "`//` with nothing after it",
                "versions or a tag belong here",
                fix=replaced(line.span(self._source, start), "") if line.text[at:] == "//" else (),
            )
        return items

    def pieces(self, line: Line, start: int) -> list[Spanned[str]]:
        """pieces: [" " piece (", " piece)*]"""
        found: list[Spanned[str]] = []
        end = start
        for match in _PIECE.finditer(line.text, start):
            if match.start() - end > (end > start):
                extra = line.span(self._source, end + (end > start), match.start())
                gap = line.span(self._source, end, match.start())
                self._unexpected(gap, "nothing between two commas", fix=replaced(extra, ""))
            end = match.end()
            written = match[0].strip(" ")
            if len(found) == MAX_PIECES:
                rest = line.span(self._source, match.start(), match.start() + 1)
                self._unexpected(rest, f"more than {MAX_PIECES} words on a line", "the rest is ignored")
                return found
            at = match.start() + len(match[0]) - len(match[0].lstrip(" "))
            if written:
                if at - match.start() != 1 or ("  " in written and '"' not in written):
                    span = line.span(self._source, match.start(), at + len(written))
                    words = written if '"' in written else " ".join(written.split())
                    part = line.span(self._source, *match.span())
                    self._spacing(part, "separate words with one space", replaced(span, f" {words}"))
                found.append(Spanned(written, line.span(self._source, at, at + len(written))))
            else:
                blank = line.span(self._source, *match.span())
                extra = line.span(self._source, match.start(), match.end() + 1)
                fix = replaced(extra, "") if extra.text.endswith(",") else ()
                self._unexpected(blank, "nothing between two commas", fix=fix)
        if line.text.endswith(",") and line.text[start:].strip():
            comma = line.span(self._source, len(line.text) - 1)
            self._unexpected(comma, "a comma at the end of the line", fix=replaced(comma, ""))
        return found

    def enum(self, line: Line, head: re.Match[str], banner: list[Line]) -> WrittenEnum:
        """enum: NAME " " TYPE [" camelcase"] " (" NL (COMMENT | value)* ")" NL"""
        name = Spanned(head["name"], line.span(self._source, 0, head.end("name")))
        type_ = Spanned(head["type"], line.span(self._source, *head.span("type")))
        for part in ("space", "end"):
            self._one_space(line, *head.span(part))
        if head.end() < len(line.text):
            self._unexpected(
                line.span(self._source, head.end()), "text after `(`", "write each value on its own line"
            )
        comment = self._take_comment()
        self._advance()
        found = WrittenEnum(line.span(self._source), name, type_, comment, banner, head["style"] is not None)
        while (inner := self._line) is not None and inner.kind is not LineKind.BLANK:
            if inner.kind is LineKind.COMMENT:
                self._comment.append(inner)
            elif inner.text == ")":
                found.span = found.span.to(inner.span(self._source))
                self._advance()
                found.trailing = self._take_comment()
                return found
            elif not inner.level:
                break
            elif (value := self.value(inner)) is not None:
                found.values.append(value)
                found.span = found.span.to(value.span)
            self._advance()
        self._take_comment()
        bracket = line.span(self._source, head.end() - 1, head.end())
        self._report.add(codes.UNTERMINATED, f"`(` of enum `{name.value}` is never closed", bracket, "opened here")
        return found

    def value(self, line: Line) -> WrittenValue | None:
        """value: INDENT INT ": " NAME NL"""
        match = _VALUE.fullmatch(line.text)
        if match is None:
            self._unexpected(line.span(self._source), "expected a value of an enum", "write a value as `1: NAME`")
            return None
        number = Spanned(int(match["value"], 0 if "x" in match["value"] else 10), self._part(line, match, "value"))
        name = Spanned(match["name"], self._part(line, match, "name"))
        return WrittenValue(line.span(self._source), number, name, self._take_comment())

    def _part(self, line: Line, match: re.Match[str], group: str) -> Span:
        return line.span(self._source, *match.span(group))

    def _advance(self) -> None:
        self._line = next(self._lines, None)

    def _take_comment(self) -> list[Line]:
        comment, self._comment = self._comment, []
        return comment

    def _one_space(self, line: Line, start: int, end: int) -> None:
        if end - start != 1:
            fix = replaced(line.span(self._source, start, end), " ")
            self._spacing(line.span(self._source, start, max(end, start + 1)), "separate words with one space", fix)

    def _spacing(self, span: Span, what: str, fix: Fix) -> None:
        self._report.add(codes.SPACING, what, span, fix=fix)

    def _unexpected(
        self, span: Span, what: str, label: str = "", helps: Iterable[str] = (), *, fix: Fix = ()
    ) -> None:
        self._report.add(codes.UNEXPECTED_TOKEN, what, span, label, helps=helps, fix=fix)
