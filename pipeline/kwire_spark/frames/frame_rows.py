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
from kwire.connection.events import CLIENT, SERVER
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.context import ContextCache, RequestContext, micros, peers
from kwire_spark.frames.payload import shown

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire_spark.capture import Connection
    from kwire_spark.frames.context import Row
    from kwire_spark.frames.wanted import Wanted

UNTOLD: Row = (None,) * 7
"""The columns of api and client, where there is no frame that tells them."""

Asked = tuple[int, RequestContext, int | None]
"""Number, facts and correlation id of a request."""


class FrameRows:
    """Every event is a row; the requests that wait are remembered for the rows of their responses."""

    __slots__ = ("_asked", "_errors", "_facts", "_number", "_peers", "_shown")

    def __init__(self, connection: Connection, wanted: Wanted) -> None:
        self._peers = peers(connection)
        self._errors, self._shown = wanted.errors, wanted.shown
        self._number = 0
        self._facts = ContextCache()
        self._asked: dict[int, Asked] = {}  # by position in the client's stream

    def requested(
        self, rows: list[Row], event: RequestEvent | Undecodable, client: Row, source: str, position: int
    ) -> None:
        header, number = event.header, self._number
        facts = self._facts.of(header, client)
        correlation_id = None if header is None else header.correlation_id
        if isinstance(event, RequestEvent):
            if facts.source != source:
                self._tell(facts, source)
            shared, expects = facts.asked, event.expects_response
        else:
            shared, expects = self._undecodable(event, facts.about, source), True
        if expects:
            self._asked[event.position] = number, facts, correlation_id
        end = micros(event.time)
        start = end if event.started == event.time else micros(event.started)
        raw = shown(event) if self._shown else None
        rows.append((shared, position, number, start, end, event.size, correlation_id, None, None, None, None, raw))
        self._number = number + 1

    def responded(self, rows: list[Row], event: ResponseEvent | Undecodable, source: str, position: int) -> None:
        asked = event.request
        assert asked is not None
        request, facts, correlation_id = self._take(asked.position)
        codes = throttle = None
        if isinstance(event, ResponseEvent):
            if facts.source != source:
                self._tell(facts, source)
            shared = facts.answered
            if self._errors and event.message is not None:
                codes, throttle = error_codes(event.message), throttle_ms(event.message)
        else:
            shared = self._undecodable(event, facts.about, source)
        time = micros(event.time)
        started = time if event.started == event.time else micros(event.started)
        latency = (event.time - asked.time) * 1000
        raw = shown(event) if self._shown else None
        number, size = self._number, event.size
        row = (shared, position, number, started, time, size, correlation_id, request, latency, codes, throttle, raw)
        rows.append(row)
        self._number = number + 1

    def happened(self, rows: list[Row], event: Event, source: str, position: int) -> None:
        kind, size, reason = _what(event)
        about, request, correlation_id, raw = UNTOLD, None, None, None
        started = event.time
        if isinstance(event, Unanswered):
            request, facts, correlation_id = self._take(event.request.position)
            about = facts.about
        elif isinstance(event, Undecodable):
            correlation_id = event.correlation_id
            raw = shown(event) if self._shown else None
        if isinstance(event, Undecodable | SaslToken):
            started = event.started
        shared = (source, *self._peers, event.direction, kind, *about, reason, None)
        times = micros(started), micros(event.time)
        rows.append((shared, position, self._number, *times, size, correlation_id, request, None, None, None, raw))
        self._number += 1

    def end(self, rows: list[Row], source: str, position: int) -> None:
        self._asked.clear()

    def _take(self, position: int) -> Asked:
        """What is known of the request that is answered now. Those before it have never waited."""
        while (oldest := next(iter(self._asked))) < position:
            del self._asked[oldest]
        return self._asked.pop(position)

    def _tell(self, facts: RequestContext, source: str) -> None:
        """Make what all rows of requests, and all of responses, with these facts share in this file."""
        facts.source = source
        facts.asked = (source, *self._peers, CLIENT, "request", *facts.about, None, None)
        facts.answered = (source, *self._peers, SERVER, "response", *facts.about, None, None)

    def _undecodable(self, event: Undecodable, about: Row, source: str) -> Row:
        return (source, *self._peers, event.direction, "undecodable", *about, event.reason, None)


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
