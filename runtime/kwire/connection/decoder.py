"""A connection seen from outside: bytes of both directions go in, what they mean comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.connection.api_catalog import ApiCatalog
from kwire.connection.events import CLIENT, SERVER, NotKafka, SaslToken, Unanswered, Undecodable
from kwire.connection.frame import Frame
from kwire.connection.frame_splitter import FrameSplitter
from kwire.connection.framing import TOKEN, RequestFraming, ResponseFraming
from kwire.connection.in_flight import InFlightRequest, InFlightRequests
from kwire.connection.reading import REQUEST_START, SASL_HANDSHAKE, Reader, undecodable
from kwire.frames import MAX_FRAME
from kwire.headers import ResponseHeader
from kwire.policy import LIKE_KAFKA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Literal

    from kwire.connection.events import Direction, Event
    from kwire.policy import Policy
    from kwire.protocol import Protocol

ENDED = "the connection ended"
"""Why requests at its end have no response."""


class ConnectionDecoder:
    """One TCP connection between a client and a Kafka server.

    Feed it the bytes of each direction in their order, in whatever pieces, and both directions in the order in which
    they were seen. It never fails for any bytes, and every byte is part of an event or waits for more.

    ``start`` is ``beginning`` if the first byte fed is the first of the connection: then one that does not start like
    Kafka is not Kafka. If nobody knows, the first whole message is searched for in both directions.

    ``bodies=False`` decodes headers only: messages are ``None``, and Envelopes stay closed. Names of apis, as
    ``{"ApiVersions", "Envelope"}``, have only the bodies of these decoded.

    The default policy accepts what Kafka does, because who watches wants to know what was said, not whether it was
    said well. Frames larger than ``limit`` bytes are not believed. Requests wait for their responses, up to
    ``max_in_flight`` of them and ``max_in_flight_bytes`` in all; the oldest of more are unanswered, as all are whose
    response does not come before that to a later one, since servers answer in order.
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        policy: Policy = LIKE_KAFKA,
        bodies: bool | Collection[str] = True,
        start: Literal["unknown", "beginning"] = "unknown",
        limit: int = MAX_FRAME,
        max_in_flight: int = 1000,
        max_in_flight_bytes: int = MAX_FRAME,
    ) -> None:
        if start not in ("unknown", "beginning"):
            raise ValueError(f"start must be unknown or beginning, not {start!r}")
        apis = ApiCatalog(protocol)
        self._reader = Reader(apis, policy, bodies=bodies)
        self._waiting = InFlightRequests(max_in_flight, max_in_flight_bytes)
        self._client = RequestFraming(apis, limit)
        self._server = ResponseFraming(apis, self._waiting, limit)
        beginning = start == "beginning"
        self._lanes = {
            CLIENT: FrameSplitter(self._client, CLIENT, limit, beginning=beginning),
            SERVER: FrameSplitter(self._server, SERVER, limit, beginning=beginning),
        }
        self._closed = False

    def feed(self, direction: Direction, data: bytes | bytearray | memoryview, time: float) -> list[Event]:
        """The events that ``data``, seen at ``time``, completes."""
        return self._events(self._lane(direction).feed(data, time))

    def gap(self, direction: Direction, size: int, time: float) -> list[Event]:
        """``size`` bytes were sent now that nobody saw; 0 if it is not known how many.

        If they are all of one frame, that one is undecodable and the stream goes on behind it. Otherwise the next
        whole message is searched for.
        """
        if size < 0:
            raise ValueError(f"a gap of {size} bytes")
        return self._events(self._lane(direction).gap(size, time))

    def close(self, time: float, reason: str = ENDED) -> list[Event]:
        """What is left when the connection, or the capture, ends. Nothing may be fed after that.

        ``reason`` is what is said of requests that are still waiting.
        """
        lanes = [self._lane(CLIENT), self._lane(SERVER)]
        self._closed = True
        events = [event for lane in lanes for event in self._events(lane.close(time))]
        return events + self._unanswered(self._waiting.clear(), reason, time)

    @property
    def in_flight(self) -> int:
        """How many requests wait for their response."""
        return len(self._waiting)

    def _lane(self, direction: Direction) -> FrameSplitter:
        if self._closed:
            raise ValueError("this connection is closed")
        if direction not in self._lanes:
            raise ValueError(f"the direction is {CLIENT!r} or {SERVER!r}, not {direction!r}")
        return self._lanes[direction]

    def _events(self, items: Iterator[Frame | Event]) -> list[Event]:
        events: list[Event] = []
        for item in items:
            if isinstance(item, Frame):
                events += self._requested(item) if item.direction == CLIENT else self._responded(item)
                continue
            events.append(item)
            if isinstance(item, NotKafka):
                for lane in self._lanes.values():
                    lane.ignore()
        return events

    def _requested(self, frame: Frame) -> list[Event]:
        if frame.verdict == TOKEN:
            self._client.tokens = self._server.tokens = True  # without any handshake too [KAFKA-WIRE 9]
            return [_token(frame)]
        event = self._reader.damaged_request(frame) if frame.missing else self._reader.request(frame)
        events: list[Event] = [event]
        if frame.intact < 8 or (self._closed and not frame.complete):
            return events
        api_key, version, correlation_id = REQUEST_START.unpack_from(frame.data)
        self._client.tokens = event.name == SASL_HANDSHAKE and version == 0
        if isinstance(event, Undecodable) or event.expects_response:
            asked = InFlightRequest(event, api_key, version, correlation_id, self._lanes[SERVER].lost)
            events += self._unanswered(self._waiting.add(asked), "too many requests wait", frame.time)
        return events

    def _responded(self, frame: Frame) -> list[Event]:
        if frame.verdict == TOKEN:
            return [_token(frame)]
        if frame.intact < 4:
            return [undecodable(frame, "its correlation id was not seen")]
        correlation_id = int.from_bytes(frame.data[:4], "big", signed=True)
        if correlation_id not in self._waiting:
            stray = undecodable(frame, f"no request was seen with correlation id {correlation_id}")
            stray.header = ResponseHeader(correlation_id=correlation_id)
            return [stray]
        asked, passed = self._waiting.take(correlation_id)
        events = self._unanswered(passed, "a later request was answered", frame.time)
        if asked.request.name == SASL_HANDSHAKE and asked.version == 0:
            agreed = frame.data[4:6] == b"\0\0"
            self._server.tokens, self._client.tokens = agreed, agreed and self._client.tokens
        else:
            self._server.tokens = False
        read = self._reader.damaged_response if frame.missing else self._reader.response
        return [*events, read(frame, asked)]

    def _unanswered(self, requests: list[InFlightRequest], reason: str, time: float) -> list[Event]:
        events: list[Event] = []
        for asked in requests:
            lost = asked.lost != self._lanes[SERVER].lost
            why = f"{reason}, and bytes of the server are missing since it was sent" if lost else reason
            events.append(Unanswered(time, CLIENT, asked.request.position, asked.request, why))
        return events


def _token(frame: Frame) -> Event:
    if frame.missing:
        return undecodable(frame, f"{frame.missing} bytes of it were not seen", name="SASL token")
    return SaslToken(frame.time, frame.direction, frame.position, frame.started, frame.data)
