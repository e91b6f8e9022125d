"""The index of the search box: an entry for each message, field, error, release and heading of a chapter.

A script sets it, because pages that are opened as files can load scripts and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwirec.guide.site import Inputs, Links, MessagePage

Entry = tuple[str, str, str, str, str, int]
"""Path with anchor, name, where it is, other words that find it, what it says, and how much it counts."""


def search_script(inputs: Inputs, pages: Sequence[MessagePage], nav: Sequence[Links]) -> str:
    """A script that sets ``window.kwireSearch`` to all entries."""
    entries = [*_messages(pages), *_enums(inputs), *_errors(inputs), *_chapters(inputs), *_upgrades(nav)]
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
                former = " ".join(chip.removeprefix("was ") for chip in field.chips if chip.startswith("was "))
                yield place, field.name, f"in {view.name}", former, field.doc, 1


def _enums(inputs: Inputs) -> Iterator[Entry]:
    for enum in inputs.schema.enums:
        yield f"enums.html#{enum.name}", enum.name, "enum", "", enum.doc, 3
        for one in enum.values:
            place = f"enums.html#{enum.name}.{one.name}"
            yield place, one.name, f"in {enum.name}", f"{one.value}", one.doc, 2


def _errors(inputs: Inputs) -> Iterator[Entry]:
    for one in inputs.errors:
        code = one.code.value
        yield f"errors.html#{code}", one.name.value, f"error {code}", f"{code} error code {code}", one.about.value, 4


def _chapters(inputs: Inputs) -> Iterator[Entry]:
    for chapter in inputs.chapters:
        yield chapter.path, chapter.title, "guide", "", chapter.about, 3
        for name, title in chapter.headings:
            yield f"{chapter.path}#{name}", title, f"in {chapter.title}", "", "", 2


def _upgrades(nav: Sequence[Links]) -> Iterator[Entry]:
    for group in nav:
        if group.title in ("Tables", "Upgrades"):
            for link in group.links:
                words = f"release upgrade {link.title}" if group.title == "Upgrades" else ""
                yield link.path, link.title, group.title.lower(), words, "", 2
