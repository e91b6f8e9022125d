"""Opens protected TLS records. This module derives the keys, and ``cryptography`` provides the ciphers.

Section numbers without an RFC refer to RFC 5246 (TLS 1.2) and RFC 8446 (TLS 1.3).
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from kwire_inspect.tls.suites import Suite

Opened = tuple[int, bytes]
"""Content type of a record, and its plaintext."""
SIZES = {"sha1": 20, "sha256": 32, "sha384": 48}
BLOCK, EXPLICIT, FIXED, NONCE = 16, 8, 4, 12
TAGS = {"ccm8": 8}
TAG = 16


class Protection:
    """Keys of one direction. ``overhead`` is the difference in bytes between a record's size and its plaintext's
    size, or 0 if it varies.
    """

    overhead = 0

    def open(self, number: int, header: bytes, fragment: bytes) -> Opened | None:
        """Return the content type and plaintext of a record, or ``None`` if its sequence ``number`` is wrong or the
        record is damaged."""
        raise NotImplementedError

    def next(self) -> Protection | None:
        """Return the protection after a key update, or ``None`` if this TLS version has no key updates."""
        return None


class Protection13(Protection):
    """Record protection in TLS 1.3 [5.2, 5.3]."""

    def __init__(self, suite: Suite, secret: bytes) -> None:
        self.overhead = TAGS.get(suite.kind, TAG) + 1
        self._suite, self._secret = suite, secret
        self._cipher = _aead(suite, expand_label(secret, b"key", suite.key, suite.hash))
        self._iv = int.from_bytes(expand_label(secret, b"iv", NONCE, suite.hash), "big")

    def open(self, number: int, header: bytes, fragment: bytes) -> Opened | None:
        nonce = (self._iv ^ number).to_bytes(NONCE, "big")
        try:
            inner = self._cipher.decrypt(nonce, fragment, header).rstrip(b"\0")
        except (InvalidTag, ValueError):
            return None
        return (inner[-1], inner[:-1]) if inner else None

    def next(self) -> Protection13:
        """Return the protection after a key update [7.2]."""
        size = SIZES[self._suite.hash]
        return Protection13(self._suite, expand_label(self._secret, b"traffic upd", size, self._suite.hash))


class Protection12(Protection):
    """Protection of TLS 1.2 with an AEAD cipher [6.2.3.3, RFC 5288, RFC 6655, RFC 7905]."""

    def __init__(self, suite: Suite, key: bytes, iv: bytes) -> None:
        self._explicit = 0 if suite.kind == "chacha" else EXPLICIT
        self._tag = TAGS.get(suite.kind, TAG)
        self.overhead = self._explicit + self._tag
        self._cipher, self._iv = _aead(suite, key), iv

    def open(self, number: int, header: bytes, fragment: bytes) -> Opened | None:
        size = len(fragment) - self.overhead
        if size < 0:
            return None
        if self._explicit:
            nonce = self._iv + fragment[:EXPLICIT]
        else:
            nonce = (int.from_bytes(self._iv, "big") ^ number).to_bytes(NONCE, "big")
        try:
            content = self._cipher.decrypt(nonce, fragment[self._explicit :], _authenticated(number, header, size))
        except (InvalidTag, ValueError):
            return None
        return header[0], content


class ProtectionCbc(Protection):
    """Protection of TLS 1.2 with CBC and HMAC. With ``etm``, the HMAC covers the ciphertext [6.2.3.2, RFC 7366]."""

    def __init__(self, suite: Suite, key: bytes, mac_key: bytes, *, etm: bool) -> None:
        self._key, self._mac_key, self._mac, self._etm = AES(key), mac_key, suite.mac, etm

    def open(self, number: int, header: bytes, fragment: bytes) -> Opened | None:
        size = SIZES[self._mac]
        sent = b""
        if self._etm:
            fragment, sent = fragment[:-size], fragment[-size:]
            if not self._is_authentic(number, header, fragment, sent):
                return None
        if len(fragment) < 2 * BLOCK or len(fragment) % BLOCK:
            return None
        decryptor = Cipher(self._key, CBC(fragment[:BLOCK])).decryptor()
        content = decryptor.update(fragment[BLOCK:]) + decryptor.finalize()
        content = content[: -1 - content[-1]]
        if not self._etm:
            content, sent = content[:-size], content[-size:]
            if not self._is_authentic(number, header, content, sent):
                return None
        return header[0], content

    def _is_authentic(self, number: int, header: bytes, content: bytes, sent: bytes) -> bool:
        text = _authenticated(number, header, len(content)) + content
        return hmac.compare_digest(hmac.digest(self._mac_key, text, self._mac), sent)


def derive_tls12_keys(
    suite: Suite, master: bytes, client_random: bytes, server_random: bytes, *, etm: bool
) -> tuple[Protection, Protection]:
    """Return the protections of the client's and the server's directions [6.3]."""
    if suite.kind == "cbc":
        mac = SIZES[suite.mac]
        first, second, third, fourth = _cut(suite, master, server_random + client_random, mac, suite.key)
        return ProtectionCbc(suite, third, first, etm=etm), ProtectionCbc(suite, fourth, second, etm=etm)
    iv = NONCE if suite.kind == "chacha" else FIXED
    first, second, third, fourth = _cut(suite, master, server_random + client_random, suite.key, iv)
    return Protection12(suite, first, third), Protection12(suite, second, fourth)


def derive_tls13_keys(
    suite: Suite, secrets: Mapping[str, bytes], labels: tuple[str, str]
) -> tuple[Protection13, Protection13]:
    """Return the protections of the client's and the server's directions, derived from the secrets with these labels.

    Raises ``KeyError`` if a secret is missing.
    """
    client, server = labels
    return Protection13(suite, secrets[client]), Protection13(suite, secrets[server])


def expand_label(secret: bytes, label: bytes, size: int, algorithm: str) -> bytes:
    """Return the result of HKDF-Expand-Label with an empty context [7.1]."""
    label = b"tls13 " + label
    info = size.to_bytes(2, "big") + bytes([len(label)]) + label + b"\0"
    output = part = b""
    count = 0
    while len(output) < size:
        count += 1
        part = hmac.digest(secret, part + info + bytes([count]), algorithm)
        output += part
    return output[:size]


def prf(secret: bytes, label: bytes, seed: bytes, size: int, algorithm: str) -> bytes:
    """Return ``size`` bytes of output of the TLS 1.2 pseudorandom function [5]."""
    seed = label + seed
    output, a = b"", seed
    while len(output) < size:
        a = hmac.digest(secret, a, algorithm)
        output += hmac.digest(secret, a + seed, algorithm)
    return output[:size]


def _cut(suite: Suite, master: bytes, seed: bytes, *sizes: int) -> list[bytes]:
    """Derive the key block, and return it in parts. Each size yields two parts, for the client and for the server."""
    sizes = tuple(size for size in sizes for _ in range(2))
    block, parts = prf(master, b"key expansion", seed, sum(sizes), suite.hash), []
    for size in sizes:
        parts.append(block[:size])
        block = block[size:]
    return parts


def _authenticated(number: int, header: bytes, size: int) -> bytes:
    return number.to_bytes(8, "big") + header[:3] + size.to_bytes(2, "big")


def _aead(suite: Suite, key: bytes) -> AESGCM | AESCCM | ChaCha20Poly1305:
    if suite.kind == "chacha":
        return ChaCha20Poly1305(key)
    return AESGCM(key) if suite.kind == "gcm" else AESCCM(key, TAGS.get(suite.kind, TAG))
