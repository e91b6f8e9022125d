"""The output of a capture: pieces of TCP connections, and problems of its files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kwire.connection.events import Direction
from kwire.native import close_classes, i64, mypyc_attr
from kwire_inspect.capture.servers import Guess

PieceKind = Literal["data", "gap", "closed"]


@dataclass(frozen=True, slots=True)
class Peer:
    """One end of a connection."""

    host: str
    port: int

    def __reduce__(self) -> tuple[object, ...]:
        return Peer, (self.host, self.port)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection; ``started`` is when it was first seen, in seconds since the epoch.

    ``complete`` is true if its handshake was captured: then nothing is missing at the beginning. ``guess`` is set if
    it is uncertain which side is the client: neither a handshake nor given ports say so. ``encryption`` says why a
    TLS connection was not decrypted although there are secrets.
    """

    client: Peer
    server: Peer
    started: float
    complete: bool
    guess: Guess | None = field(default=None, compare=False)
    encryption: str = field(default="", compare=False)

    def __reduce__(self) -> tuple[object, ...]:
        return Connection, (self.client, self.server, self.started, self.complete, self.guess, self.encryption)

    @property
    def id(self) -> str:
        """Client, server and time first seen, such as ``10.0.0.1:50412-10.0.0.9:9092@1700000000.123456``."""
        return f"{self.client}-{self.server}@{self.started:.6f}"


@mypyc_attr(acyclic=True)
@dataclass(slots=True, eq=False, init=False)
class Piece:
    """The next event of a connection.

    ======  =========================================================================================================
    data    ``data`` are the next bytes sent in ``direction``; ``size`` is their number
    gap     the capture lacks ``size`` bytes sent in ``direction``; 0 if their number is unknown
    closed  the connection, or the capture, ended; nothing follows for this connection. ``size`` is 1 if ``direction``
            was the first to close it, by a FIN or a reset; 0 if neither did
    ======  =========================================================================================================

    ``source`` and ``position`` locate its packet: path of the file, and byte offset in the uncompressed file.
    ``time`` is in seconds since the epoch and never decreases on a connection.
    """

    connection: Connection
    kind: PieceKind
    direction: Direction
    data: bytes
    size: i64
    time: float
    source: str
    position: i64

    def __init__(
        self,
        connection: Connection,
        kind: PieceKind,
        direction: Direction,
        data: bytes,
        size: i64,
        time: float,
        source: str,
        position: i64,
    ) -> None:
        self.connection = connection
        self.kind = kind
        self.direction = direction
        self.data = data
        self.size = size
        self.time = time
        self.source = source
        self.position = position

    def __reduce__(self) -> tuple[object, ...]:
        what = self.connection, self.kind, self.direction, self.data, self.size
        return Piece, (*what, self.time, self.source, self.position)

    def __repr__(self) -> str:
        return f"<{self.kind} of {self.size} from the {self.direction} of {self.connection.id} at {self.position}>"


@dataclass(frozen=True, slots=True)
class Broken:
    """A problem of a capture file, reported once for each cause.

    Of packets that are not read, ``packets`` is the number, and ``unread`` that of the bytes which may be traffic.
    """

    source: str
    position: int
    reason: str
    unread: int = 0
    packets: int = 0


close_classes()
