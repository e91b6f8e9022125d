"""Converts the events of a connection to rows of EXCHANGES."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from kwire.connection import Gap, NotKafka, RequestEvent, ResponseEvent, Skipped, Unanswered, Undecodable
from kwire.errors import KwireError
from kwire.native import mypyc_attr
from kwire_inspect.connections.error_codes import error_codes, throttle_ms
from kwire_inspect.connections.payload import shown
from kwire_inspect.connections.request_context import Client, Columns, ContextCache, RequestContext, peers
from kwire_inspect.reasons import MISSING, NO_FRAME, NOT_KAFKA, PARTIAL, STRAY
from kwire_inspect.rows import LAYOUTS, exchange_row, micros

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire.protocol import MessageRegistry
    from kwire_inspect.capture import Connection
    from kwire_inspect.connections.batches import ConnectionProjection
    from kwire_inspect.rows import Row

Answer = ResponseEvent | Undecodable | None
"""A response, a response that cannot be decoded, or ``None`` if there is no response."""

_LAYOUT: Final = LAYOUTS["exchanges"]
_shared_row: Final = _LAYOUT.shared_row


@mypyc_attr(serializable=True)
class PendingRequest:
    """A request that awaits its response, without the decoded message.

    ``shown`` contains the bytes of the request if the rows include them. ``wrong`` is the reason why the request or
    the contents of an Envelope were not decoded. ``inner`` is the request in an Envelope.
    """

    __slots__ = (
        *("context", "correlation_id", "inner", "number", "position", "shown", "size", "source", "time"),
        *("undecodable", "wrong"),
    )

    def __init__(
        self,
        context: RequestContext,
        number: int,
        source: str,
        position: int,
        time: float,
        correlation_id: int | None,
        size: int | None,
        shown: bytes | None,
        undecodable: bool,
        wrong: str | None,
    ) -> None:
        self.context = context
        self.number = number
        self.source = source
        self.position = position
        self.time = time
        self.correlation_id = correlation_id
        self.size = size
        self.shown = shown
        self.undecodable = undecodable
        self.wrong = wrong
        self.inner: PendingRequest | None = None


@mypyc_attr(serializable=True)
class ExchangeRows:
    """Creates a row for every request with a known outcome, and another row for the request in an Envelope.

    Unread bytes of a connection are reported in rows with a ``problem``, one for each reason in
    ``kwire_inspect.reasons``. Rows with a ``problem`` are added when the connection ends, when ``report_unread`` is
    called, and as soon as the connection turns out not to use Kafka's protocol.
    """

    __slots__ = (
        *(
            "contexts",
            "_encryption",
            "_errors",
            "_foreign",
            "_gaps",
            "_large",
            "_lost",
            "_number",
            "_partial",
            "_peers",
        ),
        *("_projection", "_shown", "_skipped", "_stray", "_waiting", "held"),
    )

    def __init__(self, connection: Connection, projection: ConnectionProjection) -> None:
        self._peers = peers(connection)
        self._encryption = f" ({connection.encryption})" if connection.encryption else ""
        self._errors, self._shown, self._large = projection.errors, projection.shown, projection.budget.decoded
        self._projection = projection
        self.held = 0
        """Size of the waiting requests in bytes."""
        self._number = 0
        self.contexts = ContextCache(projection.protocol)
        self._waiting: dict[int, PendingRequest] = {}  # by position in the client's stream
        self._gaps = self._lost = self._skipped = self._stray = 0
        self._partial = 0  # missing bytes of frames with a known request
        self._foreign = ""

    def on_request(
        self, rows: list[Row], event: RequestEvent | Undecodable, client: Client, source: str, position: int
    ) -> None:
        request = self._pending(event, self.contexts.of(event.header, client), source, position)
        if isinstance(event, RequestEvent):
            inner, expected = event.inner, event.expects_response
            if inner is not None:
                context = RequestContext(inner.header, client, self._projection.protocol)
                context.columns = _forwarded(self._projection.protocol, self._peers, event, inner)
                request.inner = self._pending(inner, context, source, position)
                request.inner.size = None
        else:
            expected = event.header is not None or not event.missing
            self._partial += event.missing if event.header is not None else 0
        self._number += 1
        if expected:
            self._waiting[event.position] = request
            if self._shown:
                self.held += _bytes(request)
        else:
            self._exchange(rows, request, None, "undecodable" if request.undecodable else "none", request.wrong)

    def _pending(
        self, event: RequestEvent | Undecodable, context: RequestContext, source: str, position: int
    ) -> PendingRequest:
        header, undecodable, wrong = event.header, False, None
        if isinstance(event, Undecodable):
            undecodable, wrong = True, event.reason
        elif len(event.data) > self._large:
            wrong = self._projection.undecoded(event, context)
        return PendingRequest(
            context,
            self._number,
            source,
            position,
            event.time,
            None if header is None else header.correlation_id,
            event.size,
            shown(self._projection.protocol, event) if self._shown else None,
            undecodable,
            wrong,
        )

    def on_response(self, rows: list[Row], event: ResponseEvent | Undecodable, source: str, position: int) -> None:
        assert event.request is not None
        request = self._take(event.request.position)
        if isinstance(event, Undecodable):
            self._partial += event.missing
            self._exchange(rows, request, event, "undecodable", event.reason)
        elif request.undecodable:
            self._exchange(rows, request, event, "undecodable", request.wrong)
        else:
            large = self._projection.undecoded(event, request.context) if len(event.data) > self._large else None
            self._exchange(rows, request, event, "answered", request.wrong or large)

    def on_event(self, rows: list[Row], event: Event, source: str, position: int) -> None:
        if isinstance(event, Unanswered):
            request = self._take(event.request.position)
            if request.undecodable:
                self._exchange(rows, request, None, "undecodable", request.wrong)
            else:
                self._exchange(rows, request, None, "unanswered", event.reason)
        elif isinstance(event, NotKafka):
            name = "an unknown protocol" if event.protocol == "unknown" else event.protocol
            self._foreign = f"{NOT_KAFKA}{name}{self._encryption}"
            first = {} if self._number else {"number": 0}
            rows.append(self._unread(self._foreign, len(event.data), source, position, **first))
        elif isinstance(event, Gap):
            self._gaps += 1
            self._lost += event.size
        elif isinstance(event, Skipped):
            self._skipped += event.size
        elif isinstance(event, Undecodable):
            self._stray += event.size - event.missing

    def on_end(self, rows: list[Row], source: str, position: int) -> None:
        """Add rows for the remaining requests and for bytes that were not read. The decoder expected no responses to
        these requests, because it saw too little of them.
        """
        waiting, self._waiting, self.held = self._waiting, {}, 0
        for request in waiting.values():
            self._exchange(rows, request, None, "undecodable", request.wrong)
        self.report_unread(rows, source, position)

    def report_unread(self, rows: list[Row], source: str, position: int) -> None:
        """Add a row for each reason why bytes were not read since the last call."""
        partial = min(self._partial, self._lost)
        sizes = {self._foreign or NO_FRAME: self._skipped, STRAY: self._stray, PARTIAL: partial}
        if self._gaps and (not partial or self._lost > partial):
            sizes[MISSING] = self._lost - partial
        rows += [
            self._unread(reason, size, source, position)
            for reason, size in sizes.items()
            if size or reason == MISSING
        ]
        self._gaps = self._lost = self._skipped = self._stray = self._partial = 0

    def _unread(self, reason: str, size: int, source: str, position: int, **more: int) -> Row:
        return _LAYOUT.corrupt(source, position, reason, unread=size, **self._peers, **more)

    def _take(self, position: int) -> PendingRequest:
        request = self._waiting.pop(position)
        if self._shown:
            self.held -= _bytes(request)
        return request

    def _exchange(
        self, rows: list[Row], request: PendingRequest, answer: Answer, outcome: str, reason: str | None
    ) -> None:
        shared = self._shared(request, _version(answer), outcome, reason)
        rows.append(self._row(request, shared, answer))
        if request.inner is None:
            return
        inner = answer.inner if isinstance(answer, ResponseEvent) else None
        if request.inner.undecodable:
            outcome, reason = "undecodable", request.inner.wrong
        elif isinstance(inner, Undecodable):
            outcome, reason = "undecodable", inner.reason
        elif inner is None and outcome == "answered":
            outcome, reason = "unanswered", "the response to its Envelope contains no response"
        shared = _shared_row(
            source=request.source,
            **request.inner.context.columns,
            outcome=outcome,
            response_version=_version(inner),
            forwarded=True,
            reason=reason,
        )
        rows.append(self._row(request.inner, shared, inner))

    def _shared(self, request: PendingRequest, version: int | None, outcome: str, reason: str | None) -> Row:
        """Return the values that a row shares with similar rows.

        Nearly all requests are answered in their own version, so the context caches the values for this case.
        """
        context, source = request.context, request.source
        is_usual = outcome == "answered" and version == context.version and reason is None
        if is_usual and context.source == source:
            return context.response_row
        shared = _shared_row(
            source=source,
            **self._peers,
            **context.columns,
            outcome=outcome,
            response_version=version,
            forwarded=False,
            reason=reason or (context.unknown if outcome in ("answered", "none") else None),
        )
        if is_usual:
            context.source, context.response_row = source, shared
        return shared

    def _row(self, request: PendingRequest, shared: Row, answer: Answer) -> Row:
        codes = throttle = latency = response_size = response_bytes = None
        if answer is not None:
            latency = (answer.time - request.time) * 1000
            if request.size is not None:  # the request is not in an Envelope
                response_size = answer.size
            if self._shown:
                response_bytes = shown(self._projection.protocol, answer)
        if self._errors and type(answer) is ResponseEvent:
            if answer.message is not None:
                codes, throttle = error_codes(answer.message), throttle_ms(answer.message)
            elif self._projection.scans and request.context.unknown is None:
                api_key = request.context.columns.get("api_key")
                if api_key is not None:  # the header of the request was readable
                    codes, throttle = self._projection.outcome(
                        api_key, answer.version, answer.data, answer.body_offset
                    )
        return exchange_row(
            shared,
            request.position,
            request.number,
            micros(request.time),
            request.correlation_id,
            codes,
            throttle,
            latency,
            request.size,
            response_size,
            request.shown,
            response_bytes,
        )


def _bytes(request: PendingRequest) -> int:
    inner = request.inner.shown if request.inner else None
    return len(request.shown or b"") + len(inner or b"")


def _version(answer: Answer) -> int | None:
    return answer.version if type(answer) is ResponseEvent else None


def _forwarded(
    protocol: MessageRegistry, peers: Columns, envelope: RequestEvent, inner: RequestEvent | Undecodable
) -> Columns:
    """Return the columns with the peers, API and identity of the request in an Envelope.

    The client sent the request to the forwarding broker [KIP-590]. The Envelope does not contain the client's
    software.
    """
    host = principal = None
    message: Any = envelope.message
    if message is not None:
        host, principal = _address(message.client_host_address), _principal(protocol, message.request_principal)
    client = RequestContext(inner.header, Client(principal=principal), protocol)
    return {**peers, "client_host": host, "client_port": None, **client.columns}


def _address(packed: bytes) -> str | None:
    return str(ip_address(packed)) if len(packed) in (4, 16) else None


def _principal(protocol: MessageRegistry, data: bytes | None) -> str | None:
    """Return the principal in Kafka's default format, or ``None`` if the data has another format.

    The default format is a version followed by a message. Custom principal builders may use any format.
    """
    try:
        version = int.from_bytes(data[:2], "big") if data else 0
        principal: Any = protocol["DefaultPrincipalData"].decode(data[2:], version) if data else None
    except KwireError:
        return None
    return f"{principal.type}:{principal.name}" if principal else None
