"""Writes drafts as definition files. A struct is inline if only one field uses it, and otherwise in
``commonStructs``.
"""

from __future__ import annotations

from kwirec import json_text
from kwirec.frontend.json_writer import list_item, with_comments
from kwirec.ir.literals import default_literal
from kwirec.merge.draft import FieldDraft, MessageDraft, StructDraft
from kwirec.versions import VersionRange, runs_by


def definition_text(draft: MessageDraft) -> str:
    """Return the definition file of a message with its leading comment. Raises ``ValueError`` if a range has gaps."""
    text = json_text.definition_text(_Writer(draft).definition())
    return f"{draft.comment}\n{text}" if draft.comment else text


class _Writer:
    def __init__(self, draft: MessageDraft) -> None:
        self._draft = draft
        self._inline = {name for name in draft.structs if name != draft.name and len(list(draft.users(name))) == 1}
        self._usage = draft.usage()

    def definition(self) -> dict[str, object]:
        draft = self._draft
        common = [s for s in draft.structs.values() if s.name != draft.name and s.name not in self._inline]
        values = _present(
            **self._head(),
            fields=self._fields(draft.root.fields),
            commonStructs=list(map(self._common, common)) or None,
        )
        return with_comments(values, draft.comments)

    def _common(self, struct: StructDraft) -> object:
        versions = self._range(self._usage[struct.name])
        values = _present(name=struct.name, versions=versions, about=struct.doc, fields=self._fields(struct.fields))
        return list_item(with_comments(values, struct.comments), struct.comments)

    def _head(self) -> dict[str, object]:
        draft = self._draft
        return _present(
            apiKey=draft.api_key,
            type=draft.kind.value,
            listeners=draft.listeners or None,
            sentTo=draft.sent_to,
            name=draft.name,
            aliases=draft.aliases or None,
            about=draft.doc,
            validVersions=str(VersionRange.covering(draft.valid)),
            deprecatedVersions=str(VersionRange.covering(draft.deprecated)) if draft.deprecated else None,
            latestVersionUnstable=draft.latest_unstable or None,
            flexibleVersions=self._range(draft.flexible) if draft.valid else None,
            headerVersions=self._headers() if draft.unusual_headers else None,
        )

    def _headers(self) -> dict[str, str]:
        headers = self._draft.headers
        runs = runs_by(sorted(self._draft.valid), headers.__getitem__)
        return {self._range(frozenset(run)): str(headers[run[0]]) for run in runs}

    def _range(self, versions: frozenset[int]) -> str:
        """Return the range of exactly these versions, open-ended if it includes the newest message version."""
        return str(VersionRange.covering(versions, open_at=max(self._draft.valid, default=0)))

    def _fields(self, fields: list[FieldDraft]) -> list[object]:
        return [list_item(with_comments(self._field(field), field.comments), field.comments) for field in fields]

    def _field(self, field: FieldDraft) -> dict[str, object]:
        struct = self._draft.structs[field.struct_name] if field.struct_name in self._inline else None
        flexible = (field.live & self._draft.flexible) - field.classic
        return _present(
            name=field.name,
            type=str(field.type),
            versions=self._range(field.live) if field.tagged != field.live else None,
            taggedVersions=self._range(field.tagged) if field.tagged else None,
            tag=field.tag if field.tagged else None,
            nullableVersions=self._range(field.nullable) if field.nullable else None,
            flexibleVersions=self._range(flexible) if field.classic else None,
            default=default_literal(field.default),
            enum=field.enum,
            ignorable=field.ignorable or None,
            mapKey=field.map_key or None,
            entityType=field.entity_type or None,
            zeroCopy=field.zero_copy or None,
            aliases=field.aliases or None,
            since=field.since or None,
            about=field.doc or None,
            structAbout=(struct and struct.doc) or None,
            fields=self._fields(struct.fields) if struct else None,
        )


def _present(**values: object) -> dict[str, object]:
    """Return the values that are not ``None``."""
    return {name: value for name, value in values.items() if value is not None}
