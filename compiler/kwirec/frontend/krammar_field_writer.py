"""Writes fields in the indentation notation, without facts that the enclosing struct implies. This is the inverse of
``krammar_fields``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kwire_rules import NUMBERS
from kwirec.frontend.krammar_docs import WIDTH, join_struct_doc, write_doc
from kwirec.frontend.krammar_fields import (
    DEFAULT_TIMEOUT,
    SWITCHED,
    THROTTLE,
    TIMEOUT,
    Scope,
    auto_name,
    null_by_default,
)
from kwirec.frontend.krammar_lexer import COMMENT, INDENT, REMARK
from kwirec.frontend.krammar_parser import NAME, SPECIAL
from kwirec.frontend.krammar_types import EMPTY, ENUM, range_text
from kwirec.frontend.krammar_words import FIELD_WORDS, Losses
from kwirec.frontend.syntax import Comment, FieldDecl, Spanned
from kwirec.json_text import json_line
from kwirec.versions import NONE, VersionRange

_BARE = re.compile(r"[A-Za-z0-9_.+-]+")
_SWITCHED = re.compile(re.escape(f"{THROTTLE} {SWITCHED}").replace(re.escape("{}"), "([0-9]{1,9})"))


NEVER = "fields that exist in no version"


def comment_lines(texts: Iterable[str], indent: str) -> Iterator[str]:
    """Yield each text as a comment line. An empty text separates paragraphs."""
    return (f"{indent}{COMMENT} {text}" if text else f"{indent}{COMMENT}" for text in texts)


def remark_lines(comments: Iterable[Comment], indent: str = "") -> Iterator[str]:
    """Yield the lines of comments that are not descriptions."""
    return (f"{indent}{REMARK} {line}".rstrip() for comment in comments for line in comment.text.split("\n"))


def field_lines(fields: Iterable[FieldDecl], scope: Scope, losses: Losses, level: int = 1) -> Iterator[str]:
    """fields(n): (COMMENT* field(n))*"""
    indent = INDENT * level
    width = WIDTH - len(indent) - len(COMMENT) - 1
    for decl in fields:
        if not re.fullmatch(NAME, decl.name.value):
            losses.uses[decl.name.value] = [decl.name.span]
            continue
        if _range(decl.versions) == NONE and not losses.keeps(NEVER, decl.span):
            continue
        yield from remark_lines(
            (one for one in decl.comments if losses.keeps("comments of fields", one.span)), indent
        )
        one = _FieldWriter(decl, scope, losses)
        if (special := one.special()) is not None:
            yield indent + special
            continue
        yield from comment_lines(one.doc(width), indent)
        yield f"{indent}{decl.name.value}: {one.type()}{one.items()}"
        if decl.fields is not None:
            inner = Scope(decl.type.name, one.effective, scope.flexible)
            yield from field_lines(decl.fields, inner, losses, level + 1)


class _FieldWriter:
    def __init__(self, decl: FieldDecl, scope: Scope, losses: Losses) -> None:
        self._decl = decl
        self._scope = scope
        self._losses = losses
        self._tagged = _range(decl.tagged_versions)
        if self._tagged == NONE:
            self._tagged = None
        self._versions = _range(decl.versions)
        if self._tagged is not None and self._versions == self._tagged:
            self._versions = None
        first = next((one for one in (self._versions, self._tagged) if one is not None), scope.versions)
        self.effective: VersionRange = first

    def special(self) -> str | None:
        """special: ("ThrottleMillis" | "TimeoutMillis") ["(" INT ")"] [" // " items]"""
        decl = self._decl
        if decl.name.value not in SPECIAL or str(decl.type) != "int32" or decl.nullable_versions or decl.enum:
            return None
        about = decl.about.value if decl.about else ""
        default = decl.default.value if decl.default else None
        number = ""
        if decl.name.value == "TimeoutMillis":
            if about != TIMEOUT or not re.fullmatch("[0-9]{1,9}", str(default)):
                return None
            number = "" if default == DEFAULT_TIMEOUT else str(default)
        elif default is not None:
            return None
        elif (switched := _SWITCHED.fullmatch(about)) is not None:
            number = switched[1]
        elif about != THROTTLE:
            return None
        return f"{decl.name.value}{f'({number})' if number else ''}{self.items()}"

    def doc(self, width: int) -> list[str]:
        decl = self._decl
        about = decl.about.value if decl.about else ""
        if decl.fields is None:
            return write_doc(about, width)
        return join_struct_doc(about, decl.type.name, decl.struct_about.value if decl.struct_about else "", width)

    def type(self) -> str:
        """type: [mark] "["* element "]"* ["(" default ")"]"""
        decl, depth = self._decl, self._decl.type.array_depth
        nullable = self._nullable()
        element = self._element()
        if depth or decl.fields is not None:
            mark = "" if nullable is None else f"nullable{nullable}"
            return f"{mark}{'[' * depth}{element}{']' * depth}{self._default(nullable is not None)}"
        word = element if nullable is None else f"nullable-{element}{nullable}"
        return word + self._default(nullable is not None)

    def _element(self) -> str:
        decl, written = self._decl, self._decl.type
        if decl.fields is not None:
            if written.name == auto_name(self._scope.struct, decl.name.value, written.array_depth):
                return "=>"
            if written.array_depth or self._losses.keeps("names of single structs", written.name_span):
                return f"=>{written.name}"
            return "=>"
        if decl.enum is not None and (
            decl.tag is None or self._losses.keeps("enums of tagged fields", decl.enum.span)
        ):
            return ENUM + decl.enum.value
        if written.name == "records" and not self._losses.keeps("records", written.name_span):
            return "bytes"
        return written.name

    def _nullable(self) -> str | None:
        """Return the suffix of ``nullable``: empty if the field is always nullable, ``None`` if it never is."""
        versions = _range(self._decl.nullable_versions)
        if self._decl.nullable_versions is None or versions is None or versions == NONE:
            return None
        if versions == self.effective:
            return ""
        written = f"-{range_text(versions)}"
        if not self._losses.franz_go:
            return written
        if versions.covers(self.effective):
            return ""
        base = self._decl.type
        if versions.high >= self.effective.high and (base.array_depth or base.name == "string"):
            return f"-v{versions.low}+"
        self._losses.keeps("versions in which a field can be null", self._decl.nullable_versions.span)
        return ""

    def _default(self, is_nullable: bool) -> str:
        decl = self._decl
        value = decl.default.value if decl.default is not None else None
        is_null = null_by_default(is_nullable, _range(decl.nullable_versions), self.effective)
        if value is None:
            return f"({EMPTY})" if is_null and self._losses.keeps(f"({EMPTY})", decl.type.span) else ""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        span = decl.default.span if decl.default is not None else decl.span
        if text == "null" and is_null:
            return ""
        bare = _BARE.fullmatch(text) and text != EMPTY and (decl.type.name != "string" or text == "null")
        plain = bare and not decl.type.array_depth and (decl.type.name in NUMBERS or text == "null")
        if not plain and not self._losses.keeps("defaults of strings, arrays and structs", span):
            return ""
        return f"({text})" if bare else f"({json_line(text)})"

    def items(self) -> str:
        """[" // " items]"""
        found = [*self._version_items(), *FIELD_WORDS.texts(self._decl, self._losses)]
        return f" {COMMENT} {', '.join(found)}" if found else ""

    def _version_items(self) -> Iterator[str]:
        """items: versions | "tag " INT | "tagged " range"""
        decl, scope, tagged = self._decl, self._scope, self._tagged
        own = self._versions
        tag = None if decl.tag is None else f"tag {decl.tag.value}"
        if tagged is None:
            yield from self._own_versions(own)
            if tag is not None:
                yield tag
                if self._losses.keeps("tagged", decl.span):
                    yield "tagged none"
        elif own is None and tag is not None:
            if tagged != scope.implied_tags and self._losses.keeps("first tagged version", decl.span):
                yield range_text(tagged)
            yield tag
        else:
            if not self._losses.franz_go:
                yield from self._own_versions(tagged if own is None else own)
            if tag is not None:
                yield tag
            if self._losses.keeps("tagged", decl.span):
                yield f"tagged {range_text(tagged)}"

    def _own_versions(self, own: VersionRange | None) -> Iterator[str]:
        if own == NONE:
            yield "versions none"
        elif own is not None and own != self._scope.versions:
            yield range_text(own)


def _range(written: Spanned[VersionRange] | None) -> VersionRange | None:
    return None if written is None else written.value
