"""In-flight requests: those whose response is still to come, by correlation id and in order, within limits."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kwire.native import mypyc_attr

if TYPE_CHECKING:
    from kwire.connection.events import RequestEvent, Undecodable

MAX_ID_PREFIXES = 16


@mypyc_attr(serializable=True)
@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A request without a response so far.

    ``size`` is what it adds to the bytes in flight. ``server_losses`` is how often the server's stream had lost bytes
    when the request was sent.
    """

    request: RequestEvent | Undecodable
    api_key: int
    version: int
    correlation_id: int
    size: int = 0
    server_losses: int = 0


@mypyc_attr(serializable=True)
class InFlightRequests:
    """A queue, because a server answers the requests of a connection in their order.

    Taking the response to a later request therefore gives up the requests before it. Correlation ids may repeat: a
    response answers the oldest request with its id.
    """

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._queue: deque[InFlightRequest] = deque()
        self._by_id: dict[int, list[InFlightRequest]] = {}
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
        return self._by_id[correlation_id][0]

    def add(self, request: InFlightRequest) -> list[InFlightRequest]:
        """Append ``request``, and remove and return the oldest requests beyond the limits."""
        self._queue.append(request)
        self._by_id.setdefault(request.correlation_id, []).append(request)
        self.bytes += request.size
        if len(self.id_prefixes) <= MAX_ID_PREFIXES:
            self.id_prefixes.add(request.correlation_id >> 16)
        dropped = []
        while len(self._queue) > self._max_requests or (self.bytes > self._max_bytes and len(self._queue) > 1):
            dropped.append(self._pop())
        return dropped

    def take(self, correlation_id: int) -> tuple[InFlightRequest, list[InFlightRequest]]:
        """Remove and return the oldest request with this id, and all requests before it; ``KeyError`` if none has
        it."""
        answered = self.oldest(correlation_id)
        passed_over = []
        while (request := self._pop()) is not answered:
            passed_over.append(request)
        return answered, passed_over

    def clear(self) -> list[InFlightRequest]:
        """Remove and return all requests, in order."""
        return [self._pop() for _ in range(len(self._queue))]

    def _pop(self) -> InFlightRequest:
        oldest = self._queue.popleft()
        same_id = self._by_id[oldest.correlation_id]
        del same_id[0]
        if not same_id:
            del self._by_id[oldest.correlation_id]
        self.bytes -= oldest.size
        return oldest
