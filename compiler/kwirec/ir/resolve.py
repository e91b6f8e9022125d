"""Resolves syntax trees into a ``Schema``: binds names to structs, fills in omitted attributes and converts defaults
to typed values.

This pass reports names that cannot be resolved (K1xx), and ``validation`` checks the result. A message with a problem
is left out of the schema. The remaining messages are still resolved, so that a single run reports all problems.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar, Unpack

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Code, Details, Report, did_you_mean, meant
from kwirec.diagnostics.edits import Fix
from kwirec.diagnostics.source import Span
from kwirec.frontend.edits import renamed
from kwirec.frontend.krammar_link import link
from kwirec.frontend.syntax import (
    NOUNS,
    Document,
    EnumDecl,
    FieldDecl,
    MessageDecl,
    Spanned,
    StructDecl,
    TypeExpr,
    walk_field_decls,
)
from kwirec.ir.literals import typed_default
from kwirec.ir.schema import (
    IMPLICIT,
    NO_WIRE_KIND,
    PRIMITIVES,
    ArrayType,
    Default,
    Enum,
    EnumValue,
    Field,
    Implicit,
    Message,
    MessageKind,
    PrimitiveType,
    Schema,
    Struct,
    StructType,
    Type,
)
from kwirec.versions import NONE, VersionRange

T = TypeVar("T")
D = TypeVar("D")
N = TypeVar("N", Message, Enum)

KINDS = {kind.value: kind for kind in MessageKind}
TYPES = (*KINDS, "enum")
"""Valid values for ``type`` in a definition."""


def resolve(documents: Iterable[Document], report: Report) -> Schema:
    """Return a schema with all messages and enums in ``documents``, whose names must be unique."""
    read = tuple(documents)
    enums = _enums((declaration for document in read for declaration in document.enums), report)
    messages: dict[str, Message] = {}
    for document in link(read, report):
        for declaration in report.until_full(document.messages):
            message = _Resolver(declaration, enums, report).message()
            if message is None:
                continue
            _add(messages, message, codes.MESSAGE_REDEFINED, report)
    return Schema(messages=tuple(messages.values()), enums=tuple(enums.values()))


def _enums(declarations: Iterable[EnumDecl], report: Report) -> dict[str, Enum]:
    enums: dict[str, Enum] = {}
    for decl in report.until_full(declarations):
        values = (
            EnumValue(name=value.name.value, value=value.value.value, doc=_value(value.about, ""), decl=value)
            for value in decl.values
        )
        enum = Enum(
            name=decl.name.value,
            type=PrimitiveType(decl.value_type.value),
            values=tuple(values),
            doc=_value(decl.about, ""),
            decl=decl,
        )
        _add(enums, enum, codes.ENUM_REDEFINED, report)
    return enums


def _add(found: dict[str, N], new: N, code: Code, report: Report) -> None:
    """Add a message or an enum, and report a name that is already defined."""
    if (first := found.setdefault(new.name, new)) is not new:
        report.add(
            code,
            f"{NOUNS[type(new.decl)]} `{new.name}` is defined twice",
            new.decl.name.span,
            others=[(first.decl.name.span, "first defined here")],
            message_name=new.name,
        )


class _Resolver:
    """Resolves one message."""

    def __init__(self, declaration: MessageDecl, enums: Mapping[str, Enum], report: Report) -> None:
        self._decl = declaration
        self._enums = enums
        self._report = report
        self._name = declaration.name.value
        self._failed = False
        self._struct_names: dict[str, Span] = {}
        self._redefined: set[str] = set()

    def message(self) -> Message | None:
        decl = self._decl
        kind = KINDS.get(decl.type.value)
        if kind is None:
            self._problem(
                codes.UNKNOWN_MESSAGE_TYPE,
                f"`{decl.type.value}` is not a type of message",
                decl.type.span,
                helps=[did_you_mean(decl.type.value, TYPES) or f"types are {', '.join(TYPES)}"],
                fix=renamed(decl.type.span, decl.type.value, meant(decl.type.value, TYPES)),
            )
        structs = self._structs()
        if kind is None or self._failed:
            return None
        return Message(
            name=self._name,
            kind=kind,
            api_key=_value(decl.api_key, None),
            listeners=tuple(item.value for item in decl.listeners or ()),
            valid=_value(decl.valid_versions, NONE),
            flexible=_value(decl.flexible_versions, NONE),
            deprecated=_value(decl.deprecated_versions, NONE),
            latest_unstable=_value(decl.latest_version_unstable, False),
            headers=tuple((entry.versions.value, entry.header.value) for entry in decl.header_versions or ()),
            structs=structs,
            module=decl.module,
            doc=_value(decl.about, ""),
            aliases=tuple(alias.value for alias in decl.aliases),
            decl=decl,
        )

    def _structs(self) -> tuple[Struct, ...]:
        """Return the root and all other structs, in the order in which they appear in the file."""
        self._struct_names[self._name] = self._decl.name.span
        for common in self._decl.common_structs:
            self._declare(common.name.value, common.name.span)
        owners: tuple[MessageDecl | StructDecl, ...] = (self._decl, *self._decl.common_structs)
        decls: list[MessageDecl | StructDecl | FieldDecl] = []
        for owner in owners:
            inline = [f for f in walk_field_decls(owner.fields) if f.fields is not None and f.type.name[:1].isupper()]
            for field in inline:
                self._declare(field.type.name, field.type.name_span)
            decls += [owner, *inline]
        return tuple(map(self._struct, decls))

    def _declare(self, name: str, span: Span) -> None:
        if (first := self._struct_names.setdefault(name, span)) is not span:
            self._redefined.add(name)
            self._problem(
                codes.STRUCT_REDEFINED,
                f"struct `{name}` is defined twice",
                span,
                label="defined again here",
                others=[(first, "first defined here")],
                helps=["give one of them another name, or define it once in `commonStructs`"],
            )

    def _struct(self, decl: MessageDecl | StructDecl | FieldDecl) -> Struct:
        match decl:
            case MessageDecl():
                name, versions, doc = self._name, decl.valid_versions, decl.about
            case StructDecl():
                name, versions, doc = decl.name.value, decl.versions, decl.about
            case FieldDecl():
                name, versions, doc = decl.type.name, _field_versions(decl), decl.struct_about
        return Struct(
            name=name,
            versions=_value(versions, NONE),
            fields=tuple(
                field for field in map(self._field, self._report.until_full(decl.fields or ())) if field is not None
            ),
            common=isinstance(decl, StructDecl),
            doc=_value(doc, ""),
            decl=decl,
        )

    def _field(self, decl: FieldDecl) -> Field | None:
        type_ = self._type(decl.type)
        if type_ is None:
            return None
        return Field(
            name=decl.name.value,
            type=type_,
            versions=_value(_field_versions(decl), NONE),
            nullable=_value(decl.nullable_versions, NONE),
            tagged=_value(decl.tagged_versions, NONE),
            tag=_value(decl.tag, None),
            flexible=_value(decl.flexible_versions, None),
            default=self._default(decl, type_),
            enum=self._enum(decl),
            ignorable=_value(decl.ignorable, False),
            entity_type=_value(decl.entity_type, None),
            map_key=_value(decl.map_key, False),
            zero_copy=_value(decl.zero_copy, False),
            doc=_value(decl.about, ""),
            aliases=tuple(alias.value for alias in decl.aliases),
            since=_value(decl.since, None),
            decl=decl,
        )

    def _type(self, written: TypeExpr) -> Type | None:
        type_: Type
        if written.name in PRIMITIVES:
            type_ = PrimitiveType(written.name)
        elif written.name in self._struct_names and (written.name != self._name or self._name in self._redefined):
            type_ = StructType(written.name)
        else:
            if written.name in NO_WIRE_KIND:
                what = f"`{written.span.text}` is only valid in records"
                self._problem(codes.NO_WIRE_KIND, what, written.span, helps=["use a number of fixed size"])
                return None
            known = [*PRIMITIVES, *(name for name in self._struct_names if name != self._name)]
            capital = written.name[:1].isupper()
            hint = did_you_mean(written.name, known)
            self._problem(
                codes.UNKNOWN_TYPE,
                f"there is no {'struct' if capital else 'type'} `{written.name}`",
                written.name_span,
                label="unknown struct" if capital else "unknown type",
                helps=[hint or ("" if capital else f"primitives are {', '.join(PRIMITIVES)}")],
                notes=[f"`{self._name}` defines no such struct inline or in `commonStructs`"] if capital else [],
                fix=renamed(written.name_span, written.name, meant(written.name, known)),
            )
            return None
        for _ in range(written.array_depth):
            type_ = ArrayType(type_)
        return type_

    def _default(self, decl: FieldDecl, type_: Type) -> Default | Implicit:
        if decl.default is None:
            return IMPLICIT
        try:
            return typed_default(decl.default.value, type_)
        except ValueError as problem:
            if decl.default.value == "null" and _value(decl.nullable_versions, NONE):
                return IMPLICIT  # the actual mistake is that a field of this type is nullable (K402)
            written = decl.default.value if isinstance(decl.default.value, str) else decl.default.span.text
            self._problem(
                codes.BAD_DEFAULT,
                f"`{written}` is not a default for `{type_}`",
                decl.default.span,
                label=str(problem),
                others=[(decl.type.span, "type given here")],
                fix=_word_fix(written, decl.default.span, type_),
            )
            return IMPLICIT

    def _enum(self, decl: FieldDecl) -> Enum | None:
        if decl.enum is None:
            return None
        if (found := self._enums.get(decl.enum.value)) is None:
            # In the indentation notation, the enum takes the place of the type, so the type is unknown, too.
            is_type = decl.enum.span.start >= decl.type.span.start and decl.enum.span.end <= decl.type.span.end
            self._failed = self._failed or is_type
            self._report.add(
                codes.UNKNOWN_TYPE if is_type else codes.UNKNOWN_ENUM,
                f"there is no enum `{decl.enum.value}`",
                decl.enum.span,
                label="unknown enum",
                helps=[did_you_mean(decl.enum.value, self._enums)],
                notes=["an enum is defined in one of the files that are compiled together"],
                message_name=self._name,
                fix=renamed(decl.enum.span, decl.enum.value, meant(decl.enum.value, self._enums)),
            )
        return found

    def _problem(self, code: Code, message: str, span: Span, label: str = "", **details: Unpack[Details]) -> None:
        self._failed = True
        details["message_name"] = self._name
        self._report.add(code, message, span, label, **details)


def _word_fix(written: str, span: Span, type_: Type) -> Fix:
    """Return the fix for a default such as `True` or `NULL`, which must be in lower case."""
    word = written.lower()
    try:
        is_default = word in ("true", "false", "null") and typed_default(word, type_) is not IMPLICIT
    except ValueError:
        return ()
    return renamed(span, written, word) if is_default else ()


def _field_versions(decl: FieldDecl) -> Spanned[VersionRange] | None:
    """Return ``versions``, or ``taggedVersions`` if the field does not state ``versions`` [KAFKA-WIRE 31]."""
    return decl.versions or decl.tagged_versions


def _value(spanned: Spanned[T] | None, default: D) -> T | D:
    return default if spanned is None else spanned.value
