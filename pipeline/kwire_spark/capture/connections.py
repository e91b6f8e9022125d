"""The connections of a capture, or of one share of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from zlib import crc32

from kwire_spark.capture.packets import RST, Packet, ports_of, reverse
from kwire_spark.capture.pieces import Piece
from kwire_spark.capture.tcp import GRACE, TcpConnection

MOST_PASSED = 1 << 17


class Connections:
    """``share`` (i, n) has the connections whose hash is i of n; ``ports``, if any, only those with such a server.

    ``passed`` has keys of packets that are of no interest here: readers may leave these packets out. At most ``most``
    connections are kept; of more, those in which nothing happened for the longest time are closed.
    """

    def __init__(self, share: tuple[int, int] = (0, 1), ports: Collection[int] = (), most: int = 100_000) -> None:
        self.passed: set[bytes] = set()
        self._number, self._shares = share
        self._ports = frozenset(ports)
        self._most = most
        self._known: dict[bytes, TcpConnection] = {}
        self._reset: deque[TcpConnection] = deque()

    def add(self, packet: Packet) -> list[Piece]:
        """What the next packet brings."""
        connection = self._known.get(packet.key)
        if connection is None:
            if not self._is_mine(packet.key):
                return []
            evicted = self._evicted() if len(self._known) >= 2 * self._most else []
            connection = TcpConnection(packet.key, self._ports)
            self._known[packet.key] = self._known[reverse(packet.key)] = connection
            return evicted + self._watched(connection, packet)
        if self._reset or packet.flags & RST:
            return self._watched(connection, packet)
        return connection.add(packet)

    def close(self) -> Iterator[Piece]:
        """What is left of all connections when the capture ends."""
        for connection in self._known.values():
            yield from connection.close()
        self._known.clear()

    def _is_mine(self, key: bytes) -> bool:
        """The two directions of a connection have the same hash, in all processes."""
        back = reverse(key)
        mine = self._shares == 1 or crc32(min(key, back)) % self._shares == self._number
        if mine and (not self._ports or not self._ports.isdisjoint(ports_of(key))):
            return True
        if len(self.passed) >= MOST_PASSED:
            self.passed.clear()
        self.passed |= {key, back}
        return False

    def _watched(self, connection: TcpConnection, packet: Packet) -> list[Piece]:
        """As ``add``; closes connections some time after they were reset."""
        was_reset = connection.reset is not None
        pieces = connection.add(packet)
        if connection.reset is not None and not was_reset:
            self._reset.append(connection)
        while self._reset and (since := self._reset[0].reset or 0.0) + GRACE < packet.time:
            ended = self._reset.popleft()
            pieces += ended.close() if since else []
        return pieces

    def _evicted(self) -> list[Piece]:
        """Close a tenth of the connections, so that this happens rarely."""
        idle = sorted(self._known.items(), key=lambda one: one[1].time)[: max(len(self._known) // 10, 2)]
        pieces: list[Piece] = []
        for key, connection in idle:
            pieces += connection.close()
            self._known.pop(key, None)
            self._known.pop(reverse(key), None)
        return pieces
