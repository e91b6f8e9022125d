"""Converts parsed fields into fields of the syntax tree and fills in omitted facts from the enclosing struct.

A field without versions has the versions of its struct. A tag without versions applies to all flexible versions of
the struct. A field that is nullable in all its versions is null by default, as in franz-go, unless ``(empty)``
follows its type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kwirec.diagnostics import codes
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.krammar_docs import read_doc, split_struct_doc
from kwirec.frontend.krammar_lexer import COMMENT, REMARK, Line
from kwirec.frontend.krammar_parser import WrittenField
from kwirec.frontend.krammar_types import ENUM, Context, WrittenType, read_type
from kwirec.frontend.krammar_words import FIELD_WORDS, Found
from kwirec.frontend.syntax import Comment, FieldDecl, Literal, Spanned, TypeExpr
from kwirec.versions import NONE, VersionRange

THROTTLE = "Time in milliseconds for which the broker throttles the client, or 0."
SWITCHED = (
    "In versions before {}, the response is delayed by this time. Later, it is sent at once and the client waits."
)
TIMEOUT = "Maximum time in milliseconds before the broker answers the request."
DEFAULT_TIMEOUT = "15000"


@dataclass(frozen=True, slots=True)
class Scope:
    """The struct that contains fields: its name and versions, and the flexible versions of the message."""

    struct: str
    versions: VersionRange
    flexible: VersionRange

    @property
    def implied_tags(self) -> VersionRange:
        return self.versions.intersect(self.flexible) if self.flexible else self.versions


def field_decls(fields: Iterable[WrittenField], scope: Scope, context: Context) -> tuple[FieldDecl, ...]:
    """Return the fields of a struct, without fields whose type cannot be read."""
    read = (_field(written, scope, context) for written in context.report.until_full(fields))
    return tuple(one for one in read if one is not None)


def comment_texts(comment: Iterable[Line]) -> list[str]:
    """Return the lines of a description, without ``//`` or the space after it."""
    return [line.text.removeprefix(COMMENT).removeprefix(" ") for line in comment if not _is_remark(line)]


def remarks(comment: Iterable[Line], source: Source, attribute: str | None = None) -> tuple[Comment, ...]:
    """Return the comments in these lines that are not part of a description."""
    return loose_comments(filter(_is_remark, comment), source, attribute)


def loose_comments(lines: Iterable[Line], source: Source, attribute: str | None = None) -> tuple[Comment, ...]:
    """Return a comment for each non-empty line. The lines are not part of a description."""
    return tuple(
        Comment(
            text=line.text.removeprefix(REMARK).removeprefix(COMMENT).removeprefix(" ").rstrip(),
            attribute=attribute,
            span=line.span(source),
        )
        for line in lines
        if line.text
    )


def _is_remark(line: Line) -> bool:
    return line.text.startswith(REMARK)


def _field(written: WrittenField, scope: Scope, context: Context) -> FieldDecl | None:
    items, _ = FIELD_WORDS.read(written.items, context)
    if written.is_special:
        return _special(written, items, scope, context)
    versions, tagged = _versions(written, items, scope)
    effective = (versions or tagged or Spanned(scope.versions, written.span)).value
    type_ = read_type(written.type, context)
    if type_ is None:
        field_decls(written.fields, Scope("", effective, scope.flexible), context)  # to report their mistakes
        return None
    _report_traps(items, type_, context)
    name = type_.name or auto_name(scope.struct, written.name.value, type_.depth)
    inner = None
    if type_.is_inline:
        inner = field_decls(written.fields, Scope(name, effective, scope.flexible), context)
    texts = comment_texts(written.comment)
    about, struct_about = split_struct_doc(texts, name) if type_.is_inline else (read_doc(texts), None)
    comment_span = _comment_span(written)
    return FieldDecl(
        span=written.span,
        name=written.name,
        type=TypeExpr(name=name, array_depth=type_.depth, span=type_.span, name_span=type_.name_span),
        versions=versions,
        tagged_versions=tagged,
        tag=items.get("tag"),
        nullable_versions=_nullable(type_, effective),
        default=_default(type_, effective),
        enum=_enum(type_),
        about=Spanned(about, comment_span) if about else None,
        struct_about=Spanned(struct_about, comment_span) if struct_about else None,
        fields=inner,
        comments=remarks(written.comment, written.span.source),
        **FIELD_WORDS.attributes(items),
    )


def _enum(type_: WrittenType) -> Spanned[str] | None:
    span = type_.name_span
    return Spanned(type_.name[len(ENUM) :], span.within(len(ENUM), span.end)) if type_.name.startswith(ENUM) else None


def _versions(
    written: WrittenField, items: Found, scope: Scope
) -> tuple[Spanned[VersionRange] | None, Spanned[VersionRange] | None]:
    """Return ``versions`` and ``taggedVersions``. A field with versions and a tag is tagged in all these versions,
    unless ``tagged`` limits the range.
    """
    own: Spanned[VersionRange] | None = items.get("versions") or items.get("never")
    tagged: Spanned[VersionRange] | None = items.get("tagged_versions")
    implied = Spanned(scope.versions, written.name.span)
    if tagged is not None:
        return own or implied, None if tagged.value == NONE else tagged
    if (tag := items.get("tag")) is not None:
        return None, own or Spanned(scope.implied_tags, tag.span)
    return own or implied, None


def _nullable(type_: WrittenType, effective: VersionRange) -> Spanned[VersionRange] | None:
    return Spanned(effective if type_.nullable is None else type_.nullable, type_.span) if type_.is_nullable else None


def _default(type_: WrittenType, effective: VersionRange) -> Spanned[Literal] | None:
    if (
        type_.default is not None
        or type_.is_empty
        or not null_by_default(type_.is_nullable, type_.nullable, effective)
    ):
        return type_.default
    return Spanned("null", type_.span)


def null_by_default(is_nullable: bool, nullable: VersionRange | None, effective: VersionRange) -> bool:
    """Return whether a field is null by default because it is nullable in all its versions."""
    return is_nullable and (nullable is None or nullable.covers(effective))


def _comment_span(written: WrittenField) -> Span:
    if not written.comment:
        return written.span
    first, last = written.comment[0], written.comment[-1]
    return Span(written.span.source, first.start, last.start + len(last.text))


def _special(written: WrittenField, items: Found, scope: Scope, context: Context) -> FieldDecl:
    """special: ("ThrottleMillis" | "TimeoutMillis") ["(" INT ")"]: an int32 with a predefined description"""
    is_throttle = written.name.value == "ThrottleMillis"
    number = written.type.value
    if is_throttle:
        about = " ".join([THROTTLE, *([SWITCHED.format(number)] if number else [])])
    else:
        about = TIMEOUT
    if texts := comment_texts(written.comment):
        what = f"a comment for `{written.name.value}`"
        context.extension(written.name.span, what, f"`{written.name.value}: int32` is an ordinary field")
        about = read_doc(texts)
    versions, tagged = _versions(written, items, scope)
    return FieldDecl(
        span=written.span,
        name=written.name,
        type=TypeExpr(name="int32", array_depth=0, span=written.name.span, name_span=written.name.span),
        versions=versions,
        tagged_versions=tagged,
        tag=items.get("tag"),
        default=None if is_throttle else Spanned(number or DEFAULT_TIMEOUT, written.type.span),
        about=Spanned(about, written.name.span),
        comments=remarks(written.comment, written.span.source),
        **FIELD_WORDS.attributes(items),
    )


def _report_traps(items: Found, type_: WrittenType, context: Context) -> None:
    """Report definitions that franz-go accepts but encodes differently from Kafka."""
    if not context.franz_go or "tag" not in items:
        return
    tag: Spanned[int] = items["tag"]
    if "versions" in items:
        context.report.add(
            codes.WRONG_IN_FRANZ_GO,
            "franz-go writes a field with versions and a tag twice, once plain and once tagged",
            tag.span,
            others=[(items["versions"].span, "these versions")],
            helps=["remove the versions: a tag applies to all flexible versions"],
        )
    if type_.is_inline and type_.is_nullable and not type_.depth:
        context.report.add(
            codes.WRONG_IN_FRANZ_GO,
            "franz-go always writes this tagged struct, and marks it with an int8 if it is not null",
            type_.span,
            others=[(tag.span, "tagged here")],
            notes=["Kafka marks it with an unsigned varint [KIP-893]"],
        )


def _singular(name: str) -> str:
    """Return the singular of a plural name, as franz-go forms it."""
    if name.endswith("us"):
        return name
    if name.endswith(("ches", "shes", "sses", "xes", "zes")):
        return name[:-2]
    return f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")


def auto_name(struct: str, field: str, depth: int) -> str:
    """Return the name of an unnamed inline struct, formed from the names of the enclosing struct and the field."""
    return struct + (_singular(field) if depth else field)
