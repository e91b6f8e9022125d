"""The fields of a message in all versions, as a tree for its page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kwirec.guide import field_places
from kwirec.ir.literals import default_literal, default_text
from kwirec.ir.schema import IMPLICIT, Enum, Field, Message, StructType, base_type
from kwirec.naming import python_name
from kwirec.versions import VersionRange

ENTITIES = {
    "brokerId": "id of a broker",
    "groupId": "id of a group",
    "producerId": "id of a producer",
    "topicName": "name of a topic",
    "transactionalId": "transactional id",
}
"""Descriptions of entity types."""

_NAMED = re.compile(r"(?<![\w.`])(?:[A-Z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*)(?![\w`])|`[^`\n]+`")
"""Matches code between backticks, and names of several words as spelled in definitions, such as ``MinBytes``."""


@dataclass(frozen=True)
class FieldRow:
    """A field of a message, with the facts that do not depend on the version.

    For tagged fields, ``default`` includes implicit defaults, because these determine whether the field is written.
    ``nullable`` is a note on the versions in which the field may be null. The note is empty if the field may be null
    in all of its versions or in none. ``notes`` lists short notes, each with the anchor of its explanation on the
    types page. ``former`` lists former names, and ``enum`` names the values.
    """

    place: str
    name: str
    depth: int
    versions: str
    default: str
    nullable: str
    doc: str
    struct_doc: str
    notes: tuple[tuple[str, str], ...]
    former: tuple[str, ...]
    enum: Enum | None


def field_rows(message: Message) -> list[FieldRow]:
    """Return the fields of all versions in wire order. Structs precede their fields, and tagged fields come last in
    their struct.
    """
    found = list(field_places(message))
    order: dict[str, tuple[tuple[int, int, int], ...]] = {"": ()}
    for number, (place, field, _) in enumerate(found):
        own = (0, 0, number) if field.tag is None else (1, field.tag, number)
        order[place] = (*order[place.rpartition(".")[0]], own)
    found.sort(key=lambda one: order[one[0]])
    return [_row(message, place, field, live) for place, field, live in found]


def _row(message: Message, place: str, field: Field, live: VersionRange) -> FieldRow:
    base = base_type(field.type)
    struct = message.struct(base.name) if isinstance(base, StructType) else None
    default = default_text(field) if field.tag is not None else str(default_literal(field.default) or "")
    return FieldRow(
        place=place,
        name=python_name(field.name),
        depth=place.count("."),
        versions=live.text_within(message.valid),
        default="" if field.default is IMPLICIT and field.tag is None else default,
        nullable=_nullable(field.nullable.intersect(live), live, message.valid),
        doc=field.doc,
        struct_doc=struct.doc if struct and not _repeats(struct.doc, field.doc) else "",
        notes=tuple(_notes(field)),
        former=tuple(map(python_name, field.aliases)),
        enum=field.enum,
    )


def _nullable(nullable: VersionRange, live: VersionRange, valid: VersionRange) -> str:
    if not nullable or nullable == live:
        return ""  # The type shows whether the field is nullable.
    if nullable.high == live.high:
        return f"null since {nullable.low}"
    return f"null in {nullable.text_within(valid)}"


def _repeats(text: str, other: str) -> bool:
    """Return whether either text begins with the other."""
    one, two = (found.casefold().rstrip(". ") for found in (text, other))
    return one.startswith(two) or two.startswith(one)


def _notes(field: Field) -> Iterator[tuple[str, str]]:
    name = python_name(field.name)
    for alias in map(python_name, field.aliases):
        if alias != name:
            yield f"formerly {alias}", "formerly"
    if field.entity_type and python_name(field.entity_type) != name:
        yield ENTITIES.get(field.entity_type, field.entity_type), "entity"
    if field.ignorable:
        yield "ignorable", "ignorable"
    if field.map_key:
        yield "map key", "map-key"
    if field.since:
        yield f"since {field.since}", "since"


class Names:
    """Finds the fields that texts mention by their names in definitions, such as ``MinBytes``. ``parts`` maps anchor
    prefixes to the messages of the page.
    """

    def __init__(self, parts: Mapping[str, Message]) -> None:
        self.places: dict[str, list[tuple[str, str]]] = {}
        for part, message in parts.items():
            for place, field, _ in field_places(message):
                for name in (field.name, *field.aliases):
                    self.places.setdefault(name, []).append((part, place))

    def pieces(self, text: str, part: str, place: str = "") -> Iterator[tuple[str, str, str]]:
        """Yield each piece of a text: its words, the anchor of the field that the words name or an empty string, and
        ``code`` for code or an empty string.

        If several fields have the same name, prefer fields of the message ``part``, and then the field that shares
        the most structs with ``place``.
        """
        at = 0
        for match in _NAMED.finditer(text):
            name = match[0].strip("`")
            found = self.places.get(name, ())
            if not found and not match[0].startswith("`"):
                continue
            yield text[at : match.start()], "", ""
            if found:
                best = max(found, key=lambda one: (one[0] == part, _shared(one[1], place), -len(one[1])))
                own = best == (part, place)
                yield python_name(best[1].rpartition(".")[2]), "" if own else ".".join(best), "code"
            else:
                yield name, "", "code"
            at = match.end()
        yield text[at:], "", ""


def _shared(one: str, other: str) -> int:
    """Return the number of fields that enclose both places. The second place counts as enclosing itself."""
    count = 0
    for a, b in zip(one.split(".")[:-1], other.split("."), strict=False):
        if a != b:
            break
        count += 1
    return count
