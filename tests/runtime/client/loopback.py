"""A broker of our own on loopback, with as many vices as a test wants."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import socket
import ssl
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from typing import Any, Self

from kwire.client.sasl import Conversation
from kwire.connection import RequestEvent, SaslToken, ServerConnection
from kwire.errors import KwireError
from kwire.message import Message
from kwire_kafka import (
    PROTOCOL,
    ApiVersionsResponse,
    DescribeClusterResponse,
    MetadataResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kwire_kafka.api.api_versions import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from kwire_kafka.api.describe_cluster import DescribeClusterBroker
from kwire_kafka.api.metadata import MetadataResponseBroker
from kwire_kafka.releases import RELEASES

HOST = "127.0.0.1"
USERS = {"alice": "alice-secret", "o=o,o": "odd"}

Answer = Callable[[Any], Message | bytes | None]
"""Takes the event of a request: a response, the bytes of a whole answer, or ``None`` to close the connection."""


def versions_of(release: str, **ranges: tuple[int, int]) -> list[ApiVersion]:
    """What a release advertises on its listener for clients, with other ``ranges`` for some APIs."""
    offered = {
        api.key: (api.advertised[0], api.advertised[-1])
        for api in RELEASES[release].apis.values()
        if api.advertised and (not api.listeners or "broker" in api.listeners)
    }
    offered |= {RELEASES[release].api(name).key: versions for name, versions in ranges.items()}
    return [ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in offered.items()]


def standard(release: str = "3.9.1", **ranges: tuple[int, int]) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=versions_of(release, **ranges),
        supported_features=[
            SupportedFeatureKey(name="metadata.version", min_version=1, max_version=21),
            SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1),
        ],
        finalized_features_epoch=5,
        finalized_features=[FinalizedFeatureKey(name="metadata.version", min_version_level=7, max_version_level=21)],
    )


def metadata(request: Any) -> Message:
    brokers = [MetadataResponseBroker(node_id=1, host="b1", port=9092, rack="a")]
    return MetadataResponse(brokers=brokers, cluster_id="cluster", controller_id=1)


def controllers(request: Any) -> Message:
    brokers = [DescribeClusterBroker(broker_id=3, host="c3", port=9093)]
    return DescribeClusterResponse(brokers=brokers, cluster_id="cluster", controller_id=3)


class Loopback:
    """Listens while entered. ``answers`` are by name of the API; ``mechanisms`` make it want a login.

    ``bare`` answers SaslHandshake 0 and takes bare tokens after it. ``asked`` has name and version of the requests;
    ``left`` is set once a connection is closed.
    """

    def __init__(
        self,
        answers: Mapping[str, Answer] | None = None,
        *,
        context: ssl.SSLContext | None = None,
        mechanisms: Mapping[str, Callable[[], Conversation]] | None = None,
        bare: bool = False,
    ) -> None:
        self.asked: list[tuple[str, int]] = []
        self.left = threading.Event()
        self._answers: dict[str, Answer] = {
            "ApiVersions": lambda request: standard(),
            "Metadata": metadata,
            "DescribeCluster": controllers,
            **(answers or {}),
        }
        self._context = context
        self._mechanisms = mechanisms
        self._bare = bare
        self._conversation: Any = None
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        self._listener = self._closing.enter_context(socket.create_server((HOST, 0)))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._closing.close()

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                connection, _ = self._listener.accept()
                with suppress(OSError, KwireError, Refused), connection:
                    connection.settimeout(10)
                    if self._context is None:
                        self._serve(connection)
                    else:
                        with self._context.wrap_socket(connection, server_side=True) as wrapped:
                            self._serve(wrapped)
                self.left.set()

    def _serve(self, connection: socket.socket) -> None:
        server, welcome = ServerConnection(PROTOCOL), self._mechanisms is None
        while data := connection.recv(1 << 16):
            for request in server.receive(data):
                if isinstance(request, SaslToken):
                    token = self._conversation.send(request.data)
                    connection.sendall(server.send_token(token))
                    welcome = not token or token.startswith(b"v=")
                    server.expects_tokens = not welcome
                    continue
                assert isinstance(request, RequestEvent)
                self.asked.append((request.name, request.version))
                if not welcome and request.name not in ("ApiVersions", "SaslHandshake", "SaslAuthenticate"):
                    return
                answer = self._answers.get(request.name, self._login)(request)
                if answer is None:
                    return
                connection.sendall(answer if isinstance(answer, bytes) else server.send(request, answer))
                server.expects_tokens = self._bare and request.name == "SaslHandshake"
                welcome = welcome or (isinstance(answer, SaslAuthenticateResponse) and not answer.error_code)

    def _login(self, request: Any) -> Message | None:
        mechanisms = self._mechanisms or {}
        if request.name == "SaslHandshake":
            known = request.message.mechanism in mechanisms
            if known:
                self._conversation = mechanisms[request.message.mechanism]()
                next(self._conversation)
            return SaslHandshakeResponse(error_code=0 if known else 33, mechanisms=list(mechanisms))
        try:
            return SaslAuthenticateResponse(auth_bytes=self._conversation.send(request.message.auth_bytes))
        except Refused as refused:
            return SaslAuthenticateResponse(error_code=58, error_message=str(refused))


class Other(Loopback):
    """A server of something else: answers the first bytes with ``reply``, or is silent until the client has gone."""

    def __init__(self, reply: bytes | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._reply = reply

    def _serve(self, connection: socket.socket) -> None:
        connection.recv(1 << 16)
        if self._reply is None:
            connection.recv(1)
        else:
            connection.sendall(self._reply)


class HttpServer(Loopback):
    """Waits for the end of a line, as servers do that read line by line."""

    def _serve(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as lines:
            line = lines.readline()
            connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" if line.startswith(b"HEAD ") else b"<!DOCTYPE html>")


class Refused(Exception):
    """The login is refused; the message is for the client."""


def plain() -> Conversation:
    """The server's part: takes tokens, yields answers."""
    _, user, password = (yield b"").decode().split("\0")
    if USERS.get(user) != password:
        raise Refused("wrong password")
    yield b""


def oauthbearer() -> Conversation:
    token = yield b""
    if token != b"n,,\1auth=Bearer abc.def\1\1":
        yield b'{"status":"invalid_token"}'
        raise Refused("invalid token")
    yield b""


def scram(
    algorithm: str, *, iterations: int = 4096, nonce: str = "", final: bytes = b"", more: str = ""
) -> Conversation:
    first: str = (yield b"").decode()
    fields = dict(part.split("=", 1) for part in first.removeprefix("n,,").split(","))
    if re.search("=(?!2C|3D)", fields["n"]):
        raise Refused("not a name of SCRAM")
    user = fields["n"].replace("=2C", ",").replace("=3D", "=")
    salt, joined = os.urandom(12), (nonce or fields["r"]) + "server"
    challenge = f"r={joined},s={b64encode(salt).decode()},i={iterations}{more}"
    last: str = (yield challenge.encode()).decode()
    bare, _, proof = last.rpartition(",p=")
    salted = hashlib.pbkdf2_hmac(algorithm, USERS.get(user, "?").encode(), salt, iterations)
    signed = f"{first.removeprefix('n,,')},{challenge},{bare}".encode()
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    if b64decode(proof) != bytes(one ^ other for one, other in zip(client_key, signature, strict=True)):
        raise Refused("invalid credentials")
    proved = hmac.digest(hmac.digest(salted, b"Server Key", algorithm), signed, algorithm)
    yield final or b"v=" + b64encode(proved) + more.encode()


MECHANISMS: dict[str, Callable[[], Conversation]] = {
    "PLAIN": plain,
    "OAUTHBEARER": oauthbearer,
    "SCRAM-SHA-256": lambda: scram("sha256"),
    "SCRAM-SHA-512": lambda: scram("sha512"),
}
