"""A blocking client: the connection without I/O, a socket, and a limit on every wait."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from kwire.connection import ClientConnection, ResponseEvent, SaslToken
from kwire.message import Message
from kwire_kafka import PROTOCOL
from tests.e2e.tally import Tally

if TYPE_CHECKING:
    from kwire.connection.ends import Answer

SECONDS = 20.0


class Closed(Exception):
    """The broker closed the connection instead of answering."""


class Client:
    """One connection to one listener; what it asks and gets answered is counted under ``listener``."""

    def __init__(self, address: tuple[str, int], listener: str, tally: Tally, *, client_id: str = "kwire") -> None:
        self.listener = listener
        self.tally = tally
        self._connection = ClientConnection(PROTOCOL, client_id=client_id)
        self._socket = socket.create_connection(address, timeout=SECONDS)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def ask(self, message: Message, version: int) -> Any:
        """Send a request and wait for its response, which must be written again to the bytes it was read from."""
        answer = self._exchange(self._connection.send(message, version))
        if not isinstance(answer, ResponseEvent) or answer.message is None:
            self.tally.undecodable += 1
            raise AssertionError(f"cannot decode {answer!r}")
        again = PROTOCOL.encode_response(answer.message, answer.version, correlation_id=answer.correlation_id)
        assert again == answer.data
        self.tally.exercised[self.listener].add((type(message).API_KEY or 0, version))
        self.tally.exchanges += 1
        return answer.message

    def tell(self, message: Message, version: int) -> None:
        """Send a request that is not answered: Produce with ``acks=0``."""
        self._socket.sendall(self._connection.send(message, version))

    def probe(self, api_key: int, version: int, *, header_version: int = 1) -> Any:
        """Send a request of any version, with nothing but a header, and wait for its response."""
        answer = self._exchange(self._connection.send_raw(api_key, version, b"", header_version=header_version))
        assert isinstance(answer, ResponseEvent)
        return answer.message

    def token(self, token: bytes) -> bytes:
        """Send a bare SASL token and wait for the one that answers it."""
        answer = self._exchange(self._connection.send_token(token))
        assert isinstance(answer, SaslToken)
        return answer.data

    def _exchange(self, data: bytes) -> Answer:
        self._socket.sendall(data)
        while received := self._socket.recv(1 << 16):
            for answer in self._connection.receive(received):
                return answer
        raise Closed(f"the broker closed a connection to its listener {self.listener}")
