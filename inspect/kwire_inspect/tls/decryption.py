"""Decrypts the connections whose secrets are in a key log.

OpenSSL, NSS, Go and other libraries write key logs to ``SSLKEYLOGFILE`` [draft-ietf-tls-keylogfile]. Each line
contains a label, the ClientHello random and a secret. The random and the secret are hexadecimal. For TLS 1.2, Java
agents write lines of the form ``RSA Session-ID:… Master-Key:…`` instead, because JSSE does not expose the random.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from kwire_inspect.capture import Broken, Piece, largest
from kwire_inspect.options import OptionError
from kwire_inspect.storage.places import regular
from kwire_inspect.tls.connection import APPLICATION, HANDSHAKE, MASTER, TlsConnection

LABELS = frozenset({MASTER, *HANDSHAKE, *APPLICATION})
MAX_BYTES = 64 << 20
"""Maximum total size of all key logs in bytes, which is enough for about 100,000 connections."""
CHUNK = 1 << 20
_LINE = re.compile(rb"^([A-Z0-9_]+) ([0-9A-Fa-f]{64}) ((?:[0-9A-Fa-f]{2}){32,64})[ \t\r]*$", re.MULTILINE)
_SESSION = re.compile(
    rb"^RSA Session-ID:((?:[0-9A-Fa-f]{2}){1,32}) Master-Key:([0-9A-Fa-f]{96})[ \t\r]*$", re.MULTILINE
)
_NONE: Mapping[str, bytes] = MappingProxyType({})
HELLO = b"\x16\x03"
"""First bytes of a TLS connection."""
HELD = 32 << 20
"""Maximum total number of bytes held by all connections."""


class KeyLog:
    """Secrets by ClientHello random or session id, and by label. The secrets are never displayed.

    ``has_sessions`` is true if any secret is stored under a session id.
    """

    __slots__ = ("_room", "has_sessions", "secrets")

    def __init__(self) -> None:
        self.secrets: dict[bytes, dict[str, bytes]] = {}
        self.has_sessions = False
        self._room = MAX_BYTES

    def __len__(self) -> int:
        """Return the number of connections with secrets."""
        return len(self.secrets)

    def __repr__(self) -> str:
        return f"<KeyLog of {len(self)} connections>"

    def __reduce__(self) -> str:
        raise TypeError("secrets are not pickled")

    def add(self, text: bytes) -> None:
        """Add the secrets in the lines of a key log. Ignore other lines, and ignore ``text`` once all texts together
        exceed ``MAX_BYTES``.
        """
        self._room -= len(text)
        if self._room < 0:
            return
        for match in _SESSION.finditer(text):
            self.secrets[bytes.fromhex(match[1].decode())] = {MASTER: bytes.fromhex(match[2].decode())}
            self.has_sessions = True
        for match in _LINE.finditer(text):
            label, random, secret = (part.decode() for part in match.groups())
            if label in LABELS:
                self.secrets.setdefault(bytes.fromhex(random), {})[label] = bytes.fromhex(secret)

    def of(self, name: bytes) -> Mapping[str, bytes]:
        """Return a connection's secrets by label, or an empty mapping if its random or session id is unknown."""
        return self.secrets.get(name, _NONE)


class FollowedKeyLog(KeyLog):
    """A key log to which clients are still writing. ``refresh`` reads the new lines.

    If the key log exceeds :data:`MAX_BYTES`, the oldest secrets are dropped. If the file is replaced or truncated,
    the secrets that were already read are kept.
    """

    __slots__ = ("_at", "_file", "_older", "_path", "_rest")

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self._file = 0  # inode number
        self._at = 0
        self._rest = b""
        self._older: dict[bytes, dict[str, bytes]] = {}

    def refresh(self) -> None:
        """Read new complete lines. Ignore a file that does not exist or cannot be read."""
        with suppress(OSError):
            found = Path(self._path).stat()
            if found.st_ino != self._file or found.st_size < self._at:
                self._file, self._rest = found.st_ino, b""
                self._at = max(found.st_size - MAX_BYTES, 0)
            if found.st_size == self._at:
                return
            with regular(self._path).open("rb") as file:
                file.seek(self._at)
                while text := file.read(CHUNK):
                    self._at += len(text)
                    whole, _, self._rest = (self._rest + text).rpartition(b"\n")
                    self._rest = self._rest[-CHUNK:]
                    self.add(whole)

    def add(self, text: bytes) -> None:
        """Add the secrets in complete lines."""
        if self._room < MAX_BYTES // 2:
            self._older, self.secrets, self._room = self.secrets, {}, MAX_BYTES
        super().add(text)

    def of(self, name: bytes) -> Mapping[str, bytes]:
        """Return a connection's secrets by label, or an empty mapping if its random or session id is unknown."""
        newer, older = super().of(name), self._older.get(name, _NONE)
        return {**older, **newer} if newer and older else newer or older


@cache
def _followed(path: str) -> FollowedKeyLog:
    return FollowedKeyLog(path)


def followed_key_log(path: str) -> KeyLog:
    """Return the key log with its newest lines. The key log is cached in this process, so each call reads only new
    lines.
    """
    keys = _followed(path)
    keys.refresh()
    return keys


def growing_key_log(path: str | None) -> str:
    """Return the absolute path of a key log that may still be empty, or an empty string if ``path`` is ``None`` or
    empty.

    Raises :class:`OptionError` if the key log cannot be read, or if ``cryptography`` is not installed.
    """
    if not path:
        return ""
    _check_library()
    try:
        with regular(path).open("rb"):
            pass
    except OSError as error:
        hint = " (create it if no client has written it yet)" if isinstance(error, FileNotFoundError) else ""
        raise OptionError(f"the key log {path} cannot be read: {error.strerror or error}{hint}") from None
    return str(Path(path).absolute())


def checked_key_log(path: str | None) -> str:
    """Return the absolute path of a key log, or an empty string if ``path`` is ``None`` or empty.

    Raises :class:`~kwire_inspect.options.OptionError` if the key log contains no secrets or cannot be read, or if
    ``cryptography`` is not installed.
    """
    if not path:
        return ""
    _check_library()
    read_key_log(path)
    return str(Path(path).absolute())


def _check_library() -> None:
    if find_spec("cryptography") is None:
        raise OptionError("to decrypt with a key log, install cryptography: pip install 'kwire[tls]'")


def read_key_log(path: str) -> KeyLog:
    """Return the secrets in a key log.

    Raises :class:`~kwire_inspect.options.OptionError` if the key log contains no secrets or cannot be read.
    """
    keys = KeyLog()
    try:
        with regular(path).open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise OptionError(f"the key log {path} cannot be read: {error.strerror or error}") from None
    if len(text) > MAX_BYTES:
        raise OptionError(
            f"the key log {path} is larger than {MAX_BYTES >> 20} MB: remove the secrets of other connections"
        )
    keys.add(text)
    if not len(keys):
        raise OptionError(f"the key log {path} has no secrets: expected lines with a label, a random and a secret")
    return keys


def decrypted(pieces: Iterable[Piece | Broken], keys: KeyLog) -> Iterator[Piece | Broken]:
    """Yield the pieces, with TLS connections decrypted if their secrets are in ``keys``.

    Secrets may be added to ``keys`` during the iteration, but only before their connections begin. Connections
    without secrets, or whose beginning was not captured, are passed on unchanged. If the beginning of a TLS
    connection was captured but the connection is not decrypted, ``Connection.encryption`` contains the reason.
    """
    connections: dict[int, TlsConnection | None] = {}
    secrets, fed = keys.secrets, 0
    for piece in pieces:
        if not secrets or isinstance(piece, Broken):
            yield piece
            continue
        key = id(piece.connection)
        if key not in connections:
            connections[key] = begun(piece, keys)
        connection = connections[key]
        if connection is None:
            yield piece
        else:
            yield from connection.feed(piece)
            fed += len(piece.data)
            if fed > HELD // 2:
                fed = 0
                for largest_one in _largest(connections):
                    yield from largest_one.drop(piece)
        if piece.kind == "closed":
            del connections[key]


def begun(piece: Piece, keys: KeyLog, patience: float = 0.0) -> TlsConnection | None:
    """Return an object that decrypts the connection that begins with ``piece``, or ``None`` if the connection is not
    TLS.
    """
    if piece.kind == "data" and HELLO.startswith(piece.data[:2]):
        return TlsConnection(piece.connection, keys, patience)
    return None


def _largest(connections: dict[int, TlsConnection | None]) -> list[TlsConnection]:
    """Return the connections that hold the most bytes, or an empty list if the total is within the limit."""
    return largest({found: found.held for found in connections.values() if found is not None}, HELD)
