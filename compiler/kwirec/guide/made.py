"""Values made up for a layout: bytes to show where no real frame is known. Every field is set, every array has one
element, and numbers are small; strings hold the name of their field."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from kwirec.guide.spans import FORMATS
from kwirec.lowering.layout import ArrayKind, BlobKind, Kind, MessageLayout, ScalarKind, StructKind
from kwirec.naming import python_name

LONGEST = 12
"""Characters of a made-up string."""


def made_up(layout: MessageLayout, given: Mapping[str, int | str] | None = None) -> bytes:
    """The bytes of a message; ``given`` has the values of fields at the top, for headers."""
    return _Writer(given or {}).struct(layout.body, top=True)


def uvarint(value: int) -> bytes:
    digits = bytearray()
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


class _Writer:
    def __init__(self, given: Mapping[str, int | str]) -> None:
        self.given = given
        self.number = 0

    def struct(self, kind: StructKind, *, top: bool = False) -> bytes:
        body = b"".join(
            self.value(one.kind, one.name, self.given.get(one.name) if top else None) for one in kind.fields
        )
        if kind.tags is None:
            return body
        tags = [(tag.tag, self.value(tag.kind, tag.name, tagged=True)) for tag in kind.tags]
        section = b"".join(uvarint(tag) + uvarint(len(value)) + value for tag, value in tags)
        return body + uvarint(len(tags)) + section

    def value(self, kind: Kind, name: str, given: int | str | None = None, *, tagged: bool = False) -> bytes:
        match kind:
            case ScalarKind():
                return self.scalar(kind, given)
            case BlobKind(records=True):
                return self.length(0, 4, compact=kind.compact)
            case BlobKind():
                text = (given if isinstance(given, str) else python_name(name)[:LONGEST]).encode()
                return self.length(len(text), 2 if kind.string else 4, compact=kind.compact) + text
            case ArrayKind():
                return self.length(1, 4, compact=kind.compact) + self.value(kind.element, name)
            case StructKind():
                mark = b"\x01" if kind.nullable else b""
                return mark + self.struct(kind)

    def scalar(self, kind: ScalarKind, given: int | str | None) -> bytes:
        self.number = self.number % 99 + 1
        if kind.text == "uuid":
            return bytes(range(self.number, self.number + kind.width))
        value = 1 if kind.text == "bool" else self.number if given is None else given
        return struct.pack(FORMATS[kind.text], value)

    def length(self, length: int, width: int, *, compact: bool) -> bytes:
        return uvarint(length + 1) if compact else length.to_bytes(width, "big")
