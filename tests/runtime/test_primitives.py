"""The numbers before messages in records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from librt.strings import BytesWriter

from kwire import DecodeError, wire
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


def written(write: Callable[..., None], *values: Any) -> bytes:
    out = BytesWriter()
    write(out, *values)
    return out.getvalue()


@pytest.mark.parametrize(
    ("write", "size", "low", "high"),
    [(wire.write_i8, 1, -128, 127), (wire.write_u16, 2, 0, 65_535), (wire.write_u32, 4, 0, 2**32 - 1)],
)
def test_the_fast_path_writes_integers_up_to_their_limits(write: Any, size: int, low: int, high: int) -> None:
    middle = 1 << 8 * size - 1
    for value in {low, low + 1, middle - 1, middle, middle + 1, high - 1, high}:
        if low <= value <= high:
            assert written(write, value) == value.to_bytes(size, "big", signed=low < 0)
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match="not readable"):
            written(write, value)


@pytest.mark.parametrize("size", [0, 1, 126, 127, 128, 16_382, 16_383, 32_766, 32_767, 32_768, 2**21 - 1, 2**31 - 2])
def test_the_fast_path_reads_the_lengths_that_it_writes(size: int) -> None:
    """Those of strings up to the limit of Kafka. A length of one byte is read where it is needed."""
    data = written(wire.write_uvarint, size + 1)
    assert wire.read_uvarint(b"?" + data + b"?", 1) == (*read_uvarint(data + b"?", 0)[:1], 1 + len(data))
    if size <= 32_767:
        assert written(wire.write_string_length, size) == data
    for read, most in ((wire.read_length, 2**31 - 2), (wire.read_string_length, 32_767)):
        if size < 127 or size > most:
            with pytest.raises(ValueError, match="not readable"):
                read(b"?" + data + b"?", 2)
        else:
            assert read(b"?" + data + b"?", 2) == (size, 1 + len(data))
    if size > 32_767:
        with pytest.raises(ValueError, match="not readable"):
            written(wire.write_string_length, size)


@pytest.mark.parametrize("raw", ["00", "8000", "8080808000", "8080808008", "ffffffff0f", "808080808001"])
def test_the_fast_path_leaves_unusual_lengths_to_the_slow_one(raw: str) -> None:
    with pytest.raises(ValueError, match="not readable"):
        wire.read_length(bytes.fromhex(raw + "00"), 1)


@pytest.mark.parametrize(
    ("raw", "tags"),
    [
        ("00", ()),
        ("02 0001aa 7f00", ((0, b"\xaa"), (127, b""))),
        ("02 80018001" + "bb" * 128 + "feffffff0700", ((128, b"\xbb" * 128), (2**31 - 2, b""))),
    ],
)
def test_the_fast_path_reads_and_writes_tags(raw: str, tags: Any) -> None:
    data = bytes.fromhex(raw)
    assert wire.read_tags(b"?" + data + b"?", 1) == (tags, 1 + len(data))
    for count in range(len(tags) + 1):  # known fields may come in any order
        assert written(wire.write_tags, [*tags[:count]], tags[count:]) == data
        assert count == len(tags) or written(wire.write_tags, [*tags[count:]], tags[:count]) == data


@pytest.mark.parametrize(
    "raw", ["ffffffff0f", "02 0100 0100", "02 0200 0100", "01 ffffffff0700", "01 ffffffff0f00", "01 01ffffffff0f"]
)
def test_the_fast_path_leaves_unusual_tags_to_the_slow_one(raw: str) -> None:
    with pytest.raises(ValueError, match="not readable"):
        wire.read_tags(bytes.fromhex(raw), 0)


@pytest.mark.parametrize("tags", [((1, b""), (1, b"")), ((2, b""), (1, b"")), ((2**31 - 1, b""),), ((-1, b""),)])
@pytest.mark.parametrize("known", [[], [(0, b"")]])
def test_the_fast_path_does_not_write_tags_out_of_order(tags: Any, known: list[Any]) -> None:
    with pytest.raises(ValueError, match="not readable"):
        written(wire.write_tags, known, tags)
    with pytest.raises(ValueError, match="not readable"):
        written(wire.write_tags, [(3, b"")], ((2, b""), (3, b"")))


def test_the_fast_path_reads_whole_uuids() -> None:
    data = bytes(range(33))
    assert wire.read_uuids(data, 1, 2) == [data[1:17], data[17:]]
    assert wire.read_uuids(data, 33, 0) == []
    assert written(wire.write_uuid, data[:16]) == data[:16]
    with pytest.raises(ValueError, match="not readable"):
        wire.read_uuids(data, 2, 2)
    for size in (15, 17):
        with pytest.raises(ValueError, match="not readable"):
            written(wire.write_uuid, bytes(size))
