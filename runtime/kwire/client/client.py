"""A client with one connection to one broker, which sends one request at a time."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from kwire import __version__
from kwire.client.errors import AuthenticationError, BrokerError, other_protocol, reason
from kwire.client.opening import open_connection
from kwire.client.replaced import check_replaced
from kwire.client.security import Security
from kwire.connection import ClientConnection, NoCommonVersionError, ResponseEvent, SaslToken, Undecodable
from kwire.errors import DecodeError, EncodeError, cut
from kwire_rules import address_text

if TYPE_CHECKING:
    from kwire.client.sasl import Sasl
    from kwire.message import Message
    from kwire.protocol import MessageRegistry

MAX_TEXT = 1000
"""Maximum length of a broker's text in an error message, in characters."""
MAX_RESPONSE = 16 << 20
"""Default maximum size of a response in bytes. A hostile broker can make a client use several times as much
memory."""

DEFAULT_PORT = 9092
UNSUPPORTED_VERSION, ILLEGAL_SASL_STATE = 35, 34

HTTP_SECONDS = 5.0
"""Maximum time to wait for a silent server to answer an HTTP request, in seconds."""
_FAILURES = (OSError, UnicodeError, DecodeError)
_ADDRESS = re.compile(r"(?:\[([^\]]+)\]|([^:\[\]]+))(?::([0-9]{1,5}))?")
_HEAD = b"HEAD / HTTP/1.0\r\n\r\n"


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and port in ``HOST:PORT``, ``HOST`` or ``[IPV6]:PORT``. Raise ``ValueError`` for anything
    else."""
    found = _ADDRESS.fullmatch(text)
    port = int(found[3] or DEFAULT_PORT) if found else 0
    if found is None or not 0 < port < 1 << 16:
        raise ValueError(f"{text!r}: expected HOST:PORT")
    return found[1] or found[2], port


async def connect(
    host: str,
    port: int,
    protocol: MessageRegistry,
    *,
    security: Security | None = None,
    client_id: str | None = "kwire",
    timeout: float = 30.0,
    max_response: int = MAX_RESPONSE,
) -> Client:
    """Return a client that has connected, negotiated versions and logged in within ``timeout`` seconds.

    ``timeout`` is also the default timeout of each call. ``max_response`` is the maximum size of a response in bytes.
    Raise ``BrokerError`` with the reason if the connection fails, and ``AuthenticationError`` if the login fails.
    Raise ``SecurityError`` before sending anything if the login would send a password or token in clear text.
    """
    security = security or Security()
    security.check(host)
    client = Client(host, port, protocol, security, client_id, timeout, max_response)
    try:
        async with asyncio.timeout(timeout):
            client._reader, client._writer = await open_connection(host, port, security.tls)
            await client._negotiate()
            if security.sasl is not None:
                await client._login(security.sasl)
    except _FAILURES as error:
        await client.close()
        why = reason(error, tls=security.tls is not None, seconds=timeout)
        silent = isinstance(error, TimeoutError) and client._reader is not None and not client.versions
        if silent and await _is_http(host, port):
            why = other_protocol(b"HTTP/1.1 ")
        raise BrokerError(f"{client.address}: {why}") from None
    except NoCommonVersionError as error:
        await client.close()
        raise BrokerError(f"{client.address}: {error}") from None
    except BaseException:
        await client.close()
        raise
    return client


class Client:
    """A connection to a broker, opened by ``connect``. Leaving an ``async with`` block closes it."""

    def __init__(
        self,
        host: str,
        port: int,
        protocol: MessageRegistry,
        security: Security,
        client_id: str | None,
        timeout: float,
        max_response: int,
    ) -> None:
        self.address = address_text(host, port)
        self.protocol = protocol
        self.api_versions: Any = None
        """The broker's ApiVersionsResponse."""
        self._tls = security.tls is not None
        self._timeout = timeout
        self._connection = ClientConnection(protocol, client_id=client_id, max_frame=max_response)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.close()

    @property
    def versions(self) -> dict[int, range]:
        """The ranges of versions that the broker supports, by API key."""
        return self._connection.ranges

    async def close(self) -> None:
        """Close the connection. Closing it again has no effect."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.transport.abort()  # no bytes are left to send, even if a response is still expected
            with suppress(OSError):
                await writer.wait_closed()

    def version(self, request: type[Message]) -> int:
        """Return the highest version of a request that both sides support.

        Raise ``NoCommonVersionError`` if there is no such version.
        """
        return self._connection.version(request)

    async def call(
        self, request: Message, version: int | None = None, *, timeout: float | None = None
    ) -> ResponseEvent:
        """Send a request and return its response.

        ``version`` defaults to the highest version that both sides support. ``timeout`` is in seconds and defaults to
        the ``timeout`` of ``connect``. Raise ``BrokerError`` and close the connection if no response arrives. Raise
        ``DecodeError`` if the response cannot be decoded. Raise ``EncodeError`` if the request cannot be encoded,
        expects no response, or has a topic name but no topic id in a version with only topic ids.
        """
        name = type(request).__name__
        if version is None:
            version = self.version(type(request))
        check_replaced(request, version)
        async with self._turn:
            waiting = self._connection.in_flight
            data = self._connection.send(request, version)
            if self._connection.in_flight == waiting:
                raise EncodeError("brokers do not answer requests with acks=0", message_name=name, version=version)
            answer = await self._exchange(data, name.removesuffix("Request"), timeout)
        if isinstance(answer, Undecodable):
            raise answer.error or DecodeError(answer.reason, message_name=answer.name, data=answer.data)
        assert isinstance(answer, ResponseEvent)
        if answer.message is None:
            raise BrokerError(f"{self.address}: answers {name} in an unknown version")
        return answer

    async def _exchange(self, data: bytes, name: str, timeout: float | None = None) -> Any:
        """Send the request in ``data`` and return its response."""
        seconds = self._timeout if timeout is None else timeout
        if self._reader is None or self._writer is None:
            raise BrokerError(f"{self.address}: the connection is closed")
        try:
            async with asyncio.timeout(seconds):
                self._writer.write(data)
                await self._writer.drain()
                while received := await self._reader.read(1 << 16):
                    for answer in self._connection.receive(received):
                        return answer
        except _FAILURES as error:
            await self.close()
            if self.versions:
                why = reason(error, tls=False, seconds=seconds)
                raise BrokerError(f"{self.address}: {name}: {why}") from None
            raise
        except BaseException:  # The call was cancelled, so its response would be mistaken for the next response.
            await self.close()
            raise
        await self.close()
        raise BrokerError(f"{self.address}: closed the connection instead of answering {name}. {self._hint()}")

    def _hint(self) -> str:
        if self.versions:
            return "A broker does this if it does not support the version or requires a login"
        return "A TLS port or a broker before 0.10 does this" if not self._tls else "A broker before 0.10 does this"

    async def _negotiate(self) -> None:
        """Send an ApiVersions request, and repeat it in an older version if the broker requires that [KIP-511,
        KAFKA-WIRE 6]."""
        request: Any = self.protocol["ApiVersionsRequest"]
        question = request(client_software_name="kwire", client_software_version=__version__)
        answer: Any = (await self.call(question, request.VALID_VERSIONS[-1])).message
        if answer.error_code == UNSUPPORTED_VERSION:
            self._connection.negotiate(answer)
            version = self.version(request) if self.versions else 0
            answer = (await self.call(question, version)).message
        if answer.error_code:
            raise BrokerError(f"{self.address}: answers ApiVersions with error {answer.error_code}")
        self._connection.negotiate(answer)
        self.api_versions = answer

    async def _login(self, sasl: Sasl) -> None:
        """Log in. Tokens are sent in SaslAuthenticate requests, or without a header if the broker does not support
        such requests [KAFKA-WIRE 9]."""
        handshake: Any = self.protocol["SaslHandshakeRequest"]
        bare = self.protocol["SaslAuthenticateRequest"].API_KEY not in self.versions
        agreed: Any = (await self.call(handshake(mechanism=sasl.mechanism), 0 if bare else None)).message
        if agreed.error_code == ILLEGAL_SASL_STATE:
            raise AuthenticationError(
                f"{self.address}: this port does not accept logins. Set a security.protocol without SASL_"
            )
        if agreed.error_code:
            known = cut(", ".join(agreed.mechanisms[:20]), MAX_TEXT) or "none"
            raise AuthenticationError(f"{self.address}: does not support {sasl.mechanism}. It supports: {known}")
        conversation = sasl.conversation()
        try:
            token = next(conversation)
            while True:
                token = conversation.send(await (self._bare(token) if bare else self._authenticate(sasl, token)))
        except StopIteration:
            pass
        except AuthenticationError as error:
            raise AuthenticationError(cut(f"{self.address}: {error}", MAX_TEXT)) from None

    async def _authenticate(self, sasl: Sasl, token: bytes) -> bytes:
        request: Any = self.protocol["SaslAuthenticateRequest"]
        answer: Any = (await self.call(request(auth_bytes=token))).message
        if answer.error_code:
            said = answer.error_message or f"error {answer.error_code}"
            who = f"of {sasl.username!r} " if sasl.username else ""
            raise AuthenticationError(f"refuses the login {who}with {sasl.mechanism}: {said}")
        found: bytes = answer.auth_bytes
        return found

    async def _bare(self, token: bytes) -> bytes:
        try:
            answer = await self._exchange(self._connection.send_token(token), "the login")
        except BrokerError:  # brokers this old do not give a reason
            raise AuthenticationError("refuses the login") from None
        assert isinstance(answer, SaslToken)
        return answer.data


async def _is_http(host: str, port: int) -> bool:
    """Return whether a port that sends no bytes belongs to an HTTP server, which waits for a complete line."""
    with suppress(OSError):
        async with asyncio.timeout(HTTP_SECONDS):
            reader, writer = await open_connection(host, port)
            try:
                writer.write(_HEAD)
                return bool(other_protocol(await reader.readexactly(9)))
            except asyncio.IncompleteReadError:
                return False
            finally:
                writer.transport.abort()
    return False
