"""The values that rows of a connection share: its peers and, for each kind of request, its client and API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kwire.headers import RequestHeader
from kwire.native import mypyc_attr
from kwire_inspect.connections.identity import Client
from kwire_inspect.row_layout import Row

if TYPE_CHECKING:
    from kwire.headers import ResponseHeader
    from kwire.protocol import MessageRegistry
    from kwire_inspect.capture import Connection

Columns = dict[str, Any]
"""Values by column."""

MAX_CONTEXTS: Final = 256
"""Contexts kept per connection. Clients have fewer, but bytes may claim to be from any number of clients."""


def peers(connection: Connection) -> Columns:
    """The columns that identify a connection and its two ends."""
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
    """Client and API of a request, as ``columns`` by name. The tuples shared by rows are built from it for one
    ``source``, and cached as ``request_row`` and ``response_row``. ``unknown`` says why there is no message to decode,
    such as that the version is newer than the known ones."""

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
    """The contexts of a connection: the same object for all requests of an API, version and client id."""

    __slots__ = ("_client", "_known", "_protocol")

    def __init__(self, protocol: MessageRegistry) -> None:
        self._protocol = protocol
        self._client: Client | None = None
        self._known: dict[tuple[int, int, str | None], RequestContext] = {}

    def of(self, header: RequestHeader | ResponseHeader | None, client: Client) -> RequestContext:
        """The context of a request with this header and client."""
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
        """Forget all contexts; requests in flight keep theirs."""
        self._known.clear()
