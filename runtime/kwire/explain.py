"""The slow path: reads and writes field by field from ``FIELDS``, knowing at every step where it is.

The emitted codecs carry no bookkeeping. When one of them fails, or when a policy asks for tolerance, the message is
done again here: an independent implementation of the same rules, which either succeeds under the policy or says
which field at which offset is wrong.
"""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable
from struct import pack, unpack_from
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from kwire.errors import DecodeError, EncodeError
from kwire.message import Message, Struct
from kwire.policy import Policy
from kwire.uuids import Uuid
from kwire.wire import MAX_STRING, MAX_TAG

if TYPE_CHECKING:
    from kwire.message import FieldSpec

M = TypeVar("M", bound=Message)

_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
_FORMATS = {
    "int8": ">b",
    "int16": ">h",
    "uint16": ">H",
    "int32": ">i",
    "uint32": ">I",
    "int64": ">q",
    "float64": ">d",
}
_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
_BLOBS = {"string": "this string", "bytes": "this byte string", "records": "this block of records"}


_LIKE_JAVA = "kwire.like-java"


def _replace_like_java(problem: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for a surrogate that was written as a character, as in Java; Python puts one for each byte."""
    assert isinstance(problem, UnicodeDecodeError)
    start, data = problem.start, problem.object
    if data[start] == 0xED and start + 1 < len(data) and 0xA0 <= data[start + 1] <= 0xBF:
        third = start + 2 < len(data) and 0x80 <= data[start + 2] <= 0xBF
        return "\ufffd", start + (3 if third else 2)
    return "\ufffd", problem.end


codecs.register_error(_LIKE_JAVA, _replace_like_java)


def decode(cls: type[M], data: bytes, offset: int, version: int, policy: Policy, *, whole: bool) -> tuple[M, int]:
    """The message at ``offset`` and where it ends; with ``whole`` it must fill ``data``."""
    reader = _Reader(cls, data, offset, version, policy)
    _check_version(cls, version, reader.fail)
    message = reader.struct(cls)
    if whole and reader.pos < len(data) and policy.trailing == "error":
        reader.fail(f"{len(data) - reader.pos} bytes behind the end of the message")
    return message, reader.pos


def encode(message: Message, version: int) -> bytes:
    """The bytes of ``message``, or an :class:`EncodeError`."""
    writer = _Writer(type(message), version)
    _check_version(type(message), version, writer.fail)
    out = bytearray()
    writer.struct(out, message)
    return bytes(out)


def _check_version(cls: type[Message], version: int, fail: Callable[[str], NoReturn]) -> None:
    if version not in cls.VALID_VERSIONS:
        valid = cls.VALID_VERSIONS
        known = f"{valid.start} to {valid.stop - 1}" if valid else "none"
        fail(f"there is no version {version}, the valid ones are {known}")


def _within(version: int, versions: tuple[int, int] | None) -> bool:
    return versions is not None and versions[0] <= version <= versions[1]


def struct_class(owner: type[Struct], name: str) -> type[Struct]:
    """The class that a field of ``owner`` names as its type."""
    return getattr(sys.modules[owner.__module__], name)  # type: ignore[no-any-return]


class _Path:
    """Where in a message a reader or writer is."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.message = cls.__name__
        self.version = version
        self.flexible = version in cls.FLEXIBLE_VERSIONS
        self.parts: list[str] = []

    def __str__(self) -> str:
        return "".join(part if part.startswith("[") else f".{part}" for part in self.parts).lstrip(".")

    def compact(self, spec: FieldSpec) -> bool:
        """A field's own flexible versions change how its length is coded and nothing else [KAFKA-WIRE 4]."""
        return self.flexible and (spec[7] is None or _within(self.version, spec[7]))

    def tagged(self, spec: FieldSpec) -> bool:
        return self.flexible and _within(self.version, spec[6])


class _Reader:
    def __init__(self, cls: type[Message], data: bytes, offset: int, version: int, policy: Policy) -> None:
        self.data = data
        self.pos = offset
        self.at = _Path(cls, version)
        self.policy = policy

    def fail(self, reason: str, offset: int | None = None) -> NoReturn:
        raise DecodeError(
            reason,
            message=self.at.message,
            version=self.at.version,
            path=str(self.at),
            offset=self.pos if offset is None else offset,
            data=self.data,
        )

    def take(self, size: int, what: str) -> bytes:
        if size > len(self.data) - self.pos:
            self.fail(f"{what} takes {size} bytes, {len(self.data) - self.pos} are left")
        start = self.pos
        self.pos += size
        return self.data[start : self.pos]

    def uvarint(self, what: str) -> int:
        """Kafka's: at most five bytes, the result a signed 32-bit number."""
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
                self.fail(f"{what}: a varint of more than five bytes", start)

    def struct(self, cls: type[Any]) -> Any:
        values: dict[str, Any] = {}
        for spec in cls.FIELDS:
            if _within(self.at.version, spec[3]) and not self.at.tagged(spec):
                self.at.parts.append(spec[0])
                values[spec[0]] = self.value(cls, spec, spec[2], tagged=False, nullable=self.nullable(spec))
                self.at.parts.pop()
        if self.at.flexible:
            self.tags(cls, values)
        return cls(**values)

    def nullable(self, spec: FieldSpec) -> bool:
        return _within(self.at.version, spec[4])

    def value(self, cls: type[Any], spec: FieldSpec, kind: str, *, tagged: bool, nullable: bool) -> Any:
        if kind.startswith("[]"):
            return self.array(cls, spec, kind[2:], nullable=nullable)
        if kind in _SIZES:
            return self.scalar(kind)
        if kind in ("string", "bytes", "records"):
            return self.blob(spec, kind, nullable=nullable)
        if nullable and not self.present(tagged):
            return None
        return self.struct(struct_class(cls, kind))

    def present(self, tagged: bool) -> bool:
        """The mark before a nullable struct: a varint inside a tagged field, else an int8 [KAFKA-WIRE 25]."""
        return self.uvarint("the mark of a struct") > 0 if tagged else self.take(1, "the mark of a struct")[0] < 128

    def scalar(self, kind: str) -> Any:
        raw = self.take(_SIZES[kind], kind)
        if kind == "bool":
            return raw != b"\0"
        return Uuid(raw) if kind == "uuid" else unpack_from(_FORMATS[kind], raw)[0]

    def length(self, spec: FieldSpec, size: int, what: str, *, nullable: bool) -> int:
        """A length or count; -1 for null. Any negative one counts as null, as in Kafka [KAFKA-WIRE 13]."""
        start = self.pos
        if self.at.compact(spec):
            # Java subtracts in 32 bits, where the smallest number becomes the largest.
            length = (self.uvarint(f"the length of {what}") - 1 + 2**31) % 2**32 - 2**31
        else:
            length = unpack_from(">h" if size == 2 else ">i", self.take(size, f"the length of {what}"))[0]
        if length < 0:
            if not nullable:
                self.fail(f"{what} is null, which it may not be (length {length})", start)
            return -1
        if length > len(self.data) - self.pos:
            self.fail(f"{what} has length {length}, {len(self.data) - self.pos} bytes are left", start)
        return length

    def blob(self, spec: FieldSpec, kind: str, *, nullable: bool) -> Any:
        what = _BLOBS[kind]
        start = self.pos
        length = self.length(spec, 2 if kind == "string" else 4, what, nullable=nullable)
        if length < 0:
            return None
        if kind != "string":
            return self.take(length, what)
        if length > MAX_STRING:
            self.fail(f"a string of {length} bytes, Kafka's longest has {MAX_STRING}", start)
        start = self.pos
        raw = self.take(length, what)
        try:
            return raw.decode("utf-8", _LIKE_JAVA if self.policy.utf8 == "replace" else "strict")
        except UnicodeDecodeError as problem:
            self.fail(f"not UTF-8: {problem.reason}", start + problem.start)

    def array(self, cls: type[Any], spec: FieldSpec, kind: str, *, nullable: bool) -> list[Any] | None:
        count = self.length(spec, 4, "this array", nullable=nullable)
        if count < 0:
            return None
        items = []
        for index in range(count):
            self.at.parts.append(f"[{index}]")
            items.append(self.value(cls, spec, kind, tagged=False, nullable=False))
            self.at.parts.pop()
        return items

    def tags(self, cls: type[Any], values: dict[str, Any]) -> None:
        known = {spec[5]: spec for spec in cls.FIELDS if spec[5] is not None}
        unknown: list[tuple[int, bytes]] = []
        previous = -1
        self.at.parts.append("tagged fields")
        start = self.pos
        count = self.uvarint("the number of tagged fields")
        if count < 0 and self.policy.tags != "kafka":  # whose loop is over before it begins
            self.fail(f"the number of tagged fields is {count}", start)
        for _ in range(count):
            start = self.pos
            tag = self.uvarint("a tag")
            if self.policy.tags != "kafka":
                if tag < 0 or tag > MAX_TAG:
                    self.fail(f"{tag} is no tag", start)
                if tag <= previous:
                    self.fail(f"tag {tag} after tag {previous}: tags must ascend", start)
            previous = tag
            size = self.uvarint(f"the size of tag {tag}")
            spec = known.get(tag)
            unread = spec is not None and self.policy.tags == "kafka"
            if not 0 <= size <= len(self.data) - self.pos and not unread:
                self.fail(f"tag {tag} has size {size}, {len(self.data) - self.pos} bytes are left")
            if spec is not None and not _within(self.at.version, spec[6]):
                if self.policy.tags != "preserve":
                    self.fail(f"tag {tag} is `{spec[0]}`, which version {self.at.version} does not have", start)
                spec = None
            if spec is None:
                unknown.append((tag, self.take(size, f"tag {tag}")))
            else:
                self.at.parts[-1] = spec[0]
                self.tagged(cls, spec, values, size)
                self.at.parts[-1] = "tagged fields"
        self.at.parts.pop()
        if unknown:
            values["unknown_tags"] = tuple(unknown)

    def tagged(self, cls: type[Any], spec: FieldSpec, values: dict[str, Any], size: int) -> None:
        start = self.pos
        values[spec[0]] = self.value(cls, spec, spec[2], tagged=True, nullable=self.nullable(spec))
        if self.pos - start != size and self.policy.tags != "kafka":
            self.fail(f"tag {spec[5]} says it has {size} bytes, its value takes {self.pos - start}", start)


class _Writer:
    def __init__(self, cls: type[Message], version: int) -> None:
        self.at = _Path(cls, version)

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(reason, message=self.at.message, version=self.at.version, path=str(self.at))

    def struct(self, out: bytearray, value: Any) -> None:
        cls = type(value)
        defaults = cls()
        tags: list[tuple[int, bytes]] = []
        for spec in cls.FIELDS:
            self.at.parts.append(spec[0])
            field = getattr(value, spec[0])
            if not _within(self.at.version, spec[3]):
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
        return _within(self.at.version, spec[4])

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
        elif kind in _SIZES:
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
            out += pack(">d", value)
        else:
            low, high = _RANGES[kind]
            if not isinstance(value, int):
                self.fail(f"{_short(value)} is not an integer")
            if not low <= value <= high:
                self.fail(f"{value} does not fit {kind}, which holds {low} to {high}")
            out += pack(_FORMATS[kind], value)

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
    match entry:
        case (int(), bytes()):
            return True
    return False


def _uvarint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
