"""Reads the files of a capture into pieces of its connections: orders packets by time, then assigns each to its
connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar
from zlib import crc32

from kwire.native import close_classes
from kwire_inspect.capture.files import ALWAYS, NEVER, Block, file_blocks, first_time
from kwire_inspect.capture.ordering import PACKET_SIZE
from kwire_inspect.capture.packets import RST, Packet, ports_of, reverse
from kwire_inspect.capture.pcap import Secrets
from kwire_inspect.capture.pieces import Broken, Piece
from kwire_inspect.capture.servers import Servers
from kwire_inspect.capture.tcp import GRACE, TcpConnection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

HELD: Final = 32 << 20
"""Limit of the bytes of packets that wait for others on all connections."""
K = TypeVar("K")

MAX_PASSED = 1 << 17
MAX_CONNECTIONS = 30_000
"""Each takes up to 5 kB of memory, and what waits for more."""


class Connections:
    """The connections of a share of a capture: with ``share`` (i, n) those whose hash is i of n, with ``ports`` only
    those to such a server.

    ``passed`` has the keys of packets that are not needed: readers may skip these packets. At most ``most``
    connections are kept; of more, those in which nothing happened for the longest time are closed.
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
        self._added = 0  # bytes since the last look at what waits

    def add(self, packet: Packet) -> list[Piece]:
        """Process the next packet; return its pieces."""
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
        """The pieces left in all connections when the capture ends."""
        for connection in self._known.values():
            yield from connection.close()
        self._known.clear()

    def _is_mine(self, key: bytes) -> bool:
        """Whether a key is of this share. Both directions have the same hash, in all processes."""
        back = reverse(key)
        mine = self._shares == 1 or crc32(min(key, back)) % self._shares == self._number
        if mine and (not self.servers.ports or not self.servers.ports.isdisjoint(ports_of(key))):
            return True
        if len(self.passed) >= MAX_PASSED:
            self.passed.clear()
        self.passed |= {key, back}
        return False

    def _watched(self, connection: TcpConnection, packet: Packet) -> list[Piece]:
        """Like ``add``; also closes connections some time after they were reset."""
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
        """Close a tenth of the connections, so that this happens rarely."""
        idle = sorted(self._known.items(), key=lambda item: item[1].time)[: max(len(self._known) // 10, 2)]
        pieces: list[Piece] = []
        for key, connection in idle:
            pieces += connection.close()
            self._known.pop(key, None)
            self._known.pop(reverse(key), None)
        return pieces


def largest(sizes: Mapping[K, int], limit: int) -> list[K]:
    """The keys of the largest sizes, without which half of ``limit`` is left; none if the sum is within it."""
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
    """The pieces of all connections, and errors of files. All files are one capture: their packets are merged by
    time.

    ``share`` (i, n) selects the connections whose hash is i of n; problems of files are only in the first share.
    ``ports`` are server ports: only connections to them are returned. Without it, the sender of the SYN is the
    client; if there was none, the connection has a ``guess``. ``start`` (inclusive)
    and ``end`` (exclusive), in seconds since the epoch, limit the packets. At most ``most`` connections are kept in
    memory. ``secrets`` takes the key logs in the files, each before the packets that follow it. Neither the content
    of a file nor an unreadable file raises an error.
    """
    connections = Connections(share, ports, most)
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


def capture_blocks(
    files: Sequence[str],
    passed: AbstractSet[bytes] = frozenset(),
    start: float = ALWAYS,
    end: float = NEVER,
    secrets: Secrets | None = None,
) -> Iterator[Block]:
    """The TCP packets of all files by time, and errors; arguments as for ``file_packets``."""
    waiting = deque(sorted((first_time(path), path) for path in files))
    readers: list[_Reader] = []
    while readers or waiting:
        while waiting and (not readers or waiting[0][0] <= min(reader.time for reader in readers)):
            readers.append(_Reader(file_blocks(waiting.popleft()[1], passed, start, end, secrets)))
        first = min(readers, key=lambda reader: reader.time)
        others = [reader.time for reader in readers if reader is not first]
        yield from first.until(min([*others, waiting[0][0] if waiting else NEVER]))
        readers = [reader for reader in readers if not reader.ended]


class _Reader:
    """The packets of a file. ``time`` is that of the next one."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._next = next(blocks, [])
        self.time = _first_time(self._next)

    @property
    def ended(self) -> bool:
        return not self._next

    def until(self, time: float) -> Iterator[Block]:
        """The next packet, and all others before the first that comes after ``time``."""
        skipped = 1
        while self._next:
            block = self._next
            if time != NEVER:
                for index in range(skipped, len(block)):
                    item = block[index]
                    if isinstance(item, Packet) and item.time > time:
                        self._next, self.time = block[index:], item.time
                        if index:
                            yield block[:index]
                        return
            self._next, skipped = [], 0
            yield block
            self._next = next(self._blocks, [])


def _first_time(block: Block) -> float:
    return next((item.time for item in block[:1] if isinstance(item, Packet)), ALWAYS)


close_classes()
