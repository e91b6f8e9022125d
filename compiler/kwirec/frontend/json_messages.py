"""JSON values → syntax tree: the notation that Apache Kafka's message definitions are written in.

Takes the files of every Kafka release: booleans and numbers written as strings, a single value where a list
belongs, comments and text after the definition. ``.jsonl`` bundles hold a definition per line, either plain or
as ``{"module": …, "file": …, "schema": definition}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import NoneType
from typing import Any, TypeVar, get_args, get_type_hints

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report, closest
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.json_lexer import leading_comment
from kwirec.frontend.json_parser import (
    JsonArray,
    JsonMember,
    JsonObject,
    JsonScalar,
    JsonValue,
    JsonWrong,
    describe,
    parse_values,
)
from kwirec.frontend.syntax import (
    ATTRIBUTES,
    Document,
    ErrorDecl,
    FieldDecl,
    Literal,
    MessageDecl,
    Spanned,
    StructDecl,
    TypeExpr,
)
from kwirec.versions import NONE, VersionRange

T = TypeVar("T")
Node = type[MessageDecl | StructDecl | FieldDecl | ErrorDecl]

_TYPE = re.compile(r"\s*(?P<arrays>(?:\[\]\s*)*)(?P<name>[A-Za-z][A-Za-z0-9_]*)\s*")
_ERROR_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_INTEGER = re.compile(r"-?([0-9]{1,99}|0[xX][0-9a-fA-F]{1,99})")


def parse(source: Source, report: Report) -> Document:
    """document: message (one file) | message* (a ``.jsonl`` bundle)"""
    bundle = source.name.endswith(".jsonl")
    messages = []
    for value in parse_values(source, report, many=bundle):
        module = None
        if bundle and isinstance(value, JsonObject) and any(m.key == "schema" for m in value.members):
            wrapper = {member.key: member.value for member in value.members}
            value = wrapper["schema"]
            named = wrapper.get("module")
            module = named.value if isinstance(named, JsonScalar) and isinstance(named.value, str) else None
        if (message := _Reader(report).message(value)) is not None:
            comment = "" if bundle else leading_comment(source.text)
            messages.append(replace(message, module=module, comment=comment))
    return Document(source=source, messages=tuple(messages))


def parse_errors(sources: Iterable[Source], report: Report) -> tuple[ErrorDecl, ...]:
    """document: error*, in the files ``errors.json`` of all folders, in which no code and no name is used twice"""
    reader = _Reader(report)
    values = [value for source in sources for value in parse_values(source, report)]
    errors = [error for value in values for error in reader.errors(value, "errors.json")]
    first: dict[str | int, Span] = {}
    for error in errors:
        for part in (error.code, error.name):
            if isinstance(part.value, int) and not -0x8000 <= part.value <= 0x7FFF:
                label, earlier = "codes are int16", part.span
            elif isinstance(part.value, str) and not _ERROR_NAME.fullmatch(part.value):
                label, earlier = "expected capital letters, digits and underscores", part.span
            elif (earlier := first.setdefault(part.value, part.span)) is not part.span:
                label = "used again here"
            else:
                continue
            others = [(earlier, "first used here")] if earlier is not part.span else []
            report.add(codes.BAD_ERROR, f"`{part.value}` cannot identify an error", part.span, label, others=others)
    return tuple(errors)


class _Attributes:
    """The members of one object by name, checked against the known names."""

    def __init__(self, report: Report, value: JsonObject, known: Collection[str], what: str) -> None:
        self.span = value.span
        self.what = what
        self._broken = value.broken
        self._report = report
        self.values: dict[str, JsonValue] = {}
        self._misspelt: set[str] = set()
        """The attributes that misspelt ones were probably meant to be: they are not reported as missing."""
        first: dict[str, JsonMember] = {}
        for member in value.members:
            if member.key in first:
                same = _plain(member.value) == _plain(first[member.key].value)
                report.add(
                    codes.REPEATED_ATTRIBUTE if same else codes.DUPLICATE_ATTRIBUTE,
                    f"attribute `{member.key}` is written twice" + (" with the same value" if same else ""),
                    member.key_span,
                    others=[(first[member.key].key_span, "first written here")],
                )
            elif member.key not in known:
                meant = closest(member.key, known)
                report.add(
                    codes.UNKNOWN_ATTRIBUTE,
                    f"a {what} has no attribute `{member.key}`",
                    member.key_span,
                    helps=[f"did you mean `{meant}`?" if meant else f"known attributes: {', '.join(known)}"],
                )
                self._misspelt.update([meant] if meant else [])
            else:
                self.values[member.key] = member.value
            first.setdefault(member.key, member)

    def require(self, *names: str) -> None:
        """Report those of ``names`` that are missing, together."""
        missing = [name for name in names if name not in self.values and name not in self._misspelt]
        if missing and not self._broken:
            listed = ", ".join(f"`{name}`" for name in missing)
            where = self.span.within(0, 1)
            self._report.add(codes.MISSING_ATTRIBUTE, f"the {self.what} has no {listed}", where, label="starts here")


def _plain(value: JsonValue) -> object:
    """A value without its spans. ``1`` and ``true`` differ, and a wrong value equals nothing."""
    match value:
        case JsonScalar():
            return type(value.value), value.value
        case JsonArray():
            return [_plain(item) for item in value.items]
        case JsonObject():
            return [(member.key, _plain(member.value)) for member in value.members]
        case _:
            return object()


class _Reader:
    """Reads nodes. A node without name or type is read to its end, too, in order to find its other mistakes."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def message(self, value: JsonValue) -> MessageDecl | None:
        """message: object with the attributes of :class:`MessageDecl`"""
        if (at := self._object(value, "message", MessageDecl)) is None:
            return None
        parts = self._parts(at, MessageDecl)
        reserved = parts.get("valid_versions") == Spanned(NONE, value.span)
        at.require("type", "name", "validVersions", *(() if reserved else ("fields",)))
        return MessageDecl(span=value.span, **parts) if parts.get("name") and parts.get("type") else None

    def struct(self, value: JsonValue) -> StructDecl | None:
        """struct: object with the attributes of :class:`StructDecl`"""
        if (at := self._object(value, "struct", StructDecl)) is None:
            return None
        parts = self._parts(at, StructDecl)
        at.require("name", "versions", "fields")
        return StructDecl(span=value.span, **parts) if parts.get("name") else None

    def field(self, value: JsonValue) -> FieldDecl | None:
        """field: object with the attributes of :class:`FieldDecl`"""
        if (at := self._object(value, "field", FieldDecl)) is None:
            return None
        parts = self._parts(at, FieldDecl)
        at.require("name", "type", *(() if "taggedVersions" in at.values else ("versions",)))
        return FieldDecl(span=value.span, **parts) if parts.get("name") and parts.get("type") else None

    def error(self, value: JsonValue) -> ErrorDecl | None:
        """error: object with the attributes of :class:`ErrorDecl`"""
        if (at := self._object(value, "error", ErrorDecl)) is None:
            return None
        parts = self._parts(at, ErrorDecl)
        at.require(*ATTRIBUTES[ErrorDecl])
        complete = all(parts.get(name) is not None for name in ATTRIBUTES[ErrorDecl])
        return ErrorDecl(span=value.span, **parts) if complete else None

    def _object(self, value: JsonValue, what: str, node: Node) -> _Attributes | None:
        if isinstance(value, JsonObject):
            return _Attributes(self._report, value, ATTRIBUTES[node], what)
        self._wrong_kind(f"a {what}", "an object", value)
        return None

    def _parts(self, at: _Attributes, node: Node) -> dict[str, Any]:
        """The attributes that were written, by their names in ``node``, each read according to its type there."""
        readers = _READERS[node]
        return {ATTRIBUTES[node][name]: readers[name](self, value, name) for name, value in at.values.items()}

    def fields(self, value: JsonValue, name: str) -> tuple[FieldDecl, ...]:
        return self._each(value, name, self.field)

    def errors(self, value: JsonValue, name: str) -> tuple[ErrorDecl, ...]:
        return self._each(value, name, self.error)

    def structs(self, value: JsonValue, name: str) -> tuple[StructDecl, ...]:
        return self._each(value, name, self.struct)

    def texts(self, value: JsonValue, name: str) -> tuple[Spanned[str], ...]:
        return self._each(value, name, lambda item: self.text(item, name))

    def _each(self, value: JsonValue, name: str, read: Callable[[JsonValue], T | None]) -> tuple[T, ...]:
        """items: list | single value, as Kafka's reader accepts one value for a list"""
        if isinstance(value, JsonScalar) and value.value is None:
            return ()
        if isinstance(value, JsonScalar) and name != "listeners" and name != "aliases":
            self._wrong_kind(f"`{name}`", "a list", value)
            return ()
        items = value.items if isinstance(value, JsonArray) else (value,)
        good = (item for item in items if not isinstance(item, JsonWrong))
        return tuple(item for item in map(read, good) if item is not None)

    def text(self, value: JsonValue, name: str) -> Spanned[str] | None:
        if isinstance(value, JsonScalar) and isinstance(value.value, str):
            return Spanned(value.value, value.span)
        self._wrong_kind(f"`{name}`", "a string", value)
        return None

    def integer(self, value: JsonValue, name: str) -> Spanned[int] | None:
        """integer: NUMBER | STRING that holds one"""
        match value:
            case JsonScalar(bool()):
                pass
            case JsonScalar(int(number), span):
                return Spanned(number, span)
            case JsonScalar(str(text), span) if _INTEGER.fullmatch(text.strip()):
                return Spanned(int(text, 0 if "x" in text.lower() else 10), span)
        self._wrong_kind(f"`{name}`", "an integer", value)
        return None

    def boolean(self, value: JsonValue, name: str) -> Spanned[bool] | None:
        """boolean: "true" | "false", as JSON words or as strings"""
        match value:
            case JsonScalar(bool(flag), span):
                return Spanned(flag, span)
            case JsonScalar("true" | "false" as text, span):
                return Spanned(text == "true", span)
        self._wrong_kind(f"`{name}`", "`true` or `false`", value)
        return None

    def versions(self, value: JsonValue, name: str) -> Spanned[VersionRange] | None:
        """versions: N | N-M | N+ | none, also as a number; blank text counts as absent"""
        if not isinstance(value, JsonScalar) or type(value.value) not in (str, int):
            self._wrong_kind(f"`{name}`", "a range of versions", value)
            return None
        text = str(value.value)
        if not text.strip():
            return None
        try:
            return Spanned(VersionRange.parse(text), value.span)
        except ValueError as problem:
            self._report.add(
                codes.BAD_VERSION_RANGE, f"`{text}` is not a range of versions", value.span, label=str(problem)
            )
            return None

    def type_expr(self, value: JsonValue, name: str) -> TypeExpr | None:
        """type: "[]"* NAME"""
        if (text := self.text(value, name)) is None:
            return None
        match = _TYPE.fullmatch(text.value)
        if match is None:
            label = "`[]` needs an element type" if text.value.strip() == "[]" else "not a type"
            element = text.value.removesuffix("[]")
            helps = [] if element == text.value else [f"arrays are written `[]{element}`"]
            self._report.add(codes.BAD_TYPE, f"`{text.value}` is not a valid type", text.span, label, helps=helps)
            return None
        inside = text.span.within(1 + match.start("name"), 1 + match.end("name"))
        if inside.text != match["name"]:  # written with escapes
            inside = text.span
        return TypeExpr(name=match["name"], array_depth=match["arrays"].count("["), span=text.span, name_span=inside)

    def default(self, value: JsonValue, name: str) -> Spanned[Literal] | None:
        """default: STRING | NUMBER | "true" | "false" | "null" """
        if isinstance(value, JsonScalar):
            return Spanned(value.value, value.span)
        self._wrong_kind(f"`{name}`", "a scalar", value)
        return None

    def _wrong_kind(self, what: str, wanted: str, value: JsonValue) -> None:
        if isinstance(value, JsonWrong):
            return
        self._report.add(
            codes.WRONG_KIND, f"{what} must be {wanted}", value.span.within(0, 80), label=f"this is {describe(value)}"
        )


def _required(type_: Any) -> object:
    """``T`` for ``T | None``, other types as they are."""
    return get_args(type_)[0] if NoneType in get_args(type_) else type_


_BY_TYPE: Mapping[object, Callable[[_Reader, JsonValue, str], object]] = {
    Spanned[str]: _Reader.text,
    Spanned[int]: _Reader.integer,
    Spanned[bool]: _Reader.boolean,
    Spanned[VersionRange]: _Reader.versions,
    Spanned[Literal]: _Reader.default,
    TypeExpr: _Reader.type_expr,
    tuple[Spanned[str], ...]: _Reader.texts,
    tuple[FieldDecl, ...]: _Reader.fields,
    tuple[StructDecl, ...]: _Reader.structs,
}

_READERS = {
    node: {name: _BY_TYPE[_required(get_type_hints(node)[attribute])] for name, attribute in names.items()}
    for node, names in ATTRIBUTES.items()
}
