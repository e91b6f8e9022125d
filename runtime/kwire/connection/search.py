"""Finding the next frame in a stream that is out of step.

Every place that may be the beginning of a frame is followed up to the end that its size tells. The first whole
message wins: the one that ends first, so a beginning that is none, and claims a hundred megabytes, holds nothing up.
The work is bounded by the number of bytes, whatever they are.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from kwire.connection.framing import GOOD, NEWER, SURE, UNLIKELY, UNSURE

if TYPE_CHECKING:
    from kwire.connection.framing import Framing

MAX_CANDIDATES = 128
"""So many beginnings are followed at once; if there are more, the longer half is dropped."""

MAX_EFFORT = 8
"""Beginnings may be read, to see what they are, up to so many times the bytes that were searched."""

_SIZE = Struct(">i")


class Candidate(NamedTuple):
    """A place where a frame may begin, to be decided on at the position ``due``.

    ``expected`` is the one where the last frame ended, or where the stream was joined; the others were found."""

    due: int
    start: int
    end: int
    started: float
    verdict: int
    expected: bool


class Found(NamedTuple):
    start: int
    end: int
    started: float
    verdict: int
    payload: bytes
    synced: bool


class Search:
    """A search that begins at the position ``begin``. ``started`` is the time of the byte there, ``trusted`` whether
    the frame before ended there for sure."""

    def __init__(self, side: Framing, begin: int, started: float, limit: int, *, trusted: bool) -> None:
        self._side = side
        self._begin = begin
        self._started = started
        self._limit = limit
        self._trusted = trusted
        self._scanned = begin + 1  # candidates that begin before are known
        self._candidates: list[Candidate] = []  # a heap
        self._effort = 0
        self.reason = "no frame begins there" if trusted else "the stream was joined in the middle"

    def expect(self, end: int, verdict: int) -> None:
        """Where the search begins there may be a frame that ends at the position ``end``."""
        heappush(self._candidates, Candidate(end, self._begin, end, self._started, verdict, True))

    @property
    def settled(self) -> int:
        """The position before which no frame begins."""
        return min((candidate.start for candidate in self._candidates), default=self._scanned)

    def advance(self, buffer: bytearray, base: int, time: float, *, ended: bool) -> Found | None:
        """The next frame, or ``None`` if that takes more bytes. ``buffer`` begins at the position ``base``."""
        stop = base + len(buffer)
        if ended:
            self._candidates = [candidate._replace(due=candidate.end) for candidate in self._candidates]
            self._candidates = [candidate for candidate in self._candidates if candidate.end <= stop]
            heapify(self._candidates)
        while True:
            due = self._candidates[0].due if self._candidates else stop + 1
            until = min(due, stop)
            index = self._side.candidate(buffer, self._scanned - base, until - base)
            if index >= 0:
                self._follow(base + index, _SIZE.unpack_from(buffer, index)[0], time)
                self._scanned = base + index + 1
                continue
            self._scanned = max(self._scanned, until - self._side.head + 1)
            if due > stop:
                return None
            candidate = heappop(self._candidates)
            if not self._affords(candidate):
                continue
            payload = bytes(buffer[candidate.start + 4 - base : candidate.end - base])
            synced = self._decide(candidate, payload, buffer, base, ended)
            if synced is not None:
                return Found(*candidate[1:5], payload, synced)

    def _follow(self, start: int, size: int, time: float) -> None:
        if size > self._limit:
            return
        end = start + 4 + size
        heappush(self._candidates, Candidate(end, start, end, time, GOOD, False))
        if len(self._candidates) > MAX_CANDIDATES:
            self._candidates = sorted(self._candidates)[: MAX_CANDIDATES // 2]

    def _affords(self, candidate: Candidate) -> bool:
        """Whether to read it. What is expected is read once, or twice."""
        effort = self._effort + candidate.end - candidate.start
        if not candidate.expected and effort > MAX_EFFORT * (candidate.end - self._begin):
            return False
        self._effort = effort
        return True

    def _decide(self, candidate: Candidate, payload: bytes, buffer: bytearray, base: int, ended: bool) -> bool | None:
        """Whether the stream is in step behind this frame; ``None`` if it is no frame."""
        weight = self._side.score(payload)
        if not candidate.expected and weight not in (SURE, NEWER):
            return None
        if self._trusted and candidate.expected:
            return weight != UNLIKELY
        if weight == UNLIKELY:
            return None
        if weight != UNSURE:
            return True
        if candidate.due == candidate.end and not ended:
            # What follows may begin in it, which shows when more has arrived.
            heappush(self._candidates, candidate._replace(due=candidate.end + self._side.outlook))
            return None
        within = [other.start - base for other in self._candidates if other.start < candidate.end]
        return None if any(self._side.is_promising(buffer, index) for index in within) else False
