"""The client side of SASL. Each mechanism is a generator of tokens [RFC 4616, 5802, 7628]."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kwire.client.errors import AuthenticationError, SecurityError
from kwire.client.files import read_small

Conversation = Generator[bytes, bytes, None]
"""A generator that yields the tokens to send and receives the answers. The generator ends once the login has
succeeded."""

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *HASHES, "OAUTHBEARER")
IN_CLEAR = {"PLAIN": "password", "OAUTHBEARER": "token"}
"""Mechanisms that send a secret in clear text and therefore require TLS, and the kind of that secret."""

ITERATIONS = range(4096, 1_000_001)
"""Iteration counts that SCRAM servers may request. Lower counts would expose the password [RFC 7677, 4]. Higher
counts would take seconds.
"""

_CHALLENGE = re.compile(r"r=([!-+\--~]+),s=([A-Za-z0-9+/=]+),i=([0-9]{1,9})(?:,.*)?")
_TOKEN = re.compile(r"[-_.~+/=A-Za-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """The settings of a login with PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.

    OAUTHBEARER requires a ``token``, or a ``token_file`` that is read at each login, and accepts ``extensions``
    [KIP-342]. With ``by_token``, the user name and password for SCRAM are the id and HMAC of a delegation token
    [KIP-48].
    """

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    token_file: str | Path | None = None
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)
    by_token: bool = False

    def __post_init__(self) -> None:
        if self.mechanism not in MECHANISMS:
            raise SecurityError(f"SASL mechanism {self.mechanism!r}: expected one of {', '.join(MECHANISMS)}")
        if self.mechanism == "OAUTHBEARER":
            if not (self.token or self.token_file):
                raise SecurityError("SASL mechanism OAUTHBEARER requires a token or a token file")
        elif not (self.username and self.password):
            raise SecurityError(f"SASL mechanism {self.mechanism} requires a user name and a password")

    def conversation(self) -> Conversation:
        """Return the client's side of a login as a generator of tokens.

        The generator raises ``AuthenticationError`` if the server rejects the login or sends an invalid answer.
        """
        if self.mechanism == "PLAIN":
            return self._plain()
        return self._oauthbearer() if self.mechanism == "OAUTHBEARER" else self._scram(HASHES[self.mechanism])

    def _plain(self) -> Conversation:
        yield f"\0{self.username}\0{self.password}".encode()

    def _oauthbearer(self) -> Conversation:
        token = self.token or _read(self.token_file)
        if not _TOKEN.fullmatch(token):
            raise SecurityError("the OAUTHBEARER token is empty or contains invalid characters")
        pairs = {"auth": f"Bearer {token}", **self.extensions}
        problem = yield "\1".join(["n,,", *(f"{name}={value}" for name, value in pairs.items()), "\1"]).encode()
        if problem:
            yield b"\1"  # the server waits for this byte before it ends the login
            raise AuthenticationError(f"the broker refuses the token: {problem.decode(errors='replace')}")

    def _scram(self, algorithm: str) -> Conversation:
        nonce = b64encode(secrets.token_bytes(24)).decode()
        name = self.username.replace("=", "=3D").replace(",", "=2C")
        opening = f"n={name},r={nonce}{',tokenauth=true' if self.by_token else ''}"
        challenge = (yield f"n,,{opening}".encode()).decode(errors="replace")
        found = _CHALLENGE.fullmatch(challenge)
        if found is None or not found[1].startswith(nonce) or found[1] == nonce or len(found[2]) % 4:
            raise AuthenticationError("the broker's challenge is not valid for SCRAM")
        if int(found[3]) not in ITERATIONS:
            allowed = f"{ITERATIONS[0]} to {ITERATIONS[-1]} are accepted"
            raise AuthenticationError(f"the broker asks for {found[3]} SCRAM iterations: {allowed}")
        salted = hashlib.pbkdf2_hmac(algorithm, self.password.encode(), b64decode(found[2]), int(found[3]))
        bare = f"c=biws,r={found[1]}"
        proof, proved = scram_proofs(algorithm, salted, f"{opening},{challenge},{bare}")
        final = yield f"{bare},p=".encode() + proof
        if not hmac.compare_digest(final.partition(b",")[0], b"v=" + proved):
            raise AuthenticationError("the broker could not prove that it knows the password")


def scram_proofs(algorithm: str, salted: bytes, signed: str) -> tuple[bytes, bytes]:
    """Return the client's and the server's proofs that they know the ``salted`` password, in Base64 [RFC 5802, 3]."""
    client_key, server_key = (hmac.digest(salted, f"{side} Key".encode(), algorithm) for side in ("Client", "Server"))
    signature = hmac.digest(hashlib.new(algorithm, client_key).digest(), signed.encode(), algorithm)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    return b64encode(proof), b64encode(hmac.digest(server_key, signed.encode(), algorithm))


def _read(path: str | Path | None) -> str:
    try:
        return read_small(path or "").decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecurityError(f"the token file cannot be read: {error}") from None
