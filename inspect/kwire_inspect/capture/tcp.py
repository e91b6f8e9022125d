"""Assigns the packets of a capture to connections. Successive connections may use the same addresses and ports."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar
from zlib import crc32

from kwire.connection.events import CLIENT, SERVER
from kwire.native import close_classes, mypyc_attr
from kwire_inspect.capture.ordering import FAR, MASK, PACKET_SIZE, Ordering, Piece, TcpStream, length, unwrapped
from kwire_inspect.capture.packet_files import ALWAYS, NEVER, capture_blocks
from kwire_inspect.capture.packets import (
    ACK,
    FIN,
    RST,
    SYN,
    Connection,
    Guess,
    Packet,
    Servers,
    peers,
    ports_of,
    reverse,
)
from kwire_inspect.capture.pcap import Broken, Secrets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

GRACE: Final = 1.0
"""Maximum time, in seconds, between a reset and the arrival of packets that were sent before it."""
BEHIND: Final = 1 << 20
"""Maximum distance, in bytes, between late data and the first byte of its connection, and between two matching stray
packets.
"""
SIGNALS: Final = SYN | FIN | RST | ACK
HELD: Final = 32 << 20
"""Maximum number of bytes in the waiting packets of all connections."""
K = TypeVar("K")
MAX_PASSED = 1 << 17
MAX_CONNECTIONS = 30_000
"""Maximum number of connections to keep. Each connection needs up to 5 kB of memory, plus the memory for its waiting
packets.
"""


@mypyc_attr(serializable=True)
class TcpConnection:
    """The traffic between two ends, which may belong to several successive connections.

    The object is small, and can be pickled between any two packets. ``key`` is the ``Packet.key`` of packets in one
    of the directions. ``servers`` contains the servers known so far. ``reset`` is the time of a reset in seconds
    since the epoch, or ``None``. Call ``close`` more than ``GRACE`` seconds after a reset, when packets sent before
    the reset can no longer arrive.
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
        """Time of the last delivery, in seconds since the epoch, or 0 before the first packet."""
        return 0.0 if self._ordering is None else self._ordering.time

    @property
    def held(self) -> int:
        """Approximate memory use of waiting packets, in bytes."""
        return 0 if self._ordering is None else self._ordering.held

    def give_up(self) -> list[Piece]:
        """Return the pieces of all waiting packets, with gaps before them. A stray packet loses its data."""
        if stray := self._stray:
            self._stray = replace(stray, data=b"", missing=len(stray.data) + stray.missing)
        return [] if self._ordering is None else self._ordering.give_up()

    def add(self, packet: Packet) -> list[Piece]:
        """Process the next captured packet. Return the pieces that are now in order."""
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
        if other.next is None:  # the other side has not been seen yet, and may never be seen
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
        """Return the pieces that remain when the connection or the capture ends.

        Packets of another connection between the same ends may follow.
        """
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
        """Process a packet that does not belong to the open connection.

        Two stray packets with matching sequence numbers begin a new connection.
        """
        first = self._take_stray()
        if first is None or not _is_near(first, packet):
            self._stray = packet
            return []
        return self.close() + self._unusual(first) + self._unusual(packet)

    def _take_stray(self) -> Packet | None:
        stray, self._stray = self._stray, None
        return stray

    def _lanes(self, packet: Packet, ordering: Ordering) -> tuple[TcpStream, TcpStream]:
        """Return the sender's direction and the opposite direction."""
        if packet.key == self._key:
            return ordering.forward, ordering.backward
        return ordering.backward, ordering.forward

    def _is_known(self, packet: Packet) -> bool:
        """Return whether a packet belongs to the current connection, open or closed."""
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
        """Identify the client and server from a handshake that was captured late, but before any delivery."""
        if ordering.connection.complete or ordering.delivered:
            return
        asks = not packet.flags & ACK
        ordering.connection = _connection(packet, asks, ordering.connection.started, True)
        lane, other = self._lanes(packet, ordering)
        lane.direction, other.direction = (CLIENT, SERVER) if asks else (SERVER, CLIENT)


def _is_handshake(packet: Packet, lane: TcpStream, other: TcpStream) -> bool:
    """Return whether a SYN belongs to the connection because it is repeated, late or the server's response."""
    if lane.isn is not None:
        return lane.isn == packet.seq
    if packet.flags & ACK and other.isn is not None and (packet.ack - 1) & MASK == other.isn:
        return True
    first = lane.first if lane.first is not None else lane.heard
    return first is not None and (first - 1) & MASK == packet.seq


def _is_near(first: Packet, second: Packet) -> bool:
    """Return whether two packets can belong to the same connection, in the same or opposite directions."""
    number, seq = second.seq if second.key == first.key else second.ack, first.seq
    return -BEHIND < unwrapped(number, seq) - seq < BEHIND


def _connection(
    packet: Packet, asks: bool, started: float, complete: bool, servers: Servers | None = None
) -> Connection:
    """Return the connection of a packet.

    ``asks`` says whether the client sent the packet. If ``servers`` is not ``None``, the value of ``asks`` is a
    guess.
    """
    source, target = peers(packet.key)
    guess = Guess(servers, packet.key if asks else reverse(packet.key)) if servers else None
    client, server = (source, target) if asks else (target, source)
    return Connection(client, server, started, complete, guess)


class TcpConnections:
    """The connections in one share of a capture.

    ``share`` (i, n) selects the connections whose hash modulo n is i. Only connections to the server ports in
    ``ports`` are selected, or all connections if ``ports`` is empty. ``passed`` contains the keys of packets that
    readers may skip. At most ``most`` connections are kept. Beyond this limit, the connections that have been idle
    longest are closed.
    """

    def __init__(
        self, share: tuple[int, int] = (0, 1), ports: Collection[int] = (), most: int = MAX_CONNECTIONS
    ) -> None:
        self.servers = Servers(ports)
        self.passed: set[bytes] = set()
        self._number, self._shares = share
        self._most = most
        self._known: dict[bytes, TcpConnection] = {}
        self._reset: deque[TcpConnection] = deque()
        self._added = 0  # bytes since the last check of the waiting packets

    def add(self, packet: Packet) -> list[Piece]:
        """Process the next packet. Return the pieces that are now in order."""
        self._added += PACKET_SIZE + len(packet.data)
        if self._added > HELD // 2:
            self._added = 0
            holders = largest({connection: connection.held for connection in self._known.values()}, HELD)
            return [piece for connection in holders for piece in connection.give_up()] + self.add(packet)
        connection = self._known.get(packet.key)
        if connection is None:
            if packet.key not in self.passed:
                self.servers.learn(packet)
            if not self._is_mine(packet.key):
                return []
            evicted = self._evicted() if len(self._known) >= 2 * self._most else []
            connection = TcpConnection(packet.key, self.servers)
            self._known[packet.key] = self._known[reverse(packet.key)] = connection
            return evicted + self._watched(connection, packet)
        if self._reset or packet.flags & RST:
            return self._watched(connection, packet)
        return connection.add(packet)

    def close(self) -> Iterator[Piece]:
        """Yield the remaining pieces of all connections at the end of the capture."""
        for connection in self._known.values():
            yield from connection.close()
        self._known.clear()

    def _is_mine(self, key: bytes) -> bool:
        """Return whether the share and the ports select packets with this key. Both directions of a connection have
        the same hash in all processes.
        """
        back = reverse(key)
        mine = self._shares == 1 or crc32(min(key, back)) % self._shares == self._number
        if mine and (not self.servers.ports or not self.servers.ports.isdisjoint(ports_of(key))):
            return True
        if len(self.passed) >= MAX_PASSED:
            self.passed.clear()
        self.passed |= {key, back}
        return False

    def _watched(self, connection: TcpConnection, packet: Packet) -> list[Piece]:
        """Add a packet to a connection, and close connections that were reset some time ago."""
        was_reset = connection.reset is not None
        pieces = connection.add(packet)
        if connection.reset is not None and not was_reset:
            self._reset.append(connection)
        while self._reset and (
            (since := self._reset[0].reset or 0.0) + GRACE < packet.time or len(self._reset) > self._most
        ):
            ended = self._reset.popleft()
            pieces += ended.close() if since else []
        return pieces

    def _evicted(self) -> list[Piece]:
        """Close the 10 % of connections that have been idle longest, and return their pieces.

        Evictions are rare because each closes many connections.
        """
        idle = sorted(self._known.items(), key=lambda item: item[1].time)[: max(len(self._known) // 10, 2)]
        pieces: list[Piece] = []
        for key, connection in idle:
            pieces += connection.close()
            self._known.pop(key, None)
            self._known.pop(reverse(key), None)
        return pieces


def largest(sizes: Mapping[K, int], limit: int) -> list[K]:
    """Return the keys of the largest sizes, so that the remaining sizes add up to at most half of ``limit``.

    Return no keys if the sum of all sizes does not exceed ``limit``.
    """
    left, keys = sum(sizes.values()), list[K]()
    if left > limit:
        for key in sorted(sizes, key=sizes.__getitem__, reverse=True):
            keys.append(key)
            left -= sizes[key]
            if left <= limit // 2:
                break
    return keys


def read_pieces(
    files: Sequence[str],
    *,
    share: tuple[int, int] = (0, 1),
    ports: Collection[int] = (),
    start: float | None = None,
    end: float | None = None,
    most: int = MAX_CONNECTIONS,
    secrets: Secrets | None = None,
) -> Iterator[Piece | Broken]:
    """Yield the pieces of all connections, and the problems of the files.

    All files form one capture, whose packets are merged by time. ``share`` (i, n) selects the connections whose hash
    modulo n is i. Problems of files are reported only in the first share.

    Only connections to the server ports in ``ports`` are returned, or all connections if ``ports`` is empty. The
    client is the sender of the SYN. A connection without a SYN has a ``guess`` unless ``ports`` identify the server.
    Packets before ``start`` and packets at or after ``end`` are skipped, both in seconds since the epoch.

    At most ``most`` connections are kept in memory. ``secrets`` is called with each key log in the files, before the
    packets that follow it are returned. Invalid or unreadable files do not raise errors.
    """
    connections = TcpConnections(share, ports, most)
    first = ALWAYS if start is None else start
    last = NEVER if end is None else end
    for block in capture_blocks(files, connections.passed, first, last, secrets):
        found: list[Piece | Broken] = []
        for item in block:
            if isinstance(item, Packet):
                found += connections.add(item)
            elif share[0] == 0:
                found.append(item)
        yield from found
    yield from connections.close()


close_classes()
