"""Splits the packets between two ports into pieces of successive connections."""

from __future__ import annotations

import socket
from dataclasses import replace

from kwire.connection.events import CLIENT, SERVER
from kwire.native import close_classes, mypyc_attr
from kwire_inspect.capture.ordering import Ordering
from kwire_inspect.capture.packets import ACK, FIN, RST, SYN, Packet, ports_of, reverse
from kwire_inspect.capture.pieces import Connection, Peer, Piece
from kwire_inspect.capture.servers import Guess, Servers
from kwire_inspect.capture.tcp_stream import FAR, MASK, TcpStream, length, unwrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

GRACE: Final = 1.0
"""For how many seconds after a reset packets can arrive that were sent before it."""
BEHIND: Final = 1 << 20
"""Bytes before the first of a connection that may be seen late, and between packets that follow each other."""

SIGNALS: Final = SYN | FIN | RST | ACK


@mypyc_attr(serializable=True)
class TcpConnection:
    """The traffic between two ports: successive connections, distinguished by their handshakes.

    Small, and can be pickled between any two packets. ``key`` is that of the packets of either side; ``servers`` are
    those known so far. ``reset`` is when a reset was seen; ``close`` the connection some seconds later, when
    packets sent before the reset can no longer arrive.
    """

    __slots__ = ("_key", "_open", "_ordering", "_servers", "_stray", "reset")

    def __init__(self, key: bytes, servers: Servers | None = None) -> None:
        self._key = key
        self._servers = servers or Servers()
        self._ordering: Ordering | None = None
        self._open = False
        self._stray: Packet | None = None
        self.reset: float | None = None

    @property
    def time(self) -> float:
        """The time of the last delivery."""
        return 0.0 if self._ordering is None else self._ordering.time

    @property
    def held(self) -> int:
        """About how many bytes of memory waiting packets take."""
        return 0 if self._ordering is None else self._ordering.held

    def give_up(self) -> list[Piece]:
        """The pieces of all waiting packets, with gaps before them; a stray packet loses its data."""
        if stray := self._stray:
            self._stray = replace(stray, data=b"", missing=len(stray.data) + stray.missing)
        return [] if self._ordering is None else self._ordering.give_up()

    def add(self, packet: Packet) -> list[Piece]:
        """Process the next captured packet; return the pieces that are now in order."""
        ordering = self._ordering
        if ordering is None or ordering.waiting or packet.flags & SIGNALS != ACK or packet.missing:
            return self._unusual(packet)
        if packet.key == self._key:
            lane, other = ordering.forward, ordering.backward
        else:
            lane, other = ordering.backward, ordering.forward
        if lane.next is None or lane.next & MASK != packet.seq or not self._open or self.reset is not None:
            return self._unusual(packet)
        if lane.ended:
            return self._unusual(packet)
        if other.next is None:  # the other side has not been seen, perhaps never is
            other.acknowledge(packet.ack)
        elif (other.next - packet.ack) & MASK >= FAR:
            return self._unusual(packet)
        source = ordering.source = packet.source
        position = ordering.position = packet.position
        if packet.time > ordering.time:
            ordering.time = packet.time
        data = packet.data
        if not data:
            return []
        size = len(data)
        lane.next += size
        ordering.delivered = True
        return [Piece(ordering.connection, "data", lane.direction, data, size, ordering.time, source, position)]

    def close(self) -> list[Piece]:
        """The pieces left when the connection or the capture ends. Packets of the next connection may follow."""
        if not self._open or self._ordering is None:
            return []
        self._open, self.reset = False, None
        pieces = self._ordering.close()
        if stray := self._take_stray():
            pieces += self._unusual(stray)
            pieces += self.close()
        return pieces

    def _unusual(self, packet: Packet) -> list[Piece]:
        pieces: list[Piece] = []
        if self.reset is not None and packet.time > self.reset + GRACE:
            pieces += self.close()
        if not self._is_known(packet):
            if packet.flags & RST:
                return pieces
            if self._open and not packet.flags & SYN:
                return pieces + self._strayed(packet)
            pieces += self.close()
            self._ordering = self._begun(packet)
            self._open = True
        if not self._open or self._ordering is None:
            return pieces
        lane, other = self._lanes(packet, self._ordering)
        if packet.flags & (FIN | RST):
            self._ordering.closing = self._ordering.closing or lane
        if packet.flags & RST:
            self.reset = packet.time if self.reset is None else self.reset
            return pieces
        seq = packet.seq
        if packet.flags & SYN:
            lane.isn, seq = seq, (seq + 1) & MASK
            self._complete(packet, self._ordering)
        pieces += self._ordering.add(packet, lane, other, seq)
        if lane.ended and other.ended:
            pieces += self.close()
        return pieces

    def _strayed(self, packet: Packet) -> list[Piece]:
        """Process a packet that does not belong to the open connection: two such packets that match each other begin
        a new one."""
        first = self._take_stray()
        if first is None or not _is_near(first, packet):
            self._stray = packet
            return []
        return self.close() + self._unusual(first) + self._unusual(packet)

    def _take_stray(self) -> Packet | None:
        stray, self._stray = self._stray, None
        return stray

    def _lanes(self, packet: Packet, ordering: Ordering) -> tuple[TcpStream, TcpStream]:
        """The sender's direction, and the opposite one."""
        if packet.key == self._key:
            return ordering.forward, ordering.backward
        return ordering.backward, ordering.forward

    def _is_known(self, packet: Packet) -> bool:
        """Whether a packet belongs to the current connection, open or closed."""
        if self._ordering is None:
            return False
        lane, other = self._lanes(packet, self._ordering)
        if packet.flags & SYN:
            return _is_handshake(packet, lane, other)
        size = length(packet)
        if not size or packet.flags & RST:
            return True
        if lane.first is None or lane.next is None:
            return self._open
        count = unwrapped(packet.seq, lane.next)
        if not self._open and count + size > lane.next:
            return False
        return abs(count - lane.next) <= FAR and count >= lane.first - BEHIND

    def _begun(self, packet: Packet) -> Ordering:
        handshake, servers = bool(packet.flags & SYN), None
        asks = not packet.flags & ACK if handshake else self._servers.asked(packet.key)
        if asks is None:
            asks, servers = self._servers.hint(packet.key) is not False, self._servers
        connection = _connection(packet, asks, packet.time, handshake, servers)
        client, server = TcpStream(CLIENT), TcpStream(SERVER)
        forward, backward = (client, server) if asks == (packet.key == self._key) else (server, client)
        return Ordering(connection, forward, backward, packet.time)

    def _complete(self, packet: Packet, ordering: Ordering) -> None:
        """A handshake that is captured late, but before anything was delivered, still identifies client and
        server."""
        if ordering.connection.complete or ordering.delivered:
            return
        asks = not packet.flags & ACK
        ordering.connection = _connection(packet, asks, ordering.connection.started, True)
        lane, other = self._lanes(packet, ordering)
        lane.direction, other.direction = (CLIENT, SERVER) if asks else (SERVER, CLIENT)


def _is_handshake(packet: Packet, lane: TcpStream, other: TcpStream) -> bool:
    """Whether a SYN belongs to a connection: repeated, seen late, or the server's answer."""
    if lane.isn is not None:
        return lane.isn == packet.seq
    if packet.flags & ACK and other.isn is not None and (packet.ack - 1) & MASK == other.isn:
        return True
    first = lane.first if lane.first is not None else lane.told
    return first is not None and (first - 1) & MASK == packet.seq


def _is_near(one: Packet, other: Packet) -> bool:
    """Whether two packets can belong to the same connection, in the same or opposite directions."""
    number, seq = other.seq if other.key == one.key else other.ack, one.seq
    return -BEHIND < unwrapped(number, seq) - seq < BEHIND


def _connection(
    packet: Packet, asks: bool, started: float, complete: bool, servers: Servers | None = None
) -> Connection:
    """The connection of a packet; ``asks`` says whether the client sent it, as far as known if it depends on
    ``servers``."""
    source, target = peers(packet.key)
    guess = Guess(servers, packet.key if asks else reverse(packet.key)) if servers else None
    client, server = (source, target) if asks else (target, source)
    return Connection(client, server, started, complete, guess)


def peers(key: bytes) -> tuple[Peer, Peer]:
    """The source and target of packets with this key."""
    half = len(key) // 2 - 2
    family = socket.AF_INET if half == 4 else socket.AF_INET6
    source, target = ports_of(key)
    return (
        Peer(socket.inet_ntop(family, key[:half]), source),
        Peer(socket.inet_ntop(family, key[half : 2 * half]), target),
    )


close_classes()
