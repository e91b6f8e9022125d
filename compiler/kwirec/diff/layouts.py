"""Compares the bytes of two schemas, and finds which message versions differ and where they first differ.

Definitions can have any origin and notation. The comparison ignores names. It covers layouts [ARCHITECTURE: Three
ideas] and header versions. Two layouts have the same bytes if their texts are equal. A struct adds no bytes to the
bytes of its fields.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest

from kwirec.diff.pairing import pair_messages
from kwirec.ir import Message, Schema
from kwirec.ir.schema import MessageKind
from kwirec.lowering import lower
from kwirec.lowering.headers import header_versions
from kwirec.lowering.layout import ArrayKind, Kind, MessageLayout, StructKind, TagLayout

NOTHING = "nothing"


@dataclass(frozen=True)
class Parting:
    """The first place at which the bytes of a message differ: the field path and the field's kind on each side."""

    message: Message
    partner: Message
    version: int
    path: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.message.name} v{self.version}: {self.path or 'the message'} is {self.left} | {self.right}"


@dataclass(frozen=True)
class LayoutComparison:
    """A comparison of two schemas. ``equal`` lists the versions with equal bytes, and ``parting`` the differing
    versions.

    ``left_only`` and ``right_only`` list the versions that only one side has.
    """

    equal: tuple[tuple[Message, int], ...]
    parting: tuple[Parting, ...]
    left_only: tuple[tuple[Message, int], ...]
    right_only: tuple[tuple[Message, int], ...]


def compare_layouts(left: Schema, right: Schema) -> LayoutComparison:
    """Return a comparison of all message versions in two schemas. The schemas must have passed validation."""
    layouts, others = lower(left).by_message, lower(right).by_message
    equal: list[tuple[Message, int]] = []
    parting: list[Parting] = []
    left_only: list[tuple[Message, int]] = []
    right_only: list[tuple[Message, int]] = []
    for mine, theirs in _pairs(left, right):
        ours = layouts[mine.name] if mine else {}
        partners = others[theirs.name] if theirs else {}
        if mine:
            left_only += [(mine, version) for version in sorted(ours.keys() - partners.keys())]
        if theirs:
            right_only += [(theirs, version) for version in sorted(partners.keys() - ours.keys())]
        if mine and theirs:
            headers, other_headers = header_versions(mine), header_versions(theirs)
            for version in sorted(ours.keys() & partners.keys()):
                place = first_difference(ours[version], partners[version])
                place = place or _header_difference(headers.get(version), other_headers.get(version))
                if place is None:
                    equal.append((mine, version))
                else:
                    parting.append(Parting(mine, theirs, version, *place))
    return LayoutComparison(tuple(equal), tuple(parting), tuple(left_only), tuple(right_only))


def _pairs(left: Schema, right: Schema) -> Iterator[tuple[Message | None, Message | None]]:
    """Yield pairs of messages. Requests and responses are paired by api key, and other messages by name. A missing
    partner is ``None``.
    """
    mine, theirs = _by_number(left), _by_number(right)
    same = [(one, theirs[number]) for number, one in mine.items() if number in theirs]
    yield from same
    paired = {one.name for one, _ in same}, {other.name for _, other in same}
    rest = pair_messages(
        *(
            replace(schema, messages=tuple(message for message in schema.messages if message.name not in names))
            for schema, names in zip((left, right), paired, strict=True)
        )
    )
    yield from ((pair.old.message, pair.new.message) for pair in rest.persisted)
    yield from ((site.message, None) for site in rest.removed)
    yield from ((None, site.message) for site in rest.added)


def _by_number(schema: Schema) -> dict[tuple[MessageKind, int | None], Message]:
    """Return requests and responses by kind and api key, without keys that several messages share."""
    found = [((message.kind, message.api_key), message) for message in schema.messages if message.is_rpc]
    uses = Counter(number for number, _ in found)
    return {number: message for number, message in found if uses[number] == 1}


def _header_difference(left: int | None, right: int | None) -> tuple[str, str, str] | None:
    if left == right:
        return None
    before, after = ("without header" if number is None else f"with header {number}" for number in (left, right))
    return "", before, after


def first_difference(left: MessageLayout, right: MessageLayout) -> tuple[str, str, str] | None:
    """Return the field path and the kind on each side at the first difference of two layouts, or ``None``."""
    return next(_differences(left.body, right.body, ""), None)


def _differences(left: Kind, right: Kind, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the differences between two kinds in encoding order."""
    if left.text == right.text:
        return
    match left, right:
        case ArrayKind(), ArrayKind() if (left.compact, left.nullable) == (right.compact, right.nullable):
            yield from _differences(left.element, right.element, path)
        case StructKind(), StructKind() if left.nullable == right.nullable:
            for mine, theirs in zip_longest(left.fields, right.fields):
                here = _path(path, (mine or theirs).name)
                if mine is None or theirs is None:
                    yield here, mine.kind.text if mine else NOTHING, theirs.kind.text if theirs else NOTHING
                else:
                    yield from _differences(mine.kind, theirs.kind, here)
            yield from _tag_differences(left, right, path)
        case _:
            yield path, left.text, right.text


def _tag_differences(left: StructKind, right: StructKind, path: str) -> Iterator[tuple[str, str, str]]:
    if left.tags is None or right.tags is None:
        if left.tags is not right.tags:
            yield path, _struct_text(left), _struct_text(right)
        return
    ours = {tag.tag: tag for tag in left.tags}
    others = {tag.tag: tag for tag in right.tags}
    for number in sorted(ours.keys() | others.keys()):
        mine, theirs = ours.get(number), others.get(number)
        here = _path(path, (mine or theirs or left).name)
        if mine is None or theirs is None or mine.default != theirs.default:
            yield here, _tag_text(mine, number), _tag_text(theirs, number)
        else:
            yield from _differences(mine.kind, theirs.kind, here)


def _struct_text(struct: StructKind) -> str:
    return "classic" if struct.tags is None else "flexible"


def _tag_text(tag: TagLayout | None, number: int) -> str:
    return f"no tag {number}" if tag is None else f"tag {number} = {tag.default_text}"


def _path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
