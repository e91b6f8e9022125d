"""Runs servers on the caller's event loop, or on a thread for blocking callers, and closes all their connections."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from traceback import format_exception
from typing import Self, TypeVar

T = TypeVar("T")
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BUFFER = 1 << 20
"""Maximum number of unread bytes per connection before the peer must wait."""


async def awaited(result: T | Awaitable[T]) -> T:
    """Return a result, awaiting it if it is awaitable."""
    return await result if isawaitable(result) else result


class Listeners:
    """Listening sockets and the connections they have accepted."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def open(self, serve: Serve, host: str, port: int, tls: ssl.SSLContext | None) -> tuple[str, int]:
        """Listen on a port, or on a free one if it is 0, and call ``serve`` for each connection. Return the host and
        port."""

        async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            try:
                await serve(reader, writer)
            except (asyncio.CancelledError, ConnectionError, ssl.SSLError):
                pass
            finally:
                self._connections.remove(task)
                writer.transport.abort()

        listener = await asyncio.start_server(accepted, host, port, ssl=tls, limit=BUFFER)
        self._listeners.append(listener)
        name, number = listener.sockets[0].getsockname()[:2]
        return str(name), int(number)

    async def close(self) -> None:
        """Close all sockets and connections."""
        while self._listeners:
            self._listeners.pop().close()
        tasks = [*self._connections]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # transports close their sockets in the next iteration of the loop


class Running:
    """Base class that ``async with`` runs on the caller's event loop, and ``with`` on a separate thread.

    Leaving the block raises the first of ``problems``, the exceptions of a test's functions.
    """

    def __init__(self) -> None:
        self.problems: list[Exception] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner = 0
        """Thread of the event loop."""
        self._thread: threading.Thread | None = None

    async def _open(self) -> None:
        raise NotImplementedError

    async def _close(self) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._loop, self._owner = asyncio.get_running_loop(), threading.get_ident()
        try:
            await self._open()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, kind: object, problem: BaseException | None, traceback: object) -> None:
        await self._end()
        self._report(problem)

    async def _end(self) -> None:
        await self._close()
        self._loop = None

    def __enter__(self) -> Self:
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        loop = runner.get_loop()

        def run() -> None:
            with runner:
                loop.run_forever()

        self._thread = threading.Thread(target=run, name=f"kwire-{type(self).__name__}", daemon=True)
        self._thread.start()
        try:
            return asyncio.run_coroutine_threadsafe(self.__aenter__(), loop).result()
        except BaseException:
            self._join(loop)
            raise

    def __exit__(self, kind: object, problem: BaseException | None, traceback: object) -> None:
        assert self._loop is not None
        loop = self._loop
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        self._join(loop)
        self._report(problem)

    def _join(self, loop: asyncio.AbstractEventLoop) -> None:
        assert self._thread is not None
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        self._thread = None

    def _report(self, problem: BaseException | None) -> None:
        """Raise the first exception of a test's functions. If the test has already failed, add it as a note."""
        for own in self.problems[:1]:
            if problem is None:
                raise own
            problem.add_note(f"In {type(self).__name__}: " + "".join(format_exception(own)))

    def _on_loop(self, what: Callable[[], T]) -> T:
        """Call ``what`` on the thread of the event loop, and return its result."""
        if self._loop is None or threading.get_ident() == self._owner:
            return what()

        async def run() -> T:
            return what()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result()
