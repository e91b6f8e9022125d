"""Writes field by field, knowing at every step which field it is."""

from __future__ import annotations

from struct import error, pack
from typing import TYPE_CHECKING, Any, NoReturn

from kwire.errors import EncodeError
from kwire.explain.place import FORMATS, RANGES, SIZES, Place, struct_class, within
from kwire.message import Message
from kwire.wire import MAX_STRING, MAX_TAG

if TYPE_CHECKING:
    from kwire.message import FieldSpec


class Writer:
    def __init__(self, cls: type[Message], version: int) -> None:
        self.at = Place(cls, version)

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, message=self.at.message, version=self.at.version, path=str(self.at))

    def struct(self, out: bytearray, value: Any) -> None:
        cls = type(value)
        defaults = cls()
        tags: list[tuple[int, bytes]] = []
        for spec in cls.FIELDS:
            self.at.parts.append(spec[0])
            field = getattr(value, spec[0])
            if not within(self.at.version, spec[3]):
                if not spec[8] and field != getattr(defaults, spec[0]):
                    self.fail(f"version {self.at.version} does not have this field, but it is set to {_short(field)}")
            elif not self.at.tagged(spec):
                self.value(out, cls, spec, spec[2], field, tagged=False, nullable=self.nullable(spec))
            elif field != getattr(defaults, spec[0]):
                payload = bytearray()
                self.value(payload, cls, spec, spec[2], field, tagged=True, nullable=self.nullable(spec))
                tags.append((int(spec[5] or 0), bytes(payload)))
            self.at.parts.pop()
        self.tags(out, tags, value.unknown_tags)

    def nullable(self, spec: FieldSpec) -> bool:
        return within(self.at.version, spec[4])

    def tags(self, out: bytearray, known: list[tuple[int, bytes]], unknown: tuple[tuple[int, bytes], ...]) -> None:
        self.at.parts.append("unknown_tags")
        if not self.at.flexible:
            if unknown:
                self.fail(f"version {self.at.version} is not flexible, it has no tagged fields")
            self.at.parts.pop()
            return
        previous = -1
        if not isinstance(unknown, tuple | list) or not all(map(_is_tag, unknown)):
            self.fail(f"{_short(unknown)}: unknown tags are pairs of an int and bytes")
        for tag, _ in unknown:
            if not 0 <= tag <= MAX_TAG:
                self.fail(f"{tag} is no tag")
            if tag <= previous:
                self.fail(f"tag {tag} after tag {previous}: tags must ascend")
            if any(tag == other for other, _ in known):
                self.fail(f"tag {tag} is a known field of this struct")
            previous = tag
        tags = sorted([*known, *unknown])
        _uvarint(out, len(tags))
        for tag, payload in tags:
            _uvarint(out, tag)
            _uvarint(out, len(payload))
            out += payload
        self.at.parts.pop()

    def value(
        self, out: bytearray, cls: type[Any], spec: FieldSpec, kind: str, value: Any, *, tagged: bool, nullable: bool
    ) -> None:
        if value is None and not nullable:
            self.fail("null, which it may not be")
        if kind.startswith("[]"):
            self.array(out, cls, spec, kind[2:], value)
        elif kind in SIZES:
            self.scalar(out, kind, value)
        elif kind in ("string", "bytes", "records"):
            self.blob(out, spec, kind, value)
        else:
            if nullable and tagged:
                _uvarint(out, 0 if value is None else 1)
            elif nullable:
                out += b"\xff" if value is None else b"\x01"
            if value is not None:
                if not isinstance(value, struct_class(cls, kind)):
                    self.fail(f"{_short(value)} is not a {kind}")
                self.struct(out, value)

    def scalar(self, out: bytearray, kind: str, value: Any) -> None:
        if kind == "bool":
            out += b"\x01" if value else b"\0"
        elif kind == "uuid":
            if not isinstance(value, bytes) or len(value) != 16:
                self.fail(f"{_short(value)} is not a uuid of 16 bytes")
            out += value
        elif kind == "float64":
            if not isinstance(value, float | int):
                self.fail(f"{_short(value)} is not a number")
            try:
                out += pack(">d", value)
            except (OverflowError, error):
                self.fail(f"{_short(value)} does not fit a float64")
        else:
            low, high = RANGES[kind]
            if not isinstance(value, int):
                self.fail(f"{_short(value)} is not an integer")
            if not low <= value <= high:
                self.fail(f"{value} does not fit {kind}, which holds {low} to {high}")
            out += pack(FORMATS[kind], value)

    def length(self, out: bytearray, spec: FieldSpec, size: int, value: int) -> None:
        if self.at.compact(spec):
            _uvarint(out, value + 1)
        else:
            out += pack(">h" if size == 2 else ">i", value)

    def blob(self, out: bytearray, spec: FieldSpec, kind: str, value: Any) -> None:
        size = 2 if kind == "string" else 4
        if value is None:
            self.length(out, spec, size, -1)
            return
        raw = self.utf8(value) if kind == "string" else value
        if not isinstance(raw, bytes):
            self.fail(f"{_short(value)} is not bytes")
        self.length(out, spec, size, len(raw))
        out += raw

    def utf8(self, value: Any) -> bytes:
        if not isinstance(value, str):
            self.fail(f"{_short(value)} is not a string")
        try:
            raw = value.encode()
        except UnicodeEncodeError as problem:
            self.fail(f"cannot be written as UTF-8: {problem.reason}")
        if len(raw) > MAX_STRING:
            self.fail(f"a string of {len(raw)} bytes, Kafka's longest has {MAX_STRING}")
        return raw

    def array(self, out: bytearray, cls: type[Any], spec: FieldSpec, kind: str, value: Any) -> None:
        if value is None:
            self.length(out, spec, 4, -1)
            return
        if not isinstance(value, list | tuple):
            self.fail(f"{_short(value)} is not a list")
        self.length(out, spec, 4, len(value))
        for index, item in enumerate(value):
            self.at.parts.append(f"[{index}]")
            self.value(out, cls, spec, kind, item, tagged=False, nullable=False)
            self.at.parts.pop()


def _is_tag(entry: object) -> bool:
    return type(entry) is tuple and len(entry) == 2 and isinstance(entry[0], int) and isinstance(entry[1], bytes)


def _uvarint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
