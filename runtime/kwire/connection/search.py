"""Resynchronising: finding the next frame in a stream whose frame boundaries are unknown.

Every position where a frame may begin is a candidate. The size field at that position determines where the candidate
ends. The first complete message wins, so a false candidate with a size of a hundred megabytes causes no delay. The
work is proportional to the number of bytes searched.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

from kwire.connection.framing import DECODES, EXPECTED, IMPLAUSIBLE, NEWER, PLAUSIBLE
from kwire.native import mypyc_attr

if TYPE_CHECKING:
    from kwire.connection.framing import Framing

MAX_CANDIDATES: Final = 128
"""Maximum number of candidates followed at once. If there are more, the half that ends later is dropped, but not the
frame expected after a whole frame.
"""

MANY_FOUND: Final = 256
"""Number of false candidates after which the search skips bytes after each match, one more byte each time. As a
result, bytes crafted to look like headers do not slow down the search. Frames after such bytes are found once false
candidates become rare.
"""

MAX_EFFORT: Final = 8
"""Maximum number of bytes decoded to score candidates, as a multiple of the bytes searched."""


class Candidate(NamedTuple):
    """A position where a frame may begin. The search decides whether it is a frame when the stream reaches the
    position ``due``.

    The ``expected`` candidate begins at the end of the last frame, or where the stream was joined. All other
    candidates are matches of the pattern for frame prefixes.
    """

    due: int
    start: int
    end: int
    started: float
    kind: int
    expected: bool


@mypyc_attr(serializable=True)
class Search:
    """A search for frames of up to ``max_found`` bytes from the position ``begin``. The byte at ``begin`` arrived at
    the time ``started``.

    ``trusted`` says whether the previous frame is known to have ended at ``begin``. Once a frame is found, ``synced``
    says whether the next frame is known to begin at its end.
    """

    def __init__(self, framing: Framing, begin: int, started: float, max_found: int, *, trusted: bool) -> None:
        self._framing = framing
        self._begin = begin
        self._started = started
        self._max_found = max_found
        self._trusted = trusted
        self._scanned = begin + 1  # all candidates before this position are known or were skipped
        self._seen = begin  # the end of the bytes received so far
        self._candidates: list[Candidate] = []  # a heap
        self._effort = 0
        self.found = 0
        """The number of candidates found so far."""
        self.synced = False
        self.reason = "no frame begins there" if trusted else "the stream was joined in the middle"

    def expect(self, end: int, kind: int) -> None:
        """Add the expected candidate, which ends at the position ``end``."""
        heappush(self._candidates, Candidate(end, self._begin, end, self._started, kind, True))

    @property
    def settled(self) -> int:
        """The position before which no frame begins."""
        return min((candidate.start for candidate in self._candidates), default=min(self._scanned, self._seen))

    def advance(self, buffer: bytearray, base: int, time: float, *, ended: bool) -> Candidate | None:
        """Return the next frame, or ``None`` if more bytes are needed. ``buffer`` begins at the position ``base``."""
        stop = self._seen = base + len(buffer)
        if ended:
            self._candidates = [candidate._replace(due=candidate.end) for candidate in self._candidates]
            self._candidates = [candidate for candidate in self._candidates if candidate.end <= stop]
            heapify(self._candidates)
        while True:
            due = self._candidates[0].due if self._candidates else stop + 1
            if self._find(buffer, base, min(due, stop), time):
                continue
            if due > stop:
                return None
            candidate = heappop(self._candidates)
            if self._can_afford(candidate) and self._accept(candidate, buffer, base, ended):
                return candidate

    def _find(self, buffer: bytearray, base: int, until: int, time: float) -> bool:
        """Add candidates whose prefix ends by the position ``until``.

        Return whether to call this method again, which is necessary if a candidate ends by ``until`` or bytes were
        skipped.
        """
        framing, most = self._framing, self._max_found
        for match in framing.starts(buffer, self._scanned - base, until - base):
            index: int = match.start()
            size = framing.size_at(buffer, index)
            if size < 0:
                continue
            self.found += 1
            start = base + index
            end = start + 4 + size
            if size <= most:
                self._add_candidate(start, end, time)
            if end <= until or self.found > MANY_FOUND:
                self._scanned = start + 1 + max(0, self.found - MANY_FOUND)
                return True
        self._scanned = max(self._scanned, until - framing.prefix_size + 1)
        return False

    def _add_candidate(self, start: int, end: int, time: float) -> None:
        heappush(self._candidates, Candidate(end, start, end, time, EXPECTED, False))
        if len(self._candidates) > MAX_CANDIDATES:
            ordered, half = sorted(self._candidates), MAX_CANDIDATES // 2
            expected = [candidate for candidate in ordered[half:] if candidate.expected and self._trusted]
            self._candidates = ordered[:half] + expected

    def _can_afford(self, candidate: Candidate) -> bool:
        """Return whether to score ``candidate``. The expected candidate is always scored, once or twice."""
        effort = self._effort + candidate.end - candidate.start
        if not candidate.expected and effort > MAX_EFFORT * (candidate.end - self._begin):
            return False
        self._effort = effort
        return True

    def _accept(self, candidate: Candidate, buffer: bytearray, base: int, ended: bool) -> bool:
        """Return whether ``candidate`` is a frame, and set ``synced`` if it is."""
        score = self._framing.score(bytes(buffer[candidate.start + 4 - base : candidate.end - base]))
        if candidate.expected and self._trusted:
            self.synced = score != IMPLAUSIBLE
            return True
        if score in (DECODES, NEWER) or (candidate.expected and score == PLAUSIBLE):
            self.synced = True
            return True
        if score == IMPLAUSIBLE or not candidate.expected:
            return False
        if candidate.due == candidate.end and not ended:
            # The next frame may begin within this frame. Later bytes show whether it does.
            heappush(self._candidates, candidate._replace(due=candidate.end + self._framing.lookahead))
            return False
        within = [other.start - base for other in self._candidates if other.start < candidate.end]
        return not any(self._framing.is_promising(buffer, index) for index in within)
