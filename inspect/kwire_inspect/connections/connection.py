"""Converts the pieces of one connection to rows, after determining which side is the client if necessary.

If neither a handshake nor a port that the user specified identifies the client, the bytes are decoded in strict mode
twice, with either side as the client. A complete request and a complete response that matches it are unlikely to be a
coincidence, so they identify the client. Kafka's usual ports and other connections of the same ends are used only to
support weaker evidence. A connection whose client remains unknown yields no requests, only one row with the number of
bytes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from kwire.connection import (
    ConnectionDecoder,
    NotKafka,
    RequestEvent,
    ResponseEvent,
    SaslToken,
    Skipped,
    Unanswered,
    Undecodable,
)
from kwire.connection.decoder import ENDED
from kwire.connection.detect import sniff_protocol
from kwire.connection.events import CLIENT, SERVER
from kwire.connection.framing import ApiCatalog
from kwire.native import mypyc_attr
from kwire.policy import STRICT
from kwire_inspect.capture import Piece
from kwire_inspect.connections.exchange_rows import ExchangeRows
from kwire_inspect.connections.frame_rows import FrameRows
from kwire_inspect.connections.request_context import APIS, Identity, peers
from kwire_inspect.reasons import CLOSED, LIKE_TLS, UNDECIDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kwire.connection import Event
    from kwire.connection.events import Direction
    from kwire.protocol import MessageRegistry
    from kwire_inspect.capture import Connection, Piece
    from kwire_inspect.connections.batches import ConnectionProjection
    from kwire_inspect.rows import Row

OPPOSITE: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}
NEVER_READ = f"{CLOSED} at an earlier request"
"""Reason why all requests in flight except the oldest were not answered, if the server closed the connection.

A broker reads the next request of a connection only after it has answered the previous request, so it can have
refused only the oldest request.
"""
WINDOW: Final = 1 << 18
"""Maximum number of bytes of a connection that wait until its client is known."""
FIRST: Final = 1 << 12
GROWTH: Final = 8
"""Number of bytes to collect before the first attempt to decode, and growth factor of this number per attempt."""
PIECE: Final = 256
"""Approximate memory use of a piece in bytes, excluding its data."""
MAX_UNDECIDED: Final = 64 << 20
"""Maximum number of bytes to decode while the client is unknown. All later bytes are counted, but not decoded."""
ENOUGH: Final = 3
"""Number of requests that identify the client if no request can be decoded in the opposite direction. A complete
exchange has the same weight as this number of requests.
"""
HOPELESS: Final = 32
"""Number of unreadable frames that rule out a side as the client if no frame is readable. If both sides are ruled
out, the client remains unknown.
"""
FOREIGN: Final = 1 << 62
"""Score of bytes that do not use Kafka's protocol, whichever side is the client."""
NOT_YET: Final = "it was not yet known which side is the broker"


@mypyc_attr(serializable=True)
class ConnectionRows:
    """Converts the pieces of one connection to rows of FRAMES or EXCHANGES, with the columns of a projection.

    The object is as large as the decoder's state, which consists of unfinished frames and requests in flight. The
    object can be pickled between any two pieces, and can therefore be the state of a streaming job. If ``swapped`` is
    true, ``connection.server`` is the client.
    """

    __slots__ = (
        "_decoder",
        "_identity",
        "_projection",
        "_table",
        "closed",
        "connection",
        "peers",
        "swapped",
    )

    def __init__(self, connection: Connection, projection: ConnectionProjection, *, swapped: bool = False) -> None:
        self.connection = connection
        client, server = connection.server, connection.client
        oriented = replace(connection, client=client, server=server) if swapped else connection
        self.peers = peers(oriented)
        """Columns that identify the two ends of the connection."""
        self.closed = False
        self._projection = projection
        self.swapped = swapped
        self._identity = Identity()
        table = FrameRows if projection.table == "frames" else ExchangeRows
        self._table: FrameRows | ExchangeRows = table(oriented, projection)
        self._decoder = ConnectionDecoder(
            projection.protocol,
            bodies=projection.bodies,
            start="beginning" if connection.complete else "unknown",
            max_in_flight_bytes=projection.budget.held,
            max_decoded=projection.budget.decoded,
            keep_requests=False,
        )

    @property
    def held(self) -> int:
        """Approximate memory use, in bytes, of incomplete frames and of requests that await a response."""
        return self._decoder.held + self._table.held

    def drop(self, time: float, reason: str, *, secrets: bool = False) -> list[Event]:
        """Free the held memory or, if ``secrets`` is true, only the memory that may contain secrets. Pass the
        returned events to ``rows``.
        """
        if self.closed:
            return []
        return (self._decoder.drop_secrets if secrets else self._decoder.drop)(time, reason)

    def unread(self, piece: Piece) -> list[Row]:
        """Return rows of EXCHANGES, located at ``piece``, for the bytes that were left unread since the last call."""
        rows: list[Row] = []
        if isinstance(self._table, ExchangeRows):
            self._table.report_unread(rows, piece.source, piece.position)
        return self._projection.rows(rows)

    def forget(self) -> None:
        """Free the memory of caches."""
        self._table.contexts.clear()

    def feed(self, piece: Piece) -> list[Row]:
        """Return the rows that a piece completes, or no rows for a piece after the end of the connection."""
        return [] if self.closed else self.rows(self.decode(piece), piece)

    def decode(self, piece: Piece) -> list[Event]:
        """Decode a piece, as the first half of ``feed``. Pass the returned events to ``rows``, in the order of the
        pieces.
        """
        direction = OPPOSITE[piece.direction] if self.swapped else piece.direction
        if piece.kind == "data":
            return self._decoder.feed(direction, piece.data, piece.time)
        if piece.kind == "gap":
            return self._decoder.gap(direction, piece.size, piece.time)
        self.closed = True
        if not piece.size:
            return self._decoder.close(piece.time, ENDED)
        events = self._decoder.close(piece.time, f"{ENDED}: the {direction} closed it")
        for event in [event for event in events if isinstance(event, Unanswered) and event.reason == CLOSED][1:]:
            event.reason = NEVER_READ
        return events

    def rows(self, events: list[Event], piece: Piece) -> list[Row]:
        """Return the rows of events, as the second half of ``feed``."""
        rows: list[Row] = []
        source, position = piece.source, piece.position
        identity, table = self._identity, self._table
        for event in events:
            if type(event) is RequestEvent:
                if identity.candidate or event.name in APIS:
                    identity.on_request(event)
                table.on_request(rows, event, identity.known, source, position)
            elif type(event) is ResponseEvent:
                if identity.candidate:
                    identity.on_response(event)
                table.on_response(rows, event, source, position)
            elif isinstance(event, Undecodable) and event.direction == CLIENT:
                table.on_request(rows, event, identity.known, source, position)
            elif isinstance(event, Undecodable) and event.request is not None:
                table.on_response(rows, event, source, position)
            else:
                if isinstance(event, SaslToken):
                    identity.on_token(event)
                table.on_event(rows, event, source, position)
        if piece.kind == "closed":
            table.on_end(rows, source, position)
        return self._projection.rows(rows)


def score(
    pieces: Iterable[Piece], size: int, protocol: MessageRegistry, *, swapped: bool, enough: int = FOREIGN
) -> int:
    """Return a score for the evidence that the client and server are as captured, or swapped if ``swapped`` is true.

    The pieces contain at most ``size`` bytes. Scoring stops once the score reaches ``enough``.
    """
    decoder = ConnectionDecoder(protocol, policy=STRICT, bodies=False, max_found=size, max_in_flight_bytes=WINDOW)
    catalog = ApiCatalog(protocol, WINDOW)
    requests: dict[int, bool | None] = {}  # whether the request at a position can be read
    total = undecodable = 0
    for (kind, sender), run in groupby(pieces, key=attrgetter("kind", "direction")):
        direction = OPPOSITE[sender] if swapped else sender
        if kind == "data":
            events = decoder.feed(direction, b"".join([piece.data for piece in run]), 0.0)
        elif kind == "gap":
            events = [event for piece in run for event in decoder.gap(direction, piece.size, 0.0)]
        else:
            events = decoder.close(0.0)
        for event in events:
            if isinstance(event, RequestEvent):
                read = requests[event.position] = catalog.reads_body(event)
                total += read is True
                undecodable += read is False
            elif isinstance(event, ResponseEvent) and isinstance(event.request, RequestEvent):
                request_read, read = requests[event.request.position], catalog.reads_body(event)
                if request_read is not False and read is not False:
                    total += ENOUGH if request_read and read else 1
                undecodable += read is False
            elif isinstance(event, NotKafka):
                return FOREIGN
            elif isinstance(event, Undecodable):
                undecodable += 1
            if total >= enough:
                return total
        if not total and undecodable >= HOPELESS:
            return 0
    return total


@mypyc_attr(serializable=True)
class UnorientedConnection:
    """Holds the pieces of a connection until its client is known. ``decoded`` then yields the events of these pieces.

    Like ``ConnectionRows``, the object can be pickled between any two pieces.
    """

    __slots__ = (
        *(
            "_encrypted",
            "_idle",
            "_next",
            "_passed",
            "_pieces",
            "_projection",
            "_scores",
            "_size",
            "_reported",
            "_vain",
        ),
        *("connection", "decided"),
    )

    def __init__(self, connection: Connection, projection: ConnectionProjection) -> None:
        self.connection = connection
        self.decided: ConnectionRows | None = None
        self._projection = projection
        self._pieces: list[Piece] = []
        self._size = 0  # bytes of the waiting pieces
        self._next = FIRST  # number of waiting bytes at which to decode next
        self._passed = dict.fromkeys(OPPOSITE, 0)  # bytes that will not be decoded, by their sender in the capture
        self._reported = 0  # passed bytes that already have a row
        self._scores = 0, 0  # scores of the passed bytes: as captured, and swapped
        self._encrypted = 0  # pieces that begin like a TLS record
        self._vain = 0  # decoded bytes that contained no evidence
        self._idle = 0  # bytes to skip before the next attempt to decode

    @property
    def held(self) -> int:
        """Approximate memory use of the waiting data, in bytes."""
        return self._size if self.decided is None else self.decided.held

    def drop(self, time: float, reason: str, *, secrets: bool = False) -> list[Event]:
        """Free the held memory, as ``ConnectionRows.drop`` does."""
        if self.decided is not None:
            return self.decided.drop(time, reason, secrets=secrets)
        self._forget()
        return []

    def feed(self, piece: Piece) -> list[Row]:
        """Return the rows that a piece completes."""
        if self.decided is not None:
            return self.decided.feed(piece)
        decided = self.add(piece)
        if decided is None:
            return self.rows([], piece)
        return [row for events, at in self.decoded(decided.decode, piece) for row in decided.rows(events, at)]

    def hurry(self, piece: Piece) -> list[Row]:
        """Add a piece. If the waiting pieces identify the client, return rows. Otherwise, keep only the scores of the
        pieces.
        """
        self._next = 0
        return self.feed(piece)

    def add(self, piece: Piece) -> ConnectionRows | None:
        """Add a piece. If the client is now known, return the ``ConnectionRows`` whose ``decode`` must be passed to
        ``decoded``.

        If the bytes cannot be decoded with either side as the client, attempts become less frequent. After each
        attempt, the number of bytes to skip is the number of bytes tried so far.
        """
        self._encrypted += bool(piece.data) and sniff_protocol(piece.data[:5]) == "TLS"
        ended = piece.kind == "closed"
        if self._idle > 0 and not ended and self._next:
            self._idle -= PIECE + len(piece.data)
            self._passed[piece.direction] += piece.size
            return None
        self._pieces.append(piece)
        self._size += PIECE + len(piece.data)
        if not ended and self._size < self._next:
            return None
        scores = self._scores
        if self._reported + sum(self._passed.values()) < MAX_UNDECIDED:
            scores = self._scored()
        swapped = self._swapped(*scores, ended=ended)
        if swapped is not None:
            self.decided = ConnectionRows(self.connection, self._projection, swapped=swapped)
        elif self._size >= WINDOW or not self._next:
            if self._size >= WINDOW:
                self._idle = self._vain = self._vain + self._size
            self._scores = scores
            self._forget()
        else:
            self._next = min(GROWTH * self._size, WINDOW)
        return self.decided

    def decoded(self, decode: Callable[[Piece], list[Event]], piece: Piece) -> Iterator[tuple[list[Event], Piece]]:
        """Yield lists of events, each with its piece: first for earlier bytes that were not kept, then for each
        waiting piece.
        """
        assert self.decided is not None
        time, swapped = self._pieces[0].time, self.decided.swapped
        sizes = [(OPPOSITE[side] if swapped else side, size) for side, size in self._passed.items() if size]
        yield [Skipped(time, side, 0, size, b"", NOT_YET) for side, size in sizes], replace(piece, kind="gap")
        pieces, self._pieces = self._pieces, []
        for waiting in pieces:
            yield decode(waiting), waiting

    def rows(self, events: list[Event], piece: Piece) -> list[Row]:
        """Return the row of a connection that ended before its client was known, located at its last ``piece``."""
        if self.decided is not None:
            return self.decided.rows(events, piece)
        if piece.kind != "closed":
            return []
        self._forget()
        return self.unread(piece)

    def unread(self, piece: Piece) -> list[Row]:
        """Return a row, located at ``piece``, for the bytes that were dropped since the last call."""
        if self.decided is not None:
            return self.decided.unread(piece)
        if not (size := sum(self._passed.values())):
            return []
        if self._projection.table == "frames":
            more = {"size": size}
        else:
            more = {"unread": size} if self._reported else {"unread": size, "number": 0}
        self._reported, self._passed = self._reported + size, dict.fromkeys(OPPOSITE, 0)
        reason = LIKE_TLS if self._encrypted > 1 else UNDECIDED
        return self._projection.rows(
            [
                self._projection.layout.corrupt(
                    piece.source, piece.position, reason, connection=self.connection.id, **more
                )
            ]
        )

    def _scored(self) -> tuple[int, int]:
        """Return the scores of both orientations, including the waiting pieces. Scoring stops once one orientation
        has won.
        """
        pieces, size, protocol, (given, other) = self._pieces, self._size, self._projection.protocol, self._scores
        first = given + score(pieces, size, protocol, swapped=False, enough=ENOUGH - given)
        enough = ENOUGH * max(first, 1) - other if first < ENOUGH else FOREIGN
        other += score(pieces, size, protocol, swapped=True, enough=enough)
        if first >= ENOUGH and other:
            first = given + score(pieces, size, protocol, swapped=False, enough=ENOUGH * other - given)
        return first, other

    def _swapped(self, given: int, other: int, *, ended: bool) -> bool | None:
        """Return whether the scores show that the captured server is the client, or ``None`` if they are
        inconclusive.
        """
        likely = self.connection.guess.likely if self.connection.guess else None
        if max(given, other) >= FOREIGN:
            return likely is False
        if max(given, other) >= ENOUGH * max(min(given, other), 1):
            return other > given
        if ended and likely is not None and (given, other)[not likely] and not (given, other)[likely]:
            return not likely
        return None

    def _forget(self) -> None:
        """Drop all pieces and count their bytes as passed."""
        for piece in self._pieces:
            self._passed[piece.direction] += piece.size if piece.kind != "closed" else 0
        self._pieces, self._size, self._next = [], 0, FIRST
