"""Places in the protocol guide: page and anchor of a message in a version, of a field and of an enum
[docs/guide.md#links]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kwire_rules.guide import message_place
from kwirec.diagnostics.diagnostic import Diagnostic
from kwirec.emitters.modules import module_path
from kwirec.ir.schema import Message, MessageKind, Schema, StructType, base_type
from kwirec.naming import python_name
from kwirec.versions import VersionRange

PARTS = {
    MessageKind.REQUEST: "request",
    MessageKind.RESPONSE: "response",
    MessageKind.COORDINATOR_KEY: "key",
    MessageKind.COORDINATOR_VALUE: "value",
}
"""The part of a page that a message is. Anchors begin with it: ``#request-v12.topics``."""


def part_of(message: Message) -> str:
    """What the anchors of a message begin with."""
    named = python_name(message.name) if message.kind is MessageKind.HEADER else "message"
    return PARTS.get(message.kind, named)


def place_of(message: Message, version: int | None = None, before: int | None = None, *, field: str = "") -> str:
    """A message, in a version, or what it changed since version ``before``; and a field, by its names in snake case:
    ``api/fetch.html#request-v16-vs-11.topics.partitions``."""
    return message_place(module_path(message), part_of(message), version, before, field)


def field_place(message: Message, path: str) -> str:
    """The place of a field whose path is ``Topics.Partitions``: ``topics.partitions``. A path that begins with a
    common struct leads to the first field of this struct that has it. Empty if the page does not have the field."""
    first, _, rest = path.partition(".")
    places = list(_places(message, message.root.name, message.valid, ""))
    owners = [place for place, struct in places if struct == first]
    wanted = [_snake(path), *(f"{owner}.{_snake(rest)}" if rest else owner for owner in owners)]
    shown = {place for place, _ in places}
    return next((place for place in wanted if place in shown), "")


def _snake(path: str) -> str:
    return ".".join(map(python_name, path.split(".")))


def _places(message: Message, struct: str, versions: VersionRange, prefix: str) -> Iterator[tuple[str, str]]:
    """The places of the fields that some version has, outer ones first, each with the name of its struct, if any."""
    for one in message.struct(struct).fields:
        if live := one.versions.intersect(versions):
            place, base = f"{prefix}{python_name(one.name)}", base_type(one.type)
            nested = base.name if isinstance(base, StructType) else ""
            yield place, nested
            if nested:
                yield from _places(message, nested, live, f"{place}.")


def anchor(text: str) -> str:
    """Text as an ``id`` and the end of a link: letters, digits, ``.``, ``_`` and ``-``."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in text)


def enum_place(enum: str, value: str | None = None) -> str:
    """An enum or one of its values: ``enums.html#IsolationLevel.READ_COMMITTED``."""
    return f"enums.html#{anchor(enum)}{f'.{anchor(value)}' if value else ''}"


def linked(diagnostics: Iterable[Diagnostic], schema: Schema, base: str) -> Iterator[Diagnostic]:
    """The findings, each with the address of what it is about, if the guide at ``base`` has a page for it."""
    messages = {message.name: message for message in schema.messages if message.valid}
    enums = {enum.name: {value.name for value in enum.values} for enum in schema.enums}
    for one in diagnostics:
        name, path = one.message_name or "", one.field_path
        if name in messages:
            here = place_of(messages[name], field=field_place(messages[name], path) if path else "")
        else:
            here = enum_place(name, path if path in enums[name] else None) if name in enums else ""
        yield replace(one, guide=f"{base}{here}") if here else one
