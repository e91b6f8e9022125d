"""Converts a broker's connection id to columns for the two ends of the connection."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

from kwire.request_log import addresses
from kwire_inspect.connections.request_context import Columns

LONGEST = 600
"""Maximum length of a connection id in characters. Two hosts and ports need fewer characters."""


def peers(connection: str | None, *, forwarded: bool = False) -> Columns:
    """Return the columns for the two ends of ``connection``, a broker's connection id. Hosts are written as in
    captures.

    A request that was ``forwarded`` to a controller arrived on a broker's connection, which does not show the address
    of the client [KIP-590]. Callers share the result and must not modify it.
    """
    if connection is None or len(connection) > LONGEST:
        return {"connection": connection}
    return _peers(connection, forwarded)


@lru_cache(maxsize=1024)
def _peers(connection: str, forwarded: bool) -> Columns:
    ends = addresses(connection)
    if ends is None:
        return {"connection": connection}
    server, client = ends
    columns = {"connection": connection, "server_host": _host(server.host), "server_port": server.port}
    if not forwarded:
        columns |= {"client_host": _host(client.host), "client_port": client.port}
    return columns


def _host(host: str) -> str:
    """Return a host as it is written in captures. Java, unlike other software, does not abbreviate IPv6 addresses."""
    try:
        return str(ip_address(host.strip("[]/")))
    except ValueError:
        return host
