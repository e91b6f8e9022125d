"""Payloads of frames read into messages, with what an Envelope holds and whether a request is answered at all."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from kwire.connection.events import CLIENT, SERVER, RequestEvent, ResponseEvent, Undecodable
from kwire.errors import DecodeError
from kwire.headers import RequestHeader, ResponseHeader

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.connection.api_catalog import ApiCatalog
    from kwire.connection.frame import Frame
    from kwire.connection.in_flight import InFlightRequest
    from kwire.message import Message
    from kwire.policy import Policy

PRODUCE, SASL_HANDSHAKE, ENVELOPE = "Produce", "SaslHandshake", "Envelope"
"""What Kafka does with these apis is known by their names: in other protocols their keys mean something else."""

REQUEST_START = Struct(">hhi")
"""Api key, version and correlation id, with which all request headers begin."""


class Reader:
    """Reads as much as it is asked for: headers, and ``bodies`` too: all, none, or those of the apis named."""

    def __init__(self, apis: ApiCatalog, policy: Policy, *, bodies: bool | Collection[str]) -> None:
        self._apis = apis
        self._protocol = apis.protocol
        self._policy = policy
        self._bodies = None if bodies is True else frozenset(bodies or ())  # None: all

    def request(self, frame: Frame, message: Message | None = None) -> RequestEvent | Undecodable:
        """The event of a request. A ``message`` that is known already is not read again."""
        event = self._request(frame, message)
        if isinstance(event, RequestEvent) and event.name == ENVELOPE:
            inner = getattr(event.message, "request_data", None)
            if inner is not None:
                event.inner = self._request(frame.within(inner))
        return event

    def response(self, frame: Frame, asked: InFlightRequest) -> ResponseEvent | Undecodable:
        """The event of the response to ``asked``."""
        event = self._response(frame, asked.api_key, asked.version, asked.request)
        if isinstance(event, ResponseEvent) and isinstance(asked.request, RequestEvent):
            inner, within = getattr(event.message, "response_data", None), asked.request.inner
            if inner is not None and isinstance(within, RequestEvent):
                event.inner = self._response(frame.within(inner), within.api_key, within.version, within)
        return event

    def damaged_request(self, frame: Frame) -> Undecodable:
        """The event of a request of which bytes are missing, with as much of its header as was seen."""
        event = undecodable(frame, _missing(frame), name="request")
        seen = frame.data[: frame.intact]
        try:
            event.header, _, _ = self._protocol.request_header(seen, self._policy)
        except DecodeError:
            if len(seen) < 8:
                return event
            event.header, _ = RequestHeader.decode_from(seen, 0, 0)  # all of them begin like that
        event.name = self._apis.name(event.header.api_key)
        return event

    def damaged_response(self, frame: Frame, asked: InFlightRequest) -> Undecodable:
        """The event of a response of which bytes are missing."""
        event = undecodable(frame, _missing(frame), name=self._apis.name(asked.api_key))
        event.header, event.request = ResponseHeader(correlation_id=asked.correlation_id), asked.request
        return event

    def _request(self, frame: Frame, message: Message | None = None) -> RequestEvent | Undecodable:
        data = frame.data
        header: RequestHeader | None = None
        name = "request"
        try:
            header, offset, cls = self._protocol.request_header(data, self._policy)
            name = self._apis.name(header.api_key)
            if message is None:
                message = self._message(cls, name, data, offset, header.api_version)
        except DecodeError as error:
            event = undecodable(frame, str(error), error, name)
            event.header = header
            return event
        request = RequestEvent(frame.time, CLIENT, frame.position, frame.started, data, name, header, offset, message)
        if name == PRODUCE and cls is not None:
            request.expects_response = asks(cls, data, offset, header.api_version)
        return request

    def _response(
        self, frame: Frame, api_key: int, version: int, request: RequestEvent | Undecodable
    ) -> ResponseEvent | Undecodable:
        data, name = frame.data, self._apis.name(api_key)
        header: ResponseHeader | None = None
        try:
            header, offset, cls, version = self._protocol.response_header(data, api_key, version, self._policy)
            message = self._message(cls, name, data, offset, version)
        except DecodeError as error:
            event = undecodable(frame, str(error), error, name)
            event.header, event.request = header, request
            return event
        return ResponseEvent(
            frame.time, SERVER, frame.position, frame.started, data, name, header, offset, version, request, message
        )

    def _message(
        self, cls: type[Message] | None, name: str, data: bytes, offset: int, version: int
    ) -> Message | None:
        if cls is None or (self._bodies is not None and name not in self._bodies):
            return None
        return cls.decode(data, version, self._policy, start=offset)


def undecodable(frame: Frame, reason: str, error: DecodeError | None = None, name: str = "") -> Undecodable:
    """The event of a frame that cannot be read."""
    if error is not None:
        error.__traceback__ = error.__context__ = error.__cause__ = None  # they hold on to a lot of memory
    event = Undecodable(frame.time, frame.direction, frame.position, frame.started, frame.data, reason, error, name)
    event.missing = frame.missing
    return event


def asks(cls: type[Message], data: bytes, offset: int, version: int) -> bool:
    """Whether a Produce request asks for a response: ``acks`` is not 0 [KAFKA-WIRE 8].

    It is looked up, because not all who want to know decode the body. The transactional id stands before it since
    version 3.
    """
    if version in cls.FLEXIBLE_VERSIONS:
        length, offset = _uvarint(data, offset)
        offset += max(length - 1, 0)
    elif version >= 3:
        offset += 2 + max(int.from_bytes(data[offset : offset + 2], "big", signed=True), 0)
    return data[offset : offset + 2] != b"\0\0"


def _uvarint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for shift, byte in zip(range(0, 35, 7), data[offset : offset + 5], strict=False):
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
    return value, offset


def _missing(frame: Frame) -> str:
    return f"{frame.missing} of its {len(frame.data) + frame.missing} bytes were not seen"
