"""Encoding field by field, which keeps track of the current path."""

from __future__ import annotations

from struct import error, pack
from typing import Any, NoReturn

from librt.strings import BytesWriter

from kwire.errors import EncodeError, quoted
from kwire.interpreter.context import Context
from kwire.schema import (
    BLOBS,
    PresentField,
    absent_fields,
    present_fields,
    struct_class,
)
from kwire.wire import write_tags, write_uvarint
from kwire_rules import CODES, INTEGER_RANGES, MAX_STRING, MAX_TAG, SIZES, TYPES


class Writer(Context):
    def quoted(self, value: object) -> str:
        return quoted(self.message_name, value, 60)

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, message_name=self.message_name, version=self.version, path=self.path)

    def struct(self, out: BytesWriter, value: Any) -> None:
        cls = type(value)
        for absent in absent_fields(cls, self.version):
            content = getattr(value, absent.name)
            if content != absent.default:
                self.parts.append(absent.name)
                self.fail(f"version {self.version} lacks this field, but it is set to {self.quoted(content)}")
        tags: list[tuple[int, bytes]] = []
        for field in present_fields(cls, self.version):
            self.parts.append(field.name)
            content = getattr(value, field.name)
            if not field.is_tagged:
                self.value(out, cls, field, field.type, content, nullable=field.is_nullable)
            elif content != field.default:
                payload = BytesWriter()
                self.value(payload, cls, field, field.type, content, nullable=field.is_nullable)
                tags.append((field.tag or 0, payload.getvalue()))
            self.parts.pop()
        self.parts.append("unknown_tags")
        if self.flexible:
            self.tags(out, tags, value.unknown_tags)
        elif value.unknown_tags:
            self.fail(f"version {self.version} is not flexible and has no tagged fields")
        self.parts.pop()

    def tags(self, out: BytesWriter, known: list[tuple[int, bytes]], unknown: tuple[tuple[int, bytes], ...]) -> None:
        previous = -1
        if not isinstance(unknown, tuple | list) or not all(map(_is_tag, unknown)):
            self.fail(f"expected pairs of an int and bytes, got {self.quoted(unknown)}")
        for tag, _ in unknown:
            if not 0 <= tag <= MAX_TAG:
                self.fail(f"invalid tag {tag}")
            if tag <= previous:
                self.fail(f"tag {tag} after tag {previous}: tags must ascend")
            if any(tag == other for other, _ in known):
                self.fail(f"tag {tag} is a known field of this struct")
            previous = tag
        write_tags(out, sorted(known), tuple(unknown))

    def value(
        self, out: BytesWriter, cls: type[Any], field: PresentField, kind: str, value: Any, *, nullable: bool
    ) -> None:
        if value is None and not nullable:
            self.fail("null is not allowed")
        if kind.startswith("[]"):
            self.array(out, cls, field, kind[2:], value)
        elif kind in SIZES:
            self.scalar(out, kind, value)
        elif kind in BLOBS:
            self.blob(out, field, kind, value)
        else:
            if nullable and field.is_tagged:
                write_uvarint(out, 0 if value is None else 1)
            elif nullable:
                out.write(b"\xff" if value is None else b"\x01")
            if value is not None:
                owner: Any = struct_class(cls, field)
                if not isinstance(value, owner):
                    self.fail(f"expected {kind}, got {self.quoted(value)}")
                self.struct(out, value)

    def scalar(self, out: BytesWriter, kind: str, value: Any) -> None:
        if kind == "bool":
            out.write(b"\x01" if value else b"\0")
        elif kind == "uuid":
            if not isinstance(value, bytes) or len(value) != 16:
                hint = ", use Uuid.parse" if isinstance(value, str) else ""
                self.fail(f"expected a uuid of 16 bytes, got {self.quoted(value)}{hint}")
            out.write(value)
        elif TYPES[kind] == "float":
            if not isinstance(value, float | int):
                self.fail(f"expected a number, got {self.quoted(value)}")
            try:
                out.write(pack(f">{CODES[kind]}", value))
            except (OverflowError, error):
                self.fail(f"{value} is out of range for {kind}")
        else:
            low, high = INTEGER_RANGES[kind]
            if not isinstance(value, int):
                self.fail(f"expected an integer, got {self.quoted(value)}")
            if not low <= value <= high:
                self.fail(f"{value} is out of range for {kind} ({low} to {high})")
            out.write(pack(f">{CODES[kind]}", value))

    def length(self, out: BytesWriter, field: PresentField, size: int, value: int) -> None:
        if field.is_compact:
            write_uvarint(out, value + 1)
        else:
            out.write(pack(">h" if size == 2 else ">i", value))

    def blob(self, out: BytesWriter, field: PresentField, kind: str, value: Any) -> None:
        size = 2 if kind == "string" else 4
        if value is None:
            self.length(out, field, size, -1)
            return
        raw = self.utf8(value) if kind == "string" else value
        if not isinstance(raw, bytes):
            self.fail(f"expected bytes, got {self.quoted(value)}")
        self.length(out, field, size, len(raw))
        out.write(raw)

    def utf8(self, value: Any) -> bytes:
        if not isinstance(value, str):
            self.fail(f"expected a string, got {self.quoted(value)}")
        try:
            raw = value.encode()
        except UnicodeEncodeError as problem:
            self.fail(f"cannot be encoded as UTF-8: {problem.reason}")
        if len(raw) > MAX_STRING:
            self.fail(f"a string of {len(raw)} bytes exceeds Kafka's limit of {MAX_STRING}")
        return raw

    def array(self, out: BytesWriter, cls: type[Any], field: PresentField, kind: str, value: Any) -> None:
        if value is None:
            self.length(out, field, 4, -1)
            return
        if not isinstance(value, list | tuple):
            self.fail(f"expected a list, got {self.quoted(value)}")
        self.length(out, field, 4, len(value))
        for index, item in enumerate(value):
            self.parts.append(f"[{index}]")
            self.value(out, cls, field, kind, item, nullable=False)
            self.parts.pop()


def _is_tag(entry: object) -> bool:
    return type(entry) is tuple and len(entry) == 2 and isinstance(entry[0], int) and isinstance(entry[1], bytes)
