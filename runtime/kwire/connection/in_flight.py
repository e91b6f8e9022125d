"""Requests that wait for their response: found by correlation id, answered in order, never more than a bound."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kwire.connection.events import RequestEvent, Undecodable


MAX_HEADS = 16


class InFlightRequest:
    """A request without its response so far. ``lost`` is what the server's stream had lost when it was sent."""

    __slots__ = ("api_key", "correlation_id", "lost", "request", "version")

    def __init__(
        self,
        request: RequestEvent | Undecodable,
        api_key: int,
        version: int,
        correlation_id: int,
        lost: int,
    ) -> None:
        self.request = request
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.lost = lost


class InFlightRequests:
    """A queue, because servers answer the requests of a connection one after the other in their order.

    Whoever takes the response to a later request has therefore to give up those before it. Correlation ids may
    repeat: the oldest request with an id is the one that is answered.
    """

    def __init__(self, limit: int, limit_bytes: int) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._queue: deque[InFlightRequest] = deque()
        self._by_id: dict[int, list[InFlightRequest]] = {}
        self._bytes = 0
        self.heads: set[int] = set()
        """The upper halves of all correlation ids so far; if more than ``MAX_HEADS``, not all of them."""

    def __len__(self) -> int:
        return len(self._queue)

    def __contains__(self, correlation_id: int) -> bool:
        return correlation_id in self._by_id

    def first(self, correlation_id: int) -> InFlightRequest:
        """The oldest request with this id; ``KeyError`` if there is none."""
        return self._by_id[correlation_id][0]

    def add(self, waiting: InFlightRequest) -> list[InFlightRequest]:
        """Let ``waiting`` queue up. Gives the oldest ones if there are now too many, which no longer wait."""
        self._queue.append(waiting)
        self._by_id.setdefault(waiting.correlation_id, []).append(waiting)
        self._bytes += len(waiting.request.data)
        if len(self.heads) <= MAX_HEADS:
            self.heads.add(waiting.correlation_id >> 16)
        dropped = []
        while len(self._queue) > self._limit or (self._bytes > self._limit_bytes and len(self._queue) > 1):
            dropped.append(self._pop())
        return dropped

    def take(self, correlation_id: int) -> tuple[InFlightRequest, list[InFlightRequest]]:
        """The oldest request with this id, and those before it, which were passed over; none of them waits any more.

        ``KeyError`` if there is none.
        """
        wanted = self.first(correlation_id)
        passed = []
        while (waiting := self._pop()) is not wanted:
            passed.append(waiting)
        return wanted, passed

    def clear(self) -> list[InFlightRequest]:
        """All that wait, in order; none does any more."""
        return [self._pop() for _ in range(len(self._queue))]

    def _pop(self) -> InFlightRequest:
        oldest = self._queue.popleft()
        same = self._by_id[oldest.correlation_id]
        del same[0]
        if not same:
            del self._by_id[oldest.correlation_id]
        self._bytes -= len(oldest.request.data)
        return oldest
