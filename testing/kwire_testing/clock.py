"""A broker clock that a test can advance."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Timer:
    """An action that a clock runs at the time ``due``, in seconds since the epoch."""

    due: float
    what: Callable[[], object]


class Clock:
    """A clock that runs at normal speed. ``advance`` moves it forward."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()
        self._timers: dict[Timer, asyncio.TimerHandle] = {}

    @property
    def now(self) -> float:
        """Time in seconds since the epoch."""
        return time.monotonic() + self._ahead

    @property
    def ms(self) -> int:
        """Time in milliseconds since the epoch."""
        return int(self.now * 1000)

    def advance(self, seconds: float) -> None:
        """Move the clock forward, and run the actions that become due."""
        self._ahead += seconds
        while due := [timer for timer in self._timers if timer.due <= self.now]:
            for timer in sorted(due, key=lambda one: one.due):
                if timer in self._timers:  # an earlier action may have cancelled it
                    self.cancel(timer)
                    timer.what()
        for timer in [*self._timers]:
            self.cancel(timer)
            self._start(timer)

    def later(self, seconds: float, what: Callable[[], object], former: Timer | None = None) -> Timer:
        """Schedule an action to run after ``seconds``, and return its timer. Cancel the ``former`` timer, which the
        new timer replaces.
        """
        self.cancel(former)
        timer = Timer(self.now + seconds, what)
        self._start(timer)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer. Do nothing if the timer has expired or is ``None``."""
        if timer is not None and (handle := self._timers.pop(timer, None)) is not None:
            handle.cancel()

    async def sleep(self, seconds: float) -> None:
        """Wait until ``seconds`` have passed on this clock."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)

    async def wait(self, event: asyncio.Future[None], seconds: float) -> None:
        """Wait until ``event`` is done, but at most for ``seconds``."""

        def wake() -> None:
            if not event.done():
                event.set_result(None)

        timer = self.later(seconds, wake)
        try:
            await event
        finally:
            self.cancel(timer)

    def stop(self) -> None:
        """Discard all timers."""
        for timer in [*self._timers]:
            self.cancel(timer)

    def _start(self, timer: Timer) -> None:
        self._timers[timer] = asyncio.get_running_loop().call_later(timer.due - self.now, self._run, timer)

    def _run(self, timer: Timer) -> None:
        del self._timers[timer]
        timer.what()
