"""Decoding an observed connection: bytes of both directions in, events out.

A ``FrameSplitter`` for each direction splits its stream into frames. The decoder matches each response to its request
by correlation id, in the order of the requests. The number and size of requests in flight are limited.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from librt.strings import read_i32_be

from kwire.connection.event_reader import REQUEST_START, SASL_HANDSHAKE, EventReader, sasl_token, undecodable
from kwire.connection.events import (
    CLIENT,
    SERVER,
    NotKafka,
    Unanswered,
    Undecodable,
    without_bytes,
)
from kwire.connection.frame_splitter import Frame, FrameSplitter
from kwire.connection.framing import MAX_ID_PREFIXES, TOKEN, ApiCatalog, RequestFraming, ResponseFraming
from kwire.frames import MAX_FRAME
from kwire.headers import ResponseHeader
from kwire.native import mypyc_attr
from kwire.policy import LIKE_KAFKA

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Literal

    from kwire.connection.event_reader import KnownHeader
    from kwire.connection.events import Direction, Event, RequestEvent
    from kwire.policy import Policy
    from kwire.protocol import MessageRegistry

ENDED = "the connection ended"
"""Default reason reported for requests that are still unanswered when the connection ends."""


@mypyc_attr(serializable=True)
class InFlightRequest:
    """A ``request`` that has not been answered yet.

    ``size`` is the number of bytes that count towards the limit of bytes in flight. ``server_losses`` is the number
    of times that bytes from the server had been lost when the request was sent. ``known`` is the cached header that
    matches the request, or ``None``.
    """

    __slots__ = ("api_key", "correlation_id", "known", "request", "server_losses", "size", "version")

    def __init__(
        self,
        api_key: int,
        version: int,
        correlation_id: int,
        size: int,
        server_losses: int,
        known: KnownHeader | None,
        request: RequestEvent | Undecodable,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.size = size
        self.server_losses = server_losses
        self.known = known
        self.request = request


@mypyc_attr(serializable=True)
class InFlightRequests:
    """A queue of requests that await their responses. Servers answer in order.

    If a later request is answered first, the requests before it will remain unanswered. Correlation ids may repeat. A
    response answers the oldest request with its id.
    """

    __slots__ = ("_again", "_by_id", "_max_bytes", "_max_requests", "_queue", "bytes", "id_prefixes")

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._queue: deque[InFlightRequest] = deque()
        self._by_id: dict[int, InFlightRequest] = {}  # the oldest request with each id
        self._again: dict[int, deque[InFlightRequest]] = {}  # later requests with the same id
        self.bytes = 0
        """The total size of the requests in bytes."""
        self.id_prefixes: set[int] = set()
        """The upper halves of the correlation ids seen so far. The set stops growing once it has more than
        ``MAX_ID_PREFIXES`` elements."""

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, correlation_id: int) -> bool:
        return correlation_id in self._by_id

    def oldest(self, correlation_id: int) -> InFlightRequest:
        """Return the oldest request with this id. Raise ``KeyError`` if no request has this id."""
        return self._by_id[correlation_id]

    def add(self, request: InFlightRequest) -> list[InFlightRequest]:
        """Append ``request``. Remove and return the oldest requests while a limit is exceeded."""
        self._queue.append(request)
        correlation_id = request.correlation_id
        if correlation_id in self._by_id:
            self._again.setdefault(correlation_id, deque()).append(request)
        else:
            self._by_id[correlation_id] = request
        self.bytes += request.size
        if len(self.id_prefixes) <= MAX_ID_PREFIXES:
            self.id_prefixes.add(correlation_id >> 16)
        dropped = []
        while len(self._queue) > self._max_requests or (self.bytes > self._max_bytes and len(self._queue) > 1):
            dropped.append(self._pop())
        return dropped

    def take(self, correlation_id: int) -> tuple[InFlightRequest, list[InFlightRequest]]:
        """Remove all requests up to the oldest request with this id. Return that request and a list of the requests
        before it. Raise ``KeyError`` if no request has this id.
        """
        answered = self._by_id[correlation_id]
        passed_over: list[InFlightRequest] = []
        while (request := self._pop()) is not answered:
            passed_over.append(request)
        return answered, passed_over

    def clear(self) -> list[InFlightRequest]:
        """Remove and return all requests, in order."""
        return [self._pop() for _ in range(len(self._queue))]

    def _pop(self) -> InFlightRequest:
        """Remove and return the oldest request."""
        oldest = self._queue.popleft()
        correlation_id = oldest.correlation_id
        if self._again and (others := self._again.get(correlation_id)):
            self._by_id[correlation_id] = others.popleft()
            if not others:
                del self._again[correlation_id]
        else:
            del self._by_id[correlation_id]
        self.bytes -= oldest.size
        return oldest


@mypyc_attr(serializable=True)
class ConnectionDecoder:
    """Decodes one TCP connection between a client and a Kafka server.

    Feed the decoder the bytes of both directions in the order in which they were seen, in pieces of any size. Any
    bytes are accepted. Every byte becomes part of an event or is buffered until more bytes arrive.

    With ``start="beginning"``, the first byte fed is the first byte of the connection. The decoder reports
    ``NotKafka`` if the first bytes cannot start a Kafka connection. With ``"unknown"``, the decoder searches for the
    first whole message of each direction.

    With ``bodies=False``, only headers are decoded. Messages are ``None``, and Envelopes are not opened. With a set
    of API and message names, such as ``{"ApiVersionsRequest", "Envelope"}``, only the bodies of these APIs and
    messages are decoded.

    The default policy accepts what Kafka accepts, because an observer wants to know what was sent, correct or not.
    Frames are at most ``max_frame`` bytes long. After bytes were lost, the decoder searches only for frames of up to
    ``max_found`` bytes. A lower limit makes the search faster. At most ``max_in_flight`` requests wait for their
    responses, with at most ``max_in_flight_bytes`` bytes in total. Beyond these limits, the oldest requests become
    ``Unanswered``. Requests before an answered request also become ``Unanswered``, because servers answer in order.

    With ``keep_requests=False``, requests in flight keep neither bytes nor messages, and the ``request`` of a
    response has neither. Each request then counts as about one kilobyte towards ``max_in_flight_bytes``. Decoded
    messages use up to 75 times the memory of their bytes. If a frame is larger than ``max_decoded`` bytes, its
    message is therefore ``None``, unless a few large values, such as records, make up nearly all of the frame.
    """

    __slots__ = (
        *("_closed", "_from_client", "_from_server", "_in_flight", "_keep_requests", "_reader", "_requests"),
        "_responses",
    )

    def __init__(
        self,
        protocol: MessageRegistry,
        *,
        policy: Policy = LIKE_KAFKA,
        bodies: bool | Collection[str] = True,
        start: Literal["unknown", "beginning"] = "unknown",
        max_frame: int = MAX_FRAME,
        max_found: int = MAX_FRAME,
        max_in_flight: int = 1000,
        max_in_flight_bytes: int = MAX_FRAME,
        max_decoded: int = MAX_FRAME,
        keep_requests: bool = True,
    ) -> None:
        if start not in ("unknown", "beginning"):
            raise ValueError(f"start must be 'unknown' or 'beginning', not {start!r}")
        catalog = ApiCatalog(protocol, max_decoded)
        self._keep_requests = keep_requests
        self._reader = EventReader(catalog, policy, bodies=bodies)
        self._in_flight = InFlightRequests(max_in_flight, max_in_flight_bytes)
        max_found = min(max_found, max_frame)
        self._requests = RequestFraming(catalog, max_found)
        self._responses = ResponseFraming(catalog, self._in_flight, max_found)
        beginning = start == "beginning"
        self._from_client = FrameSplitter(self._requests, CLIENT, max_frame, max_found, beginning=beginning)
        self._from_server = FrameSplitter(self._responses, SERVER, max_frame, max_found, beginning=beginning)
        self._closed = False

    def feed(self, direction: Direction, data: bytes | bytearray | memoryview, time: float) -> list[Event]:
        """Return the events that ``data``, seen at ``time``, completes."""
        splitter = self._splitter(direction)
        frame = splitter.feed(data, time)
        if frame is not None:
            return self._on_request(frame) if direction == CLIENT else self._on_response(frame)
        return self._events(splitter.rest(time)) if splitter.ready else []

    def gap(self, direction: Direction, size: int, time: float) -> list[Event]:
        """Return the events caused by ``size`` bytes that were sent at ``time`` but not seen. A size of 0 means that
        the number is unknown.

        If all of these bytes belong to one frame, that frame is undecodable and the stream continues after it.
        Otherwise the decoder searches for the next whole message.
        """
        if size < 0:
            raise ValueError(f"the size of a gap must not be negative, not {size}")
        return self._events(self._splitter(direction).gap(size, time))

    def close(self, time: float, reason: str = ENDED) -> list[Event]:
        """Return the remaining events at the end of the connection or capture.

        Requests still in flight become ``Unanswered`` with this ``reason``. Do not feed more bytes afterwards.
        """
        splitters = [self._splitter(CLIENT), self._splitter(SERVER)]
        self._closed = True
        events = [event for splitter in splitters for event in self._events(splitter.close(time))]
        return events + self._unanswered(self._in_flight.clear(), reason, time)

    def drop_secrets(self, time: float, reason: str) -> list[Event]:
        """Drop unclassified bytes and unfinished frames that may contain secrets, and return the resulting events.

        Frames keep their headers, and their other bytes count as missing. ``reason``, such as ``not kept``, says what
        happened to the bytes.
        """
        splitters = self._from_client, self._from_server
        return [event for splitter in splitters for event in self._events(splitter.drop(time, reason, secrets=True))]

    def drop(self, time: float, reason: str) -> list[Event]:
        """Free the memory of unfinished frames and requests in flight, and return the resulting events.

        Bytes of unfinished frames count as missing, and requests in flight become ``Unanswered``. ``reason``, such as
        ``not kept``, says what happened to the bytes and requests.
        """
        splitters = self._from_client, self._from_server
        events = [event for splitter in splitters for event in self._events(splitter.drop(time, reason))]
        return events + self._unanswered(self._in_flight.clear(), f"the request was {reason}", time)

    @property
    def held(self) -> int:
        """The approximate memory of unfinished frames and requests in flight, in bytes."""
        return self._in_flight.bytes + self._from_client.held + self._from_server.held

    @property
    def in_flight(self) -> int:
        """The number of requests that have not been answered yet."""
        return len(self._in_flight)

    def _splitter(self, direction: Direction) -> FrameSplitter:
        if self._closed:
            raise ValueError("this connection is closed")
        if direction == CLIENT:
            return self._from_client
        if direction == SERVER:
            return self._from_server
        raise ValueError(f"the direction must be {CLIENT!r} or {SERVER!r}, not {direction!r}")

    def _events(self, items: Iterable[Frame | Event]) -> list[Event]:
        events: list[Event] = []
        for item in items:
            if isinstance(item, Frame):
                events += self._on_request(item) if item.direction == CLIENT else self._on_response(item)
                continue
            events.append(item)
            if isinstance(item, NotKafka):
                for splitter in (self._from_client, self._from_server):
                    splitter.ignore()
        return events

    def _on_request(self, frame: Frame) -> list[Event]:
        if frame.kind == TOKEN:
            # Tokens may arrive without a handshake [KAFKA-WIRE 9].
            self._requests.expects_tokens = self._responses.expects_tokens = True
            return [sasl_token(frame)]
        known = None if frame.missing else self._reader.known(frame.data)
        event = self._reader.request(frame, known)
        events: list[Event] = [event]
        if self._closed and frame.missing:
            return events
        # These bytes were seen even in an incomplete frame, because frames are classified by them.
        api_key, version, correlation_id = REQUEST_START.unpack_from(frame.data)
        self._requests.expects_tokens = event.name == SASL_HANDSHAKE and version == 0
        if isinstance(event, Undecodable) or event.expects_response:
            stored, size = (event, len(event.data)) if self._keep_requests else without_bytes(event)
            losses = self._from_server.losses
            request = InFlightRequest(api_key, version, correlation_id, size, losses, known, stored)
            if removed := self._in_flight.add(request):
                events += self._unanswered(removed, "too many requests are in flight", frame.time)
        return events

    def _on_response(self, frame: Frame) -> list[Event]:
        if frame.kind == TOKEN:
            return [sasl_token(frame)]
        correlation_id = read_i32_be(frame.data, 0)  # seen, as in a request
        if correlation_id not in self._in_flight:
            header = ResponseHeader(correlation_id=correlation_id)
            return [undecodable(frame, f"no request was seen with correlation id {correlation_id}", header=header)]
        answered, passed_over = self._in_flight.take(correlation_id)
        if answered.request.name == SASL_HANDSHAKE and answered.version == 0:
            agreed = self._responses.expects_tokens = frame.data[4:6] == b"\0\0"
            self._requests.expects_tokens = agreed and self._requests.expects_tokens
        else:
            self._responses.expects_tokens = False
        response = self._reader.response(frame, answered)
        if passed_over:
            return [*self._unanswered(passed_over, "a later request was answered", frame.time), response]
        return [response]

    def _unanswered(self, requests: list[InFlightRequest], reason: str, time: float) -> list[Event]:
        events: list[Event] = []
        for request in requests:
            lost = request.server_losses != self._from_server.losses
            why = f"{reason}, and later server bytes are missing" if lost else reason
            events.append(Unanswered(time, CLIENT, request.request.position, request.request, why))
        return events
