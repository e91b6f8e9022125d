"""Frames: however the bytes of a connection arrive, the same payloads come out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire import DecodeError, EncodeError
from kwire.frames import MAX_FRAME, FrameReader, frame

PAYLOADS = st.lists(st.binary(max_size=40) | st.sampled_from([b"", b"\0" * 300, b"\xff" * 4]), max_size=6)


def test_a_frame() -> None:
    assert frame(b"") == bytes(4)
    assert frame(b"abc") == b"\0\0\0\3abc"
    assert frame(b"x" * 300)[:4] == b"\0\0\1\x2c"
    assert frame(type("Most", (bytes,), {"__len__": lambda self: 2**31 - 1})())[:4] == b"\x7f\xff\xff\xff"
    with pytest.raises(EncodeError, match="a payload of 2147483648 bytes is too long"):
        frame(type("More", (bytes,), {"__len__": lambda self: 2**31})())


@given(PAYLOADS, st.data())
def test_any_split_of_the_stream(payloads: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, payloads))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = FrameReader()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == payloads
    assert reader.pending == b""


@given(PAYLOADS)
def test_byte_by_byte(payloads: list[bytes]) -> None:
    reader = FrameReader()
    found: list[bytes] = []
    for byte in b"".join(map(frame, payloads)):
        found += reader.feed(bytes([byte]))
    assert found == payloads


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes(kind: type) -> None:
    payloads = list(FrameReader().feed(kind(frame(b"abc") + frame(b"d"))))
    assert payloads == [b"abc", b"d"]
    assert {type(payload) for payload in payloads} == {bytes}


def test_what_is_not_complete_is_pending() -> None:
    reader = FrameReader()
    assert list(reader.feed(frame(b"abc") + b"\0\0\0\5he")) == [b"abc"]
    assert reader.pending == b"\0\0\0\5he"
    assert list(reader.feed(b"llo")) == [b"hello"]
    assert reader.pending == b""


def test_data_is_kept_before_its_payloads_are_asked_for() -> None:
    reader = FrameReader()
    later = reader.feed(frame(b"abc")[:5])
    reader.feed(frame(b"abc")[5:])
    assert reader.pending == frame(b"abc")
    assert list(later) == [b"abc"]


def test_payloads_come_one_by_one() -> None:
    """A frame before a broken one is still had."""
    reader = FrameReader()
    payloads = reader.feed(frame(b"good") + b"\xff\xff\xff\xff")
    assert next(payloads) == b"good"
    with pytest.raises(DecodeError):
        next(payloads)


@pytest.mark.parametrize("size", [-1, -(2**31), MAX_FRAME + 1, 2**31 - 1])
def test_sizes_out_of_range(size: int) -> None:
    reader = FrameReader()
    data = size.to_bytes(4, "big", signed=True) + b"GET"
    with pytest.raises(DecodeError) as caught:
        list(reader.feed(data))
    error = caught.value
    assert str(error) == f"frame, field size, byte 0 of 7: a frame of {size} bytes, but the limit is {MAX_FRAME}"
    assert error.data == reader.pending == data


def test_a_broken_stream_stays_broken() -> None:
    reader = FrameReader()
    for _ in range(2):
        with pytest.raises(DecodeError):
            list(reader.feed(b"HTTP/1.1 400"))


def test_the_limit() -> None:
    assert list(FrameReader(max_frame=3).feed(frame(b"abc"))) == [b"abc"]
    with pytest.raises(DecodeError, match="the limit is 3"):
        list(FrameReader(max_frame=3).feed(frame(b"abcd")[:4]))
