"""Recorded conversations of real clients with real brokers, decoded to the last byte without a broker."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kwire.connection import (
    CLIENT,
    SERVER,
    ConnectionDecoder,
    Direction,
    Event,
    RequestEvent,
    ResponseEvent,
    SaslToken,
)
from kwire_kafka import PROTOCOL, ProduceRequest
from tests.e2e.capture import Recording, Study, load

CAPTURES = sorted((Path(__file__).parents[2] / "data" / "captures").glob("*.json.gz"))
capture = pytest.mark.parametrize("path", CAPTURES, ids=[path.name.removesuffix(".json.gz") for path in CAPTURES])


@capture
def test_every_byte_is_accounted_for(path: Path, snapshot: Any) -> None:
    """Every frame decodes, every message is written again to the same bytes, and all records can be read."""
    study = Study(load(path))
    assert study.problems == []
    assert study.outstanding == 0
    topics = sorted({topic for topic, _, _ in study.produced})
    assert {
        "connections": study.connections,
        "frames": study.frames,
        "tokens": sum(isinstance(event, SaslToken) for event in study.events),
        "unanswered on purpose": len(silent(study)),
        "trailing bytes": sorted(study.trailing),
        "versions": [f"{name} {'/'.join(map(str, versions))}" for name, versions in study.versions.items()],
        "records written": len(study.produced),
        "records delivered": len(study.fetched),
        "subscriptions and assignments": len(study.embedded),
        "codecs": " ".join(study.codecs),
        "magic": " ".join(map(str, study.magics)),
        "transactions in": {topic: sorted(study.markers(topic)) for topic in topics if study.markers(topic)},
    } == snapshot


def test_trap_08_nothing_waits_for_an_answer_to_acks_0() -> None:
    """Whoever paired requests with responses by their order alone would be wrong from here on."""
    found = 0
    for path in CAPTURES:
        study = Study(load(path))
        answered = [id(event.request) for event in study.events if isinstance(event, ResponseEvent)]
        for event in silent(study):
            assert isinstance(event.message, ProduceRequest)
            assert event.message.acks == 0
            assert id(event) not in answered
            found += 1
    assert found == 4


def test_trap_09_tokens_after_the_handshake_in_version_0() -> None:
    """PLAIN in frames without a header: one from the client, an empty one from the broker, then requests again."""
    [path] = [path for path in CAPTURES if "with-PLAIN" in path.name]
    bare = 0
    for recording in load(path):
        events = decoded(recording.segments)
        names = [event.name if isinstance(event, RequestEvent) else type(event).__name__ for event in events]
        tokens = [(event.direction, event.data) for event in events if isinstance(event, SaslToken)]
        if tokens:
            assert tokens == [(CLIENT, b"admin\0admin\0admin-secret"), (SERVER, b"")]
            start = names.index("SaslHandshake")
            assert names[start : start + 4] == ["SaslHandshake", "ResponseEvent", "SaslToken", "SaslToken"]
            assert names[start + 4] in ("Metadata", "Produce", "ApiVersions")
            bare += 1
        else:
            assert "SaslAuthenticate" in names
    assert bare == 4


def silent(study: Study) -> list[RequestEvent]:
    """Requests that expect no response [KAFKA-WIRE 8]."""
    return [event for event in study.events if isinstance(event, RequestEvent) and not event.expects_response]


@capture
def test_what_was_written_is_what_was_delivered(path: Path) -> None:
    """Records come back from the broker as they went to it, whatever it did with their batches."""
    study = Study(load(path))
    for topic in {topic for topic, _, _ in study.fetched}:
        assert study.received(topic) <= {sent for _, sent in study.sent(topic)}


@capture
def test_a_byte_that_is_lost_is_noticed(path: Path) -> None:
    """What the tests here rely on: that a study finds what is wrong."""
    for recording in load(path):
        for index in (0, len(recording.segments) // 2, -1):
            segments = list(recording.segments)
            sender, time, data = segments[index]
            segments[index] = (sender, time, data[:-1])
            assert Study([Recording(segments)]).problems != []


@pytest.mark.slow
@capture
def test_pieces_of_any_size_give_the_same_events(path: Path) -> None:
    """Times aside: those follow the pieces."""
    pieces = random.Random(path.name)
    for recording in load(path):
        whole = decoded(recording.segments)
        for longest in (1, 7, 100):
            assert facts(decoded(cut(recording, pieces, longest))) == facts(whole)


def cut(recording: Recording, pieces: random.Random, longest: int) -> list[tuple[Direction, float, bytes]]:
    segments: list[tuple[Direction, float, bytes]] = []
    for sender, time, data in recording.segments:
        while data:
            size = pieces.randint(1, longest)
            segments.append((sender, time, data[:size]))
            data = data[size:]
    return segments


def decoded(segments: list[tuple[Direction, float, bytes]]) -> list[Event]:
    decoder = ConnectionDecoder(PROTOCOL, start="beginning")
    events = [event for sender, time, data in segments for event in decoder.feed(sender, data, time)]
    return [*events, *decoder.close(segments[-1][1])]


def facts(events: list[Event]) -> list[tuple[str, Direction, int, bytes]]:
    assert {event.direction for event in events} <= {CLIENT, SERVER}
    return [(type(event).__name__, event.direction, event.position, getattr(event, "data", b"")) for event in events]
