"""The index of the search box: an entry for each message, field, error, release, and heading of prose.

A script sets it, because pages that are opened as files can load scripts and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kwire_guide.inputs import Inputs
from kwire_guide.pages import Kind, MessagePage, OtherPage
from kwire_guide.prose import Prose

Entry = tuple[str, str, str, str, str, int]
"""Path with anchor, name, where it is, other words that find it, what it says, and how much it counts."""

MAX_TEXT = 400
"""The characters of a section of prose that are searched."""


def search_script(inputs: Inputs, pages: Sequence[MessagePage], others: Sequence[OtherPage]) -> str:
    """Return a script that sets ``window.kwireSearch`` to all entries."""
    entries = [*_messages(pages), *_enums(inputs), *_errors(inputs), *_prose(inputs), *_tables(others)]
    text = json.dumps(entries, ensure_ascii=True, separators=(",", ":"))
    return f"window.kwireSearch = {text};\n"


def _messages(pages: Sequence[MessagePage]) -> Iterator[Entry]:
    for page in pages:
        docs = " ".join(one.message.doc for one in page.messages)
        names = " ".join(one.name for one in page.messages)
        key = f"api key {page.key}" if page.key is not None else ""
        yield page.path, page.title, page.folder, f"{names} {key}", docs, 4
        for view in page.messages:
            for field in view.fields:
                place = f"{page.path}#{view.part}.{field.place}"
                yield place, field.name, f"in {view.name}", " ".join(field.former), field.doc, 1


def _enums(inputs: Inputs) -> Iterator[Entry]:
    for enum in inputs.schema.enums:
        yield f"enums.html#{enum.name}", enum.name, "enum", "", enum.doc, 3
        for one in enum.values:
            place = f"enums.html#{enum.name}.{one.name}"
            yield place, one.name, f"in {enum.name}", f"{one.value}", one.doc, 2


def _errors(inputs: Inputs) -> Iterator[Entry]:
    for one in inputs.errors:
        code = one.code.value
        names = " ".join([f"{code} error code {code}", *(alias.value for alias in one.aliases)])
        yield f"errors.html#{code}", one.name.value, f"error {code}", names, one.about.value, 4


def _prose(inputs: Inputs) -> Iterator[Entry]:
    for chapter in inputs.chapters:
        yield from _sections(chapter.path, chapter.prose, "guide", 3)
    for document in inputs.documents:
        yield from _sections(document.path, document.prose, "documentation", 2)


def _sections(path: str, prose: Prose, where: str, weight: int) -> Iterator[Entry]:
    yield path, prose.title, where, " ".join(prose.names), prose.about, weight
    for one in prose.headings:
        names, text = " ".join(one.names), one.text[:MAX_TEXT]
        yield f"{path}#{one.anchor}", one.title, f"in {prose.title}", names, text, weight - 1


def _tables(others: Sequence[OtherPage]) -> Iterator[Entry]:
    for page in others:
        if page.kind is Kind.TABLE:
            yield page.path, page.title, "tables", "", "", 2
        elif page.kind is Kind.UPGRADE:
            yield page.path, page.title, "release", f"release upgrade {page.title}", "", 2
            for name in page.names:
                yield page.path, name, f"release, as {page.title}", f"release upgrade {name}", "", 2
