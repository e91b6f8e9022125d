"""Drafts → definition files: the one form in which definitions are written by a program.

A field takes one line, or more when its descriptions are long; sub-fields are indented by two. Structs used by
one field stand inline, the others in ``commonStructs``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kwirec.ir.literals import default_literal
from kwirec.merge.draft import FieldDraft, MessageDraft, range_of

WIDTH = 118


def definition_text(draft: MessageDraft) -> str:
    """The whole file for one message, its leading comment included. ``ValueError`` when ranges have gaps."""
    return "\n".join(_Writer(draft).lines()) + "\n"


class _Writer:
    def __init__(self, draft: MessageDraft) -> None:
        self._draft = draft
        self._top = max(draft.valid, default=0)
        self._inline = {
            name
            for name in draft.structs
            if name != draft.name and len(list(draft.users(name))) == 1 and not self._reaches_itself(name)
        }
        self._usage = draft.usage()

    def lines(self) -> Iterator[str]:
        draft = self._draft
        if draft.comment:
            yield draft.comment
        head: list[tuple[str, object]] = []
        if draft.api_key is not None:
            head.append(("apiKey", draft.api_key))
        head.append(("type", draft.kind.value))
        if draft.listeners:
            head.append(("listeners", list(draft.listeners)))
        head.append(("name", draft.name))
        if draft.aliases:
            head.append(("aliases", list(draft.aliases)))
        head.append(("about", draft.doc))
        head.append(("validVersions", str(range_of(draft.valid, -1))))
        if draft.deprecated:
            head.append(("deprecatedVersions", str(range_of(draft.deprecated, -1))))
        if draft.latest_unstable:
            head.append(("latestVersionUnstable", True))
        if draft.valid:
            head.append(("flexibleVersions", str(range_of(draft.flexible, self._top))))
        yield "{"
        for key, value in head:
            yield f"  {_json(key)}: {_json(value)},"
        common = [s for s in draft.structs.values() if s.name != draft.name and s.name not in self._inline]
        if not draft.root.fields:
            yield f'  "fields": []{"," if common else ""}'
        else:
            yield '  "fields": ['
            yield from self._fields(draft.root.fields, "    ")
            yield "  ]," if common else "  ]"
        if common:
            yield '  "commonStructs": ['
            for struct in common:
                last = struct is common[-1]
                versions = range_of(self._usage[struct.name], self._top)
                yield f'    {{ "name": {_json(struct.name)}, "versions": "{versions}",'
                yield f'      "about": {_json(struct.doc)}, "fields": ['
                yield from self._fields(struct.fields, "      ")
                yield "    ]}" + ("" if last else ",")
            yield "  ]"
        yield "}"

    def _fields(self, fields: list[FieldDraft], indent: str) -> Iterator[str]:
        for one in fields:
            yield from self._field(one, indent, last=one is fields[-1])

    def _field(self, one: FieldDraft, indent: str, *, last: bool) -> Iterator[str]:
        end = "" if last else ","
        attributes = [f"{_json(key)}: {_json(value)}" for key, value in self._attributes(one)]
        struct = self._draft.structs[one.struct_name] if one.struct_name in self._inline else None
        texts = [f'"about": {_json(one.doc)}'] if one.doc else []
        if struct is not None:
            texts += [f'"structAbout": {_json(struct.doc)}'] if struct.doc else []
            texts.append('"fields": [')
        closing = "" if struct is not None else f" }}{end}"
        lines = list(_fill(attributes + texts, indent, closing))
        yield from lines
        if struct is not None:
            yield from self._fields(struct.fields, indent + "  ")
            yield f"{indent}]}}{end}"

    def _attributes(self, one: FieldDraft) -> Iterator[tuple[str, object]]:
        yield "name", one.name
        yield "type", str(one.type)
        if one.tagged != one.live:
            yield "versions", str(range_of(one.live, self._top))
        if one.tagged:
            yield "taggedVersions", str(range_of(one.tagged, self._top))
            yield "tag", one.tag
        if one.nullable:
            yield "nullableVersions", str(range_of(one.nullable, self._top))
        if one.classic:
            flexible = (one.live & self._draft.flexible) - one.classic
            yield "flexibleVersions", str(range_of(flexible, self._top))
        if (default := default_literal(one.default)) is not None:
            yield "default", default
        if one.ignorable:
            yield "ignorable", True
        if one.map_key:
            yield "mapKey", True
        if one.entity_type:
            yield "entityType", one.entity_type
        if one.zero_copy:
            yield "zeroCopy", True
        if one.aliases:
            yield "aliases", list(one.aliases)
        if one.since:
            yield "since", one.since

    def _reaches_itself(self, name: str) -> bool:
        seen: set[str] = set()
        pending = [name]
        while pending:
            for one in self._draft.structs[pending.pop()].fields:
                if one.struct_name == name:
                    return True
                if one.struct_name in self._draft.structs and one.struct_name not in seen:
                    seen.add(str(one.struct_name))
                    pending.append(str(one.struct_name))
        return False


def _fill(parts: list[str], indent: str, closing: str) -> Iterator[str]:
    """``{ part, part, …`` over as many lines as the width asks for."""
    line = f"{indent}{{ "
    fresh = True
    for index, part in enumerate(parts):
        end = closing if index == len(parts) - 1 else ","
        glue = "" if fresh else " "
        if not fresh and len(line) + len(part) + len(end) + 1 > WIDTH:
            yield line
            line, glue = f"{indent}  ", ""
        line += glue + part + end
        fresh = False
    yield line


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
