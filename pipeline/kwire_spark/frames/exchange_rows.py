"""The events of a connection as rows of EXCHANGES."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from kwire.connection import Gap, NotKafka, RequestEvent, ResponseEvent, Skipped, Unanswered, Undecodable
from kwire.errors import KwireError
from kwire_kafka import DefaultPrincipalData, EnvelopeRequest
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.context import Columns, ContextCache, RequestContext, peers
from kwire_spark.frames.identity import Client
from kwire_spark.frames.payload import shown
from kwire_spark.rows import LAYOUTS, micros

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire_spark.capture import Connection
    from kwire_spark.frames.projection import ConnectionProjection
    from kwire_spark.rows import Row

Answer = ResponseEvent | Undecodable | None
"""The available parts of a response."""

END = float("inf")

_LAYOUT = LAYOUTS["exchanges"]
_row, _shared_row, _corrupt = _LAYOUT.row, _LAYOUT.shared_row, _LAYOUT.corrupt


@dataclass(slots=True)
class Asked:
    """A request, and where it was seen."""

    event: RequestEvent | Undecodable
    context: RequestContext
    number: int
    source: str
    position: int


class ExchangeRows:
    """A row for every request once its outcome is known, and one for the content of an Envelope.

    Gaps and foreign bytes of a connection are reported in a ``_corrupt`` row: at its end, or as soon as it turns out
    not to speak Kafka.
    """

    __slots__ = (
        *("_contexts", "_errors", "_foreign", "_gaps", "_lost", "_number", "_peers", "_shown", "_skipped"),
        *("_stray", "_waiting"),
    )

    def __init__(self, connection: Connection, projection: ConnectionProjection) -> None:
        self._peers = peers(connection)
        self._errors, self._shown = projection.errors, projection.shown
        self._number = 0
        self._contexts = ContextCache()
        self._waiting: dict[int, Asked] = {}  # by position in the client's stream
        self._gaps = self._lost = self._skipped = self._stray = 0
        self._foreign = False

    def requested(
        self, rows: list[Row], event: RequestEvent | Undecodable, client: Client, source: str, position: int
    ) -> None:
        asked = Asked(event, self._contexts.of(event.header, client), self._number, source, position)
        self._number += 1
        if isinstance(event, Undecodable) or event.expects_response:
            self._waiting[event.position] = asked
        else:
            self._exchange(rows, asked, None, "none", None)

    def responded(self, rows: list[Row], event: ResponseEvent | Undecodable, source: str, position: int) -> None:
        assert event.request is not None
        asked = self._take(rows, event.request.position)
        if isinstance(event, Undecodable):
            self._exchange(rows, asked, event, "undecodable", event.reason)
        elif isinstance(asked.event, Undecodable):
            self._exchange(rows, asked, event, "undecodable", asked.event.reason)
        else:
            self._exchange(rows, asked, event, "answered", None)

    def happened(self, rows: list[Row], event: Event, source: str, position: int) -> None:
        if isinstance(event, Unanswered):
            asked = self._take(rows, event.request.position)
            if isinstance(asked.event, Undecodable):
                self._exchange(rows, asked, None, "undecodable", asked.event.reason)
            else:
                self._exchange(rows, asked, None, "unanswered", event.reason)
        elif isinstance(event, NotKafka):
            self._foreign = True
            name = "an unknown protocol" if event.protocol == "unknown" else event.protocol
            rows.append(_corrupt(source, position, f"connection {self._peers['connection']} is not Kafka: {name}"))
        elif isinstance(event, Gap):
            self._gaps += 1
            self._lost += event.size
        elif isinstance(event, Skipped):
            self._skipped += event.size
        elif isinstance(event, Undecodable):
            self._stray += 1

    def end(self, rows: list[Row], source: str, position: int) -> None:
        """Add rows for the remaining requests, and one for missing bytes."""
        self._drop(rows, END)
        problems = []
        if self._gaps:
            problems.append(f"{self._lost or 'an unknown number of'} bytes are missing, in {self._gaps} places")
        if self._skipped:
            problems.append(f"{self._skipped} bytes belong to no frame")
        if self._stray:
            problems.append(f"{self._stray} frames of the server answer no request that was seen")
        if problems and not self._foreign:
            reason = f"connection {self._peers['connection']}: {', '.join(problems)}"
            rows.append(_corrupt(source, position, reason))

    def _take(self, rows: list[Row], position: int) -> Asked:
        self._drop(rows, position)
        return self._waiting.pop(position)

    def _drop(self, rows: list[Row], before: float) -> None:
        """Add rows for requests without a response, because the decoder did not see enough of them to expect one."""
        while self._waiting and (position := next(iter(self._waiting))) < before:
            asked = self._waiting.pop(position)
            reason = asked.event.reason if isinstance(asked.event, Undecodable) else None
            self._exchange(rows, asked, None, "undecodable", reason)

    def _exchange(self, rows: list[Row], asked: Asked, answer: Answer, outcome: str, reason: str | None) -> None:
        shared = self._shared(asked, answer, outcome, reason)
        rows.append(self._row(asked, shared, asked.event, answer))
        envelope = asked.event
        if not isinstance(envelope, RequestEvent) or envelope.inner is None:
            return
        inner = answer.inner if isinstance(answer, ResponseEvent) else None
        if isinstance(envelope.inner, Undecodable):
            outcome, reason = "undecodable", envelope.inner.reason
        elif isinstance(inner, Undecodable):
            outcome, reason = "undecodable", inner.reason
        elif inner is None and outcome == "answered":
            outcome, reason = "unanswered", "the response to its Envelope contains none"
        shared = _shared_row(
            source=asked.source,
            **_forwarded(self._peers, envelope, envelope.inner),
            outcome=outcome,
            response_version=_version(inner),
            forwarded=True,
            reason=reason,
        )
        rows.append(self._row(asked, shared, envelope.inner, inner, forwarded=True))

    def _shared(self, asked: Asked, answer: Answer, outcome: str, reason: str | None) -> Row:
        """The values that this row shares with others of its kind: nearly all are answered, in the version of the
        request."""
        context, source, version = asked.context, asked.source, _version(answer)
        usual = outcome == "answered" and version == context.version
        if usual and context.source == source:
            return context.answered
        shared = _shared_row(
            source=source,
            **self._peers,
            **context.columns,
            outcome=outcome,
            response_version=version,
            forwarded=False,
            reason=reason,
        )
        if usual:
            context.source, context.answered = source, shared
        return shared

    def _row(self, asked: Asked, shared: Row, request: Any, answer: Answer, *, forwarded: bool = False) -> Row:
        header = request.header
        codes = throttle = latency = request_size = response_size = request_bytes = response_bytes = None
        if answer is not None:
            latency = (answer.time - request.time) * 1000
        if not forwarded:
            request_size, response_size = request.size, None if answer is None else answer.size
        if self._errors and type(answer) is ResponseEvent and answer.message is not None:
            codes, throttle = error_codes(answer.message), throttle_ms(answer.message)
        if self._shown:
            request_bytes, response_bytes = shown(request), None if answer is None else shown(answer)
        return _row(
            shared,
            position=asked.position,
            number=asked.number,
            time=micros(asked.event.time),
            correlation_id=None if header is None else header.correlation_id,
            error_codes=codes,
            throttle_ms=throttle,
            latency_ms=latency,
            request_size=request_size,
            response_size=response_size,
            request=request_bytes,
            response=response_bytes,
        )


def _version(answer: Answer) -> int | None:
    return answer.version if type(answer) is ResponseEvent else None


def _forwarded(peers: Columns, envelope: RequestEvent, inner: RequestEvent | Undecodable) -> Columns:
    """Peers, API and identity of the request in an Envelope. Its client is the one that sent it to the forwarding
    broker [KIP-590]; the Envelope does not include the client's software."""
    host = principal = None
    if isinstance(message := envelope.message, EnvelopeRequest):
        host, principal = _address(message.client_host_address), _principal(message.request_principal)
    client = RequestContext(inner.header, Client(principal=principal))
    return {**peers, "client_host": host, "client_port": None, **client.columns}


def _address(packed: bytes) -> str | None:
    return str(ip_address(packed)) if len(packed) in (4, 16) else None


def _principal(data: bytes | None) -> str | None:
    """Kafka's own form of a principal is a version and its message; other principal builders are free to use any
    format."""
    try:
        principal = DefaultPrincipalData.decode(data[2:], int.from_bytes(data[:2], "big")) if data else None
    except KwireError:
        return None
    return f"{principal.type}:{principal.name}" if principal else None
