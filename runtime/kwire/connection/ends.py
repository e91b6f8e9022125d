"""The two ends of a connection, which encode messages to send and decode the messages of the peer."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from kwire.connection.decoder import InFlightRequest
from kwire.connection.detect import sniff_protocol
from kwire.connection.event_reader import REQUEST_START, EventReader, sasl_token
from kwire.connection.events import CLIENT, SERVER, RequestEvent, Undecodable
from kwire.connection.frame_splitter import Frame
from kwire.connection.framing import ApiCatalog
from kwire.errors import DecodeError, EncodeError, KwireError
from kwire.frames import MAX_FRAME, FrameReader, frame
from kwire.headers import RequestHeader, ResponseHeader
from kwire.policy import LIKE_KAFKA, STRICT

if TYPE_CHECKING:
    from collections.abc import Callable

    from kwire.connection.events import Direction, ResponseEvent, SaslToken
    from kwire.message import Message
    from kwire.policy import Policy
    from kwire.protocol import MessageRegistry

    Answer = ResponseEvent | Undecodable | SaslToken

T = TypeVar("T")


class ProtocolViolationError(DecodeError):
    """The peer sent something that is not a frame, or an unexpected response. The connection can no longer be used.

    ``events`` holds the events that the same bytes completed before the error occurred.
    """

    events: list[Any]


class NoCommonVersionError(KwireError):
    """The client and the server do not support a common version of an API, or have not negotiated versions yet."""


class _End:
    """Splits the bytes of the peer into frames."""

    def __init__(self, protocol: MessageRegistry, policy: Policy, max_frame: int) -> None:
        self._protocol = protocol
        self._reader = EventReader(ApiCatalog(protocol), policy, bodies=True)
        self._frames = FrameReader(max_frame)
        self._received = 0

    def _take_all(
        self, data: bytes | bytearray | memoryview, peer: Direction, time: float, take: Callable[[Frame], T]
    ) -> list[T]:
        """Return the results of ``take`` for all frames that ``data`` completes.

        Raise ``ProtocolViolationError`` if the bytes are not frames or ``take`` raises ``DecodeError``.
        """
        events: list[T] = []
        try:
            for payload in self._frames.feed(data):
                position = self._received
                self._received += 4 + len(payload)
                events.append(take(Frame(time, peer, position, time, payload)))
        except DecodeError as error:
            other = sniff_protocol(error.data) if error.message_name == "frame" and error.data else None
            reason = f"{error.reason}; it looks like {other}" if other else error.reason
            violation = ProtocolViolationError(
                reason, message_name=error.message_name, path=error.path, data=error.data
            )
            violation.events = events
            raise violation from None
        return events


class ClientConnection(_End):
    """Encodes requests and decodes their responses, which arrive in the order of the requests.

    Once ``negotiate`` has been called with an ApiVersions response, ``send`` chooses versions. Until then, pass the
    version of each request explicitly. Times may be in any unit, because they are only used to measure latencies.
    """

    def __init__(
        self,
        protocol: MessageRegistry,
        *,
        client_id: str | None = None,
        policy: Policy = STRICT,
        max_frame: int = MAX_FRAME,
    ) -> None:
        super().__init__(protocol, policy, max_frame)
        self.client_id = client_id
        self.ranges: dict[int, range] = {}
        """The ranges of versions that the server accepts, by API key. The dictionary is empty until versions are
        negotiated."""
        self._in_flight: deque[InFlightRequest | None] = deque()  # None stands for a SASL token
        self._next_id = 0
        self._sent = 0

    @property
    def in_flight(self) -> int:
        """The number of responses and SASL tokens still expected."""
        return len(self._in_flight)

    def negotiate(self, response: Message) -> None:
        """Set the server's versions from an ApiVersionsResponse.

        A response with error 35 lists only the versions of ApiVersions. Send the request again in one of these
        versions, or in version 0 if the list is empty, as it is from brokers before Kafka 2.4 [KAFKA-WIRE 6].
        """
        api_versions: Any = response
        self.ranges = {key.api_key: range(key.min_version, key.max_version + 1) for key in api_versions.api_keys}

    def version(self, request: type[Message]) -> int:
        """Return the highest version of a request that both sides support.

        Raise ``NoCommonVersionError`` if there is no such version.
        """
        offered = self.ranges.get(-1 if request.API_KEY is None else request.API_KEY)
        if offered is None:
            reason = (
                "the server does not support this API"
                if self.ranges
                else "versions have not been negotiated: call negotiate() or pass a version"
            )
            raise NoCommonVersionError(f"{request.__name__}: {reason}")
        own = request.VALID_VERSIONS
        common = range(max(own.start, offered.start), min(own.stop, offered.stop))
        if not common:
            raise NoCommonVersionError(
                f"{request.__name__}: the server supports versions {offered.start} to {offered.stop - 1}, "
                f"the client {own.start} to {own.stop - 1}"
            )
        return common[-1]

    def send(
        self, message: Message, version: int | None = None, *, correlation_id: int | None = None, time: float = 0.0
    ) -> bytes:
        """Return the bytes of a request, to be written to the connection.

        The connection then expects a response, unless the message is a ProduceRequest with ``acks=0``.
        """
        if version is None:
            version = self.version(type(message))
        number = self._next_id if correlation_id is None else correlation_id
        payload = self._protocol.encode_request(message, version, correlation_id=number, client_id=self.client_id)
        return self._request(payload, time, message)

    def send_raw(
        self,
        api_key: int,
        version: int,
        body: bytes,
        *,
        header_version: int = 1,
        correlation_id: int | None = None,
        time: float = 0.0,
    ) -> bytes:
        """Return the bytes of a request with an already encoded body. The API key and the version may be unknown.

        To forward a request with its own header and client id, pass everything after the correlation id:
        ``body=request.data[8:]`` and ``header_version=0``.
        """
        header = RequestHeader(
            api_key=api_key,
            api_version=version,
            correlation_id=self._next_id if correlation_id is None else correlation_id,
            client_id=self.client_id,
        )
        return self._request(header.encode(header_version) + body, time)

    def send_token(self, token: bytes) -> bytes:
        """Return the bytes of a bare SASL token, as used after SaslHandshake version 0. The server answers with
        another token.
        """
        self._in_flight.append(None)
        self._sent += 4 + len(token)
        return frame(token)

    def receive(self, data: bytes | bytearray | memoryview, time: float = 0.0) -> list[Answer]:
        """Return the responses and SASL tokens that ``data`` completes.

        A response that cannot be decoded becomes an ``Undecodable``. Raise ``ProtocolViolationError`` for an
        unexpected response, a response out of order or a frame above the size limit. The error's ``events`` are the
        responses and tokens before the violation.
        """
        return self._take_all(data, SERVER, time, self._answer)

    def _request(self, payload: bytes, time: float, message: Message | None = None) -> bytes:
        request = self._reader.request(Frame(time, CLIENT, self._sent, time, payload), message=message)
        api_key, version, number = REQUEST_START.unpack_from(payload)
        if isinstance(request, Undecodable) or request.expects_response:
            sent = InFlightRequest(api_key, version, number, 0, 0, None, request)
            self._in_flight.append(sent)
        self._next_id = number + 1 if number < 0x7FFFFFFF else 0
        self._sent += 4 + len(payload)
        return frame(payload)

    def _answer(self, received: Frame) -> Answer:
        payload = received.data
        if not self._in_flight:
            raise DecodeError("unexpected response", message_name="ResponseHeader", data=payload)
        answered = self._in_flight.popleft()
        if answered is None:
            return sasl_token(received)
        number = int.from_bytes(payload[:4], "big", signed=True)
        if len(payload) < 4:
            reason = f"a response of {len(payload)} bytes has no correlation id"
        elif number != answered.correlation_id:
            reason = f"expected the response to {answered.correlation_id}, got one to {number}"
        else:
            return self._reader.response(received, answered)
        raise DecodeError(reason, message_name="ResponseHeader", data=payload)


class ServerConnection(_End):
    """Decodes requests, and encodes responses, which must be sent in the order of the requests."""

    def __init__(self, protocol: MessageRegistry, *, policy: Policy = LIKE_KAFKA, max_frame: int = MAX_FRAME) -> None:
        super().__init__(protocol, policy, max_frame)
        self.expects_tokens = False
        """Whether frames are bare SASL tokens. Set this attribute after answering SaslHandshake version 0, and clear
        it once authentication is complete."""

    def receive(
        self, data: bytes | bytearray | memoryview, time: float = 0.0
    ) -> list[RequestEvent | Undecodable | SaslToken]:
        """Return the requests and SASL tokens that ``data`` completes.

        A request that cannot be decoded becomes an ``Undecodable``. Raise ``ProtocolViolationError`` for a frame
        above the size limit. The error's ``events`` are the requests before that frame.
        """
        return self._take_all(data, CLIENT, time, self._take)

    def send(self, request: RequestEvent, message: Message, version: int | None = None) -> bytes:
        """Return the bytes of the response to ``request``, or ``b""`` if the request expects no response.

        ``version`` defaults to the request's version, or to 0 for an ApiVersions request of an unknown version
        [KAFKA-WIRE 6]. Raise ``EncodeError`` if ``message`` is not a response of this API or cannot be encoded.
        """
        if not request.expects_response:
            return b""
        if request.api_key != message.API_KEY:
            raise EncodeError(
                f"not a response to {request.name}", message_name=type(message).__name__, version=version
            )
        if version is None:
            unknown = request.name == "ApiVersions" and request.version not in message.VALID_VERSIONS
            version = 0 if unknown else request.version
        return frame(self._protocol.encode_response(message, version, correlation_id=request.correlation_id))

    def send_raw(self, request: RequestEvent | Undecodable, body: bytes, *, header_version: int = 0) -> bytes:
        """Return the bytes of a response with an already encoded body.

        To forward a response with its own header, pass everything after the correlation id as
        ``body=response.data[4:]``. Raise ``EncodeError`` if ``request`` is too short to contain a correlation id.
        """
        if len(request.data) < 8:
            raise EncodeError(f"a request of {len(request.data)} bytes has no correlation id")
        _, _, correlation_id = REQUEST_START.unpack_from(request.data)
        return frame(ResponseHeader(correlation_id=correlation_id).encode(header_version) + body)

    def send_token(self, token: bytes) -> bytes:
        """Return the bytes of a bare SASL token."""
        return frame(token)

    def _take(self, received: Frame) -> RequestEvent | Undecodable | SaslToken:
        return sasl_token(received) if self.expects_tokens else self._reader.request(received)
