"""Decoding field by field, which keeps track of the current path and offset."""

from __future__ import annotations

import codecs
from collections.abc import Container
from struct import unpack_from
from typing import TYPE_CHECKING, Any, NoReturn

from kwire.errors import DecodeError, counted
from kwire.interpreter.context import Context
from kwire.schema import BLOBS, PresentField, present_fields, struct_class
from kwire.uuids import Uuid
from kwire_rules import CODES, MAX_STRING, MAX_TAG, SIZES

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.policy import Policy

_NOUNS = {"string": "this string", "bytes": "this byte string", "records": "this block of records"}

_LIKE_JAVA = "kwire.like-java"


def _replace_like_java(problem: UnicodeError) -> tuple[str, int]:
    """Return U+FFFD and the position after the invalid bytes. Like Java, replace an encoded surrogate with a single
    U+FFFD. Python would insert one for each byte."""
    assert isinstance(problem, UnicodeDecodeError)
    start, data = problem.start, problem.object
    if data[start] == 0xED and start + 1 < len(data) and 0xA0 <= data[start + 1] <= 0xBF:
        third = start + 2 < len(data) and 0x80 <= data[start + 2] <= 0xBF
        return "\ufffd", start + (3 if third else 2)
    return "\ufffd", problem.end


codecs.register_error(_LIKE_JAVA, _replace_like_java)


class Reader(Context):
    keeps = True
    """Whether the reader returns values. A tracer only needs the calls to ``note``."""

    def __init__(self, cls: type[Message], data: bytes, offset: int, version: int, policy: Policy) -> None:
        super().__init__(cls, version)
        self.data = data
        self.pos = offset
        self.policy = policy
        self.origin = cls, offset, policy

    def fail(self, reason: str, offset: int | None = None) -> NoReturn:
        raise DecodeError(
            reason,
            message_name=self.message_name,
            version=self.version,
            path=self.path,
            offset=self.pos if offset is None else offset,
            data=self.data,
            origin=self.origin,
        )

    def note(self, start: int, kind: str, value: object, *, name: str = "", content: int = 0) -> None:
        """Handle a value that was read between ``start`` and ``self.pos``. Values are passed in byte order.

        ``value`` is the number of elements for an array and ``...`` for a struct. ``name`` is set if it differs from
        the field name. ``content`` is the offset of a value that follows its length, and otherwise 0. By default,
        this method does nothing. ``kwire.trace`` overrides it.
        """

    def take(self, size: int, what: str) -> bytes:
        if size > len(self.data) - self.pos:
            self.fail(f"{what} needs {counted(size, 'byte')}, {len(self.data) - self.pos} left")
        start = self.pos
        self.pos += size
        return self.data[start : self.pos]

    def finish(self) -> None:
        if self.pos < len(self.data) and self.policy.trailing == "error":
            self.fail(f"{counted(len(self.data) - self.pos, 'trailing byte')}")

    def uvarint(self, what: str) -> int:
        """Read a Kafka varint of at most five bytes, and return it as a signed 32-bit number."""
        value = shift = 0
        start = self.pos
        while True:
            byte = self.take(1, what)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >> 31 else value
            shift += 7
            if shift > 28:
                self.fail(f"{what} is a varint of more than five bytes", start)

    def struct(self, cls: type[Any]) -> Any:
        values: dict[str, Any] = {}
        self.note(self.pos, cls.__name__, ...)
        for field in present_fields(cls, self.version):
            if not field.is_tagged:
                self.parts.append(field.name)
                values[field.name] = self.value(cls, field, field.type, nullable=field.is_nullable)
                self.parts.pop()
        if self.flexible:
            self.tags(cls, values)
        return cls(**values) if self.keeps else None

    def value(self, cls: type[Any], field: PresentField, kind: str, *, nullable: bool) -> Any:
        if kind.startswith("[]"):
            return self.array(cls, field, kind[2:], nullable=nullable)
        if kind in SIZES:
            return self.scalar(kind)
        if kind in BLOBS:
            return self.blob(field, kind, nullable=nullable)
        if nullable and not self.present(field.is_tagged):
            return None
        owner: Any = struct_class(cls, field)
        return self.struct(owner)

    def present(self, tagged: bool) -> bool:
        """Read a nullable struct's null marker, and return whether the struct is present.

        The marker is a varint in a tagged field and an int8 elsewhere [KAFKA-WIRE 25].
        """
        start, what = self.pos, "the marker of a struct"
        present = self.uvarint(what) > 0 if tagged else self.take(1, what)[0] < 128
        self.note(start, "struct or null", ... if present else None)
        return present

    def scalar(self, kind: str) -> Any:
        start = self.pos
        raw = self.take(SIZES[kind], kind)
        value: Any = Uuid(raw) if kind == "uuid" else unpack_from(f">{CODES[kind]}", raw)[0]
        self.note(start, kind, value)
        return value

    def length(self, field: PresentField, size: int, what: str, *, nullable: bool) -> int:
        """Read and return a length or count, which is -1 for null. As in Kafka, any negative number means null
        [KAFKA-WIRE 13]."""
        start = self.pos
        if field.is_compact:
            # Java subtracts in 32 bits, so the smallest number becomes the largest number.
            length = (self.uvarint(f"the length of {what}") - 1 + 2**31) % 2**32 - 2**31
        else:
            length = unpack_from(">h" if size == 2 else ">i", self.take(size, f"the length of {what}"))[0]
        if length < 0:
            if not nullable:
                self.fail(f"null is not allowed for {what} (length {length})", start)
            return -1
        if length > len(self.data) - self.pos:
            self.fail(f"{what} has length {length}, {counted(len(self.data) - self.pos, 'byte')} left", start)
        return length

    def blob(self, field: PresentField, kind: str, *, nullable: bool) -> Any:
        what = _NOUNS[kind]
        start = self.pos
        length = self.length(field, 2 if kind == "string" else 4, what, nullable=nullable)
        content = self.pos
        value: Any = None
        if length >= 0:
            value = self.take(length, what) if kind != "string" else self.text(length, what, start)
        self.note(start, self.coded(field, kind), value, content=content)
        return value

    def text(self, length: int, what: str, start: int) -> str:
        if length > MAX_STRING:
            self.fail(f"a string of {length} bytes exceeds Kafka's limit of {MAX_STRING}", start)
        start = self.pos
        raw = self.take(length, what)
        try:
            return raw.decode("utf-8", _LIKE_JAVA if self.policy.utf8 == "replace" else "strict")
        except UnicodeDecodeError as problem:
            self.fail(f"invalid UTF-8: {problem.reason}", start + problem.start)

    def coded(self, field: PresentField, kind: str) -> str:
        """Return the protocol guide's name for type ``kind`` with the length encoding of ``field``."""
        return f"compact {kind}" if field.is_compact else kind

    def array(self, cls: type[Any], field: PresentField, kind: str, *, nullable: bool) -> list[Any] | None:
        start = self.pos
        count = self.length(field, 4, "this array", nullable=nullable)
        self.note(start, self.coded(field, "array"), None if count < 0 else count)
        if count < 0:
            return None
        items = []
        for index in range(count):
            self.parts.append(f"[{index}]")
            item = self.value(cls, field, kind, nullable=False)
            if self.keeps:
                items.append(item)
            self.parts.pop()
        return items

    def tags(self, cls: type[Any], values: dict[str, Any]) -> None:
        self.parts.append("tagged fields")
        start = self.pos
        count = self.uvarint("the number of tagged fields")
        if count < 0 and self.policy.tags != "kafka":  # Kafka's loop ends at once if the count is negative
            self.fail(f"the number of tagged fields is {count}", start)
        self.note(start, "count", count)
        if count > 0:
            self.section(cls, values, count)
        self.parts.pop()

    def section(self, cls: type[Any], values: dict[str, Any], count: int) -> None:
        known = {field.tag: field.name for field in cls.FIELDS if field.tag is not None}
        tagged = {field.tag: field for field in present_fields(cls, self.version) if field.is_tagged}
        unknown: list[tuple[int, bytes]] = []
        previous = -1
        for _ in range(count):
            start = self.pos
            tag, size = self.tag(previous, known)
            previous = tag
            field = tagged.get(tag)
            if field is None and tag in known and self.policy.tags != "preserve":
                self.fail(f"tag {tag} is `{known[tag]}`, which version {self.version} lacks", start)
            content = self.pos
            if field is None:
                raw = self.take(size, f"tag {tag}")
                self.note(start, "unknown tag", raw, name=f"tag {tag}", content=content)
                if self.keeps:
                    unknown.append((tag, raw))
            else:
                self.note(start, "tag and size", size, name=f"tag {tag}")
                self.parts[-1] = field.name
                values[field.name] = self.value(cls, field, field.type, nullable=field.is_nullable)
                taken = self.pos - content
                if taken != size and self.policy.tags != "kafka":
                    self.fail(f"tag {tag} has size {size}, but its value has {counted(taken, 'byte')}", content)
                self.parts[-1] = "tagged fields"
        if unknown:
            values["unknown_tags"] = tuple(unknown)

    def tag(self, previous: int, known: Container[int]) -> tuple[int, int]:
        """Read and return the tag of a tagged field and the size of its value in bytes."""
        start = self.pos
        tag = self.uvarint("a tag")
        if self.policy.tags != "kafka":
            if tag < 0 or tag > MAX_TAG:
                self.fail(f"invalid tag {tag}", start)
            if tag <= previous:
                self.fail(f"tag {tag} after tag {previous}: tags must ascend", start)
        size = self.uvarint(f"the size of tag {tag}")
        unread = tag in known and self.policy.tags == "kafka"
        if not 0 <= size <= len(self.data) - self.pos and not unread:
            self.fail(f"tag {tag} has size {size}, {counted(len(self.data) - self.pos, 'byte')} left")
        return tag, size
