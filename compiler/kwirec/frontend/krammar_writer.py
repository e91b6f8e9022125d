"""Writes a syntax tree as text in the indentation notation. This is the inverse of ``krammar_messages``.

Extensions express facts that franz-go's notation lacks. In franz-go's dialect, such facts are omitted and reported.
Facts that neither dialect can express are always reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.diagnostics.source import Span
from kwirec.frontend.krammar_docs import WIDTH, write_doc
from kwirec.frontend.krammar_field_writer import (
    comment_lines,
    field_lines,
    remark_lines,
)
from kwirec.frontend.krammar_fields import Scope
from kwirec.frontend.krammar_lexer import COMMENT, INDENT
from kwirec.frontend.krammar_messages import flexible_versions, open_versions
from kwirec.frontend.krammar_parser import FRANZ_GO_VALUE, NAME
from kwirec.frontend.krammar_types import range_text
from kwirec.frontend.krammar_words import HEAD_WORDS, Losses, word_text
from kwirec.frontend.syntax import (
    KINDS,
    EnumDecl,
    MessageDecl,
    Spanned,
    StructDecl,
    all_field_decls,
    walk_field_decls,
)
from kwirec.versions import NONE, VersionRange

Definition = MessageDecl | EnumDecl


def krammar_text(definitions: Sequence[Definition], report: Report, *, franz_go: bool = False) -> str:
    """Return the text of one file with these messages and enums. Report facts that cannot be expressed."""
    blocks = _Writer(report, franz_go).blocks(definitions)
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


class _Writer:
    def __init__(self, report: Report, franz_go: bool) -> None:
        self._report = report
        self._franz_go = franz_go

    def blocks(self, definitions: Sequence[Definition]) -> Iterator[list[str]]:
        """Yield the lines of each block. Structs precede all messages, so that each response directly follows its
        request.
        """
        sayable = [one for one in definitions if self._is_sayable(one)]
        messages = [one for one in sayable if isinstance(one, MessageDecl)]
        for enum in sayable:
            if isinstance(enum, EnumDecl):
                yield self._enum(enum)
        for message in messages:
            owned = not self._franz_go and _needs_owner(message, messages)
            structs = _defined_before_use(message.common_structs) if self._franz_go else message.common_structs
            for struct in structs:
                yield self._struct(struct, message, owned)
        previous: MessageDecl | None = None
        for message in messages:
            yield self._message(message, previous)
            previous = message

    def _is_sayable(self, definition: Definition) -> bool:
        kind = definition.type.value
        kinds = ("request", "response", "data") if self._franz_go else ("request", *KINDS)
        wrong = None
        if isinstance(definition, MessageDecl) and kind.replace("-", " ") not in kinds:
            wrong = (definition.type.span, f"messages of type `{kind}`")
        elif not re.fullmatch(NAME, definition.name.value):
            wrong = (definition.name.span, f"the name `{definition.name.value}`")
        elif isinstance(definition, EnumDecl):
            names = (one.name for one in definition.values)
            wrong = next(
                ((name.span, f"the name `{name.value}`") for name in names if not re.fullmatch(NAME, name.value)),
                None,
            )
        if wrong is not None:
            self._unsayable(*wrong, definition.name.value)
        return wrong is None

    def _unsayable(self, span: Span, what: str, message: str, uses: int = 1) -> None:
        notation = "franz-go's notation" if self._franz_go else "the indentation notation"
        label = "" if uses == 1 else f"the first of {uses}"
        text = f"{notation} cannot express {what}, which `{message}` has"
        self._report.add(codes.NOT_IN_NOTATION, text, span, label, message_name=message)

    def _message(self, message: MessageDecl, previous: MessageDecl | None) -> list[str]:
        """message: COMMENT* NAME " =>" [" " modifier (", " modifier)*] NL fields(1)"""
        losses = Losses(self._franz_go)
        scope = Scope(message.name.value, open_versions(message), flexible_versions(message))
        modifiers = list(self._modifiers(message, previous, losses))
        body = list(field_lines(message.fields or (), scope, losses))
        if "with version field" in modifiers:
            body.insert(0, f"{INDENT}Version: int16")
        self._report_losses(losses, message.name.value)
        head = f"{message.name.value} =>{' ' if modifiers else ''}{', '.join(modifiers)}"
        first, last = self._comments(message)
        return [*_banner(message.comment), *first, *_doc(message.about), head, *body, *last]

    def _comments(self, node: MessageDecl | StructDecl | EnumDecl) -> tuple[list[str], list[str]]:
        """Return the comment lines before a block and at its end. For franz-go, all comments come first, followed by
        an empty line.
        """
        if self._franz_go:
            texts = (line for comment in node.comments for line in comment.text.split("\n"))
            lines = list(comment_lines(texts, ""))
            return ([*lines, ""] if lines else []), []
        first = remark_lines(comment for comment in node.comments if comment.attribute != "")
        last = remark_lines((comment for comment in node.comments if comment.attribute == ""), INDENT)
        return list(first), list(last)

    def _report_losses(self, losses: Losses, message: str) -> None:
        for what, spans in losses.uses.items():
            self._unsayable(spans[0], f"`{what}`", message, len(spans))

    def _modifiers(self, message: MessageDecl, previous: MessageDecl | None, losses: Losses) -> Iterator[str]:
        """modifiers: the words in the head of a message"""
        if not _is_inherited(message, previous):
            yield from self._kind_and_versions(message, losses)
        yield from HEAD_WORDS.texts(message, losses)

    def _kind_and_versions(self, message: MessageDecl, losses: Losses) -> Iterator[str]:
        kind, valid = message.type.value, message.valid_versions
        if kind == "data" and self._franz_go:
            yield from ("not top level", "with version field")
        elif kind != "request" and losses.keeps(f"key and versions of a {kind}", message.type.span):
            yield kind.replace("-", " ")
        if message.api_key is not None and not (kind == "data" and self._franz_go):
            yield f"key {message.api_key.value}"
        if valid is not None and not (kind == "data" and self._franz_go):
            yield from _valid(valid, losses)
        if (flexible := message.flexible_versions) is not None and flexible.value != NONE:
            yield f"flexible {range_text(flexible.value)}"

    def _struct(self, struct: StructDecl, message: MessageDecl, owned: bool) -> list[str]:
        """struct: COMMENT* NAME " => not top level, no encoding" ["," …] NL fields(1)"""
        losses = Losses(self._franz_go)
        implied, flexible = open_versions(message), flexible_versions(message)
        versions = implied if struct.versions is None else struct.versions.value
        modifiers = ["not top level", "no encoding"]
        if flexible:
            modifiers.append(f"flexible {range_text(flexible)}")
        if versions != implied and losses.keeps("versions", struct.span):
            modifiers.append(f"versions {range_text(versions)}")
        if owned:
            modifiers.append(f"of {word_text(message.name.value)}")
        body = list(field_lines(struct.fields, Scope(struct.name.value, versions, flexible), losses))
        self._report_losses(losses, message.name.value)
        first, last = self._comments(struct)
        return [*first, *_doc(struct.about), f"{struct.name.value} => {', '.join(modifiers)}", *body, *last]

    def _enum(self, enum: EnumDecl) -> list[str]:
        """enum: COMMENT* NAME " " TYPE [" camelcase"] " (" NL (COMMENT* value)* ")" """
        style = " camelcase" if any(re.search("[a-z]", one.name.value) for one in enum.values) else ""
        first, last = self._comments(enum)
        head = f"{enum.name.value} {enum.value_type.value}{style} ("
        lines = [*_banner(enum.comment), *first, *_doc(enum.about), head]
        losses = Losses(self._franz_go)
        for one in enum.values:
            plain = one.value.value >= 0 and FRANZ_GO_VALUE.fullmatch(one.name.value)
            if not plain and not losses.keeps(f"{one.value.value}: {one.name.value}", one.span):
                continue
            written = (comment for comment in one.comments if losses.keeps("comments of values", comment.span))
            lines += [*remark_lines(written, INDENT), *_doc(one.about, INDENT)]
            lines.append(f"{INDENT}{one.value.value}: {one.name.value}")
        self._report_losses(losses, enum.name.value)
        return [*lines, *last, ")"]


def _is_inherited(message: MessageDecl, previous: MessageDecl | None) -> bool:
    """Return whether a response inherits its key and its versions from the request before it."""
    return (
        previous is not None
        and (previous.type.value, message.type.value) == ("request", "response")
        and message.name.value.endswith("Response")
        and previous.name.value == f"{message.name.value.removesuffix('Response')}Request"
        and message.api_key == previous.api_key
        and message.valid_versions == previous.valid_versions
        and flexible_versions(message) == flexible_versions(previous)
    )


def _valid(valid: Spanned[VersionRange], losses: Losses) -> Iterator[str]:
    versions = valid.value
    if versions == NONE:
        yield from ["reserved"] if losses.keeps("reserved", valid.span) else []
    elif versions.is_open or versions.is_inverted:
        yield from [f"versions {range_text(versions)}"] if losses.keeps("versions", valid.span) else []
    else:
        yield f"max version {versions.high}"
        if versions.low and losses.keeps("min version", valid.span):
            yield f"min version {versions.low}"


def _needs_owner(message: MessageDecl, messages: Sequence[MessageDecl]) -> bool:
    """Return whether the common structs of a message must name the message to which they belong.

    This is necessary if another message in the file has or mentions a struct of the same name, or if a struct is
    unused or is used before its definition.
    """
    own = {struct.name.value for struct in message.common_structs}
    others = [other for other in messages if other is not message]
    known: set[str] = set()
    used: set[str] = set()
    for struct in message.common_structs:
        uses = {one.type.name for one in walk_field_decls(struct.fields)}
        if own & uses - known:
            return True
        used |= uses
        known.add(struct.name.value)
    used |= {one.type.name for one in walk_field_decls(message.fields)}
    mentioned = {one.type.name for other in others for one in all_field_decls(other.fields, other.common_structs)}
    mentioned |= {struct.name.value for other in others for struct in other.common_structs}
    return bool(own - used or own & mentioned)


def _defined_before_use(structs: Sequence[StructDecl]) -> list[StructDecl]:
    """Return the structs sorted so that each follows the structs that it uses, unless a struct contains itself."""
    by_name = {struct.name.value: struct for struct in structs}
    found: dict[str, StructDecl] = {}
    pending = [(struct, False) for struct in reversed(structs)]
    entered: set[str] = set()
    while pending:
        struct, is_done = pending.pop()
        name = struct.name.value
        if is_done:
            found[name] = struct
        elif name not in entered:
            entered.add(name)
            pending.append((struct, True))
            uses = [by_name[one.type.name] for one in walk_field_decls(struct.fields) if one.type.name in by_name]
            pending += [(one, False) for one in reversed(uses)]
    return list(found.values())


def _banner(comment: str) -> list[str]:
    """Return the lines of the comment before a definition, followed by an empty line."""
    lines = []
    for line in comment.splitlines():
        text = line.strip()
        if text and not text.startswith(COMMENT):
            text = f"{COMMENT} {text.removeprefix('/*').removesuffix('*/').strip(' *')}".rstrip()
        lines.append(text)
    return [*lines, ""] if lines else []


def _doc(about: Spanned[str] | None, indent: str = "") -> list[str]:
    width = WIDTH - len(indent) - len(COMMENT) - 1
    return list(comment_lines(write_doc(about.value, width), indent)) if about is not None else []
