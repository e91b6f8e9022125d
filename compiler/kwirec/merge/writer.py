"""Drafts → definition files.

A field is one line, or more if its descriptions are long; sub-fields are indented by two. Structs that only one field
uses are inline, the others in ``commonStructs``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kwirec.ir.literals import default_literal
from kwirec.merge.draft import FieldDraft, MessageDraft
from kwirec.versions import VersionRange

WIDTH = 118


def definition_text(draft: MessageDraft) -> str:
    """The whole file for one message, its leading comment included. ``ValueError`` when ranges have gaps."""
    return "\n".join(_Writer(draft).lines()) + "\n"


class _Writer:
    def __init__(self, draft: MessageDraft) -> None:
        self._draft = draft
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
        yield "{"
        for key, value in self._head():
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
                versions = self._range(self._usage[struct.name])
                yield f'    {{ "name": {_json(struct.name)}, "versions": "{versions}",'
                yield f'      "about": {_json(struct.doc)}, "fields": ['
                yield from self._fields(struct.fields, "      ")
                yield "    ]}" + ("" if struct is common[-1] else ",")
            yield "  ]"
        yield "}"

    def _head(self) -> Iterator[tuple[str, object]]:
        draft = self._draft
        if draft.api_key is not None:
            yield "apiKey", draft.api_key
        yield "type", draft.kind.value
        if draft.listeners:
            yield "listeners", draft.listeners
        yield "name", draft.name
        if draft.aliases:
            yield "aliases", draft.aliases
        yield "about", draft.doc
        yield "validVersions", str(VersionRange.covering(draft.valid))
        if draft.deprecated:
            yield "deprecatedVersions", str(VersionRange.covering(draft.deprecated))
        if draft.latest_unstable:
            yield "latestVersionUnstable", True
        if draft.valid:
            yield "flexibleVersions", self._range(draft.flexible)

    def _range(self, versions: frozenset[int]) -> str:
        """The range of exactly these versions, open if it ends with the newest version of the message."""
        return str(VersionRange.covering(versions, open_at=max(self._draft.valid, default=0)))

    def _fields(self, fields: list[FieldDraft], indent: str) -> Iterator[str]:
        for one in fields:
            yield from self._field(one, indent, last=one is fields[-1])

    def _field(self, one: FieldDraft, indent: str, *, last: bool) -> Iterator[str]:
        struct = self._draft.structs[one.struct_name] if one.struct_name in self._inline else None
        parts = [f"{_json(key)}: {_json(value)}" for key, value in self._attributes(one)]
        parts += [f'"about": {_json(one.doc)}'] if one.doc else []
        parts += [f'"structAbout": {_json(struct.doc)}'] if struct and struct.doc else []
        end = "}" if last else "},"
        if struct is None:
            yield from _fill(parts, indent, f" {end}")
        else:
            yield from _fill([*parts, '"fields": ['], indent, "")
            yield from self._fields(struct.fields, indent + "  ")
            yield f"{indent}]{end}"

    def _attributes(self, one: FieldDraft) -> Iterator[tuple[str, object]]:
        yield "name", one.name
        yield "type", str(one.type)
        if one.tagged != one.live:
            yield "versions", self._range(one.live)
        if one.tagged:
            yield "taggedVersions", self._range(one.tagged)
            yield "tag", one.tag
        if one.nullable:
            yield "nullableVersions", self._range(one.nullable)
        if one.classic:
            flexible = (one.live & self._draft.flexible) - one.classic
            yield "flexibleVersions", self._range(flexible)
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
            yield "aliases", one.aliases
        if one.since:
            yield "since", one.since

    def _reaches_itself(self, name: str) -> bool:
        reached: set[str | None] = set()
        pending = [name]
        while pending:
            inner = {field.struct_name for field in self._draft.structs[pending.pop()].fields} - reached
            reached |= inner
            pending += [struct for struct in inner if struct in self._draft.structs]
        return name in reached


def _fill(parts: list[str], indent: str, closing: str) -> Iterator[str]:
    """``{ part, part, …`` on as many lines as the width requires."""
    line = f"{indent}{{"
    for part in parts:
        end = closing if part is parts[-1] else ","
        if part is not parts[0] and len(line) + len(part) + len(end) + 1 > WIDTH:
            yield line
            line = f"{indent} "
        line += f" {part}{end}"
    yield line


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
