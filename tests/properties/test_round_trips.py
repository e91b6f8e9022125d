"""Every message in every version: written and read by the emitted codecs and by the slow path, with one result.

The emitted ``_read`` and ``_write`` are called as they are, so a codec that always fell back would fail here.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from kwire import STRICT, DecodeError, interpreter
from kwire.message import Message
from tests.properties.values import (
    FIXED,
    NAMES,
    as_decoded,
    each_message,
    each_version,
    exact,
    instances,
    make,
    message_class,
    pairs,
)
from tests.support.effort import examples


def written(message: Message, version: int) -> bytes:
    """What the emitted writer writes, without the way out through ``kwire.interpreter``."""
    out = BytesWriter()
    message._write(out, version)
    return out.getvalue()


def assert_round_trip(message: Message, version: int) -> bytes:
    """Fast and slow, both ways; gives the bytes."""
    cls = type(message)
    data = written(message, version)
    assert interpreter.encode(message, version) == data
    assert message.encode(version) == data
    fast, end = cls._read(data, 0, version)
    assert end == len(data)
    slow, slow_end = interpreter.decode(cls, data, 0, version, STRICT, whole=True)
    assert slow_end == len(data)
    expected = as_decoded(message, version)
    assert fast == expected
    assert exact(fast) == exact(slow) == exact(expected)
    assert written(fast, version) == data
    return data


def assert_round_trips(messages: tuple[Message, ...]) -> None:
    for message, version in zip(messages, type(messages[0]).VALID_VERSIONS, strict=True):
        assert_round_trip(message, version)


def test_every_message_is_here() -> None:
    assert (len(NAMES), len(list(pairs()))) >= (292, 884)


@pytest.mark.slow
@each_version
def test_fixed_cases(cls: type[Message], version: int) -> None:
    for source in FIXED.values():
        assert_round_trip(make(cls, version, source), version)


@pytest.mark.slow
@each_message
def test_drawn_values(name: str) -> None:
    """Each example is one message of every version: setting Hypothesis up takes longer than a round trip."""
    every_version = st.tuples(*(instances(cls, version) for cls, version in pairs([name])))
    examples(0.05)(given(every_version)(assert_round_trips))()


@each_version
def test_defaults(cls: type[Message], version: int) -> None:
    """A message that nobody touched can be written in every version, and reads as itself."""
    assert cls.decode(assert_round_trip(cls(), version), version) == cls()


@each_version
def test_reading_in_the_middle_of_data(cls: type[Message], version: int) -> None:
    message = make(cls, version, FIXED["min"])
    data = written(message, version)
    fast, end = cls._read(b"\x7f" * 5 + data + b"\x7f" * 3, 5, version)
    assert (fast, end) == (as_decoded(message, version), 5 + len(data))
    assert cls.decode_from(b"\x7f" * 5 + data + b"\x7f" * 3, version, start=5) == (fast, end)


@pytest.mark.slow
@each_message
def test_every_cut_is_refused(name: str) -> None:
    """The start of a message is never a whole one: the fast path must not make one of it."""
    for cls, version in pairs([name]):
        data = written(make(cls, version, FIXED["min"]), version)
        for size in range(len(data)):
            try:
                _, end = cls._read(data[:size], 0, version)
            except Exception:
                continue
            assert end > size, f"{name} v{version} read from {size} of {len(data)} bytes"
            # A slice at the end may be short and leave the position behind the end: that must be noticed.
            with pytest.raises(DecodeError):
                cls.decode(data[:size], version)
            with pytest.raises(DecodeError):
                cls.decode_from(data[:size], version)


@pytest.mark.slow
@examples(3)
@given(st.data())
def test_long_examples_of_any_message(data: st.DataObject) -> None:
    """More examples where Hypothesis chooses message and version too: it shrinks to the smallest of both."""
    cls = message_class(data.draw(st.sampled_from(NAMES)))
    version = data.draw(st.sampled_from(cls.VALID_VERSIONS))
    assert_round_trip(data.draw(instances(cls, version)), version)
