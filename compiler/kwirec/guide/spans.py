"""Reads the bytes of a message by its layout: a span for each field, as ``kwire decode`` prints them.

The compiler never imports the runtime, so this is a reader of its own: a test holds it against ``kwire.trace``. It
reads examples, which are whole and correct: anything else is a :class:`BadExampleError`.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kwirec.guide.batches import Found, batches
from kwirec.lowering.layout import SCALARS, ArrayKind, BlobKind, Kind, MessageLayout, ScalarKind, StructKind
from kwirec.naming import python_name

TYPES = {kind.text: name for name, kind in SCALARS.items()}
"""The types of fixed size, from their names in layouts to those in definitions."""
FORMATS = {"bool": ">?", "i8": ">b", "i16": ">h", "u16": ">H", "i32": ">i", "u32": ">I", "i64": ">q", "f64": ">d"}
TAGGED = "tagged fields"


class BadExampleError(ValueError):
    """Bytes of an example that its layout does not fit."""


@dataclass(frozen=True)
class Span:
    """The meaning of the bytes from ``start`` to ``end``; the value starts at ``content``, after its length.

    A heading, such as an element of an array, has no bytes. ``path`` has the indexes of arrays, ``place`` is that of
    the field as in :class:`~kwirec.guide.rows.Row`, also for what is in records; ``text`` shows the value.
    """

    start: int
    end: int
    content: int
    path: str
    place: str
    name: str
    depth: int
    kind: str
    text: str = ""


def read(layout: MessageLayout, data: bytes, classes: Mapping[str, str], start: int = 0) -> list[Span]:
    """The spans from ``start`` to the end of the message; ``classes`` maps structs to the names that are shown."""
    reader = _Reader(data, start, classes)
    try:
        return list(reader.struct(layout.body))
    except (struct.error, LookupError, UnicodeDecodeError, RecursionError) as problem:
        raise BadExampleError(f"{layout.message} at byte {reader.pos}: {problem}") from problem


class _Reader:
    def __init__(self, data: bytes, pos: int, classes: Mapping[str, str]) -> None:
        self.data = data
        self.pos = pos
        self.classes = classes
        self.parts: list[str] = []
        self.sections = 0

    def span(self, start: int, kind: str, text: str = "", *, name: str = "", content: int | None = None) -> Span:
        path = ".".join(self.parts).replace(".[", "[")
        depth = len(self.parts) + self.sections
        name = name or (self.parts[-1] if self.parts else kind)
        return Span(start, self.pos, start if content is None else content, path, self.place, name, depth, kind, text)

    @property
    def place(self) -> str:
        return ".".join(part for part in self.parts if not part.startswith("[") and part != TAGGED)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.pos:
            raise BadExampleError(f"{size} bytes at byte {self.pos}, there are {len(self.data)}")
        self.pos += size
        return self.data[self.pos - size : self.pos]

    def uvarint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def struct(self, kind: StructKind) -> Iterator[Span]:
        yield self.span(self.pos, self.classes.get(kind.name, kind.name))
        for one in kind.fields:
            self.parts.append(python_name(one.name))
            yield from self.value(one.kind)
            self.parts.pop()
        if kind.tags is not None:
            yield from self.tags(kind)

    def value(self, kind: Kind, *, tagged: bool = False) -> Iterator[Span]:
        start = self.pos
        match kind:
            case ScalarKind():
                raw = self.take(kind.width)
                yield self.span(start, TYPES[kind.text], _scalar(kind, raw))
            case BlobKind():
                yield from self.blob(kind)
            case ArrayKind():
                yield from self.array(kind)
            case StructKind():
                if kind.nullable:
                    present = self.uvarint() > 0 if tagged else self.take(1)[0] < 128
                    yield self.span(start, "struct or null", "" if present else "null")
                    if not present:
                        return
                yield from self.struct(kind)

    def length(self, size: int, *, compact: bool) -> int:
        return self.uvarint() - 1 if compact else int.from_bytes(self.take(size), "big", signed=True)

    def blob(self, kind: BlobKind) -> Iterator[Span]:
        start = self.pos
        length = self.length(2 if kind.string else 4, compact=kind.compact)
        content = self.pos
        name = f"{'compact ' if kind.compact else ''}{_blob_name(kind)}"
        if length < 0:
            yield self.span(start, name, "null", content=content)
            return
        if kind.records:
            yield self.span(start, name, _bytes(length), content=content)
            self.take(length)
            yield from map(self.inner, batches(self.data, content, self.pos))
            return
        raw = self.take(length)
        yield self.span(start, name, _json(raw.decode()) if kind.string else _bytes(length), content=content)

    def inner(self, found: Found) -> Span:
        path = ".".join((*self.parts, found.path)).replace(".[", "[")
        depth = len(self.parts) + self.sections + 1 + found.depth
        content = found.start if found.content is None else found.content
        return Span(found.start, found.end, content, path, self.place, found.name, depth, found.kind, found.text)

    def array(self, kind: ArrayKind) -> Iterator[Span]:
        start = self.pos
        count = self.length(4, compact=kind.compact)
        text = "null" if count < 0 else f"{count} element{'s' * (count != 1)}"
        yield self.span(start, f"{'compact ' if kind.compact else ''}array", text)
        for index in range(count):
            self.parts.append(f"[{index}]")
            yield from self.value(kind.element)
            self.parts.pop()

    def tags(self, kind: StructKind) -> Iterator[Span]:
        known = {tag.tag: tag for tag in kind.tags or ()}
        start = self.pos
        count = self.uvarint()
        self.parts.append(TAGGED)
        yield self.span(start, "count", str(count))
        self.sections += 1
        for _ in range(count):
            start = self.pos
            number, size = self.uvarint(), self.uvarint()
            content, tag = self.pos, known.get(number)
            if tag is None:
                self.take(size)
                yield self.span(start, "unknown tag", _bytes(size), name=f"tag {number}", content=content)
                continue
            yield self.span(start, "tag and size", _bytes(size), name=f"tag {number}")
            self.parts[-1] = python_name(tag.name)
            yield from self.value(tag.kind, tagged=True)
            self.parts[-1] = TAGGED
        self.sections -= 1
        self.parts.pop()


def _blob_name(kind: BlobKind) -> str:
    return "string" if kind.string else "records" if kind.records else "bytes"


def _scalar(kind: ScalarKind, raw: bytes) -> str:
    if kind.text == "uuid":
        return str(uuid.UUID(bytes=raw))
    value = struct.unpack(FORMATS[kind.text], raw)[0]
    return _json(value)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _bytes(count: int) -> str:
    return f"{count} byte{'s' * (count != 1)}"
