"""Reads the numbers that precede a message in a record's key or value, such as versions and record types.

``read_*(data, offset)`` returns the value and its end offset, or raises ``DecodeError``.
"""

from __future__ import annotations

from kwire.errors import DecodeError, counted


def read_int16(data: bytes, offset: int) -> tuple[int, int]:
    """Read a big-endian 16-bit integer (INT16 in the protocol guide)."""
    _check(data, offset, 2, "an int16")
    return int.from_bytes(data[offset : offset + 2], "big", signed=True), offset + 2


def read_uvarint(data: bytes, offset: int) -> tuple[int, int]:
    """Read an UNSIGNED_VARINT of at most five bytes, from 0 to 2**32 - 1. Overlong encodings are accepted."""
    value = 0
    for index in range(5):
        _check(data, offset + index, 1, "a varint")
        byte = data[offset + index]
        value |= (byte & 127) << (7 * index)
        if byte < 128:
            return value & 0xFFFFFFFF, offset + index + 1
    raise DecodeError("a varint of more than five bytes", offset=offset, data=data)


def read_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Read a VARINT, which is a zigzag-encoded int32 of at most five bytes."""
    value, end = read_uvarint(data, offset)
    return (value >> 1) ^ -(value & 1), end


def _check(data: bytes, offset: int, size: int, what: str) -> None:
    if offset < 0 or size > len(data) - offset:
        left = max(0, len(data) - offset)
        raise DecodeError(f"{what} needs {counted(size, 'byte')}, {left} left", offset=offset, data=data)


__all__ = ["read_int16", "read_uvarint", "read_varint"]
