"""Identifies the client of a connection, from its ApiVersions requests and authentication.

The software is in ApiVersions requests since version 3 [KIP-511], also in versions newer than the known ones. The
principal is the name for which the client authenticates through PLAIN [RFC 4616] or SCRAM [RFC 5802], from when the
server has accepted it, or the client goes on as if: in SaslAuthenticate requests [KIP-152] or in the bare tokens
before these [KAFKA-WIRE 9]. GSSAPI and OAUTHBEARER yield none, because the mapping to a principal is server
configuration; nor do delegation tokens, whose owner is not sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from kwire.connection import RequestEvent, ResponseEvent, SaslToken
from kwire.connection.events import CLIENT

APIS = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
"""APIs whose bodies identify the client."""
MESSAGES = APIS - {"ApiVersions"} | {"ApiVersionsRequest"}
"""These bodies, by names of APIs and messages."""

LONGEST = 1000
"""Names are cut to this length, because they are kept for every connection and row."""


class Client(NamedTuple):
    """The identity of a client, by column."""

    software_name: str | None = None
    software_version: str | None = None
    principal: str | None = None


UNKNOWN = Client()


@dataclass(slots=True)
class Identity:
    """``known`` is what is known about the client so far. Pass it requests of ``APIS`` and tokens and, while there is
    a ``candidate`` (a principal not yet accepted by the server), all requests and responses."""

    known: Client = UNKNOWN
    candidate: str | None = None
    _mechanism: str = ""

    def on_request(self, event: RequestEvent) -> None:
        """Learn from a request; the software in an ApiVersions request applies to that request already."""
        if event.name not in APIS:
            if self.candidate is not None:
                self._accept()
            return
        message: Any = event.message
        if event.name == "ApiVersions":
            name, version = event.software
            if name:
                self._know(Client(name[:LONGEST], version[:LONGEST] or None, self.known.principal))
        elif message is None:
            return
        elif event.name == "SaslHandshake":
            self._mechanism, self.candidate = message.mechanism[:LONGEST], None
        elif self.candidate is None:
            self.candidate = _user(self._mechanism, message.auth_bytes)

    def on_response(self, event: ResponseEvent) -> None:
        """Learn from a response whether the client was accepted."""
        message: Any = event.message
        if event.name != "SaslAuthenticate" or message is None or self.candidate is None:
            return
        if message.error_code:
            self.candidate = None
        elif self._is_last(message.auth_bytes):
            self._accept()

    def on_token(self, event: SaslToken) -> None:
        """Learn from a bare token. A server that rejects the client closes the connection without one."""
        if self.candidate is None:
            if event.direction == CLIENT:
                self.candidate = _user(self._mechanism, event.data)
        elif event.direction != CLIENT and self._is_last(event.data):
            self._accept()

    def _is_last(self, token: bytes) -> bool:
        """Whether this server token shows that the client is accepted: the only token, or one with a proof."""
        return self._mechanism == "PLAIN" or token.startswith(b"v=")

    def _accept(self) -> None:
        self._know(self.known._replace(principal=self.candidate))
        self.candidate = None

    def _know(self, known: Client) -> None:
        """Unchanged values remain the same object, which makes rows cheaper."""
        if known != self.known:
            self.known = known


def _user(mechanism: str, token: bytes) -> str | None:
    """The principal in the first token of a mechanism."""
    name = None
    if mechanism == "PLAIN":
        parts = token.split(b"\0")
        name = parts[1] if len(parts) == 3 else None
    elif mechanism.startswith("SCRAM-"):
        fields = token.split(b",")
        if len(fields) >= 4 and fields[2].startswith(b"n=") and b"tokenauth=true" not in fields[4:]:
            name = fields[2][2:].replace(b"=2C", b",").replace(b"=3D", b"=")
    return f"User:{name[:LONGEST].decode('utf-8', 'replace')}" if name else None
