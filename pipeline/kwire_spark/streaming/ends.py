"""The state a stream keeps for two endpoints between batches: that of TCP and that of their connection."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator, Sequence
from io import BytesIO
from typing import Any, Self

from kwire.connection import CLIENT
from kwire_spark.capture import Piece, TcpConnection
from kwire_spark.capture.packets import Packet
from kwire_spark.capture.servers import Servers
from kwire_spark.capture.tcp import GRACE
from kwire_spark.frames.connection import ConnectionRows
from kwire_spark.frames.projection import ConnectionProjection
from kwire_spark.frames.sides import Undecided
from kwire_spark.rows import Row

OTHERS = frozenset({("collections", "deque"), ("re", "_compile")})
"""Where the state of a connection refers to anything beside classes of kwire."""

STATE = 4 << 20
"""Default limit of the bytes that wait for more in the state of a connection between batches."""

PRIVATE = "not kept between batches: they may be secret"


class Ends:
    """Converts the packets between two endpoints to rows; ``key`` is that of either side's packets,
    ``ports`` are those of servers, if known."""

    def __init__(self, key: bytes, ports: Collection[int], projection: ConnectionProjection) -> None:
        self._tcp = TcpConnection(bytes(key), Servers(ports))
        self._open: ConnectionRows | Undecided | None = None
        self._projection = projection
        self._time = 0.0
        self._place = "", 0

    @classmethod
    def restored(cls, stored: bytes, projection: ConnectionProjection) -> Self:
        """What ``stored`` gave. ``projection`` must equal that of the job when the state was saved.

        Raises ``pickle.UnpicklingError`` for bytes that name anything but classes of kwire and a few others.
        """
        ends: Self = _Unpickler(stored, projection).load()
        return ends

    def stored(self) -> bytes:
        """The state as bytes, without the projection, which is large and the same for all endpoints."""
        file = BytesIO()
        _Pickler(file, self._projection).dump(self)
        return file.getvalue()

    def add(self, packet: Packet) -> Iterator[Row]:
        """The rows that a packet completes."""
        self._time = max(self._time, packet.time)
        self._place = packet.source, packet.position
        yield from self._rows(self._tcp.add(packet))

    def trim(self, most: int) -> Iterator[Row]:
        """Drop what waits for more if it takes over ``most`` bytes; the rows that say so."""
        if self._open is not None and self._open.held > most:
            yield from self._drop(f"not kept: more than {most} bytes of the connection were waiting")

    def pause(self, most: int = STATE) -> Iterator[Row]:
        """Drop what must not be stored between batches, and what waits beyond ``most``; the rows that say so, and
        what was not read up to now.

        Packets that wait for others are delivered, since they may be parts of anything.
        """
        yield from self._rows(self._tcp.give_up())
        if isinstance(self._open, Undecided):
            yield from self._open.hurry(
                Piece(self._open.connection, "data", CLIENT, b"", 0, self._time, *self._place)
            )
        yield from self._drop(PRIVATE, secrets=True)
        yield from self.trim(most)
        if isinstance(self._open, ConnectionRows):
            self._open.forget()
        if self._open is not None and self._projection.table == "exchanges":  # frames have rows for it
            yield from self._open.tell(self._gap(self._open))

    def _drop(self, reason: str, *, secrets: bool = False) -> Iterator[Row]:
        if self._open is not None:
            events = self._open.drop(self._time, reason, secrets=secrets)
            yield from self._open.rows(events, self._gap(self._open))

    def _gap(self, within: ConnectionRows | Undecided) -> Piece:
        """The place up to which packets were read."""
        return Piece(within.connection, "gap", CLIENT, b"", 0, self._time, *self._place)

    def close(self) -> Iterator[Row]:
        """The rows that remain."""
        yield from self._rows(self._tcp.close())

    def closes_ms(self, idle_ms: int) -> int:
        """When to close this if no more packets arrive, in milliseconds since the epoch."""
        reset = self._tcp.reset
        return int(self._time * 1000) + idle_ms if reset is None else int((reset + GRACE) * 1000)

    def _rows(self, pieces: Sequence[Piece]) -> Iterator[Row]:
        for piece in pieces:
            if self._open is None or self._open.connection is not piece.connection:
                rows = ConnectionRows if piece.connection.guess is None else Undecided
                self._open = rows(piece.connection, self._projection)
            yield from self._open.feed(piece)
            yield from self.trim(self._projection.budget.held)
            if piece.kind == "closed":
                self._open = None


class _Pickler(pickle.Pickler):
    def __init__(self, file: BytesIO, projection: ConnectionProjection) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._projection = projection

    def persistent_id(self, given: Any) -> str | None:
        return (
            "projection" if given is self._projection else "protocol" if given is self._projection.protocol else None
        )


class _Unpickler(pickle.Unpickler):
    def __init__(self, stored: bytes, projection: ConnectionProjection) -> None:
        super().__init__(BytesIO(stored))
        self._projection = projection
        self._packages = "kwire", "kwire_spark", projection.protocol.package

    def persistent_load(self, name: str) -> object:
        return {"projection": self._projection, "protocol": self._projection.protocol}[name]

    def find_class(self, module: str, name: str) -> Any:
        """A class by its own name: whoever can write to the checkpoint must not name functions of other modules."""
        if (module, name) in OTHERS:
            return super().find_class(module, name)
        if any(f"{module}.".startswith(f"{package}.") for package in self._packages) and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in the state of a connection")
