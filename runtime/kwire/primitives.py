"""Every primitive type of the protocol guide, for reading and writing by hand.

``read_*(data, offset)`` gives the value and the offset behind it and raises :class:`DecodeError`; ``write_*(out,
value)`` appends to a ``bytearray`` and raises :class:`EncodeError`. Emitted codecs do not use them: they are for
record formats, authentication tokens and other bytes that have no definition.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Any, TypeVar

from kwire.errors import DecodeError, EncodeError
from kwire.uuids import Uuid

T = TypeVar("T")

Read = Callable[[bytes, int], tuple[T, int]]
Write = Callable[[bytearray, T], None]


def _fixed(name: str, form: str) -> tuple[Read[Any], Write[Any]]:
    packed = Struct(form)

    def read(data: bytes, offset: int) -> tuple[Any, int]:
        _need(data, offset, packed.size, name)
        return packed.unpack_from(data, offset)[0], offset + packed.size

    def write(out: bytearray, value: Any) -> None:
        try:
            out += packed.pack(value)
        except error as problem:
            raise EncodeError(f"{value!r} is not {name}: {problem}") from problem

    return read, write


read_int8, write_int8 = _fixed("an int8", ">b")
read_int16, write_int16 = _fixed("an int16", ">h")
read_uint16, write_uint16 = _fixed("a uint16", ">H")
read_int32, write_int32 = _fixed("an int32", ">i")
read_uint32, write_uint32 = _fixed("a uint32", ">I")
read_int64, write_int64 = _fixed("an int64", ">q")
read_float64, write_float64 = _fixed("a float64", ">d")


def read_bool(data: bytes, offset: int) -> tuple[bool, int]:
    """Any byte but zero is true."""
    _need(data, offset, 1, "a bool")
    return data[offset] != 0, offset + 1


def write_bool(out: bytearray, value: bool) -> None:
    if value not in (True, False):
        raise EncodeError(f"{value!r} is not a bool")
    out.append(1 if value else 0)


def read_uuid(data: bytes, offset: int) -> tuple[Uuid, int]:
    _need(data, offset, 16, "a uuid")
    return Uuid(data[offset : offset + 16]), offset + 16


def write_uuid(out: bytearray, value: bytes) -> None:
    if len(_bytes(value)) != 16:
        raise EncodeError(f"a uuid has 16 bytes, not {len(value)}")
    out += value


def read_uvarint(data: bytes, offset: int) -> tuple[int, int]:
    """UNSIGNED_VARINT: 0 to 2**32 - 1 in at most five bytes; longer forms of small numbers are accepted."""
    value, end = _groups(data, offset, 5)
    return value & 0xFFFFFFFF, end


def write_uvarint(out: bytearray, value: int) -> None:
    if not isinstance(value, int) or not 0 <= value <= 0xFFFFFFFF:
        raise EncodeError(f"{value!r} does not fit an unsigned varint of 32 bits")
    _write_groups(out, value)


def read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """VARINT: an int32 in zigzag form, at most five bytes."""
    value, end = _groups(data, offset, 5)
    value &= 0xFFFFFFFF
    return (value >> 1) ^ -(value & 1), end


def write_varint(out: bytearray, value: int) -> None:
    if not isinstance(value, int) or not -(2**31) <= value < 2**31:
        raise EncodeError(f"{value!r} does not fit a varint of 32 bits")
    _write_groups(out, (value << 1) ^ (value >> 31))


def read_varlong(data: bytes, offset: int) -> tuple[int, int]:
    """VARLONG: an int64 in zigzag form, at most ten bytes."""
    value, end = _groups(data, offset, 10)
    value &= 0xFFFFFFFFFFFFFFFF
    return (value >> 1) ^ -(value & 1), end


def write_varlong(out: bytearray, value: int) -> None:
    if not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise EncodeError(f"{value!r} does not fit a varlong of 64 bits")
    _write_groups(out, (value << 1) ^ (value >> 63))


def read_nullable_string(data: bytes, offset: int) -> tuple[str | None, int]:
    """NULLABLE_STRING: int16 length, negative for null."""
    length, offset = read_int16(data, offset)
    return _text(data, offset, length)


def write_nullable_string(out: bytearray, value: str | None) -> None:
    raw = _utf8(value)
    write_int16(out, -1 if raw is None else len(raw))
    out += raw or b""


def read_compact_nullable_string(data: bytes, offset: int) -> tuple[str | None, int]:
    """COMPACT_NULLABLE_STRING: unsigned varint of length + 1, 0 for null."""
    length, offset = read_uvarint(data, offset)
    return _text(data, offset, length - 1)


def write_compact_nullable_string(out: bytearray, value: str | None) -> None:
    raw = _utf8(value)
    write_uvarint(out, 0 if raw is None else len(raw) + 1)
    out += raw or b""


def read_nullable_bytes(data: bytes, offset: int) -> tuple[bytes | None, int]:
    """NULLABLE_BYTES and classic RECORDS: int32 length, negative for null."""
    length, offset = read_int32(data, offset)
    return _raw(data, offset, length)


def write_nullable_bytes(out: bytearray, value: bytes | None) -> None:
    write_int32(out, -1 if value is None else len(_bytes(value)))
    out += value or b""


def read_compact_nullable_bytes(data: bytes, offset: int) -> tuple[bytes | None, int]:
    """COMPACT_NULLABLE_BYTES and compact RECORDS: unsigned varint of length + 1, 0 for null."""
    length, offset = read_uvarint(data, offset)
    return _raw(data, offset, length - 1)


def write_compact_nullable_bytes(out: bytearray, value: bytes | None) -> None:
    write_uvarint(out, 0 if value is None else len(_bytes(value)) + 1)
    out += value or b""


def _present(read: Read[T | None], what: str) -> Read[T]:
    def present(data: bytes, offset: int) -> tuple[T, int]:
        value, end = read(data, offset)
        if value is None:
            raise DecodeError(f"{what} is null, which it may not be", offset=offset, data=data)
        return value, end

    return present


def _writes(write: Write[T | None], what: str) -> Write[T]:
    def present(out: bytearray, value: T) -> None:
        if value is None:
            raise EncodeError(f"{what} is null, which it may not be")
        write(out, value)

    return present


read_string, write_string = _present(read_nullable_string, "a string"), _writes(write_nullable_string, "a string")
read_bytes, write_bytes = _present(read_nullable_bytes, "bytes"), _writes(write_nullable_bytes, "bytes")
read_compact_string = _present(read_compact_nullable_string, "a string")
write_compact_string = _writes(write_compact_nullable_string, "a string")
read_compact_bytes = _present(read_compact_nullable_bytes, "bytes")
write_compact_bytes = _writes(write_compact_nullable_bytes, "bytes")


def read_array(data: bytes, offset: int, read: Read[T]) -> tuple[list[T] | None, int]:
    """ARRAY: int32 count, negative for null, then the elements, which ``read`` reads."""
    count, start = read_int32(data, offset)
    return _elements(data, start, count, read)


def write_array(out: bytearray, values: list[T] | None, write: Write[T]) -> None:
    write_int32(out, -1 if values is None else len(values))
    for value in values or ():
        write(out, value)


def read_compact_array(data: bytes, offset: int, read: Read[T]) -> tuple[list[T] | None, int]:
    """COMPACT_ARRAY: unsigned varint of count + 1, 0 for null, then the elements."""
    count, start = read_uvarint(data, offset)
    return _elements(data, start, count - 1, read)


def write_compact_array(out: bytearray, values: list[T] | None, write: Write[T]) -> None:
    write_uvarint(out, 0 if values is None else len(values) + 1)
    for value in values or ():
        write(out, value)


def read_tagged_fields(data: bytes, offset: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """A tagged section: pairs of tag and payload, ascending [KIP-482]."""
    count, offset = read_uvarint(data, offset)
    tags: list[tuple[int, bytes]] = []
    for _ in range(count):
        start = offset
        tag, offset = read_uvarint(data, offset)
        size, offset = read_uvarint(data, offset)
        if tags and tag <= tags[-1][0]:
            raise DecodeError(f"tag {tag} after tag {tags[-1][0]}: tags must ascend", offset=start, data=data)
        _need(data, offset, size, f"tag {tag}")
        tags.append((tag, data[offset : offset + size]))
        offset += size
    return tuple(tags), offset


def write_tagged_fields(out: bytearray, tags: tuple[tuple[int, bytes], ...]) -> None:
    section = bytearray()
    previous = -1
    try:
        for tag, payload in tags:
            if tag <= previous:
                raise EncodeError(f"tag {tag} after tag {previous}: tags must ascend")
            previous = tag
            write_uvarint(section, tag)
            write_uvarint(section, len(_bytes(payload)))
            section += payload
    except (TypeError, ValueError) as problem:
        raise EncodeError(f"{tags!r}: tagged fields are pairs of an int and bytes") from problem
    write_uvarint(out, len(tags))
    out += section


def _need(data: bytes, offset: int, size: int, what: str) -> None:
    if offset < 0 or size > len(data) - offset:
        left = max(0, len(data) - offset)
        raise DecodeError(f"{what} takes {size} bytes, {left} are left", offset=offset, data=data)


def _groups(data: bytes, offset: int, longest: int) -> tuple[int, int]:
    value = 0
    for index in range(longest):
        _need(data, offset + index, 1, "a varint")
        byte = data[offset + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value, offset + index + 1
    raise DecodeError(f"a varint of more than {longest} bytes", offset=offset, data=data)


def _write_groups(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def _raw(data: bytes, offset: int, length: int) -> tuple[bytes | None, int]:
    if length < 0:
        return None, offset
    _need(data, offset, length, "this value")
    return data[offset : offset + length], offset + length


def _text(data: bytes, offset: int, length: int) -> tuple[str | None, int]:
    raw, end = _raw(data, offset, length)
    try:
        return None if raw is None else raw.decode(), end
    except UnicodeDecodeError as problem:
        raise DecodeError(f"not UTF-8: {problem.reason}", offset=offset + problem.start, data=data) from problem


def _bytes(value: bytes) -> bytes:
    if not isinstance(value, bytes | bytearray):
        raise EncodeError(f"{value!r} is not bytes")
    return value


def _utf8(value: str | None) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise EncodeError(f"{value!r} is not a string")
    try:
        raw = value.encode()
    except UnicodeEncodeError as problem:
        raise EncodeError(f"cannot be written as UTF-8: {problem.reason}") from problem
    if len(raw) > 0x7FFF:
        raise EncodeError(f"a string of {len(raw)} bytes, Kafka's longest has {0x7FFF}")
    return raw


def _elements(data: bytes, offset: int, count: int, read: Read[T]) -> tuple[list[T] | None, int]:
    if count < 0:
        return None, offset
    if count > len(data) - offset:
        raise DecodeError(f"{count} elements, {len(data) - offset} bytes are left", offset=offset, data=data)
    values = []
    for _ in range(count):
        value, offset = read(data, offset)
        values.append(value)
    return values, offset
