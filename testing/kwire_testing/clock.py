"""A broker clock that a test can advance."""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count


@dataclass(slots=True, eq=False)
class Timer:
    """A scheduled action that can be cancelled."""

    what: Callable[[], object] | None

    def cancel(self) -> None:
        """Cancel the action."""
        self.what = None


class Clock:
    """A clock that runs at normal speed. ``advance`` sets it forward."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()
        self._timers: list[tuple[float, int, Timer]] = []
        self._number = count()
        self._handle: asyncio.TimerHandle | None = None

    @property
    def now(self) -> float:
        """Time in seconds since the epoch."""
        return time.monotonic() + self._ahead

    @property
    def ms(self) -> int:
        """Time in milliseconds since the epoch."""
        return int(self.now * 1000)

    def advance(self, seconds: float) -> None:
        """Set the clock forward, and run the actions that are then due."""
        self._ahead += seconds
        self._run()

    def later(self, seconds: float, what: Callable[[], object]) -> Timer:
        """Schedule an action to run after ``seconds``. Return its timer."""
        timer = Timer(what)
        heapq.heappush(self._timers, (self.now + seconds, next(self._number), timer))
        self._arm()
        return timer

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` of this clock."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)

    async def wait(self, event: asyncio.Future[None], seconds: float) -> None:
        """Wait for ``event``, but at most for ``seconds``."""

        def wake() -> None:
            if not event.done():
                event.set_result(None)

        timer = self.later(seconds, wake)
        try:
            await event
        finally:
            timer.cancel()

    def stop(self) -> None:
        """Discard all timers."""
        self._timers.clear()
        self._arm()

    def _arm(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        while self._timers and self._timers[0][2].what is None:
            heapq.heappop(self._timers)
        if self._timers:
            wait = max(0.0, self._timers[0][0] - self.now)
            self._handle = asyncio.get_running_loop().call_later(wait, self._run)

    def _run(self) -> None:
        while self._timers and self._timers[0][0] <= self.now:
            what = heapq.heappop(self._timers)[2].what
            if what is not None:
                what()
        self._arm()
