"""The pieces in which bytes arrive make no difference, whatever the bytes are."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kwire.connection import CLIENT, SERVER, Direction, Event, Gap, NotKafka, Skipped
from kwire_kafka import HeartbeatRequest
from tests.runtime.connection.conversations import Segment, accounted, asked, decoder, place, real
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


FRAMES = [asked(HeartbeatRequest(), 0, number)[1] for number in (8, 9)]
SOME = st.lists(st.binary(max_size=60) | st.sampled_from(FRAMES), max_size=3).map(b"".join)


@pytest.mark.slow
@examples(2)
@given(st.lists(st.tuples(st.sampled_from([CLIENT, SERVER, "gap"]), SOME), max_size=30), OPTIONS)
@example(
    [(SERVER, bytes(5)), ("gap", bytes(2)), (SERVER, bytes(3))],
    {"start": "beginning", "bodies": False, "max_in_flight": 1, "max_frame": 500},
)
def test_no_bytes_do_any_harm(steps: list[tuple[Any, bytes]], options: dict[str, Any]) -> None:
    """Each byte is in one event, which says where it was."""
    steps = [(CLIENT, asked(HeartbeatRequest(), 0, 7)[1]), *steps]
    connection, events, sent = decoder(**options), list[Event](), {CLIENT: [b""], SERVER: [b""]}
    for side, data in steps:
        if side == "gap":
            to: Direction = CLIENT if len(data) % 2 else SERVER
            events += connection.gap(to, len(data) // 2, 1.0)
            sent[to].append(bytes(len(data) // 2))
        else:
            events += connection.feed(side, data, 1.0)
            sent[side].append(data)
    events += connection.close(2.0)
    assert sum(map(accounted, events)) == sum(len(data) for side, data in steps if side != "gap")
    assert sum(isinstance(event, NotKafka) for event in events) <= 1
    for side, parts in sent.items():
        whole = b"".join(parts)
        own = [event for event in events if event.direction == side]
        gaps = {
            at for event in own if isinstance(event, Gap) for at in range(event.position, event.position + event.size)
        }
        places: list[int] = []
        for event in filter(accounted, own):
            if isinstance(event, Skipped) and not event.data:  # bytes that are only counted, with gaps between them
                places += [at for at in range(event.position, len(whole)) if at not in gaps][: event.size]
            else:
                places += place(event)
        assert len(places) == len({*places})
        assert {*places} | gaps == {*range(len(whole))}
        for event in own:
            if isinstance(event, (Skipped, NotKafka)) and event.data:
                assert event.data == whole[event.position :][: len(event.data)]


def test_every_two_pieces() -> None:
    segments = list(real()[100:106])
    whole = feed(segments, {"start": "unknown"}, [1 << 30])
    for cut in range(1, max(len(data) for _, data in segments)):
        assert feed(segments, {"start": "unknown"}, [cut, 1 << 30]) == whole
