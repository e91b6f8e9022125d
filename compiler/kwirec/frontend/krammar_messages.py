"""Converts parsed blocks into the messages, enums and named structs of a document.

A request states its api key and highest version, and the ``XResponse =>`` after it inherits both. A struct with
``not top level`` belongs to the messages that use it as a field type, or only to the message that ``of`` names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report, Severity, did_you_mean
from kwirec.diagnostics.source import Source, Span
from kwirec.frontend.comment_text import tidy
from kwirec.frontend.krammar_docs import read_doc
from kwirec.frontend.krammar_fields import (
    Scope,
    comment_texts,
    field_decls,
    loose_comments,
    remarks,
)
from kwirec.frontend.krammar_lexer import COMMENT, REMARK, Line
from kwirec.frontend.krammar_parser import (
    FRANZ_GO_VALUE,
    Block,
    WrittenEnum,
    WrittenField,
    WrittenStruct,
    parse_blocks,
)
from kwirec.frontend.krammar_types import Context
from kwirec.frontend.krammar_words import HEAD_WORDS, Found
from kwirec.frontend.syntax import (
    Comment,
    Document,
    EnumDecl,
    EnumValueDecl,
    MessageDecl,
    NamedStruct,
    Spanned,
    StructDecl,
)
from kwirec.versions import ALL, MAX_VERSION, NONE, VersionRange


@dataclass(frozen=True, slots=True)
class Head:
    """A struct and the modifiers in its head."""

    written: WrittenStruct
    modifiers: Found
    is_known: bool

    @property
    def name(self) -> Spanned[str]:
        return self.written.name

    def __contains__(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def get(self, modifier: str) -> Spanned[Any] | None:
        return self.modifiers.get(modifier)


def parse_krammar(source: Source, report: Report, *, franz_go: bool) -> Document:
    """document: (struct | enum)*"""
    before = report.count(Severity.ERROR)
    blocks = parse_blocks(source, report)
    if not blocks and report.count(Severity.ERROR) == before:
        report.add(codes.EMPTY_FILE, "the file holds no definition", Span(source, 0, 0))
    return _Reader(source, Context(report, franz_go)).document(blocks)


class _Reader:
    def __init__(self, source: Source, context: Context) -> None:
        self._source = source
        self._context = context
        self._messages: list[MessageDecl] = []
        self._structs: list[NamedStruct] = []

    def document(self, blocks: Sequence[Block]) -> Document:
        """document: (request [response] | message | struct | enum)*"""
        report = self._context.report
        structs = (block for block in report.until_full(blocks) if isinstance(block, WrittenStruct))
        heads = [Head(one, *HEAD_WORDS.read(one.modifiers, self._context)) for one in structs]
        owned = [head for head in heads if "of" in head]
        previous: Head | None = None
        for head in report.until_full(heads):
            if "of" in head:
                continue
            if "not_top_level" in head and "version_field" not in head:
                self.struct(head)
            else:
                self._messages.append(self.message(head, previous))
            previous = head
        for head in report.until_full(owned):
            self.owned_struct(head)
        enums = tuple(self.enum(block) for block in blocks if isinstance(block, WrittenEnum))
        return Document(
            source=self._source,
            messages=tuple(self._messages),
            enums=enums,
            structs=tuple(self._structs),
            notation="krammar",
            loose_comments=tuple(self._loose_comments(heads)),
        )

    def _loose_comments(self, heads: Sequence[Head]) -> Iterator[Span]:
        """Yield the comments on version fields, which are not part of messages."""
        for head in heads:
            if "version_field" in head and head.written.fields and (lines := head.written.fields[0].comment):
                yield lines[0].span(self._source).to(lines[-1].span(self._source))

    def message(self, head: Head, previous: Head | None) -> MessageDecl:
        """message: request | response | struct with a kind or with a version field"""
        name, kind = head.name, head.get("type")
        inherited = self._request_of(head, previous) if self._is_response(head) else None
        if kind is None:
            text = "data" if "version_field" in head else "response" if self._is_response(head) else "request"
            kind = Spanned(text, name.span)
        api_key, valid, flexible = head.get("api_key"), self._valid(head), head.get("flexible_versions")
        if inherited is not None:
            api_key, valid = api_key or inherited.api_key, valid or inherited.valid_versions
            flexible = flexible or inherited.flexible_versions
        elif not self._is_response(head) or "type" in head:
            self._require(head, kind.value, valid)
        if flexible is None and "reserved" not in head:
            flexible = Spanned(NONE, name.span)
        low = valid.value.low if valid is not None else 0
        flexible_range = NONE if flexible is None else flexible.value
        fields = self._fields(head)
        return MessageDecl(
            span=head.written.span,
            name=name,
            type=kind,
            api_key=api_key,
            valid_versions=valid,
            flexible_versions=flexible,
            about=_about(head.written),
            fields=field_decls(
                fields, Scope(name.value, VersionRange(low, MAX_VERSION), flexible_range), self._context
            ),
            comment=_banner(head.written.banner),
            comments=self._comments(head.written, "validVersions"),
            dialect="franz-go" if self._context.franz_go else "krammar",
            **HEAD_WORDS.attributes(head.modifiers),
        )

    def _comments(self, written: WrittenStruct | WrittenEnum, attribute: str | None) -> tuple[Comment, ...]:
        """Return the comments of a block that do not describe it. In JSON, these comments precede ``attribute`` or
        the end of the node.
        """
        before = remarks(written.comment, self._source, attribute)
        return (*before, *loose_comments([*written.trailing, *written.after], self._source, ""))

    def _is_response(self, head: Head) -> bool:
        """response: NAME "Response =>" without its own key"""
        if "api_key" in head or "max" in head or "version_field" in head:
            return False
        kind = head.get("type")
        return kind.value == "response" if kind is not None else head.name.value.endswith("Response")

    def _request_of(self, head: Head, previous: Head | None) -> MessageDecl | None:
        expected = f"{head.name.value.removesuffix('Response')}Request"
        last = self._messages[-1] if self._messages else None
        if previous is not None and last is not None and previous.name is last.name and last.name.value == expected:
            return last
        elsewhere = next((one for one in self._messages if one.name.value == expected), None)
        self._context.report.add(
            codes.RESPONSE_WITHOUT_REQUEST,
            f"response `{head.name.value}` does not follow its request",
            head.name.span,
            others=[(elsewhere.name.span, "the request is here")] if elsewhere is not None else [],
            helps=[f"write it directly after `{expected}`, whose api key and versions it uses"],
        )
        return elsewhere

    def _valid(self, head: Head) -> Spanned[VersionRange] | None:
        high, low = head.get("max"), head.get("min")
        if (versions := head.get("versions")) is not None:
            return versions
        if "reserved" in head:
            return Spanned(NONE, head.modifiers["reserved"].span)
        if high is None:
            return None
        span = (
            high.span
            if low is None
            else min(low.span, high.span, key=_start).to(max(low.span, high.span, key=_start))
        )
        return Spanned(VersionRange(low.value if low is not None else 0, high.value), span)

    def _require(self, head: Head, kind: str, valid: Spanned[VersionRange] | None) -> None:
        if "version_field" in head:
            return
        missing = ["`key N`"] if kind == "request" and "api_key" not in head else []
        missing += ["`max version N`"] if valid is None else []
        if missing and head.is_known:
            helps = [f"write {' and '.join(missing)} after `=>`, with a number for `N`"]
            helps += [] if head.modifiers else ["mark a shared struct with `not top level`"]
            if kind == "request" and head.name.value.endswith("Response"):
                kind = "response"
                helps = ["write the response without versions after the request, whose api key and versions it uses"]
            self._context.report.add(
                codes.MISSING_ATTRIBUTE,
                f"the {kind} has no {' and no '.join(missing)}",
                head.name.span,
                helps=helps,
            )

    def _fields(self, head: Head) -> list[WrittenField]:
        """Return the fields of a message. A version field before them is not part of the message."""
        fields = head.written.fields
        if "version_field" not in head:
            return fields
        first = fields[0] if fields else None
        if first is not None and (first.name.value, first.type.value, first.items) == ("Version", "int16", []):
            return fields[1:]
        self._context.report.add(
            codes.NO_VERSION_FIELD,
            f"the first field of `{head.name.value}` is not its version",
            head.modifiers["version_field"].span,
            others=[(first.span if first is not None else head.name.span, "expected `Version: int16`")],
        )
        return fields

    def struct(self, head: Head) -> None:
        """struct: NAME " => not top level" [", no encoding"] [", flexible v" INT "+"]"""
        _struct_decl(head, ALL, NONE, self._context)  # called to report mistakes
        silent = Context(Report(), franz_go=False)
        self._structs.append(
            NamedStruct(
                span=head.written.span,
                name=head.name,
                is_flexible="flexible_versions" in head,
                franz_go=self._context.franz_go,
                build=lambda versions, flexible: _struct_decl(head, versions, flexible, silent),
            )
        )

    def owned_struct(self, head: Head) -> None:
        """struct: NAME " => not top level, of " MESSAGE [", versions " range]"""
        owner = head.modifiers["of"]
        for number, message in enumerate(self._messages):
            if message.name.value == owner.value:
                struct = _struct_decl(head, open_versions(message), flexible_versions(message), self._context)
                self._messages[number] = replace(message, common_structs=(*message.common_structs, struct))
                return
        hint = did_you_mean(owner.value, (message.name.value for message in self._messages))
        label = "the message must be in the same file"
        message_ = f"there is no message `{owner.value}` for struct `{head.name.value}`"
        self._context.report.add(codes.UNKNOWN_TYPE, message_, owner.span, label, helps=[hint])

    def enum(self, written: WrittenEnum) -> EnumDecl:
        """enum: NAME " " TYPE " (" value* ")" """
        for value in written.values:
            if value.value.value < 0 or not FRANZ_GO_VALUE.fullmatch(value.name.value):
                self._context.extension(value.span, "negative enum values, or digits in the names of values")
        values = [
            EnumValueDecl(
                span=value.span,
                name=value.name,
                value=value.value,
                about=_described(read_doc(comment_texts(value.comment)), value.span),
                comments=remarks(value.comment, self._source),
            )
            for value in written.values
        ]
        return EnumDecl(
            span=written.span,
            name=written.name,
            type=Spanned("enum", written.name.span),
            value_type=written.type,
            about=_described(read_doc(comment_texts(written.comment)), written.name.span),
            values=tuple(values),
            comment=_banner(written.banner),
            comments=self._comments(written, "values"),
            dialect="franz-go" if self._context.franz_go else "krammar",
        )


def open_versions(message: MessageDecl) -> VersionRange:
    """Return the versions of fields without their own range: the message's lowest version and all later ones."""
    low = message.valid_versions.value.low if message.valid_versions is not None else 0
    return VersionRange(low, MAX_VERSION)


def flexible_versions(message: MessageDecl) -> VersionRange:
    return message.flexible_versions.value if message.flexible_versions is not None else NONE


def _struct_decl(head: Head, versions: VersionRange, flexible: VersionRange, context: Context) -> StructDecl:
    own = head.get("versions") or Spanned(versions, head.name.span)
    return StructDecl(
        span=head.written.span,
        name=head.name,
        versions=own,
        about=_about(head.written),
        fields=field_decls(head.written.fields, Scope(head.name.value, own.value, flexible), context),
        comments=_struct_comments(head.written),
    )


def _struct_comments(written: WrittenStruct) -> tuple[Comment, ...]:
    """Return the comments of a struct that do not describe it, including comments that an empty line separates from
    the struct.
    """
    source = written.span.source
    before = (*loose_comments(written.banner, source), *remarks(written.comment, source))
    return (*before, *loose_comments([*written.trailing, *written.after], source, ""))


def _about(written: WrittenStruct) -> Spanned[str] | None:
    return _described(read_doc(comment_texts(written.comment)), written.name.span)


def _described(text: str, span: Span) -> Spanned[str] | None:
    return Spanned(text, span) if text else None


def _banner(lines: Sequence[Line]) -> str:
    return "\n".join(tidy(line.text, REMARK, COMMENT) for line in lines).strip("\n")


def _start(span: Span) -> int:
    return span.start
