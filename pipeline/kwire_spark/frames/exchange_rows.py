"""The events of a connection as rows of EXCHANGES."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from kwire.connection import Gap, NotKafka, RequestEvent, ResponseEvent, Skipped, Unanswered, Undecodable
from kwire.errors import KwireError
from kwire_kafka import DefaultPrincipalData, EnvelopeRequest
from kwire_spark.columns import EXCHANGES
from kwire_spark.frames.answers import error_codes, throttle_ms
from kwire_spark.frames.facts import corrupt, micros, named, peers
from kwire_spark.frames.payload import shown

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire_spark.capture import Connection
    from kwire_spark.frames.facts import Row
    from kwire_spark.frames.wanted import Wanted

Answer = ResponseEvent | Undecodable | None
"""What there is of a response."""

IN_LOGS_ONLY: Row = (None, None, None)
"""The parts of latency, which only request logs know."""

NAMELESS = "unknown"


class Asked:
    """A request that waits. ``facts`` are its columns up to ``principal``; those of the request in an Envelope are
    in ``inner``."""

    __slots__ = ("event", "facts", "inner")

    def __init__(self, event: RequestEvent | Undecodable, facts: Row, inner: Row | None) -> None:
        self.event = event
        self.facts = facts
        self.inner = inner


class ExchangeRows:
    """A row for every request, once it is known what became of it, and one for what an Envelope holds.

    What is missing or foreign on a connection is told in a ``_corrupt`` row: at its end, or once it is known that it
    does not speak Kafka.
    """

    __slots__ = ("_errors", "_foreign", "_gaps", "_lost", "_number", "_peers", "_shown", "_skipped", "_waiting")

    def __init__(self, connection: Connection, wanted: Wanted) -> None:
        self._peers = peers(connection)
        self._errors, self._shown = wanted.errors, wanted.shown
        self._number = 0
        self._waiting: dict[int, Asked] = {}  # by position in the client's stream
        self._gaps = self._lost = self._skipped = 0
        self._foreign = False

    def requested(
        self, rows: list[Row], event: RequestEvent | Undecodable, about: Row, source: str, position: int
    ) -> None:
        time = micros(event.time)
        facts = (source, position, *self._peers, self._number, time, *about)
        self._number += 1
        inner = event.inner if isinstance(event, RequestEvent) else None
        asked = Asked(event, facts, None if inner is None else _forwarded(facts, event, inner))
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
            what = "no protocol that is known" if event.protocol == NAMELESS else event.protocol
            rows.append(corrupt(EXCHANGES, source, position, f"connection {self._peers[0]} is not Kafka: {what}"))
        elif isinstance(event, Gap):
            self._gaps += 1
            self._lost += event.size
        elif isinstance(event, Skipped):
            self._skipped += event.size

    def end(self, rows: list[Row], source: str, position: int) -> None:
        """What never waited for a response, because too little was seen of it, and what was missing."""
        self._untold(rows, None)
        told = []
        if self._gaps:
            told.append(f"{self._lost or 'an unknown number of'} bytes are missing, in {self._gaps} places")
        if self._skipped:
            told.append(f"{self._skipped} bytes belong to no frame")
        if told and not self._foreign:
            rows.append(corrupt(EXCHANGES, source, position, f"connection {self._peers[0]}: {', '.join(told)}"))

    def _take(self, rows: list[Row], position: int) -> Asked:
        self._untold(rows, position)
        return self._waiting.pop(position)

    def _untold(self, rows: list[Row], before: int | None) -> None:
        """Requests that are waited for no more, because the decoder saw too little of them to expect an answer."""
        for position in list(self._waiting):
            if before is not None and position >= before:
                break
            asked = self._waiting.pop(position)
            reason = asked.event.reason if isinstance(asked.event, Undecodable) else None
            self._exchange(rows, asked, None, "undecodable", reason)

    def _exchange(self, rows: list[Row], asked: Asked, answer: Answer, outcome: str, reason: str | None) -> None:
        rows.append(self._row(asked.facts, asked.event, answer, outcome, reason, forwarded=False))
        if asked.inner is None:
            return
        assert isinstance(asked.event, RequestEvent)
        inner = answer.inner if isinstance(answer, ResponseEvent) else None
        if isinstance(asked.event.inner, Undecodable):
            outcome, reason = "undecodable", asked.event.inner.reason
        elif isinstance(inner, Undecodable):
            outcome, reason = "undecodable", inner.reason
        elif inner is None and outcome == "answered":
            outcome, reason = "unanswered", "the response to its Envelope holds none"
        rows.append(self._row(asked.inner, asked.event.inner, inner, outcome, reason, forwarded=True))

    def _row(
        self, facts: Row, request: Any, answer: Answer, outcome: str, reason: str | None, *, forwarded: bool
    ) -> Row:
        codes = throttle = latency = size = version = None
        if answer is not None:
            latency = (answer.time - request.time) * 1000
            size = None if forwarded else answer.size
        if isinstance(answer, ResponseEvent):
            version = answer.version
            if self._errors and answer.message is not None:
                codes, throttle = error_codes(answer.message), throttle_ms(answer.message)
        asked, answered = (shown(request), answer and shown(answer)) if self._shown else (None, None)
        return (
            *facts,
            *(outcome, codes, throttle, latency, *IN_LOGS_ONLY),
            *(None if forwarded else request.size, size, version, forwarded, None, None),
            *(reason, asked, answered, None),
        )


def _forwarded(facts: Row, envelope: RequestEvent | Undecodable, inner: RequestEvent | Undecodable) -> Row:
    """The facts of the request in an Envelope: its client is the one that sent it to the broker which passes it on
    [KIP-590]. What software that was the Envelope does not say."""
    place, (connection, _, _, *server), (number, time) = facts[:2], facts[2:7], facts[7:9]
    host = principal = None
    message = getattr(envelope, "message", None)
    if isinstance(message, EnvelopeRequest):
        host, principal = _address(message.client_host_address), _principal(message.request_principal)
    about = (*named(inner.header), None, None, principal)
    return (*place, connection, host, None, *server, number, time, *about)


def _address(packed: bytes) -> str | None:
    return str(ip_address(packed)) if len(packed) in (4, 16) else None


def _principal(data: bytes | None) -> str | None:
    """Kafka's own form of a principal, a version and its message; other builders write what they like."""
    try:
        told = DefaultPrincipalData.decode(data[2:], int.from_bytes(data[:2], "big")) if data else None
    except KwireError:
        return None
    return f"{told.type}:{told.name}" if told else None
