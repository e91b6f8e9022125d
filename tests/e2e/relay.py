"""A recording relay on loopback: what clients and broker say to each other, byte for byte, in the order it was said.

A broker tells its clients where to find it, and they go there; so the broker advertises the port of the relay::

    with Relay() as relay:
        properties = {"advertised.listeners": f"PLAINTEXT://{relay.bootstrap}"}
        with Broker(release, folder, properties=properties) as broker:
            relay.target = broker.address
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

from kwire.connection import CLIENT, SERVER, Direction
from tests.e2e.capture import Recording

HOST = "127.0.0.1"
CHUNK = 1 << 16
CLIENT_ID = 12
"""Where the client id stands in a request: behind size, api key, version and correlation id."""


class Relay:
    """Listens on a free port and forwards every connection to ``target``, which may be set once it is known."""

    def __init__(self) -> None:
        self.target: tuple[str, int] | None = None
        self.connections: list[Recording] = []
        self._server = socket.create_server((HOST, 0))
        self.port: int = self._server.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Relay:
        self._accepting.start()
        return self

    def __exit__(self, *problem: object) -> None:
        for one in (self._server, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._accepting.join(10)

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def take(self, client_id: str = "", *, patience: float = 5) -> list[Recording]:
        """The connections on which ``client_id`` spoke, or without one all that are left; they are not given again.

        Those of a client are waited for, as libraries close some of them in the background.
        """
        spoke = [one for one in list(self.connections) if one.segments]
        header = len(client_id).to_bytes(2, "big") + client_id.encode()
        mine = [one for one in spoke if not client_id or one.segments[0][2].startswith(header, CLIENT_ID)]
        deadline = time.monotonic() + (patience if client_id else 0)
        for one in mine:
            one.ended.wait(max(0, deadline - time.monotonic()))
            self.connections.remove(one)
        return mine

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                server = socket.create_connection(self.target or (HOST, 0), timeout=10)
            except OSError:
                client.close()
                continue
            self._sockets += [client, server]
            recording = Recording()
            self.connections.append(recording)
            threading.Thread(target=self._serve, args=(recording, client, server), daemon=True).start()

    def _serve(self, recording: Recording, client: socket.socket, server: socket.socket) -> None:
        back = threading.Thread(target=_forward, args=(recording, SERVER, server, client), daemon=True)
        back.start()
        _forward(recording, CLIENT, client, server)
        back.join()
        recording.ended.set()
        for one in (client, server):
            one.close()
            self._sockets.remove(one)


def _forward(recording: Recording, direction: Direction, source: socket.socket, target: socket.socket) -> None:
    """Until ``source`` ends. A segment is noted before it goes on, so no answer stands before its question."""
    source.settimeout(None)
    with suppress(OSError):
        while data := source.recv(CHUNK):
            recording.segments.append((direction, time.time(), data))
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
