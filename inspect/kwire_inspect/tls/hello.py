"""Reads the random, version and cipher suite in hello messages [RFC 5246 7.4.1, RFC 8446 4.1]."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kwire_inspect.tls.suites import TLS12, TLS13, Suite

TLS_1_2, TLS_1_3 = 0x0303, 0x0304
SUPPORTED_VERSIONS, ENCRYPT_THEN_MAC = 43, 22
RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""Random of a HelloRetryRequest [RFC 8446 4.1.3]."""
VERSIONS = {0x0300: "SSL 3.0", 0x0301: "TLS 1.0", 0x0302: "TLS 1.1"}


class NotTlsError(Exception):
    """The bytes are not TLS."""


class NotDecryptedError(Exception):
    """The connection is TLS but cannot be decrypted. The message is the reason."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Parameters chosen by a server. If ``etm`` is true, CBC suites encrypt before they authenticate [RFC 7366]."""

    random: bytes
    session: bytes
    version: int
    suite: Suite
    etm: bool


def client_random(body: bytes) -> bytes:
    """Return the random of a ClientHello."""
    if len(body) < 34:
        raise NotTlsError
    return body[2:34]


def server_hello(body: bytes) -> Hello | None:
    """Return the parameters in a ServerHello, or ``None`` for a HelloRetryRequest.

    Raises ``NotDecryptedError`` for an unsupported version or cipher suite.
    """
    if len(body) < 38 or len(body) < 38 + body[34]:
        raise NotTlsError
    random, at = body[2:34], 35 + body[34]
    if random == RETRY:
        return None
    version, number = _number(body, 0), _number(body, at)
    extensions = dict(_extensions(body, at + 3))
    if SUPPORTED_VERSIONS in extensions:
        version = _number(extensions[SUPPORTED_VERSIONS], 0)
    if version not in (TLS_1_2, TLS_1_3):
        raise NotDecryptedError(f"{VERSIONS.get(version, 'TLS of an unknown version')} is not decrypted")
    suite = (TLS13 if version == TLS_1_3 else TLS12).get(number)
    if suite is None:
        raise NotDecryptedError(f"TLS with cipher suite 0x{number:04x} is not decrypted")
    return Hello(random, body[35 : 35 + body[34]], version, suite, ENCRYPT_THEN_MAC in extensions)


def _extensions(body: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    end, at = at + 2 + _number(body, at), at + 2
    while at + 4 <= min(end, len(body)):
        size = _number(body, at + 2)
        yield _number(body, at), body[at + 4 : at + 4 + size]
        at += 4 + size


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2], "big")
