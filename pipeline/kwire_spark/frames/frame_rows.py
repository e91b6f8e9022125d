"""The events of a connection as rows of FRAMES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.connection import (
    Gap,
    NotKafka,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Unanswered,
    Undecodable,
)
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.facts import UNNAMED, micros, named, peers
from kwire_spark.frames.payload import shown

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire_spark.capture import Connection
    from kwire_spark.frames.facts import Row
    from kwire_spark.frames.wanted import Wanted

UNTOLD: Row = (None,) * 8
"""The columns of api and client, where there is no frame that tells them."""

NO_ANSWER: Row = (None,) * 4
"""The columns of responses, from ``request`` to ``throttle_ms``, in other rows."""


class FrameRows:
    """Every event is a row; the requests that wait are remembered for the rows of their responses."""

    __slots__ = ("_asked", "_errors", "_number", "_peers", "_shown")

    def __init__(self, connection: Connection, wanted: Wanted) -> None:
        self._peers = peers(connection)
        self._errors, self._shown = wanted.errors, wanted.shown
        self._number = 0
        self._asked: dict[int, tuple[int, Row]] = {}  # number and facts, by position in the client's stream

    def requested(
        self, rows: list[Row], event: RequestEvent | Undecodable, about: Row, source: str, position: int
    ) -> None:
        number, kind, reason = self._number, "request", None
        if isinstance(event, Undecodable):
            kind, reason = "undecodable", event.reason
            self._asked[event.position] = (number, about)
        elif event.expects_response:
            self._asked[event.position] = (number, about)
        raw = shown(event) if self._shown else None
        time = micros(event.time)
        started = time if event.started == event.time else micros(event.started)
        # fmt: off
        rows.append((
            source, position, *self._peers, number, "client", kind, started, time, event.size,
            *about, None, None, None, None, reason, raw, None,
        ))
        # fmt: on
        self._number = number + 1

    def responded(self, rows: list[Row], event: ResponseEvent | Undecodable, source: str, position: int) -> None:
        asked = event.request
        assert asked is not None
        request, about = self._take(asked.position)
        kind, codes, throttle, reason = "response", None, None, None
        if isinstance(event, Undecodable):
            kind, reason = "undecodable", event.reason
        elif self._errors and event.message is not None:
            codes, throttle = error_codes(event.message), throttle_ms(event.message)
        raw = shown(event) if self._shown else None
        time = micros(event.time)
        started = time if event.started == event.time else micros(event.started)
        latency = (event.time - asked.time) * 1000
        # fmt: off
        rows.append((
            source, position, *self._peers, self._number, "server", kind, started, time, event.size,
            *about, request, latency, codes, throttle, reason, raw, None,
        ))
        # fmt: on
        self._number += 1

    def happened(self, rows: list[Row], event: Event, source: str, position: int) -> None:
        kind, size, reason = _what(event)
        about, answer, raw = UNTOLD, NO_ANSWER, None
        started = event.time
        if isinstance(event, Unanswered):
            number, about = self._take(event.request.position)
            answer = (number, *NO_ANSWER[1:])
        elif isinstance(event, Undecodable):
            about = (*named(event.header), *UNTOLD[len(UNNAMED) :])
            raw = shown(event) if self._shown else None
        if isinstance(event, Undecodable | SaslToken):
            started = event.started
        # fmt: off
        rows.append((
            source, position, *self._peers, self._number, event.direction, kind, micros(started), micros(event.time),
            size, *about, *answer, reason, raw, None,
        ))
        # fmt: on
        self._number += 1

    def end(self, rows: list[Row], source: str, position: int) -> None:
        self._asked.clear()

    def _take(self, position: int) -> tuple[int, Row]:
        """Number and facts of the request that is answered now. Those before it have never waited."""
        while (oldest := next(iter(self._asked))) < position:
            del self._asked[oldest]
        return self._asked.pop(position)


def _what(event: Event) -> tuple[str, int | None, str | None]:
    """Kind, size and reason of what is no frame, or one of which nobody knows what it is."""
    match event:
        case Unanswered():
            return "unanswered", None, event.reason
        case SaslToken():
            return "sasl_token", event.size, None
        case Skipped():
            return "skipped", event.size, event.reason
        case Gap():
            return "gap", event.size or None, None
        case NotKafka():
            return "not_kafka", len(event.data), event.protocol
        case Undecodable():
            return "undecodable", event.size, event.reason
    raise TypeError(f"{event!r} is no event of a connection")
