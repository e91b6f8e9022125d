"""SASL as a client sees it: mechanisms as generators of tokens, and the two ways to carry them."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from collections.abc import Generator

from tests.e2e.client import Client
from tests.e2e.messages import build

Conversation = Generator[bytes, bytes, None]
"""Yields the tokens to send and takes the answers; ends when the server has proved what it must."""

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class Refused(Exception):
    """The broker did not let the client in; ``args`` are error code and message."""


def converse(mechanism: str, user: str, password: str) -> Conversation:
    """The client's part in a mechanism."""
    if mechanism == "PLAIN":
        return plain(user, password)
    return scram(HASHES[mechanism], user, password)


def plain(user: str, password: str) -> Conversation:
    """RFC 4616."""
    assert (yield f"\0{user}\0{password}".encode()) == b""


def scram(algorithm: str, user: str, password: str) -> Conversation:
    """RFC 5802, without channel binding."""
    nonce = b64encode(secrets.token_bytes(18)).decode()
    opening = f"n={user},r={nonce}"
    challenge = (yield f"n,,{opening}".encode()).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(","))
    assert fields["r"].startswith(nonce)
    salted = hashlib.pbkdf2_hmac(algorithm, password.encode(), b64decode(fields["s"]), int(fields["i"]))
    client_key = hmac.digest(salted, b"Client Key", algorithm)
    bare = f"c=biws,r={fields['r']}"
    signed = f"{opening},{challenge},{bare}".encode()
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), signed, algorithm)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    final = (yield f"{bare},p={b64encode(proof).decode()}".encode()).decode()
    server_key = hmac.digest(salted, b"Server Key", algorithm)
    assert final == "v=" + b64encode(hmac.digest(server_key, signed, algorithm)).decode()


def login(client: Client, mechanism: str, user: str, password: str, *, handshake: int = 1, version: int = 2) -> int:
    """Authenticate a connection; how long the session may last, in milliseconds.

    After version 0 of SaslHandshake tokens travel bare [KAFKA-WIRE 9], after version 1 in SaslAuthenticate requests
    of ``version``. Raises ``Refused``, or ``Closed`` where tokens are bare and the broker cannot say why not.
    """
    agreed = client.ask(build("SaslHandshake", handshake, {"mechanism": mechanism}), handshake)
    if agreed.error_code:
        raise Refused(agreed.error_code, agreed.mechanisms)
    lifetime = 0
    conversation = converse(mechanism, user, password)
    token = next(conversation)
    while True:
        if handshake == 0:
            answer = client.token(token)
        else:
            response = client.ask(build("SaslAuthenticate", version, {"auth_bytes": token}), version)
            if response.error_code:
                raise Refused(response.error_code, response.error_message)
            answer, lifetime = response.auth_bytes, response.session_lifetime_ms
        try:
            token = conversation.send(answer)
        except StopIteration:
            return lifetime
