"""The types of the protocol guide, for use by hand."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError, EncodeError, Uuid
from kwire import primitives as p

NUMBERS: dict[str, tuple[int, int, int]] = {
    "int8": (-(2**7), 2**7 - 1, 1),
    "int16": (-(2**15), 2**15 - 1, 2),
    "uint16": (0, 2**16 - 1, 2),
    "int32": (-(2**31), 2**31 - 1, 4),
    "uint32": (0, 2**32 - 1, 4),
    "int64": (-(2**63), 2**63 - 1, 8),
    "uvarint": (0, 2**32 - 1, 0),
    "varint": (-(2**31), 2**31 - 1, 0),
    "varlong": (-(2**63), 2**63 - 1, 0),
}
TEXT = st.text(max_size=30) | st.sampled_from(["", "x" * 126, "x" * 127, "\U0001f600" * 40, "x" * 0x7FFF])
BLOB = st.binary(max_size=30) | st.sampled_from([b"", b"z" * 126, b"z" * 127, b"z" * 40000])
TAGS = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=200), max_size=4)
TYPES: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(low, high) | st.sampled_from([low, high]) for name, (low, high, _) in NUMBERS.items()},
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16).map(Uuid),
    "string": TEXT,
    "compact_string": TEXT,
    "bytes": BLOB,
    "compact_bytes": BLOB,
    "nullable_string": st.none() | TEXT,
    "compact_nullable_string": st.none() | TEXT,
    "nullable_bytes": st.none() | BLOB,
    "compact_nullable_bytes": st.none() | BLOB,
    "tagged_fields": TAGS.map(lambda tags: tuple(sorted(tags.items()))),
}


def reader(name: str) -> Callable[[bytes, int], tuple[Any, int]]:
    found: Callable[[bytes, int], tuple[Any, int]] = getattr(p, f"read_{name}")
    return found


def written(name: str, value: Any) -> bytes:
    out = bytearray(b"before")
    getattr(p, f"write_{name}")(out, value)
    assert out[:6] == b"before"
    return bytes(out[6:])


def test_every_type_is_tested() -> None:
    readers = {name.removeprefix("read_") for name in dir(p) if name.startswith("read_")}
    writers = {name.removeprefix("write_") for name in dir(p) if name.startswith("write_")}
    assert readers == writers == {*TYPES, "array", "compact_array"}


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_round_trips(name: str, data: st.DataObject) -> None:
    value = data.draw(TYPES[name])
    raw = written(name, value)
    assert reader(name)(b"??" + raw + b"!", 2) == (value, 2 + len(raw))
    for size in {0, len(raw) // 2, len(raw) - 1}:
        with pytest.raises(DecodeError) as caught:
            reader(name)(b"??" + raw[:size], 2)
        assert 2 <= caught.value.offset <= 2 + size
        assert caught.value.data == b"??" + raw[:size]


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_have_ranges(name: str) -> None:
    low, high, size = NUMBERS[name]
    for value in (low, high):
        assert len(written(name, value)) == size or not size
    for value in (low - 1, high + 1, 2**100, -(2**100)):
        with pytest.raises(EncodeError):
            written(name, value)


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("int8", -2, "fe"),
        ("int16", -2, "fffe"),
        ("uint16", 0xFFFE, "fffe"),
        ("int32", 1, "00000001"),
        ("uint32", 0x80000000, "80000000"),
        ("int64", -1, "ffffffffffffffff"),
        ("float64", 1.5, "3ff8000000000000"),
        ("bool", True, "01"),
        ("uvarint", 300, "ac02"),
        ("uvarint", 2**32 - 1, "ffffffff0f"),
        ("varint", -1, "01"),
        ("varint", 150, "ac02"),
        ("varint", -(2**31), "ffffffff0f"),
        ("varlong", -(2**63), "ffffffffffffffffff01"),
        ("varlong", 2**63 - 1, "feffffffffffffffff01"),
        ("string", "ü", "0002c3bc"),
        ("compact_string", "ü", "03c3bc"),
        ("nullable_string", None, "ffff"),
        ("compact_nullable_string", None, "00"),
        ("nullable_bytes", None, "ffffffff"),
        ("bytes", b"\xaa", "00000001aa"),
        ("compact_bytes", b"\xaa", "02aa"),
        ("compact_nullable_bytes", None, "00"),
        ("tagged_fields", ((0, b"\xaa"), (300, b"")), "020001aaac0200"),
        ("tagged_fields", (), "00"),
    ],
)
def test_bytes_by_hand(name: str, value: Any, data: str) -> None:
    assert written(name, value) == bytes.fromhex(data)
    assert reader(name)(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize("byte", [1, 2, 127, 128, 255])
def test_trap_11_any_byte_but_zero_is_true(byte: int) -> None:
    assert p.read_bool(bytes([byte]), 0) == (True, 1)


@pytest.mark.parametrize(
    ("name", "data", "value"),
    [
        ("uvarint", "8000", 0),
        ("uvarint", "8180808000", 1),
        ("uvarint", "ffffffff7f", 2**32 - 1),
        ("varint", "8180808000", -1),
        ("varlong", "81808080808080808000", -1),
    ],
)
def test_trap_12_longer_forms_are_accepted(name: str, data: str, value: int) -> None:
    assert reader(name)(bytes.fromhex(data), 0) == (value, len(data) // 2)


@pytest.mark.parametrize(("name", "longest"), [("uvarint", 5), ("varint", 5), ("varlong", 10)])
def test_trap_12_varints_end(name: str, longest: int) -> None:
    with pytest.raises(DecodeError, match=f"more than {longest} bytes") as caught:
        reader(name)(b"x" + b"\x80" * longest + b"\0", 1)
    assert caught.value.offset == 1


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("nullable_string", "ffff"),
        ("nullable_string", "8000"),
        ("nullable_bytes", "80000000"),
        ("compact_nullable_string", "8000"),
    ],
)
def test_trap_13_negative_lengths_are_null(name: str, data: str) -> None:
    assert reader(name)(bytes.fromhex(data), 0) == (None, len(data) // 2)
    with pytest.raises(DecodeError, match="null, which it may not be"):
        reader(name.replace("nullable_", ""))(bytes.fromhex(data), 0)


@pytest.mark.parametrize("name", ["string", "compact_string", "nullable_string", "compact_nullable_string"])
def test_trap_14_strings_that_cannot_be_written(name: str) -> None:
    for value in ("x" * 0x8000, "ü" * 0x4000, "\ud800"):
        with pytest.raises(EncodeError):
            written(name, value)


@pytest.mark.parametrize("name", ["string", "bytes", "compact_string", "compact_bytes"])
def test_null_that_may_not_be_written(name: str) -> None:
    with pytest.raises(EncodeError, match="null, which it may not be"):
        written(name, None)


def test_trap_14_invalid_utf8() -> None:
    with pytest.raises(DecodeError, match="not UTF-8") as caught:
        p.read_string(b"\0\3a\xffb", 0)
    assert caught.value.offset == 3


@pytest.mark.parametrize("name", ["array", "compact_array"])
@given(values=st.none() | st.lists(st.integers(-(2**31), 2**31 - 1), max_size=200))
def test_arrays(name: str, values: list[int] | None) -> None:
    out = bytearray()
    getattr(p, f"write_{name}")(out, values, p.write_int32)
    packed = struct.pack(f">{len(values)}i", *values) if values else b""
    assert out.endswith(packed)
    read = getattr(p, f"read_{name}")
    assert read(b"?" + bytes(out), 1, p.read_int32) == (values, 1 + len(out))
    if values:
        with pytest.raises(DecodeError):
            read(bytes(out[:-1]), 0, p.read_int32)


def test_arrays_of_arrays() -> None:
    out = bytearray()
    p.write_array(out, [["a"], [], None], lambda o, v: p.write_compact_array(o, v, p.write_string))
    value, end = p.read_array(bytes(out), 0, lambda d, o: p.read_compact_array(d, o, p.read_string))
    assert (value, end) == ([["a"], [], None], len(out))


@pytest.mark.parametrize(("name", "count"), [("array", "7fffffff"), ("compact_array", "ffffffff0f")])
def test_trap_15_counts_are_checked_first(name: str, count: str) -> None:
    def never(data: bytes, offset: int) -> tuple[int, int]:
        raise AssertionError("an element was read")

    with pytest.raises(DecodeError, match="bytes are left"):
        getattr(p, f"read_{name}")(bytes.fromhex(count) + b"abc", 0, never)


@pytest.mark.parametrize("data", ["020500 0500", "020500 0400", "010503aa", "01", "0105", "ffffffff0f"])
def test_tagged_fields_that_cannot_be_read(data: str) -> None:
    with pytest.raises(DecodeError):
        p.read_tagged_fields(bytes.fromhex(data), 0)


@pytest.mark.parametrize("tags", [((2, b""), (1, b"")), ((1, b""), (1, b"")), ((-1, b""),), ((2**32, b""),)])
def test_tagged_fields_that_cannot_be_written(tags: Any) -> None:
    with pytest.raises(EncodeError):
        written("tagged_fields", tags)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("int32", "1"),
        ("int32", None),
        ("int32", 1.5),
        ("float64", "1"),
        ("uuid", b"short"),
        ("uuid", None),
        ("uvarint", None),
        ("varint", "1"),
        ("varlong", 1.5),
        ("string", b"x"),
        ("bytes", "x"),
        ("bytes", 5),
        ("compact_bytes", "x"),
        ("bool", None),
        ("tagged_fields", (5,)),
        ("tagged_fields", None),
        ("tagged_fields", ((1, "x"),)),
    ],
)
def test_wrong_types(name: str, value: Any) -> None:
    out = bytearray(b"before")
    with pytest.raises(EncodeError):
        getattr(p, f"write_{name}")(out, value)


@pytest.mark.parametrize("name", TYPES)
def test_offsets_outside_of_data(name: str) -> None:
    for offset in (-1, 4, 100):
        with pytest.raises(DecodeError):
            reader(name)(b"abc", offset)
