"""The packets of one TCP connection to its bytes in order, with lost, repeated and late packets [RFC 9293].

What a capture shows is not what the ends saw: it may begin late, lose packets that arrived, have them twice or in
another order. The other side's acknowledgements tell what did arrive. A packet is delivered when it continues its
direction and when what it acknowledges of the other has been delivered, so that no response comes before its
request. Packets wait for that; when they wait for too long, what they wait for is a gap.
"""

from __future__ import annotations

from collections.abc import Collection

from kwire.connection.events import CLIENT, SERVER
from kwire_spark.capture.lane import FAR, MASK, Lane, length, unwrapped
from kwire_spark.capture.packets import ACK, FIN, RST, SYN, Packet
from kwire_spark.capture.peers import from_client, peers
from kwire_spark.capture.pieces import Connection, Piece, PieceKind

MOST_BYTES = 4 << 20
MOST_PACKETS = 1000
"""What may wait on a connection."""
PATIENCE = 1.0
"""Seconds that a packet waits for bytes that the other side has got already."""
GRACE = 1.0
"""Seconds after a reset in which packets still come that were sent before it arrived."""
BEHIND = 1 << 20
"""Bytes before the first of a connection that may be seen late."""

SIGNALS = SYN | FIN | RST | ACK


class TcpConnection:
    """What goes on between two ports: one connection after the other, told apart by their handshakes.

    Small, and can be pickled between any two packets. ``key`` is that of the packets of either side; ``ports`` are
    those of servers, if known. ``time`` is when something was last delivered, ``reset`` when a reset was seen:
    ``close`` it some seconds later, when nothing comes that was sent before the reset arrived.
    """

    __slots__ = (
        "_backward",
        "_bytes",
        "_connection",
        "_delivered",
        "_forward",
        "_key",
        "_order",
        "_ports",
        "_position",
        "_since",
        "_source",
        "_waiting",
        "reset",
        "time",
    )

    def __init__(self, key: bytes, ports: Collection[int] = ()) -> None:
        self._key = key
        self._ports = ports
        self._connection: Connection | None = None
        self._forward, self._backward = Lane(CLIENT), Lane(SERVER)
        self._source, self._position = "", 0
        self._delivered = False
        self._order = self._waiting = self._bytes = 0
        self._since = 0.0
        self.time = 0.0
        self.reset: float | None = None

    def add(self, packet: Packet) -> list[Piece]:
        """What this packet brings, the next that was seen: what is in order now."""
        lane, other = self._lanes(packet)
        if (
            self._waiting
            or packet.flags & SIGNALS != ACK
            or packet.missing
            or self._connection is None
            or lane.next is None
            or other.next is None
            or (other.next - packet.ack) & MASK >= FAR
            or lane.next & MASK != packet.seq
            or self.reset is not None
        ):
            return self._unusual(packet)
        data = packet.data
        self._source, self._position = packet.source, packet.position
        if packet.time > self.time:
            self.time = packet.time
        if not data:
            return []
        size = len(data)
        lane.next += size
        self._delivered = True
        return [
            Piece(self._connection, "data", lane.direction, data, size, self.time, packet.source, packet.position)
        ]

    def close(self) -> list[Piece]:
        """What is left when the connection, or the capture, ends. Packets may follow: of the next connection."""
        if self._connection is None:
            return []
        pieces: list[Piece] = []
        while self._waiting:
            self._give_up(pieces)
            self._drain(pieces)
        for lane, other in self._both():
            if missing := lane.missing_at_end(closing=other.ended):
                pieces.append(self._piece("gap", lane, b"", missing))
        pieces.append(self._piece("closed", self._forward, b"", 0))
        self._connection, self.reset = None, None
        return pieces

    def _lanes(self, packet: Packet) -> tuple[Lane, Lane]:
        """That of the sender, and the other."""
        if packet.key == self._key:
            return self._forward, self._backward
        return self._backward, self._forward

    def _both(self) -> tuple[tuple[Lane, Lane], tuple[Lane, Lane]]:
        return (self._forward, self._backward), (self._backward, self._forward)

    def _unusual(self, packet: Packet) -> list[Piece]:
        pieces: list[Piece] = []
        if self.reset is not None and packet.time > self.reset + GRACE:
            pieces += self.close()
        lane, other = self._lanes(packet)
        if packet.flags & SYN:
            if not self._known(packet, lane, other):
                pieces += self.close()
                self._begin(packet)
        elif self._is_foreign(packet, lane, other):
            pieces += self.close()
            self._begin(packet)
        if self._connection is None:
            return pieces
        self._source, self._position = packet.source, packet.position
        if packet.flags & RST:
            self.reset = packet.time if self.reset is None else self.reset
            return pieces
        self._take(packet, *self._lanes(packet))
        self._drain(pieces)
        while self._too_much(packet.time):
            self._give_up(pieces)
            self._drain(pieces)
            self._since = packet.time
        if self._forward.ended and self._backward.ended:
            pieces += self.close()
        return pieces

    def _known(self, packet: Packet, lane: Lane, other: Lane) -> bool:
        """Whether a SYN is of the connection that we know: seen again, or late, or the server's answer to it."""
        if lane.isn is not None:
            return lane.isn == packet.seq
        first = lane.first if lane.first is not None else lane.told
        if first is not None:
            return (first - 1) & MASK == packet.seq
        return bool(packet.flags & ACK) and other.isn is not None and (packet.ack - 1) & MASK == other.isn

    def _is_foreign(self, packet: Packet, lane: Lane, other: Lane) -> bool:
        """Whether a packet without SYN begins something: the first of all, or one that does not fit to what was."""
        size = length(packet)
        if self._connection is None and lane.unknown and other.unknown:
            return not packet.flags & RST
        if not size or packet.flags & RST:
            return False
        if lane.first is None or lane.next is None:
            return self._connection is None
        count = unwrapped(packet.seq, lane.next)
        if self._connection is None and count + size > lane.next:
            return True
        return abs(count - lane.next) > FAR or count < lane.first - BEHIND

    def _begin(self, packet: Packet) -> None:
        if packet.flags & SYN:
            asks = not packet.flags & ACK
        else:
            asks = from_client(packet.key, self._ports)
        source, target = peers(packet.key)
        client, server = (source, target) if asks else (target, source)
        self._connection = Connection(client, server, packet.time, bool(packet.flags & SYN))
        forth = asks == (packet.key == self._key)
        self._forward, self._backward = (Lane(CLIENT), Lane(SERVER)) if forth else (Lane(SERVER), Lane(CLIENT))
        self._delivered, self.reset, self.time = False, None, packet.time

    def _take(self, packet: Packet, lane: Lane, other: Lane) -> None:
        """Note what a packet says, and have it wait if it has something new."""
        seq = packet.seq
        if packet.flags & SYN:
            lane.isn = seq
            seq = (seq + 1) & MASK
            self._complete(packet)
        if lane.next is None:
            assert self._connection is not None
            lane.begin_at(seq, length(packet), handshake=self._connection.complete)
        if packet.flags & ACK:
            if packet.flags & SYN and other.next is None:
                other.begin_at(packet.ack, 0, handshake=True)
            other.acknowledge(packet.ack)
        assert lane.next is not None
        count, size = unwrapped(seq, lane.next), length(packet)
        if size and count + size > lane.next:
            if not self._waiting:
                self._since = packet.time
            self._order += 1
            self._waiting += 1
            self._bytes += size
            lane.hold(count, self._order, packet)

    def _complete(self, packet: Packet) -> None:
        """A handshake that is seen late, but before anything was delivered, still tells who is who."""
        known = self._connection
        if known is None or known.complete or self._delivered:
            return
        source, target = peers(packet.key)
        client, server = (target, source) if packet.flags & ACK else (source, target)
        self._connection = Connection(client, server, known.started, True)
        lane, other = self._lanes(packet)
        lane.direction, other.direction = (SERVER, CLIENT) if packet.flags & ACK else (CLIENT, SERVER)

    def _drain(self, pieces: list[Piece]) -> None:
        """Deliver what is in order."""
        progress = bool(self._waiting)
        while progress:
            progress = False
            for lane, other in self._both():
                while lane.ready and not other.missed_by(lane.held[0][2]):
                    self._deliver(lane, pieces)
                    progress = True

    def _deliver(self, lane: Lane, pieces: list[Piece]) -> None:
        """The packet of a direction that is next: what of it is new."""
        count, packet = lane.release()
        size = length(packet)
        self._waiting -= 1
        self._bytes -= size
        assert lane.next is not None
        old = lane.next - count
        if old >= size:
            return
        self.time = max(self.time, packet.time)
        self._since = max(self._since, packet.time)
        data, missing = packet.data[old:], packet.missing - max(old - len(packet.data), 0)
        if lane.ended and (data or missing > 0):  # so that was no FIN
            pieces.append(self._piece("gap", lane, b"", 1, packet))
            lane.ended = False
        if data:
            pieces.append(self._piece("data", lane, data, len(data), packet))
        if missing > 0:
            pieces.append(self._piece("gap", lane, b"", missing, packet))
        lane.ended = lane.ended or bool(packet.flags & FIN)
        lane.next = count + size

    def _too_much(self, now: float) -> bool:
        """Whether packets wait that should not any longer."""
        if not self._waiting:
            return False
        if self._waiting > MOST_PACKETS or self._bytes > MOST_BYTES:
            return True
        return now > self._since + PATIENCE and bool(self._forward.hole or self._backward.hole)

    def _give_up(self, pieces: list[Piece]) -> None:
        """Have what waits go on: bytes that the other side has are missing, or else those before the next packet."""
        lanes = (self._forward, self._backward)
        for lane, other in self._both():
            if hole := lane.hole:
                needed = lane.missed_by(other.held[0][2]) if other.ready else 0
                answered = bool(needed and other.held[0][2].data)
                return self._skip(lane, min(hole, needed or hole), pieces, answered=answered)
        for lane in lanes:
            if lane.ready:
                return self._deliver(lane, pieces)
        lane = max(lanes, key=lambda one: len(one.held))
        assert lane.next is not None
        return self._skip(lane, lane.held[0][0] - lane.next, pieces)

    def _skip(self, lane: Lane, size: int, pieces: list[Piece], *, answered: bool = False) -> None:
        assert lane.next is not None
        lane.next += size
        if size == 1 and not lane.held and not answered:
            lane.ended = True  # a FIN that was not captured, unless more follows
        else:
            pieces.append(self._piece("gap", lane, b"", size))

    def _piece(self, kind: PieceKind, lane: Lane, data: bytes, size: int, packet: Packet | None = None) -> Piece:
        assert self._connection is not None
        self._delivered = True
        source, position = (packet.source, packet.position) if packet else (self._source, self._position)
        return Piece(self._connection, kind, lane.direction, data, size, self.time, source, position)
