"""The index of the search box: all messages, fields, enums, errors, types, releases, KIPs and headings.

The index is a script, because pages that are opened from the file system can only load scripts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import IntEnum

from kwire_guide.inputs import Inputs
from kwire_guide.pages import Kind, MessagePage, OtherPage
from kwire_guide.prose import Prose
from kwire_guide.tables import uses
from kwire_guide.types import TypeRow
from kwirec.lowering.headers import header_versions
from kwirec.versions import runs_text


class Group(IntEnum):
    """The groups of search results."""

    CHAPTER = 0
    API = 1
    TABLE = 2
    FIELD = 3
    ERROR = 4
    DOCUMENT = 5


Entry = tuple[str, str, str, str, str, int, Group]
"""An entry: its path with anchor, name, location, further search words, text, weight and group."""


def search_script(inputs: Inputs, pages: Sequence[MessagePage], others: Sequence[OtherPage]) -> str:
    """Return a script that sets ``window.kwireSearch`` to the entries, fields, synonyms and request headers."""
    entries = [
        *_messages(pages),
        *_enums(inputs, pages),
        *_errors(inputs),
        *_prose(inputs),
        *_tables(others),
        *_kips(inputs, pages),
    ]
    content = {
        "entries": list(_shortened(entries)),
        "fields": dict(_fields(pages)),
        "synonyms": inputs.synonyms,
        "apis": dict(_headers(pages)),
    }
    return f"window.kwireSearch = {json.dumps(content, ensure_ascii=True, separators=(',', ':'))};\n"


def _shortened(entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yield the entries. If an entry is on the same page as the previous entry, replace its path with its anchor."""
    before = ""
    for entry in entries:
        page, sign, anchor = entry[0].partition("#")
        yield (sign + anchor if sign and page == before else entry[0], *entry[1:])
        before = page


def _messages(pages: Sequence[MessagePage]) -> Iterator[Entry]:
    for page in pages:
        docs = " ".join(one.message.doc for one in page.messages)
        names = " ".join(name for one in page.messages for name in (one.name, *one.message.aliases))
        key = f"api key {page.key}" if page.key is not None else ""
        yield page.path, page.title, page.folder, f"{names} {key}", docs, 4, Group.API


def _fields(pages: Sequence[MessagePage]) -> Iterator[tuple[str, tuple[str, Sequence[tuple[str, str, str]]]]]:
    """Yield each message's anchor prefix, its name, and the place, former names and description of each field. The
    search script makes an entry of each field.
    """
    for page in pages:
        for view in page.messages:
            rows = [(field.place, " ".join(field.former), field.doc) for field in view.fields]
            yield f"{page.path}#{view.part}.", (view.name, rows)


def _headers(pages: Sequence[MessagePage]) -> Iterator[tuple[int, tuple[str, str, int, str]]]:
    """Yield each API key with its page, name, oldest version, and the request header version of each version as a
    digit.
    """
    for page in pages:
        message = page.messages[0].message
        if page.kind is Kind.API and message.api_key is not None:
            headers = header_versions(message)
            digits = "".join(str(headers.get(version, "")) for version in message.valid)
            yield message.api_key, (page.path, page.title, message.valid.low, digits)


def _enums(inputs: Inputs, pages: Sequence[MessagePage]) -> Iterator[Entry]:
    users = uses(pages)
    for enum in inputs.schema.enums:
        named = " ".join(dict.fromkeys(name for name, _ in users.get(enum.name, ())))
        yield f"enums.html#{enum.name}", enum.name, "enum", named, enum.doc, 3, Group.TABLE
        for one in enum.values:
            place = f"enums.html#{enum.name}.{one.name}"
            yield place, one.name, f"in {enum.name}", f"{one.value} {named}".strip(), one.doc, 2, Group.TABLE


def _errors(inputs: Inputs) -> Iterator[Entry]:
    for one in inputs.errors:
        code = one.code.value
        names = " ".join([f"{code} error code {code}", *(alias.value for alias in one.aliases)])
        yield f"errors.html#{code}", one.name.value, f"error {code}", names, one.about.value, 4, Group.ERROR


def _prose(inputs: Inputs) -> Iterator[Entry]:
    for chapter in inputs.chapters:
        yield from _sections(chapter.path, chapter.prose, "guide", 3, Group.CHAPTER)
    for document in inputs.documents:
        yield from _sections(document.path, document.prose, "documentation", 2, Group.DOCUMENT)


def _sections(path: str, prose: Prose, where: str, weight: int, group: Group) -> Iterator[Entry]:
    yield path, prose.title, where, " ".join(prose.names), prose.about, weight, group
    for one in prose.headings:
        names = " ".join(one.names)
        yield f"{path}#{one.anchor}", one.title, f"in {prose.title}", names, one.text, max(weight - 1, 1), group


def _tables(others: Sequence[OtherPage]) -> Iterator[Entry]:
    for page in others:
        if page.kind is Kind.TABLE:
            yield page.path, page.title, "table", "", page.doc, 2, Group.TABLE
            types = page.content.get("types", ())
            for one in types if isinstance(types, Sequence) else ():
                assert isinstance(one, TypeRow)
                yield f"{page.path}#{one.name}", one.name, "type", "", one.meaning, 3, Group.TABLE
        elif page.kind is Kind.UPGRADE:
            for name in (page.title, *page.names):
                place = "release" if name == page.title else f"release, as {page.title}"
                more = " ".join(dict.fromkeys(("release upgrade", *_parts(page.names[0] if page.names else ""))))
                text = page.doc if name == page.title else ""
                yield page.path, name, place, more if name == page.title else "release upgrade", text, 3, Group.TABLE


def _parts(release: str) -> Iterator[str]:
    """Yield a release and its release line, such as ``4.0.1`` and ``4.0``."""
    yield release
    yield ".".join(release.split(".")[:2])


def _kips(inputs: Inputs, pages: Sequence[MessagePage]) -> Iterator[Entry]:
    """Yield an entry for every proposal, with its versions and its changes to releases."""
    found: dict[int, dict[str, list[int]]] = {}
    for page in pages:
        for view in page.messages:
            for one in view.versions:
                for number in page.proposals(view, one.version):
                    found.setdefault(number, {}).setdefault(view.name, []).append(one.version)
    changes = [(number, text) for kips in inputs.release_kips.values() for number, text in kips.items()]
    for number in sorted({*found, *(number for number, _ in changes)}):
        versions = ", ".join(f"{name} {runs_text(some)}" for name, some in found.get(number, {}).items())
        texts = [text for kip, text in changes if kip == number]
        yield (
            *(f"kips.html#KIP-{number}", f"KIP-{number}", "proposal", "kip"),
            *(" ".join(filter(None, [versions, *texts])), 3, Group.TABLE),
        )
