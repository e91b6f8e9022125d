"""Decoding of frames into events, with a cache of request headers.

Nearly all request headers of a connection differ only in the correlation id.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

from librt.strings import read_i32_be

from kwire.connection.events import CLIENT, SERVER, RequestEvent, ResponseEvent, SaslToken, Undecodable
from kwire.errors import DecodeError, to_keep
from kwire.headers import RequestHeader, ResponseHeader
from kwire.message import decode_within
from kwire.native import mypyc_attr
from kwire.protocol import UNSUPPORTED_VERSION
from kwire.wire import read_uvarint

if TYPE_CHECKING:
    from collections.abc import Collection

    from kwire.connection.decoder import InFlightRequest
    from kwire.connection.frame_splitter import Frame
    from kwire.connection.framing import ApiCatalog
    from kwire.message import Message
    from kwire.policy import Policy
    from kwire.protocol import MessageRegistry

HEAD: Final = 256
"""Maximum size of a cached header in bytes."""
MAX_KNOWN: Final = 64
"""Maximum number of cached headers per connection. A client sends fewer distinct headers, but arbitrary bytes may
look like any number of headers."""
PRODUCE: Final = "Produce"
SASL_HANDSHAKE: Final = "SaslHandshake"
ENVELOPE: Final = "Envelope"
API_VERSIONS: Final = "ApiVersions"
"""APIs with special rules, which are recognised by name because their keys have other meanings in other protocols."""
REQUEST_START: Final = Struct(">hhi")
"""The start of every request header: API key, version and correlation id."""


@mypyc_attr(serializable=True)
class KnownHeader:
    """A cached request header. ``rest`` holds its bytes between the correlation id and the body. ``wanted`` says
    whether to decode the bodies of requests with this header. ``answer`` is the offset of the body in a response
    whose header has no tagged fields, or -1 if responses have to be decoded.
    """

    __slots__ = ("answer", "cls", "header", "name", "offset", "rest", "wanted")

    def __init__(
        self,
        rest: bytes,
        header: RequestHeader,
        offset: int,
        cls: type[Message],
        name: str,
        wanted: bool,
        answer: int,
    ) -> None:
        self.rest = rest
        self.header = header
        self.offset = offset
        self.cls = cls
        self.name = name
        self.wanted = wanted
        self.answer = answer

    def with_id(self, correlation_id: int) -> RequestHeader:
        """Return this header with another correlation id."""
        return RequestHeader(
            api_key=self.header.api_key,
            api_version=self.header.api_version,
            correlation_id=correlation_id,
            client_id=self.header.client_id,
        )

    def reads_answer(self, data: bytes) -> bool:
        """Return whether the body of the response ``data`` begins at ``answer`` and has the request's version."""
        answer = self.answer
        if answer < 0 or len(data) < answer or (answer == 5 and data[4]):
            return False
        return self.name != API_VERSIONS or data[4:6] != UNSUPPORTED_VERSION


Known = dict[bytes, KnownHeader]
"""Cached headers, keyed by the encoded API key and version."""


@lru_cache(8)
def known_headers(protocol: MessageRegistry, policy: Policy, bodies: frozenset[str] | None) -> Known:
    """Return the cache shared by all connections, with the most recent header of each API version."""
    return {}


@mypyc_attr(serializable=True)
class EventReader:
    """Decodes headers and, depending on ``bodies``, the bodies of all messages, no messages or the named messages and
    APIs."""

    __slots__ = ("_bodies", "_catalog", "_known", "_policy", "_protocol")

    def __init__(self, catalog: ApiCatalog, policy: Policy, bodies: bool | Collection[str]) -> None:
        self._catalog = catalog
        self._protocol = catalog.protocol
        self._policy = policy
        self._bodies = None if bodies is True else frozenset(bodies or ())  # None means all
        self._known: Known = {}  # headers of this connection

    def request(
        self, frame: Frame, known: KnownHeader | None = None, message: Message | None = None
    ) -> RequestEvent | Undecodable:
        """Return the event for a request. ``known`` is its cached header, and ``message`` is its message if it has
        already been decoded."""
        if frame.missing:
            return self._damaged_request(frame)
        event = self._request(frame, known, message)
        if event.name == ENVELOPE and isinstance(event, RequestEvent):
            inner = getattr(event.message, "request_data", None)
            if inner is not None:
                event.inner = self._request(frame.within(inner))
        return event

    def response(self, frame: Frame, answered: InFlightRequest) -> ResponseEvent | Undecodable:
        """Return the event for the response to ``answered``."""
        if frame.missing:
            name, header = self._catalog.name(answered.api_key), ResponseHeader(
                correlation_id=answered.correlation_id
            )
            return undecodable(frame, _missing(frame), None, name, header, answered.request)
        known, data = answered.known, frame.data
        if known is not None and known.reads_answer(data):
            return ResponseEvent(
                frame.time,
                SERVER,
                frame.position,
                frame.started,
                data,
                known.name,
                ResponseHeader(correlation_id=answered.correlation_id),
                known.answer,
                answered.version,
                answered.request,
            )
        event = self._response(frame, answered.api_key, answered.version, answered.request)
        if isinstance(event, ResponseEvent) and isinstance(answered.request, RequestEvent):
            inner, request = getattr(event.message, "response_data", None), answered.request.inner
            if inner is not None and isinstance(request, RequestEvent):
                event.inner = self._response(frame.within(inner), request.api_key, request.version, request)
        return event

    def _damaged_request(self, frame: Frame) -> Undecodable:
        """Return the event for a damaged request, with the part of its header that was seen."""
        event = undecodable(frame, _missing(frame))
        seen = frame.data[: frame.intact]
        try:
            event.header, _, _ = self._protocol.request_header(seen, self._policy)
        except DecodeError:
            header, _ = RequestHeader.decode_from(seen, 0)  # all request headers begin like version 0
            header.client_id = self._id_like(seen[8:])
            event.header = header
        event.name = self._catalog.name(event.header.api_key)
        return event

    def _id_like(self, seen: bytes) -> str | None:
        """Return the client id of a damaged header, or ``None`` if it is unknown.

        All cached headers of the connection must have the same client id, and its encoding must start with ``seen``.
        """
        ids = {known.header.client_id for known in self._known.values()}
        only = ids.pop() if len(ids) == 1 else None
        if only is None:
            return None
        data = only.encode()
        return only if (len(data).to_bytes(2, "big") + data).startswith(seen) else None

    def _request(
        self, frame: Frame, known: KnownHeader | None = None, message: Message | None = None
    ) -> RequestEvent | Undecodable:
        data = frame.data
        header: RequestHeader | None = None
        name = "request"
        cls: type[Message] | None
        try:
            known = known or self.known(data)
            if known is not None:
                offset, cls, name = known.offset, known.cls, known.name
                header = known.with_id(read_i32_be(data, 4))
            else:
                header, offset, cls = self._protocol.request_header(data, self._policy)
                name = self._catalog.name(header.api_key)
                self._know(data, header, offset, cls, name)
            if message is None and (known is None or known.wanted):
                message = self._message(cls, name, data, offset, header.api_version)
        except DecodeError as error:
            return undecodable(frame, str(error), error, name, header)
        request = RequestEvent(frame.time, CLIENT, frame.position, frame.started, data, name, header, offset, message)
        if name == PRODUCE and cls is not None:
            request.expects_response = _wants_response(cls, data, offset, header.api_version)
        return request

    def known(self, data: bytes) -> KnownHeader | None:
        """Return the cached header that this payload starts with, from this or another connection, or ``None``."""
        start = data[:4]
        known = self._known.get(start)
        if known is not None and data.startswith(known.rest, 8):
            return known
        known = self._of_others().get(start)
        if known is None or not data.startswith(known.rest, 8):
            return None
        self._keep(start, known)
        return known

    def _know(self, data: bytes, header: RequestHeader, offset: int, cls: type[Message] | None, name: str) -> None:
        """Cache a header, because nearly all request headers of a connection differ only in the correlation id."""
        if cls is not None and offset <= HEAD and not header.unknown_tags:
            answer = self._answer(header.api_key, header.api_version, name)
            # The caller may change the header of the event, so the cache keeps a copy.
            known = KnownHeader(data[8:offset], header.replace(), offset, cls, name, self._wants(cls, name), answer)
            self._of_others()[data[:4]] = known
            self._keep(data[:4], known)

    def _keep(self, start: bytes, known: KnownHeader) -> None:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[start] = known

    def _answer(self, api_key: int, version: int, name: str) -> int:
        number, cls = self._catalog.response(api_key, version)
        if cls is None or self._wants(cls, name):
            return -1
        return 4 + number

    def _of_others(self) -> Known:
        return known_headers(self._protocol, self._policy, self._bodies)

    def __reduce__(self) -> tuple[object, ...]:
        return EventReader, (self._catalog, self._policy, True if self._bodies is None else self._bodies)

    def _wants(self, cls: type[Message], name: str) -> bool:
        """Return whether to decode bodies with this message class and API name."""
        return self._bodies is None or name in self._bodies or cls.__name__ in self._bodies

    def _response(
        self, frame: Frame, api_key: int, version: int, request: RequestEvent | Undecodable
    ) -> ResponseEvent | Undecodable:
        data, name = frame.data, self._catalog.name(api_key)
        header: ResponseHeader | None = None
        try:
            header, offset, cls, version = self._response_header(data, api_key, version)
            message = self._message(cls, name, data, offset, version)
        except DecodeError as error:
            return undecodable(frame, str(error), error, name, header, request)
        return ResponseEvent(
            frame.time, SERVER, frame.position, frame.started, data, name, header, offset, version, request, message
        )

    def _response_header(
        self, data: bytes, api_key: int, version: int
    ) -> tuple[ResponseHeader, int, type[Message] | None, int]:
        """Return the same values as ``MessageRegistry.response_header``, but faster for most headers.

        Most response headers differ only in the correlation id.
        """
        number, cls = self._catalog.response(api_key, version)
        if cls is not None and cls.__name__ == "ApiVersionsResponse":  # its version may differ from the request's
            number = -1
        if number == 0 and len(data) >= 4:
            return ResponseHeader(correlation_id=read_i32_be(data, 0)), 4, cls, version
        if number == 1 and len(data) >= 5 and data[4] == 0:
            return ResponseHeader(correlation_id=read_i32_be(data, 0)), 5, cls, version
        return self._protocol.response_header(data, api_key, version, self._policy)

    def _message(
        self, cls: type[Message] | None, name: str, data: bytes, offset: int, version: int
    ) -> Message | None:
        if cls is None or not self._wants(cls, name):
            return None
        return decode_within(self._catalog.max_decoded, cls, data, version, self._policy, offset)


def undecodable(
    frame: Frame,
    reason: str,
    error: DecodeError | None = None,
    name: str = "",
    header: RequestHeader | ResponseHeader | None = None,
    request: RequestEvent | Undecodable | None = None,
) -> Undecodable:
    """Return the event for a frame that cannot be decoded."""
    if error is not None:
        to_keep(error)
    place = frame.time, frame.direction, frame.position, frame.started, frame.data
    return Undecodable(*place, reason, error, name, header, request, frame.missing)


def sasl_token(frame: Frame) -> SaslToken | Undecodable:
    """Return the event for a bare SASL token."""
    if frame.missing:
        return undecodable(frame, _missing(frame), name="SASL token")
    return SaslToken(frame.time, frame.direction, frame.position, frame.started, frame.data)


def _wants_response(cls: type[Message], data: bytes, offset: int, version: int) -> bool:
    """Return whether a Produce request expects a response, as it does unless ``acks`` is 0 [KAFKA-WIRE 8].

    ``acks`` is read from the bytes, because the body may not have been decoded. Since version 3, the transactional id
    precedes ``acks``.
    """
    if version in cls.FLEXIBLE_VERSIONS:
        try:
            length, offset = read_uvarint(data, offset)
        except (IndexError, ValueError):
            return True
        offset += max(length - 1, 0)
    elif version >= 3:
        offset += 2 + max(int.from_bytes(data[offset : offset + 2], "big", signed=True), 0)
    return data[offset : offset + 2] != b"\0\0"


def _missing(frame: Frame) -> str:
    return f"{frame.missing} of its {len(frame.data) + frame.missing} bytes were {frame.fate}"
