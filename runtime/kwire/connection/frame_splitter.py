"""One direction of a connection: a stream of bytes, cut into frames.

A frame is four bytes of size and that many bytes. Nothing marks where one begins, so a stream that was joined in the
middle or lost bytes has to be searched (``search.py``). What is decided, and after which byte, follows from the bytes
alone: it does not matter in which pieces they arrive.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from kwire.connection.detect import NEEDED, SMALLEST, sniff_protocol
from kwire.connection.events import Gap, NotKafka, Skipped
from kwire.connection.frame import Frame
from kwire.connection.framing import BAD, DOUBTFUL, MORE
from kwire.connection.search import Search

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from kwire.connection.events import Direction, Event
    from kwire.connection.framing import Framing

PIECE = 65_536
"""Bytes that are skipped are reported in pieces of this size."""

_SIZE = Struct(">i")


class Damaged:
    """A frame with a hole, of which ``left`` bytes are still to come."""

    __slots__ = ("data", "intact", "left", "missing", "position", "started", "verdict")

    def __init__(self, position: int, started: float, data: bytearray, verdict: int, left: int) -> None:
        self.position = position
        self.started = started
        self.data = data
        self.intact = len(data)
        self.verdict = verdict
        self.left = left
        self.missing = 0


class FrameSplitter:
    """Feed it bytes, take frames, and events for all bytes that are in none.

    A frame has to be acted on before the next is asked for, because what comes next is judged by it.
    """

    def __init__(self, side: Framing, direction: Direction, limit: int, *, beginning: bool) -> None:
        if not 0 < limit < SMALLEST:
            raise ValueError(f"the limit of frames must be below {SMALLEST}, not {limit}")
        self.lost = 0
        """How often bytes were skipped or missing."""
        self._side = side
        self._direction = direction
        self._limit = limit
        self._beginning = beginning
        self._synced = beginning  # whether a frame is known to begin where the last one ended
        self._buffer = bytearray()
        self._base = 0  # position in the stream of the first byte in the buffer
        self._at = 0  # index in the buffer of the first byte that is not settled
        self._started = 0.0  # time of that byte
        self._verdict = MORE  # on the frame that begins there
        self._size = 0  # of that frame
        self._damaged: Damaged | None = None
        self._search: Search | None = None
        self._ended = False
        self._ignored: int | None = None  # bytes that are only counted

    def feed(self, data: bytes | bytearray | memoryview, time: float) -> Iterator[Frame | Event]:
        """What ``data`` completes, in order."""
        if self._ignored is not None:
            self._ignored += len(data)
            return
        if not self._buffer:
            self._started = time
        self._buffer += data
        yield from self._cut(time)

    def gap(self, size: int, time: float) -> Iterator[Frame | Event]:
        """``size`` bytes were not seen; 0 if nobody knows how many. A hole in a frame does no harm to others."""
        self.lost += 1
        position = self._base + len(self._buffer) + (self._ignored or 0)
        if self._ignored is not None:
            self._base += size
        elif not (size and self._dig(size)):
            yield from self._give_up(time, "the bytes behind them are missing")
            self._base += size
            self._synced = self._beginning = False
        yield Gap(time, self._direction, position, size)
        yield from self._cut(time)

    def close(self, time: float) -> Iterator[Frame | Event]:
        """All that is left over, because nothing will follow."""
        if self._ignored is None:
            yield from self._give_up(time, "the stream ends behind them")
        if self._ignored:
            yield Skipped(time, self._direction, self._base, self._ignored, b"", "this connection is not Kafka")

    def ignore(self) -> None:
        """From here on only count bytes, and those that are not settled with them."""
        if self._ignored is None:
            self._ignored = len(self._buffer) - self._at
            self._base += self._at
            if self._damaged is not None:
                self._ignored += 4 + len(self._damaged.data)
            self._buffer.clear()
            self._at = 0

    def _cut(self, time: float) -> Iterator[Frame | Event]:
        while self._ignored is None:
            if self._search is not None:
                if not (yield from self._find(self._search, time)):
                    break
            elif self._damaged is not None:
                if not self._fill(self._damaged):
                    break
                yield self._whole(self._damaged, time)
            elif self._verdict == MORE:
                told = self._judge(time)
                if told is not None:
                    yield told
                elif self._verdict == MORE and self._search is None:
                    break
            else:
                at, end = self._at, self._at + 4 + self._size
                if len(self._buffer) < end:
                    break
                payload = bytes(self._buffer[at + 4 : end])
                frame = Frame(time, self._direction, self._base + at, self._started, payload, self._verdict)
                self._at, self._started, self._verdict = end, time, MORE
                yield frame
        if self._at:
            del self._buffer[: self._at]
            self._base += self._at
            self._at = 0

    def _judge(self, time: float) -> Event | None:
        """Look at the first bytes of the next frame: expect it, begin a search, or tell that this is not Kafka."""
        buffer, at = self._buffer, self._at
        if len(buffer) < at + 4:
            return None
        size: int = _SIZE.unpack_from(buffer, at)[0]
        verdict = BAD if size < 0 or size > self._limit else self._side.classify(buffer, at, size)
        if verdict == MORE:
            return None
        if verdict == BAD and self._base + at == 0:
            other = sniff_protocol(buffer)
            if other is False and not self._ended:
                return None
            if other or self._beginning:
                data = bytes(buffer[: NEEDED.get(other or "", 4)])
                self._at = len(data)
                return NotKafka(time, self._direction, 0, other or "unknown", data)
        if self._synced and verdict not in (BAD, DOUBTFUL):
            self._verdict, self._size = verdict, size
        else:
            self._search = Search(self._side, self._base + at, self._started, self._limit, trusted=self._synced)
            if verdict != BAD:
                self._search.expect(self._base + at + 4 + size, verdict)
        return None

    def _find(self, search: Search, time: float) -> Generator[Frame | Event, None, bool]:
        """Search on. Gives whether there may be more in the buffer, after a frame that was found."""
        found = search.advance(self._buffer, self._base, time, ended=self._ended)
        yield from self._skip(found.start if found else search.settled, time, search.reason, whole=found is not None)
        if found is None:
            return False
        self._search, self._synced = None, found.synced
        self._at, self._started = found.end - self._base, time
        yield Frame(time, self._direction, found.start, found.started, found.payload, found.verdict)
        return True

    def _skip(self, upto: int, time: float, reason: str, *, whole: bool) -> Iterator[Event]:
        """Report what is not settled before the position ``upto``, or as many whole pieces as that has."""
        while (left := upto - self._base - self._at) >= (1 if whole else PIECE):
            data = bytes(self._buffer[self._at : self._at + min(left, PIECE)])
            event = Skipped(time, self._direction, self._base + self._at, len(data), data, reason)
            self._at += len(data)
            self.lost += 1
            yield event

    def _dig(self, size: int) -> bool:
        """Whether the next ``size`` bytes are all of the frame that is under way: then it is a damaged one."""
        damaged = self._damaged
        if damaged is None:
            if self._verdict == MORE:
                return False
            damaged = self._under_way()
        if size > damaged.left:
            return False
        damaged.left -= size
        damaged.missing += size
        self._base += len(self._buffer) + size
        self._buffer.clear()
        self._damaged, self._verdict = damaged, MORE
        return True

    def _under_way(self) -> Damaged:
        left = 4 + self._size - len(self._buffer)
        return Damaged(self._base, self._started, self._buffer[4:], self._verdict, left)

    def _fill(self, damaged: Damaged) -> bool:
        data = self._buffer[self._at : self._at + damaged.left]
        damaged.data += data
        damaged.left -= len(data)
        self._at += len(data)
        return not damaged.left

    def _whole(self, damaged: Damaged, time: float) -> Frame:
        self._damaged, self._started = None, time
        data = bytes(damaged.data)
        frame = Frame(time, self._direction, damaged.position, damaged.started, data, damaged.verdict)
        frame.intact = damaged.intact
        frame.missing = damaged.missing + damaged.left
        frame.complete = not damaged.left
        return frame

    def _give_up(self, time: float, reason: str) -> Iterator[Frame | Event]:
        """Settle all that has arrived: nothing that completes it will."""
        self._ended = True
        yield from self._cut(time)
        self._ended = False
        if self._ignored is not None:
            return
        if self._damaged is not None:
            yield self._whole(self._damaged, time)
        elif self._verdict != MORE:
            yield self._whole(self._under_way(), time)
        else:
            yield from self._skip(self._base + len(self._buffer), time, reason, whole=True)
        self._base += len(self._buffer)
        self._buffer.clear()
        self._at, self._verdict, self._search = 0, MORE, None
