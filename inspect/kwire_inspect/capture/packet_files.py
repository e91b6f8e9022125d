"""Reads the TCP packets of pcap and pcapng files, in blocks and in order of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing, suppress

from kwire.native import close_classes, i64
from kwire_inspect.capture.packets import Link, Packet, packet
from kwire_inspect.capture.pcap import MAGICS, Broken, Report, Secrets, Taker, pcap_records
from kwire_inspect.capture.pcapng import MAGIC, pcapng_records
from kwire_inspect.capture.unwrapping import Unwrapper
from kwire_inspect.storage import DamagedStreamError, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

ALWAYS, NEVER = float("-inf"), float("inf")
MORE: Final = 0x20
"""IPv4 flag for more fragments. The first fragment of a packet has this flag, and contains only a part of the TCP
packet.
"""
LONGEST: Final = 1 << 20
"""Maximum number of bytes to read from a packet: twice the maximum size of packets merged by network cards."""
BEGINNING = 64
"""Number of bytes to read before identifying the format of a file. Decompression may yield fewer bytes at first."""
Block = list[Packet | Broken]
"""Consecutive packets of a file, and the file's problems."""


def file_packets(
    path: str,
    passed: AbstractSet[bytes] = frozenset(),
    start: float = ALWAYS,
    end: float = NEVER,
    secrets: Secrets | None = None,
) -> Iterator[Packet | Broken]:
    """Yield the TCP packets of a file, and the file's problems.

    ``start`` and ``end`` select packets by time, in seconds since the epoch. ``end`` is exclusive. Packets whose
    ``Packet.key`` is in ``passed`` are skipped as early as possible. The caller may add keys to ``passed`` during the
    iteration. ``secrets`` is called with each key log in the file.
    """
    for block in file_blocks(path, passed, start, end, secrets):
        yield from block


def file_blocks(
    path: str, passed: AbstractSet[bytes], start: float, end: float, secrets: Secrets | None
) -> Iterator[Block]:
    """Yield the items of ``file_packets`` in non-empty blocks, each from about 128 KB of the file."""
    report = Report(path, secrets)
    with closing(Window(path)) as window:
        sieve = Sieve(report, passed, start, end)
        try:
            for _ in _records(window, report, sieve):
                if block := sieve.taken():
                    yield block
        except OSError as error:
            report.add(0, f"cannot be read: {error.strerror or error}")
        except DamagedStreamError as error:
            report.add(window.base + len(window.buffer), str(error))
    if last := sieve.close():
        yield last


class Sieve(Taker):
    """Collects the TCP packets of a file, except packets outside the time range and packets with keys in ``passed``.

    ``has_tcp`` says whether any TCP packets in the time range were found, including packets with keys in ``passed``.
    """

    __slots__ = (
        "_cut",
        "_end",
        "_found",
        "_passed",
        "_path",
        "_report",
        "_start",
        "_unwrapper",
        "has_tcp",
    )

    def __init__(self, report: Report, passed: AbstractSet[bytes], start: float, end: float) -> None:
        self._unwrapper: Unwrapper | None = None  # most files need no unwrapper
        self._report = report
        self._path = report.source
        self._passed = passed
        self._start = start
        self._end = end
        self._cut = False
        self._found: Block = []
        self.has_tcp = False

    def taken(self) -> Block:
        """Return the packets and problems found since the last call."""
        found, self._found = self._found, []
        return found

    def close(self) -> Block:
        """Return the packets that still wait for fragments at the end of the file, and the remaining problems."""
        last: Block = []
        if self._unwrapper is not None:
            self._unwrapper.has_tcp |= self.has_tcp
            last += self._unwrapper.close()
        self._report.end()
        return last + self._report.take()

    def take(self, buffer: bytes, begin: i64, stop: i64, length: i64, place: i64, link: Link, time: float) -> None:
        if not self._start <= time < self._end:
            return
        if stop - begin > LONGEST:
            stop = begin + LONGEST
        if stop - begin < length and not self._cut:
            self._cut = True
            reason = f"truncated packets: only {stop - begin} of {length} bytes were captured here"
            self._report.add(place, reason)
        ip = begin + link.header
        if link.header >= 0 and ip + 24 <= stop:
            # In a packet with VLAN tags or IP options, the bytes at this offset are not the key and match no key.
            if buffer[ip] >> 4 == 6:
                if buffer[ip + 8 : ip + 44] in self._passed:
                    self.has_tcp = True
                    return
            elif buffer[ip + 12 : ip + 24] in self._passed and not buffer[ip + 6] & MORE:
                self.has_tcp = True
                return
        if self._report.new:
            self._found += self._report.take()
        found = packet(buffer, begin, stop, length, link, time, self._path, place)
        if found is not None:
            self.has_tcp = True
            self._found.append(found)
        else:
            if self._unwrapper is None:
                self._unwrapper = Unwrapper(self._report)
            self._found += self._unwrapper.add(buffer, begin, stop, length, link.layer, time, place)


def first_time(path: str) -> float:
    """Return the time of the first packet in a file, in seconds since the epoch, or 0 if the file has no packets."""
    with suppress(OSError, DamagedStreamError), closing(Window(path, peek=True)) as window:
        clock = _Clock()
        for _ in _records(window, Report(path), clock):
            if clock.first is not None:
                return clock.first
    return 0.0


class _Clock(Taker):
    """Records the time of the first packet."""

    __slots__ = ("first",)

    def __init__(self) -> None:
        self.first: float | None = None

    def take(self, buffer: bytes, begin: i64, stop: i64, length: i64, place: i64, link: Link, time: float) -> None:
        if self.first is None:
            self.first = time


def _records(window: Window, report: Report, taker: Taker) -> Iterator[None]:
    while len(window.buffer) < BEGINNING and window.advance(0):
        pass
    if not window.buffer:
        report.add(0, "not a capture: the file is empty")
        return iter(())
    kind = window.buffer[:4]
    if kind in MAGICS:
        return pcap_records(window, report, taker)
    if kind == MAGIC:
        return pcapng_records(window, report, taker)
    report.add(0, f"not a capture: the first bytes are {kind.hex(' ')}")
    return iter(())


def capture_blocks(
    files: Sequence[str],
    passed: AbstractSet[bytes] = frozenset(),
    start: float = ALWAYS,
    end: float = NEVER,
    secrets: Secrets | None = None,
) -> Iterator[Block]:
    """Yield blocks that contain the TCP packets of all files, in order of time, and the problems of the files.

    For the other arguments, see ``file_packets``.
    """
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
    """Reads the packets of a file. ``time`` is the time of the next packet."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._next = next(blocks, [])
        self.time = _first_time(self._next)

    @property
    def ended(self) -> bool:
        return not self._next

    def until(self, time: float) -> Iterator[Block]:
        """Yield blocks that contain the next packet and all later packets up to ``time``."""
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
