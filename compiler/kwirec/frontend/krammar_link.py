"""Completes messages with the named structs and enums that they use, which may be in other files.

A struct name refers to the struct in the same file, or else to the first struct with this name in any file. Each
message gets copies of the structs that it uses, which become its common structs. Facts that the fields of these
structs omit depend on the message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kwirec.diagnostics import codes
from kwirec.diagnostics.diagnostic import Report
from kwirec.frontend.krammar_messages import flexible_versions, open_versions
from kwirec.frontend.krammar_types import ENUM
from kwirec.frontend.syntax import (
    Document,
    EnumDecl,
    FieldDecl,
    MessageDecl,
    NamedStruct,
    Spanned,
    StructDecl,
    TypeExpr,
    all_field_decls,
    ranges,
    walk_field_decls,
)
from kwirec.versions import VersionRange


@dataclass(frozen=True)
class _Known:
    """A named struct, and the index of its file and its offset in the file as ``place``."""

    struct: NamedStruct
    place: tuple[int, int]


def link(documents: Iterable[Document], report: Report) -> tuple[Document, ...]:
    """Return the documents with structs and enums added to the messages that use them. JSON files are not changed."""
    documents = tuple(documents)
    if not any(document.notation == "krammar" for document in documents):
        return documents
    linker = _Linker(documents, report)
    linked = tuple(map(linker.document, range(len(documents))))
    linker.report_unused()
    return linked


class _Linker:
    def __init__(self, documents: Sequence[Document], report: Report) -> None:
        self._documents = documents
        self._report = report
        self._used: set[tuple[int, int]] = set()
        self._structs: dict[str, _Known] = {}
        self._local: dict[tuple[int, str], _Known] = {}
        self._enums: Mapping[str, EnumDecl] = {
            enum.name.value: enum for document in reversed(documents) for enum in document.enums
        }
        for number, document in enumerate(documents):
            for struct in document.structs:
                self._define(struct, number)

    def _define(self, struct: NamedStruct, number: int) -> None:
        """Define a struct for its file, and for all files if its name is new. Report a second struct of the same name
        in the file or, in franz-go's dialect, in any file.
        """
        known = _Known(struct, (number, struct.span.start))
        local = self._local.setdefault((number, struct.name.value), known)
        first = self._structs.setdefault(struct.name.value, known)
        if local is not known or (struct.franz_go and first is not known):
            self._report.add(
                codes.STRUCT_REDEFINED,
                f"struct `{struct.name.value}` is defined twice",
                struct.name.span,
                label="defined again here",
                others=[((local if local is not known else first).struct.name.span, "first defined here")],
                helps=["give one of them another name"],
            )

    def document(self, number: int) -> Document:
        document = self._documents[number]
        if document.notation != "krammar":
            return document
        messages = tuple(self._message(message, number) for message in document.messages)
        return replace(document, messages=messages, structs=())

    def _message(self, message: MessageDecl, number: int) -> MessageDecl:
        common = self._common_structs(message, number)
        if any(one.type.name.startswith(ENUM) for one in all_field_decls(message.fields, common)):
            common = tuple(replace(struct, fields=self._typed(struct.fields)) for struct in common)
            message = replace(message, fields=self._typed(message.fields or ()))
        message = replace(message, common_structs=common)
        if message.valid_versions is not None or message.type.value != "data":
            return message
        highest = max(_numbers(message), default=0)
        return replace(message, valid_versions=Spanned(VersionRange(0, highest), message.name.span))

    def _common_structs(self, message: MessageDecl, number: int) -> tuple[StructDecl, ...]:
        """Return the message's own common structs and copies of the named structs that it uses, in source order."""
        found = {struct.name.value: ((number, struct.span.start), struct) for struct in message.common_structs}
        inline = {one.type.name for one in walk_field_decls(message.fields) if one.fields is not None}
        pending = [((number, message.span.start), message.fields or ())]
        pending += [(place, struct.fields) for place, struct in found.values()]
        while pending:
            place, fields = pending.pop()
            for one in walk_field_decls(fields):
                name = one.type.name
                known = self._local.get((place[0], name)) or self._structs.get(name)
                if known is None or one.fields is not None or name in found or name in inline:
                    continue
                self._report_use(known, one, message, place)
                struct = known.struct.build(open_versions(message), flexible_versions(message))
                found[name] = (known.place, struct)
                pending.append((known.place, struct.fields))
        return tuple(struct for _, struct in sorted(found.values(), key=lambda item: item[0]))

    def _report_use(self, known: _Known, use: FieldDecl, message: MessageDecl, place: tuple[int, int]) -> None:
        struct = known.struct
        name = struct.name.value
        self._used.add(known.place)
        if known.place > place:
            self._report.add(
                codes.USED_BEFORE_DEFINED,
                f"struct `{name}` is used before it is defined",
                use.type.name_span,
                others=[(struct.name.span, "defined here")],
                helps=[
                    "move the definition up: franz-go reads files in the order of their names, each from its " "start"
                ],
            )
        if struct.franz_go and not struct.is_flexible and flexible_versions(message):
            self._report.add(
                codes.WRONG_IN_FRANZ_GO,
                f"franz-go writes the strings of struct `{name}` with classic lengths in flexible messages",
                struct.name.span,
                others=[(use.type.name_span, "a flexible message uses it")],
                helps=["add `flexible vN+` to the struct"],
            )

    def _typed(self, fields: Iterable[FieldDecl]) -> tuple[FieldDecl, ...]:
        """Return the fields with enums replaced by their integer types. A later pass reports unknown enums."""
        return tuple(
            replace(
                one,
                type=self._integer(one.type) if one.type.name.startswith(ENUM) else one.type,
                fields=None if one.fields is None else self._typed(one.fields),
            )
            for one in fields
        )

    def _integer(self, written: TypeExpr) -> TypeExpr:
        enum = self._enums.get(written.name.removeprefix(ENUM))
        return replace(written, name="int8" if enum is None else enum.value_type.value)

    def report_unused(self) -> None:
        """Report structs that no message uses. They are left out of the protocol."""
        for (_, name), known in self._local.items():
            if known.place not in self._used:
                what = f"no message uses struct `{name}`: it is left out"
                self._report.add(codes.STRUCT_LEFT_OUT, what, known.struct.name.span)


def _numbers(message: MessageDecl) -> Iterator[int]:
    """Yield the versions that a message and its fields mention. The highest is the default for ``max version``."""
    nodes: tuple[MessageDecl | StructDecl | FieldDecl, ...] = (message, *message.common_structs)
    for node in (*nodes, *all_field_decls(message.fields, message.common_structs)):
        for _, written in ranges(node):
            if written.value:
                yield written.value.low if written.value.is_open else written.value.high
