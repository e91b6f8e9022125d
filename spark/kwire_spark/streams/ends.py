"""The state that a stream keeps between batches for two endpoints: their TCP state and their connection."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any, Self

from kwire import __version__
from kwire.connection import CLIENT
from kwire.errors import KwireError
from kwire_inspect.capture import Connection, Piece, TcpConnection
from kwire_inspect.capture.packets import Packet, Servers
from kwire_inspect.capture.tcp import GRACE
from kwire_inspect.connections.batches import ConnectionProjection
from kwire_inspect.connections.connection import ConnectionRows, UnorientedConnection
from kwire_inspect.rows import Row
from kwire_inspect.tls import KeyLog, TlsConnection, begun

NO_KEYS = KeyLog()
"""Empty key log, which decrypts no connections."""

OTHERS = frozenset({("collections", "deque"), ("re", "_compile")})
"""Names outside kwire that the state of a connection refers to."""

STATE = 4 << 20
"""Default maximum number of bytes of incomplete data that a connection's state keeps between batches."""

PATIENCE = 60.0
"""Number of seconds that a TLS connection waits for its secrets to appear in the key log."""

STORED_BY = f"kwire {__version__}\n".encode()
"""Prefix of every stored state. The prefix contains the version of kwire, because other versions may have different
classes.
"""

PRIVATE = "not kept between batches because they may be secret"


class OtherVersionError(KwireError):
    """Another version of kwire stored the state."""


class Ends:
    """Converts the packets between two endpoints to rows.

    ``key`` is the ``Packet.key`` of the packets from one of the endpoints. ``ports`` are the server ports, if known.
    ``keys`` contains TLS secrets.
    """

    def __init__(
        self, key: bytes, ports: Collection[int], projection: ConnectionProjection, keys: KeyLog = NO_KEYS
    ) -> None:
        self._tcp = TcpConnection(bytes(key), Servers(ports))
        self._keys = keys
        self._captured: Connection | None = None  # the connection before decryption
        self._tls: TlsConnection | None = None
        self._open: ConnectionRows | UnorientedConnection | None = None
        self._projection = projection
        self._time = 0.0
        self._place = "", 0

    @classmethod
    def restored(cls, stored: bytes, projection: ConnectionProjection, keys: KeyLog = NO_KEYS) -> Self:
        """Return the state that ``stored`` serialized. ``projection`` must equal the projection of the job that
        stored the state. The keys of TLS connections are derived from ``keys`` again.

        Raises :class:`OtherVersionError`, or ``pickle.UnpicklingError`` for bytes that refer to anything except
        classes of kwire and a few known objects.
        """
        if not stored.startswith(STORED_BY):
            raise OtherVersionError("this state was stored by another version of kwire")
        ends: Self = _Unpickler(stored[len(STORED_BY) :], projection, keys).load()
        return ends

    def stored(self) -> bytes:
        """Return the state as bytes, without the projection, which is large and the same for all endpoints. TLS
        secrets, and everything derived from them, are not included either."""
        file = BytesIO()
        file.write(STORED_BY)
        _Pickler(file, self._projection, self._keys).dump(self)
        return file.getvalue()

    def add(self, packet: Packet) -> Iterator[Row]:
        """Yield the rows that a packet completes."""
        self._time = max(self._time, packet.time)
        self._place = packet.source, packet.position
        yield from self._rows(self._tcp.add(packet))

    def trim(self, most: int) -> Iterator[Row]:
        """Drop incomplete data if it exceeds ``most`` bytes. Yield rows that report the loss."""
        if self._open is not None and self._open.held > most:
            yield from self._drop(f"dropped because the connection held more than {most} bytes")

    def pause(self, most: int = STATE) -> Iterator[Row]:
        """Drop data that must not be stored between batches, and incomplete data beyond ``most`` bytes. Yield rows
        that report the loss, and rows for data that had not been read yet.

        Out-of-order packets are delivered first, because they may contain secrets.
        """
        yield from self._rows(self._tcp.give_up())
        if self._captured is not None and self._tls is not None:
            yield from self._plain_rows(self._tls.retry(self._gap(self._captured)))
        if isinstance(self._open, UnorientedConnection):
            yield from self._open.hurry(
                Piece(self._open.connection, "data", CLIENT, b"", 0, self._time, *self._place)
            )
        yield from self._drop(PRIVATE, secrets=True)
        yield from self.trim(most)
        if isinstance(self._open, ConnectionRows):
            self._open.forget()
        if self._open is not None and self._projection.table == "exchanges":  # events in FRAMES report unread data
            yield from self._open.unread(self._gap(self._open.connection))

    def _drop(self, reason: str, *, secrets: bool = False) -> Iterator[Row]:
        if self._open is not None:
            events = self._open.drop(self._time, reason, secrets=secrets)
            yield from self._open.rows(events, self._gap(self._open.connection))

    def _gap(self, connection: Connection) -> Piece:
        """Return a gap at the position of the last packet."""
        return Piece(connection, "gap", CLIENT, b"", 0, self._time, *self._place)

    def close(self) -> Iterator[Row]:
        """Yield the remaining rows."""
        yield from self._rows(self._tcp.close())

    def closes_ms(self, idle_ms: int) -> int:
        """Return when to close the connection if no more packets arrive, in milliseconds since the epoch."""
        reset = self._tcp.reset
        return int(self._time * 1000) + idle_ms if reset is None else int((reset + GRACE) * 1000)

    def _rows(self, pieces: Sequence[Piece]) -> Iterator[Row]:
        return self._plain_rows(plain for piece in pieces for plain in self._decrypted(piece))

    def _decrypted(self, piece: Piece) -> Iterator[Piece]:
        """Yield the plaintext of a piece of a TLS connection if its secrets are known. Otherwise, yield the piece
        unchanged.
        """
        if self._keys is not NO_KEYS and piece.connection is not self._captured:
            self._captured, self._tls = piece.connection, begun(piece, self._keys, PATIENCE)
        if self._tls is None:
            yield piece
            return
        yield from self._tls.feed(piece)
        if piece.kind == "closed":
            self._tls = None

    def _plain_rows(self, pieces: Iterable[Piece]) -> Iterator[Row]:
        for piece in pieces:
            if self._open is None or self._open.connection is not piece.connection:
                rows = ConnectionRows if piece.connection.guess is None else UnorientedConnection
                self._open = rows(piece.connection, self._projection)
            yield from self._open.feed(piece)
            yield from self.trim(self._projection.budget.held)
            if piece.kind == "closed":
                self._open = None


def _outside(projection: ConnectionProjection, keys: KeyLog) -> dict[str, object]:
    """Return the objects that the pickled state refers to by name. These objects are the same for all endpoints, or
    must not be stored.
    """
    return {"projection": projection, "protocol": projection.protocol, "keys": keys}


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, projection: ConnectionProjection, keys: KeyLog) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._names = {id(given): name for name, given in _outside(projection, keys).items()}

    def persistent_id(self, given: Any) -> str | None:
        return self._names.get(id(given))


class _Unpickler(pickle.Unpickler):
    def __init__(self, stored: bytes, projection: ConnectionProjection, keys: KeyLog) -> None:
        super().__init__(BytesIO(stored))
        self._outside = _outside(projection, keys)
        self._packages = "kwire", "kwire_inspect", "kwire_spark", projection.protocol.package

    def persistent_load(self, name: str) -> object:
        return self._outside[name]

    def find_class(self, module: str, name: str) -> Any:
        """Return a class that is defined in a known package. Checkpoints must not be able to refer to functions or
        other modules, because other users may be able to write them."""
        if (module, name) in OTHERS:
            return super().find_class(module, name)
        if any(f"{module}.".startswith(f"{package}.") for package in self._packages) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in the state of a connection")
