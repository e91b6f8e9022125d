"""The numbers before messages in records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kwire import DecodeError
from kwire.primitives import read_int16, read_uvarint, read_varint
from kwire.wire import read_i8s, read_i16s, read_i32s, read_i64s

Read = Callable[[bytes, int], tuple[int, int]]


@pytest.mark.parametrize(
    ("read", "value", "data"),
    [
        (read_int16, 1, "0001"),
        (read_int16, -2, "fffe"),
        (read_int16, -(2**15), "8000"),
        (read_uvarint, 0, "00"),
        (read_uvarint, 300, "ac02"),
        (read_uvarint, 2**32 - 1, "ffffffff0f"),
        (read_varint, -1, "01"),
        (read_varint, 150, "ac02"),
        (read_varint, 2**31 - 1, "feffffff0f"),
        (read_varint, -(2**31), "ffffffff0f"),
    ],
)
def test_numbers(read: Read, value: int, data: str) -> None:
    raw = bytes.fromhex(data)
    assert read(b"??" + raw + b"!", 2) == (value, 2 + len(raw))
    for size in range(len(raw)):
        with pytest.raises(DecodeError) as caught:
            read(b"??" + raw[:size], 2)
        assert 2 <= caught.value.offset <= 2 + size
        assert caught.value.data == b"??" + raw[:size]


@pytest.mark.parametrize(
    ("read", "data", "value"),
    [
        (read_uvarint, "8000", 0),
        (read_uvarint, "8180808000", 1),
        (read_uvarint, "ffffffff7f", 2**32 - 1),
        (read_varint, "8180808000", -1),
    ],
)
def test_trap_12_longer_forms_are_accepted(read: Read, data: str, value: int) -> None:
    assert read(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize("read", [read_uvarint, read_varint])
def test_trap_12_varints_end(read: Read) -> None:
    with pytest.raises(DecodeError, match="more than five bytes") as caught:
        read(b"x" + b"\x80" * 5 + b"\0", 1)
    assert caught.value.offset == 1


@pytest.mark.parametrize("read", [read_int16, read_uvarint, read_varint])
@pytest.mark.parametrize("offset", [-1, 4, 100])
def test_offsets_outside_of_data(read: Read, offset: int) -> None:
    with pytest.raises(DecodeError):
        read(b"abc", offset)


@pytest.mark.parametrize("count", range(6))
def test_arrays_of_any_length_have_their_numbers_in_order(count: int) -> None:
    """Short ones are read without a loop."""
    for size, read in ((1, read_i8s), (2, read_i16s), (4, read_i32s), (8, read_i64s)):
        numbers = [(-1) ** number * (number + 3) for number in range(count)]
        data = b"".join(number.to_bytes(size, "big", signed=True) for number in numbers)
        assert read(b"\x55" * 9 + data + b"\x55" * 9, 9, count) == numbers
