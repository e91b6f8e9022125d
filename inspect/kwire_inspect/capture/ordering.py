"""Puts the bytes of a connection in order, despite lost, repeated and late packets [RFC 9293].

Unlike the two ends, a capture may miss the beginning of a connection and packets that arrived, and it may repeat or
reorder packets. Acknowledgements from the other side show which bytes arrived.

A packet is delivered when the data before it and all data that it acknowledges have been delivered. A response
therefore never comes before its request. If too many packets wait for missing data, or a packet has waited too long,
the missing data is reported as a gap.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from kwire.connection.events import Direction
from kwire.native import close_classes, i64, mypyc_attr
from kwire_inspect.capture.packets import ACK, FIN, SYN, Connection, Packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MASK: Final = 0xFFFFFFFF
HALF: Final = 1 << 31
FAR: Final = 1 << 30
"""Maximum window size in bytes [RFC 7323]. A packet whose sequence number is farther away belongs to another
connection.
"""
PieceKind = Literal["data", "gap", "closed"]
MAX_BYTES: Final = 4 << 20
MAX_PACKETS: Final = 1000
"""Maximum number of waiting bytes, and of waiting packets, in a connection."""
PACKET_SIZE: Final = 512
"""Approximate memory use of a packet in bytes, excluding its data."""
PATIENCE: Final = 1.0
"""Maximum time, in seconds, that a packet waits for bytes that the other side has already received."""


def unwrapped(number: int, near: int) -> int:
    """Return the byte count nearest to ``near`` whose low 32 bits are the sequence number ``number``."""
    return near + ((number - near + HALF) & MASK) - HALF


@mypyc_attr(serializable=True)
@dataclass(slots=True, eq=False)
class TcpStream:
    """One direction of a connection: its position, and the packets that arrived early [RFC 9293, section 3.4].

    Counts are sequence numbers that do not wrap. A count is ``None`` until it is known.

    ======  ==================================================================================
    isn     initial sequence number, if a SYN was seen
    first   count of the first byte to deliver
    next    count of the next byte to deliver
    heard   first acknowledgement from the other side, as a sequence number
    acked   end of the bytes that the other side has received (a sequence number until next is known)
    ended   whether a FIN was delivered
    held    heap of waiting packets, as (count, order of arrival, packet)
    ======  ==================================================================================
    """

    direction: Direction
    isn: int | None = None
    first: int | None = None
    next: int | None = None
    heard: int | None = None
    acked: int | None = None
    ended: bool = False
    held: list[tuple[int, int, Packet]] = field(default_factory=list)

    def begin_at(self, seq: int, size: int, *, handshake: bool) -> None:
        """Begin this direction with its first packet, which contains ``size`` bytes starting at ``seq``.

        If the handshake was captured, bytes before ``seq`` that the other side had not acknowledged are considered
        missing. Otherwise, these bytes are assumed to have been sent before the capture began. A single byte that the
        other side had already acknowledged is a keep-alive probe [RFC 9293, 3.8.4].
        """
        start = seq
        if self.heard is not None:
            known = unwrapped(self.heard, seq)
            if (handshake and known < seq) or (size <= 1 and known == seq + size):
                start = known
        self.first = self.next = start
        if self.acked is not None:
            self.acked = unwrapped(self.acked & MASK, start)

    def acknowledge(self, ack: int) -> None:
        """Record an acknowledgement from the other side, unless it is out of range."""
        if self.acked is None:
            count = ack if self.next is None else unwrapped(ack, self.next)
            if self.next is None or abs(count - self.next) < FAR:
                self.heard, self.acked = ack, count
            return
        known = self.acked if self.next is None else max(self.acked, self.next)
        count = unwrapped(ack, known)
        if known < count < known + FAR:
            self.acked = count

    def missed_by(self, packet: Packet) -> int:
        """Return the number of undelivered bytes in this direction that a packet from the other side acknowledges."""
        if self.next is None or not packet.flags & ACK:
            return 0
        size = (packet.ack - self.next) & MASK
        return size if size < FAR else 0

    @property
    def ready(self) -> bool:
        """Whether the earliest waiting packet continues the delivered data."""
        return bool(self.held) and self.next is not None and self.held[0][0] <= self.next

    @property
    def hole(self) -> int:
        """Number of missing bytes in this direction that the other side has received."""
        if self.next is None or self.acked is None or self.ready:
            return 0
        end = min(self.acked, self.held[0][0]) if self.held else self.acked
        return max(end - self.next, 0)

    def missing_at_end(self, *, closing: bool) -> int:
        """Return the number of bytes that are missing at the end, although the other side has received them.

        The last byte is assumed to be a FIN, and is not counted, if the connection was ``closing`` or only one byte
        is missing.
        """
        if self.acked is None or self.heard is None or self.ended:
            return 0
        size = self.acked - (self.heard if self.next is None else self.next)
        return max(size - 1 if closing or size == 1 else size, 0)


def length(packet: Packet) -> int:
    """Return the number of sequence numbers that a packet occupies, including one for a FIN."""
    return len(packet.data) + packet.missing + (packet.flags & FIN)


@mypyc_attr(acyclic=True)
@dataclass(slots=True, eq=False, init=False)
class Piece:
    """The next event of a connection.

    ======  =========================================================================================================
    data    ``data`` contains the next ``size`` bytes sent in ``direction``
    gap     the capture lacks ``size`` bytes sent in ``direction``, or an unknown number of bytes if ``size`` is 0
    closed  the connection or the capture ended, and no more pieces of this connection follow. ``size`` is 1 if
            ``direction`` was the first to close it, with a FIN or a reset, and 0 if neither side closed it
    ======  =========================================================================================================

    ``source`` and ``position`` locate the packet that produced the piece: the path of the file, and the byte offset
    in the uncompressed file. ``time`` is in seconds since the epoch and never decreases within a connection.
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


class Ordering:
    """Orders the packets of both directions of a connection.

    ``forward`` is the direction of packets with the key of the ``TcpConnection``. ``waiting`` is the number of
    waiting packets in both directions. ``time`` is the time of the last delivery, in seconds since the epoch.
    ``source`` and ``position`` locate the last packet. ``closing`` is the first direction to send a FIN or a reset.
    """

    __slots__ = (
        *("_bytes", "_order", "backward", "closing", "connection", "delivered", "forward", "position", "source"),
        *("time", "waiting"),
    )

    def __init__(self, connection: Connection, forward: TcpStream, backward: TcpStream, time: float) -> None:
        self.connection = connection
        self.forward = forward
        self.backward = backward
        self.time = time
        self.source = ""
        self.position: i64 = 0
        self.delivered = False
        self.closing: TcpStream | None = None
        self.waiting = 0
        self._order = 0
        self._bytes = 0

    def __reduce__(self) -> tuple[object, ...]:
        lanes = self.closing, self.waiting, self._order, self._bytes
        now = self.source, self.position, self.delivered
        return Ordering, (self.connection, self.forward, self.backward, self.time), (*now, *lanes)

    def __setstate__(self, state: tuple[str, int, bool, TcpStream | None, int, int, int]) -> None:
        self.source, self.position, self.delivered, self.closing, self.waiting, self._order, self._bytes = state

    def add(self, packet: Packet, lane: TcpStream, other: TcpStream, seq: int) -> list[Piece]:
        """Process a packet whose data begins at ``seq``. Return the pieces that are now in order."""
        pieces: list[Piece] = []
        self.source, self.position = packet.source, packet.position
        self._take(packet, lane, other, seq)
        if lane.held and lane.held[0][2] is packet:  # otherwise nothing has changed
            self._drain(pieces)
        while self._too_much(packet.time):
            self._give_up(pieces)
            self._drain(pieces)
        return pieces

    @property
    def held(self) -> int:
        """Approximate memory use of the waiting packets, in bytes."""
        return self._bytes + PACKET_SIZE * self.waiting

    def give_up(self) -> list[Piece]:
        """Return the pieces of all waiting packets, with gaps for the missing bytes before them."""
        pieces: list[Piece] = []
        while self.waiting:
            self._give_up(pieces)
            self._drain(pieces)
        return pieces

    def close(self) -> list[Piece]:
        """Return the pieces that remain after the last packet."""
        pieces = self.give_up()
        for lane, other in self._both():
            if missing := lane.missing_at_end(closing=other.ended):
                pieces.append(self._piece("gap", lane, b"", missing))
        pieces.append(self._piece("closed", self.closing or self.forward, b"", int(self.closing is not None)))
        return pieces

    def _both(self) -> tuple[tuple[TcpStream, TcpStream], tuple[TcpStream, TcpStream]]:
        return (self.forward, self.backward), (self.backward, self.forward)

    def _take(self, packet: Packet, lane: TcpStream, other: TcpStream, seq: int) -> None:
        """Record the sequence numbers of a packet. Add the packet to the waiting packets if it has new data."""
        size = length(packet)
        if lane.next is None:
            lane.begin_at(seq, size, handshake=self.connection.complete)
        if packet.flags & ACK:
            if packet.flags & SYN and other.next is None:
                other.begin_at(packet.ack, 0, handshake=True)
            other.acknowledge(packet.ack)
        assert lane.next is not None
        count = unwrapped(seq, lane.next)
        if size and count + size > lane.next:
            self._order += 1
            self.waiting += 1
            self._bytes += size
            heappush(lane.held, (count, self._order, packet))

    def _drain(self, pieces: list[Piece]) -> None:
        """Deliver all data that is in order."""
        progress = bool(self.waiting)
        while progress:
            progress = False
            for lane, other in self._both():
                while lane.ready and not other.missed_by(lane.held[0][2]):
                    self._deliver(lane, pieces)
                    progress = True

    def _deliver(self, lane: TcpStream, pieces: list[Piece]) -> None:
        """Deliver the new data of the next packet in a direction."""
        count, _, packet = heappop(lane.held)
        size = length(packet)
        self.waiting -= 1
        self._bytes -= size
        assert lane.next is not None
        old = lane.next - count
        if old >= size:
            return
        self.time = max(self.time, packet.time)
        data, missing = packet.data[old:], packet.missing - max(old - len(packet.data), 0)
        if lane.ended and (data or missing > 0):  # the byte skipped before this data was not a FIN
            pieces.append(self._piece("gap", lane, b"", 1, packet))
            lane.ended = False
        if data:
            pieces.append(self._piece("data", lane, data, len(data), packet))
        if missing > 0:
            pieces.append(self._piece("gap", lane, b"", missing, packet))
        lane.ended = lane.ended or bool(packet.flags & FIN)
        lane.next = count + size

    def _too_much(self, now: float) -> bool:
        """Return whether too many packets are waiting or a packet has waited too long."""
        if not self.waiting:
            return False
        if self.waiting > MAX_PACKETS or self._bytes > MAX_BYTES:
            return True
        oldest = min(lane.held[0][2].time for lane in (self.forward, self.backward) if lane.held)
        return now > oldest + PATIENCE and bool(self.forward.hole or self.backward.hole)

    def _give_up(self, pieces: list[Piece]) -> None:
        """Deliver the next waiting data, after a gap if necessary.

        The gap covers the missing bytes that the other side has received. If there are no such bytes, the gap covers
        all bytes before the next packet.
        """
        lanes = (self.forward, self.backward)
        for lane, other in self._both():
            if hole := lane.hole:
                needed = lane.missed_by(other.held[0][2]) if other.ready else 0
                answered = any(packet.data and lane.missed_by(packet) for _, _, packet in other.held)
                return self._skip(lane, min(hole, needed or hole), pieces, answered=answered)
        for lane in lanes:
            if lane.ready:
                return self._deliver(lane, pieces)
        lane = max(lanes, key=lambda lane: len(lane.held))
        assert lane.next is not None
        return self._skip(lane, lane.held[0][0] - lane.next, pieces)

    def _skip(self, lane: TcpStream, size: int, pieces: list[Piece], *, answered: bool = False) -> None:
        assert lane.next is not None
        lane.next += size
        if size == 1 and not lane.held and not answered:
            lane.ended = True  # a FIN that was not captured, unless more data follows
        else:
            pieces.append(self._piece("gap", lane, b"", size))

    def _piece(self, kind: PieceKind, lane: TcpStream, data: bytes, size: int, packet: Packet | None = None) -> Piece:
        self.delivered = True
        source, position = (packet.source, packet.position) if packet else (self.source, self.position)
        return Piece(self.connection, kind, lane.direction, data, size, self.time, source, position)


close_classes()
