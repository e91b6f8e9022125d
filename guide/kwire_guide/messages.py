"""The page of a message: the variables of its template and the data of its script."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from kwire.trace import Span, value_text
from kwire_guide.changes import VersionChange, changes
from kwire_guide.examples import Example, Examples
from kwire_guide.fields import FieldRow, Names, field_rows
from kwire_guide.former import former
from kwire_guide.grammar import grammar
from kwire_guide.kips import kips_of
from kwire_guide.releases import Grid, Releases, in_words
from kwire_guide.remarks import remarks
from kwire_guide.rows import Row, all_rows
from kwirec.emitters.compat_matrix import MessageMatrix
from kwirec.emitters.release_facts import version_facts
from kwirec.guide import part_of
from kwirec.ir.schema import Message, MessageKind
from kwirec.lowering import Layouts, MessageLayout
from kwirec.versions import VersionRange, runs_text

SHORT = 12
"""Maximum number of rows in a layout whose grammar is not folded."""

SIGNS = {
    "joined": "same bytes as the version before",
    "flexible": "flexible",
    "deprecated": "deprecated",
    "unstable": "unstable",
    "removed": "removed",
    "not published": "not published",
}
"""Meanings of the signs in the version bar."""

TAGGED = "tagged fields"
"""The name of a section of tagged fields in the path of a span."""

KAFKA = "kwire_kafka"
"""The package that `kwire decode` uses by default."""
_PLAIN = """\
message = {name}.decode(bytes.fromhex("{hex}"), {version})
data = message.encode({version})"""
_REQUEST = """\
payload = bytes.fromhex("{hex}")
request = PROTOCOL.decode_request(payload).expect({name})
again = PROTOCOL.encode_request(request, {version}, correlation_id=7, client_id="me")"""
_RESPONSE = """\
payload = bytes.fromhex("{hex}")
response = PROTOCOL.decode_response(payload, api_key={key}, version={version}).expect({name})
again = PROTOCOL.encode_response(response, {version}, correlation_id=7)"""


@dataclass(frozen=True)
class LayoutView:
    """The layout that one or more ``versions`` share: its grammar as text, and one row per field."""

    layout: MessageLayout
    versions: tuple[int, ...]
    rows: tuple[Row, ...]
    grammar: str

    @property
    def range(self) -> str:
        return runs_text(self.versions)


@dataclass(frozen=True)
class VersionView:
    """A version, with its facts on one line. ``joined`` is true if the previous version has the same bytes."""

    version: int
    layout: int
    header: int | None
    flexible: bool
    status: str
    releases: str
    fingerprint: str
    joined: bool

    @property
    def facts(self) -> str:
        header = "no header" if self.header is None else f"header {self.header}"
        kind = "flexible" if self.flexible else "not flexible"
        releases = f"; releases {self.releases}" if self.releases else ""
        return f"{header}, {kind}, {self.status}{releases}"


@dataclass(frozen=True)
class MessageView:
    """Everything that a page shows about a message. ``former`` describes how its versions differed in past releases.
    ``first`` maps API versions to the first releases that accepted them. ``errors`` maps error codes to their names.
    ``names`` finds the fields that texts mention.
    """

    message: Message
    part: str
    fields: Sequence[FieldRow]
    layouts: Sequence[LayoutView]
    examples: Mapping[int, Example]
    versions: Sequence[VersionView]
    changes: Sequence[VersionChange]
    remarks: Mapping[int, Sequence[str]]
    matrix: MessageMatrix
    grid: Grid
    former: Sequence[str]
    first: Mapping[int, str]
    errors: Mapping[str, str]
    names: Names
    package: str = ""

    @property
    def name(self) -> str:
        return self.message.name

    @cached_property
    def newest(self) -> VersionView:
        """The newest stable or deprecated version, or the newest version if there is none."""
        stable = [one for one in self.versions if one.status in ("stable", "deprecated")]
        return (stable or list(self.versions))[-1]

    @property
    def newest_layout(self) -> LayoutView:
        return self.layouts[self.newest.layout]

    @property
    def newest_example(self) -> Example:
        return self.examples[self.newest.version]

    @cached_property
    def distinct_examples(self) -> Sequence[Example]:
        """All examples without duplicates. Several versions may share an example."""
        return list({id(one): one for one in self.examples.values()}.values())

    @cached_property
    def newest_rows(self) -> Mapping[str, Row]:
        return {row.place: row for row in self.newest_layout.rows}

    @property
    def runs(self) -> Sequence[VersionRange]:
        return self.matrix.runs

    @cached_property
    def lost(self) -> Sequence[tuple[str, VersionRange, str]]:
        """Fields that some versions lack, with the versions that have them and the effect of writing a version
        without them."""
        partial = self.matrix.fields_of_some_versions()
        return [(path.replace("[]", ""), versions, effect) for path, versions, effect in partial]

    @property
    def signs(self) -> Sequence[tuple[str, str]]:
        """The signs in the version bar, as CSS classes with their meanings, in the order of :data:`SIGNS`."""
        has = {one.status for one in self.versions}
        has |= {sign for one in self.versions for sign in ("joined", "flexible") if getattr(one, sign)}
        return [(sign.replace(" ", "-"), meaning) for sign, meaning in SIGNS.items() if sign in has]

    @property
    def is_long(self) -> bool:
        """Whether the grammar is folded because it has many fields."""
        return len(self.newest_layout.rows) > SHORT

    @cached_property
    def texts(self) -> Sequence[Sequence[tuple[str, str, str]]]:
        """The description of each field as pieces of text, with links to the fields that it names."""
        return [list(self.names.pieces(one.doc, self.part, one.place)) for one in self.fields]

    def said(self, text: str) -> Sequence[tuple[str, str, str]]:
        """Return another text about the message as pieces, as in ``texts``."""
        return list(self.names.pieces(text, self.part))

    def remarked_kips(self, version: int) -> set[int]:
        """Return the numbers of the KIPs that are named, and therefore linked, in the remarks about a version."""
        return kips_of(self.remarks.get(version, ()))

    @property
    def source(self) -> str:
        """The text of the definition."""
        return self.message.decl.span.source.text[self.message.decl.span.start : self.message.decl.span.end]

    @property
    def file(self) -> str:
        """The file name of the definition."""
        return PurePosixPath(self.message.decl.span.source.name.replace("\\", "/")).name

    def python(self, package: str, module: str) -> str:
        """Return Python code that decodes and encodes the example with the generated package."""
        example = self.newest_example
        use = {MessageKind.REQUEST: _REQUEST, MessageKind.RESPONSE: _RESPONSE}.get(self.message.kind, _PLAIN)
        text = (use if example.body else _PLAIN).format(
            name=self.name, version=example.version, key=self.message.api_key, hex=example.data.hex()
        )
        protocol = f"from {package} import PROTOCOL\n" if "PROTOCOL" in text else ""
        return f"{protocol}from {package}.{module} import {self.name}\n\n{text}"

    @property
    def data(self) -> str:
        """The data for the script, as JSON. Fields are given as indexes into ``fields``, or as -1 for spans without
        a field. Types are given as indexes into ``kinds``. The script reads the newest example from the page.
        """
        kinds: dict[str, int] = {}
        index = {field.place: number for number, field in enumerate(self.fields)}
        layouts = [
            {
                "versions": one.range,
                "rows": [
                    [index[row.place], kinds.setdefault(row.shown, len(kinds)), row.size, row.depth]
                    for row in one.rows
                ],
            }
            for one in self.layouts
        ]
        number = {id(one): at for at, one in enumerate(self.distinct_examples)}
        versions = {
            one.version: [one.layout, one.facts, number[id(self.examples[one.version])]] for one in self.versions
        }
        found = {
            "newest": self.newest.version,
            "versions": versions,
            "examples": [
                self._example(one, index, kinds, shown=one is self.newest_example) for one in self.distinct_examples
            ],
            "kinds": list(kinds),
            "layouts": layouts,
        }
        return json.dumps(found, separators=(",", ":"), ensure_ascii=True)

    def _example(
        self, example: Example, index: Mapping[str, int], kinds: dict[str, int], shown: bool
    ) -> dict[str, object]:
        """Return an example, or only its command and the field of each span if the page already shows the example.

        Spans have no end, because there are no gaps between them. Headings, which have no bytes, start at -1. The
        name of a span is 0 if it equals the name of its field.
        """
        found = list(fields_of_spans(example, index))
        command = self.command(example)
        if shown:
            return {"command": command, "fields": [field for _, field in found]}
        spans = []
        for span, field in found:
            name = 0 if field >= 0 and span.name == self.fields[field].name else span.name
            start = span.start if span.end > span.start else -1
            spans.append([start, span.depth, name, kinds.setdefault(span.kind, len(kinds)), self.value(span), field])
        return {"command": command, "origin": example.origin, "hex": example.data.hex(), "spans": spans}

    def command(self, example: Example) -> str:
        """Return the command that decodes an example. The script of the page appends the bytes. A body without a
        header requires other options."""
        kafka = self.package == KAFKA or (not self.package and bool(example.body))
        start = "kwire decode" if kafka else f"kwire decode --protocol {self.package or 'PACKAGE'}"
        if not example.body:
            return f"{start} --message {self.name} --version {example.version}"
        if self.message.kind is MessageKind.REQUEST:
            return f"{start} --payload"
        api = self.name.removesuffix("Response")
        return f"{start} --payload --response --api-key {api} --version {example.version}"

    def value(self, span: Span) -> str:
        """Return the value of a span, followed by the value's name if the field has an enum or is an error code."""
        is_error = span.kind == "int16" and span.name.endswith("error_code")
        place = place_of_span(span, self._names) if self._names else ""
        names = self.errors if is_error else self._names.get(place, {})
        text = value_text(span)
        return f"{text}  {names[text]}" if text in names else text

    @cached_property
    def _names(self) -> Mapping[str, Mapping[str, str]]:
        """The names of field values, by place and value."""
        return {one.place: {str(v.value): v.name for v in one.enum.values} for one in self.fields if one.enum}


def fields_of_spans(example: Example, index: Mapping[str, int]) -> Iterator[tuple[Span, int]]:
    """Yield every span with the index of its field, or -1 for headers and headings."""
    for number, span in enumerate(example.spans):
        yield span, index.get(place_of_span(span, index), -1) if number >= example.body else -1


def place_of_span(span: Span, places: Container[str]) -> str:
    """Return the place of the field or records that contain a span, or an empty string if there is none."""
    parts = [part.partition("[")[0] for part in span.path.split(".") if part != TAGGED]
    while parts and ".".join(parts) not in places:
        parts.pop()
    return ".".join(parts)


def message_view(
    message: Message,
    layouts: Layouts,
    matrix: MessageMatrix,
    releases: Releases,
    examples: Examples,
    errors: Mapping[str, str],
    names: Names,
    package: str = "",
) -> MessageView:
    by_version = layouts.by_message[message.name]
    rows_of = all_rows(by_version)
    distinct = list(rows_of)
    having = {one: tuple(version for version, layout in by_version.items() if layout == one) for one in distinct}
    found = []
    for one, lines in rows_of.items():
        versions = having[one]
        title = f"{message.name} ({'Version' if len(versions) == 1 else 'Versions'} {runs_text(versions)})"
        text = "\n".join(grammar(one, lines, title))
        found.append(LayoutView(one, versions, lines, text))
    return MessageView(
        message=message,
        part=part_of(message),
        fields=field_rows(message),
        layouts=found,
        examples=examples.of(message),
        versions=list(_versions(matrix, distinct, releases)),
        changes=changes(by_version, rows_of),
        remarks=remarks(message.decl, by_version),
        matrix=matrix,
        grid=releases.grid(matrix),
        former=list(former(message, by_version, releases.history)),
        first={version: releases.first(message.api_key, version) for version in by_version} if message.is_rpc else {},
        errors=errors,
        names=names,
        package=package,
    )


def _versions(matrix: MessageMatrix, distinct: list[MessageLayout], releases: Releases) -> Iterator[VersionView]:
    before = -1
    for facts in version_facts(matrix.message, matrix.layouts, releases.history):
        version = int(str(facts["version"]))
        layout = distinct.index(matrix.shapes[version].layout)
        header = facts["header"]
        yield VersionView(
            version=version,
            layout=layout,
            header=header if isinstance(header, int) else None,
            flexible=bool(facts["flexible"]),
            status=str(facts["status"]),
            releases=in_words(str(facts["releases"] or "")),
            fingerprint=str(facts["layout"]),
            joined=layout == before,
        )
        before = layout
