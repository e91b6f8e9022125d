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


def micros(time: float) -> int:
    """Microseconds since the epoch, from seconds."""
    return int(time * 1e6 + 0.5)


def corrupt(schema: pa.Schema, source: str, position: int | None, reason: str) -> Row:
    """A row of a table of sources that says what is broken, and where."""
    return (source, position, *(None,) * (len(schema.names) - 3), reason)
