"""Compares the bytes of two schemas: which versions of which messages differ, and where each parts.

Takes definitions of any origin and notation. Names are not compared, only layouts [ARCHITECTURE: Three ideas].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from kwirec.diff.pairing import pair_messages
from kwirec.ir import Message, Schema
from kwirec.lowering import lower
from kwirec.lowering.layout import ArrayKind, Kind, MessageLayout, StructKind, TagLayout

NOTHING = "nothing"


@dataclass(frozen=True)
class Parting:
    """The first place in which the bytes of a message differ: the path of the field, and what each side has there."""

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
    """What two schemas have in common: pairs of message and version that are ``equal`` and those that part.

    ``left_only`` and ``right_only`` are the versions that only one side has.
    """

    equal: tuple[tuple[Message, int], ...]
    parting: tuple[Parting, ...]
    left_only: tuple[tuple[Message, int], ...]
    right_only: tuple[tuple[Message, int], ...]


def compare_layouts(left: Schema, right: Schema) -> LayoutComparison:
    """Compare all versions that both schemas have. The schemas must have passed validation."""
    pairing = pair_messages(left, right)
    layouts, others = lower(left).by_message, lower(right).by_message
    equal: list[tuple[Message, int]] = []
    parting: list[Parting] = []
    left_only = [(site.message, version) for site in pairing.removed for version in layouts[site.message.name]]
    right_only = [(site.message, version) for site in pairing.added for version in others[site.message.name]]
    for pair in pairing.persisted:
        mine, theirs = pair.old.message, pair.new.message
        ours, partners = layouts[mine.name], others[theirs.name]
        left_only += [(mine, version) for version in ours.keys() - partners.keys()]
        right_only += [(theirs, version) for version in partners.keys() - ours.keys()]
        for version in sorted(ours.keys() & partners.keys()):
            if ours[version] == partners[version]:
                equal.append((mine, version))
            else:
                parting.append(Parting(mine, theirs, version, *first_difference(ours[version], partners[version])))
    return LayoutComparison(tuple(equal), tuple(parting), tuple(left_only), tuple(right_only))


def first_difference(left: MessageLayout, right: MessageLayout) -> tuple[str, str, str]:
    """Where two layouts part: the path of the field, and what both have there. They must not be equal."""
    return next(_differences(left.body, right.body, ""))


def _differences(left: Kind, right: Kind, path: str) -> Iterator[tuple[str, str, str]]:
    """The differences between two kinds, in the order of the bytes."""
    if left == right:
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
