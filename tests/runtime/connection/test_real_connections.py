"""What was said to real brokers, decoded as one long connection."""

from __future__ import annotations

import pytest

from kwire.connection import CLIENT, SERVER, RequestEvent, ResponseEvent
from tests.runtime.connection.conversations import accounted, decoder, play, real


@pytest.mark.parametrize("start", ["unknown", "beginning"])
@pytest.mark.parametrize("bodies", [True, False])
def test_every_frame_is_a_request_or_its_response(start: str, bodies: bool) -> None:
    events = play(real(), decoder(start, bodies=bodies))  # type: ignore[arg-type]
    assert {type(event) for event in events} == {RequestEvent, ResponseEvent}
    frames = [event for event in events if isinstance(event, (RequestEvent, ResponseEvent))]
    assert [(event.direction, event.data) for event in frames] == [(side, data[4:]) for side, data in real()]
    unknown = [event for event in frames if event.message is None]
    assert len(unknown) == (2 if bodies else len(events))  # ApiVersions 99, twice


def test_responses_know_their_requests_and_how_long_they_took() -> None:
    events = play(real())
    responses = [event for event in events if isinstance(event, ResponseEvent)]
    requests = [event for event in events if isinstance(event, RequestEvent)]
    assert [event.request for event in responses] == [event for event in requests if event.expects_response]
    assert {event.latency for event in responses} == {1.0}
    assert [event.name for event in requests if not event.expects_response] == ["Produce"]


def test_positions_lead_back_to_the_bytes() -> None:
    streams = {side: b"".join(data for whose, data in real() if whose == side) for side in (CLIENT, SERVER)}
    for event in play(real()):
        assert isinstance(event, (RequestEvent, ResponseEvent))
        found = streams[event.direction][event.position : event.position + event.size]
        assert found == event.size.__sub__(4).to_bytes(4, "big") + event.data
        assert event.data[event.body_offset :] == event.body
    assert sum(map(accounted, play(real()))) == sum(map(len, streams.values()))


def test_both_directions_in_one_piece_each() -> None:
    """Responses wait in the kernel of the one who captured: all requests come first."""
    streams = [(side, b"".join(data for whose, data in real("3") if whose == side)) for side in (CLIENT, SERVER)]
    apart = play(streams)  # type: ignore[arg-type]
    together = play(real("3"))
    assert {type(event) for event in apart} == {RequestEvent, ResponseEvent}
    assert sorted(event.data for event in apart) == sorted(event.data for event in together)  # type: ignore[union-attr]
