"""Converts the events of a connection to rows of FRAMES."""

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
from kwire.connection.events import CLIENT, SERVER, FrameEvent
from kwire.native import mypyc_attr
from kwire_inspect.connections.error_codes import error_codes, throttle_ms
from kwire_inspect.connections.payload import shown
from kwire_inspect.connections.request_context import Columns, ContextCache, RequestContext, peers
from kwire_inspect.rows import LAYOUTS, micros

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire_inspect.capture import Connection
    from kwire_inspect.connections.batches import ConnectionProjection
    from kwire_inspect.connections.request_context import Client
    from kwire_inspect.rows import Row

_row, _shared_row = LAYOUTS["frames"].row, LAYOUTS["frames"].shared_row

PendingRequest = tuple[int, RequestContext, int | None]
"""Row number, context and correlation id of a request."""


@mypyc_attr(serializable=True)
class FrameRows:
    """Creates a row for every event. Requests in flight are kept for the rows of their responses."""

    __slots__ = ("_errors", "_large", "_number", "_peers", "_projection", "_requests", "_shown", "contexts", "held")

    def __init__(self, connection: Connection, projection: ConnectionProjection) -> None:
        self._peers = peers(connection)
        self._errors, self._shown, self._large = projection.errors, projection.shown, projection.budget.decoded
        self._projection = projection
        self.held = 0
        self._number = 0
        self.contexts = ContextCache(projection.protocol)
        self._requests: dict[int, PendingRequest] = {}  # by position in the client's stream

    def on_request(
        self, rows: list[Row], event: RequestEvent | Undecodable, client: Client, source: str, position: int
    ) -> None:
        header, number = event.header, self._number
        context = self.contexts.of(header, client)
        correlation_id = None if header is None else header.correlation_id
        if isinstance(event, RequestEvent):
            if context.source != source:
                self._share(context, source)
            shared, expects = context.request_row, event.expects_response
            if len(event.data) > self._large and (reason := self._projection.undecoded(event, context)):
                shared = self._unshared(event, "request", reason, context.columns, source)
        else:
            shared = self._unshared(event, "undecodable", event.reason, context.columns, source)
            expects = event.header is not None or not event.missing
        if expects:
            self._requests[event.position] = number, context, correlation_id
        end = micros(event.time)
        start = end if event.started == event.time else micros(event.started)
        row = _row(
            shared,
            position=position,
            number=number,
            started=start,
            time=end,
            size=event.size,
            correlation_id=correlation_id,
            raw=shown(self._projection.protocol, event) if self._shown else None,
        )
        rows.append(row)
        self._number = number + 1

    def on_response(self, rows: list[Row], event: ResponseEvent | Undecodable, source: str, position: int) -> None:
        assert event.request is not None
        request, context, correlation_id = self._requests.pop(event.request.position)
        codes = throttle = None
        if isinstance(event, ResponseEvent):
            if context.source != source:
                self._share(context, source)
            shared = context.response_row
            if context.unknown and event.version != context.version:  # ApiVersions falls back to version 0
                shared = self._unshared(event, "response", None, context.columns, source)
            if self._errors and event.message is not None:
                codes, throttle = error_codes(event.message), throttle_ms(event.message)
            if len(event.data) > self._large and (reason := self._projection.undecoded(event, context)):
                shared = self._unshared(event, "response", reason, context.columns, source)
        else:
            shared = self._unshared(event, "undecodable", event.reason, context.columns, source)
        time = micros(event.time)
        started = time if event.started == event.time else micros(event.started)
        row = _row(
            shared,
            position=position,
            number=self._number,
            started=started,
            time=time,
            size=event.size,
            correlation_id=correlation_id,
            request=request,
            latency_ms=(event.time - event.request.time) * 1000,
            error_codes=codes,
            throttle_ms=throttle,
            raw=shown(self._projection.protocol, event) if self._shown else None,
        )
        rows.append(row)
        self._number += 1

    def on_event(self, rows: list[Row], event: Event, source: str, position: int) -> None:
        kind, size, reason = _description(event)
        columns: Columns = {}
        request = correlation_id = raw = None
        if isinstance(event, Unanswered):
            request, context, correlation_id = self._requests.pop(event.request.position)
            columns = context.columns
        elif isinstance(event, Undecodable):
            correlation_id = event.correlation_id
            raw = shown(self._projection.protocol, event) if self._shown else None
        row = _row(
            self._unshared(event, kind, reason, columns, source),
            position=position,
            number=self._number,
            started=micros(event.started if isinstance(event, FrameEvent) else event.time),
            time=micros(event.time),
            size=size,
            correlation_id=correlation_id,
            request=request,
            raw=raw,
        )
        rows.append(row)
        self._number += 1

    def on_end(self, rows: list[Row], source: str, position: int) -> None:
        self._requests.clear()

    def _share(self, context: RequestContext, source: str) -> None:
        """Create the tuples of values shared by all request rows, and by all response rows, of a context and file."""
        context.source = source
        common = {"source": source, **self._peers, **context.columns}
        context.request_row = _shared_row(**common, direction=CLIENT, kind="request", reason=context.unknown)
        context.response_row = _shared_row(**common, direction=SERVER, kind="response", reason=context.unknown)

    def _unshared(self, event: Event, kind: str, reason: str | None, columns: Columns, source: str) -> Row:
        """Return the values of the columns that rows usually share, for one row."""
        return _shared_row(
            source=source, **self._peers, direction=event.direction, kind=kind, **columns, reason=reason
        )


def _description(event: Event) -> tuple[str, int | None, str | None]:
    """Return the kind, size in bytes and reason of an event that is not a known frame."""
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
    raise TypeError(f"{event!r} is not an event of a connection")
