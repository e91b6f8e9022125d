"""Primitives that emitted codecs call for the parts of reading and writing that are not worth inlining.

Functions read at ``pos`` in ``data`` and return the value, and the new position if it is not obvious. On failure,
they raise ``IndexError``, ``ValueError`` or ``TypeError`` without details, because the caller then decodes again with
``kwire.interpreter``, which reports the error and its position. A slice past the end is too short and leaves ``pos``
after the end, which the next read or the final check detects.
"""

from __future__ import annotations

from librt.strings import BytesWriter, read_i16_be, read_i32_be, read_i64_be, write_i16_be, write_i32_be

from kwire import uuids
from kwire.native import i64, u8
from kwire.uuids import Uuid
from kwire_rules import MAX_STRING, MAX_TAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, NoReturn

ZERO_UUID: Final = uuids.ZERO_UUID
"""The zero uuid of ``kwire.uuids``. Native code reads globals of its own module without a look-up by name."""


def give_up() -> NoReturn:
    """Raise an error to leave the fast path."""
    raise ValueError("not readable")


def checked(value: Any) -> Any:
    """Return the ``value`` passed to a setter. Raise ``TypeError`` for ``None``. Native code checks other types."""
    if value is None:
        raise TypeError("expected a struct, got None")
    return value


def empty_list(count: i64) -> list[Any]:
    """Return an empty list. In the native build, the list has memory for ``count`` elements."""
    return []


def read_uvarint(data: bytes, pos: i64) -> tuple[i64, i64]:
    """Return an unsigned varint and its end position.

    As in Kafka, the varint has at most five bytes, and its value is a signed 32-bit number [KAFKA-WIRE 12].
    """
    value: i64 = 0
    shift: i64 = 0
    while True:
        byte: i64 = data[pos]
        pos += 1
        value |= (byte & 127) << shift
        if byte < 128:
            value &= 0xFFFFFFFF
            if value > 0x7FFFFFFF:
                value -= 0x100000000
            return value, pos
        shift += 7
        if shift > 28:
            give_up()


def read_length(data: bytes, pos: i64) -> tuple[i64, i64]:
    """Return a compact length and its end position, given a first byte at ``pos - 1`` that is zero or at least 128.

    Zero means null, which leaves the fast path.
    """
    first: i64 = data[pos - 1]
    if first < 128:
        give_up()
    second: i64 = data[pos]
    if 0 < second < 128:
        return (first & 127 | second << 7) - 1, pos + 1
    value, pos = read_uvarint(data, pos - 1)
    if value <= 0:
        give_up()  # Kafka treats such a length as null, and the slow path handles it.
    return value - 1, pos


def read_string_length(data: bytes, pos: i64) -> tuple[i64, i64]:
    """Return a string length of at most ``kwire_rules.MAX_STRING`` and its end position, like ``read_length``."""
    size, pos = read_length(data, pos)
    if size > MAX_STRING:
        give_up()
    return size, pos


def write_uvarint(out: BytesWriter, value: i64) -> None:
    """Write an unsigned varint. ``value`` must not be negative."""
    while value > 127:
        out.append(u8(value & 127 | 128))
        value >>= 7
    out.append(u8(value))


def write_string_length(out: BytesWriter, size: i64) -> None:
    """Write the length of a compact string, which must be too large for a single byte."""
    if size > MAX_STRING:
        give_up()
    write_uvarint(out, size + 1)


def read_u16(data: bytes, pos: i64) -> int:
    value: int = read_i16_be(data, pos)
    return value & 0xFFFF


def read_u32(data: bytes, pos: i64) -> int:
    value: int = read_i32_be(data, pos)
    return value & 0xFFFFFFFF


def write_i8(out: BytesWriter, value: int) -> None:
    if value < -128 or value > 127:
        give_up()
    out.append(value & 255)


def write_u16(out: BytesWriter, value: int) -> None:
    if value < 0 or value > 0xFFFF:
        give_up()
    write_i16_be(out, value - 0x10000 if value > 0x7FFF else value)


def write_u32(out: BytesWriter, value: int) -> None:
    if value < 0 or value > 0xFFFFFFFF:
        give_up()
    write_i32_be(out, value - 0x100000000 if value > 0x7FFFFFFF else value)


def write_uuid(out: BytesWriter, value: bytes) -> None:
    if len(value) != 16:
        give_up()
    out.write(value)


# Arrays of numbers, read in loops over a primitive operation that mypyc compiles to machine code.


def read_i8s(data: bytes, pos: i64, count: i64) -> list[int]:
    values: list[int] = []
    for index in range(pos, pos + count):
        byte: int = data[index]
        values.append((byte ^ 128) - 128)
    return values


def read_i16s(data: bytes, pos: i64, count: i64) -> list[int]:
    if count == 1:
        return [read_i16_be(data, pos)]
    if count == 2:
        return [read_i16_be(data, pos), read_i16_be(data, pos + 2)]
    if count == 3:
        return [read_i16_be(data, pos), read_i16_be(data, pos + 2), read_i16_be(data, pos + 4)]
    values: list[int] = []
    for index in range(pos, pos + 2 * count, 2):
        values.append(read_i16_be(data, index))
    return values


def read_i32s(data: bytes, pos: i64, count: i64) -> list[int]:
    if count == 1:
        return [read_i32_be(data, pos)]
    if count == 2:
        return [read_i32_be(data, pos), read_i32_be(data, pos + 4)]
    if count == 3:
        return [read_i32_be(data, pos), read_i32_be(data, pos + 4), read_i32_be(data, pos + 8)]
    values: list[int] = []
    for index in range(pos, pos + 4 * count, 4):
        values.append(read_i32_be(data, index))
    return values


def read_i64s(data: bytes, pos: i64, count: i64) -> list[int]:
    if count == 1:
        return [read_i64_be(data, pos)]
    if count == 2:
        return [read_i64_be(data, pos), read_i64_be(data, pos + 8)]
    if count == 3:
        return [read_i64_be(data, pos), read_i64_be(data, pos + 8), read_i64_be(data, pos + 16)]
    values: list[int] = []
    for index in range(pos, pos + 8 * count, 8):
        values.append(read_i64_be(data, index))
    return values


if __file__.endswith(".py"):  # in interpreted code, one ``struct`` call for all elements is faster than a loop
    from kwire.arrays import read_i8s, read_i16s, read_i32s, read_i64s  # noqa: F401


def read_uuids(data: bytes, pos: i64, count: i64) -> list[Uuid]:
    if pos + 16 * count > len(data):
        give_up()
    values: list[Uuid] = []
    for index in range(pos, pos + 16 * count, 16):
        values.append(Uuid(data[index : index + 16]))
    return values


# A tagged section [KIP-482] has a count, followed by the tag, size and payload of each field in ascending tag order.


def read_tag(data: bytes, pos: i64) -> tuple[i64, i64, i64]:
    """Return the tag, the size of the payload in bytes, and the position of the payload."""
    tag: i64 = data[pos]
    pos += 1
    if tag > 127:
        tag, pos = read_uvarint(data, pos - 1)
    size: i64 = data[pos]
    pos += 1
    if size > 127:
        size, pos = read_uvarint(data, pos - 1)
    if tag < 0 or tag > MAX_TAG or size < 0:
        give_up()
    return tag, size, pos


def read_tags(data: bytes, pos: i64) -> tuple[tuple[tuple[int, bytes], ...], i64]:
    """Read a tagged section in which all tags are unknown. Return the fields and the end position of the section."""
    count, pos = read_uvarint(data, pos)
    if count < 0:
        give_up()
    tags: list[tuple[int, bytes]] = []
    previous: i64 = -1
    for _ in range(count):
        tag, size, pos = read_tag(data, pos)
        if tag <= previous:
            give_up()
        previous = tag
        tags.append((tag, data[pos : pos + size]))
        pos += size
    return tuple(tags), pos


def write_tags(out: BytesWriter, known: list[tuple[int, bytes]], unknown: tuple[tuple[int, bytes], ...]) -> None:
    """Write a tagged section. Unknown tags must ascend and must not be known tags, as in Kafka's
    RawTaggedFieldWriter."""
    tags = known
    if unknown:
        previous: i64 = -1
        for tag, _ in unknown:
            if tag <= previous or tag > MAX_TAG:
                give_up()
            previous = tag
        tags = sorted(known + list(unknown))
        previous = -1
        for tag, _ in tags:
            if tag == previous:
                give_up()
            previous = tag
    write_uvarint(out, len(tags))
    for tag, payload in tags:
        write_uvarint(out, tag)
        write_uvarint(out, len(payload))
        out.write(payload)
