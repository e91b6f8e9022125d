"""Reads the files of a capture into pieces of its connections: orders packets by time, then assigns each to its
connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TypeVar
from zlib import crc32

from kwire_spark.capture.ordering import PACKET_SIZE
from kwire_spark.capture.packets import RST, Packet, packet, ports_of, reverse
from kwire_spark.capture.pcap import MAGICS, Record, Report, Secrets, pcap_records
from kwire_spark.capture.pcapng import MAGIC, pcapng_records
from kwire_spark.capture.pieces import Broken, Piece
from kwire_spark.capture.servers import Servers
from kwire_spark.capture.tcp import GRACE, TcpConnection
from kwire_spark.capture.unwrapping import Unwrapper
from kwire_spark.storage import DamagedStreamError, Window

ALWAYS, NEVER = float("-inf"), float("inf")
MORE = 0x20
"""The bit of IPv4's flags that the first fragment of a packet has: no other packet follows its header as usual."""
LONGEST = 1 << 20
"""How many bytes of a packet are read: twice as many as a network card merges."""
HELD = 32 << 20
"""Limit of the bytes of packets that wait for others on all connections."""
BEGINNING = 64
"""How many bytes identify the format of a file; decompression may yield fewer at first."""


def file_packets(
    path: str,
    passed: Container[bytes] = (),
    start: float = ALWAYS,
    end: float = NEVER,
    secrets: Secrets | None = None,
) -> Iterator[Packet | Broken]:
    """The TCP packets of a file from ``start`` to ``end``, exclusive, and the file's problems.

    Packets whose key is in ``passed`` are skipped as fast as possible; the set may grow meanwhile. ``secrets`` takes
    the key logs in the file.
    """
    report = Report(path, secrets)
    unwrapper = Unwrapper(report)
    with closing(Window(path)) as window:
        try:
            yield from _packets(window, unwrapper, passed, start, end)
        except OSError as error:
            report.add(0, f"cannot be read: {error.strerror or error}")
        except DamagedStreamError as error:
            report.add(window.base + len(window.buffer), str(error))
    yield from unwrapper.close()
    yield from report.take()


def _packets(
    window: Window, unwrapper: Unwrapper, passed: Container[bytes], start: float, end: float
) -> Iterator[Packet | Broken]:
    report, has_tcp = unwrapper.report, False
    path = report.source
    try:
        for time, begin, stop, length, at, link in _records(window, report):
            buffer = window.buffer
            stop = min(stop, begin + LONGEST)
            if stop - begin < length:
                reason = f"truncated packets: only {stop - begin} of {length} bytes were captured here"
                report.add(window.base + at, reason, "cut")
            four, six = begin + link.four, begin + link.six
            key = buffer[four : four + 12]
            if (key in passed and not buffer[four - 6] & MORE) or buffer[six : six + 36] in passed:
                has_tcp = True
                continue
            if not start <= time < end:
                continue
            if report.new:
                yield from report.take()
            place = window.base + at
            captured = packet(buffer, begin, stop, length, link.network, time, path, place)
            if captured is not None:
                has_tcp = True
                yield captured
                continue
            yield from unwrapper.add(buffer, begin, stop, length, link.layer, time, place)
    finally:
        unwrapper.has_tcp |= has_tcp


def first_time(path: str) -> float:
    """The time of the first packet of a file; 0 if it has none."""
    with suppress(OSError, DamagedStreamError), closing(Window(path, peek=True)) as window:
        return next((time for time, *_ in _records(window, Report(path))), 0.0)
    return 0.0


def _records(window: Window, report: Report) -> Iterator[Record]:
    while len(window.buffer) < BEGINNING and window.advance(0):
        pass
    if not window.buffer:
        report.add(0, "not a capture: the file is empty")
        return iter(())
    kind = window.buffer[:4]
    if kind in MAGICS:
        return pcap_records(window, report)
    if kind == MAGIC:
        return pcapng_records(window, report)
    report.add(0, f"not a capture: the first bytes are {kind.hex(' ')}")
    return iter(())


K = TypeVar("K")

MOST_PASSED = 1 << 17
MOST_CONNECTIONS = 30_000
"""Each takes up to 5 kB of memory, and what waits for more."""


class Connections:
    """The connections of a share of a capture: with ``share`` (i, n) those whose hash is i of n, with ``ports`` only
    those to such a server.

    ``passed`` has the keys of packets that are not needed: readers may skip these packets. At most ``most``
    connections are kept; of more, those in which nothing happened for the longest time are closed.
    """

    def __init__(
        self, share: tuple[int, int] = (0, 1), ports: Collection[int] = (), most: int = MOST_CONNECTIONS
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
        if len(self.passed) >= MOST_PASSED:
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
    most: int = MOST_CONNECTIONS,
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
    for item in capture_packets(files, connections.passed, first, last, secrets):
        if isinstance(item, Packet):
            yield from connections.add(item)
        elif share[0] == 0:
            yield item
    yield from connections.close()


def capture_packets(
    files: Sequence[str],
    passed: Container[bytes] = (),
    start: float = ALWAYS,
    end: float = NEVER,
    secrets: Secrets | None = None,
) -> Iterator[Packet | Broken]:
    """The TCP packets of all files by time, and errors; arguments as for ``file_packets``."""
    waiting = deque(sorted((first_time(path), path) for path in files))
    readers: list[_Reader] = []
    while readers or waiting:
        while waiting and (not readers or waiting[0][0] <= min(reader.time for reader in readers)):
            readers.append(_Reader(file_packets(waiting.popleft()[1], passed, start, end, secrets)))
        first = min(readers, key=lambda reader: reader.time)
        others = [reader.time for reader in readers if reader is not first]
        yield from first.until(min([*others, waiting[0][0] if waiting else NEVER]))
        readers = [reader for reader in readers if not reader.ended]


class _Reader:
    """The packets of a file, with access to the next one."""

    def __init__(self, packets: Iterator[Packet | Broken]) -> None:
        self._packets = packets
        self._next: Packet | Broken | None = next(packets, None)
        self.time = self._next.time if isinstance(self._next, Packet) else ALWAYS

    @property
    def ended(self) -> bool:
        return self._next is None

    def until(self, time: float) -> Iterator[Packet | Broken]:
        """The next packet, and all others before ``time``."""
        if self._next is not None:
            yield self._next
        if time == NEVER:
            yield from self._packets
        for item in self._packets:
            if isinstance(item, Packet) and item.time > time:
                self._next, self.time = item, item.time
                return
            yield item
        self._next = None
