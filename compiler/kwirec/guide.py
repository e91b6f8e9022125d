"""Links to messages, versions, fields and enums in the protocol guide [docs/guide.md#links]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kwire_rules.guide import message_place
from kwirec.diagnostics.diagnostic import Diagnostic
from kwirec.emitters.modules import module_path
from kwirec.ir.schema import Field, Message, MessageKind, Schema, Struct, StructType, base_type
from kwirec.naming import python_name, python_path
from kwirec.versions import VersionRange

PARTS = {
    MessageKind.REQUEST: "request",
    MessageKind.RESPONSE: "response",
    MessageKind.COORDINATOR_KEY: "key",
    MessageKind.COORDINATOR_VALUE: "value",
}
"""The name of the page part that shows messages of each kind. Anchors begin with this name:
``#request-v12.topics``.
"""


def part_of(message: Message) -> str:
    """Return the prefix of a message's anchors."""
    named = python_name(message.name) if message.kind is MessageKind.HEADER else "message"
    return PARTS.get(message.kind, named)


def place_of(message: Message, version: int | None = None, before: int | None = None, *, field: str = "") -> str:
    """Return the link to a message, to one of its versions, or to the changes from version ``before`` to ``version``.

    If ``field``, a path in snake case, is given, the link leads to this field. An example is
    ``api/fetch.html#request-v16-vs-11.topics.partitions``.
    """
    return message_place(module_path(message), part_of(message), version, before, field)


def field_place(message: Message, path: str) -> str:
    """Return the place of a field: ``topics.partitions`` for the path ``Topics.Partitions``.

    If the path begins with a common struct, return the place in the first field of that type. Return ``""`` if the
    page does not show the field.
    """
    first, _, rest = path.partition(".")
    places = {place: base_type(field.type) for place, field, _ in field_places(message)}
    owners = [place for place, type_ in places.items() if type_ == StructType(first)]
    candidates = [python_path(path), *(f"{owner}.{python_path(rest)}" if rest else owner for owner in owners)]
    return next((place for place in candidates if place in places), "")


def field_places(
    message: Message, struct: Struct | None = None, versions: VersionRange | None = None, prefix: str = ""
) -> Iterator[tuple[str, Field, VersionRange]]:
    """Yield the place, field and versions of each field that some version has. Outer fields precede inner fields."""
    for field in (struct or message.root).fields:
        if live := field.versions.intersect(message.valid if versions is None else versions):
            place, base = f"{prefix}{python_name(field.name)}", base_type(field.type)
            yield place, field, live
            if isinstance(base, StructType):
                yield from field_places(message, message.struct(base.name), live, f"{place}.")


def anchor(text: str) -> str:
    """Return a text as an HTML ``id`` and link target of ASCII letters, digits, ``.``, ``_`` and ``-``."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._") else "-" for c in text)


def enum_place(enum: str, value: str | None = None) -> str:
    """Return the link to an enum or one of its values: ``enums.html#IsolationLevel.READ_COMMITTED``."""
    return f"enums.html#{anchor(enum)}{f'.{anchor(value)}' if value else ''}"


def linked(diagnostics: Iterable[Diagnostic], schema: Schema, base: str) -> Iterator[Diagnostic]:
    """Yield the findings. A finding links to its subject if the guide at ``base`` has a page for the subject."""
    messages = {message.name: message for message in schema.messages if message.valid}
    enums = {enum.name: {value.name for value in enum.values} for enum in schema.enums}
    for one in diagnostics:
        name, path = one.message_name or "", one.field_path
        if name in messages:
            here = place_of(messages[name], field=field_place(messages[name], path) if path else "")
        else:
            here = enum_place(name, path if path in enums[name] else None) if name in enums else ""
        yield replace(one, guide=f"{base}{here}") if here else one
