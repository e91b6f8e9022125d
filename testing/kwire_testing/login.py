"""The broker side of SASL logins [RFC 4616, 5802, KIP-43, KIP-152]."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64encode
from collections.abc import Generator, Mapping

from kwire.client.sasl import HASHES, scram_proofs
from kwire_kafka.errors import ErrorCode
from kwire_testing.refusal import Refused

MECHANISMS = ("PLAIN", *HASHES)
ITERATIONS = 4096
_OPENING = re.compile(r"n,[^,]*,(n=([^,]+),r=([^,]+)(?:,.*)?)", re.DOTALL)
_FINAL = re.compile(r"(c=[^,]+,r=([^,]+)),p=([A-Za-z0-9+/=]+)")

Conversation = Generator[bytes, bytes, tuple[str, bytes]]
"""A generator that receives tokens and yields responses. In the end, the generator returns the user name and the last
response.
"""


class Login:
    """The login of a connection. Without ``users``, every client is logged in."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self._talk: Conversation | None = None
        self.user: str | None = None if users else "ANONYMOUS"

    def allows(self, api: str) -> bool:
        """Return whether the connection may send this request now."""
        begun = api == "SaslAuthenticate" and self._talk is not None
        return self.user is not None or begun or api in ("ApiVersions", "SaslHandshake")

    def begin(self, mechanism: str) -> None:
        """Start a login. Raise ``Refused`` if the mechanism is unknown, or if a login has already started."""
        if self.user is not None or self._talk is not None:
            raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
        if mechanism not in MECHANISMS:
            raise Refused(ErrorCode.UNSUPPORTED_SASL_MECHANISM)
        self._talk = self._plain() if mechanism == "PLAIN" else self._scram(HASHES[mechanism])
        next(self._talk)

    def answer(self, token: bytes) -> bytes:
        """Return the response to a client's token. Raise ``Refused`` if authentication fails."""
        if self._talk is None:
            raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
        try:
            return self._talk.send(token)
        except StopIteration as end:
            self._talk = None
            last: bytes
            self.user, last = end.value
            return last
        except ValueError:
            self._talk = None
            raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED) from None

    def _plain(self) -> Conversation:
        token = yield b""
        _, user, password = token.decode().split("\0")
        _check(hmac.compare_digest(self._users.get(user, "").encode(), password.encode()) and user in self._users)
        return user, b""

    def _scram(self, algorithm: str) -> Conversation:
        opening = _match(_OPENING, (yield b""))
        user = opening[2].replace("=2C", ",").replace("=3D", "=")
        _check(user in self._users)
        nonce, salt = opening[3] + b64encode(secrets.token_bytes(18)).decode(), secrets.token_bytes(16)
        challenge = f"r={nonce},s={b64encode(salt).decode()},i={ITERATIONS}"
        final = _match(_FINAL, (yield challenge.encode()))
        _check(final[2] == nonce)
        salted = hashlib.pbkdf2_hmac(algorithm, self._users[user].encode(), salt, ITERATIONS)
        proof, proved = scram_proofs(algorithm, salted, f"{opening[1]},{challenge},{final[1]}")
        _check(hmac.compare_digest(final[3].encode(), proof))
        return user, b"v=" + proved


def _match(pattern: re.Pattern[str], token: bytes) -> re.Match[str]:
    found = pattern.fullmatch(token.decode())
    if found is None:
        raise ValueError("not a SCRAM token")
    return found


def _check(proved: bool) -> None:
    if not proved:
        raise ValueError("not proved")
