"""Values that rows of a connection share: the two peers and, for each kind of request, the client and the API.

A client is identified by its ApiVersions requests and its authentication. Since version 3, ApiVersions requests name
the client's software [KIP-511], even in versions that are not yet known.

The principal is the name with which the client authenticates through PLAIN [RFC 4616] or SCRAM [RFC 5802]. The name
is sent in SaslAuthenticate requests [KIP-152] or in the older bare tokens [KAFKA-WIRE 9]. The principal is used once
the server has accepted the client, or once the client continues as if it had been accepted. GSSAPI and OAUTHBEARER
yield no principal, because the server's configuration determines the principal. Delegation tokens yield no principal,
because their owner is not sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kwire.connection import RequestEvent, ResponseEvent, SaslToken
from kwire.connection.events import CLIENT
from kwire.headers import RequestHeader
from kwire.native import mypyc_attr
from kwire_inspect.rows import Row

if TYPE_CHECKING:
    from kwire.headers import ResponseHeader
    from kwire.protocol import MessageRegistry
    from kwire_inspect.capture import Connection

APIS = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""APIs whose bodies identify the client."""
MESSAGES = APIS - {"ApiVersions"} | {"ApiVersionsRequest"}
"""Names of the APIs and messages whose bodies identify the client."""
LONGEST = 1000
"""Maximum length of a name in characters. Names are kept for every connection and row."""
Columns = dict[str, Any]
"""Values by column."""
MAX_CONTEXTS: Final = 256
"""Maximum number of contexts per connection. Clients need fewer, but a hostile connection can contain any number
of client ids.
"""


class Client(NamedTuple):
    """The identity of a client, with a field for each column."""

    software_name: str | None = None
    software_version: str | None = None
    principal: str | None = None


UNKNOWN = Client()


@dataclass(slots=True)
class Identity:
    """Learns the identity of a client. ``known`` is the identity so far.

    ``candidate`` is a principal that the server has not accepted yet, or ``None``. Pass all tokens and all requests
    of ``APIS`` to this object and, while there is a candidate, all requests and responses.
    """

    known: Client = UNKNOWN
    candidate: str | None = None
    _mechanism: str = ""

    def on_request(self, event: RequestEvent) -> None:
        """Learn from a request. The software that an ApiVersions request names applies to this request as well."""
        if event.name not in APIS:
            if self.candidate is not None:
                self._accept()
            return
        message: Any = event.message
        if event.name == "ApiVersions":
            name, version = event.software
            if name:
                self._know(Client(name[:LONGEST], version[:LONGEST] or None, self.known.principal))
        elif message is None:
            return
        elif event.name == "SaslHandshake":
            self._mechanism, self.candidate = message.mechanism[:LONGEST], None
        elif self.candidate is None:
            self.candidate = _user(self._mechanism, message.auth_bytes)

    def on_response(self, event: ResponseEvent) -> None:
        """Learn from a response whether the client was accepted."""
        message: Any = event.message
        if event.name != "SaslAuthenticate" or message is None or self.candidate is None:
            return
        if message.error_code:
            self.candidate = None
        elif self._is_last(message.auth_bytes):
            self._accept()

    def on_token(self, event: SaslToken) -> None:
        """Learn from a bare token. A server that rejects the client closes the connection without a token."""
        if self.candidate is None:
            if event.direction == CLIENT:
                self.candidate = _user(self._mechanism, event.data)
        elif event.direction != CLIENT and self._is_last(event.data):
            self._accept()

    def _is_last(self, token: bytes) -> bool:
        """Return whether a server's token accepts the client: any token for PLAIN, or one with a proof for SCRAM."""
        return self._mechanism == "PLAIN" or token.startswith(b"v=")

    def _accept(self) -> None:
        self._know(self.known._replace(principal=self.candidate))
        self.candidate = None

    def _know(self, known: Client) -> None:
        """Set the identity. If nothing has changed, keep the same object, so that ``ContextCache`` keeps its
        contexts.
        """
        if known != self.known:
            self.known = known


def _user(mechanism: str, token: bytes) -> str | None:
    """Return the principal in the first token of a SASL mechanism, or ``None`` if there is no principal."""
    name = None
    if mechanism == "PLAIN":
        parts = token.split(b"\0")
        name = parts[1] if len(parts) == 3 else None
    elif mechanism.startswith("SCRAM-"):
        fields = token.split(b",")
        if len(fields) >= 4 and fields[2].startswith(b"n=") and b"tokenauth=true" not in fields[4:]:
            name = fields[2][2:].replace(b"=2C", b",").replace(b"=3D", b"=")
    return f"User:{name[:LONGEST].decode('utf-8', 'replace')}" if name else None


def peers(connection: Connection) -> Columns:
    """Return the columns that identify a connection and its two ends."""
    client, server = connection.client, connection.server
    return {
        "connection": connection.id,
        "client_host": client.host,
        "client_port": client.port,
        "server_host": server.host,
        "server_port": server.port,
    }


@mypyc_attr(serializable=True)
class RequestContext:
    """The client and API of a request. ``columns`` maps the names of columns that describe them to values.

    Rows of the same ``source`` share tuples that are built from these columns and cached as ``request_row`` and
    ``response_row``. ``unknown`` is the reason why no message can be decoded, such as an unknown newer version.
    """

    __slots__ = ("columns", "request_row", "response_row", "source", "unknown", "version")

    def __init__(
        self, header: RequestHeader | ResponseHeader | None, client: Client, protocol: MessageRegistry
    ) -> None:
        self.columns: Columns = client._asdict()
        self.version: int | None = None
        self.unknown: str | None = None
        if type(header) is RequestHeader:
            self.version = header.api_version
            self.unknown = protocol.unknown(header.api_key, header.api_version) or None
            self.columns |= {
                "api_key": header.api_key,
                "api": protocol.api_names.get(header.api_key),
                "version": header.api_version,
                "client_id": header.client_id,
            }
        self.source: str | None = None
        self.request_row: Row = ()
        self.response_row: Row = ()


@mypyc_attr(serializable=True)
class ContextCache:
    """The contexts of a connection. Requests with the same API, version and client id share a context."""

    __slots__ = ("_client", "_known", "_protocol")

    def __init__(self, protocol: MessageRegistry) -> None:
        self._protocol = protocol
        self._client: Client | None = None
        self._known: dict[tuple[int, int, str | None], RequestContext] = {}

    def of(self, header: RequestHeader | ResponseHeader | None, client: Client) -> RequestContext:
        """Return the context of a request with this header and client."""
        if type(header) is not RequestHeader:
            return RequestContext(header, client, self._protocol)
        if client is not self._client or len(self._known) >= MAX_CONTEXTS:
            self.clear()
            self._client = client
        key = header.api_key, header.api_version, header.client_id
        context = self._known.get(key)
        if context is None:
            context = self._known[key] = RequestContext(header, client, self._protocol)
        return context

    def clear(self) -> None:
        """Forget all contexts. Requests in flight keep their contexts."""
        self._known.clear()
