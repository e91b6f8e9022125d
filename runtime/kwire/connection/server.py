"""The server's end of a connection, for tools that act as a broker: requests are decoded, responses encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwire.connection.api_catalog import ApiCatalog
from kwire.connection.endpoint import take_all
from kwire.connection.event_reader import REQUEST_START, EventReader
from kwire.connection.events import CLIENT, RequestEvent, SaslToken
from kwire.connection.frame_splitter import Frame
from kwire.errors import EncodeError
from kwire.frames import MAX_FRAME, FrameReader, frame
from kwire.headers import ResponseHeader
from kwire.policy import LIKE_KAFKA

if TYPE_CHECKING:
    from kwire.connection.events import Undecodable
    from kwire.message import Message
    from kwire.policy import Policy
    from kwire.protocol import MessageRegistry


class ServerConnection:
    """Decodes requests in order, and encodes responses, which must be sent in the same order."""

    def __init__(self, protocol: MessageRegistry, *, policy: Policy = LIKE_KAFKA, max_frame: int = MAX_FRAME) -> None:
        self.expects_tokens = False
        """Whether frames are bare SASL tokens: set it after answering SaslHandshake version 0, until authentication
        is complete."""
        self._protocol = protocol
        self._reader = EventReader(ApiCatalog(protocol), policy, bodies=True)
        self._frames = FrameReader(max_frame)
        self._received = 0

    def receive(
        self, data: bytes | bytearray | memoryview, time: float = 0.0
    ) -> list[RequestEvent | Undecodable | SaslToken]:
        """The requests and SASL tokens that ``data`` completes; an undecodable request is an :class:`Undecodable`.

        Raises :class:`ProtocolViolationError` for a frame beyond the limit; its ``events`` are the requests before
        it.
        """
        return take_all(self._frames.feed(data), lambda payload: self._take(payload, time))

    def send(self, request: RequestEvent, message: Message, version: int | None = None) -> bytes:
        """The bytes of the response to ``request``; empty if it expects none.

        The version defaults to that of the request, or to 0 for an unknown version of ApiVersions [KAFKA-WIRE 6].
        :class:`EncodeError` if ``message`` is not a response to this API, or cannot be encoded.
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
        """The bytes of a response with an already encoded body.

        To forward a response with its own header, pass everything after the correlation id:
        ``body=response.data[4:]``. :class:`EncodeError` if ``request`` is too short to have a correlation id.
        """
        if len(request.data) < 8:
            raise EncodeError(f"a request of {len(request.data)} bytes has no correlation id")
        _, _, correlation_id = REQUEST_START.unpack_from(request.data)
        return frame(ResponseHeader(correlation_id=correlation_id).encode(header_version) + body)

    def send_token(self, token: bytes) -> bytes:
        """The bytes of a bare SASL token."""
        return frame(token)

    def _take(self, payload: bytes, time: float) -> RequestEvent | Undecodable | SaslToken:
        position = self._received
        self._received += 4 + len(payload)
        if self.expects_tokens:
            return SaslToken(time, CLIENT, position, time, payload)
        return self._reader.request(Frame(time, CLIENT, position, time, payload))
