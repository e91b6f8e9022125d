"""The pieces in which bytes arrive make no difference, whatever the bytes are."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kwire.connection import CLIENT, SERVER, Event, NotKafka
from kwire_kafka import HeartbeatRequest
from tests.runtime.connection.conversations import Segment, accounted, asked, decoder, real
from tests.support.effort import examples

GAP = -1


@st.composite
def streams(draw: st.DrawFn) -> list[Segment]:
    """A part of a real conversation in which bytes were changed, left out, put in or said twice."""
    first = draw(st.integers(0, len(real()) - 30))
    segments = []
    for side, data in real()[first : first + draw(st.integers(1, 20))]:
        what = draw(st.sampled_from(["", "", "", "", "", "", "change", "drop", "insert", "repeat"]))
        at = draw(st.integers(0, len(data) - 1)) if what else 0
        some = draw(st.binary(min_size=1, max_size=40)) if what in ("change", "insert") else b""
        match what:
            case "change":
                data = data[:at] + some[:1] + data[at + 1 :]
            case "drop":
                data = data[:at] + data[at + draw(st.sampled_from([1, 4, 30, 1000])) :]
            case "insert":
                data = data[:at] + some + data[at:]
            case "repeat":
                data += data[:at]
        segments.append((side, data))
    return segments


def feed(segments: list[Segment], options: dict[str, Any], sizes: list[int]) -> list[Event]:
    """The events if segments of one direction in a row come in pieces of these sizes, in turn."""
    connection = decoder(**options)
    events: list[Event] = []
    for side, group in groupby(segments, key=lambda segment: segment[0]):
        data = b"".join(data for _, data in group)
        turn = 0
        while data:
            size = sizes[turn % len(sizes)]
            turn += 1
            events += connection.feed(side, data[:size], 1.0)
            data = data[size:]
    return events + connection.close(1.0)


OPTIONS = st.fixed_dictionaries(
    {
        "start": st.sampled_from(["unknown", "beginning"]),
        "bodies": st.booleans(),
        "max_in_flight": st.sampled_from([1, 3, 1000]),
        "max_frame": st.sampled_from([500, 100_000_000]),
    }
)


@pytest.mark.slow
@examples(3)
@given(streams(), OPTIONS, st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_any_pieces_give_the_same_events(segments: list[Segment], options: dict[str, Any], sizes: list[int]) -> None:
    whole = feed(segments, options, [1 << 30])
    assert whole == feed(segments, options, sizes)
    assert whole == feed(segments, options, [1])
    assert sum(map(accounted, whole)) == sum(len(data) for _, data in segments)
    assert all(isinstance(repr(event), str) for event in whole)


@examples(3)
@given(st.lists(st.tuples(st.sampled_from([CLIENT, SERVER, "gap"]), st.binary(max_size=60)), max_size=30), OPTIONS)
def test_no_bytes_do_any_harm(steps: list[tuple[Any, bytes]], options: dict[str, Any]) -> None:
    connection = decoder(**options)
    events = connection.feed(*asked(HeartbeatRequest(), 0, 7), 0.0)
    for side, data in steps:
        if side == "gap":
            events += connection.gap(CLIENT if len(data) % 2 else SERVER, len(data) // 2, 1.0)
        else:
            events += connection.feed(side, data, 1.0)
    events += connection.close(2.0)
    fed = sum(len(data) for side, data in steps if side != "gap")
    assert sum(map(accounted, events)) == fed + len(asked(HeartbeatRequest(), 0, 7)[1])
    assert sum(isinstance(event, NotKafka) for event in events) <= 1


def test_every_two_pieces() -> None:
    segments = list(real()[100:106])
    whole = feed(segments, {"start": "unknown"}, [1 << 30])
    for cut in range(1, max(len(data) for _, data in segments)):
        assert feed(segments, {"start": "unknown"}, [cut, 1 << 30]) == whole
