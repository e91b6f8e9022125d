"""Decrypts the connections among pieces of which a key log has the secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kwire_inspect.capture import Broken, Piece, largest
from kwire_inspect.tls.connection import TlsConnection
from kwire_inspect.tls.key_log import KeyLog

HANDSHAKE = b"\x16\x03"
"""How the first record of a connection begins."""
HELD = 32 << 20
"""Limit of the bytes that wait on all connections."""


def decrypted(pieces: Iterable[Piece | Broken], keys: KeyLog) -> Iterator[Piece | Broken]:
    """The pieces, for those of TLS connections of which ``keys`` has the secrets the pieces of what they carry.

    Secrets may be added to ``keys`` meanwhile, before those connections begin. Connections whose beginning is not
    there, and those without secrets, stay as they are; the latter say why in ``Connection.encryption``.
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
    """What decrypts a connection with this first piece; ``None`` if it is not the beginning of TLS."""
    if piece.kind == "data" and HANDSHAKE.startswith(piece.data[:2]):
        return TlsConnection(piece.connection, keys, patience)
    return None


def _largest(connections: dict[int, TlsConnection | None]) -> list[TlsConnection]:
    """The connections on which most waits, if too much does."""
    return largest({one: one.held for one in connections.values() if one is not None}, HELD)
