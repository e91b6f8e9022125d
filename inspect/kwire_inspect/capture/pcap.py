"""Reads the packets of pcap files, and collects the problems of capture files."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from librt.strings import read_i64_be, read_i64_le

from kwire.native import close_classes, i64
from kwire_inspect.capture.packets import U32, Link, link_of
from kwire_inspect.reasons import OTHER_REASONS
from kwire_inspect.storage import Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kwire_inspect.capture.candidates import Headers

MAX_PACKET = 1 << 18
"""Maximum packet size in bytes, unless the file header allows larger packets. libpcap has the same limit."""
BELIEVED = 1 << 24
"""Maximum packet size in bytes that a file header can allow. A larger value in the header is ignored."""
LATEST = 1 << 33
"""Upper limit of packet times, in seconds since the epoch: the year 2242.

Later times, and times before the epoch, are rejected. Spark and pandas cannot represent times in the far future, and
a stream treats the latest packet time as the current time.
"""
MAX_REASONS = 100
"""Maximum number of reasons to count separately in a file."""
MAX_COUNTED = 1 << 48
"""Maximum number of packets, and of bytes, to count in a file. Larger counts in hostile files could overflow sums."""
Secrets = Callable[[bytes], None]
"""Function that receives the text of a key log."""
HEADER = 24
MIN_PACKET = 24
"""Minimum size in bytes of the first packet after invalid bytes."""
APART = 30 * 86400
"""Maximum time, in seconds, between the first packet of a file and a packet after invalid bytes."""
MAX_TRIES = 200
"""Maximum number of positions in a window to try one by one. All later positions are examined at once."""
SIZE_END = 12
"""End of the size field in a packet header, as a byte offset. The size is never 0."""
MICROSECONDS, NANOSECONDS, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
MAGICS = {
    struct.pack(order + "I", magic): (order, magic)
    for order in ("<", ">")
    for magic in (MICROSECONDS, NANOSECONDS, MODIFIED)
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A problem in a capture file, reported once for each cause.

    ``packets`` is the number of packets that were not read, and ``unread`` is the number of bytes in these packets
    that may be TCP traffic.
    """

    source: str
    position: int
    reason: str
    unread: int = 0
    packets: int = 0


def limit_of(snaplen: int) -> int:
    """Return the maximum packet size to accept, in bytes. A ``snaplen`` of 0 means that the file sets no limit."""
    return max(MAX_PACKET, snaplen if snaplen <= BELIEVED else 0)


class Report:
    """Collects the problems of a file. Each kind of problem is reported once, at its first position. Unread packets
    are counted, and the counts are reported at the end of the file.

    ``secrets``, if it is set, is called with each key log in the file.
    """

    __slots__ = ("_counted", "_known", "new", "secrets", "source")

    def __init__(self, source: str, secrets: Secrets | None = None) -> None:
        self.secrets = secrets
        self.source = source
        self._known: set[str] = set()
        self._counted: dict[str, Broken] = {}
        self.new: list[Broken] = []

    def add(self, position: int, reason: str, kind: str = "") -> None:
        """Report a problem. Problems of the same ``kind`` are reported only once, even if their messages differ."""
        if (kind or reason) not in self._known:
            self._known.add(kind or reason)
            self.new.append(Broken(self.source, position, reason))

    def count(self, position: int, reason: str, size: int, packets: int = 1) -> None:
        """Count unread packets that contain ``size`` bytes of possible traffic."""
        if reason not in self._counted and len(self._counted) >= MAX_REASONS:
            reason = OTHER_REASONS
        known = self._counted.get(reason) or Broken(self.source, position, reason)
        unread, packets = min(known.unread + size, MAX_COUNTED), min(known.packets + packets, MAX_COUNTED)
        self._counted[reason] = replace(known, unread=unread, packets=packets)

    def end(self) -> None:
        """Add the counted packets to the reported problems."""
        self.new += self._counted.values()
        self._counted = {}

    def take(self) -> list[Broken]:
        taken, self.new = self.new, []
        return taken


class Taker:
    """Receives the packets of a file one by one."""

    __slots__ = ()

    def take(self, buffer: bytes, begin: i64, stop: i64, length: i64, place: i64, link: Link, time: float) -> None:
        """Receive the packet ``buffer[begin:stop]``, whose record is at ``place`` in the file.

        The packet had ``length`` bytes on the wire.
        """
        raise NotImplementedError


def pcap_records(window: Window, report: Report, taker: Taker) -> Iterator[None]:
    """Pass the packets of the file in ``window`` to ``taker``. Yield after the packets of each window."""
    if len(window.buffer) < HEADER:
        report.add(0, f"truncated: the file ends in its header, after {len(window.buffer)} bytes")
        return
    order, magic = MAGICS[window.buffer[:4]]
    snaplen, number = struct.unpack_from(order + "II", window.buffer, 16)
    number &= 0x03FFFFFF  # the higher bits say whether frames have checksums, which are not part of the IP packet
    link, limit = link_of(number), limit_of(snaplen)
    little = order == "<"
    head: i64 = 24 if magic == MODIFIED else 16
    unit = 1e9 if magic == NANOSECONDS else 1e6
    first = int.from_bytes(window.buffer[HEADER : HEADER + 4], "little" if order == "<" else "big")
    at: i64 = HEADER
    size: i64 = 0
    most: i64 = limit
    while True:
        buffer = window.buffer
        base: i64 = window.base
        end: i64 = len(buffer)
        while at + head <= end:
            if little:
                numbers, sizes = read_i64_le(buffer, at), read_i64_le(buffer, at + 8)
                seconds, fraction, size, length = numbers & U32, numbers >> 32 & U32, sizes & U32, sizes >> 32 & U32
            else:
                numbers, sizes = read_i64_be(buffer, at), read_i64_be(buffer, at + 8)
                seconds, fraction, size, length = numbers >> 32 & U32, numbers & U32, sizes >> 32 & U32, sizes & U32
            begin = at + head
            stop = begin + size
            if stop > end or size <= 0 or size > most:
                break
            taker.take(buffer, begin, stop, length, base + at, link, float(seconds) + float(fraction) / unit)
            at = stop
        yield
        sane = at + head > end or 0 < size <= limit
        if sane and window.advance(at):
            at = 0
            continue
        if at == end:
            return
        at = resumed(window, at, size, report, _mark(order, head, first, limit))
        if at < 0:
            return


@dataclass(frozen=True, slots=True)
class Mark:
    """Describes how to find the next packet or block after damage. ``name`` is the word for it in messages,
    ``packet`` or ``block``.

    ``pattern`` matches at a position ``before`` bytes after the beginning of the packet, and examines at most
    ``ahead`` bytes from this position. A group in the pattern matches a run of zeros. A packet can begin only in the
    last ``SIZE_END`` bytes of the run.

    ``plausible`` returns whether a packet can begin at a position in a buffer. The buffer must contain ``reach``
    bytes from this position, or the rest of the file.
    """

    name: str
    pattern: re.Pattern[bytes]
    before: int
    ahead: int
    plausible: Callable[[bytes, int], bool]
    reach: int
    headers: Callable[[], Headers] | None = None
    """Function that returns an equivalent search with NumPy, whose speed does not depend on the data."""


def _mark(order: str, head: int, first: int, limit: int) -> Mark:
    """Return a mark for two consecutive packet headers with times near ``first``, or for the file's last header."""
    unpack = struct.Struct(order + "IIII").unpack_from

    def end(buffer: bytes, at: int) -> int:
        """Return the end of the packet whose header may be at ``at``, or -1 if there is no header."""
        if at + head > len(buffer):
            return -1
        seconds, fraction, size, length = unpack(buffer, at)
        if abs(seconds - first) > APART or fraction >= 10**9:
            return -1
        return at + head + size if MIN_PACKET <= size <= min(length, limit) else -1

    def plausible(buffer: bytes, at: int) -> bool:
        following = end(buffer, at)
        return following == len(buffer) or (following > 0 and end(buffer, following) > 0)

    def headers() -> Headers:
        from kwire_inspect.capture.candidates import Headers

        return Headers(order, head, (first - APART, first + APART), (MIN_PACKET, limit))

    # The pattern rejects most positions without a call to ``plausible``. It checks the highest byte of the time and
    # the ranges of the fraction and the size.
    near = re.escape((first >> 24).to_bytes(1, "big"))
    runs = rb"(\0{16,})|" if first >> 24 == 0 else b""  # otherwise each byte of a run of zeros would be examined
    if order == ">":
        pattern = near + b"(?:" + runs + rb"(?=...[\x00-\x3b]...(?!\x00\x00\x00[\x00-\x17])[\x00\x01]...))"
        return Mark("packet", re.compile(pattern, re.DOTALL), 0, 12, plausible, limit + 2 * head, headers)
    pattern = near + b"(?:" + runs + rb"(?=...[\x00-\x3b](?![\x00-\x17]\x00\x00\x00)...[\x00\x01]))"
    return Mark("packet", re.compile(pattern, re.DOTALL), 3, 9, plausible, limit + 2 * head, headers)


def resumed(window: Window, at: int, size: int, report: Report, mark: Mark) -> int:
    """Report the invalid ``size`` at ``at``. Return the position of the next ``mark``, or -1 if there is none."""
    place = window.base + at
    at = _found(window, at + 1, mark)
    if at < len(window.buffer):
        report.add(place, f"invalid {mark.name} size {size}: reading continues at the next valid {mark.name}", "size")
        return at
    report.add(place, f"truncated: the last {mark.name} is only {window.base + at - place} bytes long")
    return -1


def _found(window: Window, at: int, mark: Mark) -> int:
    """Return the position of the first ``mark`` at or after ``at``, or the end of the file."""
    more = True
    while True:
        buffer = window.buffer
        stop = len(buffer) - mark.reach if more else len(buffer)
        most = max(stop, 0) + mark.ahead - 1
        start, tries = at + mark.before, 0
        while found := mark.pattern.search(buffer, start, most):
            if found.lastindex is None and mark.plausible(buffer, found.start() - mark.before):
                return found.start() - mark.before
            start, tries = found.end() if found.lastindex is None else found.end() - SIZE_END, tries + 1
            if tries == MAX_TRIES and mark.headers:
                if (place := mark.headers().first(buffer, start - mark.before, stop - mark.before)) >= 0:
                    return place
                break
        if not more:
            return len(buffer)
        at = max(at, stop - mark.before)
        more = window.advance(at)
        at = 0 if more else at


close_classes()
