"""Converts JSON values into a syntax tree. Apache Kafka's message definitions are written in this notation.

Accepts the files of every Kafka release, including booleans and numbers written as strings, a single value in place
of a list, comments, and text after the definition. A ``.jsonl`` bundle has one definition per line, either plain or
as ``{"module": …, "file": …, "schema": definition}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from functools import partial
from typing import Any, TypeVar

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report, Severity, closest, meant
from kwirec.diagnostics.edits import Fix, replaced
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.edits import renamed, without
from kwirec.frontend.json_comments import bundle_comments, node_comments
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
    NOUNS,
    Comment,
    Document,
    EnumDecl,
    EnumValueDecl,
    ErrorDecl,
    FieldDecl,
    HeaderVersionsDecl,
    Literal,
    MessageDecl,
    Spanned,
    StructDecl,
    TypeExpr,
)
from kwirec.versions import NONE, RELEASE, VersionRange, nearly_range

T = TypeVar("T")
N = TypeVar("N", MessageDecl, StructDecl, FieldDecl, EnumDecl, EnumValueDecl, ErrorDecl)

TYPE = re.compile(r"\s*(?P<arrays>(?:\[\]\s*)*)(?P<name>[A-Za-z][A-Za-z0-9_]*)\s*")
_NAME = re.compile("[A-Za-z][A-Za-z0-9_]*")
_ERROR_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_INTEGER = re.compile(r"-?([0-9]{1,99}|0[xX][0-9a-fA-F]{1,99})")


def parse_json(source: Source, report: Report) -> Document:
    """document: definition (one file) | definition* (a ``.jsonl`` bundle); definition: message | enum"""
    bundle = source.name.endswith(".jsonl")
    before = report.count(Severity.ERROR)
    spans: list[Span] = []
    values = parse_values(source, report, many=bundle, comments=spans)
    roots = [_unwrapped(value) if bundle else (value, None) for value in values]
    if report.count(Severity.ERROR) > before:  # comments cannot be assigned in a broken file
        spans = []
    comments = node_comments([value for value, _ in roots], values, spans)
    leading = bundle_comments(values, spans) if bundle else [leading_comment(source.text)]
    reader = _Reader(report, comments)
    messages: list[MessageDecl] = []
    enums: list[EnumDecl] = []
    for (value, module), comment in zip(roots, leading, strict=False):
        if _is_enum(value):
            if (enum := reader.node(value, EnumDecl)) is not None:
                enums.append(replace(enum, comment=comment))
        elif (message := reader.node(value, MessageDecl)) is not None:
            messages.append(replace(message, module=module, comment=comment))
    return Document(source=source, messages=tuple(messages), enums=tuple(enums))


def _unwrapped(value: JsonValue) -> tuple[JsonValue, str | None]:
    """Return the definition on one line of a bundle, and its module if the line names one."""
    if not isinstance(value, JsonObject) or all(member.key != "schema" for member in value.members):
        return value, None
    wrapper = {member.key: member.value for member in value.members}
    named = wrapper.get("module")
    module = named.value if isinstance(named, JsonScalar) and isinstance(named.value, str) else None
    return wrapper["schema"], module


def _is_enum(value: JsonValue) -> bool:
    members = value.members if isinstance(value, JsonObject) else ()
    types = (member.value for member in members if member.key == "type")
    return any(isinstance(type_, JsonScalar) and type_.value == "enum" for type_ in types)


def parse_errors(sources: Iterable[Source], report: Report) -> tuple[ErrorDecl, ...]:
    """document: error*, from the ``errors.json`` files of all folders; every code and name is unique"""
    reader = _Reader(report, {})
    values = [value for source in sources for value in parse_values(source, report)]
    errors = [error for value in values for error in reader.nodes(value, "errors.json", ErrorDecl)]
    first: dict[str | int, Span] = {}
    names = {error.name.value for error in errors}
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
            what = f"`{part.value}` cannot identify an error"
            fix = _name_fix(part.value, part.span, names)
            report.add(codes.BAD_ERROR, what, part.span, label, others=others, fix=fix)
        if error.since and not RELEASE.fullmatch(error.since.value):
            label = "expected numbers separated by dots"
            report.add(codes.BAD_ERROR, f"`{error.since.value}` is not a release", error.since.span, label)
    return tuple(errors)


def _name_fix(name: str | int, span: Span, taken: set[str]) -> Fix:
    """Return the fix that converts an error name to upper case and replaces invalid characters with underscores."""
    if not isinstance(name, str) or not name.isascii() or _ERROR_NAME.fullmatch(name):
        return ()
    constant = re.sub("[^A-Z0-9]+", "_", name.upper()).strip("_")
    if not _ERROR_NAME.fullmatch(constant) or constant in taken:
        return ()
    taken.add(constant)
    return replaced(span, f'"{constant}"')


def _written_twice(report: Report, member: JsonMember, first: JsonMember, what: str) -> None:
    same = _plain(member.value) == _plain(first.value)
    report.add(
        codes.REPEATED_ATTRIBUTE if same else codes.DUPLICATE_ATTRIBUTE,
        f"{what} `{member.key}` is written twice" + (" with the same value" if same else ""),
        member.key_span,
        others=[(first.key_span, "first written here")],
        fix=without(member.value.span, "json") if same else (),
    )


def _attributes(
    report: Report, value: JsonObject, known: Collection[str], what: str
) -> tuple[dict[str, JsonValue], set[str]]:
    """Return the known attributes of an object, and the known names that its misspelt attributes probably mean."""
    values: dict[str, JsonValue] = {}
    misspelt: set[str] = set()
    first: dict[str, JsonMember] = {}
    free: set[str] | None = None
    for member in report.until_full(value.members):
        if member.key in first:
            _written_twice(report, member, first[member.key], "attribute")
        elif member.key not in known:
            similar = closest(member.key, known)
            free = set(known).difference(one.key for one in value.members) if free is None else free
            slip = meant(member.key, free)
            free.discard(slip or "")
            report.add(
                codes.UNKNOWN_ATTRIBUTE,
                f"{_a(what)} has no attribute `{member.key}`",
                member.key_span,
                helps=[f"did you mean `{similar}`?" if similar else f"known attributes: {', '.join(known)}"],
                fix=renamed(member.key_span, member.key, slip),
            )
            misspelt.update(filter(None, (similar, slip)))
        else:
            values[member.key] = member.value
        first.setdefault(member.key, member)
    return values, misspelt


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def _plain(value: JsonValue) -> object:
    """Return a value without its spans. ``1`` differs from ``true``, and invalid values are never equal."""
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
    """Reads nodes. A node that lacks a name or type is still read completely, so that all mistakes in the node are
    found.
    """

    def __init__(self, report: Report, comments: Mapping[int, tuple[Comment, ...]]) -> None:
        self._report = report
        self._comments = comments

    def node(self, value: JsonValue, node: type[N]) -> N | None:
        """node: object with the attributes of ``node``; ``None`` if an attribute without a default is missing"""
        what = NOUNS[node]
        if not isinstance(value, JsonObject):
            self._wrong_kind(_a(what), "an object", value)
            return None
        names, readers = ATTRIBUTES[node], _READERS[node]
        values, misspelt = _attributes(self._report, value, names, what)
        parts: dict[str, Any] = {names[name].name: readers[name](self, item, name) for name, item in values.items()}
        parts["span"] = value.span
        if (comments := self._comments.get(value.span.start)) is not None:
            parts["comments"] = comments
        missing = [name for name in _expected(node, parts) if name not in values and name not in misspelt]
        if missing and not value.broken:
            listed = ", ".join(f"`{name}`" for name in missing)
            where = value.span.within(0, 1)
            self._report.add(codes.MISSING_ATTRIBUTE, f"the {what} has no {listed}", where, label="starts here")
        complete = all(parts.get(name) is not None for name in _NEEDED[node])
        return node(**parts) if complete else None

    def nodes(self, value: JsonValue, name: str, node: type[N]) -> tuple[N, ...]:
        return self._each(value, name, lambda item: self.node(item, node))

    def texts(self, value: JsonValue, name: str) -> tuple[Spanned[str], ...]:
        return self._each(value, name, lambda item: self.text(item, name))

    def _each(self, value: JsonValue, name: str, read: Callable[[JsonValue], T | None]) -> tuple[T, ...]:
        """items: list | single value, because Kafka's reader accepts a single value in place of a list"""
        if isinstance(value, JsonScalar) and value.value is None:
            return ()
        if isinstance(value, JsonScalar) and name != "listeners" and name != "aliases":
            self._wrong_kind(f"`{name}`", "a list", value)
            return ()
        items = value.items if isinstance(value, JsonArray) else (value,)
        good = (item for item in self._report.until_full(items) if not isinstance(item, JsonWrong))
        return tuple(item for item in map(read, good) if item is not None)

    def text(self, value: JsonValue, name: str) -> Spanned[str] | None:
        if isinstance(value, JsonScalar) and isinstance(value.value, str):
            return Spanned(value.value, value.span)
        self._wrong_kind(f"`{name}`", "a string", value)
        return None

    def integer(self, value: JsonValue, name: str) -> Spanned[int] | None:
        """integer: NUMBER | STRING that contains an integer"""
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
        """versions: N | N-M | N+ | none; N can be a JSON number, and a blank string counts as absent"""
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
                codes.BAD_VERSION_RANGE,
                f"`{text}` is not a range of versions",
                value.span,
                label=str(problem),
                fix=replaced(value.span, f'"{near}"') if (near := nearly_range(text)) else (),
            )
            return None

    def header_versions(self, value: JsonValue, name: str) -> tuple[HeaderVersionsDecl, ...] | None:
        """headerVersions: object of versions → header version"""
        if not isinstance(value, JsonObject):
            self._wrong_kind(f"`{name}`", "an object that maps versions to header versions", value)
            return None
        entries = []
        first: dict[str, JsonMember] = {}
        for member in self._report.until_full(value.members):
            if first.setdefault(member.key, member) is not member:
                _written_twice(self._report, member, first[member.key], "entry")
                continue
            versions = self.versions(JsonScalar(member.key, member.key_span), name)
            header = self.integer(member.value, name)
            if versions is not None and header is not None:
                span = Span(header.span.source, versions.span.start, header.span.end)
                entries.append(HeaderVersionsDecl(span=span, versions=versions, header=header))
        return tuple(entries)

    def type_expr(self, value: JsonValue, name: str) -> TypeExpr | None:
        """type: "[]"* NAME"""
        if (text := self.text(value, name)) is None:
            return None
        match = TYPE.fullmatch(text.value)
        if match is None:
            label = "`[]` needs an element type" if text.value.strip() == "[]" else "not a type"
            element = text.value.removesuffix("[]")
            helps = [f"arrays are written `[]{element}`"] if element != text.value and element.strip("[] ") else []
            if text.value.lower().startswith("map<"):
                helps = ["a map is an array of structs, `[]Entry`, with a field for the key and one for the value"]
            fix = replaced(text.span, f'"[]{element}"') if helps and _NAME.fullmatch(element) else ()
            what = f"`{text.value}` is not a valid type"
            self._report.add(codes.BAD_TYPE, what, text.span, label, helps=helps, fix=fix)
            return None
        inside = text.span.within(1 + match.start("name"), 1 + match.end("name"))
        if inside.text != match["name"]:  # the name was written with escapes
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


REQUIRED: Mapping[type, tuple[str, ...]] = {
    MessageDecl: ("type", "name", "validVersions"),
    StructDecl: ("name", "versions", "fields"),
    FieldDecl: ("name", "type"),
    EnumDecl: ("type", "name", "valueType", "values"),
    EnumValueDecl: ("name", "value"),
    ErrorDecl: ("code", "name", "retriable", "about"),
}
"""Required attributes of each kind of node. Messages also need fields unless their valid versions are ``none``, and
fields need versions unless they are tagged.
"""


def _expected(node: type, parts: Mapping[str, object]) -> Iterable[str]:
    """Return the attributes that a node requires, given the attributes that it has."""
    if node is MessageDecl:
        versions = parts.get("valid_versions")
        reserved = isinstance(versions, Spanned) and versions.value == NONE
        return (*REQUIRED[node], *(() if reserved else ("fields",)))
    if node is FieldDecl:
        return (*REQUIRED[node], *(() if "tagged_versions" in parts else ("versions",)))
    return REQUIRED[node]


_BY_TYPE: Mapping[object, Callable[[_Reader, JsonValue, str], object]] = {
    Spanned[str]: _Reader.text,
    Spanned[int]: _Reader.integer,
    Spanned[bool]: _Reader.boolean,
    Spanned[VersionRange]: _Reader.versions,
    Spanned[Literal]: _Reader.default,
    TypeExpr: _Reader.type_expr,
    tuple[Spanned[str], ...]: _Reader.texts,
    tuple[FieldDecl, ...]: partial(_Reader.nodes, node=FieldDecl),
    tuple[StructDecl, ...]: partial(_Reader.nodes, node=StructDecl),
    tuple[EnumValueDecl, ...]: partial(_Reader.nodes, node=EnumValueDecl),
    tuple[HeaderVersionsDecl, ...]: _Reader.header_versions,
}

_NEEDED = {node: [part.name for part in fields(node) if part.default is MISSING] for node in ATTRIBUTES}
"""Attributes without a default, by kind of node."""

_READERS = {
    node: {name: _BY_TYPE[attribute.type] for name, attribute in names.items()} for node, names in ATTRIBUTES.items()
}
