"""Converts a broker's name of a connection to the columns of the connection's ends."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address

from kwire.request_log import addresses
from kwire_inspect.connections.request_context import Columns

LONGEST = 600
"""Maximum characters of a connection's name. Two hosts and ports need fewer."""


def peers(connection: str | None, *, forwarded: bool = False) -> Columns:
    """Return the columns of the two ends of ``connection``, the broker's name for it. Hosts are written as in
    captures.

    A request that was ``forwarded`` to a controller came on the connection of a broker. The identity of its client is
    known, its address is not [KIP-590]. The result is shared: do not change it.
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
    """Return a host as written in captures. Unlike other software, Java does not abbreviate IPv6 addresses."""
    try:
        return str(ip_address(host.strip("[]/")))
    except ValueError:
        return host
