"""In-flight requests: those whose response is still to come, by correlation id and in order, within limits."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from kwire.native import mypyc_attr

if TYPE_CHECKING:
    from kwire.connection.events import RequestEvent, Undecodable
    from kwire.connection.known_headers import KnownHeader

MAX_ID_PREFIXES: Final = 16


@mypyc_attr(serializable=True)
class InFlightRequest:
    """A request without a response so far.

    ``size`` is what it adds to the bytes in flight. ``server_losses`` is how often the server's stream had lost bytes
    when the request was sent. ``known`` is its header if an earlier one was like it; then the event may be left out,
    and is made when it is needed.
    """

    __slots__ = (
        *("_event", "api_key", "correlation_id", "known", "position", "server_losses", "size", "time", "version"),
    )

    def __init__(
        self,
        api_key: int,
        version: int,
        correlation_id: int,
        time: float,
        position: int,
        size: int,
        server_losses: int,
        known: KnownHeader | None,
        event: RequestEvent | Undecodable | None,
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.time = time
        self.position = position
        self.size = size
        self.server_losses = server_losses
        self.known = known
        self._event = event

    @property
    def request(self) -> RequestEvent | Undecodable:
        """Its event."""
        if self._event is None:
            assert self.known is not None
            self._event = self.known.event(self.time, self.position, self.correlation_id)
        return self._event


@mypyc_attr(serializable=True)
class InFlightRequests:
    """A queue, because a server answers the requests of a connection in their order.

    Taking the response to a later request therefore gives up the requests before it. Correlation ids may repeat: a
    response answers the oldest request with its id.
    """

    __slots__ = ("_again", "_by_id", "_max_bytes", "_max_requests", "_queue", "bytes", "id_prefixes")

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._queue: deque[InFlightRequest] = deque()
        self._by_id: dict[int, InFlightRequest] = {}  # the oldest
        self._again: dict[int, deque[InFlightRequest]] = {}  # the others with its id, where there are any
        self.bytes = 0
        """The sum of their sizes."""
        self.id_prefixes: set[int] = set()
        """The upper halves of all correlation ids so far; incomplete once there are over ``MAX_ID_PREFIXES``."""

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, correlation_id: int) -> bool:
        return correlation_id in self._by_id

    @property
    def first(self) -> InFlightRequest | None:
        """The oldest request."""
        return self._queue[0] if self._queue else None

    def has_room(self, size: int) -> bool:
        """Whether a request of this size can be added without removing another."""
        return len(self._queue) < self._max_requests and self.bytes + size <= self._max_bytes

    def oldest(self, correlation_id: int) -> InFlightRequest:
        """The oldest request with this id; ``KeyError`` if there is none."""
        return self._by_id[correlation_id]

    def add(self, request: InFlightRequest) -> list[InFlightRequest]:
        """Append ``request``, and remove and return the oldest requests beyond the limits."""
        self.append(request)
        dropped = []
        while len(self._queue) > self._max_requests or (self.bytes > self._max_bytes and len(self._queue) > 1):
            dropped.append(self.pop())
        return dropped

    def append(self, request: InFlightRequest) -> None:
        """Like ``add``, for one that there is room for."""
        self._queue.append(request)
        correlation_id = request.correlation_id
        if correlation_id in self._by_id:
            self._again.setdefault(correlation_id, deque()).append(request)
        else:
            self._by_id[correlation_id] = request
        self.bytes += request.size
        if len(self.id_prefixes) <= MAX_ID_PREFIXES:
            self.id_prefixes.add(correlation_id >> 16)

    def take(self, correlation_id: int) -> tuple[InFlightRequest, list[InFlightRequest]]:
        """Remove and return the oldest request with this id, and all requests before it; ``KeyError`` if none has
        it."""
        answered = self.oldest(correlation_id)
        passed_over = []
        while (request := self.pop()) is not answered:
            passed_over.append(request)
        return answered, passed_over

    def clear(self) -> list[InFlightRequest]:
        """Remove and return all requests, in order."""
        return [self.pop() for _ in range(len(self._queue))]

    def pop(self) -> InFlightRequest:
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
