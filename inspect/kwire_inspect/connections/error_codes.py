"""Finds the error codes in a response, at any depth, and its throttle time.

For each response class and version, a function is generated once. The function scans the bytes of a response for
these fields, skips all other fields, and creates no objects. The source of the function contains numbers from the
layout, but no text from a definition. For decoded responses, functions that visit only the fields with error codes
are created once, from ``FIELDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from librt.strings import read_i16_be, read_i32_be

from kwire.schema import PresentField, present_fields, struct_class
from kwire.wire import read_uvarint
from kwire_rules import SIZES

if TYPE_CHECKING:
    from kwire.message import Message
    from kwire.protocol import MessageRegistry
    from kwire.struct import Struct

Outcome = tuple[tuple[int, ...], int | None]
"""Distinct error codes except 0, in ascending order, and the throttle time in milliseconds."""
Scan = Callable[[bytes, int], Outcome]
MAX_CODES = 256
"""Maximum number of error codes in a row. Kafka defines fewer error codes, but hostile responses could otherwise make
rows large.
"""
DEEPEST = 16
"""Maximum depth of nested structs."""
NONE: Outcome = ((), None)
_SCANS: dict[tuple[type[Message], int], Scan | None] = {}
Collect = Callable[[Any, set[int]], None]
"""Function that adds the error codes of a struct to a set."""
_KNOWN: dict[type[Struct], tuple[Collect, ...]] = {}


class _OtherwiseError(Exception):
    """Raised if a tagged field contains an error code or throttle time, or if structs are nested too deeply.
    Generated functions support neither of these cases.
    """


def scanner(cls: type[Message], version: int) -> Scan | None:
    """Return the generated function for a class and version, or ``None`` if its messages must be decoded instead.

    The function accepts bytes and the offset of the body, and raises ``IndexError`` or ``ValueError`` for a body that
    cannot be read to its end. Skipped bytes, such as the UTF-8 encoding of strings, are not validated.
    """
    if (cls, version) not in _SCANS:
        _SCANS[cls, version] = _compiled(cls, version)
    return _SCANS[cls, version]


def _compiled(cls: type[Message], version: int) -> Scan | None:
    try:
        body = list(_Emitter(cls, version).message())
    except _OtherwiseError:
        return None
    scope: dict[str, Any] = {"i16": read_i16_be, "i32": read_i32_be, "uvarint": read_uvarint, "tags": _tags}
    scope["finished"] = _finished
    scope["throttle"] = getattr(cls(), "throttle_time_ms", None)  # the default for versions without the field
    lines = ["def scan(data, pos, throttle=throttle):", "    codes, end = set(), len(data)", *body]
    exec("\n".join([*lines, "    return finished(codes, throttle, pos, end)"]), scope)
    return scope["scan"]  # type: ignore[no-any-return]


def _finished(codes: set[int], throttle: int | None, pos: int, end: int) -> Outcome:
    if pos > end:
        raise IndexError("the message goes on")
    codes.discard(0)
    return (tuple(sorted(codes)[:MAX_CODES]) if codes else ()), throttle


def _tags(data: bytes, pos: int) -> int:
    """Return the position after the tagged fields whose count is at ``pos``."""
    count, pos = read_uvarint(data, pos)
    for _ in range(count):
        _, pos = read_uvarint(data, pos)
        size, pos = read_uvarint(data, pos)
        if size < 0:
            raise ValueError("a negative size")
        pos += size
    return pos


class _Emitter:
    """Generates statements that move ``pos`` past a struct and collect its error codes in ``codes``."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self._cls = cls
        self._version = version
        self._skipped = 0  # fixed-size bytes that no statement has skipped yet

    def message(self) -> Iterator[str]:
        yield from self._struct(self._cls, 1)
        yield from self._passed(1)

    def _struct(self, cls: type[Struct], depth: int) -> Iterator[str]:
        if depth > DEEPEST:
            raise _OtherwiseError
        for field in present_fields(cls, self._version):
            if not field.is_tagged:
                yield from self._field(cls, field, depth)
            elif _tells(cls, field, self._version) or field.name == "throttle_time_ms":
                raise _OtherwiseError
        if self._version in cls.FLEXIBLE_VERSIONS:
            yield from self._passed(depth)
            yield from _indented(depth, "n = data[pos]", "pos = tags(data, pos) if n else pos + 1")

    def _field(self, cls: type[Struct], field: PresentField, depth: int) -> Iterator[str]:
        owner = struct_class(cls, field)
        if field.is_array:
            yield from self._array(cls, field, owner, depth)
        elif owner is not None and field.is_nullable:
            yield from self._passed(depth)
            yield from _indented(depth, "n = data[pos]", "pos += 1", "if n < 128:")
            yield from self._whole(owner, depth + 1)
        elif owner is not None:
            yield from self._struct(owner, depth)
        elif field.type in SIZES:
            yield from self._number(cls, field, depth)
        else:
            yield from self._blob(field, depth, nullable=field.is_nullable)

    def _number(self, cls: type[Struct], field: PresentField, depth: int) -> Iterator[str]:
        if _is_code(field):
            yield from _indented(depth, f"codes.add(i16(data, pos + {self._skipped}))")
        elif field.name == "throttle_time_ms" and field.type == "int32" and cls is self._cls:
            yield from _indented(depth, f"throttle = i32(data, pos + {self._skipped})")
        self._skipped += SIZES[field.type]

    def _blob(self, field: PresentField, depth: int, *, nullable: bool) -> Iterator[str]:
        yield from self._length(field, 2 if field.element_type == "string" else 4, depth, nullable=nullable)
        yield from _indented(depth, "if n > 0:", "    pos += n")

    def _array(self, cls: type[Struct], field: PresentField, owner: type[Struct] | None, depth: int) -> Iterator[str]:
        yield from self._length(field, 4, depth, nullable=field.is_nullable)
        yield from _indented(depth, "if n > end - pos:", "    raise ValueError")
        if field.element_type in SIZES:
            size: int | None = SIZES[field.element_type]
        else:
            size = None if owner is None else _size(owner, self._version)
        if size is not None and not (owner is not None and _has_codes(owner, self._version)):
            yield from _indented(depth, "if n > 0:", f"    pos += n * {size}")
            return
        yield from _indented(depth, "for _ in range(n):")
        if owner is not None:
            yield from self._whole(owner, depth + 1)
        else:
            yield from self._blob(field, depth + 1, nullable=False)

    def _whole(self, owner: type[Struct], depth: int) -> Iterator[str]:
        """Yield the statements of a block that reads a struct. The block is never empty."""
        yield from self._struct(owner, depth)
        yield from self._passed(depth)
        yield from _indented(depth, "pass")

    def _length(self, field: PresentField, size: int, depth: int, *, nullable: bool) -> Iterator[str]:
        """Yield statements that set ``n`` to a length or count, or to a negative number for a permitted null."""
        yield from self._passed(depth)
        if field.is_compact:
            yield from _indented(depth, "n = data[pos] - 1", "pos += 1", "if n > 126:")
            yield from _indented(depth + 1, "n, pos = uvarint(data, pos - 1)", "n -= 1")
        else:
            yield from _indented(depth, f"n = {'i16' if size == 2 else 'i32'}(data, pos)", f"pos += {size}")
        if not nullable:
            yield from _indented(depth, "if n < 0:", "    raise ValueError")

    def _passed(self, depth: int) -> Iterator[str]:
        if self._skipped:
            yield from _indented(depth, f"pos += {self._skipped}")
            self._skipped = 0


def _indented(depth: int, *lines: str) -> Iterator[str]:
    return ("    " * depth + line for line in lines)


def _is_code(field: PresentField) -> bool:
    return field.type == "int16" and field.name.endswith("error_code")


def _tells(cls: type[Struct], field: PresentField, version: int) -> bool:
    """Return whether a field is or contains an error code."""
    owner = struct_class(cls, field)
    return _is_code(field) or (owner is not None and _has_codes(owner, version))


def _has_codes(cls: type[Struct], version: int) -> bool:
    return any(_tells(cls, field, version) for field in present_fields(cls, version))


def _size(cls: type[Struct], version: int) -> int | None:
    """Return the size of a struct in bytes, or ``None`` if its size can vary."""
    fields = present_fields(cls, version)
    if version in cls.FLEXIBLE_VERSIONS or not all(field.type in SIZES for field in fields):
        return None
    return sum(SIZES[field.type] for field in fields)


def error_codes(response: Message) -> tuple[int, ...]:
    """Return up to ``MAX_CODES`` distinct error codes in ``response``, in ascending order and without 0.

    The result is a tuple because the garbage collector does not track rows that contain only immutable values.
    """
    cls = type(response)
    codes: set[int] = set()
    for collect in _KNOWN.get(cls) or _collectors(cls):
        collect(response, codes)
    codes.discard(0)
    return tuple(sorted(codes)[:MAX_CODES]) if codes else ()


def throttle_ms(response: Message) -> int | None:
    """Return the throttle time of a response in milliseconds, or ``None`` if the response has no such field."""
    return getattr(response, "throttle_time_ms", None)


def outcome_of(protocol: MessageRegistry, api_key: int, version: int) -> Scan:
    """Return a function that finds the error codes and throttle time in responses of an API and version.

    The function raises ``KwireError``, ``IndexError`` or ``ValueError`` for bytes that cannot be read.
    """
    cls = protocol.response(api_key)
    if version not in cls.VALID_VERSIONS:
        return lambda data, at: NONE
    scan = scanner(cls, version)
    if scan is not None:
        return scan

    def decoded(data: bytes, at: int) -> Outcome:
        message = cls.decode(data, version, start=at)
        return error_codes(message), throttle_ms(message)

    return decoded


def _collectors(cls: type[Struct]) -> tuple[Collect, ...]:
    """Return functions that collect the error codes of a struct, one for each field that is or contains a code."""
    known = _KNOWN.get(cls)
    if known is not None:
        return known
    collectors = []
    for field in cls.FIELDS:
        struct = struct_class(cls, field)
        if field.type == "int16" and field.name.endswith("error_code"):
            collectors.append(_code(field.name))
        elif struct is not None and (within := _collectors(struct)):
            alone = _only_code(struct) if field.is_array and len(within) == 1 else None
            collectors.append(_codes(field.name, alone) if alone else _nested(field.name, within, field.is_array))
    _KNOWN[cls] = tuple(collectors)
    return _KNOWN[cls]


def _only_code(struct: type[Struct]) -> str | None:
    return next((field.name for field in struct.FIELDS if field.name.endswith("error_code")), None)


def _code(name: str) -> Collect:
    get = attrgetter(name)

    def collect(struct: Any, found: set[int]) -> None:
        found.add(get(struct))

    return collect


def _codes(name: str, code: str) -> Collect:
    """Return a function that collects the error codes of a list of structs, such as thousands of partitions.

    Each struct contains exactly one error code.
    """
    get, get_code = attrgetter(name), attrgetter(code)

    def collect(struct: Any, found: set[int]) -> None:
        if elements := get(struct):
            found.update(map(get_code, elements))

    return collect


def _nested(name: str, within: tuple[Collect, ...], is_array: bool) -> Collect:
    get = attrgetter(name)

    def collect(struct: Any, found: set[int]) -> None:
        if value := get(struct):
            for element in value if is_array else (value,):
                for inner in within:
                    inner(element, found)

    return collect
