"""A broker clock that a test can advance."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from sched import Event, scheduler

Timer = Event
"""An action that a clock runs later."""


class Clock:
    """A clock that runs at normal speed. ``advance`` moves it forward."""

    def __init__(self) -> None:
        self._ahead = time.time() - time.monotonic()
        self._timers = scheduler(lambda: self.now)
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
        """Move the clock forward, and run the actions that become due."""
        self._ahead += seconds
        self._run()

    def later(self, seconds: float, what: Callable[[], object], former: Timer | None = None) -> Timer:
        """Schedule an action to run after ``seconds``, and return its timer. Cancel the ``former`` timer that it
        replaces."""
        self.cancel(former)
        timer = self._timers.enter(seconds, 0, what)
        if self._handle is None or self._handle.when() > asyncio.get_running_loop().time() + seconds:
            self._wake(seconds)
        return timer

    def cancel(self, timer: Timer | None) -> None:
        """Cancel a timer. Do nothing if it has expired or is ``None``."""
        if timer is not None:
            with suppress(ValueError):
                self._timers.cancel(timer)

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` on this clock."""
        await self.wait(asyncio.get_running_loop().create_future(), seconds)

    async def wait(self, event: asyncio.Future[None], seconds: float) -> None:
        """Wait for ``event``, for at most ``seconds``."""

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
        self._timers = scheduler(lambda: self.now)
        self._wake(None)

    def _run(self) -> None:
        self._wake(self._timers.run(blocking=False))

    def _wake(self, seconds: float | None) -> None:
        """Schedule the next run of due actions in ``seconds``, or cancel it if ``seconds`` is ``None``."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None if seconds is None else asyncio.get_running_loop().call_later(seconds, self._run)
