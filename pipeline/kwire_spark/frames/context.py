"""Parts of rows that both tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kwire.headers import RequestHeader
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.headers import ResponseHeader
    from kwire_spark.capture import Connection

Row = tuple[Any, ...]

_NAMES = {key: PROTOCOL.api_name(key) for key in PROTOCOL.api_keys}

MOST_FACTS = 256
"""So many are kept of a connection. Clients have fewer, but bytes may claim to be of any."""

UNNAMED: Row = (None,) * 5
"""The columns that a header tells, where there is none."""


def peers(connection: Connection) -> Row:
    """The columns that say between whom a connection is."""
    client, server = connection.client, connection.server
    return connection.id, client.host, client.port, server.host, server.port


def named(header: RequestHeader | ResponseHeader | None) -> Row:
    """What a header tells: api key, api, version, correlation id, client id."""
    if type(header) is RequestHeader:
        key = header.api_key
        return key, _NAMES.get(key), header.api_version, header.correlation_id, header.client_id
    return UNNAMED if header is None else (None, None, None, header.correlation_id, None)


class RequestContext:
    """What is told of a client and its api: ``about`` has the columns from ``api_key`` to ``principal``, but for
    ``correlation_id``. The parts that rows share are made of it for one ``source``, and kept here."""

    __slots__ = ("about", "answered", "asked", "source")

    def __init__(self, about: Row) -> None:
        self.about = about
        self.source: str | None = None
        self.asked: Row = ()
        self.answered: Row = ()

    @classmethod
    def told(cls, header: RequestHeader | ResponseHeader | None, client: Row) -> RequestContext:
        """``client`` is software name and version, principal."""
        api_key, api, version, _, client_id = named(header)
        return cls((api_key, api, version, client_id, *client))


class ContextCache:
    """The facts of a connection: the same object for all requests of an api, version and client id."""

    __slots__ = ("_client", "_known")

    def __init__(self) -> None:
        self._client: Row = ()
        self._known: dict[tuple[int, int, str | None], RequestContext] = {}

    def of(self, header: RequestHeader | ResponseHeader | None, client: Row) -> RequestContext:
        """As ``RequestContext.told``."""
        if type(header) is not RequestHeader:
            return RequestContext.told(header, client)
        if client is not self._client or len(self._known) >= MOST_FACTS:
            self._client = client
            self._known.clear()
        key = header.api_key, header.api_version, header.client_id
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = RequestContext.told(header, client)
        return found


def micros(time: float) -> int:
    """Microseconds since the epoch, from seconds."""
    return int(time * 1e6 + 0.5)


def corrupt(schema: pa.Schema, source: str, position: int | None, reason: str) -> Row:
    """A row of a table of sources that says what is broken, and where."""
    return (source, position, *(None,) * (len(schema.names) - 3), reason)
