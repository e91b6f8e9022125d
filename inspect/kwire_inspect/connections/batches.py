"""Pieces of all connections to Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from kwire.connection.events import REQUEST_SIZE, FrameEvent
from kwire_inspect.capture import Broken, Connection, Piece, largest
from kwire_inspect.connections.connection import ConnectionRows
from kwire_inspect.connections.direction_detection import UnorientedConnection
from kwire_inspect.connections.projection import ALL, BUDGET, Bodies, Budget, ConnectionProjection, Table
from kwire_inspect.options import BrokenInputError
from kwire_inspect.projection import Condition
from kwire_inspect.row_layout import Row
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire.protocol import MessageRegistry

BATCH_ROWS = 4096
BATCH_BYTES = 8 << 20

TURN, TURN_BYTES = 128, 1 << 19
"""Number of pieces, or bytes, that are decoded before rows are made of them."""


def frame_batches(
    pieces: Iterable[Piece | Broken],
    schema: pa.Schema | None = None,
    *,
    table: Table = "frames",
    conditions: Sequence[Condition] = (),
    failfast: bool = False,
    budget: Budget = BUDGET,
    protocol: MessageRegistry = PROTOCOL,
    bodies: Bodies = ALL,
) -> Iterator[pa.RecordBatch]:
    """The rows of all connections, with the columns of ``schema``: by default all of the ``table``.

    Rows have to pass ``conditions``. A broken file yields a ``_corrupt`` row or, with ``failfast``, raises
    :class:`BrokenInputError`. A batch has 4,096 rows or a few more. With bytes of frames in it, it is of
    about 8 MB of the capture. With ``bodies`` ``codes``, error codes of exchanges are looked up in the bytes of
    responses, and no other bodies are read than those that identify clients.
    """
    projection = ConnectionProjection(table, schema, conditions, budget, protocol, bodies)
    connections = Connections(projection)
    decoded = connections.decoded
    rows: list[Row] = []
    size = fed = 0
    for piece in pieces:
        if isinstance(piece, Broken):
            if failfast:
                raise BrokenInputError(piece.source, piece.position, piece.reason)
            rows += connections.rows()
            rows += projection.broken(piece.source, piece.position, piece.reason, piece.unread, piece.packets)
            continue
        fed += connections.feed(piece)
        if len(decoded) < TURN and fed < TURN_BYTES:
            continue
        rows += connections.rows()
        rows += connections.drop(piece, fed)
        size, fed = size + (fed if projection.shown else 0), 0
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield projection.batch(rows)
            rows, size = [], 0
    rows += connections.rows()
    if rows:
        yield projection.batch(rows)


class Connections:
    """All connections that are open. Connections that cannot have a requested row cost next to nothing.

    Decoded pieces are kept until they become ``rows``: handling several pieces in one step and then the other takes a
    third less time than alternating, because a core's caches cannot hold the code of both steps.
    """

    def __init__(self, projection: ConnectionProjection) -> None:
        self.decoded: list[tuple[AnyConnection, list[Event], Piece]] = []
        self._projection = projection
        self._open: dict[int, AnyConnection] = {}  # by identity, because hashing is slow
        self._fed = 0  # since the last look at what is held

    def feed(self, piece: Piece) -> int:
        """Decode a piece; return about how many bytes of memory the work on it takes, but for decoded messages."""
        connection = self._open.get(id(piece.connection))
        if connection is None:
            connection = self._begin(piece.connection)
        if type(connection) is UnorientedConnection:
            return self._try(connection, piece)
        return self._add(connection, connection.decode(piece), piece)

    def _add(self, connection: AnyConnection, events: list[Event], piece: Piece) -> int:
        size = len(piece.data)
        if events:
            self.decoded.append((connection, events, piece))
            size += size + REQUEST_SIZE * len(events) + _begun_before(events[0])
        if piece.kind == "closed":
            if not events:
                self.decoded.append((connection, events, piece))
            del self._open[id(piece.connection)]
        return size

    def drop(self, piece: Piece, fed: int) -> list[Row]:
        """Rows, located at ``piece``, of what the largest connections no longer hold, if all hold too much.

        ``fed`` is about how much more they can hold than at the last call.
        """
        budget = self._projection.budget.held
        self._fed += fed
        if self._fed < budget // 2:
            return []
        self._fed = 0
        reason = f"not kept, because more than {budget} bytes were waiting: see the option maxHeld"
        sizes = {wanted: wanted.held for wanted in self._open.values() if not isinstance(wanted, Unwanted)}
        for wanted in sizes:
            if isinstance(wanted, ConnectionRows):
                wanted.forget()
        rows: list[Row] = []
        for connection in largest(sizes, budget):
            rows += connection.rows(connection.drop(piece.time, reason), replace(piece, kind="gap"))
        return rows

    def rows(self) -> list[Row]:
        """The rows of all pieces since the last call, in their order."""
        rows: list[Row] = []
        for connection, events, piece in self.decoded:
            rows += connection.rows(events, piece)
        self.decoded.clear()
        return rows

    def _begin(self, connection: Connection) -> AnyConnection:
        if connection.guess is not None:
            begun: AnyConnection = UnorientedConnection(connection, self._projection)
        else:
            begun = self._wanted(ConnectionRows(connection, self._projection))
        self._open[id(connection)] = begun
        return begun

    def _wanted(self, rows: ConnectionRows) -> ConnectionRows | Unwanted:
        return rows if self._projection.takes(rows.peers) else Unwanted(rows.connection)

    def _try(self, connection: UnorientedConnection, piece: Piece) -> int:
        """Like ``feed``, while the client of the connection is unknown."""
        if (rows := connection.add(piece)) is None:
            return self._add(connection, [], piece)
        decided = self._open[id(piece.connection)] = self._wanted(rows)
        return sum(self._add(decided, events, at) for events, at in connection.decoded(decided.decode, piece))


def _begun_before(first: Event) -> int:
    """Bytes of the first frame of a piece: it may be much larger than the piece, and so is its message."""
    return len(first.data) if isinstance(first, FrameEvent) else 0


@dataclass(slots=True)
class Unwanted:
    """A connection without any row that is needed. Keeping the connection keeps its identity unique."""

    connection: Connection

    def decode(self, piece: Piece) -> list[Event]:
        return []

    def rows(self, events: list[Event], piece: Piece) -> list[Row]:
        return []


AnyConnection = ConnectionRows | UnorientedConnection | Unwanted
