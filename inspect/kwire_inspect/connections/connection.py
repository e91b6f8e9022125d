"""Converts the pieces of one connection to rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kwire.connection import ConnectionDecoder, RequestEvent, ResponseEvent, SaslToken, Unanswered, Undecodable
from kwire.connection.decoder import ENDED
from kwire.connection.events import CLIENT, SERVER
from kwire.native import mypyc_attr
from kwire_inspect.capture import Piece
from kwire_inspect.connections.context import peers
from kwire_inspect.connections.exchange_rows import ExchangeRows
from kwire_inspect.connections.frame_rows import FrameRows
from kwire_inspect.connections.identity import APIS, Identity
from kwire_inspect.reasons import CLOSED

if TYPE_CHECKING:
    from kwire.connection import Event
    from kwire.connection.events import Direction
    from kwire_inspect.capture import Connection
    from kwire_inspect.connections.projection import ConnectionProjection
    from kwire_inspect.row_layout import Row

OPPOSITE: dict[Direction, Direction] = {CLIENT: SERVER, SERVER: CLIENT}
NEVER_READ = f"{CLOSED} at an earlier request"
"""The reason of requests after the oldest in flight, if the server closed the connection. A broker goes on to the
next request of a connection when it has answered the one before, so the oldest alone is what it refused."""


@mypyc_attr(serializable=True)
class ConnectionRows:
    """Makes rows of FRAMES or EXCHANGES, with the columns of a projection, from the pieces of one connection.

    Its size is that of the decoder's state: unfinished frames and requests in flight. It can be pickled between any
    two pieces, which makes it the state of a streaming job. With ``swapped``, the client is what the connection has
    as its server.
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
        """The columns of its ends."""
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
        """About how many bytes of memory wait for the rest of a frame, or for a response."""
        return self._decoder.held + self._table.held

    def drop(self, time: float, reason: str, *, secrets: bool = False) -> list[Event]:
        """Free this memory, or that of what may be ``secrets``; ``rows`` has to be given the events."""
        if self.closed:
            return []
        return (self._decoder.drop_secrets if secrets else self._decoder.drop)(time, reason)

    def unread(self, piece: Piece) -> list[Row]:
        """Rows of EXCHANGES, located at ``piece``, for the bytes that were not read since the last call."""
        rows: list[Row] = []
        if isinstance(self._table, ExchangeRows):
            self._table.report_unread(rows, piece.source, piece.position)
        return self._projection.rows(rows)

    def forget(self) -> None:
        """Free what only saves time."""
        self._table.contexts.clear()

    def feed(self, piece: Piece) -> list[Row]:
        """The rows that a piece completes. Pieces after the one that closes the connection yield none."""
        return [] if self.closed else self.rows(self.decode(piece), piece)

    def decode(self, piece: Piece) -> list[Event]:
        """The first half of ``feed``: decodes a piece. ``rows`` has to be given it, in the order of the pieces."""
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
        """The second half of ``feed``."""
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
