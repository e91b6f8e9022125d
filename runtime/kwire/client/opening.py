"""Opening the TCP connection of a client, with or without TLS."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl


async def open_connection(
    host: str, port: int, tls: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address of a host that accepts a connection, and return its reader and writer.

    If no address accepts a connection, raise the last ``OSError``. Unlike ``asyncio.open_connection``, this function
    leaves no thread for which ``asyncio.run`` has to wait.
    """
    if not 0 < port < 1 << 16:  # the operating system would reduce it modulo 65536
        raise OSError(f"{port} is not a valid port")
    problem = OSError(f"{host} has no address")
    for family, kind, protocol, _, address in await _addresses(host, port):
        try:
            end = await _connected(socket.socket(family, kind, protocol), address)
        except OSError as error:
            problem = error
        else:
            return await asyncio.open_connection(sock=end, ssl=tls, server_hostname=host if tls else None)
    raise problem


async def _connected(end: socket.socket, address: Any) -> socket.socket:
    try:
        end.setblocking(False)
        await asyncio.get_running_loop().sock_connect(end, address)
    except BaseException:
        end.close()
        raise
    return end


async def _addresses(host: str, port: int) -> list[Any]:
    """Return the addresses of a host.

    The lookup may take minutes, so it runs in a thread that can be abandoned.
    """
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[Any]] = loop.create_future()

    def settle(addresses: list[Any], error: Exception | None) -> None:
        if found.cancelled():
            return
        if error is None:
            found.set_result(addresses)
        else:
            found.set_exception(error)

    def ask() -> None:
        addresses, problem = [], None
        try:
            addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except Exception as error:
            problem = error
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, addresses, problem)

    Thread(target=ask, daemon=True).start()
    return await found
