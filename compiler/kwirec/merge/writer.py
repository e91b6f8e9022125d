"""Drafts → definition files.

A field is one line, or more if its descriptions are long; sub-fields are indented by two. Structs that only one field
uses are inline, the others in ``commonStructs``.
"""

from __future__ import annotations

from collections.abc import Iterator

from kwirec.ir.literals import default_literal
from kwirec.json_text import json_line
from kwirec.merge.draft import FieldDraft, MessageDraft, StructDraft
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
        for attribute in self._head():
            yield f"  {attribute},"
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
                yield f'    {{ "name": {json_line(struct.name)}, "versions": "{versions}",'
                yield f'      "about": {json_line(struct.doc)}, "fields": ['
                yield from self._fields(struct.fields, "      ")
                yield "    ]}" + ("" if struct is common[-1] else ",")
            yield "  ]"
        yield "}"

    def _head(self) -> list[str]:
        draft = self._draft
        return _attributes(
            apiKey=draft.api_key,
            type=draft.kind.value,
            listeners=draft.listeners or None,
            name=draft.name,
            aliases=draft.aliases or None,
            about=draft.doc,
            validVersions=str(VersionRange.covering(draft.valid)),
            deprecatedVersions=str(VersionRange.covering(draft.deprecated)) if draft.deprecated else None,
            latestVersionUnstable=draft.latest_unstable or None,
            flexibleVersions=self._range(draft.flexible) if draft.valid else None,
        )

    def _range(self, versions: frozenset[int]) -> str:
        """The range of exactly these versions, open if it ends with the newest version of the message."""
        return str(VersionRange.covering(versions, open_at=max(self._draft.valid, default=0)))

    def _fields(self, fields: list[FieldDraft], indent: str) -> Iterator[str]:
        for field in fields:
            struct = self._draft.structs[field.struct_name] if field.struct_name in self._inline else None
            attributes = self._field(field, struct)
            end = "}" if field is fields[-1] else "},"
            if struct is None:
                yield from _fill(attributes, indent, f" {end}")
            else:
                yield from _fill([*attributes, '"fields": ['], indent, "")
                yield from self._fields(struct.fields, indent + "  ")
                yield f"{indent}]{end}"

    def _field(self, field: FieldDraft, struct: StructDraft | None) -> list[str]:
        flexible = (field.live & self._draft.flexible) - field.classic
        return _attributes(
            name=field.name,
            type=str(field.type),
            versions=self._range(field.live) if field.tagged != field.live else None,
            taggedVersions=self._range(field.tagged) if field.tagged else None,
            tag=field.tag if field.tagged else None,
            nullableVersions=self._range(field.nullable) if field.nullable else None,
            flexibleVersions=self._range(flexible) if field.classic else None,
            default=default_literal(field.default),
            ignorable=field.ignorable or None,
            mapKey=field.map_key or None,
            entityType=field.entity_type or None,
            zeroCopy=field.zero_copy or None,
            aliases=field.aliases or None,
            since=field.since or None,
            about=field.doc or None,
            structAbout=(struct and struct.doc) or None,
        )

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


def _attributes(**values: object) -> list[str]:
    """``"name": value`` for each value that is not ``None``."""
    return [f"{json_line(name)}: {json_line(value)}" for name, value in values.items() if value is not None]
