"""Converts the pieces of all connections to Arrow batches that contain only the selected rows and columns.

A projection determines which bodies must be decoded and which connections can be skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from kwire.connection.events import REQUEST_SIZE, FrameEvent
from kwire.errors import KwireError
from kwire.frames import MAX_DECODED
from kwire.message import too_many_values
from kwire_inspect.capture import Broken, Connection, Piece, largest
from kwire_inspect.connections import payload, request_context
from kwire_inspect.connections.connection import ConnectionRows, UnorientedConnection
from kwire_inspect.connections.error_codes import NONE, Outcome, Scan, outcome_of
from kwire_inspect.options import BrokenInputError
from kwire_inspect.rows import Condition, Projection, Row, may_pass
from kwire_inspect.schemas import EXCHANGES, FRAMES
from kwire_kafka import PROTOCOL

if TYPE_CHECKING:
    from kwire.connection import Event, RequestEvent, ResponseEvent
    from kwire.protocol import MessageRegistry
    from kwire_inspect.connections.request_context import RequestContext

Table = Literal["frames", "exchanges"]
Bodies = Literal["all", "codes"]
ALL: Bodies = "all"
CODES: Bodies = "codes"
"""Bodies to decode: all bodies, or only bodies that identify clients. With ``CODES``, all other bodies are scanned
for error codes.
"""
TABLES: dict[str, pa.Schema] = {"frames": FRAMES, "exchanges": EXCHANGES}
_IDENTITY = {"software_name", "software_version", "principal"}
_BODIES = {"kind", "outcome", "reason", "error_codes", "throttle_ms", "response_version"}
_SHOWN = {"frames": {"raw"}, "exchanges": {"request", "response"}}
_OF_CONNECTIONS = {
    "frames": ("connection", "client_host", "client_port", "server_host", "server_port"),
    "exchanges": ("connection", "server_host", "server_port"),
}
"""Columns with the same value in all rows of a connection. The client of an exchange is not included, because the
request in an Envelope has its own client.
"""
BATCH_ROWS = 4096
BATCH_BYTES = 8 << 20
TURN, TURN_BYTES = 128, 1 << 19
"""Number of pieces, and number of bytes, after which decoded pieces are converted to rows."""


class Budget(NamedTuple):
    """Memory limits in bytes.

    Frames larger than ``decoded`` are decoded only if they contain few values. ``held`` limits the memory that all
    connections of a task use while they wait for the rest of a frame or for a response.
    """

    decoded: int = MAX_DECODED
    held: int = 32 << 20


BUDGET = Budget()
"""Default limits."""


class ConnectionProjection(Projection):
    """Selects columns and rows of FRAMES or EXCHANGES. Columns that are slow to compute are null unless ``schema`` or
    ``conditions`` use them.

    ``errors`` and ``shown`` say whether columns of error codes and columns of frame bytes are used. ``bodies``
    contains the names of the APIs whose bodies must be decoded, or is ``True`` for all APIs. If ``scans`` is true,
    responses of other APIs are scanned for error codes.
    """

    __slots__ = ("_scanners", "bodies", "budget", "errors", "scans", "shown", "table")

    def __init__(
        self,
        table: Table = "frames",
        schema: pa.Schema | None = None,
        conditions: Sequence[Condition] = (),
        budget: Budget = BUDGET,
        protocol: MessageRegistry = PROTOCOL,
        bodies: Bodies = ALL,
    ) -> None:
        super().__init__(table, schema, conditions, protocol)
        self.budget = budget
        self._scanners: dict[int, Scan] = {}  # by API key and version
        self.table: Table = table
        self.errors = bool(self.columns & {"error_codes", "throttle_ms"})
        self.shown = bool(self.columns & _SHOWN[table])
        self.scans = bodies == CODES and table == "exchanges" and not self.shown
        if self.scans:
            self.bodies: frozenset[str] | bool = request_context.MESSAGES | {"Envelope"}
        else:
            self.bodies = _bodies(self.columns, table, conditions, self.shown)

    def undecoded(self, event: RequestEvent | ResponseEvent, context: RequestContext) -> str | None:
        """Return the reason why the body of a frame larger than ``budget.decoded`` was not decoded.

        Return ``None`` if the body was decoded or did not have to be decoded.
        """
        if event.message is not None or context.unknown:
            return None
        if self.bodies is not True and event.name not in (self.bodies or ()):
            return None
        return too_many_values(event.data)

    def outcome(self, api_key: int, version: int, data: bytes, at: int) -> Outcome:
        """Return the error codes and throttle time of a response whose body begins at ``at``, or ``NONE`` if it
        cannot be read.
        """
        key = api_key << 16 | version
        scan = self._scanners.get(key)
        if scan is None:
            scan = self._scanners[key] = outcome_of(self.protocol, api_key, version)
        try:
            return scan(data, at)
        except (KwireError, IndexError, ValueError):
            return NONE

    def broken(self, source: str, position: int, reason: str, unread: int, packets: int) -> list[Row]:
        """Return a list with the row for a problem of a file, or an empty list if the conditions reject the row.

        ``unread`` is the number of unread bytes, and ``packets`` is the number of unread packets.
        """
        more = {"unread": unread or None, "packets": packets or None}
        if self.table == "frames":
            more = {"size": unread or None}
        return self.rows([self.layout.corrupt(source, position, reason, **more)])

    def takes(self, peers: Mapping[str, Any]) -> bool:
        """Return whether rows of a connection may pass the conditions. ``peers`` maps column names to the values of
        the connection.
        """
        fixed = _OF_CONNECTIONS[self.table]
        return may_pass(self.conditions, {column: value for column, value in peers.items() if column in fixed})


def _bodies(
    columns: Collection[str], table: Table, conditions: Sequence[Condition], show: bool
) -> frozenset[str] | bool:
    """Return the names of the APIs whose bodies must be decoded, or ``True`` for all APIs."""
    some: set[str] = set()
    if _IDENTITY.intersection(columns):
        some |= request_context.APIS
    if table == "exchanges":
        some.add("Envelope")
    if show:
        some |= payload.APIS
    if not _BODIES.intersection(columns):
        return frozenset(some)
    for condition in conditions:
        if condition.column == "api" and condition.test in ("=", "in") and not condition.negated:
            values = [condition.value] if condition.test == "=" else condition.value
            return frozenset(some.union(values))
    return True


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
    """Yield batches of the rows of all connections, with the columns of ``schema`` or, by default, of ``table``.

    Only rows that pass ``conditions`` are returned. A broken file yields a row with a ``problem``, or raises
    ``BrokenInputError`` if ``failfast`` is true. A batch contains 4,096 rows or slightly more. A batch that covers
    about 8 MB of the capture may contain fewer rows, because client ids may be long. If ``bodies`` is ``codes``, only
    bodies that identify clients are decoded, and other responses are scanned for the error codes of exchanges.
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
        size, fed = size + fed, 0
        if len(rows) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield projection.batch(rows)
            rows, size = [], 0
    rows += connections.rows()
    if rows:
        yield projection.batch(rows)


class Connections:
    """All open connections. A connection that yields no rows costs almost nothing.

    Decoded pieces are kept until ``rows`` converts them. Decoding several pieces before converting them takes a third
    less time than converting each piece at once, because a core's caches cannot hold the code of both steps.
    """

    def __init__(self, projection: ConnectionProjection) -> None:
        self.decoded: list[tuple[AnyConnection, list[Event], Piece]] = []
        self._projection = projection
        self._open: dict[int, AnyConnection] = {}  # by id(), because hashing is slow
        self._fed = 0  # bytes fed since the last check of the held memory

    def feed(self, piece: Piece) -> int:
        """Decode a piece, and return its approximate memory use in bytes, excluding decoded messages."""
        connection = self._open.get(id(piece.connection))
        if connection is None:
            connection = self._begin(piece.connection)
        if isinstance(connection, UnorientedConnection):
            return self._try(connection, piece)
        events = connection.decode(piece)
        return self._add(connection, events, piece) if events or piece.kind == "closed" else len(piece.data)

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
        """Free the memory of the largest connections if all connections together hold too much.

        Return rows for the dropped data, located at ``piece``. ``fed`` is the approximate number of bytes by which
        the held memory may have grown since the last call.
        """
        budget = self._projection.budget.held
        self._fed += fed
        if self._fed < budget // 2:
            return []
        self._fed = 0
        reason = f"dropped because connections held more than {budget} bytes: see the option maxHeld"
        sizes = {wanted: wanted.held for wanted in self._open.values() if not isinstance(wanted, Unwanted)}
        for wanted in sizes:
            if isinstance(wanted, ConnectionRows):
                wanted.forget()
        rows: list[Row] = []
        for connection in largest(sizes, budget):
            rows += connection.rows(connection.drop(piece.time, reason), replace(piece, kind="gap"))
        return rows

    def rows(self) -> list[Row]:
        """Return the rows of all pieces decoded since the last call, in order."""
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
        """Feed a piece to a connection whose client is unknown. Return the approximate memory use in bytes, as
        ``feed`` does.
        """
        if (rows := connection.add(piece)) is None:
            return self._add(connection, [], piece)
        decided = self._open[id(piece.connection)] = self._wanted(rows)
        return sum(self._add(decided, events, at) for events, at in connection.decoded(decided.decode, piece))


def _begun_before(first: Event) -> int:
    """Return the size in bytes of the first frame that a piece completes, which may be much larger than the piece."""
    return len(first.data) if isinstance(first, FrameEvent) else 0


@dataclass(slots=True)
class Unwanted:
    """A connection that yields no rows. The reference to ``connection`` keeps its ``id()`` unique."""

    connection: Connection

    def decode(self, piece: Piece) -> list[Event]:
        return []

    def rows(self, events: list[Event], piece: Piece) -> list[Row]:
        return []


AnyConnection = ConnectionRows | UnorientedConnection | Unwanted
