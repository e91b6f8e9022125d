"""The ends of a connection as the columns of a table, from a broker's name of it."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

from kwire.request_log import addresses

Peers = tuple[str | None, str | None, int | None, str | None, int | None]
"""Connection, host and port of the client, host and port of the server."""


@lru_cache(maxsize=1024)
def peers(connection: str | None, *, forwarded: bool = False) -> Peers:
    """``connection`` is the broker's name for it; hosts are written as in captures.

    A request that was ``forwarded`` to a controller came on the connection of a broker: who its client is, and not
    where, is known [KIP-590].
    """
    ends = addresses(connection) if connection else None
    if ends is None:
        return connection, None, None, None, None
    server, client = ends
    if forwarded:
        return connection, None, None, _host(server.host), server.port
    return connection, _host(client.host), client.port, _host(server.host), server.port


def _host(host: str) -> str:
    """Java writes out the zeros of IPv6; nobody else does."""
    try:
        return str(ip_address(host.strip("[]/")))
    except ValueError:
        return host
