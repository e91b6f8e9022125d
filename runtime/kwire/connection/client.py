"""The client's end of a connection: requests are encoded, responses come back with the requests they answer."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from kwire.connection.api_catalog import ApiCatalog
from kwire.connection.endpoint import take_all
from kwire.connection.events import CLIENT, SERVER, SaslToken, Undecodable
from kwire.connection.frame import Frame
from kwire.connection.in_flight import InFlightRequest
from kwire.connection.reading import REQUEST_START, Reader
from kwire.errors import DecodeError, KwireError
from kwire.frames import MAX_FRAME, FrameReader, frame
from kwire.headers import RequestHeader
from kwire.policy import STRICT

if TYPE_CHECKING:
    from typing import Any

    from kwire.connection.events import ResponseEvent
    from kwire.message import Message
    from kwire.policy import Policy
    from kwire.protocol import Protocol

    Answer = ResponseEvent | Undecodable | SaslToken


class NoCommonVersionError(KwireError):
    """Client and server have no version of an api in common, or the client does not know yet."""


class ClientConnection:
    """Requests in, bytes out; bytes in, responses out, in the order of the requests.

    Versions are chosen once an ApiVersions response was handed to :meth:`negotiate`; before, or to choose otherwise,
    they are told. Times are for whoever wants latencies, in any unit.
    """

    def __init__(
        self,
        protocol: Protocol,
        *,
        client_id: str | None = None,
        policy: Policy = STRICT,
        limit: int = MAX_FRAME,
    ) -> None:
        self.client_id = client_id
        self.ranges: dict[int, range] = {}
        """The versions that the server accepts, by api key; empty before they were negotiated."""
        self._protocol = protocol
        self._reader = Reader(ApiCatalog(protocol), policy, bodies=True)
        self._frames = FrameReader(limit)
        self._pending: deque[InFlightRequest | None] = deque()  # None stands for a token
        self._next_id = 0
        self._sent = 0
        self._received = 0

    @property
    def in_flight(self) -> int:
        """How many responses and tokens are still to come."""
        return len(self._pending)

    def negotiate(self, response: Message) -> None:
        """Take over what an ApiVersionsResponse says about the versions of the server.

        With error 35 these are only those of ApiVersions itself, to ask again in one of them; servers before 2.4 then
        say nothing at all, and are to be asked in version 0 [KAFKA-WIRE 6].
        """
        told: Any = response
        self.ranges = {key.api_key: range(key.min_version, key.max_version + 1) for key in told.api_keys}

    def version(self, request: type[Message]) -> int:
        """The highest version of a request that both sides have; ``NoCommonVersionError`` if there is none."""
        offered = self.ranges.get(-1 if request.API_KEY is None else request.API_KEY)
        if offered is None:
            known = "the server does not offer it" if self.ranges else "versions have not been negotiated"
            raise NoCommonVersionError(f"{request.__name__}: {known}")
        own = request.VALID_VERSIONS
        common = range(max(own.start, offered.start), min(own.stop, offered.stop))
        if not common:
            raise NoCommonVersionError(
                f"{request.__name__}: the server has versions {offered.start} to {offered.stop - 1}, "
                f"the client {own.start} to {own.stop - 1}"
            )
        return common[-1]

    def send(
        self, message: Message, version: int | None = None, *, correlation_id: int | None = None, time: float = 0.0
    ) -> bytes:
        """The bytes of a request, to be written now. Its response is then expected, unless ``acks`` is 0."""
        if version is None:
            version = self.version(type(message))
        number = self._next_id if correlation_id is None else correlation_id
        payload = self._protocol.encode_request(message, version, correlation_id=number, client_id=self.client_id)
        return self._ask(payload, time, message)

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
        """The bytes of a request with a body that is encoded already, of an api and version nobody needs to know.

        To pass on a request as it came, with its client id and header: ``body=request.data[8:]``, all behind the
        correlation id, and ``header_version=0``.
        """
        header = RequestHeader(
            api_key=api_key,
            api_version=version,
            correlation_id=self._next_id if correlation_id is None else correlation_id,
            client_id=self.client_id,
        )
        return self._ask(header.encode(header_version) + body, time)

    def send_token(self, token: bytes) -> bytes:
        """The bytes of a bare SASL token, as they follow SaslHandshake version 0. The server answers with another."""
        self._pending.append(None)
        self._sent += 4 + len(token)
        return frame(token)

    def receive(self, data: bytes | bytearray | memoryview, time: float = 0.0) -> list[Answer]:
        """The responses and tokens that ``data`` completes.

        A response that cannot be decoded becomes an :class:`Undecodable`. An unexpected response, one out of order
        and a frame beyond the limit raise :class:`ProtocolViolationError`; its ``events`` are the answers before it.
        """
        return take_all(self._frames.feed(data), lambda payload: self._answer(payload, time))

    def _ask(self, payload: bytes, time: float, message: Message | None = None) -> bytes:
        request = self._reader.request(Frame(time, CLIENT, self._sent, time, payload), message)
        api_key, version, number = REQUEST_START.unpack_from(payload)
        if isinstance(request, Undecodable) or request.expects_response:
            self._pending.append(InFlightRequest(request, api_key, version, number, 0))
        self._next_id = number + 1 if number < 0x7FFFFFFF else 0
        self._sent += 4 + len(payload)
        return frame(payload)

    def _answer(self, payload: bytes, time: float) -> Answer:
        start = self._received
        self._received += 4 + len(payload)
        if not self._pending:
            raise DecodeError("a response nobody asked for", message="ResponseHeader", data=payload)
        asked = self._pending.popleft()
        if asked is None:
            return SaslToken(time, SERVER, start, time, payload)
        number = int.from_bytes(payload[:4], "big", signed=True)
        if len(payload) < 4:
            reason = f"a response of {len(payload)} bytes, it begins with a correlation id of 4"
        elif number != asked.correlation_id:
            reason = f"a response to {number}, the next should be to {asked.correlation_id}"
        else:
            return self._reader.response(Frame(time, SERVER, start, time, payload), asked)
        raise DecodeError(reason, message="ResponseHeader", data=payload)
