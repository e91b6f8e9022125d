"""Runs servers on the caller's event loop, or on a thread for blocking callers, and closes all their connections."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from traceback import format_exception
from typing import Self, TypeVar

from kwire.client.opening import open_connection

T = TypeVar("T")


async def awaited(result: T | Awaitable[T]) -> T:
    """Return a result, awaiting it if it is awaitable."""
    return await result if isawaitable(result) else result


class Stream(asyncio.Protocol):
    """A connection that returns data as the event loop delivers it. Asyncio's streams would copy the data."""

    def __init__(self, made: Callable[[Stream], object]) -> None:
        """Prepare a connection. ``made`` is called when the connection is established."""
        self._made = made
        self._pieces: deque[bytes] = deque()
        self._readable, self._writable, self._closed = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._ended = False
        self.transport: asyncio.Transport

    @classmethod
    async def open(cls, host: str, port: int, tls: ssl.SSLContext | None) -> Self:
        """Connect to a server, which must not send any data before it receives a request."""
        _, writer = await open_connection(host, port, tls)
        stream = cls(lambda _: writer)
        stream.connection_made(writer.transport)
        writer.transport.set_protocol(stream)
        return stream

    @property
    def peer(self) -> tuple[str, int]:
        """Address of the peer."""
        host, port = self.transport.get_extra_info("peername")[:2]
        return host, port

    async def read(self) -> bytes:
        """Return the next bytes, or ``b""`` at the end."""
        await self._readable.wait()
        data = self._pieces.popleft() if self._pieces else b""
        if not self._pieces and not self._ended:
            self._readable.clear()
            self.transport.resume_reading()
        return data

    async def drain(self) -> None:
        """Wait until the peer has read most of the written bytes."""
        await self._writable.wait()

    async def close(self) -> None:
        """Close the connection after the peer has read everything."""
        self.transport.close()
        await self._closed.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport, and report that the connection is established."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._writable.set()
        self._made(self)

    def data_received(self, data: bytes) -> None:
        """Store a piece of data until it is read. Stop reading from the peer when two pieces are stored."""
        if self._pieces:
            self.transport.pause_reading()
        self._pieces.append(data)
        self._readable.set()

    def eof_received(self) -> bool:
        """Keep the connection open for pending responses, except with TLS, which does not allow this."""
        self._ended = True
        self._readable.set()
        return self.transport.get_extra_info("sslcontext") is None

    def connection_lost(self, problem: Exception | None) -> None:
        """Wake all waiting tasks."""
        self._ended = True
        for event in (self._readable, self._writable, self._closed):
            event.set()

    def pause_writing(self) -> None:
        """Make ``drain`` wait."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let ``drain`` continue."""
        self._writable.set()


class Listeners:
    """Listening sockets and the connections they have accepted."""

    def __init__(self) -> None:
        self._listeners: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def open(
        self, serve: Callable[[Stream], Awaitable[None]], host: str, port: int, tls: ssl.SSLContext | None
    ) -> tuple[str, int]:
        """Listen on ``port``, or on a free port if it is 0, and call ``serve`` for each connection. Return the host
        and port.
        """

        async def serving(stream: Stream) -> None:
            try:
                await serve(stream)
            except (asyncio.CancelledError, ConnectionError, ssl.SSLError):
                pass
            finally:
                stream.transport.abort()

        def accept(stream: Stream) -> None:
            task = asyncio.ensure_future(serving(stream))
            self._connections.add(task)
            task.add_done_callback(self._connections.remove)

        listener = await asyncio.get_running_loop().create_server(lambda: Stream(accept), host, port, ssl=tls)
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
    """Base class of servers. ``async with`` runs a server on the caller's event loop, ``with`` on a separate thread.

    Leaving the block raises the first of ``problems``, the exceptions of a test's functions.
    """

    def __init__(self) -> None:
        self.problems: list[Exception] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner = 0
        """Identifier of the event loop's thread."""
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
        """Raise the first exception of a test's functions. If the test has already failed, add the exception as a
        note.
        """
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
